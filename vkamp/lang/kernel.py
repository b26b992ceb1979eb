"""The decorators ``@kernel`` and ``@func``.

Source: amp-reference sections 9 and 10 (``restrict(amp)`` and ``restrict(cpu, amp)``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, overload

from vkamp.errors import AmpError

__all__ = ["DeviceFunction", "KernelFunction", "func", "kernel", "set_inspector"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_inspector: Callable[..., Any] | None = None


def set_inspector(inspector: Callable[..., Any]) -> None:
    """Registers what :meth:`KernelFunction.inspect` calls: the compiler stands behind this module, not under it."""
    global _inspector
    _inspector = inspector


def _plain(function: Any, what: str) -> FunctionType:
    if isinstance(function, (KernelFunction, DeviceFunction)):
        raise TypeError(f"{function.__name__} has a decorator of vkamp already")
    if not isinstance(function, FunctionType):
        raise TypeError(f"@amp.{what} decorates a Python function, not {type(function).__name__}")
    return function


class KernelFunction:
    """A tile program: launched by ``parallel_for_each``, looked into by :meth:`inspect`.

    ``precise``: float expressions are not contracted to fused multiply-adds, and results are the reference
    accelerator's bit for bit for + - * and the exactly rounded functions.
    """

    def __init__(self, function: FunctionType, *, precise: bool = False) -> None:
        self.function = function
        self.precise = precise
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AmpError(
            f"{self.__name__} is a kernel: launch it with amp.parallel_for_each(domain, {self.__name__}, ...); "
            "a function that plain Python calls too is an @amp.func"
        )

    def inspect(self, domain: Any, *args: Any, **constants: Any) -> Any:
        """What vkamp makes of the kernel for this launch, without running it.

        The object has ``.glsl`` (the shader's text), ``.spirv`` (bytes), ``.ir`` (text) and ``.bindings``.
        Raises what the launch would raise before it runs.
        """
        if _inspector is None:
            raise AmpError("the compiler is not loaded: import vkamp")
        return _inspector(domain, self, *args, **constants)

    def __repr__(self) -> str:
        return f"<amp.kernel {self.__name__}>"

    __name__: str


class DeviceFunction(Generic[_P, _R]):
    """A function that kernels call (AMP: ``restrict(cpu, amp)``); plain Python can call it too."""

    def __init__(self, function: Callable[_P, _R]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<amp.func {self.__name__}>"

    __name__: str


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...
@overload
def kernel(*, precise: bool = False) -> Callable[[Callable[..., Any]], KernelFunction]: ...
def kernel(function: Any = None, /, *, precise: bool = False) -> Any:
    """Makes a Python function a tile program.

    The first parameter is the index (``tiled_index`` or, for an untiled domain, ``index``), the others are the
    containers and values of the launch; keyword-only parameters annotated ``amp.constant`` are compile-time constants.
    """
    if function is None:
        return lambda f: KernelFunction(_plain(f, "kernel"), precise=precise)
    return KernelFunction(_plain(function, "kernel"), precise=precise)


def func(function: Callable[_P, _R], /) -> DeviceFunction[_P, _R]:
    """Makes a Python function callable from kernels; its types are inferred at each call."""
    _plain(function, "func")
    return DeviceFunction(function)
