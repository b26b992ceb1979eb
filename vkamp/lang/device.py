"""The functions of the kernel language: memory, fences, atomics, loops, C's integer division.

The front end recognizes them by an attribute. Those that need a device raise ``AmpError`` in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from vkamp.errors import AmpError
from vkamp.ir.arithmetic import truncated_quotient, truncated_remainder
from vkamp.ir.builtins import ATOMICS, BUILTINS, TUPLES
from vkamp.ir.fences import FENCES
from vkamp.ir.precise import FP_CLASSES
from vkamp.ir.rows import CLASSES, BuiltinRow, TupleRow
from vkamp.lang.vectors import ShortVector, by_components
from vkamp.tracebacks import entry_point

#: The attribute by which the front end recognises a function of the language.
MARK = "__vkamp_device__"

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


def _marked(function: _F) -> _F:
    setattr(function, MARK, function.__name__)
    return entry_point(function)


def _only_in_kernels(name: str) -> AmpError:
    return AmpError(f"{name} works in kernels and @amp.func functions only; plain Python has no tile to run it in")


if TYPE_CHECKING:
    # For a type checker such a parameter is of any type.
    constant: TypeAlias = Any
else:

    class constant:
        """Annotation of a keyword-only kernel parameter that is a compile-time constant (C++: a template argument).

        ``def product(t_idx, a, b, c, *, TILE: amp.constant)`` is launched with ``TILE=16``; the kernel is compiled once
        for each value.
        """


@_marked
def tile_static(shape: Any, dtype: Any) -> Any:
    """Memory shared by the threads of a tile (AMP: ``tile_static``): an array of ``shape`` elements of ``dtype``.

    ``shape`` is an int or a tuple of compile-time ints; ``()`` is a single variable. The declaration must be at the top
    level of a kernel or ``@amp.func``. The contents are indeterminate until written, and the declaration is not a
    barrier.
    """
    raise _only_in_kernels("tile_static")


@_marked
def tile_scope() -> AbstractContextManager[None]:
    """``with amp.tile_scope():`` ends the lifetime of the `tile_static` arrays that are declared in it.

    Functions that are called in it declare theirs in it, too. Arrays of scopes that are not inside one another may
    share memory. Between the last access to the one array and the first access to the other, all threads must wait at
    a barrier that orders `tile_static` memory: the compiler refuses a kernel without it. A scope may be in a loop or
    branch.
    """
    raise _only_in_kernels("tile_scope")


@_marked
def private(shape: Any, dtype: Any) -> Any:
    """An array that is private to each thread (AMP: a local array): ``shape`` elements of ``dtype``, indeterminate
    until written.

    In plain Python, in an ``@amp.func``, it creates a numpy array.
    """
    return np.empty(shape, dtype)


@_marked
def static_range(*bounds: int) -> Iterable[int]:
    """A ``range`` of compile-time ints; a ``for`` over it is unrolled; its variable is a constant in each iteration.

    If the body uses the variable only in expressions of the form ``a * variable + b``, the shader has a loop that the
    driver unrolls; otherwise it has a copy of the body for each value.
    """
    return range(*bounds)


def _fence(name: str) -> Callable[[Any], None]:
    def fence(barrier: Any) -> None:
        raise _only_in_kernels(name)

    row = FENCES[name]
    kinds = " and ".join(k for k, on in (("global", row.orders_global), ("tile_static", row.orders_tile_static)) if on)
    fence.__name__ = fence.__qualname__ = name
    fence.__doc__ = (
        f"Orders this thread's accesses to {kinds} memory for the other threads of its tile; waits for nobody.\n\n"
        f"The argument is ``t_idx.barrier``; allowed in divergent code (AMP: ``{name}``).  AmpError in plain Python."
    )
    return _marked(fence)


all_memory_fence = _fence("all_memory_fence")
global_memory_fence = _fence("global_memory_fence")
tile_static_memory_fence = _fence("tile_static_memory_fence")


def _atomic(name: str) -> Callable[..., Any]:
    def atomic(element: Any, *values: Any) -> Any:
        raise _only_in_kernels(name)

    row = ATOMICS[name]
    gives = "whether it stored" if row.result == "bool" else "the old value"
    atomic.__name__ = atomic.__qualname__ = name
    kinds = " or ".join((", ".join(row.types[:-1]), row.types[-1]))
    extension = ""
    if row.native_float:
        extension = (
            "  With a float32 it is an extension: the device's own atomic if it has one, else a compare-exchange loop. "
            "The sum depends on the order of the threads."
        )
    elif "float32" in row.types and name != "atomic_exchange":
        extension = "  With a float32 it is an extension: a compare-exchange loop."
    atomic.__doc__ = (
        f"{row.doc}  Atomic at one {kinds} element of a container or tile_static array; gives {gives} "
        f"(AMP: ``{name}``).\n\n"
        f"The element may be a field of a struct, a component of a vector, or lie in a view made in the kernel."
        f"{extension}\n\nAn atomic is not a fence: it orders no other access.  AmpError in plain Python."
    )
    return _marked(atomic)


atomic_fetch_add = _atomic("atomic_fetch_add")
atomic_fetch_sub = _atomic("atomic_fetch_sub")
atomic_fetch_and = _atomic("atomic_fetch_and")
atomic_fetch_or = _atomic("atomic_fetch_or")
atomic_fetch_xor = _atomic("atomic_fetch_xor")
atomic_fetch_min = _atomic("atomic_fetch_min")
atomic_fetch_max = _atomic("atomic_fetch_max")
atomic_fetch_inc = _atomic("atomic_fetch_inc")
atomic_fetch_dec = _atomic("atomic_fetch_dec")
atomic_exchange = _atomic("atomic_exchange")
atomic_compare_exchange = _atomic("atomic_compare_exchange")


@_marked
def atomic_load(element: Any, order: str = "acquire", scope: str = "device") -> Any:
    """The value of an int32, uint32, int64 or uint64 element of a container or ``tile_static`` array, read atomically.

    ``order="acquire"``: who reads what an :func:`atomic_store` with ``order="release"`` stored also sees everything
    that came before that store.  ``"relaxed"`` orders nothing else.  ``scope``: ``"device"``, or ``"tile"`` if only
    threads of one tile communicate.  An extension of AMP.  AmpError in plain Python.
    """
    raise _only_in_kernels("atomic_load")


@_marked
def atomic_store(element: Any, value: Any, order: str = "release", scope: str = "device") -> None:
    """Stores a value atomically in an element of integers or float32; see :func:`atomic_load`.

    ``order="release"``: who reads the value by a load with ``order="acquire"`` sees everything that this thread did
    before, and what other threads of its tile did before a barrier.  ``"relaxed"`` orders nothing else.
    """
    raise _only_in_kernels("atomic_store")


@_marked
def tdiv(a: int, b: int) -> int:
    """The quotient rounded towards zero, as C's ``/`` on integers: ``tdiv(-7, 2)`` is -3.  ``b == 0`` is an error."""
    return int(truncated_quotient(int(a), int(b)))


