"""The types of the IR: scalars, short vectors, structs and fixed-size arrays, with numpy's layout.

C++ AMP's model: docs/conformance.md, sections 4 (element types) and 14 (short vectors).  Sizes and offsets are
bytes and equal numpy's.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Iterable

import numpy as np

from vkamp.errors import UnsupportedFeatureError
from vkamp.records import dataclass


@dataclass(frozen=True)
class Scalar:
    """A number or a truth value; ``kind`` is ``"bool"``, ``"int"``, ``"uint"`` or ``"float"``."""

    name: str
    kind: str
    bits: int

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer (bool is not one)."""
        return self.kind in ("int", "uint")

    @property
    def is_narrow(self) -> bool:
        """Whether it has 8 or 16 bits."""
        return self.bits < 32

    @property
    def is_narrow_float(self) -> bool:
        """Whether it is a float of 16 bits."""
        return self.kind == "float" and self.is_narrow

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The numpy dtype of the same layout; UnsupportedFeatureError if the package that defines it is missing."""
        try:
            return np.dtype(self.name)
        except TypeError:
            return _registered_dtype(self.name)

    def __str__(self) -> str:
        return self.name


def _registered_dtype(name: str) -> np.dtype[np.generic]:
    """A dtype that ml_dtypes adds to numpy; imported when it is needed."""
    try:
        importlib.import_module("ml_dtypes")
    except ImportError:
        message = f"{name} needs the package ml_dtypes: pip install 'vkamp[{name}]'"
        raise UnsupportedFeatureError(message) from None
    return np.dtype(name)


BOOL = Scalar("bool", "bool", 32)
INT32 = Scalar("int32", "int", 32)
UINT32 = Scalar("uint32", "uint", 32)
FLOAT32 = Scalar("float32", "float", 32)
INT64 = Scalar("int64", "int", 64)
UINT64 = Scalar("uint64", "uint", 64)
FLOAT64 = Scalar("float64", "float", 64)
FLOAT16 = Scalar("float16", "float", 16)
BFLOAT16 = Scalar("bfloat16", "float", 16)
INT8 = Scalar("int8", "int", 8)
UINT8 = Scalar("uint8", "uint", 8)
INT16 = Scalar("int16", "int", 16)
UINT16 = Scalar("uint16", "uint", 16)

#: The scalars that kernels can compute with.
SCALARS = {t.name: t for t in (BOOL, INT32, UINT32, FLOAT32, INT64, UINT64, FLOAT16, FLOAT64)}

#: Types that memory holds, and nothing else: a value that is read from it is :func:`promoted`.
SMALL = {t.name: t for t in (INT8, UINT8, INT16, UINT16, BFLOAT16)}

#: The floats of 16 bits.
NARROW_FLOATS = (FLOAT16, BFLOAT16)

#: The scalars that containers can hold.
NUMBERS = {t.name: t for t in (*SCALARS.values(), *SMALL.values()) if t != BOOL}

#: The largest finite numbers of the floats, as messages show them.
LARGEST = {
    "bfloat16": "3.3895314e38",
    "float16": "65504",
    "float32": "3.4028235e38",
    "float64": "1.7976931348623157e308",
}

#: The components of a short vector, in memory order, and their other family of names.
VECTOR_LETTERS = "xyzw"
_COLOUR_LETTERS = "rgba"


def vector_dtype(scalar: str, count: int) -> np.dtype[np.void]:
    """The numpy dtype of a short vector: ``count`` packed fields x y z w, called r g b a as well.

    The second names make it unequal to a user's struct with fields x y z w.
    """
    letters = zip(_COLOUR_LETTERS[:count], VECTOR_LETTERS[:count], strict=True)
    return np.dtype([(pair, scalar) for pair in letters])


@dataclass(frozen=True)
class Vector:
    """A short vector: 2 to 4 components of one scalar type, packed."""

    element: Scalar
    count: int

    @property
    def name(self) -> str:
        """AMP's name without the underscore: ``float3``."""
        kind = {FLOAT64: "double", FLOAT16: "half"}.get(self.element, self.element.kind)
        return f"{kind}{self.count}"

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.count * self.element.size

    @property
    def letters(self) -> str:
        """The names of its components."""
        return VECTOR_LETTERS[: self.count]

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The numpy dtype of the same layout."""
        return vector_dtype(self.element.name, self.count)

    def part(self, letters: str) -> Scalar | Vector:
        """The type of some of its components: a scalar if it is one."""
        return self.element if len(letters) == 1 else Vector(self.element, len(letters))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Complex(Vector):
    """A complex number: memory and GLSL have it as a vector of its parts; it is a number, and no object, in Python."""

    count: int = 2

    @property
    def name(self) -> str:
        """numpy's name: ``complex64``."""
        return f"complex{2 * self.element.bits}"

    @property
    def dtype(self) -> np.dtype[np.generic]:  # type: ignore[override]
        """The numpy dtype of the same layout."""
        return np.dtype(self.name)


