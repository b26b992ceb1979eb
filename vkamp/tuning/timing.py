"""Times of candidates, and when one counts as faster.

A time is that of one call in a chain of captured calls, whose inputs rotate over more memory than the caches hold. It
is the sum of the times of the call's launches by the device's clock; these do not overlap. (Otherwise, calls with
separate results would run side by side on a large GPU, which favours blocks that leave most of it idle.) Calls that
cannot be captured, and devices without a clock, are timed by the host's clock: the difference between three chains and
one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.run.accelerators import info_of

#: The seconds of a chain, its smallest and largest number of calls, and the seconds of warm-up until clocks are up.
_CHAIN, _LEAST, _MOST, WARM = 0.01, 8, 64, 0.3
#: The bytes that inputs rotate over, twice the largest caches, and the largest number of sets of inputs.
_GPU_BYTES, _CPU_BYTES, _SETS = 160 << 20, 8 << 20, 16
#: How much faster a challenger must be in every round: as a fraction of the default's time, and as a multiple of the
#: spread of the times.
MARGIN, SPREAD = 0.03, 3.0
#: The number of rounds of a comparison.
ROUNDS = 5
#: After two rounds, candidates that are this many times slower than the best one are given up.
_HOPELESS = 1.5

K = TypeVar("K", bound=Hashable)


def sets_of(nbytes: int, view: amp.accelerator_view) -> int:
    """The number of sets of inputs of a size that rotate."""
    wanted = _CPU_BYTES if view.accelerator.is_emulated else _GPU_BYTES
    return max(1, min(_SETS, -(-wanted // max(nbytes, 1))))


class Chain:
    """Calls of one candidate, one after the other. ``calls``: the functions to call, used in turn."""

    def __init__(self, view: amp.accelerator_view, calls: Sequence[Callable[[], Any]], seconds: float) -> None:
        self.view = view
        least = 1 if view.accelerator.is_emulated else _LEAST
        self.count = max(least, min(_MOST, int(_CHAIN / max(seconds, 1e-7))))
        self._calls = [calls[k % len(calls)] for k in range(self.count)]
        self._kept: list[Any] = []
        info = info_of(view)
        self._has_clock = info is not None and info.tick_bits > 0 and not view.accelerator.is_emulated
        self._graph = self._captured()

    def _captured(self) -> amp.Graph | None:
        try:
            with amp.capture(self.view) as graph:
                self._kept = [call() for call in self._calls]
        except AmpError:
            # It waits for results between its launches.
            return None
        return graph if len(graph) else None

    def run(self) -> None:
        """Runs the chain, and waits."""
        if self._graph is not None:
            self._graph.replay()
        else:
            self._kept = [call() for call in self._calls]
        self.view.wait()

    def seconds(self) -> float:
        """The seconds of one call."""
        if self._graph is not None and self._has_clock:
            with amp.profile() as profile:
                self._graph.replay()
                self.view.wait()
            if profile.launches:
                return sum(each.seconds for each in profile.launches) / self.count

        def take(repetitions: int) -> float:
            started = time.perf_counter()
            for _ in range(repetitions):
                if self._graph is not None:
                    self._graph.replay()
                else:
                    self._kept = [call() for call in self._calls]
            self.view.wait()
            return time.perf_counter() - started

        few, many = take(1), take(3)
        return max((many - few) / (2 * self.count), 1e-9)


def warm(chain: Chain, seconds: float = WARM) -> None:
    """Runs a chain until the device's clocks are up; once on CPU drivers, which compile in the first run."""
    chain.run()
    if chain.view.accelerator.is_emulated:
        return
    began, last = time.perf_counter(), float("inf")
    while True:
        for _ in range(4):
            chain.run()
        now = chain.seconds()
        spent = time.perf_counter() - began
        if (spent > seconds and now > 0.98 * last) or spent > 4 * seconds:
            return
        last = now


def spread(samples: Sequence[float]) -> float:
    """The median distance from the median."""
    middle = statistics.median(samples)
    return statistics.median([abs(each - middle) for each in samples])


def is_faster(default: Sequence[float], challenger: Sequence[float]) -> bool:
    """Whether a challenger was faster in every round, by more than 3 % and by more than three times the spread."""
    noise = SPREAD * max(spread(default), spread(challenger))
    return all(one - other > max(MARGIN * one, noise) for one, other in zip(default, challenger, strict=True))


def contest(
    default: K,
    challengers: Iterable[K],
    measure: Callable[[K], float],
    is_over: Callable[[], bool] = lambda: False,
    seen: Callable[[K, float], None] = lambda candidate, seconds: None,
) -> tuple[K, dict[K, list[float]]]:
    """The fastest candidate, and the times of all, in rounds that measure each candidate once.

    A candidate replaces the default only if it is faster in every round, and then again in the same number of rounds of
    the two alone: the minimum of many noisy times is too small.
    """
    alive = list(dict.fromkeys([default, *challengers]))
    times: dict[K, list[float]] = {each: [] for each in alive}
    for number in range(ROUNDS):
        for each in alive if number % 2 == 0 else reversed(alive):
            times[each].append(measure(each))
            seen(each, times[each][-1])
        if number == 1:
            best = min(min(found) for found in times.values())
            alive = [each for each in alive if each == default or min(times[each]) <= _HOPELESS * best]
        if number >= 2 and is_over():
            break
    rounds = len(times[default])
    beaten = [
        each
        for each in alive
        if each != default and rounds >= 3 and len(times[each]) == rounds and is_faster(times[default], times[each])
    ]
    for each in sorted(beaten, key=lambda candidate: statistics.median(times[candidate]))[:3]:
        pairs = [(measure(default), measure(each)) for _ in range(ROUNDS)]
        if is_faster([one for one, _ in pairs], [other for _, other in pairs]):
            return each, times
    return default, times
