"""Random numbers of many distributions, computed from a stream's words where an algorithm reads them.

Element ``i`` depends on its own words alone (normal numbers are made in pairs), so every device computes the same
numbers, in any order. If a number is rejected, further words come from a separate stream of the element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.rng import _wide
from vkamp.rng._functions import minus_log, scaled_root, scaled_turn, units_of_log
from vkamp.rng._rounds import philox4x32
from vkamp.rng._words import Pairs, Words

# -- uniform ---------------------------------------------------------------------------------------------------------


@amp.func
def unit_float32(word: Any) -> Any:
    """A float32 in [0, 1) from the upper 24 bits of a word, as in numpy."""
    return amp.float32(word >> 8) * amp.float32(2.0**-24)


@amp.func
def unit_float64(pair: Any) -> Any:
    """A float64 in [0, 1) from the upper 53 bits of two words, as in numpy."""
    upper = amp.float64(pair.y) * amp.float64(2.0**21) + amp.float64(pair.x >> 11)
    return upper * amp.float64(2.0**-53)


@amp.func
def open_float32(word: Any) -> Any:
    """A float32 in (0, 1]: the middle of one of 2^31 equal intervals, so that small ones have all their bits."""
    return amp.float32(word | 1) * amp.float32(2.0**-32)


@amp.func
def open_float64(pair: Any) -> Any:
    """A float64 in (0, 1]."""
    upper = amp.float64(pair.y) * amp.float64(2.0**32) + amp.float64(pair.x | 1)
    return upper * amp.float64(2.0**-64)


def refuse_arrays(*parameters: Any) -> None:
    """TypeError for parameters of a distribution that are not numbers; numpy's may be arrays."""
    for each in parameters:
        if np.ndim(each):
            raise TypeError(
                "the parameters of a distribution are numbers, not arrays: instead, transform samples of a standard "
                "distribution, for example alg.transform(lambda x, m: x + m, g.standard_normal(n), means)"
            )


class Scaled:
    """``low + (high - low) * x``."""

    __slots__ = ("low", "width")

    def __init__(self, low: Any, width: Any) -> None:
        refuse_arrays(low, width)
        self.low, self.width = low, width

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.low + self.width * x


# -- normal and exponential ------------------------------------------------------------------------------------------


@amp.func
def normal_pair(first: Any, second: Any) -> Any:
    """Two normal float32 from two words.

    G. E. P. Box, M. E. Muller, *A Note on the Generation of Random Normal Deviates*, 1958.
    """
    radius = scaled_root(units_of_log(first))
    cosine, sine = scaled_turn(second)
    return radius * cosine, radius * sine


@amp.func
def normal_pair64(first: Any, second: Any) -> Any:
    """Two normal float64 from two pairs of words."""
    radius = amp.precise_math.sqrt(amp.float64(-2.0) * amp.precise_math.log(open_float64(first)))
    half_turns = unit_float64(second) * amp.float64(2.0) - amp.float64(1.0)
    return radius * amp.precise_math.cospi(half_turns), radius * amp.precise_math.sinpi(half_turns)


class Normals(lazy.Lazy):
    """Standard normal numbers: two from two words, or from two pairs of words."""

    __slots__ = ("pair", "words")

    def __init__(self, n: int, words: Words | Pairs) -> None:
        super().__init__(n)
        self.words = words
        self.pair = normal_pair64 if isinstance(words, Pairs) else normal_pair

    @amp.func
    def value(self, i: Any) -> Any:
        """Number ``i``."""
        first = amp.uint32(i) >> 1 << 1
        a, b = self.pair(self.words.value(first), self.words.value(first + 1))
        return a if amp.uint32(i) & 1 == 0 else b

    @amp.func
    def four(self, k: Any) -> Any:
        """The numbers ``4 * k`` to ``4 * k + 3``."""
        w0, w1, w2, w3 = self.words.four(k)
        a, b = self.pair(w0, w1)
        c, d = self.pair(w2, w3)
        return a, b, c, d


@amp.func
def exp(x: Any) -> Any:
    """``e ** x``."""
    return amp.precise_math.exp(x)


@amp.func
def exponential_float32(word: Any) -> Any:
    """A standard exponential float32 from a word, by the inverse of the distribution function."""
    return minus_log(word)


@amp.func
def exponential_float64(pair: Any) -> Any:
    """A standard exponential float64 from two words."""
    return -amp.precise_math.log(open_float64(pair))


# -- integers --------------------------------------------------------------------------------------------------------


