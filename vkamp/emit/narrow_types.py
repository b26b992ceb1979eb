"""Types of 8 and 16 bits as shaders have them.

As values the integers are ints, as C++ promotes them, a bfloat16 is a float, and a float16 is a float16_t, or a float
that is rounded after each operation.  In memory they are elements of their own size, where the device has those; parts
of 32-bit words are words by now.
"""

from __future__ import annotations

from dataclasses import dataclass

from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import BFLOAT16, FLOAT16, FLOAT32, SMALL, VECTOR_LETTERS, Scalar, Vector

#: Conversions of floats of 16 bits in integers: devices round and flush each in their own way.
NARROW_FLOAT_TEXTS = {
    "half_bits": """\
// The bits of x rounded to float16, ties to even.
uint half_bits(float x) {
    uint bits = floatBitsToUint(x);
    uint sign = (bits >> 16) & 0x8000u;
    uint size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (size >= 0x47800000u) {
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) {
        return sign | ((size + 0xfffu + ((size >> 13) & 1u) - 0x38000000u) >> 13);
    }
    if (size <= 0x33000000u) {
        return sign;
    }
    // Denormal: a multiple of 2^-24.
    uint significand = (size & 0x7fffffu) | 0x800000u;
    uint dropped = 126u - (size >> 23);
    uint kept = significand >> dropped;
    uint rest = significand & ((1u << dropped) - 1u);
    uint middle = 1u << (dropped - 1u);
    return sign | (rest > middle || (rest == middle && (kept & 1u) != 0u) ? kept + 1u : kept);
}
""",
    "half_value": """\
// The value of the float16 in the lower 16 bits.
float half_value(uint bits) {
    uint sign = (bits & 0x8000u) << 16;
    uint size = bits & 0x7fffu;
    if (size >= 0x7c00u) {
        return uintBitsToFloat(sign | 0x7f800000u | ((size & 0x3ffu) << 13));
    }
    if (size < 0x400u) {
        return uintBitsToFloat(sign | floatBitsToUint(float(size) * 5.9604644775390625e-8));
    }
    return uintBitsToFloat(sign | ((size << 13) + 0x38000000u));
}
""",
    "to_half": """\
// x rounded to float16.
float to_half(float x) {
    return half_value(half_bits(x));
}
""",
    "odd_float": """\
// x as a float whose last bit says whether something was dropped: rounded again, to 16 bits, it is x rounded once.
float odd_float(double x) {
    float near = float(x);
    double exact = double(near);
    if (exact == x || isnan(x)) {
        return near;
    }
    uint bits = floatBitsToUint(near);
    return uintBitsToFloat((abs(exact) > abs(x) ? bits - 1u : bits) | 1u);
}
""",
    "bfloat_bits": """\
// The bits of x rounded to bfloat16, ties to even.
uint bfloat_bits(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return ((bits >> 16) & 0x8000u) | 0x7fc0u;
    }
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
""",
    "bfloat_value": """\
// The value of the bfloat16 in the lower 16 bits.
float bfloat_value(uint bits) {
    return uintBitsToFloat(bits << 16);
}
""",
    "to_bfloat": """\
// x rounded to bfloat16.
float to_bfloat(float x) {
    return bfloat_value(bfloat_bits(x));
}
""",
}

_OF_VECTORS = """\
// {name}() of each component.
vec{count} {name}({given}vec{count} v) {{
    return vec{count}({parts});
}}
"""


def _vector_texts() -> dict[str, str]:
    """The conversions to float16 of the components of vectors; they call those of numbers."""
    texts = {}
    for name, given in (("odd_float", "d"), ("to_half", "")):
        for count in (2, 3, 4):
            parts = ", ".join(f"{name}(v.{letter})" for letter in VECTOR_LETTERS[:count])
            texts[f"{name} {count}"] = _OF_VECTORS.format(name=name, given=given, count=count, parts=parts)
    return texts


NARROW_FLOAT_TEXTS |= _vector_texts()


@dataclass(frozen=True)
class NarrowFloat:
    """A float of 16 bits: its GLSL types as a value, which devices may lack, and in buffers of elements of its size,
    and the names of the functions of its bits and of the rounding of a float."""

    glsl: str
    stored: str
    bits: str
    value: str
    rounded: str


NARROW_FLOATS = {
    FLOAT16: NarrowFloat("float16_t", "float16_t", "half_bits", "half_value", "to_half"),
    BFLOAT16: NarrowFloat("float", "uint16_t", "bfloat_bits", "bfloat_value", "to_bfloat"),
}


class Forms(DeviceTypes):
    """The GLSL types of the types of 8 and 16 bits; ``None`` for other types."""

    def value(self, kind: Scalar) -> str | None:
        """Of values."""
        if kind.is_narrow_float:
            return NARROW_FLOATS[kind].glsl if self.computes(kind) else "float"
        return "int" if kind.name in SMALL else None

    def vector(self, kind: Vector) -> Vector:
        """The vector of floats that has a vector's values, where the device lacks its type; otherwise the same."""
        return kind if self.computes(kind.element) else Vector(FLOAT32, kind.count)

    def kept(self, kind: Scalar) -> str | None:
        """The GLSL type of elements of the kernel's arrays and of members of structs."""
        return self.buffered(kind) if self.computes(kind) else self.value(kind)

    def buffered(self, kind: Scalar) -> str | None:
        """The GLSL type of elements of buffers, if GLSL has a type of their size."""
        if kind.is_narrow_float:
            return NARROW_FLOATS[kind].stored
        return f"{kind.name}_t" if kind.bits < 32 else None

    def as_bits(self, kind: Scalar, kept: str | None) -> NarrowFloat | None:
        """The functions that convert a float from and to the type ``kept`` of its memory, where that is an integer."""
        found = NARROW_FLOATS.get(kind)
        return found if found is not None and kept == found.stored != found.glsl else None
