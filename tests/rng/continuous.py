"""Continuous distributions: how to draw from them, and what is known about them."""

from __future__ import annotations

import math

import numpy as np

erf = np.vectorize(math.erf)


def distance(numbers, distribution):
    """Kolmogorov's and Smirnov's statistic."""
    expected = distribution(np.sort(np.asarray(numbers, np.float64).ravel()))
    steps = np.arange(len(expected) + 1) / len(expected)
    return max((expected - steps[:-1]).max(), (steps[1:] - expected).max())


#: A draw of n numbers, its distribution function, its mean and its variance.
CONTINUOUS = {
    "random": (lambda g, n: g.random(n), lambda x: x, 1 / 2, 1 / 12),
    "uniform": (lambda g, n: g.uniform(-2, 6, n), lambda x: (x + 2) / 8, 2, 64 / 12),
    "normal": (lambda g, n: g.normal(1, 2, n), lambda x: (1 + erf((x - 1) / 2 / math.sqrt(2))) / 2, 1, 4),
    "exponential": (lambda g, n: g.exponential(3, n), lambda x: 1 - np.exp(-x / 3), 3, 9),
    "gamma of 1": (lambda g, n: g.gamma(1, 2, n), lambda x: 1 - np.exp(-x / 2), 2, 4),
    "gamma of 3": (lambda g, n: g.standard_gamma(3, n), lambda x: 1 - np.exp(-x) * (1 + x + x * x / 2), 3, 3),
    # Half the square of a normal number.
    "gamma of a half": (lambda g, n: g.gamma(0.5, 1, n), lambda x: erf(np.sqrt(x)), 1 / 2, 1 / 2),
    "lognormal": (
        lambda g, n: g.lognormal(0.5, 0.25, n),
        lambda x: (1 + erf((np.log(x) - 0.5) / 0.25 / math.sqrt(2))) / 2,
        math.exp(0.5 + 0.03125),
        (math.exp(0.0625) - 1) * math.exp(1.0625),
    ),
}
