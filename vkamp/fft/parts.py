"""Tiles for longer lines on GPUs: threads keep all numbers in registers, and exchange real and imaginary parts
separately.

Between two stages, all threads store the real parts of their numbers in the tile's memory, load those of their next
numbers, and then do the same with the imaginary parts (N. K. Govindaraju et al., *High Performance Discrete Fourier
Transforms on Graphics Processors*, 2008). A tile's memory therefore has room for twice as many numbers, at the cost
of two more barriers. A thread's numbers all belong to one line.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import vkamp as amp
from vkamp.fft.butterflies import butterfly, unmixed
from vkamp.fft.stages import address, applied, factors, first_numbers


@amp.func
def _line_and_place(local, *, shape: amp.constant):
    """A thread's line in the tile, and the number of its first butterfly in the line."""
    if shape.rows == 1:
        return amp.uint32(0), local
    if shape.rows_first:
        place = local // shape.rows
        return local - place * shape.rows, place
    row = local // (shape.threads // shape.rows)
    return row, local - row * (shape.threads // shape.rows)


@amp.func
def _place(first, b, *, shape: amp.constant, stage: amp.constant, mirrored: amp.constant):
    """The number of a thread's butterfly ``b`` in the line.

    ``mirrored``: each two butterflies have the results of numbers ``k`` and ``n - k``. The exceptions are the
    butterflies 0 and the middle one, each of which has both.
    """
    if not mirrored:
        return first + b * (shape.threads // shape.rows)
    place = first + b // 2 * (shape.threads // shape.rows)
    if b % 2 == 0:
        return place
    steps = shape.n // stage.radix
    return steps - place if place > 0 else amp.uint32(steps // 2)


@amp.func
def _transformed(v, *, stage: amp.constant):
    """The numbers of a thread after its butterflies of a stage."""
    z = tuple(
        butterfly(v[b * stage.radix : (b + 1) * stage.radix], radix=stage.radix, tables=stage.tables)
        for b in range(stage.butterflies)
    )
    return tuple(z[j // stage.radix][j % stage.radix] for j in range(stage.butterflies * stage.radix))


@amp.func
def _put(memory, parts, row, first, *, shape: amp.constant, stage: amp.constant):
    """Stores the real or imaginary parts of the results of a stage."""
    for b in amp.static_range(stage.butterflies):
        place = _place(first, b, shape=shape, stage=stage, mirrored=False)
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
def _taken(memory, row, first, *, shape: amp.constant, stage: amp.constant, mirrored: amp.constant):
    """Loads the real or imaginary parts of a thread's numbers for a stage."""
    return tuple(
        _one(
            memory, row, _place(first, j // stage.radix, shape=shape, stage=stage, mirrored=mirrored), j % stage.radix,
            shape=shape, stage=stage,
        )
        for j in range(stage.butterflies * stage.radix)
    )  # fmt: skip


@amp.func
def _turned(v, table, place, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly times their twiddle factors."""
    return applied(v, factors(table, place % stage.before, shape=shape, stage=stage))


@amp.func
def _exchanged(
    t_idx, memory, z, table, row, first,
    *, shape: amp.constant, stage: amp.constant, following: amp.constant, is_end: amp.constant,
    mirrored: amp.constant,
):  # fmt: skip
    """A thread's numbers for the next stage, times their twiddle factors."""
    _put(memory, tuple(x.real for x in z), row, first, shape=shape, stage=stage)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    real = _taken(memory, row, first, shape=shape, stage=following, mirrored=mirrored)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _put(memory, tuple(x.imag for x in z), row, first, shape=shape, stage=stage)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    imag = _taken(memory, row, first, shape=shape, stage=following, mirrored=mirrored)
    if not is_end:
        t_idx.barrier.wait_with_tile_static_memory_fence()
    v = tuple(shape.kind(x, y) for x, y in zip(real, imag, strict=True))
    if following.before == 1 or shape.is_crossed:
        return v
    turned = tuple(
        _turned(
            v[b * following.radix : (b + 1) * following.radix], table,
            _place(first, b, shape=shape, stage=following, mirrored=mirrored), shape=shape, stage=following,
        )
        for b in range(following.butterflies)
    )  # fmt: skip
    return tuple(turned[j // following.radix][j % following.radix] for j in range(len(v)))


@amp.func
def _loaded(source, twiddles, lines, line, first, *, shape: amp.constant, stage: amp.constant):
    """A thread's numbers for the first stage, from memory."""
    plane, p, _, power = lines.place(line, n=shape.n)
    z = tuple(
        first_numbers(
            source, twiddles, lines, plane, p, power,
            _place(first, b, shape=shape, stage=stage, mirrored=False), shape=shape, stage=stage,
        )
        for b in range(stage.butterflies)
    )  # fmt: skip
    return tuple(z[j // stage.radix][j % stage.radix] for j in range(stage.butterflies * stage.radix))


@amp.func
def _all_loaded(source, twiddles, lines, line, first, *, shape: amp.constant, stage: amp.constant):
    """A thread's numbers for the first stage; zeros for threads without a line."""
    if shape.is_whole:
        return _loaded(source, twiddles, lines, line, first, shape=shape, stage=stage)
    v = tuple(shape.kind(0) for r in range(stage.butterflies * stage.radix))
    if line < lines.count:
        v = _loaded(source, twiddles, lines, line, first, shape=shape, stage=stage)
    return v


@amp.func
def _store(target, lines, line, z, first, *, shape: amp.constant, stage: amp.constant):
    """Stores a thread's results of the last stage in memory."""
    plane, _, begin, _ = lines.place(line, n=shape.n)
    apart, far = lines.stores(stage.before)
    for b in amp.static_range(stage.butterflies):
        at = begin + _place(first, b, shape=shape, stage=stage, mirrored=False) * apart
        for r in amp.static_range(stage.radix):
            target.store(plane, amp.int32(at + r * far), z[b * stage.radix + r])


@amp.func
def _store_two(target, halves, plane, begin, apart, k, z, mirrored, *, shape: amp.constant):
    """Stores the numbers ``k`` and ``n - k`` of a real line, given the transform of its pairs."""
    x, y = unmixed(z, mirrored, halves.values[amp.int32(k)])
    target.store(plane, amp.int32(begin + k * apart), x)
    target.store(plane, amp.int32(begin + (shape.n - k) * apart), y)


@amp.func
def _store_halves(target, halves, lines, line, z, first, *, shape: amp.constant, stage: amp.constant):
    """Stores the first half of the numbers of real lines.

    Each butterfly has the mirrored numbers of the next one, in reverse order. Those of the first thread's first two
    butterflies are in the same butterfly: the numbers of butterfly 0 up to its middle one, which is its own mirrored
    number as number 0 is, and then half of those of the other one.
    """
    plane, _, begin, _ = lines.place(line, n=shape.n)
    _, apart = lines.between()
    steps = shape.n // stage.radix
    for c in amp.static_range(stage.butterflies // 2):
        place = first + c * (shape.threads // shape.rows)
        u = z[2 * c * stage.radix : (2 * c + 1) * stage.radix]
        v = z[(2 * c + 1) * stage.radix : (2 * c + 2) * stage.radix]
        is_own = place == 0
        for r in amp.static_range(stage.radix):
            if c > 0:
                _store_two(
                    target, halves, plane, begin, apart, place + r * steps, u[r], v[stage.radix - 1 - r], shape=shape
                )
            elif 2 * r <= stage.radix:
                y = u[(stage.radix - r) % stage.radix] if is_own else v[stage.radix - 1 - r]
                _store_two(target, halves, plane, begin, apart, place + r * steps, u[r], y, shape=shape)
            else:
                x = v[r - stage.radix // 2 - 1] if is_own else u[r]
                y = v[stage.radix - r + stage.radix // 2] if is_own else v[stage.radix - 1 - r]
                own = steps // 2 + (r - stage.radix // 2 - 1) * steps
                k = amp.uint32(own) if is_own else place + r * steps
                _store_two(target, halves, plane, begin, apart, k, x, y, shape=shape)
    if first == 0:
        x = z[stage.radix + stage.radix // 2 - 1]
        y = z[stage.radix + stage.radix // 2]
        k = amp.uint32(steps // 2 + (stage.radix // 2 - 1) * steps)
        _store_two(target, halves, plane, begin, apart, k, x, y, shape=shape)


@amp.kernel
def parts_pass(t_idx, source, target, halves, twiddles, table, lines, *, shape: amp.constant, part: amp.constant):
    """Transforms ``rows`` lines."""
    memory = amp.tile_static(shape.rows * shape.width, part)
    row, first = _line_and_place(amp.uint32(t_idx.local[0]), shape=shape)
    line = amp.uint32(t_idx.tile[0]) * shape.rows + row
    z = _transformed(
        _all_loaded(source, twiddles, lines, line, first, shape=shape, stage=shape.stages[0]), stage=shape.stages[0]
    )
    if shape.in_place:
        # A result may replace a number that another thread has loaded.
        t_idx.barrier.wait_with_all_memory_fence()
    for number in amp.static_range(len(shape.stages) - 1):
        z = _transformed(
            _exchanged(
                t_idx, memory, z, table, row, first,
                shape=shape, stage=shape.stages[number], following=shape.stages[number + 1],
                is_end=number == len(shape.stages) - 2,
                mirrored=shape.is_half and number == len(shape.stages) - 2,
            ),
            stage=shape.stages[number + 1],
        )  # fmt: skip
    if shape.is_whole or line < lines.count:
        if shape.is_half:
            _store_halves(target, halves, lines, line, z, first, shape=shape, stage=shape.stages[len(shape.stages) - 1])
        else:
            _store(target, lines, line, z, first, shape=shape, stage=shape.stages[len(shape.stages) - 1])
