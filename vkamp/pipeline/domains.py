"""How a domain lies on a device's grid: the choice before a shader is printed, and the numbers of each launch.

Sizes of the index space are in AMP's order (dimension 0 first), sizes of the grid in Vulkan's (x, y, z).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from vkamp.artifacts import Quirk, Shader, Target
from vkamp.errors import InvalidComputeDomainError

_GROUP_THREADS = 256
_GROUP_WIDTH = 32
#: A domain with more elements is beyond int32 where pieces end.
_MAX_IN_PIECES = 2**31 - 64
#: Rows of fewer elements have too few pieces.
_SHORT_ROW = 64
#: What every device takes in y.
_GROUP_HEIGHT = 128


def _group(rank: int, domain: tuple[int, ...], tile_threads: int) -> tuple[int, int, int]:
    """Threads of a group for an untiled domain: wide in x, where neighbours in memory are."""
    threads = 1 << (min(_GROUP_THREADS, tile_threads).bit_length() - 1)
    if rank == 1:
        return threads, 1, 1
    width = 1
    while width < min(_GROUP_WIDTH, threads, domain[-1]):
        width *= 2
    return width, min(threads // width, _GROUP_HEIGHT), 1


def _counts(
    rank: int, tile: tuple[int, ...] | None, domain: tuple[int, ...], group: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Tiles, or groups of an untiled domain, in x, y and z."""
    if tile is not None:
        counts = [d // t for d, t in zip(domain, tile, strict=True)][::-1]
    else:
        axes = [*domain[:-3:-1], math.prod(domain[: max(rank - 2, 0)])]
        if rank == 1:
            axes = [domain[0]]
        counts = [-(-size // width) for size, width in zip(axes, group, strict=False)]
    x, y, z = (*counts, 1, 1)[:3]
    return x, y, z


def choose_target(
    rank: int,
    tile: tuple[int, ...] | None,
    domain: tuple[int, ...],
    max_groups: tuple[int, int, int],
    push_words: int,
    tile_threads: int,
    *,
    reference: bool = False,
    quirks: frozenset[Quirk] = frozenset(),
    subgroup_size: int = 1,
    max_unrolled_statements: int | None = None,
    private_bytes: int | None = None,
) -> Target:
    """The target to print a kernel for.

    ``domain``: the domain's extent (positive; a multiple of ``tile``).  The device's limits: ``max_groups``, tiles in
    x, y, z; ``push_words``, 32-bit words of push constants; ``tile_threads``, threads of a tile.  ``reference``: it is
    the reference accelerator.  ``subgroup_size``: its lanes.  ``quirks``, ``max_unrolled_statements`` and
    ``private_bytes`` are the driver's, as in :class:`Target`.  Launches of one kernel that differ only in size mostly
    share a target.
    """
    group = Target().group if tile is not None else _group(rank, domain, tile_threads)
    counts = _counts(rank, tile, domain, group)
    folded = any(c > most for c, most in zip(counts, max_groups, strict=True))
    if folded and tile is None:
        group = math.prod(group), 1, 1
    vector = subgroup_size if "absent_lanes" in quirks else 1
    return Target(
        push_words, folded, group, reference,
        quirks=quirks, vector=vector, max_unrolled_statements=max_unrolled_statements, private_bytes=private_bytes,
    )  # fmt: skip


class Placed(NamedTuple):
    """A container's layout in a launch: extent, offset of the first element, strides; the last two in elements."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    is_dense: bool


def pieces_of(
    target: Target,
    most: int,
    domain: tuple[int, ...],
    containers: Mapping[str, Placed],
    max_groups: tuple[int, int, int],
) -> dict[str, Any]:
    """What a target says of an untiled launch whose threads may have ``most`` neighbouring elements each."""
    rank, total = len(domain), math.prod(domain)
    if target.folded or total > _MAX_IN_PIECES:
        return {}
    whole, flat = set(), set()
    together: dict[tuple[int, ...], list[str]] = {}
    for name, each in containers.items():
        if len(each.shape) != rank or each.strides[-1] != 1:
            continue
        if all(n >= size for n, size in zip(each.shape, domain, strict=True)) and (
            rank == 1 or domain[-1] >= _SHORT_ROW
        ):
            whole.add(name)
        if rank > 1 and each.shape == domain and each.is_dense:
            flat.add(name)
        if name in whole or name in flat:
            together.setdefault(tuple(n % most for n in (each.offset, *each.strides[:-1])), []).append(name)
    if total > max_groups[0] * math.prod(target.group):
        flat.clear()
    if not whole and not flat:
        return {}
    groups = tuple(sorted(map(tuple, together.values())))
    return {"pieces": most, "whole": frozenset(whole), "flat": frozenset(flat), "together": groups}


def tile_counts(rank: int, tile: tuple[int, ...] | None, domain: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """The values of the ``tiles`` words: tiles per dimension, or the number of all groups of an untiled domain."""
    if tile is not None:
        return tuple(d // t for d, t in zip(domain, tile, strict=True))
    if target.folded:
        return (-(-math.prod(domain) // math.prod(target.group)),)
    return (math.prod(_counts(rank, tile, domain, target.group)),)


def grid(
    rank: int,
    tile: tuple[int, ...] | None,
    domain: tuple[int, ...],
    target: Target,
    max_groups: tuple[int, int, int],
    shader: Shader | None = None,
) -> tuple[int, int, int]:
    """The groups to dispatch in x, y and z, each within ``max_groups``; ``shader``: what they run.

    A folded grid may hold a few more tiles than there are; the shader ends those.  InvalidComputeDomainError if the
    tiles do not fit at all.
    """
    if shader is not None and shader.pieces is not None:
        threads = shader.pieces.threads(domain)
        x, y, z = _counts(len(threads), None, threads, shader.local_size)
    elif not target.folded:
        x, y, z = _counts(rank, tile, domain, target.group)
    else:
        tiles = math.prod(tile_counts(rank, tile, domain, target))
        z = -(-tiles // (max_groups[0] * max_groups[1]))
        y = -(-tiles // (max_groups[0] * z))
        x = -(-tiles // (y * z))
    if x > max_groups[0] or y > max_groups[1] or z > max_groups[2]:
        raise InvalidComputeDomainError(
            f"{math.prod((x, y, z))} tiles do not fit the device's grid of {' x '.join(map(str, max_groups))}"
        )
    return x, y, z
