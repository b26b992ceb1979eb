"""The grid of a launch: every thread of the domain, within the device's limits."""

from __future__ import annotations

import math

import pytest

from vkamp.artifacts import Domain, Target
from vkamp.errors import InvalidComputeDomainError

LIMITS = (65535, 65535, 65535)

DOMAINS = [
    (None, (1,)),
    (None, (1000003,)),
    (None, (1 << 28,)),
    (None, (2**31 - 1,)),
    (None, (65537, 65535)),
    (None, (3, 1 << 24)),
    (None, (1 << 24, 3)),
    (None, (3, 5, 286331153)),
    (None, (100000, 5, 7)),
    (None, (7, 3, 2, 5, 9)),
    ((256,), (1 << 28,)),
    ((1,), (2**31 - 1,)),
    ((1024,), (65535 * 1024,)),
    ((1024,), (65536 * 1024,)),
    ((2, 3), (14, 27)),
    ((1, 1), (1 << 16, 1 << 15)),
    ((4, 4, 4), (400000, 8, 16)),
]


def fitted(
    tile: tuple[int, ...] | None,
    shape: tuple[int, ...],
    limits: tuple[int, int, int] = LIMITS,
    threads: int = 256,
) -> Target:
    return Target().fitted(Domain(shape, tile), limits, threads)


@pytest.mark.parametrize(("tile", "domain"), DOMAINS)
def test_the_grid_covers_the_domain(tile: tuple[int, ...] | None, domain: tuple[int, ...]) -> None:
    target = fitted(tile, domain)
    groups = target.grid(Domain(domain, tile), LIMITS)
    assert all(1 <= g <= most for g, most in zip(groups, LIMITS, strict=True))
    threads = math.prod(tile) if tile else math.prod(target.group)
    assert threads <= 1024 and max(target.group) <= 256
    total = math.prod(target.tile_counts(Domain(domain, tile)))
    assert math.prod(groups) >= total
    assert total * threads >= math.prod(domain)
    # A folded grid wastes little.
    assert math.prod(groups) - total <= max(groups)
    if tile:
        assert total * threads == math.prod(domain)
        assert target.tile_counts(Domain(domain, tile)) == tuple(d // t for d, t in zip(domain, tile, strict=True))


def test_what_fits_is_not_folded() -> None:
    assert not fitted((1024,), (65535 * 1024,)).folded
    assert fitted((1024,), (65536 * 1024,)).folded
    assert fitted((1, 1), (65536, 1)).folded
    assert not fitted((1,), (1 << 30,), (2**31 - 1, 65535, 65535)).folded


def test_sizes_share_a_target() -> None:
    sizes = [(1000, 1000), (2000, 33), (64, 4000)]
    assert len({fitted(None, s) for s in sizes}) == 1
    narrow = fitted(None, (100000, 3))
    assert narrow.group == (4, 64, 1)
    assert fitted(None, (100000, 1)).group == (1, 128, 1)
    assert fitted(None, (5,), threads=200).group == (128, 1, 1)
    tiles = [(16, 32), (160, 320)]
    assert len({fitted((16, 16), s) for s in tiles}) == 1


def test_a_grid_that_cannot_hold_the_tiles() -> None:
    with pytest.raises(InvalidComputeDomainError, match="do not fit the device's grid of 4 x 4 x 4"):
        Target(folded=True).grid(Domain((65,), (1,)), (4, 4, 4))
    assert math.prod(Target(folded=True).grid(Domain((64,), (1,)), (4, 4, 4))) == 64
