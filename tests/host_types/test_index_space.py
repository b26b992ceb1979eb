"""index, extent, tiled_extent, tiled_index."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from vkamp import extent, index, tiled_extent, tiled_index


@pytest.mark.parametrize("cls", [index, extent])
class TestBoth:
    def test_construction(self, cls):
        assert list(cls(3, -4, 5)) == [3, -4, 5]
        assert cls([1, 2]) == cls(1, 2)
        assert cls(range(5)).rank == 5
        assert cls(np.array([7, 8])) == (7, 8)
        assert cls(np.int64(7), np.uint8(8)) == (7, 8)
        assert cls(cls(3)) == cls(3)
        assert cls.zeros(4) == (0, 0, 0, 0)
        assert len(cls(1, 2, 3)) == 3
        assert repr(cls(1, -2)) == f"{cls.__name__}(1, -2)"

    def test_copies_are_apart(self, cls):
        a = cls(1, 2)
        for b in (cls(a), copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
            b[0] = 9
            assert a == (1, 2)
            assert b == (9, 2)

    def test_components(self, cls):
        a = cls(1, 2, 3)
        a[1] += 5
        assert a == (1, 7, 3)
        with pytest.raises(IndexError) as caught:
            a[-1]
        assert str(caught.value) == (f"dimension -1 of {cls.__name__}(1, 7, 3): dimensions are 0 to 2")
        with pytest.raises(IndexError):
            a[3] = 1
        with pytest.raises(TypeError) as caught_type:
            a[0.0]
        assert str(caught_type.value) == f"{cls.__name__} subscripts are integers, got float"

    def test_bad_components(self, cls):
        name = cls.__name__
        with pytest.raises(TypeError) as caught:
            cls(1, 2.5)
        assert str(caught.value) == f"{name} components must be integers, got float: 2.5"
        with pytest.raises(TypeError) as caught:
            cls(None)
        assert str(caught.value) == f"{name} components must be integers, got NoneType: None"
        with pytest.raises(TypeError) as caught:
            cls()
        assert str(caught.value) == f"{name}() needs components; {name}.zeros(rank) is all zeros"
        with pytest.raises(ValueError, match=f"^{name} needs at least one component$"):
            cls([])
        with pytest.raises(ValueError, match=f"^{name} needs a rank of at least 1, got 0$"):
            cls.zeros(0)

    def test_32_bits(self, cls):
        name = cls.__name__
        assert cls(2**31 - 1, -(2**31)) == (2**31 - 1, -(2**31))
        for value in (2**31, -(2**31) - 1):
            with pytest.raises(OverflowError) as caught:
                cls(value)
            assert str(caught.value) == (f"{name} component {value} is outside the 32-bit signed range")
        a = cls(2**31 - 1, 0)
        with pytest.raises(OverflowError):
            a += 1
        with pytest.raises(OverflowError):
            a[1] = 2**31
        assert a == (2**31 - 1, 0)
        with pytest.raises(OverflowError):
            cls(-(2**31)) / -1

    def test_comparison(self, cls):
        assert cls(1, 2) == cls(1, 2)
        assert cls(1, 2) != cls(1, 3)
        assert (cls(1, 2) != (1, 2)) is False
        pair = (1, 2)
        assert pair == cls(1, 2)
        assert cls(1, 2) == [1, 2]
        assert (cls(1) == 1) is False
        assert (cls(1) == "x") is False
        with pytest.raises(TypeError) as caught:
            _ = cls(1, 2) == (1, 2, 3)
        name = cls.__name__
        assert str(caught.value) == (f"ranks differ: {name}(1, 2) has rank 2, (1, 2, 3) has rank 3")
        with pytest.raises(TypeError, match="ranks differ"):
            _ = cls(1, 2) != cls(1)
        with pytest.raises(TypeError, match="unhashable"):
            hash(cls(1))

    def test_scalar_arithmetic(self, cls):
        a = cls(10, -7)
        assert a + 1 == (11, -6)
        assert 1 - a == (-9, 8)
        assert a * -2 == -2 * a == (-20, 14)
        assert a / 3 == (3, -2)
        assert a % 3 == (1, -1)
        assert 20 / a == (2, -2)
        assert 20 % a == (0, 6)
        assert np.int32(3) + a == (13, -4)
        assert isinstance(np.int64(3) * a, cls)
        assert a == (10, -7)

    @pytest.mark.parametrize(
        ("left", "right", "quotient", "remainder"),
        [(-100, -9, 11, -1), (100, -9, -11, 1), (-10, -9, 1, -1), (1, -100, 0, 1)],
    )
    def test_division_truncates(self, cls, left, right, quotient, remainder):
        assert cls(left) / right == (quotient,)
        assert cls(left) % right == (remainder,)
        assert left / cls(right) == (quotient,)
        assert left % cls(right) == (remainder,)

    def test_in_place_changes_the_object(self, cls):
        a = b = cls(7, 9)
        a += 1
        a -= cls(2, 2)
        a *= 3
        a /= 2
        a %= 5
        assert a is b
        assert b == (4, 2)

    def test_zero_division(self, cls):
        name = cls.__name__
        with pytest.raises(ZeroDivisionError) as caught:
            cls(1, 2) / 0
        assert str(caught.value) == f"{name} /: a component of the divisor is zero"
        with pytest.raises(ZeroDivisionError) as caught:
            1 % cls(1, 0)
        assert str(caught.value) == f"{name} %: a component of the divisor is zero"

    def test_undefined(self, cls):
        name = cls.__name__
        with pytest.raises(TypeError) as caught:
            cls(1) * cls(1)
        assert str(caught.value) == f"{name} * {name} is not defined"
        with pytest.raises(TypeError) as caught:
            cls(1) + 1.5
        assert str(caught.value) == f"{name} + float is not defined"
        with pytest.raises(TypeError) as caught:
            1.5 + cls(1)
        assert str(caught.value) == f"float + {name} is not defined"
        with pytest.raises(TypeError) as caught:
            cls(1, 1) + (1, 1)  # noqa: RUF005
        assert str(caught.value) == f"{name} + tuple is not defined"
        for wrong in (lambda: cls(4) // 2, lambda: 4 // cls(2)):
            with pytest.raises(TypeError) as caught:
                wrong()
            assert str(caught.value) == (f"{name} has no //: write /, which truncates as in C++ AMP")
        with pytest.raises(TypeError, match="ranks differ"):
            cls(1) + cls(1, 2)


def test_index_and_extent():
    assert extent(5, 6) + index(1, -2) == extent(6, 4)
    assert isinstance(extent(5, 6) - index(1, 2), extent)
    e = extent(3, 3)
    e += index(1, 2)
    assert e == (4, 5)
    for wrong in (lambda: index(1, 2) + extent(1, 2), lambda: index(1, 2) - extent(1, 2)):
        with pytest.raises(TypeError, match=r"^index [+-] extent is not defined$"):
            wrong()
    with pytest.raises(TypeError, match=r"^extent and index cannot be compared$"):
        _ = extent(1, 2) == index(1, 2)


def test_size():
    assert extent(8, 9).size() == 72
    assert extent(-1).size() == 4294967295
    assert extent(-1, 2, 3, 4, 5).size() == 2**32 - 120
    assert extent(2**31 - 1, 0, 5).size() == 0
    assert extent(2**16, 2**16).size() == 0


def test_contains():
    e = extent(3, 4)
    assert e.contains(index(0, 0))
    assert e.contains((2, 3))
    assert not e.contains(index(2, 4))
    assert not e.contains(index(-1, 0))
    assert not extent(3, 0).contains(index(0, 0))
    assert e.contains(tiled_index((1, 2), (0, 0), (0, 0), (0, 0), (2, 2)))
    with pytest.raises(TypeError, match="ranks differ"):
        e.contains(index(1))


def test_numpy_takes_an_extent_as_shape():
    assert np.zeros(extent(3, 5)).shape == (3, 5)


class TestTiledExtent:
    def test_formation(self):
        t = extent(8, 9).tile(2, 3)
        assert t.tile_extent == extent(2, 3)
        assert (t.tile_dim0, t.tile_dim1) == (2, 3)
        assert t == (8, 9)
        assert t == extent(8, 9)
        assert extent(8, 9) == t
        assert t == extent(8, 9).tile([2, 3])
        assert t != extent(8, 9).tile(2, 9)
        assert tiled_extent(t) == t == tiled_extent(extent(8, 9), 2, 3)
        assert repr(t) == "extent(8, 9).tile(2, 3)"
        assert eval(repr(t)) == t
        assert not hasattr(t, "tile_dim2")
        with pytest.raises(AttributeError) as caught:
            _ = t.tile_dim2
        assert str(caught.value) == "tile_dim2 does not exist: the tile has rank 2"
        assert extent(2**31 - 1).tile(2**31 - 1).tile_dim0 == 2**31 - 1

    def test_copies(self):
        t = extent(8, 9).tile(2, 3)
        for u in (tiled_extent(t), copy.copy(t), pickle.loads(pickle.dumps(t))):
            u[0] = 10
            assert t == (8, 9)
            assert u.tile_extent == (2, 3)

    def test_operators_give_a_plain_extent(self):
        t = extent(8, 9).tile(2, 3)
        assert type(t + 1) is extent
        t += 2
        assert t.pad() == extent(10, 12).tile(2, 3)

    @pytest.mark.parametrize(
        ("whole", "tile", "padded", "truncated"),
        [
            ((25,), (4,), (28,), (24,)),
            ((25, 51, 85), (4, 8, 16), (28, 56, 96), (24, 48, 80)),
            ((28, 56), (4, 8), (28, 56), (28, 56)),
            ((3,), (4,), (4,), (0,)),
            ((5,), (2**31 - 1,), (2**31 - 1,), (0,)),
            ((0,), (4,), (0,), (0,)),
        ],
    )
    def test_pad_and_truncate(self, whole, tile, padded, truncated):
        t = extent(whole).tile(*tile)
        assert t.pad() == padded
        assert t.truncate() == truncated
        assert t.pad().tile_extent == tile
        assert t == whole

    @pytest.mark.parametrize(("whole", "tile"), [(2**31 - 1, 4), (2**31 - 1, 2**31 - 2), (-5, 4), (-(2**31), 3)])
    def test_impossible_pad_is_not_positive(self, whole, tile):
        assert extent(whole).tile(tile).pad()[0] <= 0
        if whole < 0:
            assert extent(whole).tile(tile).truncate()[0] <= 0

    def test_errors(self):
        with pytest.raises(TypeError) as caught:
            extent(1, 2, 3, 4).tile(1, 1, 1, 1)
        assert str(caught.value) == "tiles have rank 1 to 3, but extent(1, 2, 3, 4) has rank 4"
        with pytest.raises(TypeError) as caught:
            extent(8, 9).tile(2)
        assert str(caught.value) == "extent(8, 9) has rank 2 and needs 2 tile sizes, got 1: write .tile(16, 16)"
        with pytest.raises(ValueError, match=r"^tile sizes must be at least 1, got 0$"):
            extent(8).tile(0)
        with pytest.raises(TypeError, match=r"^tile components must be integers, got float: 2.0$"):
            extent(8).tile(2.0)
        with pytest.raises(TypeError, match=r"^tiled_extent needs an extent and its tile sizes$"):
            tiled_extent(8, 2)


class TestTiledIndex:
    def test_made_on_the_host(self):
        t = tiled_index((5, 6), index(1, 0), (2, 3), (4, 6), extent(2, 2))
        assert (t.global_, t.local) == (index(5, 6), index(1, 0))
        assert (t.tile, t.tile_origin) == (index(2, 3), index(4, 6))
        assert t.rank == 2
        assert t.tile_extent == (2, 2)
        assert t.tile_dim1 == 2
        assert index(t) == (5, 6)
        t.global_[0] = 9
        assert t.global_ == (5, 6)
        assert repr(t) == (
            "tiled_index(global_=index(5, 6), local=index(1, 0), tile=index(2, 3), "
            "tile_origin=index(4, 6), tile_extent=extent(2, 2))"
        )

    def test_is_read_only(self):
        t = tiled_index((5,), (1,), (2,), (4,), (2,))
        for name in ("global_", "local", "tile", "tile_origin", "tile_extent", "tile_dim0"):
            with pytest.raises(AttributeError):
                setattr(t, name, 1)

    def test_barriers_come_from_kernels(self):
        with pytest.raises(AttributeError, match=r"^a barrier exists only in a running kernel$"):
            _ = tiled_index((5,), (1,), (2,), (4,), (2,)).barrier

    def test_ranks(self):
        with pytest.raises(TypeError) as caught:
            tiled_index((5, 6), (1,), (2, 3), (4, 6), (2, 2))
        assert str(caught.value) == "ranks differ: index(1) and the tile extent(2, 2)"
