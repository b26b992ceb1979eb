"""Logarithms, sines and cosines of random words, by polynomials.

They consist only of additions, multiplications and operations on bits: in a kernel with ``precise=True``, they have the
same bits on every device. The polynomials are those of S. L. Moshier's *Cephes* (``logf``, ``sinf``, ``cosf``).
"""

from __future__ import annotations

from typing import Any

import vkamp as amp

_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
#: The bits of the square root of 1/2.
_ROOT = 0x3F3504F3
#: 1.5 * 2^23, whose last bit counts ones, and its bits.
_MAGIC, _BITS_OF_MAGIC = 12582912.0, 0x4B400000


@amp.func
def small_float(n: Any) -> Any:
    """The float32 of an integer between -2^22 and 2^22, by an addition: GPUs convert few numbers at a time."""
    return amp.asfloat(amp.uint32(_BITS_OF_MAGIC) + amp.asuint(n)) - amp.float32(_MAGIC)


@amp.func
def log(x: Any) -> Any:
    """The natural logarithm of a normal float32 above 0, with an error of at most 1 ulp."""
    bits = amp.asuint(x) - amp.uint32(_ROOT)
    exponent = small_float(amp.asint(bits) >> amp.int32(23))
    f = amp.asfloat((bits & amp.uint32(0x7FFFFF)) + amp.uint32(_ROOT)) - amp.float32(1.0)
    z = f * f
    y = amp.float32(_LOG[0])
    for k in amp.static_range(1, 9):
        y = y * f + amp.float32(_LOG[k])
    y = y * f * z
    # The logarithm of 2 in two parts; the product with the larger one is exact.
    y = y + exponent * amp.float32(-2.12194440e-4)
    y = y - amp.float32(0.5) * z
    return f + y + exponent * amp.float32(0.693359375)


@amp.func
def turn(word: Any) -> Any:
    """Cosine and sine of ``word * 2**-32`` turns."""
    quadrant = (word + amp.uint32(0x20000000)) >> amp.uint32(30)
    rest = amp.asint(word - (quadrant << amp.uint32(30)))
    x = amp.float32(rest) * amp.float32(3.14159265358979 * 2.0**-31)
    z = x * x
    sine = ((amp.float32(-1.9515295891e-4) * z + amp.float32(8.3321608736e-3)) * z - amp.float32(1.6666654611e-1)) * z
    sine = sine * x + x
    cosine = (amp.float32(2.443315711809948e-5) * z - amp.float32(1.388731625493765e-3)) * z
    cosine = (cosine + amp.float32(4.166664568298827e-2)) * z * z - amp.float32(0.5) * z + amp.float32(1.0)
    a = sine if quadrant & 1 == 1 else cosine
    b = cosine if quadrant & 1 == 1 else sine
    # The signs: of the cosine in the quadrants 1 and 2, of the sine in 2 and 3.
    return (
        amp.asfloat(amp.asuint(a) ^ ((word + amp.uint32(0x60000000)) & amp.uint32(0x80000000))),
        amp.asfloat(amp.asuint(b) ^ ((word + amp.uint32(0x20000000)) & amp.uint32(0x80000000))),
    )


@amp.func
def sqrt(x: Any) -> Any:
    """The square root of a normal float32 above 0, or of a zero, rounded correctly.

    The device's root of the significand is a few units off at most.  The remainder in integers, of which 32 bits
    suffice, says how many.
    """
    bits = amp.asuint(x)
    # The significand of an odd exponent is doubled, so that it is from 1 to 4.
    odd = (bits >> amp.uint32(23) & amp.uint32(1)) ^ amp.uint32(1)
    significand = bits & amp.uint32(0x7FFFFF)
    # As integers, the significand has 46 more bits, and its root 23.
    n = (significand | amp.uint32(0x800000)) << (amp.uint32(23) + odd)
    scaled = amp.asfloat(significand + amp.uint32(0x3F800000) + (odd << amp.uint32(23)))
    inverse = amp.float32(amp.fast_math.rsqrt(scaled))
    root = amp.asuint(scaled * inverse) - amp.uint32(0x3F000000)
    rest = amp.asint(n - root * root)
    units = small_float(rest >> amp.int32(7)) * amp.float32(2.0**-17) * inverse
    root = root + (amp.asuint(units + amp.float32(_MAGIC)) - amp.uint32(_BITS_OF_MAGIC))
    rest = amp.asint(n - root * root)
    if rest > amp.asint(root):
        root += amp.uint32(1)
    elif rest <= -amp.asint(root):
        root -= amp.uint32(1)
    half = amp.asuint(amp.asint((bits >> amp.uint32(23)) - amp.uint32(127) - odd) >> amp.int32(1)) << amp.uint32(23)
    return x if x == 0.0 else amp.asfloat(root + amp.uint32(0x3F000000) + half)
