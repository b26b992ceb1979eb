"""The decorators ``@kernel`` and ``@func``, of functions and of methods.

C++ AMP's model: docs/conformance.md, sections 9 and 10 (``restrict(amp)`` and ``restrict(cpu, amp)``).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from vkamp.errors import AmpError
from vkamp.lang.index_space import extent, index
from vkamp.lang.overloads import Form, choose, describe, form_of, kind_of, own_signature
from vkamp.lang.vectors import ShortVector
from vkamp.tracebacks import entry_point, forwards

#: When vkamp was imported: functions for kernels are defined later.
LOADED = time.time()
#: How the threads of a tile run on a device.
LOWERINGS = ("auto", "threads", "loops")
#: The sizes of subgroups that devices may have.
SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)

_P = ParamSpec("_P")
_R = TypeVar("_R")

_inspector: Callable[..., Any] | None = None


def set_inspector(inspector: Callable[..., Any]) -> None:
    """Registers the function that :meth:`KernelFunction.inspect` calls, because this module may not import the
    compiler."""
    global _inspector
    _inspector = inspector


def _plain(function: Any, what: str) -> FunctionType:
    if isinstance(function, (KernelFunction, DeviceFunction)):
        raise TypeError(f"{function.__name__} already has a decorator of vkamp")
    if isinstance(function, (staticmethod, classmethod, property)):
        raise TypeError(f"put @amp.{what} below @{type(function).__name__}: it decorates the function itself")
    if not isinstance(function, FunctionType):
        tiles = "; the launch chooses the tile, extent.tile(...)" if isinstance(function, (int, tuple)) else ""
        raise TypeError(
            f"@amp.{what} decorates a Python function, not {type(function).__name__}: write @amp.{what} in the line "
            f"before its def{tiles}"
        )
    return function


class _Defaults:
    """The defaults of a decorated function, which can be changed as those of the function itself."""

    function: Any

    @property
    def __defaults__(self) -> tuple[Any, ...] | None:
        return self.function.__defaults__  # type: ignore[no-any-return]

    @__defaults__.setter
    def __defaults__(self, values: tuple[Any, ...] | None) -> None:
        self.function.__defaults__ = values

    @property
    def __kwdefaults__(self) -> dict[str, Any] | None:
        return self.function.__kwdefaults__  # type: ignore[no-any-return]

    @__kwdefaults__.setter
    def __kwdefaults__(self, values: dict[str, Any] | None) -> None:
        self.function.__kwdefaults__ = values


@entry_point
class KernelFunction(_Defaults):
    """A tile program: ``parallel_for_each`` launches it, :meth:`inspect` shows its shader.

    ``precise``: float expressions are not contracted to fused multiply-adds, and the results of + - * and of the
    exactly rounded functions are bitwise those of the reference accelerator. ``lowering``: how the threads of a tile
    run on a device. ``subgroup``: the lanes of the full subgroups that it requires, ``None``: it takes any.
    """

    def __init__(
        self, function: FunctionType, *, precise: bool = False, lowering: str = "auto", subgroup: int | None = None
    ) -> None:
        self.function = function
        self.precise = precise
        self.lowering = lowering
        self.subgroup = subgroup
        #: What ``parallel_for_each`` remembers of this kernel's launches.
        self.launches: dict[Any, Any] = {}
        self.plans: dict[Any, Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AmpError(
            f"{self.__name__} is a kernel, which cannot be called: launch it with amp.parallel_for_each(domain, "
            f"{self.__name__}, ...); a function that kernels and Python call is an @amp.func"
        )

    def __getitem__(self, launch: Any) -> Any:
        """Raises a TypeError that shows the launch to write: CUDA's ``kernel[blocks, threads]`` is not supported."""
        raise TypeError(
            f"{self.__name__}[blocks, threads] is CUDA's launch: write amp.parallel_for_each(domain, {self.__name__}, "
            "...); the domain counts threads, amp.extent(n), or amp.extent(n).tile(threads).pad() in tiles"
        )

    @property
    def options(self) -> dict[str, Any]:
        """What :func:`kernel` was given beside the function."""
        return {"precise": self.precise, "lowering": self.lowering, "subgroup": self.subgroup}

    def inspect(self, domain: Any, *args: Any, **constants: Any) -> Any:
        """The shader that vkamp generates for this launch, without running it.

        The object has ``.glsl`` (the shader's text), ``.spirv`` (bytes), ``.ir`` (text) and ``.bindings``;
        ``.save("name.comp")`` writes the shader, ``.save("name.spv")`` the binary, ``.save("folder")`` all.
        Raises what the launch would raise before it runs.
        """
        if _inspector is None:
            raise AmpError("the compiler is not loaded: import vkamp")
        return _inspector(domain, self, *args, **constants)

    @overload
    def __get__(self, owner: None, cls: type, /) -> KernelFunction: ...
    @overload
    def __get__(self, owner: object, cls: type, /) -> BoundKernel: ...
    def __get__(self, owner: object | None, cls: type | None = None, /) -> KernelFunction | BoundKernel:
        return self if owner is None else BoundKernel(self, owner)

    def __repr__(self) -> str:
        return f"<amp.kernel {self.__name__}>"

    def __reduce__(self) -> str:
        """Pickles the kernel by its name, as functions are pickled."""
        return self.__qualname__

    __name__: str
    __qualname__: str


