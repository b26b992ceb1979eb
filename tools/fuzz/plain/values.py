"""Numbers, short vectors and indices with the arithmetic of the kernel language.

A plain Python ``int`` or ``float`` is a weak literal; everything with a type is a :class:`Num`.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = [
    "STATE",
    "Idx",
    "Num",
    "UndefinedError",
    "UnknownError",
    "Vec",
    "as_items",
    "binary",
    "cast",
    "common",
    "compare",
    "convert",
    "integers",
    "kind_of",
    "raw_of",
    "strong",
    "truth",
]


class UndefinedError(Exception):
    """The behaviour of the program is undefined, so its results mean nothing."""


class UnknownError(Exception):
    """The oracle does not know this construct."""


class State:
    """The rounding in a launch: by how much its results may differ on a device that rounds differently."""

    def __init__(self) -> None:
        self.reset(None)

    def reset(self, noise: random.Random | None) -> None:
        """Called before a launch; ``noise`` changes each result that devices may round differently."""
        self.noise = noise
        #: Whether an expression is evaluated for its type alone: nothing is stored, nothing is undefined.
        self.trial = False
        #: Whether there were infinities, NaN or denormal numbers.
        self.special = False
        #: Whether there were operations that devices may round differently.
        self.inexact = False

    @contextlib.contextmanager
    def trying(self) -> Iterator[None]:
        """Evaluates for types alone; leaves no trace."""
        before = self.trial, self.noise, self.special, self.inexact
        self.trial, self.noise = True, None
        try:
            yield
        finally:
            self.trial, self.noise, self.special, self.inexact = before

    def rounded(self, value: float, relative: float = 2.0**-18, absolute: float = 0.0) -> float:
        """A result that devices may round differently, by at most the given amount."""
        self.inexact = True
        if self.noise is None:
            return value
        far = self.noise.choice([-1, 1]) * self.noise.uniform(0.5, 1)
        return value * (1 + far * relative) + far * absolute

    def look(self, *values: Any) -> None:
        """Records floats that devices treat differently."""
        for value in values:
            if isinstance(value, float) and (not math.isfinite(value) or 0 < abs(value) < _MIN):
                self.special = True


_MIN = 1.2e-38
STATE = State()

INTEGERS = {"int8": (8, True), "uint8": (8, False), "int16": (16, True), "uint16": (16, False), "int32": (32, True),
            "uint32": (32, False), "int64": (64, True), "uint64": (64, False)}  # fmt: skip
_RANK = {k: n for n, k in enumerate(("bool", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"))}


def _f16(x: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float16(x))


ROUND: dict[str, Callable[[float], float]] = {
    "float16": _f16, "float32": lambda x: ctypes.c_float(x).value, "float64": float,
}  # fmt: skip
_NUMPY: dict[str, Any] = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def wrap(kind: str, value: int) -> int:
    """The value modulo the size of an integer type."""
    bits, signed = INTEGERS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


class Num:
    """A number of a type: ``v`` is a Python bool, int or float that the type holds.

    ``weak``: a number of the launch without a fixed type, in its default type; ``exact`` is its value
    in double precision.  ``place``: the memory and the position that it was read from.
    """

    __slots__ = ("exact", "k", "place", "v", "weak")

    def __init__(self, k: str, v: Any, weak: bool = False, place: Any = None, exact: float | None = None) -> None:
        self.k, self.v, self.weak, self.place, self.exact = k, v, weak, place, exact

    def __bool__(self) -> bool:
        return bool(self.v)

    def __index__(self) -> int:
        if self.k in _NUMPY:
            raise UnknownError("a float as an index")
        return int(self.v)

    def __repr__(self) -> str:
        return f"{self.k}({self.v})"

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        if self.k in _NUMPY:
            return Num(self.k, -self.v, self.weak, exact=None if self.exact is None else -self.exact)
        k = "int32" if self.k == "bool" else self.k
        return Num(k, wrap(k, -int(self.v)), self.weak)

    def __pos__(self) -> Any:
        return Num("int32" if self.k == "bool" else self.k, self.v + 0 if self.k == "bool" else self.v, self.weak)

    def __invert__(self) -> Any:
        k = "int32" if self.k == "bool" else self.k
        return Num(k, wrap(k, ~int(self.v)), self.weak)


def kind_of(x: Any) -> str:
    """The type that a number has alone."""
    if isinstance(x, Num):
        return x.k
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return "int32"
    if isinstance(x, float):
        return "float32"
    raise UnknownError(f"{type(x).__name__} where a number is expected")


def _weak(x: Any) -> bool:
    return x.weak if isinstance(x, Num) else not isinstance(x, bool)


def raw_of(x: Any) -> Any:
    """The Python value."""
    return x.v if isinstance(x, Num) else x


def common(a: Any, b: Any) -> str:
    """The common type of two numbers."""
    x, y = kind_of(a), kind_of(b)
    if _weak(a) != _weak(b):
        weak, typed = (x, y) if _weak(a) else (y, x)
        if not (typed == "bool" or (weak in _NUMPY and typed not in _NUMPY)):
            return typed
    winner = x if _RANK[x] >= _RANK[y] else y
    return "int32" if winner == "bool" else winner


def cast(k: str, value: Any, source: str) -> Any:
    """A raw value of one type converted to another as in C; for a small type, the value that an int32 contains."""
    if k == "bool":
        return bool(value)
    if k in _NUMPY:
        if source in ("int64", "uint64"):
            with np.errstate(all="ignore"):
                return float(np.dtype(source).type(value).astype(_NUMPY[k]))
        return ROUND[k](float(value))
    if isinstance(value, float):
        if STATE.trial:
            return 0
        if not math.isfinite(value):
            raise UndefinedError("a float that no integer holds")
        value = int(value)
        bits, signed = INTEGERS["int32" if INTEGERS[k][0] < 32 else k]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise UndefinedError("a float that the integer type does not hold")
    return wrap(k, int(value))


def convert(x: Any, k: str) -> Any:
    """The raw value of a number in a type."""
    if isinstance(x, Num):
        if k == "float64" and x.exact is not None:
            return x.exact
        return x.v if x.k == k else cast(k, x.v, x.k)
    if k in _NUMPY:
        return ROUND[k](float(x))
    if k == "bool":
        return bool(x)
    if isinstance(x, float):
        raise UnknownError("a float where an integer is expected")
    return wrap(k, int(x))


def strong(x: Any) -> Any:
    """A number in the type that it has alone."""
    if isinstance(x, Num):
        return Num(x.k, x.v)
    k = kind_of(x)
    return Num(k, convert(x, k))


def truth(x: bool) -> Num:
    """A bool of the language."""
    return Num("bool", bool(x))


_PLAIN = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "floordiv": operator.floordiv, "mod": operator.mod, "div": operator.truediv,
}  # fmt: skip


def tdiv(a: int, b: int) -> int:
    """C's quotient."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trem(a: int, b: int) -> int:
    """C's remainder."""
    return a - b * tdiv(a, b)


