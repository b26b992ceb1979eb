"""Every operator on every scalar type, from every source of its operands, over special values; numpy is the oracle.

A case is one kernel: an operator, a type, and where its operands come from. Each row of its output is one choice of
constant operands, each column one pair of values.
"""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

__all__ = ["Case", "cases", "check", "needs"]

INTEGERS = ("int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64", "float16")
SMALL = ("int8", "uint8", "int16", "uint16")
TYPES = (*INTEGERS, *FLOATS)

#: The source of an operand; ``widened`` is a conversion from a smaller type in memory.
SOURCES = ("memory", "value", "index", "constant", "widened")
_PAIRS = (
    ("memory", "memory"),
    ("memory", "constant"),
    ("constant", "constant"),
    ("constant", "memory"),
    ("memory", "value"),
    ("value", "constant"),
    ("index", "constant"),
    ("constant", "index"),
    ("index", "memory"),
    ("widened", "constant"),
    ("constant", "widened"),
    ("widened", "memory"),
    ("widened", "widened"),
)
_WIDENED = {
    "int32": ("int8", "uint8", "int16", "uint16"),
    "uint32": ("uint8", "uint16", "int32"),
    "int64": ("int32", "uint32", "int16", "uint8"),
    "uint64": ("uint32", "uint16", "int32"),
    "float32": ("float16", "int32", "uint32", "int16", "uint16", "uint8"),
    "float64": ("float32", "float16", "int32", "uint32", "int64", "uint64"),
    "float16": ("int16", "uint8"),
}

_COMPARISONS = ("x < y", "x <= y", "x > y", "x >= y", "x == y", "x != y")
_NEGATED = tuple(f"not ({text})" for text in _COMPARISONS)
_COMMON = ("x + y", "x - y", "x * y", "-x", "abs(x)", "min(x, y)", "max(x, y)", "x if x < y else y")
_OF_INTEGERS = (
    "x // y", "x % y", "tdiv(x, y)", "trem(x, y)", "x / y", "x & y", "x | y", "x ^ y", "~x", "x << y", "x >> y",
    "-(-x)", "~(~x)", "x - y + y", "(x << y) >> y", "x // y * y + x % y",
)  # fmt: skip
_OF_FLOATS = (
    "x / y", "x // y", "x % y", "-(-x)", "x - x", "x / x", "x + y - y", "x - y + y", "x * y / y", "x + 0.0", "x - 0.0",
    "0.0 - x", "x * 0.0", "0.0 * x", "x * 1.0", "x * -1.0", "x != x", "x == x", "-(x - y)", "abs(-x)", "x + -x",
    "x + y - x",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """``text`` is the operator on ``x`` and ``y`` of the type ``kind``; ``result`` is the type of the stored value."""

    text: str
    kind: str
    left: str
    right: str
    result: str
    precise: bool = True

    @property
    def name(self) -> str:
        """For people, and for the names of tests."""
        return f"{self.text} [{self.kind}] of {self.left}, {self.right}"


def _result(text: str, kind: str) -> str:
    if text in _COMPARISONS or text in _NEGATED or text in ("x != x", "x == x"):
        return "int32"
    if text == "x / y" and kind in INTEGERS:
        return "float64" if kind.endswith("64") else "float32"
    return kind


def _sources(kind: str) -> Iterator[tuple[str, str]]:
    for left, right in _PAIRS:
        if "widened" not in (left, right):
            yield left, right
            continue
        for small in _WIDENED[kind]:
            yield left.replace("widened", small), right.replace("widened", small)


def _arithmetic() -> Iterator[Case]:
    for kind in TYPES:
        own = _OF_INTEGERS if kind in INTEGERS else _OF_FLOATS
        for text in (*_COMPARISONS, *_NEGATED, *_COMMON, *own):
            if kind.startswith("u") and text in ("-x", "abs(x)", "-(-x)"):
                continue
            for left, right in _sources(kind):
                if "y" not in text:
                    if right != "memory":
                        continue
                    right = "none"
                yield Case(text, kind, left, right, _result(text, kind))


def _conversions() -> Iterator[Case]:
    """Between all pairs of types, and there and back again."""
    for kind, other in itertools.product((*TYPES, *SMALL), repeat=2):
        if kind == other:
            continue
        for left in ("memory", "value", "index", "constant"):
            if kind in SMALL and left != "memory":
                continue
            yield Case(f"{other}(x)", kind, left, "none", other)
            yield Case(f"{kind}({other}(x))", kind, left, "none", kind)
        if kind not in SMALL:
            yield Case("float32(x > y)", kind, "memory", "memory", "float32")


def cases() -> list[Case]:
    """All of them, each once."""
    return list(dict.fromkeys((*_arithmetic(), *_conversions())))


def needs(case: Case) -> set[str]:
    """The device features that a case needs, by vkamp's names."""
    text = f"{case.text} {case.kind} {case.left} {case.right} {case.result}"
    return {
        feature for feature, kinds in {"int64": ("int64", "uint64"), "float64": ("float64",)}.items()
        for kind in kinds if kind in text
    }  # fmt: skip


# -- values ----------------------------------------------------------------------------------------------------------


def _integers(kind: str) -> list[int]:
    info = np.iinfo(kind)
    marks = [0, 1, 2, 3, 5, 7, 31, 32, 63, 127, 128, 255, 256, 300, 32767, 32768, 65535, 65536, 123456789]
    marks += [
        2**24 + 1,
        2**25 + 3,
        2**31 - 1,
        2**31,
        2**31 + 1,
        4082210491,
        2**32 - 1,
        2**32,
        2**53 + 1,
        2**62 + 2**38 + 1,
    ]
    marks += [info.max, info.max - 1, info.min, info.min + 1]
    both = [sign * mark for mark in marks for sign in (1, -1)]
    return [n for n in dict.fromkeys(both) if info.min <= n <= info.max]


def _floats(kind: str) -> list[float]:
    info = np.finfo(kind)
    marks = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        0.1,
        3.0,
        7.0,
        255.0,
        1000.7,
        16777217.0,
        2.0**31,
        2.0**32,
        1e9 + 7.0,
        2.0**53 + 2,
    ]
    marks += [float(info.max), float(info.tiny), 1e-3, 12345.678, np.inf]
    with np.errstate(over="ignore"):
        both = [float(np.dtype(kind).type(sign * mark)) for mark in marks for sign in (1, -1)]
    return [*dict.fromkeys(v for v in both if np.isfinite(v)), -0.0, np.inf, -np.inf, np.nan]