@_marked
def trem(a: int, b: int) -> int:
    """The remainder with the dividend's sign, as C's ``%``: ``trem(-7, 2)`` is -1.  ``b == 0`` is an error."""
    return int(truncated_remainder(int(a), int(b)))


@_marked
def uniform(value: _T) -> _T:
    """Returns ``value`` and asserts that it is the same in all threads of the tile: an int, uint, float or bool.

    The compiler cannot prove this of some values, such as elements of containers; with the assertion they may control a
    barrier: ``if amp.uniform(rounds[t_idx.tile] > 0): t_idx.barrier.wait()``. If the assertion is wrong, the program is
    undefined on a device. Check mode and the reference accelerator verify it (floats bit by bit, so a NaN equals
    itself) and raise a CheckError that names two threads that differ. Raises CompileError where not all threads of the
    tile are active: under a divergent condition, after a divergent ``return``, and in a kernel without tiles. In plain
    Python it returns its argument. AMP has no such function.
    """
    return value


def _in_words(letter: str) -> str:
    """What the parameters of a class accept."""
    *others, last = CLASSES[letter]
    return f"{', '.join(others)} or {last}" if others else last


def _math_doc(doc: str, python: Iterable[str], params: Iterable[str], results: Iterable[str]) -> str:
    """What a function does, its types and its name in AMP."""
    params, results = tuple(params), tuple(_in_words(result) if result in CLASSES else result for result in results)
    # Parameters of one class letter have one common type.
    kinds = ", ".join(_in_words(param) for param in dict.fromkeys(params))
    groups = dict.fromkeys(name for name in python if name.startswith(("fast_math.", "precise_math.", "direct3d.")))
    amp = next((f" (AMP: ``{name.replace('.', '::')}``)" for name in groups), "")
    count = f"{len(params)} argument{'s' if len(params) > 1 else ''}"
    given = " and ".join("the arguments' type" if "," in kind or " or " in kind else kind for kind in results)
    return f"{doc}\n\n{count} of {kinds}; gives {given}{amp}."


