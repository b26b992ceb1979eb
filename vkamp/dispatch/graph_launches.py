"""What a graph does with launches: loaded with the first capture, since it comes with the launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vkamp.artifacts import Domain
from vkamp.dispatch import watching
from vkamp.dispatch.bound_launch import BoundLaunch, bound_descriptors, check_extents, launch_words, make_dispatch
from vkamp.dispatch.copying import copy_elements, pairs
from vkamp.dispatch.indirect_launches import now, steps_of
from vkamp.dispatch.preparing import PreparedLaunch, prepare, prepare_again
from vkamp.dispatch.running import is_checked, on_demand, run, run_checked
from vkamp.dispatch.targets import target_view
from vkamp.errors import AmpError
from vkamp.findings import Report
from vkamp.lang.binding import Use
from vkamp.lang.container import Container, bindable, use_of
from vkamp.lang.indirect import indirect
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.engine import Dispatch, Recording
from vkamp.run.late_programs import may_be_late


class GraphLaunches(BoundLaunch):
    """The launches of a graph, in their order, which use their containers together."""

    why = "a graph uses them"
    recording: Recording

    def __init__(self, view: accelerator_view) -> None:
        self.used: dict[int, Use] = {}
        super().__init__(view, [], apart=False)
        self.steps: list[PreparedLaunch] = []
        #: Whether the host must look at the size of some of them before they are enqueued.
        self.waits = False
        #: Whether the host has to look at nothing.
        self.is_plain = True

    def add(self, prepared: PreparedLaunch) -> None:
        """Adds a launch; AmpError for one that would work on copies of elements, or on too small containers."""
        check_extents(prepared)
        for each in prepared.uses:
            placed = prepared.arguments.placements.get(each.name)
            if placed is not None and placed.packed:
                raise AmpError(
                    f"the elements of `{each.name}` are not a whole number of elements apart, so that every launch "
                    "would work on a copy of them, and no capture can: copy it to an array first"
                )
        fresh = [use_of(each.container, self.view, reads=each.reads, writes=each.writes) for each in prepared.uses]
        for new in fresh:
            known = self.used.setdefault(id(new.bindable), new)
            known.reads |= new.reads
            known.writes |= new.writes
        if may_be_late() and prepared.indirect is None and not prepared.target.reference:
            queue_of(self.view).program(prepared.executable)
        self.steps.append(prepared)
        self.waits |= prepared.waits
        self.is_plain = not self.waits and not prepared.target.reference
        self.uses = list(self.used.values())
        self.apart |= prepared.runs_apart

    def discard(self, container: Container) -> None:
        """From here on the container's contents are worthless, where no launch before has used them."""
        elements = bindable(container)
        if not any(each.bindable.shares(elements) for each in self.uses):
            self.used[id(elements)] = Use(elements, discards=True)
            self.uses = list(self.used.values())

    def replay(self) -> None:
        """Runs them all."""
        if self.is_plain and not is_checked():
            self.submit()
        elif is_checked():
            self._discard()
            for step in self.steps:
                self._run_one(step, run_checked)
        elif self.waits:
            self._discard()
            for step in self.steps:
                self._run_one(step, run)
        else:
            self._discard()
            # The reference accelerator looks at the host's memory at each launch.
            watching.refuse_stale(self.steps)
            self.submit()
            watching.look(self.steps)

    def check(self) -> list[Report]:
        """Runs each launch once, checked; what was found."""
        reports: list[Report] = []
        self._discard()
        for step in self.steps:
            self._run_one(step, lambda prepared: reports.append(on_demand().report_of(prepared)))
        return reports

    @staticmethod
    def _run_one(step: PreparedLaunch, run: Callable[[PreparedLaunch], object]) -> None:
        """Runs a single launch; an indirect one when its size is known."""
        found: PreparedLaunch | None = prepare_again(step)
        if found is not None and found.indirect is not None:
            found = now(found)
        if found is not None:
            run(found)

    def _discard(self) -> None:
        for each in self.uses:
            if each.discards:
                each.bindable.discard()

    def _bind(self) -> Callable[[], None]:
        steps = [prepare_again(step) for step in self.steps]
        self.recording = queue_of(self.view).record([self._dispatch(step) for step in steps])
        self.steps, self._enqueue = steps, self.recording.replay
        return self._enqueue

    def _dispatch(self, step: PreparedLaunch) -> Dispatch:
        descriptors = bound_descriptors(step, [self.used[id(bindable(each.container))] for each in step.uses])
        layout, words = launch_words(step, step.executable, descriptors, step.arguments.scalars)
        return make_dispatch(step, step.executable, descriptors, layout.pack(*words))


def prepared_launches(
    view: accelerator_view | None,
    domain: Domain | indirect,
    kernel: Any,
    args: tuple[Any, ...],
    constants: dict[str, Any],
) -> list[PreparedLaunch]:
    """A launch as the launches that a graph runs for it."""
    if isinstance(domain, indirect):
        return steps_of(view, domain, kernel, args, constants)
    return [prepare(view, domain, kernel, args, constants)]


def prepared_copies(view: accelerator_view | None, src: Container, dest: Container) -> Iterable[PreparedLaunch]:
    """A copy between containers of the same shape and type, as launches."""
    view = target_view(view, {"the source": src, "the destination": dest})
    for source, target in pairs(view, src, dest):
        yield prepare(view, Domain(tuple(source.extent)), copy_elements, (source, target), {})
