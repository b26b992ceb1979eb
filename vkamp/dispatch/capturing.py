"""``amp.capture()``: launches and copies that are recorded, to be run together again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vkamp.dispatch.residency import Use, acquire, mark_written
from vkamp.errors import AmpError
from vkamp.lang import capturing
from vkamp.lang.container import Container, Descriptor
from vkamp.lang.home import epoch
from vkamp.run.accelerators import accelerator, accelerator_view
from vkamp.run.engine import Recording
from vkamp.tracebacks import contextmanager, entry_point

if TYPE_CHECKING:
    from vkamp.dispatch.domain import Domain
    from vkamp.dispatch.launch import Prepared


class _Use(Use):
    """A container that the launches of a graph use, all together. ``discards``: what it holds before is worthless."""

    __slots__ = ("container", "discards")

    def __init__(self, container: Container, *, discards: bool) -> None:
        super().__init__()
        self.container = container
        self.discards = discards


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
        self._steps: list[Prepared] = []
        self._uses: dict[int, _Use] = {}
        self._recording: Recording | None = None
        self._epoch = -1
        self._state = "open"

    # -- while it is captured

    @property
    def is_open(self) -> bool:
        """Whether the capture still goes on."""
        return self._state == "open"

    def launch(
        self,
        view: accelerator_view | None,
        domain: Domain,
        kernel: Any,
        args: tuple[Any, ...],
        constants: dict[str, Any],
    ) -> None:
        """Records a launch; raises what the launch would raise before it runs."""
        from vkamp.dispatch.launch import prepare, used

        if view is None or view.is_auto_selection:
            view = self._view
        prepared = prepare(view, domain, kernel, args, constants)
        self._check_view(prepared.view)
        for name, container, _, _ in used(prepared):
            if not container._lies_in_steps(prepared.view):
                raise AmpError(
                    f"the elements of `{name}` are not a whole number of elements apart, so that every launch would "
                    "work on a copy of them, and no capture can: copy it to an array first"
                )
        with self._lock:
            self._view = prepared.view
            self._steps.append(prepared)
            for _, container, reads, writes in used(prepared):
                use = self._uses.setdefault(id(container), _Use(container, discards=False))
                use.reads |= reads
                use.writes |= writes

    def copy(self, src: Container, dest: Container) -> None:
        """Records a copy between containers of the same shape and type."""
        from vkamp.dispatch.copying import copy_elements, pairs
        from vkamp.dispatch.domain import Domain
        from vkamp.dispatch.targets import target_view

        view = target_view(self._view, {"the source": src, "the destination": dest})
        for source, target in pairs(view, src, dest):
            self.launch(view, Domain(tuple(source.extent), None), copy_elements, (source, target), {})

    def discard(self, container: Container) -> None:
        """Records that a container's contents are worthless: it matters where nothing before has used them."""
        with self._lock:
            if not any(use.container._shares(container) for use in self._uses.values()):
                self._uses[id(container)] = _Use(container, discards=True)

    def _check_view(self, view: accelerator_view) -> None:
        if self._view is not None and self._view != view:
            raise AmpError(
                f"this capture is of {self._view!r}, and the launch would run on {view!r}: a graph has one "
                "accelerator_view"
            )

    def _end(self, *, well: bool) -> None:
        """Ends the capture; after an exception nothing of it is left."""
        with self._lock:
            self._state = "ready" if well else "failed"
            if not well:
                self._steps.clear()
                self._uses.clear()

    # -- afterwards

    @property
    def accelerator_view(self) -> accelerator_view | None:
        """Where it runs; None if nothing was captured and no accelerator_view was given."""
        return self._view

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        names = [step.compiled.name for step in self._steps]
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        where = "no accelerator_view" if self._view is None else self._view.accelerator.device_path
        kind = {"open": "is being captured", "failed": "failed"}.get(self._state, f"{len(names)} launches")
        return f"<Graph on {where}, {kind}{': ' if shown else ''}{shown}>"

    def replay(self) -> None:
        """Runs what was captured, after everything launched before; does not wait for it.

        With ``VKAMP_CHECK=1`` each launch is checked and waited for.  Raises ``AmpError`` inside a capture, and for a
        graph whose capture has not ended or has failed; ``OutOfMemoryError``, and then nothing has run.
        """
        from vkamp.dispatch.launch import is_checked

        capturing.refuse("replay() of", self)
        if self._state == "open":
            raise AmpError("the capture of this graph has not ended: replay it after its with block")
        if self._state == "failed":
            raise AmpError("the capture of this graph ended with an exception, and nothing was recorded")
        if not self._steps:
            return
        with self._lock:
            if is_checked():
                self._run_checked()
            else:
                self._run()

    __call__ = replay

    def _run(self) -> None:
        view = self._view
        assert view is not None
        # The reference accelerator looks at the host's memory at each launch.
        is_looked_at = self._steps[0].target.reference
        if is_looked_at:
            self._refuse_stale()
        seen = epoch.now
        # Where nothing has moved since the last replay, nothing has to move for this one, or to be told of it.
        changed = [] if seen == self._epoch else self._changed()
        if changed or self._recording is None:
            self._bind(changed)
        assert self._recording is not None
        self._recording.replay()
        if changed:
            for use, home, version in mark_written(view, changed):
                use.home, use.version = home, version
        elif epoch.now == seen:
            self._epoch = seen
        else:
            mark_written(view, self._changed())  # the next replay looks again
        if is_looked_at:
            from vkamp.dispatch import watching

            for step in self._steps:
                watching.look(watching.used_views(step).values())

    def _refuse_stale(self) -> None:
        from vkamp.dispatch import watching

        self._discard()
        for step in self._steps:
            watching.refuse_stale(step.view, watching.used_views(step))

    def _discard(self) -> None:
        """What the capture says is worthless is so before each replay."""
        for use in self._uses.values():
            if use.discards:
                use.container._discard()

    def _changed(self) -> list[tuple[Use, Container]]:
        """The containers that somebody else has used since the last replay, or may have."""
        return [(use, use.container) for use in self._uses.values() if not use.is_current]

    def _bind(self, uses: list[tuple[Use, Container]]) -> None:
        """Makes these containers current on the device, and a new recording if they lie elsewhere now."""
        from vkamp.dispatch.launch import placed_again, runs_apart

        view = self._view
        assert view is not None
        for use, container in uses:
            if isinstance(use, _Use) and use.discards:
                container._discard()
        # None until it is certain that all of it still fits.
        recording, self._recording = self._recording, None
        used = [(use, each) for use, each in uses if use.reads or use.writes]
        if acquire(view, used, "a graph uses them", apart=any(map(runs_apart, self._steps))):
            self._recording = recording
        if self._recording is None:
            steps = [placed_again(step) for step in self._steps]
            self._recording = view._queue.record([self._dispatch(step) for step in steps])
            self._steps = steps

    def _dispatch(self, step: Prepared) -> Any:
        from vkamp.dispatch.launch import check_bound, dispatch_of, used

        descriptors: dict[str, Descriptor] = {}
        for name, container, _, _ in used(step):
            found = self._uses[id(container)].descriptor
            assert found is not None
            descriptors[name] = found
        check_bound(step, descriptors)
        return dispatch_of(step, descriptors).dispatch

    def _run_checked(self) -> None:
        from vkamp.dispatch import checking
        from vkamp.dispatch.launch import placed_again

        self._discard()
        for step in self._steps:
            checking.checked_launch(placed_again(step))


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