def _host_value(row: BuiltinRow, args: tuple[Any, ...]) -> Any:
    """The reference result, in double precision if an argument is a numpy float64 (not a plain float)."""
    is_double = row.double is not None and any(isinstance(arg, np.float64) for arg in args)
    return (row.reference_for("float64") if is_double else row.reference)(*args)


@entry_point
class MathFunction:
    """A function of the builtin table; in plain Python it computes the reference result.

    Of short vectors it gives the vector of the results for their components; a number is an argument of each.
    """

    def __init__(self, row: BuiltinRow) -> None:
        self.row = row
        self.__name__ = row.name
        self.__doc__ = _math_doc(row.doc, row.python, row.params, [row.result])

    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self.row.params):
            raise TypeError(f"{self.row.name} takes {len(self.row.params)} arguments, but {len(args)} were given")
        if any(isinstance(arg, ShortVector) for arg in args):
            return by_components(lambda *numbers: _host_value(self.row, numbers), *args)
        return _host_value(self.row, args)

    def __repr__(self) -> str:
        return f"<vkamp function {self.row.name}>"


@entry_point
class MathTuple:
    """A function of the table that returns a tuple; AMP returns the results through pointers."""

    def __init__(self, row: TupleRow) -> None:
        self.row = row
        self.parts = tuple(BUILTINS[name] for name in row.parts)
        self.__name__ = row.name.removeprefix("precise_")
        self.__doc__ = _math_doc(row.doc, row.python, self.parts[0].params, [part.result for part in self.parts])

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        wanted = len(self.parts[0].params)
        if len(args) != wanted:
            raise TypeError(f"{self.__name__} takes {wanted} arguments, but {len(args)} were given")
        return tuple(_host_value(part, args) for part in self.parts)

    def __repr__(self) -> str:
        return f"<vkamp function {self.row.name}>"


@entry_point
class MathNamespace:
    """A group of math functions: ``fast_math.sin`` and, as in AMP, the ``f`` twin ``fast_math.sinf``."""

    def __init__(self, name: str) -> None:
        self._name = name
        functions: list[MathFunction | MathTuple] = [MathFunction(row) for row in BUILTINS.values()]
        functions += [MathTuple(row) for row in TUPLES.values()]
        for function in functions:
            for spelling in function.row.python:
                group, _, member = spelling.partition(".")
                if group == name:
                    setattr(self, member, function)

    def __getattr__(self, member: str) -> Any:
        raise AttributeError(f"vkamp has no {self._name}.{member}")

    def __repr__(self) -> str:
        return f"<vkamp {self._name}>"


#: Functions with the accuracy of the device (AMP: ``concurrency::fast_math``).
fast_math = MathNamespace("fast_math")

#: Functions of float32 and float64 with the same error bounds on every device (AMP: ``concurrency::precise_math``).
precise_math = MathNamespace("precise_math")

#: Intrinsics of HLSL (AMP: ``concurrency::direct3d``), without ``noise`` and ``msad4``.
direct3d = MathNamespace("direct3d")
for _name, _number in FP_CLASSES.items():
    setattr(precise_math, _name, _number)

#: The bits of a number of 32 or 64 bits, or of each component of a short vector, as a number of another type (HLSL:
#: ``asuint`` and so on).
asuint = MathFunction(BUILTINS["asuint"])
asint = MathFunction(BUILTINS["asint"])
asfloat = MathFunction(BUILTINS["asfloat"])

#: ``c`` and the products of four integers of 8 bits in each of two words (HLSL: ``dot4add_i8packed``; OpenCL:
#: ``dot_acc_sat_4x8packed_ss_int``).
dot4_signed = MathFunction(BUILTINS["dot4_signed"])
dot4_unsigned = MathFunction(BUILTINS["dot4_unsigned"])
dot4_signed_sat = MathFunction(BUILTINS["dot4_signed_sat"])
dot4_unsigned_sat = MathFunction(BUILTINS["dot4_unsigned_sat"])

#: Arithmetic on 32-bit integers that also returns the bits that do not fit (CUDA: ``__mulhi``; GLSL:
#: ``umulExtended``, ``uaddCarry``, ``usubBorrow``).
mulhi = MathFunction(BUILTINS["mulhi"])
mul_extended = MathTuple(TUPLES["mul_extended"])
add_carry = MathTuple(TUPLES["add_carry"])
sub_borrow = MathTuple(TUPLES["sub_borrow"])
