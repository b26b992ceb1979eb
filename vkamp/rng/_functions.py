"""Logarithms, roots, sines and cosines of random words, by polynomials.

They consist only of additions, multiplications, conversions of integers and operations on bits: in a kernel with
``precise=True``, they have the same bits on every device. The polynomials have the least relative errors (E. Y. Remez).
"""

from __future__ import annotations

from typing import Any

import vkamp as amp

#: Of -log(1 + f) / f for f from 2^-0.5 - 1 to 2^0.5 - 1: error 3e-8. The last one is exactly -1.
_LOG = (
    -8.734844915e-2, 1.430752697e-1, -1.491797525e-1, 1.657050761e-1, -1.996207194e-1, 2.500175527e-1,
    -3.333395023e-1, 4.999999161e-1, -1.0,
)  # fmt: skip
#: The bits of the square root of 1/2, and with an exponent that is greater by 32.
_ROOT, _ROOT_OF_WORD = 0x3F3504F3, 0x4F3504F3
#: The logarithm of 2, divided by the unit of an exponent in the bits of a float.
_LOG_2 = 0.6931471805599453 * 2.0**-23
#: An estimate of the inverse root, whose error after a step is 7.4e-4, and the constants of the two steps.
_ESTIMATE, _STEP, _CUBIC, _QUINTIC = 0x5F2FE040, 2.7958850860595703, 10.776796340942383, 52.26270294189453
#: What the steps lack for the root of 2x: a factor of the polynomials below.
_FACTOR = 0.028217526152729988
#: Of the cosine and of the sine divided by x, for x up to pi / 4, in x^2, times the factor: errors 4e-8 and 4e-9.
_COSINE = (-3.835284769e-5, 1.175422996e-3, -1.410873078e-2, _FACTOR)
_SINE = (-5.506730089e-6, 2.351129678e-4, -4.702917698e-3, _FACTOR)


@amp.func
def minus_log(word: Any) -> Any:
    """The natural logarithm of ``(word | 1) * 2**-32``, negated: 0 or more, with an error of at most 2 ulp."""
    bits = amp.asuint(amp.float32(word | amp.uint32(1))) - amp.uint32(_ROOT_OF_WORD)
    f = amp.asfloat((bits & amp.uint32(0x7FFFFF)) + amp.uint32(_ROOT)) - amp.float32(1.0)
    y = amp.float32(_LOG[0])
    for k in amp.static_range(1, len(_LOG)):
        y = y * f + amp.float32(_LOG[k])
    return y * f - amp.float32(amp.asint(bits & amp.uint32(0xFF800000))) * amp.float32(_LOG_2)


@amp.func
def scaled_root(x: Any) -> Any:
    """The square root of ``2 * x``, divided by a factor that :func:`scaled_turn` has; ``x`` is normal or a zero.

    The first step is Newton's with another factor, so that its errors have both signs; the second has order three.
    """
    inverse = amp.asfloat(amp.uint32(_ESTIMATE) - (amp.asuint(x) >> amp.uint32(1)))
    inverse = inverse * (amp.float32(_STEP) - x * inverse * inverse)
    root = x * inverse
    square = root * inverse
    return root * (amp.float32(_QUINTIC) - (amp.float32(_CUBIC) - square) * square)


@amp.func
def scaled_turn(word: Any) -> Any:
    """Cosine and sine of one of 2^32 angles, times a factor that :func:`scaled_root` lacks.

    The lower 30 bits of the word are an angle between -1/8 and 1/8 of a turn; the others tell whether its sine and its
    cosine change places, and the sign of the cosine.
    """
    x = amp.float32(amp.asint(word << amp.uint32(2))) * amp.float32(3.14159265358979 * 2.0**-33)
    z = x * x
    cosine, sine = amp.float32(_COSINE[0]), amp.float32(_SINE[0])
    for k in amp.static_range(1, 4):
        cosine = cosine * z + amp.float32(_COSINE[k])
        sine = sine * z + amp.float32(_SINE[k])
    cosine = amp.asfloat(amp.asuint(cosine) ^ (word & amp.uint32(0x80000000)))
    sine = sine * x
    exchanged = (word & amp.uint32(0x40000000)) != 0
    return sine if exchanged else cosine, cosine if exchanged else sine
