"""Complex elements: numpy's answers, and TypeError where elements would be ordered."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms import cases_complex  # noqa: F401
from tests.algorithms.cases import CASES, one_input, run
from tests.library_views import name_of
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy, stl

COMPLEX = [each for each in CASES if each.suite == "complex"]
#: Each accelerator runs one of so many cases, beginning with another one.
PART = {"reference": (6, 0), "llvmpipe": (8, 1), "swiftshader": (20, 2)}

A = np.array([3 + 1j, 1 - 2j, 2, 2j], np.complex64)
KEYS = np.arange(4, dtype=np.int32)

#: Functions that order elements.
ORDERED = {
    name: lambda a, name=name: getattr(alg, name)(a)
    for name in (
        "argmax", "argmin", "argsort", "cummax", "cummin", "is_sorted", "is_sorted_until", "logsumexp", "max", "min",
        "minmax", "sort", "unique",
    )
} | {
    name: lambda a, name=name: getattr(alg, name)(a, A)
    for name in (
        "includes", "intersect1d", "isin", "lexicographical_compare", "merge", "searchsorted", "set_difference",
        "set_intersection", "set_symmetric_difference", "set_union", "setdiff1d", "union1d",
    )
} | {
    "searchsorted of a number": lambda a: alg.searchsorted(np.arange(4.0, dtype=np.float32), 2j),
    "digitize": lambda a: alg.digitize(a, [1, 2]),
    "histogram": lambda a: alg.histogram(a, 3, (0, 1)),
    "histogram_range": lambda a: alg.histogram_range(a, [1, 2]),
    "merge_by_key": lambda a: alg.merge_by_key(a, A, KEYS, KEYS),
    "nth_element": lambda a: alg.nth_element(a, 1),
    "quantile": lambda a: alg.quantile(a, 0.5),
    "segmented_sort": lambda a: alg.segmented_sort(a, 2),
    "sort_by_key": lambda a: alg.sort_by_key(a, KEYS),
    "topk": lambda a: alg.topk(a, 2),
}  # fmt: skip
#: Calls that would order elements by their operators, or otherwise.
OPERATORS = {
    "bincount": lambda a: alg.bincount(a),
    "reduce": lambda a: alg.reduce(a, fn.max),
    "scan": lambda a: alg.scan(a, fn.fmin),
    "scatter_reduce": lambda a: alg.scatter_reduce(A.copy(), KEYS, a, fn.max),
    "sort by a complex key": lambda a: alg.sort(a, key=lambda z: z * 1j),
    "stl.lower_bound": lambda a: stl.lower_bound(a, 1j),
    "stl.max_element": lambda a: stl.max_element(a),
    "sum as real numbers": lambda a: alg.sum(a, dtype=np.float32),
}


def test_against_numpy(accelerator_view):
    """``python -m tests.algorithms --cases --only complex`` runs all types, sizes and forms."""
    name = name_of(accelerator_view)
    parts, part = PART.get(name, (1, 0))
    for number, case in enumerate(COMPLEX):
        if number % parts == part:
            run(
                case,
                one_input(case, number),
                accelerator_view,
                "tiles" if name == "reference" and number % 4 == 0 else "runs",
            )


def test_double_precision(accelerator_view):
    """Python's numbers keep their precision; devices without float64 say so, and move elements nevertheless."""
    a = (np.arange(40) * (0.1 + 0.3j)).astype(np.complex128)
    k = {"accelerator_view": accelerator_view}
    np.testing.assert_array_equal(np.asarray(alg.flip(a, **k)), a[::-1])
    np.testing.assert_array_equal(
        np.asarray(alg.select(a, flags=KEYS[np.arange(40) % 4], **k)), a[np.arange(40) % 4 != 0]
    )
    if "float64" not in accelerator_view.accelerator.features:
        with pytest.raises(amp.UnsupportedFeatureError, match="float64"):
            alg.sum(a, **k)
        return
    assert int(alg.count(a, complex(a[7]), **k)) == 1
    assert int(alg.find(a, complex(a[7]), **k)) == 7
    np.testing.assert_allclose(complex(alg.vdot(a, a * 1j, **k)), np.vdot(a, a * 1j), rtol=1e-14)
    np.testing.assert_allclose(float(alg.std(a, **k)), a.std(), rtol=1e-14)


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", ORDERED)
def test_no_order(accelerator_view, name):
    """Of containers, lazy inputs and empty arrays alike."""
    for a in (A, amp.array(A, accelerator_view=accelerator_view), lazy.map(fn.negate, A), A[:0]):
        with pytest.raises(TypeError, match=r"complex numbers have no order, which .* needs: "):
            ORDERED[name](a)


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", OPERATORS)
def test_no_order_by_operators(accelerator_view, name):
    with pytest.raises(TypeError, match=r"complex"):
        OPERATORS[name](amp.array(A, accelerator_view=accelerator_view))


@pytest.mark.accelerators("reference")
def test_counted_has_no_order(accelerator_view):
    chosen = alg.select(A, lambda z: z.imag > 0, accelerator_view=accelerator_view)
    for function in (alg.sort, alg.max, alg.unique):
        with pytest.raises(TypeError, match="complex numbers have no order"):
            function(chosen)


@pytest.mark.accelerators("llvmpipe", "reference")
def test_numbers_of_repeated_calls(accelerator_view):
    """Complex members of functions are arguments of the launch."""
    a = amp.array(A, accelerator_view=accelerator_view)
    for number in (2j, 3 + 1j, 9, 2j):
        for _ in range(3):
            assert int(alg.count(a, number)) == (number == A).sum()
            assert complex(alg.reduce(a, fn.plus, number)) == A.sum() + number