@dataclass(frozen=True)
class PackedVector(Vector):
    """A short vector as memory has it where GLSL would align vectors otherwise: an array of its components.

    Only the last pass makes it; values have other types.
    """

    @property
    def vector(self) -> Vector:
        """The type of its values."""
        return Vector(self.element, self.count)


#: The complex numbers that kernels can compute with, by name.
COMPLEX = {c.name: c for c in (Complex(FLOAT32), Complex(FLOAT64))}

#: The short vectors that kernels can compute with, by name; complex numbers are vectors of their parts.
VECTORS: dict[str, Vector] = {
    v.name: v for v in (Vector(s, n) for s in (INT32, UINT32, FLOAT32, FLOAT64, FLOAT16) for n in (2, 3, 4))
} | COMPLEX

#: Numbers and short vectors by their names.
NAMED: dict[str, Scalar | Vector] = {**SCALARS, **SMALL, **VECTORS}


@dataclass(frozen=True)
class Field:
    """A struct's member at a byte offset."""

    name: str
    type: Type
    offset: int


@dataclass(frozen=True)
class Struct:
    """A structured dtype: fields at ascending offsets, ``size`` bytes from element to element.

    Equal fields make equal structs, as equal dtypes do: the name is for people.  ``cls`` is the class of the values
    in Python where they have methods; values of different classes are of different types.
    """

    name: str = dataclasses.field(compare=False)
    fields: tuple[Field, ...]
    size: int
    cls: type | None = None

    def field(self, name: str) -> Field | None:
        """The field called ``name``, if there is one."""
        return next((f for f in self.fields if f.name == name), None)

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The numpy dtype of the same layout."""
        plain = np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [f.type.dtype for f in self.fields],
                "offsets": [f.offset for f in self.fields],
                "itemsize": self.size,
            }
        )
        return plain if self.cls is None else np.dtype((self.cls, plain))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array:
    """A fixed-size array in row-major order: tile_static, private, or a struct's subarray.

    A ``shape`` of ``()`` is one element.
    """

    element: Type
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.element.size

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The numpy dtype of the same layout."""
        return np.dtype((self.element.dtype, self.shape))

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Fragments(Array):
    """A cooperative matrix, or an array of them: ``shape`` ends with the elements that each lane of a subgroup has.

    ``component``: the type of the matrix's elements, which ``element`` holds; ``rows`` x ``columns``: its size;
    ``use``: which operand of a product it is.
    """

    component: Scalar = FLOAT32
    rows: int = 0
    columns: int = 0
    use: str = "accumulator"

    def __str__(self) -> str:
        count = f"[{', '.join(map(str, self.shape[:-1]))}]" if len(self.shape) > 1 else ""
        return f"matrix({self.use}, {self.component}, {self.rows} x {self.columns}){count}"


Type = Scalar | Vector | Struct | Array

_VECTOR_OF_DTYPE: dict[np.dtype[np.generic], Vector] = {v.dtype: v for v in VECTORS.values()}


def is_object(kind: Type) -> bool:
    """Whether two Python names can share a value of the type as one mutable object: true for short vectors, false
    for complex numbers.
    """
    return isinstance(kind, Vector) and not isinstance(kind, Complex)