class Retries:
    """Words for elements whose first ones were rejected: ``block(i, k)`` is the ``k``-th group of four of element
    ``i``.
    """

    __slots__ = ("above", "element", "key")

    def __init__(self, key: tuple[int, int], position: int) -> None:
        self.key = amp.uint2(*key)
        self.element = amp.uint2(*_wide.halves(position))
        self.above = np.uint32(position >> 64 & 0xFFFFFFFF)

    @amp.func
    def block(self, i: Any, k: Any) -> Any:
        """Four words."""
        low, carry = amp.add_carry(self.element.x, amp.uint32(i))
        high, carry = amp.add_carry(self.element.y, carry)
        return philox4x32(amp.uint4(low, high, self.above + carry, amp.uint32(k)), self.key)


@amp.func
def _first_of(a: Any, b: Any, c: Any) -> Any:
    """The position of the first of four conditions that is true; the fourth is if no other is."""
    return amp.uint32(0) if a else (amp.uint32(1) if b else (amp.uint32(2) if c else amp.uint32(3)))


class _BoundedIntegers(lazy.Lazy):
    """Unbiased integers in ``[low, low + span)`` from words, some of which are rejected.

    D. Lemire, *Fast Random Integer Generation in an Interval*, 2019. ``_scaled(word)`` is the product of a word and the
    span, in two halves; ``_rejects(half)``: whether the lower half is too small; ``_least(half, half)``: the smaller
    one; ``_retry(i, k)``: the ``k``-th word that replaces the one of number ``i``; ``_number(half)``: the integer, from
    the upper half.
    """

    __slots__ = ("retries", "words")
    _scaled: Any
    _rejects: Any
    _least: Any
    _retry: Any
    _number: Any

    def __init__(self, n: int, words: Words | Pairs, retries: Retries) -> None:
        super().__init__(n)
        self.words, self.retries = words, retries

    @amp.func
    def value(self, i: Any) -> Any:
        """Number ``i``."""
        low, high = self._scaled(self.words.value(i))
        k = amp.uint32(0)
        while self._rejects(low):
            low, high = self._scaled(self._retry(i, k))
            k += 1
        return self._number(high)

    @amp.func
    def four(self, k: Any) -> Any:
        """The numbers ``4 * k`` to ``4 * k + 3``.

        One loop replaces rejected words of all four: drivers of processors compute a loop's body at least once.
        """
        a, b, c, d = self.words.four(k)
        low_a, a = self._scaled(a)
        low_b, b = self._scaled(b)
        low_c, c = self._scaled(c)
        low_d, d = self._scaled(d)
        at, tries = amp.uint32(4), amp.uint32(0)
        while self._rejects(self._least(self._least(low_a, low_b), self._least(low_c, low_d))):
            before = at
            at = _first_of(self._rejects(low_a), self._rejects(low_b), self._rejects(low_c))
            tries = tries + 1 if at == before else amp.uint32(0)
            low, high = self._scaled(self._retry(amp.uint32(k) * 4 + at, tries))
            if at == 0:
                low_a, a = low, high
            elif at == 1:
                low_b, b = low, high
            elif at == 2:
                low_c, c = low, high
            else:
                low_d, d = low, high
        return self._number(a), self._number(b), self._number(c), self._number(d)


class Integers(_BoundedIntegers):
    """Integers of 32 bits, as uint32."""

    __slots__ = ("low", "rejected", "span")

    def __init__(self, n: int, words: Words, retries: Retries, low: int, span: int) -> None:
        super().__init__(n, words, retries)
        self.low, self.span = np.uint32(low & 0xFFFFFFFF), np.uint32(span)
        self.rejected = np.uint32((1 << 32) % span)

    @amp.func
    def _scaled(self, word: Any) -> Any:
        return amp.mul_extended(word, self.span)

    @amp.func
    def _rejects(self, half: Any) -> Any:
        return half < self.rejected

    @amp.func
    def _least(self, a: Any, b: Any) -> Any:
        return min(a, b)

    @amp.func
    def _retry(self, i: Any, k: Any) -> Any:
        return self.retries.block(i, k).x

    @amp.func
    def _number(self, half: Any) -> Any:
        return self.low + half


class WideIntegers(_BoundedIntegers):
    """Integers of 64 bits, each as two words."""

    __slots__ = ("low", "rejected", "span")
    in_words = True

    def __init__(self, n: int, pairs: Pairs, retries: Retries, low: int, span: int) -> None:
        super().__init__(n, pairs, retries)
        self.low, self.span = (amp.uint2(*_wide.halves(each)) for each in (low, span))
        self.rejected = amp.uint2(*_wide.halves((1 << 64) % span))

    @amp.func
    def _scaled(self, word: Any) -> Any:
        return _wide.product(word, self.span)

    @amp.func
    def _rejects(self, half: Any) -> Any:
        return _wide.below(half, self.rejected)

    @amp.func
    def _least(self, a: Any, b: Any) -> Any:
        return a if _wide.below(a, b) else b

    @amp.func
    def _retry(self, i: Any, k: Any) -> Any:
        # Where the words of the number are in the stream.
        return self.retries.block(amp.uint32(i) * 2, k).xy

    @amp.func
    def _number(self, half: Any) -> Any:
        return _wide.plus(self.low, half)


