"""Tiles for longer lines on GPUs: threads keep all numbers in registers, and exchange real and imaginary parts
separately.

Between two stages, all threads store the real parts of their numbers in the tile's memory, load those of their next
numbers, and then do the same with the imaginary parts (N. K. Govindaraju et al., *High Performance Discrete Fourier
Transforms on Graphics Processors*, 2008). So a tile's memory has room for twice as many numbers, at the cost of two
more barriers.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import vkamp as amp
from vkamp.fft.butterflies import butterfly
from vkamp.fft.stages import address, factors, first_loaded, row_and_place, store


@amp.func
def _transformed(v, *, stage: amp.constant):
    """The numbers of a thread after its butterflies of a stage."""
    z = tuple(
        butterfly(v[b * stage.radix : (b + 1) * stage.radix], radix=stage.radix, tables=stage.tables)
        for b in range(stage.butterflies)
    )
    return tuple(z[j // stage.radix][j % stage.radix] for j in range(stage.butterflies * stage.radix))


@amp.func
def _put(memory, parts, local, *, shape: amp.constant, stage: amp.constant):
    """Stores the real or imaginary parts of the results of a stage."""
    for b in amp.static_range(stage.butterflies):
        row, place = row_and_place(local + b * shape.threads, shape=shape, stage=stage)
        k = place % stage.before
        to = (place - k) * stage.radix + k
        begin = address(row, to, shape=shape)
        for r in amp.static_range(stage.radix):
            if stage.stores > 0:
                memory[begin + r * stage.stores] = parts[b * stage.radix + r]
            else:
                memory[address(row, to + r * stage.before, shape=shape)] = parts[b * stage.radix + r]


@amp.func
def _one(memory, row, place, r, *, shape: amp.constant, stage: amp.constant):
    if stage.loads > 0:
        return memory[address(row, place, shape=shape) + r * stage.loads]
    return memory[address(row, place + r * (shape.n // stage.radix), shape=shape)]


@amp.func
def _taken(memory, local, b, *, shape: amp.constant, stage: amp.constant):
    """Loads the real or imaginary parts of the numbers of a butterfly."""
    row, place = row_and_place(local + b * shape.threads, shape=shape, stage=stage)
    return tuple(_one(memory, row, place, r, shape=shape, stage=stage) for r in range(stage.radix))


@amp.func
def _turned(v, table, local, b, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly times their twiddle factors."""
    _, place = row_and_place(local + b * shape.threads, shape=shape, stage=stage)
    w = factors(table, place % stage.before, shape=shape, stage=stage)
    return tuple(v[r] * w[r - 1] if r > 0 else v[r] for r in range(stage.radix))


@amp.func
def _all_taken(memory, local, *, shape: amp.constant, stage: amp.constant):
    parts = tuple(_taken(memory, local, b, shape=shape, stage=stage) for b in range(stage.butterflies))
    return tuple(parts[j // stage.radix][j % stage.radix] for j in range(stage.butterflies * stage.radix))


@amp.func
def _exchanged(
    t_idx, memory, z, table, local, *, shape: amp.constant, stage: amp.constant, following: amp.constant
):  # fmt: skip
    """A thread's numbers for the next stage, times their twiddle factors."""
    _put(memory, tuple(x.real for x in z), local, shape=shape, stage=stage)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    real = _all_taken(memory, local, shape=shape, stage=following)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _put(memory, tuple(x.imag for x in z), local, shape=shape, stage=stage)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    imag = _all_taken(memory, local, shape=shape, stage=following)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    v = tuple(shape.kind(x, y) for x, y in zip(real, imag, strict=True))
    if following.before == 1:
        return v
    turned = tuple(
        _turned(
            v[b * following.radix : (b + 1) * following.radix], table, local, b, shape=shape, stage=following
        )
        for b in range(following.butterflies)
    )  # fmt: skip
    return tuple(turned[j // following.radix][j % following.radix] for j in range(len(v)))


@amp.kernel
def parts_pass(t_idx, source, target, spectrum, twiddles, table, lines, *, shape: amp.constant, part: amp.constant):
    """Transforms ``rows`` lines."""
    memory = amp.tile_static(shape.rows * shape.width, part)
    first = amp.uint32(t_idx.tile[0]) * shape.rows
    local = amp.uint32(t_idx.local[0])
    loaded = tuple(
        first_loaded(
            source, twiddles, lines, first, local + b * shape.threads, True, shape=shape, stage=shape.stages[0]
        )
        for b in range(shape.stages[0].butterflies)
    )
    z = _transformed(
        tuple(
            loaded[j // shape.stages[0].radix][j % shape.stages[0].radix]
            for j in range(shape.stages[0].butterflies * shape.stages[0].radix)
        ),
        stage=shape.stages[0],
    )
    if shape.in_place:
        # A result may replace a number that another thread has loaded.
        t_idx.barrier.wait_with_all_memory_fence()
    for number in amp.static_range(len(shape.stages) - 1):
        z = _transformed(
            _exchanged(
                t_idx, memory, z, table, local,
                shape=shape, stage=shape.stages[number], following=shape.stages[number + 1],
            ),
            stage=shape.stages[number + 1],
        )  # fmt: skip
    last = shape.stages[len(shape.stages) - 1]
    for b in amp.static_range(last.butterflies):
        store(
            memory, target, spectrum, lines, z[b * last.radix : (b + 1) * last.radix], first,
            local + b * shape.threads, shape=shape, stage=last,
        )  # fmt: skip
