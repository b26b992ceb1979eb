"""Comparisons of numbers of different types, which round none of them; the expected results are Python's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view
from vkamp import algorithms as alg
from vkamp.algorithms import functional

#: Floats round some of these integers.
INTEGERS = (
    -(2**63),
    -(2**31),
    -129,
    -1,
    0,
    1,
    2049,
    2**24,
    2**24 + 1,
    2**31 - 1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**64 - 1,
)
FRACTIONS = (-np.inf, -1.5, -1.0, -0.0, 0.5, 2048.0, 2.0**24, 2.0**31, 2.0**53, 2.0**63, 2.0**64, np.inf, np.nan)


def numbers(dtype):
    """Sorted numbers of a type, some of them several times."""
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            found = np.unique(np.array(FRACTIONS).astype(dtype))
    else:
        limits = np.iinfo(dtype)
        found = np.array([x for x in (*INTEGERS, limits.max) if limits.min <= x <= limits.max], dtype)
    return np.sort(np.repeat(found, 1 + np.arange(len(found)) % 3))


def key(x):
    """Sorts NaN last; Python compares integers and floats by their values."""
    return (True, 0) if x != x else (False, x)


def first(places):
    return next((i for i, found in enumerate(places) if found), -1)


def multiset(x, y, wanted):
    """The set operations of C++ on numbers that occur several times.

    If a number occurs ``m`` times in one input and ``n`` times in the other, it occurs ``wanted(m, n)`` times in the
    result.
    """
    found = []
    for each in sorted({*map(key, x), *map(key, y)}):
        of_x, of_y = ([number for number in side if key(number) == each] for side in (x, y))
        found += (of_x or of_y)[:1] * wanted(len(of_x), len(of_y))
    return found


def places(x, y, bisect):
    return [bisect(list(map(key, x)), key(each)) for each in y]


def found_at(x, y):
    return first(x[i : i + len(y)] == y for i in range(len(x) - len(y) + 1))


SMALL = [(np.int32, np.float32), (np.float32, np.int32), (np.uint32, np.float32), (np.int16, np.float16)]
WIDE = [
    (np.int64, np.float64), (np.float64, np.uint64), (np.float32, np.int64), (np.int64, np.uint64),
    (np.int32, np.float64), (np.uint32, np.int32),
]  # fmt: skip


#: A function of two sorted inputs of different types, and the expected result, of lists.
COMPARED = {
    "searchsorted": (alg.searchsorted, lambda x, y: places(x, y, bisect_left)),
    "searchsorted after": (
        lambda a, b, **k: alg.searchsorted(a, b, "right", **k), lambda x, y: places(x, y, bisect_right),
    ),
    "isin": (alg.isin, lambda x, y: [each in y for each in x]),
    "equal": (lambda a, b, **k: alg.equal(a[:5], b[:5], **k), lambda x, y: x[:5] == y[:5]),
    "mismatch": (
        lambda a, b, **k: alg.mismatch(a[:5], b[:5], **k),
        lambda x, y: first(p != q for p, q in zip(x[:5], y[:5], strict=True)),
    ),
    "search": (lambda a, b, **k: alg.search(a, b[3:4], **k), lambda x, y: found_at(x, y[3:4])),
    "find_first_of": (alg.find_first_of, lambda x, y: first(each in y for each in x)),
    "lexicographical_compare": (alg.lexicographical_compare, lambda x, y: x < y),
    "includes": (alg.includes, lambda x, y: not multiset(x, y, lambda n, m: max(m - n, 0))),
    "includes some": (
        lambda a, b, **k: alg.includes(a, alg.set_intersection(b, a, **k), **k), lambda x, y: True,
    ),
}  # fmt: skip
#: Those whose results are elements of the first input, in its type.
OF_FIRST = {
    "set_intersection": (alg.set_intersection, lambda x, y: multiset(x, y, min)),
    "set_difference": (alg.set_difference, lambda x, y: multiset(x, y, lambda n, m: max(n - m, 0))),
    "setdiff1d": (alg.setdiff1d, lambda x, y: multiset(x, y, lambda n, m: int(n > 0 and m == 0))),
}
#: Those whose results have numpy's common type.
JOINED = {
    "merge": (alg.merge, lambda x, y: sorted(x + y, key=key)),
    "merge_by_key": (lambda a, b, **k: alg.merge_by_key(a, b, a, b, **k)[1], lambda x, y: sorted(x + y, key=key)),
    "set_union": (alg.set_union, lambda x, y: multiset(x, y, max)),
    "set_symmetric_difference": (alg.set_symmetric_difference, lambda x, y: multiset(x, y, lambda n, m: abs(n - m))),
    "union1d": (alg.union1d, lambda x, y: multiset(x, y, lambda n, m: 1)),
    "intersect1d": (alg.intersect1d, lambda x, y: multiset(x, y, lambda n, m: int(n > 0 and m > 0))),
}


def first_of(a, count):
    return alg.select(a, flags=(np.arange(len(a)) < count).astype(np.uint8))


def check(found, expected, what):
    assert np.array_equal(np.asarray(found), expected, equal_nan=True), what


def joins(view, *types):
    """The error of a function that returns elements of both types; ``None`` if there is none."""
    common = np.result_type(*types)
    if common.kind == "f" and 8 in [np.dtype(each).itemsize for each in types if np.dtype(each).kind in "iu"]:
        return TypeError
    has = view.accelerator.features
    return None if common.itemsize < 8 or {"float64", "int64"} <= set(has) else amp.UnsupportedFeatureError


def check_pair(view, types):
    left, right = (amp.array(numbers(each), accelerator_view=view) for each in types)
    a, b = amp.array_view(left), amp.array_view(right)
    x, y = (np.asarray(each).tolist() for each in (a, b))
    k = {"accelerator_view": view}
    for name, (call, expected) in COMPARED.items():
        check(call(a, b, **k), expected(x, y), name)
    for name, (call, expected) in OF_FIRST.items():
        found = call(a, b, **k)
        assert found.dtype == a.dtype
        check(found, expected(x, y), name)
    error = joins(view, *types)
    for name, (call, expected) in JOINED.items():
        if error is not None:
            with pytest.raises(error, match="convert the elements of one input"):
                call(a, b, **k)
        else:
            found = call(a, b, **k)
            assert found.dtype == np.result_type(*types)
            check(found, np.array(expected(x, y), found.dtype), name)


def check_counted(view, types):
    left, right = (amp.array(numbers(each), accelerator_view=view) for each in types)
    c, d = first_of(left, 7), first_of(right, 9)
    x, y = np.asarray(left).tolist()[:7], np.asarray(right).tolist()[:9]
    k = {"accelerator_view": view}
    for name in ("isin", "includes"):
        call, expected = COMPARED[name]
        check(call(c, d, **k), expected(x, y), name)
    for call, expected in ((alg.equal, False), (alg.mismatch, first(p != q for p, q in zip(x, y, strict=False)))):
        check(call(c, d, **k), expected, call.__name__)
    for name, (call, expected) in OF_FIRST.items():
        found = call(c, d, **k)
        assert found.dtype == left.dtype
        check(found, np.array(expected(x, y), found.dtype), name)
    if joins(view, *types) is None:
        for name, (call, expected) in JOINED.items():
            found = call(c, d, **k)
            assert found.dtype == np.result_type(*types)
            check(found, np.array(expected(x, y), found.dtype), name)


def names(types):
    return "-".join(each.__name__ for each in types)


@pytest.mark.parametrize("types", SMALL, ids=names)
@pytest.mark.spread(3)
def test_two_types(accelerator, types):
    check_pair(direct_view(accelerator), types)


@pytest.mark.parametrize("types", WIDE, ids=names)
@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.spread(2)
def test_two_types_of_64_bits(accelerator, types):
    check_pair(direct_view(accelerator), types)


@pytest.mark.parametrize("types", [(np.int32, np.float32), (np.uint64, np.int64), (np.int8, np.uint8)], ids=names)
@pytest.mark.accelerators("llvmpipe")
def test_counted_inputs_of_two_types(accelerator, types):
    check_counted(direct_view(accelerator), types)


@pytest.mark.sample("swiftshader", "reference")
def test_numbers_of_other_types(accelerator_view):
    k = {"accelerator_view": accelerator_view}
    integers = np.array([-3, 2**24, 2**24 + 1, 2**31 - 1], np.int32)
    floats = np.array([-0.5, 0.1, 2**24, 2**24 + 2], np.float32)
    # A Python float adapts to the elements' type, as in numpy.
    tenth = floats[1].item()
    for a, wanted in (
        (integers, (2.0**24, np.float32(2**24), 2**24 + 1, 0.5, 2.0**31, np.nan, -3 + 0j, 1j, 2**40)),
        (floats, (2**24, 2**24 + 1, np.int64(2**24 + 2), 10**400, tenth)),
        (floats[:2].astype(np.float16), (70_000, 2049, -0.5)),
        (floats.astype(np.complex64), (2**24, 2**24 + 1, 2.0**24)),
        (floats.astype(amp.bfloat16), (2**24, 2**24 + 1)),
    ):
        elements = a.astype(np.complex128).tolist()
        for number in wanted:
            expected = [x == np.asarray(number).item() for x in elements]
            check((alg.find(a, number, **k), alg.count(a, number, **k)), (first(expected), sum(expected)), number)
    assert int(alg.find(floats, 0.1, **k)) == 1
    for side, bisect in (("left", bisect_left), ("right", bisect_right)):
        for a, wanted in (
            (integers, (2.0**24 + 0.5, -1e300, np.inf)),
            (floats, (2**24 + 1, 0.1, -1e300, np.float64(0.1))),
        ):
            for number in wanted:
                for less in ((), (functional.less,)):
                    check(alg.searchsorted(a, number, side, *less, **k), bisect(a.tolist(), number), (number, side))


@pytest.mark.parametrize("types", [*SMALL, *WIDE], ids=names)
def test_where(accelerator_view, types):
    x, y = (numbers(each)[:8] for each in types)
    expected = np.where(np.arange(8) % 2, x, y)
    k = {"accelerator_view": accelerator_view}
    has = accelerator_view.accelerator.features
    if 8 in (x.itemsize, y.itemsize, expected.itemsize) and not {"float64", "int64"} <= set(has):
        with pytest.raises(amp.UnsupportedFeatureError):
            alg.where(np.arange(8) % 2 == 1, x, y, **k)
        return
    found = alg.where(np.arange(8) % 2 == 1, x, y, **k)
    assert found.dtype == expected.dtype
    check(found, expected, "where")


def test_types_that_have_no_order(accelerator_view):
    points = np.zeros(3, [("x", np.int32), ("y", np.float32)])
    for name in ("merge", "includes", "set_union"):
        with pytest.raises(TypeError, match="different types"):
            getattr(alg, name)(points, np.zeros(3, np.int32), lambda a, b: a.x < b, accelerator_view=accelerator_view)
