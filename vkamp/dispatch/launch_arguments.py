"""The forms of a launch's arguments, the same for all that takes a launch.

``([accelerator_view,] domain, kernel, *args, **constants)``, or the domain alone: a decorator of a plain function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from vkamp.dispatch.domain import as_domain
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import accelerator, accelerator_view
from vkamp.tracebacks import entry_point

T = TypeVar("T")


def parse(name: str, args: tuple[Any, ...]) -> tuple[accelerator_view | None, Any, tuple[Any, ...]]:
    """Parses the arguments of ``amp.NAME``: an optional accelerator_view or accelerator, the domain as an extent, and
    optionally the kernel with its arguments.
    """
    if args:
        first = args[0]
        if isinstance(first, accelerator_view):
            if len(args) > 1:
                return first, as_domain(args[1]), args[2:]
        elif not isinstance(first, accelerator):
            return None, as_domain(first), args[1:]
        elif len(args) > 1:
            return first.default_view, as_domain(args[1]), args[2:]
    raise TypeError(f"{name} needs a domain: amp.extent(...) or extent.tile(...)")


def with_bound(rest: tuple[Any, ...], constants: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The kernel, its arguments and its constants; ``functools.partial`` of a kernel has bound some of them."""
    kernel, args = rest[0], rest[1:]
    if type(kernel) is functools.partial:
        return kernel.func, (*kernel.args, *args), {**kernel.keywords, **constants}
    return kernel, args, constants


def decorator(name: str, does: str, tells: str, run: Callable[[Any], T]) -> Callable[[Any], T]:
    """The form of ``amp.NAME`` without a kernel. ``does`` and ``tells`` are the verbs of its error message."""

    @entry_point
    def apply(function: Any) -> T:
        if isinstance(function, KernelFunction):
            kernel = function.__name__
            raise TypeError(
                f"@amp.{name} {does} a plain function at once; {tells} the kernel {kernel} with "
                f"amp.{name}(domain, {kernel}, ...)"
            )
        return run(function)

    return apply