def values(kind: str) -> NDArray[Any]:
    """The special values of a type."""
    return np.array(_floats(kind) if kind in FLOATS else _integers(kind), kind)


_CONSTANTS = {
    "int": (
        0,
        1,
        -1,
        2,
        3,
        5,
        7,
        8,
        -7,
        127,
        128,
        255,
        65535,
        2147483647,
        -2147483648,
        4294967296,
        2**63 - 1,
        -(2**63),
    ),
    "uint": (0, 1, 2, 3, 5, 8, 31, 255, 65535, 2**31, 2**32 - 1, 2**32, 2**64 - 1),
    "float": (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.0, 0.1, 1000.7, 16777216.0, 1e9, float("inf"), float("nan")),
}


def _constants(kind: str) -> list[Any]:
    if kind in FLOATS:
        return [c for c in _CONSTANTS["float"] if not abs(c) > np.finfo(kind).max or abs(c) == np.inf]
    info = np.iinfo(kind)
    return [c for c in _CONSTANTS[kind.rstrip("0123456789")] if info.min <= c <= info.max]


# -- kernels ---------------------------------------------------------------------------------------------------------

_FIRST_INDEX = 3


@dataclass(frozen=True)
class _Operand:
    """An operand as the kernel writes it, and as numpy has it: one for each row."""

    texts: tuple[str, ...]
    values: tuple[NDArray[Any], ...]
    containers: tuple[NDArray[Any], ...] = ()
    scalars: tuple[Any, ...] = ()


def _operand(source: str, kind: str, name: str, column: NDArray[Any], count: int) -> _Operand:
    if source == "none":
        return _Operand(("",), (np.zeros(count, kind),))
    if source == "memory":
        text = f"amp.{kind}({name}[i])" if kind in SMALL else f"{name}[i]"
        return _Operand((text,), (column.astype(kind),), (column.astype(kind),))
    if source == "index":
        first = 0 if kind.startswith("u") else _FIRST_INDEX
        number = (np.arange(count) - first).astype(kind)
        return _Operand((f"amp.{kind}(i - {first})" if first else f"amp.{kind}(i)",), (number,))
    if source == "constant":
        chosen = _constants(kind)
        return _Operand(
            tuple(_constant(c, kind) for c in chosen), tuple(np.full(count, np.dtype(kind).type(c)) for c in chosen)
        )
    if source == "value":
        some = values(kind)[::3]
        return _Operand((f"{name}v",), tuple(np.full(count, c, kind) for c in some), scalars=tuple(some))
    small = column.astype(source)
    return _Operand((f"amp.{kind}({name}[i])",), (_converted(small, kind),), (small,))


