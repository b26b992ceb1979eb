"""Logarithms, roots, sines and cosines of random words, by polynomials.

They consist only of additions, multiplications, conversions of integers and operations on bits: in a kernel with
``precise=True``, they have the same bits on every device. The polynomials have the least relative errors (E. Y. Remez).
"""

from __future__ import annotations

from typing import Any

import vkamp as amp

#: Of -log(1 + f) / f for f from 2^-0.5 - 1 to 2^0.5 - 1, in units of the logarithm: error 3e-8.
_LOG = (-1057108.625, 1731526.0, -1805403.625, 2005396.5, -2415850.5, 3025763.25, -4034142.5, 6051100.5, -12102203.0)
#: The bits of the square root of 1/2 with an exponent that is greater by 32, and this difference.
_ROOT_OF_WORD, _EXPONENT = 0x4F3504F3, 32 << 23
#: The unit of logarithms: an exponent in the bits of a float is 2^23 of them.
_UNIT = 0.6931471805599453 * 2.0**-23
#: An estimate of the inverse root, whose error after a step is 7e-4, and the constants of the two steps.
_ESTIMATE, _STEP, _CUBIC, _QUINTIC = 0x5EDC2B28, 1.1472769975662231, 0.7447496056556702, 0.24959327280521393
#: ``pi / 4 * 2**-31``, scaled so that the polynomials below begin with -1.
_ANGLE = 5.25236001e-11
#: Of the cosine and of the sine divided by x, in x^2, after the first coefficient: errors 4e-8 and 4e-9.  Both have the
#: factor that the root of twice a logarithm in units lacks after the steps.
_COSINE = (0.632657707, -0.156626508, 0.00646078866)
_SINE = (0.881177366, -0.363538563, 0.0449874215)


@amp.func
def units_of_log(word: Any) -> Any:
    """The natural logarithm of ``(word | 1) * 2**-32``, negated, divided by ``_UNIT``: 0 or more, with an error of at
    most 2 ulp.
    """
    bits = amp.asuint(amp.float32(word | amp.uint32(1)))
    exponent = (bits - amp.uint32(_ROOT_OF_WORD)) & amp.uint32(0xFF800000)
    f = amp.asfloat(bits - exponent - amp.uint32(_EXPONENT)) - amp.float32(1.0)
    y = amp.float32(_LOG[0])
    for k in amp.static_range(1, len(_LOG)):
        y = y * f + amp.float32(_LOG[k])
    return y * f - amp.float32(amp.asint(exponent))


@amp.func
def minus_log(word: Any) -> Any:
    """The natural logarithm of ``(word | 1) * 2**-32``, negated: 0 or more, with an error of at most 3 ulp."""
    return units_of_log(word) * amp.float32(_UNIT)


@amp.func
def scaled_root(x: Any) -> Any:
    """The square root of ``2 * _UNIT * x``, divided by a factor that :func:`scaled_turn` has; ``x`` is 0 or normal.

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
    x = amp.float32(amp.asint(word << amp.uint32(2))) * amp.float32(_ANGLE)
    z = x * x
    cosine, sine = amp.float32(_COSINE[0]) - z, amp.float32(_SINE[0]) - z
    for k in amp.static_range(1, 3):
        cosine = cosine * z + amp.float32(_COSINE[k])
        sine = sine * z + amp.float32(_SINE[k])
    cosine = amp.asfloat(amp.asuint(cosine) ^ (word & amp.uint32(0x80000000)))
    sine = sine * x
    exchanged = (word & amp.uint32(0x40000000)) != 0
    return sine if exchanged else cosine, cosine if exchanged else sine
