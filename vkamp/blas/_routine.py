"""Parts that the routines share: the accelerator_view as a first argument, checks of arguments, options as letters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import vkamp as amp
from vkamp.algorithms._arguments import place
from vkamp.blas._operands import Matrix, container, settings
from vkamp.dispatch.call_cache import repeats
from vkamp.tracebacks import forwards

_F = TypeVar("_F", bound=Callable[..., Any])


def routine(f: _F) -> _F:
    """A public routine, whose first argument may be an accelerator_view, as in AMPBLAS.

    Errors show the caller's line, and repeated calls repeat their launches.
    """
    inner: Any = forwards(f)

    @repeats(settings)
    @functools.wraps(f)
    def call(*args: Any, **named: Any) -> Any:
        if args and isinstance(args[0], amp.accelerator_view):
            return inner(*args[1:], accelerator_view=args[0], **named)
        return inner(*args, **named)

    made: Any = call
    return made  # type: ignore[no-any-return]


def vector(x: Any, name: str, n: int | None = None) -> Any:
    """An argument as a vector of ``n`` elements; TypeError for another rank, AmpError for another extent."""
    found = container(x)
    if found.extent.rank != 1:
        raise TypeError(f"{name} must be a vector, of rank 1, not {found.extent!r}")
    if n is not None and found.extent[0] != n:
        raise amp.AmpError(f"{name} has {found.extent[0]} elements, but needs {n}")
    return found


def target(x: Any) -> Any:
    """An argument that is written; for a numpy array, a view of it."""
    return x if isinstance(x, (amp.array, amp.array_view)) else amp.array_view(x)


def matrix(a: Any, name: str, order: str = "C", trans: str = "N", *, writes: bool = False) -> Matrix:
    """An argument as a matrix, with ``trans`` applied.

    TypeError for another rank, ValueError for an unknown order or transposition.
    """
    found = target(a) if writes else container(a)
    if found.extent.rank != 2:
        raise TypeError(f"{name} must be a matrix, of rank 2, not {found.extent!r}")
    turned = option("order", order, "CF") == "F"
    if option(f"the transposition of {name}", trans, "NTC") != "N":
        turned = not turned
    is_conjugate = trans in "Cc" and found.dtype.kind == "c"
    return Matrix(found.reshape(1, *found.extent), turned, is_conjugate)


def real(name: str, number: Any) -> Any:
    """Checks that a factor is real; TypeError for a complex one."""
    if isinstance(number, (complex, np.complexfloating)):
        raise TypeError(f"{name} is a real number, not {number!r}")
    return number


def option(name: str, given: Any, letters: str) -> str:
    """An option as a capital letter; ValueError for an unknown one."""
    if not isinstance(given, str) or len(given) != 1 or given.upper() not in letters:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, letters))}, not {given!r}")
    return given.upper()


def square(a: Matrix, name: str) -> int:
    """The number of rows of a square matrix; AmpError for other matrices."""
    if a.rows != a.columns:
        raise amp.AmpError(f"{name} is {a.rows} x {a.columns}, but must be square")
    return a.rows


def agree(*containers: Any) -> None:
    """Raises TypeError unless all have elements of one type."""
    for each in containers[1:]:
        if each.dtype != containers[0].dtype:
            raise TypeError(f"the arguments have different types, {containers[0].dtype} and {each.dtype}")


def apart(out: Any, *inputs: Any) -> None:
    """Raises AmpError if a container that is written overlaps one that is read."""
    if any(out.overlaps(each) for each in inputs):
        raise amp.AmpError("the argument that is written overlaps one that is read: give it memory of its own")


def where(accelerator_view: amp.accelerator_view | None, *containers: Any) -> amp.accelerator_view:
    """The accelerator_view that a routine runs on."""
    return place(accelerator_view, *containers)
