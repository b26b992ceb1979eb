"""Short vectors: ``float3`` and similar ones, on the host as in a kernel.

C++ AMP's model: docs/conformance.md, section 14.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from vkamp.ir.types import VECTOR_LETTERS, vector_dtype
from vkamp.lang.dtypes import convert_scalar, dtype_name, vector_type
from vkamp.tracebacks import entry_point

if TYPE_CHECKING:
    from typing_extensions import Self


_COLOURS = "rgba"


@lru_cache(maxsize=1024)
def letters_of(name: str, size: int) -> str | None:
    """The components that a swizzle of a vector of ``size`` names, as letters of ``xyzw``.

    ``None`` unless they are distinct letters of one family (xyzw or rgba) that the vector has.
    """
    for family in (VECTOR_LETTERS[:size], _COLOURS[:size]):
        if name and set(name) <= set(family) and len(set(name)) == len(name):
            return "".join(VECTOR_LETTERS[family.index(letter)] for letter in name)
    return None


#: The reference count of a vector without a name while its component is assigned.
_unnamed = 0


class ShortVector:
    """2 to 4 numbers of one scalar type (AMP: ``float_3`` and similar ones); the classes are ``float2`` to ``half4``.

    - ``float3()`` is zero, ``float3(a)`` repeats a number, ``float3(x, y, z)`` names each component, and ``float3(v)``
      converts a vector of the same length as C does.
    - The components are ``x y z w`` or ``r g b a``.  Distinct letters of one family in any order are a swizzle, which
      can be read and assigned: ``v.zx = w.xy``.  ``v[0]`` is ``v.x``, and ``v[-1]`` the last component.
    - ``+ - * /`` and, for integers, ``% ^ | & ~ << >>`` work component by component; a number is converted to a vector
      that repeats it. ``/`` and ``%`` of integers truncate as in C. ``v += w`` binds the name to a new vector.
    - ``==`` and ``!=`` return one bool; there is no order.

    As a dtype it is packed: its components are adjacent. ``view[i].x = 1`` changes an element; ``v = view[i]`` assigns
    a copy. ``v.copy()`` copies any vector.

    Raises TypeError for operands of another vector or scalar type, OverflowError for integers out of range,
    ZeroDivisionError for an integer division by zero, AttributeError and IndexError for components that it lacks.
    """

    __slots__ = ("_store", "_values")
    __array_ufunc__ = None  # numpy's numbers defer the operators to the vector.
    __hash__ = None  # type: ignore[assignment]

    #: The number of components (AMP: ``size``).
    size: ClassVar[int]
    #: The type of the components (AMP: ``value_type``).
    value_type: ClassVar[type[np.generic]]
    #: The numpy dtype of elements: fields x y z w, called r g b a as well.
    dtype: ClassVar[np.dtype[np.void]]
    _values: NDArray[Any]
    _store: Callable[[str, Any], None] | None

    def __init_subclass__(cls, value_type: type[np.generic], size: int) -> None:
        cls.value_type = value_type
        cls.size = size
        cls.dtype = vector_dtype(np.dtype(value_type).name, size)

    def __init__(self, *components: Any) -> None:
        kind = np.dtype(self.value_type)
        if not components:
            values = np.zeros(self.size, kind)
        elif len(components) == 1 and isinstance(components[0], ShortVector):
            values = self._converted(components[0])
        elif len(components) in (1, self.size):
            numbers = [_number(c, kind) for c in components]
            values = np.array(numbers * (self.size // len(numbers)), kind)
        else:
            raise TypeError(
                f"{type(self).__name__} takes no arguments, one, or {self.size} numbers, got {len(components)}"
            )
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_store", None)

    def _converted(self, other: ShortVector) -> NDArray[Any]:
        """Another vector's components in this type, as C converts them."""
        if other.size != self.size:
            raise TypeError(f"a {type(other).__name__} does not convert to {type(self).__name__}: the lengths differ")
        with np.errstate(all="ignore"):
            return other._values.astype(self.value_type)

    @classmethod
    def _of(cls, values: NDArray[Any], store: Callable[[str, Any], None] | None = None) -> Any:
        """A vector of these components; when one changes, ``store(letter, value)`` writes it elsewhere, too."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_values", values)
        object.__setattr__(made, "_store", store)
        return made

    # -- components --------------------------------------------------------------------------------

    def _positions(self, name: str) -> list[int]:
        letters = letters_of(name, self.size)
        if letters is None:
            raise AttributeError(f"{type(self).__name__} has no components {name!r}: {self._advice()}")
        return [VECTOR_LETTERS.index(letter) for letter in letters]

    @classmethod
    def _advice(cls) -> str:
        families = f"{VECTOR_LETTERS[: cls.size]} or {_COLOURS[: cls.size]}"
        return f"they are distinct letters of {families}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        where = self._positions(name)
        if len(where) == 1:
            return self._values[where[0]]
        return short_vector(self.value_type, len(where))._of(self._values[where])

    def __setattr__(self, name: str, value: Any) -> None:
        where = self._positions(name)
        if len(where) == 1:
            self._change(where, [_number(value, np.dtype(self.value_type))])
            return
        wanted = short_vector(self.value_type, len(where))
        if not isinstance(value, wanted):
            raise TypeError(f".{name} takes a {wanted.__name__}, got {type(value).__name__}")
        self._change(where, list(value._values))

    def copy(self) -> Self:
        """An independent copy."""
        made: Self = self._of(self._values.copy())
        return made

    def _change(self, where: list[int], values: list[Any]) -> None:
        """Assigns components: of the element, if the vector was read from one in the same statement."""
        if self._store is not None and sys.getrefcount(self) <= _unnamed:
            for position, value in zip(where, values, strict=True):
                self._store(VECTOR_LETTERS[position], value)
        self._values[where] = values

    def __getitem__(self, position: int) -> Any:
        return self._values[self._position(position)]

    def __setitem__(self, position: int, value: Any) -> None:
        self._change([self._position(position)], [_number(value, np.dtype(self.value_type))])

    def _position(self, position: Any) -> int:
        where = operator.index(position)
        if not -self.size <= where < self.size:
            raise IndexError(f"{where} is not a component of {type(self).__name__}, which has {self.size}")
        return where % self.size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._values))

    # -- operators ---------------------------------------------------------------------------------

    def _operand(self, other: Any) -> NDArray[Any] | None:
        """The other operand's components; ``None`` if it is not an operand of vectors."""
        if isinstance(other, ShortVector):
            if type(other) is not type(self):
                raise TypeError(
                    f"{type(self).__name__} and {type(other).__name__} do not mix: "
                    f"write {type(self).__name__}(...) around the other"
                )
            return other._values
        kind = np.dtype(self.value_type)
        if isinstance(other, (bool, np.bool_)):
            raise TypeError(f"a bool and a {type(self).__name__} do not mix")
        if isinstance(other, np.generic) and other.dtype != kind:
            raise TypeError(
                f"{dtype_name(other.dtype)} and {type(self).__name__} do not mix: write np.{kind.name}(...)"
            )
        if isinstance(other, (int, float, np.generic)):
            return np.full(self.size, convert_scalar(other, kind), kind)
        return None

    def _combine(self, other: Any, operation: Callable[..., Any], *, swapped: bool = False) -> Any:
        values = self._operand(other)
        if values is None:
            return NotImplemented
        left, right = (values, self._values) if swapped else (self._values, values)
        with np.errstate(all="ignore"):
            return self._of(operation(left, right))

    if TYPE_CHECKING:  # _add_operators defines them

        def __add__(self, other: Any) -> Self: ...
        def __radd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Self: ...
        def __rsub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Self: ...
        def __rmul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Self: ...
        def __rtruediv__(self, other: Any) -> Self: ...

    def __neg__(self) -> Self:
        if np.dtype(self.value_type).kind == "u":
            raise TypeError(f"{type(self).__name__} has no unary minus")
        with np.errstate(all="ignore"):
            return cast("Self", self._of(-self._values))

    def __pos__(self) -> Self:
        return cast("Self", self._of(self._values.copy()))

    def __eq__(self, other: object) -> Any:
        values = self._operand(other)
        return NotImplemented if values is None else bool((self._values == values).all())

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __bool__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is neither true nor false: compare it or its components")

    # -- as other objects --------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The components, in a new array."""
        if copy is False:
            raise ValueError("a vector cannot become an array without a copy")
        return np.array(self._values, dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(v) for v in self._values.tolist())})"


