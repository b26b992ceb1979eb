"""Tests of streams of 32-bit words, each with a p-value: the probability of a result at least as bad by chance.

Most are G. Marsaglia's and D. E. Knuth's (*The Art of Computer Programming*, volume 2, 3.3.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Words = np.ndarray[Any, Any]


def of_normal(z: float) -> float:
    """The probability that a normal number is as far from zero."""
    return math.erfc(abs(z) / math.sqrt(2))


def of_chi_squared(x: float, freedom: float) -> float:
    """The probability of a larger chi-squared statistic (E. B. Wilson and M. M. Hilferty, 1931), or smaller one."""
    z = ((x / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return of_normal(z)


def of_distance(d: float, n: int) -> float:
    """The probability of a larger Kolmogorov-Smirnov statistic of ``n`` numbers (M. A. Stephens, 1970)."""
    t = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * d
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * t * t) for k in range(1, 101))) if t > 0.2 else 1.0


def counts_as(found: Words, probabilities: Words) -> float:
    """The p-value of counts; rare classes are joined with the next one."""
    total, expected, seen = found.sum(), [], []
    of_rare = count = 0.0
    for p, n in zip(probabilities, found, strict=True):
        of_rare, count = of_rare + p * total, count + n
        if of_rare >= 10:
            expected.append(of_rare)
            seen.append(count)
            of_rare = count = 0.0
    expected[-1], seen[-1] = expected[-1] + of_rare, seen[-1] + count
    e, s = np.array(expected), np.array(seen)
    return of_chi_squared(float(((s - e) ** 2 / e).sum()), len(e) - 1)


def worst_of(values: list[float]) -> float:
    """The p-value of the smallest of some p-values."""
    return min(1.0, -math.expm1(len(values) * math.log1p(-min(min(values), 1 - 1e-16))))


def _bits_of(words: Words) -> Words:
    return np.bitwise_count(words) if hasattr(np, "bitwise_count") else _SET[words.view(np.uint8)].reshape(-1, 4).sum(1)


_SET = np.array([bin(k).count("1") for k in range(256)], np.uint8)


def equal_bits(words: Words) -> float:
    """Each bit is set in half of the words."""
    found = [of_normal((int((words >> np.uint32(k) & np.uint32(1)).sum()) * 2 - words.size) / math.sqrt(words.size))
             for k in range(32)]  # fmt: skip
    return worst_of(found)


def equal_bytes(words: Words) -> float:
    """All bytes occur as often, at each of the four places."""
    places = words.view(np.uint8).reshape(-1, 4)
    return worst_of([counts_as(np.bincount(places[:, k], minlength=256), np.full(256, 1 / 256)) for k in range(4)])


def equal_halves(words: Words) -> float:
    """All halves of words occur as often."""
    found = [np.bincount(words.view(np.uint16)[k::2], minlength=1 << 16) for k in (0, 1)]
    return worst_of([counts_as(each, np.full(1 << 16, 2.0**-16)) for each in found])


def equal_pairs(words: Words) -> float:
    """All pairs of the highest bits of neighbours occur as often, and of words further apart."""
    high, found = words >> np.uint32(25), []
    for lag in (1, 2, 4, 32, 256, 1024):
        pairs = (high[:-lag] << np.uint32(7) | high[lag:])[:: 2 if lag == 1 else 1]
        found.append(counts_as(np.bincount(pairs, minlength=1 << 14), np.full(1 << 14, 2.0**-14)))
    return worst_of(found)


def no_correlation(words: Words) -> float:
    """Words that are some places apart, as neighbours in a thread, a subgroup and a tile are, have no correlation."""
    x = words / 2.0**32 - 0.5
    found = []
    for lag in (1, 2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192):
        n = x.size - lag
        found.append(of_normal(float(x[:-lag] @ x[lag:]) * 12 / math.sqrt(n)))
    return worst_of(found)


def weights(words: Words) -> float:
    """The numbers of set bits of words, and of neighbours together, are those of a binomial distribution."""
    set_bits = _bits_of(words).astype(np.int64)
    found = []
    for together in (1, 2, 4):
        bits, whole = 32 * together, set_bits.size // together * together
        values = set_bits[:whole].reshape(-1, together).sum(axis=1)
        p = np.array([math.comb(bits, k) for k in range(bits + 1)], float) / 2.0**bits
        found.append(counts_as(np.bincount(values, minlength=bits + 1), p))
    return worst_of(found)


def birthdays(words: Words) -> float:
    """Marsaglia's birthday spacings: of 4096 birthdays in a year of 2^32 days, how many spacings are equal."""
    rows = np.sort(words[: words.size // 4096 * 4096].reshape(-1, 4096), axis=1)
    spacings = np.sort(np.diff(rows, axis=1), axis=1)
    equal = (np.diff(spacings, axis=1) == 0).sum(axis=1)
    rate = 4096**3 / (4 * 2.0**32)
    p = np.array([math.exp(-rate) * rate**k / math.factorial(k) for k in range(40)])
    return counts_as(np.bincount(np.minimum(equal, 39), minlength=40), p / p.sum())


def runs(words: Words) -> float:
    """How long words go up: Knuth's runs, each of which begins after the one that ended the last."""
    descents = np.flatnonzero(words[1:] < words[:-1])
    # The word after a run is left out, so that lengths are independent.
    lengths, at, ends = [], 0, descents.tolist()
    for end in ends:
        if end >= at:
            lengths.append(end - at + 1)
            at = end + 2
    p = np.array([1 / math.factorial(k) - 1 / math.factorial(k + 1) for k in range(1, 12)])
    return counts_as(np.bincount(np.minimum(lengths, 11), minlength=12)[1:], p / p.sum())


def gaps(words: Words) -> float:
    """How many words are between two that are below an eighth of the range."""
    found = np.diff(np.flatnonzero(words < np.uint32(1 << 29))) - 1
    p = np.array([(7 / 8) ** k / 8 for k in range(100)] + [(7 / 8) ** 100])
    return counts_as(np.bincount(np.minimum(found, 100), minlength=101), p)


def orders(words: Words) -> float:
    """All orders of five words occur as often."""
    rows = words[: words.size // 5 * 5].reshape(-1, 5)
    rank = np.zeros(len(rows), np.int64)
    for k in range(5):
        rank = rank * (5 - k) + (rows[:, k + 1 :] < rows[:, k : k + 1]).sum(axis=1)
    return counts_as(np.bincount(rank, minlength=120), np.full(120, 1 / 120))


def collisions(words: Words) -> float:
    """Of 2^14 balls in 2^20 urns, how many fall into urns that are not empty (Knuth's collision test)."""
    balls, urns = 1 << 14, 1 << 20
    rows = np.sort((words[: words.size // balls * balls] >> np.uint32(12)).reshape(-1, balls), axis=1)
    hits = (np.diff(rows, axis=1) == 0).sum(axis=1)
    # Exact mean and variance of the number of empty urns.
    empty, two = (1 - 1 / urns) ** balls, (1 - 2 / urns) ** balls
    mean = balls - urns * (1 - empty)
    variance = urns * empty + urns * (urns - 1) * two - (urns * empty) ** 2
    return of_normal((hits.sum() - len(rows) * mean) / math.sqrt(len(rows) * variance))


def ranks(words: Words) -> float:
    """The ranks of matrices of 32 x 32 bits over the field of two elements (Marsaglia and L.-H. Tsay, 1985)."""
    m = words[: words.size // 32 * 32].reshape(-1, 32)[:40_000].copy()
    rank = np.zeros(len(m), np.int64)
    rows = np.arange(len(m))
    used = np.zeros(m.shape, bool)
    for bit in range(32):
        has = (m >> np.uint32(bit) & np.uint32(1) == 1) & ~used
        found, pivot = has.any(axis=1), has.argmax(axis=1)
        chosen = np.where(found, m[rows, pivot], 0).astype(np.uint32)
        used[rows[found], pivot[found]] = True
        others = has & (np.arange(32) != pivot[:, None])
        m ^= np.where(others, chosen[:, None], 0).astype(np.uint32)
        rank += found
    p = [math.prod((1 - 2.0 ** (k - 32)) ** 2 / (1 - 2.0 ** (k - r)) for k in range(r)) * 2.0 ** (-((32 - r) ** 2))
         for r in range(33)]  # fmt: skip
    return counts_as(np.bincount(rank, minlength=33), np.array(p))


def maxima(words: Words) -> float:
    """The largest of eight words has the distribution x^8."""
    largest = words[: words.size // 8 * 8].reshape(-1, 8).max(axis=1)
    x = np.sort(((largest + 0.5) / 2.0**32) ** 8)
    steps = np.arange(len(x) + 1) / len(x)
    return of_distance(float(max((x - steps[:-1]).max(), (steps[1:] - x).max())), len(x))


TESTS: tuple[Callable[[Words], float], ...] = (
    equal_bits, equal_bytes, equal_halves, equal_pairs, no_correlation, weights, birthdays, runs, gaps, orders,
    collisions, ranks, maxima,
)  # fmt: skip


def p_values(words: Words) -> dict[str, float]:
    """All tests of a stream: a few million words or more."""
    return {test.__name__: test(words) for test in TESTS}
