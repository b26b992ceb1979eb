"""A name that a library lacks: the error says what to write."""

from __future__ import annotations

import pickle
from types import FunctionType

import pytest

import vkamp as amp


@pytest.mark.parametrize(
    ("library", "name", "advice"),
    [
        ("algorithms", "cumsum", ": write cumulative_sum(a), or scan(a)"),
        ("algorithms", "cumulativesum", ": did you mean 'cumulative_sum'?"),
        ("algorithms", "polyfit", ": numpy.polyfit accepts np.asarray(a)"),
        ("algorithms", "nothing_like_it", ""),
        ("linalg", "eigvals", ": write eigh(a) for symmetric matrices; numpy.linalg.eig accepts np.asarray(a)"),
        ("fft", "fftconvolve", ": write convolve(a, b)"),
        ("rng", "normal", ": write default_rng(seed).normal(...)"),
        ("rng", "randint", ": write default_rng(seed).integers(low, high, size)"),
    ],
)
def test_names_of_other_systems(library, name, advice):
    with pytest.raises(AttributeError) as caught:
        getattr(getattr(amp, library), name)
    assert str(caught.value) == f"module 'vkamp.{library}' has no attribute {name!r}{advice}"


@pytest.mark.parametrize("library", ["algorithms", "linalg", "fft", "rng"])
def test_what_the_advice_names_exists(library):
    module = getattr(amp, library)
    for advice in module._ELSEWHERE.values():
        name = advice.partition("(")[0]
        assert name in module.__all__, advice
    assert not set(module._ELSEWHERE) & set(module.__all__)


@pytest.mark.parametrize("library", ["algorithms", "linalg", "fft", "blas", "rng"])
def test_functions_are_pickled_by_their_names(library):
    module = getattr(amp, library)
    functions = [value for name in module.__all__ if isinstance(value := getattr(module, name), FunctionType)]
    assert functions
    for each in functions:
        assert pickle.loads(pickle.dumps(each)) is each
