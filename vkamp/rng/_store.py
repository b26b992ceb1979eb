"""Storing random numbers: in a new array or in ``out``, four elements for each thread, or on GPUs four times four."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import in_a_row, output, place
from vkamp.algorithms._outputs import Output, output_of
from vkamp.dispatch.call_cache import repeats
from vkamp.dispatch.call_keys import Moving, Same
from vkamp.rng._sources import SOURCES, take
from vkamp.rng._words import are_near

#: The groups of four elements of a thread on GPUs, and the threads of a tile.
_GROUPS, _THREADS = 4, 256


@amp.kernel(precise=True)
def _store_four(idx, source, out, n):
    k = idx[0]
    a, b, c, d = source.four(k)
    if 4 * k + 3 < n:
        out.store_four(k, a, b, c, d)
    else:
        out.store(4 * k, a)
        if 4 * k + 1 < n:
            out.store(4 * k + 1, b)
        if 4 * k + 2 < n:
            out.store(4 * k + 2, c)


@amp.kernel(precise=True)
def _store_groups(t_idx, source, out, n, quads, *, is_whole: amp.constant, has_rest: amp.constant):
    """Four elements of each group of a tile: what all groups of a stream need is computed once for a thread.

    ``is_whole``: all tiles have all their elements; ``has_rest``: the last elements are fewer than four.
    """
    begin = t_idx.tile[0] * (_GROUPS * _THREADS) + t_idx.local[0]
    for group in amp.static_range(_GROUPS):
        k = begin + group * _THREADS
        if is_whole or k < quads:
            a, b, c, d = source.four(k)
            out.store_four(k, a, b, c, d)
        elif has_rest and k == quads:
            for i in range(4 * k, n):
                out.store(i, source.value(i))


def _has_retries(source: Any) -> bool:
    """Whether numbers may be rejected, for which kernels have loops."""
    return hasattr(source, "retries") or (hasattr(source, "a") and _has_retries(source.a))


def _store(view: amp.accelerator_view, source: lazy.Lazy, out: Output, n: int) -> None:
    if _choose.form_of(view) == "runs" or _has_retries(source):
        amp.parallel_for_each(view, amp.extent(-(-n // 4)), _store_four, source, out, n)
        return
    tiles = -(-n // (4 * _GROUPS * _THREADS))
    amp.parallel_for_each(
        view, amp.extent(tiles * _THREADS).tile(_THREADS), _store_groups, source, out, n, n // 4,
        is_whole=n % (4 * _GROUPS * _THREADS) == 0, has_rest=n % 4 != 0,
    )  # fmt: skip


def shape_of(size: Any) -> tuple[int, ...]:
    """A size as a shape; for ``None``, that of one element."""
    if size is None:
        return (1,)
    return tuple(operator.index(each) for each in (size if isinstance(size, (tuple, list)) else (size,)))


def elements(size: Any) -> int:
    """The number of elements of a size."""
    return math.prod(shape_of(size))


def stored(
    bits: Any,
    name: str,
    each: int,
    parameters: tuple[Any, ...],
    size: Any,
    dtype: np.dtype[Any],
    out: Any,
    accelerator_view: amp.accelerator_view | None,
) -> Any:
    """The next numbers of a distribution, in ``out`` or in a new array; a Python number if both ``size`` and ``out``
    are ``None``.

    ``name``, ``each``, ``parameters``: the function among ``SOURCES``, the words that an element takes, and the
    parameters of the distribution. Elements of 64 bits may be pairs of words.
    """
    if out is not None and not isinstance(out, (amp.array, amp.array_view)):
        out = amp.array_view(out)
    shape = shape_of(size if out is None else tuple(out.extent))
    if out is not None and size is not None and shape_of(size) != shape:
        raise amp.AmpError(f"size is {shape_of(size)}, but out has {out.extent!r}")
    if any(each < 0 for each in shape):
        raise ValueError(f"negative dimensions are not allowed: {shape}")
    n = math.prod(shape)
    if n == 0:
        return np.empty(shape, dtype)
    if out is not None and out.dtype != dtype:
        raise TypeError(f"out has {out.dtype} elements, but the numbers are {dtype}")
    view = place(accelerator_view, out)
    start = take(bits, name, n, each)
    # Parameters as text, which distinguishes 0.0 from -0.0.
    key: tuple[Any, ...] = (type(bits), bits.key, name, each, repr(parameters), dtype, shape, are_near(n * each, start))
    moving = Moving(bits.moving, bits.numbers_at(start), (bits, name, each, parameters, start, dtype, shape))
    result = _repeated(Same(key), moving, out, accelerator_view=view)
    return np.asarray(result)[0] if size is None and out is None else result


def _drawn(
    bits: Any, name: str, each: int, parameters: tuple[Any, ...], start: int, dtype: np.dtype[Any],
    shape: tuple[int, ...], out: Any, view: amp.accelerator_view,
) -> Any:  # fmt: skip
    """Computes the numbers of a draw."""
    result = output(out, shape, dtype, view)
    n = math.prod(shape)
    source = SOURCES[name](bits, n, start, each, *parameters)
    with in_a_row(result, view) as row:
        target = row if dtype.itemsize < 8 or source_is_whole(source) else row.reinterpret_as(amp.uint2)
        _store(view, source, output_of(target), n)
    return result


@repeats(_choose.forced_form)
def _repeated(same: Same, moving: Moving, out: Any, *, accelerator_view: amp.accelerator_view) -> Any:
    """Computes the numbers of a draw; if it is repeated, only launches again, with other words."""
    found: Any = _drawn(*(*moving.origin, out, accelerator_view))
    return found


def source_is_whole(source: lazy.Lazy) -> bool:
    """Whether a source computes elements of 64 bits as such, not as pairs of words."""
    return not getattr(source, "in_words", False)