def structs_among(kinds: Iterable[Type]) -> tuple[Struct, ...]:
    """Every struct among some types and in them, members before the structs that contain them."""
    found: dict[tuple[str, Struct], Struct] = {}

    def add(kind: Type) -> None:
        if isinstance(kind, Array):
            add(kind.element)
        elif isinstance(kind, Struct) and (kind.name, kind) not in found:
            for member in kind.fields:
                add(member.type)
            found[kind.name, kind] = kind

    for kind in kinds:
        add(kind)
    return tuple(found.values())


def int_range(scalar: Scalar) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    if scalar.kind == "int":
        return -(1 << (scalar.bits - 1)), (1 << (scalar.bits - 1)) - 1
    return 0, (1 << scalar.bits) - 1


_RANK = {
    name: rank
    for rank, name in enumerate(("bool", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"))
}


def promoted(scalar: Scalar) -> Scalar:
    """The type of a value that is read from memory of a scalar type (C++: integral promotion)."""
    if scalar.name not in SMALL:
        return scalar
    return INT32 if scalar.is_integer else FLOAT32


def scalar_of_class(cls: type) -> Scalar | None:
    """The scalar of numpy's class of its values, such as ``numpy.float32``; ``None`` for any other class."""
    found = NUMBERS.get(cls.__name__) if issubclass(cls, np.generic) else None
    return found if found is not None and found.dtype.type is cls else None


def common_type(left: Scalar, right: Scalar) -> Scalar:
    """C++'s usual arithmetic conversions; two bools promote to int32."""
    winner = left if _RANK[left.name] >= _RANK[right.name] else right
    return INT32 if winner == BOOL else winner


def from_dtype(dtype: np.dtype[np.generic], name: str = "") -> Type:
    """The IR type of a numpy dtype that ``vkamp.lang.dtypes`` has accepted.

    ``name`` is the name for a structured dtype, which has none.  Raises ``ValueError`` for any other dtype.
    """
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return Array(from_dtype(base, name), tuple(shape))
    vector = _VECTOR_OF_DTYPE.get(dtype)
    if vector is not None:
        return vector
    if dtype.fields is not None and dtype.names is not None:
        cls = None if dtype.type in (np.void, np.record) else dtype.type
        name = cls.__name__ if cls is not None else name or _struct_name(dtype)
        members = []
        for field_name in dtype.names:
            field_type, offset = dtype.fields[field_name][:2]
            members.append(Field(field_name, from_dtype(field_type, f"{name}_{field_name}"), int(offset)))
        return Struct(name, tuple(members), dtype.itemsize, cls)
    scalar = NUMBERS.get(dtype.name)
    if scalar is None:
        raise ValueError(f"{dtype} is not an element type")
    return scalar


def _struct_name(dtype: np.dtype[np.generic]) -> str:
    """A name that depends on the fields only."""
    return "_".join(re.sub(r"\W", "_", n) for n in (dtype.names or ()))[:40] or "record"


def scalar_fields(kind: Type, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Scalar, int]]:
    """Every scalar of a type as ``(path, scalar, byte offset)``, in memory order.

    Array steps are numbers in text, a vector's are letters.
    """
    if isinstance(kind, Scalar):
        return [(path, kind, 0)]
    if isinstance(kind, Vector):
        return [((*path, letter), kind.element, kind.element.size * k) for k, letter in enumerate(kind.letters)]
    out = []
    if isinstance(kind, Struct):
        for member in kind.fields:
            for sub, scalar, offset in scalar_fields(member.type, (*path, member.name)):
                out.append((sub, scalar, member.offset + offset))
        return out
    for i in range(kind.count):
        for sub, scalar, offset in scalar_fields(kind.element, (*path, str(i))):
            out.append((sub, scalar, i * kind.element.size + offset))
    return out


def scalars_in(kind: Type) -> frozenset[Scalar]:
    """The scalar types that a type is made of."""
    if isinstance(kind, Scalar):
        return frozenset((kind,))
    if isinstance(kind, Fragments):
        return frozenset((kind.element, kind.component))  # type: ignore[arg-type]
    if isinstance(kind, (Vector, Array)):
        return scalars_in(kind.element)
    return frozenset().union(*(scalars_in(member.type) for member in kind.fields))


def alignment_of(kind: Type) -> int:
    """The alignment of a type in bytes, as in C++: the size of its largest scalar."""
    return max(scalar.size for scalar in scalars_in(kind))