def integers(op: str, k: str, x: int, y: int) -> int:
    """An operation on two raw values of an integer type."""
    if op in ("floordiv", "mod", "tdiv", "trem") and y == 0:
        if STATE.trial:
            return 0
        raise UndefinedError("a division by zero")
    function = {"tdiv": tdiv, "trem": trem}.get(op) or _PLAIN[op]
    return wrap(k, function(x, y))


def floats(op: str, k: str, x: float, y: float) -> float:
    """An operation on two raw values of a float type."""
    result = _floats(op, k, x, y)
    STATE.look(x, y, result)
    return STATE.rounded(result) if op == "div" else result


def _floats(op: str, k: str, x: float, y: float) -> float:
    if op in ("floordiv", "mod"):
        of = np.float32 if k == "float16" else _NUMPY[k]
        x, y = STATE.rounded(x), STATE.rounded(y)
        with np.errstate(all="ignore"):
            return float(_NUMPY[k](of(x) // of(y) if op == "floordiv" else of(x) % of(y)))
    if op == "div" and y == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(y))
    try:
        # Rounding twice, through double precision, is rounding once for + - * / of the shorter types.
        return ROUND[k](_PLAIN[op](x, y))
    except OverflowError:
        return math.inf


def shift(op: str, a: Any, b: Any) -> Any:
    """``a << b`` and ``a >> b``, in the type of ``a``."""
    k = "int32" if kind_of(a) == "bool" else kind_of(a)
    if k in _NUMPY or kind_of(b) in _NUMPY:
        raise UnknownError("a shift of floats")
    value, count = convert(a, k), int(raw_of(b))
    if STATE.trial:
        count = 0
    if not 0 <= count < INTEGERS[k][0]:
        raise UndefinedError("a shift by too much")
    moved = wrap(k, value << count if op == "shl" else value >> count)
    return Num(k, moved, _weak(a) and isinstance(b, Num) and b.weak)


def power(a: Any, b: Any) -> Any:
    """``a ** b``."""
    if isinstance(b, int) and not isinstance(b, bool) and 0 <= b <= 16:
        k = "int32" if kind_of(a) == "bool" else kind_of(a)
        base = convert(a, k)
        if b == 0:
            return Num(k, 1.0 if k in _NUMPY else 1)
        result = base
        for _ in range(b - 1):
            result = floats("mul", k, result, base) if k in _NUMPY else integers("mul", k, result, base)
        return Num(k, result)
    k = common(a, b)
    if k in _NUMPY:
        raise UnknownError("a power of floats that is no small constant")
    exponent = convert(b, k)
    if exponent < 0:
        raise UndefinedError("an integer to a negative power")
    return Num(k, wrap(k, pow(convert(a, k), exponent, 1 << INTEGERS[k][0])))


def binary(op: str, a: Any, b: Any) -> Any:
    """An operator of two numbers, at least one of which has a type."""
    if isinstance(a, (Vec, Idx)) or isinstance(b, (Vec, Idx)):
        return NotImplemented
    if not isinstance(a, (Num, bool, int, float)) or not isinstance(b, (Num, bool, int, float)):
        return NotImplemented
    if op in ("shl", "shr"):
        return shift(op, a, b)
    if op == "pow":
        return power(a, b)
    k, weak = common(a, b), _weak(a) and _weak(b)
    if op == "div" and k not in _NUMPY:
        k = "float64" if INTEGERS[k][0] == 64 else "float32"
    if op in ("and", "or", "xor") and kind_of(a) == kind_of(b) == "bool":
        return truth(_PLAIN[op](bool(raw_of(a)), bool(raw_of(b))))
    x, y = convert(a, k), convert(b, k)
    if k in _NUMPY:
        if op in ("and", "or", "xor"):
            raise UnknownError("bits of floats")
        exact = None
        if weak:
            # The value in double precision, which it has in operations with a float64.
            exact = floats(op, "float64", convert(a, "float64"), convert(b, "float64"))
        return Num(k, floats(op, k, x, y), weak, exact=exact)
    return Num(k, integers(op, k, x, y), weak)


_COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
            "ge": operator.ge}  # fmt: skip