@entry_point
class BoundKernel:
    """A kernel that is a method, bound to its object: ``parallel_for_each(domain, blur.run, ...)`` (AMP: a functor).

    The object's numbers, containers, indices and structs are passed as captures; they are read-only.
    """

    def __init__(self, kernel: KernelFunction, owner: object) -> None:
        self.kernel = kernel
        self.owner = owner
        self.__name__ = kernel.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)

    def inspect(self, domain: Any, *args: Any, **constants: Any) -> Any:
        """Like :meth:`KernelFunction.inspect`."""
        if _inspector is None:
            raise AmpError("the compiler is not loaded: import vkamp")
        return _inspector(domain, self, *args, **constants)

    def __repr__(self) -> str:
        return f"<amp.kernel {self.__name__} of {self.owner!r}>"


def _by_value(value: Any) -> Any:
    if isinstance(value, ShortVector):
        return value.copy()
    return type(value)(value) if type(value) in (index, extent) else value


@entry_point
class DeviceFunction(_Defaults, Generic[_P, _R]):
    """A function that kernels call (AMP: ``restrict(cpu, amp)``); plain Python can call it too.

    ``forms`` are the function and the forms that :meth:`register` added, in this order.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        self.function = function
        self._others: list[Form] = []
        self._host: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)

    @property
    def overloads(self) -> int:
        """The number of registered forms, without the first."""
        return len(self._others)

    @property
    def forms(self) -> list[Form]:
        """All forms, that of the first function first."""
        return [form_of(self.function), *self._others]

    def state(self) -> tuple[list[tuple[Callable[..., Any], dict[str, Any]]], Callable[..., Any] | None]:
        """The functions of all forms with the kinds of their parameters, and the function for plain Python."""
        return [(form.function, dict(form.kinds)) for form in self.forms], self._host

    def restore(self, forms: list[tuple[Callable[..., Any], dict[str, Any]]], host: Callable[..., Any] | None) -> None:
        """Makes a new object what another one's :meth:`state` says."""
        (function, _), *others = forms
        cast(Any, DeviceFunction).__init__(self, function)  # mypy infers no types of a class with parameters here
        self._others = [Form(other, own_signature(other), kinds) for other, kinds in others]
        self._host = host

    @forwards
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        # Vectors and indices are passed by value, as in a kernel: the caller does not see the function's changes.
        given, named = [_by_value(a) for a in args], {n: _by_value(a) for n, a in kwargs.items()}
        if self._host is not None:
            return self._host(*given, **named)  # type: ignore[no-any-return]
        function: Callable[..., Any] = self._for(args, kwargs) if self._others else self.function
        return function(*given, **named)  # type: ignore[no-any-return]

    def _for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        positional = [kind_of(a) for a in args]
        named = {n: kind_of(a) for n, a in kwargs.items()}
        best = choose(self.forms, positional, named)
        if len(best) == 1:
            return best[0].function
        given = describe([*positional, *named.values()])
        if best:
            raise TypeError(f"{self.__name__}{given} is ambiguous: {', '.join(map(str, best))} fit equally well")
        raise TypeError(f"no form of {self.__name__} takes {given}; its forms are {', '.join(map(str, self.forms))}")

    def register(self, *types: Any) -> Any:
        """A decorator that adds a form for other arguments (AMP: an overload); returns the function with all its forms.

        ``@length.register`` takes the types from the annotations, ``@length.register(amp.int32)`` names them; a
        parameter without a type accepts every type. A call selects the form that matches its arguments best, by C++'s
        rules. If two forms match equally well, the call is an error.
        """
        if len(types) == 1 and isinstance(types[0], FunctionType):
            return self._register(types[0], None)
        return lambda function: self._register(_plain(function, "func"), types)

    def _register(self, function: FunctionType, types: tuple[Any, ...] | None) -> DeviceFunction[_P, _R]:
        form = form_of(function, types, strict=True)
        if any(list(known.kinds.values()) == list(form.kinds.values()) for known in self.forms):
            raise TypeError(f"{self.__name__} already has a form for {form}")
        self._others.append(form)
        return self

    def host(self, function: Callable[..., Any], /) -> DeviceFunction[_P, _R]:
        """A decorator that adds a separate function for plain Python (AMP: a ``restrict(cpu)`` overload)."""
        self._host = function
        return self

    @overload
    def __get__(self, owner: None, cls: type, /) -> DeviceFunction[_P, _R]: ...
    @overload
    def __get__(self, owner: object, cls: type, /) -> Callable[..., _R]: ...
    def __get__(self, owner: object | None, cls: type | None = None, /) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __repr__(self) -> str:
        return f"<amp.func {self.__name__}>"

    def __reduce__(self) -> str:
        """Pickles the kernel by its name, as functions are pickled."""
        return self.__qualname__

    __name__: str
    __qualname__: str


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...
@overload
def kernel(
    *, precise: bool = False, lowering: str = "auto", subgroup: int | None = None
) -> Callable[[Callable[..., Any]], KernelFunction]: ...
@entry_point
def kernel(
    function: Any = None, /, *, precise: bool = False, lowering: str = "auto", subgroup: int | None = None
) -> Any:
    """Makes a Python function a tile program.

    The first parameter is the index (``tiled_index`` or, for an untiled domain, ``index``); the others are the
    containers and values of the launch. Keyword-only parameters annotated ``amp.constant`` are compile-time constants.
    ``lowering`` selects how the threads of a tile run: as ``"threads"`` of the device, as ``"loops"`` between the
    barriers if the program allows it, or as vkamp chooses for the device (``"auto"``).
    ``subgroup=32`` requires full subgroups of 32 lanes (a power of two from 1 to 128): ``amp.subgroup.size()`` is a
    compile-time constant then. Tiles must be whole numbers of subgroups. A launch on a device that cannot run such
    subgroups raises UnsupportedFeatureError; the direct engine is needed (``VKAMP_ENGINE=vulkan``).
    """
    if lowering not in LOWERINGS:
        raise ValueError(f"lowering={lowering!r}: it must be one of {', '.join(map(repr, LOWERINGS))}")
    if subgroup is not None and (isinstance(subgroup, bool) or subgroup not in SUBGROUP_SIZES):
        sizes = ", ".join(map(str, SUBGROUP_SIZES))
        raise ValueError(f"subgroup={subgroup!r}: a subgroup must have one of {sizes} lanes")
    if function is None:
        return lambda f: KernelFunction(_plain(f, "kernel"), precise=precise, lowering=lowering, subgroup=subgroup)
    return KernelFunction(_plain(function, "kernel"), precise=precise, lowering=lowering, subgroup=subgroup)


@entry_point
def func(function: Callable[_P, _R], /) -> DeviceFunction[_P, _R]:
    """Makes a Python function callable from kernels; its types are inferred at each call.

    In a class it makes a method, for objects that kernels use and for ``amp.struct``. In plain Python it is the
    function itself: its results equal the device's if the arguments, and all numbers computed from them, are numpy
    scalars.
    """
    _plain(function, "func")
    return DeviceFunction(function)