def _number(value: Any, kind: np.dtype[Any]) -> Any:
    """One component's value."""
    if isinstance(value, ShortVector):
        raise TypeError(f"a component is a number, got a {type(value).__name__}")
    return convert_scalar(value, kind)


def _divided(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Division; that of integers truncates as in C."""
    if left.dtype.kind == "f":
        return np.divide(left, right)
    return np.floor_divide(left - _remainder(left, right), right)


def _remainder(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """The remainder with the dividend's sign, as in C."""
    if not right.all():
        raise ZeroDivisionError("integer division by zero")
    rest: NDArray[Any] = np.fmod(left, right)
    return rest


def _shifted(operation: Callable[..., Any]) -> Callable[..., Any]:
    def shift(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        bits = 8 * left.dtype.itemsize
        if not ((right >= 0) & (right < bits)).all():
            raise ValueError(f"shift by 0 to {bits - 1} bits")
        result: NDArray[Any] = operation(left, right)
        return result

    return shift


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": _divided,
}  # fmt: skip
_INTEGER_OPERATIONS: dict[str, Callable[..., Any]] = {
    "mod": _remainder, "xor": np.bitwise_xor, "or": np.bitwise_or, "and": np.bitwise_and,
    "lshift": _shifted(np.left_shift), "rshift": _shifted(np.right_shift),
}  # fmt: skip


def _add_operators(cls: type, operations: dict[str, Callable[..., Any]]) -> None:
    """Defines ``__add__``, ``__radd__`` and so on; ``v += w`` uses them to create a new vector."""
    for name, operation in operations.items():

        def forward(self: Any, other: Any, operation: Callable[..., Any] = operation) -> Any:
            return self._combine(other, operation)

        def backward(self: Any, other: Any, operation: Callable[..., Any] = operation) -> Any:
            return self._combine(other, operation, swapped=True)

        for prefix, method in (("", forward), ("r", backward)):
            method.__name__ = f"__{prefix}{name}__"
            setattr(cls, method.__name__, method)


_add_operators(ShortVector, _OPERATIONS)
entry_point(ShortVector)


class _Integers(ShortVector, value_type=np.int32, size=0):
    """Adds the bitwise operators to the vectors of integers."""

    __slots__ = ()

    if TYPE_CHECKING:  # _add_operators defines them

        def __mod__(self, other: Any) -> Self: ...
        def __rmod__(self, other: Any) -> Self: ...
        def __xor__(self, other: Any) -> Self: ...
        def __rxor__(self, other: Any) -> Self: ...
        def __or__(self, other: Any) -> Self: ...
        def __ror__(self, other: Any) -> Self: ...
        def __and__(self, other: Any) -> Self: ...
        def __rand__(self, other: Any) -> Self: ...
        def __lshift__(self, other: Any) -> Self: ...
        def __rlshift__(self, other: Any) -> Self: ...
        def __rshift__(self, other: Any) -> Self: ...
        def __rrshift__(self, other: Any) -> Self: ...

    def __invert__(self) -> Self:
        return cast("Self", self._of(~self._values))


_add_operators(_Integers, _INTEGER_OPERATIONS)
entry_point(_Integers)


class float2(ShortVector, value_type=np.float32, size=2):
    """Two float32 (AMP: ``float_2``)."""

    __slots__ = ()


class float3(ShortVector, value_type=np.float32, size=3):
    """Three float32 (AMP: ``float_3``)."""

    __slots__ = ()


class float4(ShortVector, value_type=np.float32, size=4):
    """Four float32 (AMP: ``float_4``)."""

    __slots__ = ()


class int2(_Integers, value_type=np.int32, size=2):
    """Two int32 (AMP: ``int_2``)."""

    __slots__ = ()


class int3(_Integers, value_type=np.int32, size=3):
    """Three int32 (AMP: ``int_3``)."""

    __slots__ = ()


class int4(_Integers, value_type=np.int32, size=4):
    """Four int32 (AMP: ``int_4``)."""

    __slots__ = ()


class uint2(_Integers, value_type=np.uint32, size=2):
    """Two uint32 (AMP: ``uint_2``)."""

    __slots__ = ()


class uint3(_Integers, value_type=np.uint32, size=3):
    """Three uint32 (AMP: ``uint_3``)."""

    __slots__ = ()


class uint4(_Integers, value_type=np.uint32, size=4):
    """Four uint32 (AMP: ``uint_4``)."""

    __slots__ = ()


class double2(ShortVector, value_type=np.float64, size=2):
    """Two float64 (AMP: ``double_2``)."""

    __slots__ = ()


class double3(ShortVector, value_type=np.float64, size=3):
    """Three float64 (AMP: ``double_3``)."""

    __slots__ = ()


class double4(ShortVector, value_type=np.float64, size=4):
    """Four float64 (AMP: ``double_4``)."""

    __slots__ = ()


class half2(ShortVector, value_type=np.float16, size=2):
    """Two float16."""

    __slots__ = ()


class half3(ShortVector, value_type=np.float16, size=3):
    """Three float16."""

    __slots__ = ()


class half4(ShortVector, value_type=np.float16, size=4):
    """Four float16."""

    __slots__ = ()


# AMP's spellings.
float_2, float_3, float_4 = float2, float3, float4
int_2, int_3, int_4 = int2, int3, int4
uint_2, uint_3, uint_4 = uint2, uint3, uint4
double_2, double_3, double_4 = double2, double3, double4

_CLASSES: dict[tuple[np.dtype[Any], int], type[ShortVector]] = {
    (np.dtype(c.value_type), c.size): c
    for c in (
        *(float2, float3, float4),
        *(int2, int3, int4),
        *(uint2, uint3, uint4),
        *(double2, double3, double4),
        *(half2, half3, half4),
    )
}


def by_components(function: Callable[..., Any], *arguments: Any) -> ShortVector:
    """The vector of a function's results for each component; a number is an argument of each.

    Raises TypeError for vectors of different lengths, and if no vector has such components.
    """
    sizes = {argument.size for argument in arguments if isinstance(argument, ShortVector)}
    if len(sizes) != 1:
        raise TypeError(f"the vectors have different lengths: {' and '.join(map(str, sorted(sizes)))}")
    (size,) = sizes
    kind = next(a.value_type for a in arguments if isinstance(a, ShortVector))
    columns = [list(a) if isinstance(a, ShortVector) else [_as_component(a, kind)] * size for a in arguments]
    values = np.array([function(*row) for row in zip(*columns, strict=True)])
    if values.dtype.kind == np.dtype(kind).kind and values.dtype.itemsize > np.dtype(kind).itemsize == 4:
        # References may give Python's numbers.
        values = values.astype(kind)
    made: ShortVector = short_vector(values.dtype.type, size)._of(values)
    return made


def _as_component(number: Any, kind: type[np.generic]) -> Any:
    """A Python number beside a vector, which takes the type of the components where it can."""
    weak = isinstance(number, (int, float)) and not isinstance(number, (bool, np.generic))
    if not weak or (isinstance(number, float) and np.dtype(kind).kind != "f"):
        return number
    return convert_scalar(number, np.dtype(kind))


@entry_point
def short_vector(value_type: Any, size: int) -> type[ShortVector]:
    """The vector of ``size`` numbers of a scalar type (AMP: ``short_vector<T, n>::type``).

    Raises TypeError if there is none.
    """
    found = _CLASSES.get((np.dtype(value_type), size))
    if found is None:
        raise TypeError(
            f"there is no short vector of {size} {np.dtype(value_type).name}: "
            "2 to 4 float32, float64, float16, int32, uint32"
        )
    return found


@entry_point
class short_vector_traits:
    """The properties of a short vector: ``value_type`` and ``size`` (AMP: ``short_vector_traits<T>``).

    A scalar type has size 1.  Raises TypeError for any other type.
    """

    __slots__ = ("size", "value_type")

    def __init__(self, of: Any) -> None:
        if isinstance(of, type) and issubclass(of, ShortVector):
            self.value_type, self.size = of.value_type, of.size
        elif np.dtype(of) in {kind for kind, _ in _CLASSES}:
            self.value_type, self.size = np.dtype(of).type, 1
        else:
            raise TypeError(f"{of!r} is not a scalar or short vector type")


def vector_class(dtype: np.dtype[Any]) -> type[ShortVector] | None:
    """The class whose elements have this dtype."""
    kind = vector_type(dtype)
    return None if kind is None else short_vector(kind.element.dtype, kind.count)


def _count_references() -> None:
    """Finds ``_unnamed``: ``view[i].x = 1`` assigns to the element, and ``v = view[i]; v.x = 1`` to the name's copy."""
    global _unnamed
    stored: list[str] = []
    while not stored:
        _unnamed += 1
        float2._of(np.zeros(2), lambda letter, _: stored.append(letter)).x = 0


_count_references()