def compare(op: str, a: Any, b: Any) -> Any:
    """A comparison of two numbers."""
    if not isinstance(a, (Num, bool, int, float)) or not isinstance(b, (Num, bool, int, float)):
        return NotImplemented
    if kind_of(a) == kind_of(b) == "bool":
        return truth(_COMPARE[op](bool(raw_of(a)), bool(raw_of(b))))
    k = common(a, b)
    if k not in _NUMPY:
        # Integers by value, whatever their types.
        return truth(_COMPARE[op](int(raw_of(a)), int(raw_of(b))))
    x, y = convert(a, k), convert(b, k)
    STATE.look(x, y)
    return truth(_COMPARE[op](x, y))


_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod",
          "and": "and", "or": "or", "xor": "xor", "lshift": "shl", "rshift": "shr", "pow": "pow"}  # fmt: skip


def _operators(cls: type, of: Callable[[str, Any, Any], Any], comparison: Callable[[str, Any, Any], Any]) -> None:
    for name, op in _NAMES.items():
        setattr(cls, f"__{name}__", lambda self, other, op=op: of(op, self, other))
        setattr(cls, f"__r{name}__", lambda self, other, op=op: of(op, other, self))
    for name in _COMPARE:
        setattr(cls, f"__{name}__", lambda self, other, op=name: comparison(op, self, other))


_operators(Num, binary, compare)


# -- short vectors -------------------------------------------------------------------------------------------------


