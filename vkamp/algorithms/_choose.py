"""Which form of an algorithm runs on a device, and how many pieces it has.

``runs`` is the form for CPU drivers and the reference accelerator. Each invocation works through one contiguous run of
elements, without barriers and ``tile_static`` memory, which are slow there. ``tiles`` is the form for GPUs: tiles of
threads, each on a block of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Literal, NamedTuple

import vkamp as amp

Form = Literal["runs", "tiles"]

#: lavapipe ends an invocation's loops after 65,535 iterations. This limits the elements of a run, and the number of
#: runs whose totals one invocation combines; it suffices for 2^31 elements.
LONGEST_RUN = 49_152
#: Below this many elements, one invocation does all the work.
_ALONE = 512
#: The threads and the bytes of ``tile_static`` memory that tiles need.
_THREADS, _BYTES = 256, 32 << 10
_forced: list[Form] = []


class Split(NamedTuple):
    """``pieces`` pieces of ``length`` elements; the last one may be shorter."""

    pieces: int
    length: int


def form_of(view: amp.accelerator_view) -> Form:
    """The form that a device uses: runs on CPU drivers and where tiles are too small."""
    if _forced:
        return _forced[-1]
    limits = view.accelerator.limits
    is_large = limits is not None and limits.tile_threads >= _THREADS and limits.shared_bytes >= _BYTES
    return "tiles" if is_large and not view.accelerator.is_emulated else "runs"


@contextmanager
def forced(form: Form) -> Iterator[None]:
    """Forces one form for every device, for tests and benchmarks."""
    _forced.append(form)
    try:
        yield
    finally:
        _forced.pop()


def forced_form() -> Form | None:
    """The form that is forced, if any."""
    return _forced[-1] if _forced else None


def allows(view: amp.accelerator_view, threads: int) -> bool:
    """Whether a device has tiles of so many threads."""
    limits = view.accelerator.limits
    return limits is None or limits.tile_threads >= threads


def ends_loops(view: amp.accelerator_view) -> bool:
    """Whether the driver ends an invocation's loops after a number of iterations that functions of users may exceed."""
    return "ends_loops" in view.accelerator.quirks


def least_threads(view: amp.accelerator_view) -> int:
    """A number of threads that keeps all processors of the host busy until the end: a few for each of their lanes."""
    return 4 * _lanes(view)


def _lanes(view: amp.accelerator_view) -> int:
    """The number of threads that run at a time: one for each lane of the host's processors."""
    limits = view.accelerator.limits
    if limits is None:
        return 1
    return (limits.compute_units or 1) * max(limits.subgroup_size, 4)


def runs(view: amp.accelerator_view, n: int, longest: int = LONGEST_RUN, line: int = 16) -> Split:
    """Divides ``n`` elements into runs: a few for each lane of the host's processors, each with at most about
    ``longest`` elements, and all but the last one with a multiple of ``line``, which is a multiple of 16.
    """
    if n <= min(_ALONE, longest):
        return Split(1, n)
    # Rounding adds up to two lines. Longer lines leave less for it.
    count = max(least_threads(view), -(-n // max(longest - 2 * (line - 16), line)))
    # The processors get equal numbers of runs.
    lanes = _lanes(view)
    count = -(-count // lanes) * lanes
    # Whole lines of the caches, so that elements are loaded four at a time; an odd number of them, because the runs of
    # neighbouring lanes would otherwise evict each other's cache lines.
    length = (-(-n // (count * line)) | 1) * line
    return Split(-(-n // length), length)


def parts(n: int, wanted: int, longest: int = LONGEST_RUN) -> Split:
    """Divides a line of ``n`` elements into about ``wanted`` parts, each short enough for one loop."""
    count = max(min(wanted, -(-n // _ALONE)), -(-n // longest))
    length = -(-n // count)
    return Split(-(-n // length), length)


def domain_of_runs(view: amp.accelerator_view, split: Split) -> amp.tiled_extent:
    """The domain with one thread for each run.

    Its tiles are as large as a subgroup, so that even few runs use all processors. Some threads may have no run.
    """
    limits = view.accelerator.limits
    return _padded(split.pieces, 1 if limits is None else limits.subgroup_size)


@lru_cache(maxsize=256)
def _padded(threads: int, tile: int) -> amp.tiled_extent:
    return amp.extent(threads).tile(tile).pad()


def blocks(n: int, step: int, most: int) -> Split:
    """Divides ``n`` elements into at most ``most`` blocks, whose length is a multiple of ``step``."""
    steps = -(-n // step)
    length = -(-steps // most) * step
    return Split(-(-n // length), length)