def _constant(value: Any, kind: str) -> str:
    if value != value:
        return f"amp.{kind}(NAN)"
    if value in (np.inf, -np.inf):
        return f"amp.{kind}({'-' if value < 0 else ''}INF)"
    return f"amp.{kind}({value!r})"


def _converted(array: NDArray[Any], kind: str) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        return np.asarray(array.astype(kind))


def _in_numpy(text: str) -> str:
    if text.startswith("not "):
        return f"np.logical_not({text[4:]})"
    return "np.where(x < y, x, y)" if text == "x if x < y else y" else text


def _tdiv(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    q = np.asarray(x // y)
    if x.dtype.kind == "u":
        return q
    return np.asarray(q + ((q < 0) & (q * y != x)).astype(x.dtype))


def _oracle(case: Case, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    names: dict[str, Any] = {
        "np": np, "x": x, "y": y, "tdiv": _tdiv, "trem": lambda x, y: x - _tdiv(x, y) * y,
        "abs": np.abs, "min": np.fmin, "max": np.fmax,
    }  # fmt: skip
    for kind in (*TYPES, *SMALL):
        names[kind] = lambda v, kind=kind: _converted(v, kind)
    with np.errstate(all="ignore"):
        if case.text == "x / y" and case.kind in INTEGERS:
            return np.asarray(x.astype(case.result) / y.astype(case.result))
        found = eval(_in_numpy(case.text), names)
        return np.asarray(found).astype(case.result)


def _defined(case: Case, x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where the language defines the result."""
    good = np.ones(x.shape, bool)
    if case.kind in INTEGERS:
        if any(sign in case.text for sign in ("//", "%", "tdiv", "trem", "/ y")):
            good &= y != 0
        if "<<" in case.text or ">>" in case.text:
            good &= (y >= 0) & (y < np.dtype(case.kind).itemsize * 8)
    if "(x" in case.text and case.kind in FLOATS:
        # A float that an integer type can't hold has no conversion.
        for kind in (*INTEGERS, *SMALL):
            if f"{kind}(" in case.text.replace(f"u{kind}(", "") and f"{kind}(x" in case.text:
                wide = x.astype(np.longdouble)
                whole = "int32" if kind in SMALL else kind
                info = np.iinfo(whole)
                with np.errstate(all="ignore"):
                    good &= (np.trunc(wide) >= info.min) & (np.trunc(wide) <= info.max)
    if case.kind in (*INTEGERS, *SMALL) and case.text.startswith(f"{case.kind}(float"):
        # Converted back: a value that was rounded up to 2^31 has no conversion.
        other = case.text.split("(")[1]
        back = _converted(x, other).astype(np.longdouble)
        info = np.iinfo("int32" if case.kind in SMALL else case.kind)
        good &= (back >= info.min) & (back <= info.max)
    return good


def _source(case: Case, rows: tuple[tuple[str, str], ...]) -> str:
    text = case.text
    for kind in sorted((*TYPES, *SMALL), key=len, reverse=True):
        text = text.replace(f"{kind}(", f"amp.{kind.upper()}(") if f"{kind}(" in text else text
    for kind in (*TYPES, *SMALL):
        text = text.replace(f"amp.{kind.upper()}(", f"amp.{kind}(").replace("amp.Uamp.", "amp.u")
    for name in ("tdiv", "trem"):
        text = text.replace(f"{name}(", f"amp.{name}(")
    lines = [f"@amp.kernel(precise={case.precise})", "def k(idx, a, b, o, av, bv):", "    i = idx[0]"]
    for number, (x, y) in enumerate(rows):
        lines.append(f"    x{number} = {x}")
        if y:
            lines.append(f"    y{number} = {y}")
        own = "".join(f"{c}{number}" if c in "xy" and _is_word(text, at) else c for at, c in enumerate(text))
        value = f"amp.int32({own})" if case.result == "int32" and case.result != case.kind else own
        lines.append(f"    o[{number}, i] = {value}")
    return "\n".join(lines) + "\n"


def _is_word(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return not (before.isalnum() or after.isalnum() or before == "_" or before == ".")


@functools.lru_cache(maxsize=8)
def kernel_of(case: Case, rows: tuple[tuple[str, str], ...]) -> Any:
    """The kernel of a case."""
    source = _source(case, rows)
    file = f"<sweep {case.name}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names: dict[str, Any] = {"amp": amp, "INF": float("inf"), "NAN": float("nan")}
    exec(compile(source, file, "exec"), names)
    return names["k"]


# -- running ---------------------------------------------------------------------------------------------------------


def _columns(case: Case) -> tuple[NDArray[Any], NDArray[Any]]:
    """The pairs of values: all of two operands in memory, each of one alone."""

    def of(source: str) -> NDArray[Any]:
        return values(case.kind if source in SOURCES or source == "none" else source)

    x, y = of(case.left), of(case.right)
    two = case.left not in ("value", "constant", "index") and case.right not in ("value", "constant", "index", "none")
    if two:
        grid = np.meshgrid(np.arange(len(x)), np.arange(len(y)), indexing="ij")
        return x[grid[0].ravel()], y[grid[1].ravel()]
    count = max(len(x), len(y))
    return np.resize(x, count), np.resize(y, count)


def _differs(case: Case, found: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where results differ in their bits; of NaNs any is right, and a quotient is right to three units."""
    if right.dtype.kind != "f":
        return np.asarray(found != right)
    same = (found == right) & (np.signbit(found) == np.signbit(right)) | (np.isnan(found) & np.isnan(right))
    if case.text.startswith(("min(", "max(")):
        same |= (found == 0) & (right == 0)  # which of two zeros is left open
    if "/ " in case.text and "//" not in case.text:
        with np.errstate(all="ignore"):
            same |= np.abs(found.astype(np.longdouble) - right) <= 3 * np.abs(np.spacing(right)).astype(np.longdouble)
    return np.asarray(~same)


def _is_denormal(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind != "f":
        return np.zeros(array.shape, bool)
    return np.asarray((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny))


def _chosen(case: Case, good: NDArray[np.bool_], strict: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows and columns to run: all of them, or, where what is undefined is an error, those that are defined."""
    rows, columns = np.arange(good.shape[0]), np.arange(good.shape[1])
    if not strict:
        return rows, columns
    if "index" in (case.left, case.right):
        return rows[good.all(axis=1)], columns
    rows = rows[good.any(axis=1)]
    return rows, columns[good[rows].all(axis=0)]


def check(case: Case, view: amp.accelerator_view, *, denormals: bool = True) -> list[str]:
    """Runs a case; returns some lines about the failure, if any. ``denormals``: whether the device supports denormal
    numbers.
    """
    a, b = _columns(case)
    left = _operand(case.left, case.kind, "a", a, len(a))
    right = _operand(case.right, case.kind, "b", b, len(a))
    strict = view.accelerator.device_path == "reference"
    wrong: list[str] = []
    for xs, ys in itertools.product(left.scalars or (None,), right.scalars or (None,)):
        x_rows = left.values if xs is None else (np.full(len(a), xs, case.kind),)
        y_rows = right.values if ys is None else (np.full(len(a), ys, case.kind),)
        pairs = list(itertools.product(x_rows, y_rows))
        good = np.array([_defined(case, x, y) for x, y in pairs])
        rows, columns = _chosen(case, good, strict)
        if len(rows) and len(columns):
            texts = list(itertools.product(left.texts, right.texts))
            found = _run(case, view, [texts[k] for k in rows], (left, right), columns, (xs, ys))
            for at, row in zip(found, rows, strict=True):
                x, y = (values[columns] for values in pairs[row])
                wrong += _compared(case, at, x, y, good[row][columns], denormals)
    return wrong


def _run(
    case: Case,
    view: amp.accelerator_view,
    rows: list[tuple[str, str]],
    operands: tuple[_Operand, _Operand],
    columns: NDArray[np.intp],
    scalars: tuple[Any, Any],
) -> NDArray[Any]:
    kind = np.dtype(case.kind).type if case.kind in TYPES else np.int32
    given = [o.containers[0][columns] if o.containers else np.zeros(len(columns), np.int32) for o in operands]
    out = amp.array_view(np.zeros((len(rows), len(columns)), case.result))
    arguments = [*map(amp.array_view, given), out, *(kind(0) if v is None else v for v in scalars)]
    amp.parallel_for_each(view, amp.extent(len(columns)), kernel_of(case, tuple(rows)), *arguments)
    return np.asarray(out)


def _compared(
    case: Case,
    found: NDArray[Any],
    x: NDArray[Any],
    y: NDArray[Any],
    good: NDArray[np.bool_],
    denormals: bool,
) -> list[str]:
    expected = _oracle(case, x, y)
    bad = _differs(case, found, expected) & good
    if not denormals:
        with np.errstate(all="ignore"):
            between = (x, y, expected, found, x * y if case.kind in FLOATS else expected)
        bad &= ~np.any([_is_denormal(each) for each in between], axis=0)
    return [
        f"{case.name}: x = {x[at]!r}, y = {y[at]!r}: {found[at]!r}, not {expected[at]!r}"
        for at in np.flatnonzero(bad)[:2]
    ]
