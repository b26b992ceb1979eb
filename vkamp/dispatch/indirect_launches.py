"""Launches whose number of threads is in device memory (``amp.indirect``).

If the engine can read the size of a grid from memory, a launch of one thread computes it there, and the host does not
wait. It also writes the launch words that depend on the size, which are then in a buffer.  Elsewhere, and for
hand-edited shaders that have such words as push constants, the host waits for the number.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from vkamp.artifacts import Domain, Shader
from vkamp.dispatch.domain import exact_domain
from vkamp.dispatch.preparing import IndirectSize, PreparedLaunch, prepare, with_words_in_memory
from vkamp.lang.arrays import array
from vkamp.lang.index_space import extent
from vkamp.lang.indirect import indirect
from vkamp.lang.kernel import kernel
from vkamp.run.accelerators import accelerator_view, queue_of


@kernel
def size_launch(idx, count, sizes, words, most, group, shift, width, plane, domain_at, tiles_at):
    """The grid of a launch of ``count`` threads, in groups of ``group``, and its launch words."""
    n = min(np.uint32(max(count[0], 0)), most)
    tiles = np.uint32(0)
    if n > 0:
        tiles = (n + shift - 1) // group + 1
    # Spread over the grid as Target.grid does.
    z = max((tiles + plane - 1) // plane, 1)
    y = max((tiles + width * z - 1) // (width * z), 1)
    if idx[0] == 0:
        sizes[0] = (tiles + y * z - 1) // (y * z)
        sizes[1] = y
        sizes[2] = z
        if domain_at >= 0:
            words[domain_at] = n
        if tiles_at >= 0:
            words[tiles_at] = tiles


def steps_of(
    view: accelerator_view | None, domain: indirect, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> list[PreparedLaunch]:
    """The launches that are one indirect launch, for a capture or to be run: two, or one that waits for its size."""
    most = exact_domain(domain, domain.at_most)
    prepared = prepare(view, most, kernel, args, constants, size=domain.count)
    if not queue_of(prepared.view).takes_sizes or (prepared.override is not None and _sized_words(prepared)):
        return [replace(prepared, indirect=IndirectSize(domain))]
    if _sized_words(prepared):
        prepared = with_words_in_memory(prepared)
    shader = prepared.executable.shader
    words = sum(word.size for word in shader.push) // 4
    sizes, memory = (array(extent(n), np.uint32, accelerator_view=prepared.view) for n in (3, max(words, 1)))
    size = IndirectSize(domain, sizes, memory if shader.push_binding is not None else None)
    numbers = _numbers(prepared, domain.at_most, shader)
    first = prepare(prepared.view, Domain((1,)), size_launch, (domain.count, sizes, memory, *numbers), {})
    return [first, replace(prepared, indirect=size)]


def now(prepared: PreparedLaunch) -> PreparedLaunch | None:
    """A launch that waits for its size, with the size that it has now; ``None`` for one without threads."""
    assert prepared.indirect is not None
    domain = domain_now(prepared.indirect.domain)
    # The program for the largest domain is right for any.
    return None if domain is None else replace(prepared, domain=domain, indirect=None)


def domain_now(domain: indirect) -> Domain | None:
    """The domain as it is now, for which the host waits; ``None`` if it is empty."""
    n = min(int(np.asarray(domain.count).reshape(-1)[0]), domain.at_most)
    return None if n < 1 else exact_domain(domain, n)


def _sized_words(prepared: PreparedLaunch) -> bool:
    """Whether a shader reads the size of its launch."""
    return any(word.kind in ("domain", "tiles") for word in prepared.executable.shader.push)


def _numbers(prepared: PreparedLaunch, most: int, shader: Shader) -> tuple[Any, ...]:
    """What :func:`size_launch` needs of a launch beside the count."""
    target, tile = prepared.target, prepared.domain.tile
    group, shift = math.prod(tile or target.group), 0
    if shader.pieces is not None:
        group = shader.local_size[0] * shader.pieces.count
        shift = shader.pieces.count - 1 if shader.pieces.shifted else 0
    width, height, _ = queue_of(prepared.view).info.limits.tile_count
    width = min(width, 2**31 - 1)
    plane = min(width * height, 2**31 - 1)
    at, places = 0, {"domain": -1, "tiles": -1}
    for word in shader.push:
        if word.kind in places:
            places[word.kind] = at
        at += word.size // 4
    return (*map(np.uint32, (most, group, shift, width, plane)), places["domain"], places["tiles"])
