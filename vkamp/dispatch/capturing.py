"""``amp.capture()``: launches and copies that are recorded, to be run together again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from vkamp.errors import AmpError
from vkamp.lang import capturing
from vkamp.lang.container import Container
from vkamp.run.accelerators import accelerator, accelerator_view
from vkamp.tracebacks import contextmanager, entry_point

if TYPE_CHECKING:
    from vkamp.artifacts import Domain
    from vkamp.dispatch.graph_launches import GraphLaunches
    from vkamp.dispatch.preparing import PreparedLaunch
    from vkamp.findings import Report
    from vkamp.lang.indirect import indirect


def _load() -> ModuleType:
    """The launches themselves, loaded with the first capture: they come with the compiler's doors."""
    from vkamp.dispatch import graph_launches

    return graph_launches


@entry_point
class Graph:
    """Launches and copies on one accelerator_view, recorded by ``amp.capture()``, to be run together any number of
    times.

    ``graph.replay()``, or ``graph()``, runs them in their order; it is asynchronous, as a launch is, and much cheaper
    than its launches one by one.  A replay takes the containers as they are then: what the host has changed is uploaded
    before, and host accesses to what the graph writes wait for it.  Numbers, constants, domains and what the kernels
    captured stay what they were.  The graph keeps its containers alive.  ``len(graph)`` counts launches, and copies as
    one each (two where source and destination overlap).

    Replays may come from any thread; they run one after the other.
    """

    def __init__(self, view: accelerator_view | None) -> None:
        self._view = view
        self._lock = threading.RLock()
        self._launches: GraphLaunches | None = None
        #: What was discarded before the first launch, which says where the graph runs.
        self._discarded: list[Container] = []
        self._state = "open"

    # -- while it is captured

    @property
    def is_open(self) -> bool:
        """Whether the capture still goes on."""
        return self._state == "open"

    def launch(
        self,
        view: accelerator_view | None,
        domain: Domain | indirect,
        kernel: Any,
        args: tuple[Any, ...],
        constants: dict[str, Any],
    ) -> None:
        """Records a launch; raises what the launch would raise before it runs."""
        if view is None or view.is_auto_selection:
            view = self._view
        for prepared in _load().prepared_launches(view, domain, kernel, args, constants):
            self.add(prepared)

    def copy(self, src: Container, dest: Container) -> None:
        """Records a copy between containers of the same shape and type."""
        for prepared in _load().prepared_copies(self._view, src, dest):
            self.add(prepared)

    def add(self, prepared: PreparedLaunch) -> None:
        """Records a launch that has been prepared."""
        if self._view is not None and self._view != prepared.view:
            raise AmpError(
                f"this capture records launches on {self._view!r}, but the launch would run on {prepared.view!r}: a "
                "graph has one accelerator_view"
            )
        with self._lock:
            launches = self._launches or _load().GraphLaunches(prepared.view)
            if self._launches is None:
                for container in self._discarded:
                    launches.discard(container)
            launches.add(prepared)
            self._view, self._launches = prepared.view, launches

    def discard(self, container: Container) -> None:
        """Records that a container's contents are worthless: it matters where nothing before has used them."""
        with self._lock:
            if self._launches is None:
                self._discarded.append(container)
            else:
                self._launches.discard(container)

    def _end(self, *, well: bool) -> None:
        """Ends the capture; after an exception nothing of it is left."""
        with self._lock:
            self._state = "ready" if well else "failed"
            self._discarded.clear()
            if not well:
                self._launches = None

    # -- afterwards

    @property
    def accelerator_view(self) -> accelerator_view | None:
        """The accelerator_view on which it runs; None if nothing was captured and none was given."""
        return self._view

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def _steps(self) -> list[PreparedLaunch]:
        return [] if self._launches is None else self._launches.steps

    def __repr__(self) -> str:
        names = [step.compiled.name for step in self._steps]
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        where = "no accelerator_view" if self._view is None else self._view.accelerator.device_path
        kind = {"open": "is being captured", "failed": "failed"}.get(
            self._state, f"{len(names)} launch{'' if len(names) == 1 else 'es'}"
        )
        return f"<Graph on {where}, {kind}{': ' if shown else ''}{shown}>"

    def replay(self) -> None:
        """Runs what was captured, after everything launched before; does not wait for it.

        With ``VKAMP_CHECK=1`` each launch is checked and waited for.  Raises ``AmpError`` inside a capture, and for a
        graph whose capture has not ended or has failed; ``OutOfMemoryError``, and then nothing has run.
        """
        if self._state != "ready" or capturing.recorder() is not None:
            self._refuse()
        with self._lock:
            if self._launches is not None:
                self._launches.replay()

    __call__ = replay

    def _refuse(self) -> None:
        """Raises why it cannot be replayed now."""
        capturing.refuse("replay() of", self)
        if self._state == "open":
            raise AmpError("the capture of this graph has not ended: replay it after its with block")
        raise AmpError("the capture of this graph ended with an exception, and nothing was recorded")

    def check(self) -> list[Report]:
        """Runs what was captured once, each launch checked and waited for, as ``amp.check`` does; the reports in order.

        Raises what :meth:`replay` raises, nothing for what it finds.
        """
        capturing.refuse("check() of", self)
        if self._state != "ready":
            raise AmpError("this graph cannot be checked: its capture has not ended, or has failed")
        with self._lock:
            return [] if self._launches is None else self._launches.check()


@contextmanager
def capture(view: accelerator_view | accelerator | None = None, /) -> Iterator[Graph]:
    """Records launches and copies instead of running them, as a :class:`Graph` that runs them again and again.

    Used as ``with amp.capture() as graph:``.  Inside, ``parallel_for_each``, ``copy`` between containers and
    ``discard_data`` of this thread (or task) are recorded and have no effect; errors that a launch raises before it
    runs are raised at once.  All of it is of one accelerator_view: that given, or that of the first launch.

    Raises ``AmpError`` for what would act now: host accesses to containers, copies from and to the host's memory,
    ``synchronize``, ``refresh``, ``wait``, ``amp.check``, another capture.  If the block ends with an exception,
    nothing is recorded.
    """
    if capturing.recorder() is not None:
        raise AmpError("amp.capture() inside amp.capture(): captures cannot be nested")
    if view is not None and not isinstance(view, (accelerator_view, accelerator)):
        raise TypeError(f"capture takes an accelerator_view or an accelerator, not {type(view).__name__}")
    chosen = view.default_view if isinstance(view, accelerator) else view
    graph = Graph(None if chosen is None or chosen.is_auto_selection else chosen)
    token = capturing.begin(graph)
    well = False
    try:
        yield graph
        well = True
    finally:
        graph._end(well=well)
        capturing.end(token)
