"""Conversions between scalars that some drivers get wrong, as functions: one row for each fault and pair of types."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from vkamp.artifacts import Quirk
from vkamp.ir.types import VECTORS, Scalar, Vector

_UNSIGNED_TO_FLOAT = """\
// float(x): this driver rounds values from 2^31 on wrongly. x is halved; the lowest bit keeps the rounding right.
float float_from(uint x) {
    return int(x) >= 0 ? float(int(x)) : 2.0 * float(int((x >> 1) | (x & 1u)));
}
"""
_WIDENED = """\
// int64_t(x): this driver compiles comparisons of a plain conversion with a constant wrongly.
int64_t int64_from(int x) {
    return packInt2x32(ivec2(x, x >> 31));
}
"""
_WIDE_FACTORS = """\
// {target}(x): this driver multiplies a plain conversion by 2^31 as by -2^31.
{target} {name}(int x) {{
    return {target}(uint64_t(uint(x >> 31)) << 32 | uint64_t(uint(x)));
}}
"""
_TRUNCATED = """\
// {target}(x): this driver replaces int(float(n)) by n and float(int(x)) by trunc(x).
// A zero that is hidden from the driver's compiler prevents that.
{target} {name}({source} x) {{
    uint zero = gl_NumWorkGroups.x >> 31;
    return {target}({hidden}) ^ {target}(zero);
}}
"""
_HIDDEN = {
    "float32": ("float", "uintBitsToFloat(floatBitsToUint(x) ^ zero)"),
    "float64": ("double", "packDouble2x32(unpackDouble2x32(x) ^ uvec2(zero))"),
}
_GLSL = {
    "int32": "int", "uint32": "uint", "int64": "int64_t", "uint64": "uint64_t", "float32": "float", "float64": "double",
}  # fmt: skip
_COMPONENTS = """\
{target} {name}({source} v) {{
    return {target}({parts});
}}
"""


@dataclass(frozen=True)
class _Row:
    """``fault``: the driver's. ``source`` and ``target`` are names of scalars."""

    fault: Quirk
    source: str
    target: str
    text: str

    @property
    def key(self) -> str:
        """The key of the function's text."""
        return f"{self.fault} {self.source} {self.target}"

    @property
    def name(self) -> str:
        return f"{_GLSL[self.target].removesuffix('_t')}_from"


def _truncated(source: str, target: str) -> _Row:
    kind, hidden = _HIDDEN[source]
    glsl = _GLSL[target]
    name = f"{glsl.removesuffix('_t')}_from"
    text = _TRUNCATED.format(target=glsl, name=name, source=kind, hidden=hidden)
    return _Row("float_round_trips", source, target, text)


def _wide_factor(target: str) -> _Row:
    glsl = _GLSL[target]
    text = _WIDE_FACTORS.format(target=glsl, name=f"{glsl.removesuffix('_t')}_from")
    return _Row("wide_factors", "int32", target, text)


_ROWS = (
    _Row("unsigned_to_float", "uint32", "float32", _UNSIGNED_TO_FLOAT),
    _Row("widened_comparisons", "int32", "int64", _WIDENED),
    *(_wide_factor(target) for target in ("int64", "uint64")),
    *(_truncated(source, target) for source in _HIDDEN for target in ("int32", "uint32", "int64", "uint64")),
)


def _texts() -> dict[str, str]:
    texts = {row.key: row.text for row in _ROWS}
    for row in _ROWS:
        for vector in VECTORS.values():
            target = next(
                (v for v in VECTORS.values() if (v.element.name, v.count) == (row.target, vector.count)), None
            )
            if vector.element.name == row.source and target is not None:
                parts = ", ".join(f"{row.name}(v.{letter})" for letter in vector.letters)
                names = {"target": _vector_name(target), "source": _vector_name(vector)}
                texts[f"{row.fault} {vector.name} {target.name}"] = _COMPONENTS.format(
                    name=row.name, parts=parts, **names
                )
    return texts


def _vector_name(vector: Vector) -> str:
    prefix = {"int32": "i", "uint32": "u", "float32": "", "float64": "d", "float16": "f16"}[vector.element.name]
    return f"{prefix}vec{vector.count}"


#: The functions, by the names of the types that they convert from and to; those of vectors call those of scalars.
CONVERSION_TEXTS = _texts()


def conversion(quirks: Collection[Quirk], source: Scalar | Vector, target: Scalar | Vector) -> tuple[str, list[str]]:
    """The name of the function for a conversion that a driver with these faults gets wrong, and the keys of the texts
    that it takes; an empty name for the others.
    """
    one, other = (kind.element if isinstance(kind, Vector) else kind for kind in (source, target))
    for row in _ROWS:
        if row.fault in quirks and (row.source, row.target) == (one.name, other.name):
            of_vector = [] if isinstance(source, Scalar) else [f"{row.fault} {source.name} {target.name}"]
            return row.name, [row.key, *of_vector]
    return "", []
