"""Collects the events of the queues and turns them into a profile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from vkamp.errors import AmpError
from vkamp.profiling.records import Profile, ProfiledLaunch, ProfiledTransfer
from vkamp.run.accelerators import observe, stop_observing
from vkamp.run.engine import Queue, Sink, Timing, Transfer
from vkamp.tracebacks import contextmanager


class _QueueEvents:
    """The events of one queue."""

    def __init__(self, queue: Queue) -> None:
        info = queue.info
        self.accelerator = f"{info.name} @ kompute" if info.engine == "kompute" else info.name
        self.timings: list[Timing] = []
        self.transfers: list[Transfer] = []

    def take(self, event: Timing | Transfer) -> None:
        """A sink."""
        if isinstance(event, Timing):
            self.timings.append(event)
        else:
            self.transfers.append(event)

    def first(self) -> float:
        """When the host first used it."""
        return min([each.enqueued for each in self.timings] + [each.started for each in self.transfers])

    def clock(self) -> tuple[float, float]:
        """The offset from the device's clock to the host's, and by how much it may be too small.

        No launch began before it was submitted, and none ended after its end was detected.
        """
        least = max((each.submitted - each.started for each in self.timings), default=0.0)
        most = min((each.seen - each.started - each.seconds for each in self.timings), default=0.0)
        return least, max(0.0, most - least)


class _Collector:
    """Collects the events of all queues while a profile is recorded."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self._lock = threading.Lock()
        self._views: list[_QueueEvents] = []
        self._missed: list[str] = []

    def sink(self, queue: Queue) -> Sink:
        """The collector of the events of a queue."""
        with self._lock:
            self._views.append(_QueueEvents(queue))
            return self._views[-1].take

    def missed(self, queue: Queue, reason: AmpError) -> None:
        """Records that some or all events of a queue are not available."""
        text = str(reason) if queue.info.name in str(reason) else f"{queue.info.name}: {reason}"
        with self._lock:
            if text not in self._missed:
                self._missed.append(text)

    def finish(self, made: Profile) -> None:
        """Fills in the profile."""
        seconds = time.perf_counter() - self.began
        launches: list[ProfiledLaunch] = []
        transfers: list[ProfiledTransfer] = []
        uncertainty = 0.0
        used = sorted((view for view in self._views if view.timings or view.transfers), key=_QueueEvents.first)
        for number, view in enumerate(used, 1):
            offset, doubt = view.clock()
            uncertainty = max(uncertainty, doubt)
            launches += (self._launch(view, number, each, offset - self.began) for each in view.timings)
            transfers += (
                ProfiledTransfer(
                    each.direction,
                    each.nbytes,
                    view.accelerator,
                    number,
                    each.started - self.began,
                    each.finished - self.began,
                )
                for each in view.transfers
            )
        launches.sort(key=lambda each: each.started)
        transfers.sort(key=lambda each: each.started)
        made._end(seconds, tuple(launches), tuple(transfers), uncertainty, tuple(self._missed))

    def _launch(self, view: _QueueEvents, number: int, timing: Timing, offset: float) -> ProfiledLaunch:
        launch = timing.launch
        started = timing.started + offset
        return ProfiledLaunch(
            "(unnamed)" if launch is None else launch.kernel,
            () if launch is None else launch.domain,
            None if launch is None else launch.tile,
            view.accelerator,
            number,
            timing.enqueued - self.began,
            timing.submitted - self.began,
            started,
            started + timing.seconds,
            timing.seconds,
        )


@contextmanager
def profile() -> Iterator[Profile]:
    """Profiles the launches of all accelerator_views and threads: times on the device, bytes copied, gaps.

    ``with amp.profile() as p:`` creates a :class:`Profile`. The end of the block waits for everything that was launched
    in it; then ``print(p)`` shows a table, and ``p.save("trace.json")`` writes a trace for Perfetto.

    During a profile, launches do not overlap on the device, captured launches are recorded again, and the Kompute
    engine waits for each launch separately. The durations of launches are right, but the gaps between them are longer
    than without a profile. Raises ``AmpError`` inside another profile.
    """
    collector, made = _Collector(), Profile()
    observe(collector)
    try:
        yield made
    finally:
        try:
            stop_observing()
        finally:
            collector.finish(made)