class Vec:
    """A short vector: components of one type; ``memory``: a structured array of no dimensions that it is part of."""

    __slots__ = ("k", "memory", "v")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, k: str, v: list[Any], memory: Any = None) -> None:
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "v", v)
        object.__setattr__(self, "memory", memory)

    def _positions(self, name: str) -> list[int]:
        for family in ("xyzw", "rgba"):
            letters = family[: len(self.v)]
            if set(name) <= set(letters) and len(set(name)) == len(name):
                return [letters.index(c) for c in name]
        raise UnknownError(f"a vector's attribute {name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("ref_"):
            return lambda: getattr(self, name[4:])
        if name == "size":
            return len(self.v)
        at = self._positions(name)
        if len(at) == 1:
            return Num(self.k, self.v[at[0]], place=(self, name))
        return Vec(self.k, [self.v[n] for n in at], (self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if STATE.trial:
            return
        at = self._positions(name)
        if len(at) == 1:
            given = [convert(value, self.k)]
        else:
            assert isinstance(value, Vec) and value.k == self.k
            given = list(value.v)
        for n, x in zip(at, given, strict=True):
            self.v[n] = x
        if isinstance(self.memory, tuple):
            # A swizzle of another: `v.zyx.y = 1`.
            owner, letters = self.memory
            for n in at:
                setattr(owner, letters[n], Num(self.k, self.v[n]))
        elif self.memory is not None:
            for n, x in zip(at, given, strict=True):
                self.memory["xyzw"[n]] = x

    def current(self, name: str) -> Any:
        """A component as it is in memory now, which may have changed since the vector was read."""
        if isinstance(self.memory, tuple):
            owner, letters = self.memory
            return owner.current(letters[self._positions(name)[0]])
        at = self._positions(name)[0]
        return Num(self.k, self.v[at] if self.memory is None else self.memory["xyzw"[at]].item())

    def __len__(self) -> int:
        return len(self.v)

    def __iter__(self) -> Any:
        return (Num(self.k, x) for x in self.v)

    def copy(self) -> Vec:
        """The value alone."""
        return Vec(self.k, list(self.v))

    def __repr__(self) -> str:
        return f"{self.k}{self.v}"

    def __neg__(self) -> Vec:
        return Vec(self.k, [raw_of(-Num(self.k, x)) for x in self.v])

    def __pos__(self) -> Vec:
        return self.copy()

    def __invert__(self) -> Vec:
        return Vec(self.k, [raw_of(~Num(self.k, x)) for x in self.v])


def _vector_parts(a: Any, b: Any) -> tuple[str, list[Any], list[Any]]:
    vector = a if isinstance(a, Vec) else b

    def parts(x: Any) -> list[Any]:
        if isinstance(x, Vec):
            if x.k != vector.k or len(x.v) != len(vector.v):
                raise UnknownError("vectors of two types")
            return list(x.v)
        if isinstance(x, (Num, bool, int, float)):
            return [convert(x, vector.k)] * len(vector.v)
        raise UnknownError("a vector and something else")

    return vector.k, parts(a), parts(b)


def _vector_binary(op: str, a: Any, b: Any) -> Any:
    k, x, y = _vector_parts(a, b)
    if k in _NUMPY:
        return Vec(k, [floats(op, k, p, q) for p, q in zip(x, y, strict=True)])
    op = {"div": "tdiv", "mod": "trem"}.get(op, op)
    if op in ("shl", "shr"):
        return Vec(k, [shift(op, Num(k, p), Num(k, q)).v for p, q in zip(x, y, strict=True)])
    return Vec(k, [integers(op, k, p, q) for p, q in zip(x, y, strict=True)])


def _vector_compare(op: str, a: Any, b: Any) -> Any:
    if op not in ("eq", "ne"):
        raise UnknownError("an order of vectors")
    _, x, y = _vector_parts(a, b)
    return truth(all(p == q for p, q in zip(x, y, strict=True)) == (op == "eq"))


_operators(Vec, _vector_binary, _vector_compare)


# -- indices -------------------------------------------------------------------------------------------------------


class Idx:
    """An index or extent: int32 components."""

    __slots__ = ("constant", "items", "what")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: list[int], what: str = "index", constant: bool = False) -> None:
        self.items, self.what, self.constant = items, what, constant

    def __getitem__(self, n: Any) -> Any:
        value = self.items[int(n)]
        return value if self.constant else Num("int32", value)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self.items)))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.items)

    def size(self) -> Num:
        """The number of elements."""
        return Num("int32", wrap("int32", math.prod(self.items)))

    def contains(self, index: Any) -> Num:
        """Whether an index is inside this extent."""
        where = as_items(index)
        return truth(all(0 <= i < n for i, n in zip(where, self.items, strict=True)))

    def __neg__(self) -> Idx:
        return Idx([wrap("int32", -i) for i in self.items], self.what)

    def __pos__(self) -> Idx:
        return self


def as_items(x: Any) -> list[int]:
    """The components of something that is an index: numbers, a tuple, an index, a thread."""
    x = getattr(x, "global_", x)
    if isinstance(x, Idx):
        return [int(i) for i in x.items]
    if isinstance(x, (list, tuple)):
        return [int(raw_of(i)) for i in x]
    if isinstance(x, (Num, int)):
        return [int(raw_of(x))]
    raise UnknownError("a subscript")


def _index_binary(op: str, a: Any, b: Any) -> Any:
    one = a if isinstance(a, Idx) else b
    rank = len(one.items)
    both = [as_items(x) * (1 if isinstance(x, (Idx, tuple)) else rank) for x in (a, b)]
    name = {"div": "tdiv", "mod": "trem"}.get(op, op)
    what = "extent" if any(isinstance(x, Idx) and x.what == "extent" for x in (a, b)) else "index"
    return Idx([integers(name, "int32", wrap("int32", x), wrap("int32", y)) for x, y in zip(*both, strict=True)], what)


def _index_compare(op: str, a: Any, b: Any) -> Any:
    if op not in ("eq", "ne"):
        raise UnknownError("an order of indices")
    return truth((as_items(a) == as_items(b)) == (op == "eq"))


_operators(Idx, _index_binary, _index_compare)
