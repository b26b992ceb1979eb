"""The compute domain of a launch and its checks, in AMP's order.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from vkamp.errors import InvalidComputeDomainError
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.run.engine import Limits

__all__ = ["Domain", "check_tile", "domain_of"]

_MAX_THREADS = 2**32 - 1


@dataclass(frozen=True)
class Domain:
    """``shape``: threads per dimension; ``tile``: threads of a tile per dimension, or ``None``."""

    shape: tuple[int, ...]
    tile: tuple[int, ...] | None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __str__(self) -> str:
        text = f"extent({', '.join(map(str, self.shape))})"
        return text if self.tile is None else f"{text}.tile({', '.join(map(str, self.tile))})"


def domain_of(value: Any) -> Domain:
    """The domain of a launch; ``TypeError`` unless it is an ``extent`` or ``tiled_extent``.

    Raises ``InvalidComputeDomainError`` for a component below 1, more than 2**32 - 1 threads, or an extent that its
    tile does not divide, in this order.
    """
    if not isinstance(value, extent):
        raise TypeError(
            f"the domain of parallel_for_each is an amp.extent or its .tile(...), not {type(value).__name__}: "
            "write amp.extent(...), or view.extent"
        )
    tile = tuple(value.tile_extent) if isinstance(value, tiled_extent) else None
    domain = Domain(tuple(value), tile)
    _check_shape(domain)
    if tile is not None:
        _check_divisible(domain, tile)
    return domain


def _check_shape(domain: Domain) -> None:
    for dim, size in enumerate(domain.shape):
        if size <= 0:
            raise InvalidComputeDomainError(
                f"{domain}: component {dim} is {size}, and a launch needs at least one thread in every dimension"
            )
    total = math.prod(domain.shape)
    if total > _MAX_THREADS:
        raise InvalidComputeDomainError(f"{domain} has {total} threads; a launch takes at most {_MAX_THREADS}")


def _check_divisible(domain: Domain, tile: tuple[int, ...]) -> None:
    for dim, (size, part) in enumerate(zip(domain.shape, tile, strict=True)):
        if size % part:
            raise InvalidComputeDomainError(
                f"{domain}: dimension {dim}, {size}, is not a multiple of the tile's {part}; "
                "write .pad() and test the bounds in the kernel, or .truncate()"
            )


def check_tile(domain: Domain, limits: Limits, device: str) -> None:
    """Refuses a tile that the device can't take."""
    tile = domain.tile
    if tile is None:
        return
    threads = math.prod(tile)
    if threads > limits.tile_threads:
        raise InvalidComputeDomainError(
            f"{domain}: a tile of {threads} threads; {device} takes at most {limits.tile_threads}"
        )
    # The last dimension is x.
    for dim, size in enumerate(tile):
        most = limits.tile_size[len(tile) - 1 - dim]
        if size > most:
            raise InvalidComputeDomainError(
                f"{domain}: dimension {dim} of the tile has {size} threads; {device} takes at most {most} there"
            )
