"""Random sequences of uses of trees of overlapping views, on several devices at once, against plain numpy.

    tools/coherence --count 10000 --seed 1

Each sequence makes a memory (numpy's, an ``array``, or a view's own), sections of it, sections of those, projections,
reinterpreted and strided views, and then does ``--length`` random things with them: reading and writing on the host,
launches on any device, copies, ``discard_data``, ``refresh``, ``synchronize``, dropping views, captures and their
replays, asynchronous copies, several threads at once, and pauses in which the queues' drivers work. ``truth`` holds
what every element's newest value is; after each step some view is read one way or another and must agree with it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

ROWS, COLUMNS = 9, 12
LENGTH = 200
#: Seconds that a sequence leaves the queues alone: less and more than the pauses of their drivers.
PAUSES = (0.0005, 0.0015, 0.005)
_PAGE = 4096

Values = NDArray[Any]


@amp.kernel
def _add1(idx, values, value):  # type: ignore[no-untyped-def]
    values[idx] += value


@amp.kernel
def _fill1(idx, values, value):  # type: ignore[no-untyped-def]
    values[idx] = value


@amp.kernel
def _combine(idx, target, source, value):  # type: ignore[no-untyped-def]
    target[idx] = source[idx] + value


def in_whole_pages(values: Values) -> Values:
    """The same in memory with the alignment at which a device can import it."""
    memory = np.empty(values.nbytes + 2 * _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE
    placed: Values = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    placed[...] = values
    return placed


class Sequence:
    """One sequence: its memory, its views, and the part of ``truth`` that each shows."""

    def __init__(self, seed: int, places: list[amp.accelerator_view]) -> None:
        self.rng = np.random.default_rng(seed)
        self.places = places
        self.truth = self.rng.integers(0, 1000, (ROWS, COLUMNS)).astype(np.int32)
        self.raw = in_whole_pages(self.truth)
        self.kind = str(self.rng.choice(["host", "array", "own"]))
        self.root: amp.array | amp.array_view | None
        if self.kind == "host":
            self.root = amp.array_view(self.raw)
        elif self.kind == "array":
            self.root = amp.array(amp.extent(ROWS, COLUMNS), data=self.raw, accelerator_view=self.place())
        else:
            self.root = amp.array_view(amp.extent(ROWS, COLUMNS), amp.int32)
            amp.copy(self.raw, self.root)
        self.views: list[tuple[amp.array_view, Values]] = []
        #: Captures, with the changes of a replay to the elements.
        self.graphs: list[tuple[amp.Graph, list[tuple[Values, int]]]] = []
        for _ in range(3):
            self.add_view()

    # -- choices

    def place(self) -> amp.accelerator_view:
        return self.places[int(self.rng.integers(len(self.places)))]

    def value(self) -> int:
        return int(self.rng.integers(0, 1000))

    def pick(self) -> tuple[amp.array_view, Values]:
        return self.views[int(self.rng.integers(len(self.views)))]

    def element(self, shown: Values) -> tuple[int, ...]:
        return tuple(int(self.rng.integers(n)) for n in shown.shape)

    # -- views

    def add_view(self) -> None:
        """One more view: of part of numpy's memory, of the whole, or of a part of another view."""
        how = self.rng.random()
        if self.kind == "host" and how < 0.3:
            rows = slice(int(self.rng.integers(0, 4)), None, int(self.rng.integers(1, 4)))
            columns = slice(int(self.rng.integers(0, 4)), None, int(self.rng.integers(1, 4)))
            flip = slice(None, None, int(self.rng.choice([-1, 1])))
            view, shown = amp.array_view(self.raw[rows, columns][flip]), self.truth[rows, columns][flip]
        elif how < 0.5 or not self.views:
            assert self.root is not None
            view, shown = amp.array_view(self.root), self.truth
        else:
            view, shown = self.pick()
        self.views.append(self.part(view, shown))

    def part(self, view: amp.array_view, shown: Values) -> tuple[amp.array_view, Values]:
        """A section or a slice, perhaps one row of it, perhaps as another type."""
        origin = [int(self.rng.integers(0, n)) for n in shown.shape]
        size = [int(self.rng.integers(1, n - o + 1)) for n, o in zip(shown.shape, origin, strict=True)]
        step = int(self.rng.integers(1, 4)) if self.rng.random() < 0.3 else 1
        box = tuple(slice(o, o + s, step) for o, s in zip(origin, size, strict=True))
        view = view[box] if step > 1 else view.section(origin, size)
        shown = shown[box]
        if view.rank == 2 and self.rng.random() < 0.3:
            row = int(self.rng.integers(shown.shape[0]))
            view, shown = view[row], shown[row]
        if view.rank == 1 and shown.strides[0] == 4 and self.rng.random() < 0.3:
            other = np.uint32 if shown.dtype == np.int32 else np.int32
            view, shown = view.reinterpret_as(other), shown.view(other)
        return view, shown

    # -- steps

    def step(self) -> None:
        """One random use."""
        actions: tuple[Callable[[amp.array_view, Values], None], ...] = (
            self.launch_add,
            self.launch_add,
            self.launch_part,
            self.launch_two,
            self.host_write,
            self.copy_in,
            self.copy_within,
            self.synchronize,
            self.synchronize_to,
            self.drop_or_add,
            self.owner_writes,
            self.discard,
            self.refresh,
            self.capture,
            self.replay,
            self.replay,
            self.copy_in_async,
            self.copy_out_async,
            self.together,
            self.pause,
            self.flush,
        )
        actions[int(self.rng.integers(len(actions)))](*self.pick())

    def launch_add(self, view: amp.array_view, shown: Values) -> None:
        value = self.value()
        amp.parallel_for_each(self.place(), view.extent, _add1, view, shown.dtype.type(value))
        shown += shown.dtype.type(value)

    def launch_part(self, view: amp.array_view, shown: Values) -> None:
        """A launch that writes only some of its captured containers."""
        value = shown.dtype.type(self.value())
        size = [int(self.rng.integers(1, n + 1)) for n in shown.shape]
        amp.parallel_for_each(self.place(), amp.extent(size), _fill1, view, value)
        shown[tuple(slice(n) for n in size)] = value

    def launch_two(self, view: amp.array_view, shown: Values) -> None:
        """A launch that reads one view and writes another that shares no element with it."""
        source, also = self.pick()
        fits = source.rank == view.rank and shown.dtype == also.dtype
        if not fits or np.shares_memory(shown, also):
            return
        size = [min(n, m) for n, m in zip(shown.shape, also.shape, strict=True)]
        value = shown.dtype.type(self.value())
        if self.rng.random() < 0.5:
            source = amp.array_view(source, readonly=True)
        amp.parallel_for_each(self.place(), amp.extent(size), _combine, view, source, value)
        box = tuple(slice(n) for n in size)
        shown[box] = also[box] + value

    def host_write(self, view: amp.array_view, shown: Values) -> None:
        where = self.element(shown)
        view[where] = shown[where] = shown.dtype.type(self.value())

    def copy_in(self, view: amp.array_view, shown: Values) -> None:
        values = self.rng.integers(0, 1000, shown.shape).astype(shown.dtype)
        amp.copy(values, view)
        shown[...] = values

    def copy_within(self, view: amp.array_view, shown: Values) -> None:
        target, also = self.pick()
        if shown.shape == also.shape and shown.dtype == also.dtype:
            amp.copy(view, target)
            also[...] = shown.copy()

    def synchronize(self, view: amp.array_view, shown: Values) -> None:
        view.synchronize()

    def synchronize_to(self, view: amp.array_view, shown: Values) -> None:
        view.synchronize_to(self.place(), amp.access_type(int(self.rng.integers(1, 4))))

    def drop_or_add(self, view: amp.array_view, shown: Values) -> None:
        if len(self.views) > 3 and self.rng.random() < 0.5:
            self.views.pop(int(self.rng.integers(len(self.views))))
        elif len(self.views) < 9:
            self.add_view()

    def owner_writes(self, view: amp.array_view, shown: Values) -> None:
        """numpy's memory is changed directly, as its owner may after ``synchronize``."""
        if self.kind != "host":
            return
        view.synchronize(amp.access_type_read_write)
        shown[...] = shown.dtype.type(self.value())
        with view._lease as home:
            view._host_elements(home)[...] = shown
        if self.rng.random() < 0.5:
            view.refresh()

    def discard(self, view: amp.array_view, shown: Values) -> None:
        value = shown.dtype.type(self.value())
        view.discard_data()
        amp.parallel_for_each(self.place(), view.extent, _fill1, view, value)
        shown[...] = value

    def refresh(self, view: amp.array_view, shown: Values) -> None:
        if self.kind == "host":
            view.synchronize()
        view.refresh()

    def capture(self, view: amp.array_view, shown: Values) -> None:
        """Records launches on some views, which a later step replays."""
        added = []
        with amp.capture(self.place()) as graph:
            for _ in range(int(self.rng.integers(1, 5))):
                value = self.value()
                amp.parallel_for_each(view.extent, _add1, view, shown.dtype.type(value))
                added.append((shown, value))
                view, shown = self.pick()
        self.graphs = [*self.graphs[-2:], (graph, added)]

    def replay(self, view: amp.array_view, shown: Values) -> None:
        if not self.graphs:
            return
        graph, added = self.graphs[int(self.rng.integers(len(self.graphs)))]
        for _ in range(int(self.rng.integers(1, 4))):
            graph.replay()
            for where, value in added:
                where += where.dtype.type(value)

    def copy_in_async(self, view: amp.array_view, shown: Values) -> None:
        values = self.rng.integers(0, 1000, shown.shape).astype(shown.dtype)
        future = amp.copy_async(values, view)
        self.pause(view, shown)
        future.get()
        shown[...] = values

    def copy_out_async(self, view: amp.array_view, shown: Values) -> None:
        got = np.zeros_like(shown)
        future = amp.copy_async(view, got) if self.rng.random() < 0.5 else view.synchronize_async()
        self.pause(view, shown)
        future.get()
        amp.copy(view, got)
        np.testing.assert_array_equal(got, shown)

    def together(self, view: amp.array_view, shown: Values) -> None:
        """Several threads simultaneously, on disjoint elements and any device."""
        chosen = [(view, shown)]
        for other, also in self.views:
            if len(chosen) < 3 and not any(np.shares_memory(also, one) for _, one in chosen):
                chosen.append((other, also))
        failures: list[BaseException] = []
        plans = [[(self.place(), self.value(), float(self.rng.random())) for _ in range(4)] for _ in chosen]

        def work(view: amp.array_view, shown: Values, plan: list[tuple[amp.accelerator_view, int, float]]) -> None:
            try:
                for place, value, how in plan:
                    amp.parallel_for_each(place, view.extent, _add1, view, shown.dtype.type(value))
                    shown += shown.dtype.type(value)
                    if how < 0.3:
                        np.testing.assert_array_equal(np.asarray(view), shown)
                    elif how < 0.6:
                        time.sleep(PAUSES[int(how * 10) - 3])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(*each, plan)) for each, plan in zip(chosen, plans, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def pause(self, view: amp.array_view, shown: Values) -> None:
        time.sleep(float(self.rng.choice(PAUSES)))

    def flush(self, view: amp.array_view, shown: Values) -> None:
        self.place().flush()

    # -- checks

    def check(self) -> None:
        """Reads some view in one of the ways there are."""
        view, shown = self.pick()
        how = int(self.rng.integers(6))
        if how == 0:
            got = np.asarray(view)
        elif how == 1:
            got = np.zeros_like(shown)
            amp.copy(view, got)
        elif how == 2:
            got = np.asarray(amp.array(view, accelerator_view=self.place()))
        elif how == 3:
            got = np.zeros_like(shown)
            target = amp.array_view(got)
            amp.parallel_for_each(self.place(), view.extent, _combine, target, view, shown.dtype.type(0))
            target.synchronize()
        else:
            where = self.element(shown)
            got, shown = np.asarray(view[where]), shown[where]
        np.testing.assert_array_equal(got, shown)

    def finish(self) -> None:
        """Everything agrees, and the end of the last view brings all home."""
        self.graphs.clear()
        for view, shown in self.views:
            np.testing.assert_array_equal(np.asarray(view), shown)
        np.testing.assert_array_equal(np.asarray(self.root), self.truth)
        if self.kind == "host":
            view = amp.array_view(self.raw)
            amp.parallel_for_each(self.place(), view.extent, _add1, view, np.int32(1))
            del view
            self.root = None
            self.views.clear()
            np.testing.assert_array_equal(self.raw, self.truth + 1)


def run(seed: int, places: list[amp.accelerator_view], length: int = LENGTH) -> None:
    """One sequence; AssertionError if anything differs."""
    sequence = Sequence(seed, places)
    for _ in range(length):
        sequence.step()
        sequence.check()
    sequence.finish()


def places_of(names: str) -> list[amp.accelerator_view]:
    """The default view of each named accelerator, and a further one of the first."""
    found = [amp.accelerator(name).default_view for name in names.split(",")]
    return [*found, found[0].accelerator.create_view()]


def _run_share(share: tuple[int, int, str, int]) -> list[str]:
    first, count, names, length = share
    places = places_of(names)
    failures = []
    for seed in range(first, first + count):
        try:
            run(seed, places, length)
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    return failures


def main() -> int:
    """Runs the sequences and reports those that differ."""
    parser = argparse.ArgumentParser(prog="tools/coherence", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="sequences (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed (default %(default)s)")
    parser.add_argument("--length", type=int, default=LENGTH, help="operations of each (default %(default)s)")
    parser.add_argument("--accelerators", default="swiftshader,llvmpipe", help="devices (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default %(default)s)")
    options = parser.parse_args()
    size = max(1, min(100, options.count // options.jobs))
    last = options.seed + options.count
    shares = [
        (first, min(size, last - first), options.accelerators, options.length)
        for first in range(options.seed, last, size)
    ]
    begin, failures, done = time.perf_counter(), list[str](), 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for share, failed in zip(shares, pool.imap(_run_share, shares), strict=True):
            failures += failed
            done += share[1]
            print(f"{done} sequences, {len(failures)} differ, {time.perf_counter() - begin:.0f} s", flush=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
