"""The compute domain of a launch and its checks, in AMP's order.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkamp.errors import InvalidComputeDomainError
from vkamp.lang.container import Container
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.lang.kernel import BoundKernel, KernelFunction
from vkamp.run.engine import Limits

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


def as_domain(value: Any) -> Any:
    """A domain as an extent: an int, a tuple or list of ints, the shape of an ndarray; anything else as it is."""
    if type(value) is extent or type(value) is tiled_extent or isinstance(value, bool):
        return value
    if isinstance(value, (int, np.integer)):
        return extent(int(value))
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        value = value.tolist()
    is_shape = isinstance(value, (tuple, list)) and bool(value)
    if is_shape and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in value):
        return extent([int(n) for n in value])
    return value


def domain_of(value: Any) -> Domain:
    """The domain of a launch; ``TypeError`` unless it is an ``extent`` or ``tiled_extent``.

    Raises ``InvalidComputeDomainError`` for a component below 1, more than 2**32 - 1 threads, or an extent that its
    tile does not divide, in this order.
    """
    if not isinstance(value, extent):
        raise TypeError(
            f"the domain of a launch must be an amp.extent, tiled or not, not {_what(value)}: {_instead(value)}"
        )
    tile = tuple(value.tile_extent) if isinstance(value, tiled_extent) else None
    domain = Domain(tuple(value), tile)
    _check_shape(domain)
    if tile is not None:
        _check_divisible(domain, tile)
    return domain


def _what(value: Any) -> str:
    if isinstance(value, (KernelFunction, BoundKernel)):
        return f"the kernel {value.__name__}"
    return repr(value) if isinstance(value, (int, float, str, tuple, list, range)) else type(value).__name__


def _instead(value: Any) -> str:
    """What to write for something that is no domain."""
    if isinstance(value, (KernelFunction, BoundKernel)):
        return f"write parallel_for_each(domain, {value.__name__}, ...)"
    if isinstance(value, Container):
        return "write view.extent"
    if isinstance(value, str):
        return f"pass amp.accelerator({value!r}) before the domain to choose a device"
    shape = getattr(value, "shape", value)
    if isinstance(shape, range):
        shape = (len(shape),)
    if isinstance(shape, (list, tuple)) and shape and all(isinstance(n, int) for n in shape):
        return f"write amp.extent({', '.join(map(str, shape))})"
    return "write amp.extent(n) with the number of threads, or view.extent"


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
                f"write .tile({', '.join(map(str, tile))}).pad() and test the bounds in the kernel, or .truncate()"
            )


def _tile_of(threads: int, rank: int) -> str:
    """A tile of at most so many threads: of equal sizes, powers of two, as far as they divide."""
    bits = max(threads.bit_length() - 1, 0)
    return ", ".join(str(1 << (bits // rank + (dim >= rank - bits % rank))) for dim in range(rank))


def check_tile(domain: Domain, limits: Limits, device: str) -> None:
    """Refuses a tile that the device can't take."""
    tile = domain.tile
    if tile is None:
        return
    threads = math.prod(tile)
    if threads > limits.tile_threads:
        raise InvalidComputeDomainError(
            f"{domain}: a tile has {threads} threads, but {device} supports at most {limits.tile_threads}: "
            f"use a smaller tile, such as .tile({_tile_of(limits.tile_threads, len(tile))})"
        )
    # The last dimension is x.
    for dim, size in enumerate(tile):
        most = limits.tile_size[len(tile) - 1 - dim]
        if size > most:
            raise InvalidComputeDomainError(
                f"{domain}: dimension {dim} of the tile has {size} threads; {device} takes at most {most} there"
            )