@amp.func
def as_int32(word: Any) -> Any:
    """The same bits as an int32."""
    return amp.asint(word)


# -- by rejection ----------------------------------------------------------------------------------------------------


class Gammas(lazy.Lazy):
    """Standard gamma numbers: G. Marsaglia, W. W. Tsang, *A Simple Method for Generating Gamma Variables*, 2000."""

    __slots__ = ("c", "d", "inverse", "retries")

    def __init__(self, n: int, retries: Retries, shape: float) -> None:
        super().__init__(n)
        self.retries = retries
        # A gamma number of a shape below 1 is one of the shape plus 1, times a power of a uniform number.
        d = (shape if shape >= 1 else shape + 1) - 1 / 3
        self.c, self.d = np.float32(1 / np.sqrt(9 * d)), np.float32(d)
        self.inverse = np.float32(0 if shape >= 1 else 1 / shape)

    @amp.func
    def value(self, i: Any) -> Any:
        """Number ``i``."""
        found = amp.float32(-1.0)
        k = amp.uint32(0)
        factor = amp.float32(1.0)
        while found < 0.0:
            block = self.retries.block(i, k)
            x, _ = normal_pair(block.x, block.y)
            v = amp.float32(1.0) + self.c * x
            if v > 0.0:
                v = v * v * v
                if -minus_log(block.z) < amp.float32(0.5) * x * x + self.d * (
                    amp.float32(1.0) - v + amp.precise_math.log(v)
                ):
                    found = self.d * v
                    factor = open_float32(block.w)
            k += 1
        if self.inverse > 0.0:
            found = found * amp.precise_math.pow(factor, self.inverse)
        return found


class SmallPoissons(lazy.Lazy):
    """Poisson numbers of a small mean: the number of exponential waiting times that fit into it."""

    __slots__ = ("mean", "retries")

    def __init__(self, n: int, retries: Retries, mean: float) -> None:
        super().__init__(n)
        self.retries, self.mean = retries, np.float32(mean)

    @amp.func
    def value(self, i: Any) -> Any:
        """Number ``i``."""
        rest = self.mean
        count = amp.int32(0)
        k = amp.uint32(0)
        while rest >= 0.0:
            block = self.retries.block(i, k)
            for word in (block.x, block.y, block.z, block.w):
                if rest >= 0.0:
                    rest -= minus_log(word)
                    if rest >= 0.0:
                        count += 1
            k += 1
        return count


class Poissons(lazy.Lazy):
    """Poisson numbers of a mean from 10 on.

    W. Hörmann, *The Transformed Rejection Method for Generating Poisson Random Variables*, 1993 (PTRS).
    """

    __slots__ = ("a", "b", "inverse_alpha", "log_mean", "mean", "retries", "vr")

    def __init__(self, n: int, retries: Retries, mean: float) -> None:
        super().__init__(n)
        self.retries, self.mean = retries, np.float32(mean)
        self.log_mean = np.float32(np.log(mean))
        b = 0.931 + 2.53 * np.sqrt(mean)
        self.a, self.b = np.float32(-0.059 + 0.02483 * b), np.float32(b)
        self.inverse_alpha = np.float32(1.1239 + 1.1328 / (b - 3.4))
        self.vr = np.float32(0.9277 - 3.6224 / (b - 2))

    @amp.func
    def value(self, i: Any) -> Any:
        """Number ``i``."""
        found = amp.int32(-1)
        k = amp.uint32(0)
        while found < 0:
            block = self.retries.block(i, k)
            u = open_float32(block.x) - amp.float32(0.5)
            v = open_float32(block.y)
            us = amp.float32(0.5) - abs(u)
            if us > 0.0:
                count = amp.precise_math.floor(
                    (amp.float32(2.0) * self.a / us + self.b) * u + self.mean + amp.float32(0.43)
                )
                if us >= 0.07 and v <= self.vr:
                    found = amp.int32(count)
                elif count >= 0.0 and (us >= 0.013 or v <= us):
                    left = amp.precise_math.log(v * self.inverse_alpha / (self.a / (us * us) + self.b))
                    logs, _ = amp.precise_math.lgamma(count + amp.float32(1.0))
                    if left <= count * self.log_mean - self.mean - logs:
                        found = amp.int32(count)
            k += 1
        return found
