"""Index space: index, extent, and their operators."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import I32
from tests.conformance.registry import row


@row("1", "index<N> construction")
@pytest.mark.parametrize(
    ("made", "components"),
    [
        (amp.index(7), (7,)),
        (amp.index(1, -2), (1, -2)),
        (amp.index(1, 2, 3), (1, 2, 3)),
        (amp.index([4, 5, 6, 7, 8]), (4, 5, 6, 7, 8)),
        (amp.index(np.array([2, 3])), (2, 3)),
        (amp.index.zeros(4), (0, 0, 0, 0)),
        (amp.index(-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)),
    ],
)
def test_index_construction(made, components):
    assert tuple(made) == components
    assert made.rank == len(components)


@row("1", "index<N> with N > 3 from scalars", differs="any number of scalars; C++ AMP takes at most three")
def test_index_of_four_scalars():
    assert tuple(amp.index(1, 2, 3, 4)) == (1, 2, 3, 4)


@row("1", "index<N> with N <= 0")
def test_index_without_components():
    with pytest.raises(TypeError):
        amp.index()
    with pytest.raises(ValueError, match="at least one component"):
        amp.index([])
    with pytest.raises(ValueError, match="rank of at least 1"):
        amp.index.zeros(0)


@row("1", "index: value semantics")
def test_index_copies():
    a = amp.index(1, 2)
    b = amp.index(a)
    b[0] = 9
    assert a == (1, 2) and b == (9, 2)


@row("1", "extent<N> construction")
@pytest.mark.parametrize("components", [(1,), (8, 9), (0, 5), (-3, 4), (2**31 - 1, 2), (1,) * 128])
def test_extent_construction(components):
    made = amp.extent(list(components))
    assert tuple(made) == components
    assert made.rank == len(components)


@row("1", "rank and subscripts, readable and assignable")
@pytest.mark.parametrize("kind", [amp.index, amp.extent])
def test_components(kind):
    value = kind(3, 4, 5)
    value[1] = -7
    value[2] += 1
    assert [value[d] for d in range(3)] == [3, -7, 6]
    for outside in (-1, 3):
        with pytest.raises(IndexError):
            value[outside]


@row("1", "components are 32-bit signed")
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 10**20])
def test_overflow(value):
    with pytest.raises(OverflowError):
        amp.index(value)
    with pytest.raises(OverflowError):
        amp.extent(1, value)


@row("1", "== and !=")
@pytest.mark.parametrize("kind", [amp.index, amp.extent])
def test_equality(kind):
    assert kind(1, 2) == kind(1, 2)
    assert kind(1, 2) != kind(2, 1)
    assert not kind(1, 2) != kind(1, 2)
    assert kind(1, 2) != kind(1, 3)


@row("1", "== of different ranks is an error")
@pytest.mark.parametrize("kind", [amp.index, amp.extent])
def test_equality_of_ranks(kind):
    with pytest.raises(TypeError, match="ranks differ"):
        assert kind(1, 2) == kind(1, 2, 3)
    with pytest.raises(TypeError, match="ranks differ"):
        assert kind(1) != kind(1, 2)


@row("1", "index ± index")
def test_index_arithmetic():
    a, b = amp.index(5, -3, 2), amp.index(1, 2, 3)
    assert a + b == (6, -1, 5)
    assert a - b == (4, -5, -1)
    a += b
    a -= amp.index(1, 1, 1)
    assert a == (5, -2, 4)
    with pytest.raises(TypeError, match="ranks differ"):
        a + amp.index(1, 2)


@row("1", "index * / % index do not exist")
@pytest.mark.parametrize("operation", ["a * b", "a / b", "a % b"])
def test_index_products(operation):
    with pytest.raises(TypeError, match="not defined"):
        eval(operation, {"a": amp.index(1, 2), "b": amp.index(3, 4)})


@row("1", "index with int, either side")
def test_index_and_int():
    a = amp.index(7, -7)
    assert a + 2 == (9, -5) and 2 + a == (9, -5)
    assert a - 2 == (5, -9) and 2 - a == (-5, 9)
    assert a * 3 == (21, -21) and 3 * a == (21, -21)
    assert a / 2 == (3, -3) and 100 / a == (14, -14)
    assert a % 4 == (3, -3) and 10 % a == (3, 3)


@row("1", "in-place operators change the object and chain")
def test_in_place():
    a = amp.index(10, 20)
    same = a
    a += 1
    a *= 2
    a -= 2
    a /= 3
    a %= 5
    assert same is a and a == (1, 3)


@row("1", "++ and --", differs="written `+= 1` and `-= 1`: Python has no such operators")
def test_increment():
    a = amp.index(1, -1)
    a += 1
    assert a == (2, 0)
    a -= 1
    assert a == (1, -1)


@row("1", "/ and % truncate as in C")
@pytest.mark.parametrize(
    ("a", "b", "quotient", "remainder"), [(-100, -9, 11, -1), (100, -9, -11, 1), (-10, -9, 1, -1), (1, -100, 0, 1)]
)
def test_truncation(accelerator_view, a, b, quotient, remainder):
    assert amp.index(a) / b == (quotient,) and amp.index(a) % b == (remainder,)
    assert a / amp.index(b) == (quotient,) and a % amp.index(b) == (remainder,)
    out = amp.array_view(np.zeros(2, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(i):
        out[i] = ((i + a) / b)[0]
        out[i + 1] = ((i + a) % b)[0]

    assert np.asarray(out).tolist() == [quotient, remainder]


@row("1", "division by zero")
def test_division_by_zero():
    for operation in (lambda: amp.index(1, 2) / 0, lambda: amp.extent(3) % 0, lambda: 1 / amp.index(0)):
        with pytest.raises(ZeroDivisionError):
            operation()


@row("1", "extent ± extent, extent ± index, scalar operators")
def test_extent_arithmetic():
    e = amp.extent(6, 8)
    for value, components in [
        (e + amp.extent(1, 1), (7, 9)),
        (e - amp.extent(1, 2), (5, 6)),
        (e + amp.index(1, 2), (7, 10)),
        (e - amp.index(1, 2), (5, 6)),
        (e * 2, (12, 16)),
        (e / 4, (1, 2)),
        (e % 4, (2, 0)),
        (1 + e, (7, 9)),
    ]:
        assert isinstance(value, amp.extent)
        assert value == components


@row("1", "index + extent is undefined")
def test_index_plus_extent():
    with pytest.raises(TypeError, match="not defined"):
        amp.index(1, 2) + amp.extent(3, 4)


@row("1", "extent::size() is a product modulo 2^32")
@pytest.mark.parametrize(
    ("components", "size"),
    [
        ((8, 9), 72),
        ((-1,), 4294967295),
        ((-1, 2, 3, 4, 5), 2**32 - 120),
        ((5, 0, -3), 0),
        ((65536, 65536), 0),
        ((2**31 - 1, 2), 4294967294),
    ],
)
def test_size(components, size):
    assert amp.extent(components).size() == size


CONTAINED = [
    ((3, 5), (0, 0), True),
    ((3, 5), (2, 4), True),
    ((3, 5), (3, 4), False),
    ((3, 5), (2, 5), False),
    ((3, 5), (-1, 0), False),
    ((3, 0), (0, 0), False),
    ((-2, 5), (0, 0), False),
]


@row("1", "extent::contains")
@pytest.mark.parametrize(("extent", "point", "inside"), CONTAINED)
def test_contains(extent, point, inside):
    assert amp.extent(extent).contains(amp.index(point)) is inside


@row("1", "extent::contains on the device")
@pytest.mark.parametrize(("extent", "point", "inside"), CONTAINED)
def test_contains_on_the_device(accelerator_view, extent, point, inside):
    e, p, out = amp.extent(extent), amp.index(point), amp.array_view(np.full(1, -1, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(i):
        out[i] = 1 if e.contains(p) else 0

    assert out[0] == inside


@row("1", "contains of another rank")
def test_contains_another_rank():
    with pytest.raises(TypeError, match="ranks differ"):
        amp.extent(3, 4).contains(amp.index(1))


@row("1", "extent::tile")
def test_tile():
    tiled = amp.extent(8, 12).tile(2, 3)
    assert tiled == (8, 12) and tiled.tile_extent == (2, 3)
    assert amp.extent(10**9).tile(2**31 - 1).tile_dim0 == 2**31 - 1
    for sizes in ((2,), (2, 3, 4)):
        with pytest.raises(TypeError):
            amp.extent(8, 12).tile(*sizes)
    for sizes in ((0, 3), (2, -1)):
        with pytest.raises(ValueError, match="at least 1"):
            amp.extent(8, 12).tile(*sizes)
    with pytest.raises(TypeError, match="rank 1 to 3"):
        amp.extent(1, 2, 3, 4).tile(1, 1, 1, 1)


@row("1", "index and extent arithmetic in kernels")
def test_arithmetic_in_a_kernel(accelerator_view):
    out = amp.array_view(np.zeros((4, 6), I32))
    shift, e = amp.index(1, -2), amp.extent(4, 6)

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        moved = i + shift - 1
        inside = 1 if e.contains(moved) else 0
        out[i] = (moved * 10)[0] + moved[1] + inside * 1000

    expected = [[r * 10 + (c - 3) + (1000 if c >= 3 else 0) for c in range(6)] for r in range(4)]
    assert np.asarray(out).tolist() == expected
