"""Runs a kernel's threads one tile at a time, switching at barriers, in the order of a schedule.

C++ AMP's model: docs/conformance.md, sections 3, 9 and 12.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import Domain
from vkamp.errors import AmpError, CheckError, InvalidComputeDomainError, RaceError
from vkamp.findings import Report, unravel
from vkamp.ir import nodes as ir
from vkamp.ir.passes import required
from vkamp.ir.types import Array, int_range
from vkamp.progress import NOTHING, Activity, activity
from vkamp.sim.collect import Collected, CollectingArray, CollectingBuffer, CollectingShadow
from vkamp.sim.edges import EdgedFencedShadow, EdgedLaunchShadow, EdgedTileShadow, VectorClocks
from vkamp.sim.faults import FaultReporter, Grid, Site, Thread
from vkamp.sim.helpers import helpers
from vkamp.sim.memory import BufferMemory, KernelArray, MemoryRegion, bind
from vkamp.sim.output import Follow, LaunchOutput
from vkamp.sim.program import Mode, TranslatedProgram
from vkamp.sim.schedule import SWITCH, Orders, Schedule
from vkamp.sim.shadow import Clock, FencedShadow, LaunchShadow, Shadow, TileShadow
from vkamp.sim.subgroups import Meetings
from vkamp.sim.translate import translate
from vkamp.sim.uniform_asserts import UniformAsserts

#: The default size of a subgroup, which most discrete GPUs have.
SUBGROUP_SIZE = 32

#: Translated kernels by identity, since equal kernels may be at different lines.
_programs: OrderedDict[tuple[int, Mode], TranslatedProgram] = OrderedDict()
_KEPT = 64

#: The number of threads of an untiled kernel that run interleaved.
_GROUP = 64


def run(
    kernel: ir.Kernel,
    domain: tuple[int, ...],
    buffers: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, int | float | bool],
    *,
    seed: int | None = None,
    schedule: Schedule | None = None,
    races: bool = True,
    follow: Follow | None = None,
    subgroup_size: int = SUBGROUP_SIZE,
) -> bool:
    """Runs every thread of a launch on the calling thread and returns when all have ended.

    ``domain``: the extent, in elements, a multiple of the tile if there is one. ``buffers``: for each captured
    container a numpy array of its element type whose shape is its extent, possibly strided; they may overlap. They are
    changed in place. ``scalars``: the captured values. ``schedule``: the order of tiles and threads (default: in
    order); ``seed`` means a random schedule. ``races=False`` skips the search for data races, which doubles the speed.
    ``follow``: only this thread prints and stops at breakpoints; the result says whether the launch has it.
    ``subgroup_size``: the lanes of a subgroup.

    Raises :class:`~vkamp.errors.RaceError` for a data race, and :class:`~vkamp.errors.CheckError` for an index out of
    bounds, a read of memory that was not written, a divergent barrier, an integer division by zero, a shift out of
    range, an undefined conversion or a failed assertion; ``error_code`` is the kind, ``findings`` the details. The
    buffers then contain what was written so far. Raises ``InvalidComputeDomainError`` for a domain that does not fit
    the kernel, and ``AmpError`` for buffers or scalars that don't, before anything runs.
    """
    _check_domain(kernel, domain)
    launch = _Launch(kernel, domain, _schedule(schedule, seed), races, follow, None, subgroup_size)
    launch.run(buffers, scalars)
    return launch.output.followed is not None


def check(
    kernel: ir.Kernel,
    domain: tuple[int, ...],
    buffers: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, int | float | bool],
    *,
    seed: int | None = None,
    schedule: Schedule | None = None,
    follow: Follow | None = None,
    subgroup_size: int = SUBGROUP_SIZE,
) -> tuple[Report, bool]:
    """Like :func:`run`, but continues after findings, and returns all of them.

    Loads out of bounds and reads of memory that was not written give 0, as do divisions by 0, undefined conversions and
    shifts; stores out of bounds are omitted; a tile ends at a barrier that not all its threads reach. The findings do
    not depend on the schedule unless the kernel's control flow does. The second result says whether the launch has the
    thread to follow.
    """
    _check_domain(kernel, domain)
    collected = Collected()
    launch = _Launch(kernel, domain, _schedule(schedule, seed), True, follow, collected, subgroup_size)
    launch.run(buffers, scalars)
    report = Report(kernel.name, "reference", collected.findings, collected.not_covered)
    return report, launch.output.followed is not None


def _schedule(schedule: Schedule | None, seed: int | None) -> Schedule:
    if schedule is not None:
        return schedule
    return Schedule() if seed is None else Schedule("random", seed)


def _program(kernel: ir.Kernel, mode: Mode) -> TranslatedProgram:
    key = (id(kernel), mode)
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = required(
            "reference accelerator", kernel.name, kernel.span, lambda: translate(kernel, mode)
        )
        while len(_programs) > _KEPT:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(key)
    return program


def _check_domain(kernel: ir.Kernel, domain: tuple[int, ...]) -> None:
    if len(domain) != kernel.rank:
        raise InvalidComputeDomainError(f"{kernel.name} runs over a domain of rank {kernel.rank}, not {len(domain)}")
    Domain(domain, kernel.tile).check()


def _scalars(kernel: ir.Kernel, scalars: Mapping[str, int | float | bool]) -> dict[str, Any]:
    """The captured values by their names in the generated code."""
    names: dict[str, Any] = {}
    for param in kernel.scalars:
        if param.name not in scalars:
            raise AmpError(f"no value is given for {param.name}")
        value = scalars[param.name]
        name = f"_s_{param.name.replace(' ', '_')}"
        if param.type.kind == "float":
            names[name] = param.type.dtype.type(value)
        elif param.type.kind == "bool":
            names[name] = bool(value)
        else:
            low, high = int_range(param.type)
            if value != int(value) or not low <= value <= high:
                raise AmpError(f"{param.name} is {value}, which {param.type} cannot hold")
            names[name] = int(value)
    return names


def _unassigned(error: UnboundLocalError, program: TranslatedProgram) -> tuple[Thread, Site] | None:
    """The thread and the read that an unbound variable of the generated code represents."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    function = program.function_of(trace.tb_frame.f_code)
    if function is None:
        return None
    site = _unassigned_site(function, str(error).split("'")[1::2], trace.tb_lineno)
    return trace.tb_frame.f_locals["_t"], site


def _unassigned_site(function: ir.Function, names: Sequence[str], line: int) -> Site:
    """The read of a variable on a line."""
    for statement in function.body:
        for node in ir.walk(statement):
            if isinstance(node, ir.Local) and node.span.line == line and node.variable.name in names:
                return Site(node.span, node.variable.name)
    return Site(function.span, names[0] if names else "a variable")


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their names in the source, except names that the generated code could use."""
    return {name: value for name, value in values.items() if not name.startswith("_")}


# -- the scheduler ---------------------------------------------------------------------------------


class _Launch:
    """One launch: its memory, its threads, and their order."""

    def __init__(
        self,
        kernel: ir.Kernel,
        domain: tuple[int, ...],
        schedule: Schedule,
        races: bool,
        follow: Follow | None,
        collected: Collected | None,
        subgroup_size: int,
    ) -> None:
        self.grid = Grid(domain, kernel.tile)
        trace = follow is not None and follow.trace and follow.thread(self.grid) is not None
        self.program = _program(kernel, Mode(races, schedule.switches, trace))
        self.collected = collected
        collect = collected.add if collected is not None else None
        self.judge = FaultReporter(kernel, self.grid, self.program.sites, collect, self.program.unit)
        self.output = LaunchOutput(self.judge, kernel.name, follow)
        self.clock = Clock()
        self.edges = VectorClocks(len(self.program.sites)) if self.program.edged else None
        self.uniform = UniformAsserts(self.judge)
        self.orders = Orders(schedule)
        self.races = races
        self.arrays: list[KernelArray] = []
        self.global_shadows: list[Shadow] = []
        self.tile_shadows: list[Shadow] = []
        #: A thread of the running tile ended because of an invalid read, so no barrier can be reached by all threads.
        self.aborted = False
        #: Threads of the running tile that were switched out and can continue.
        self.ready: list[int] = []
        #: The subgroups of the running tile; an untiled kernel has none.
        self.threads = [Thread() for _ in range(self.grid.threads)]
        self.meetings = Meetings(self.program, self.judge, self.threads, subgroup_size)

    def run(self, buffers: Mapping[str, NDArray[Any]], scalars: Mapping[str, int | float | bool]) -> None:
        """Binds the memory and runs every thread."""
        kernel = self.program.kernel
        names: dict[str, Any] = {"__name__": f"vkamp kernel {kernel.name}", **self.program.constants}
        # Also under their source names, for a debugger; the generated code uses other names.
        names.update(_named(scalars))
        names.update(helpers(self.judge, self.clock, self.uniform, self.output))
        if self.edges is not None:
            names.update(_acquire=self.edges.acquire, _release=self.edges.release)
        if self.collected is not None:
            names["_private"] = partial(CollectingArray, unit=self.program.unit)
        names.update(_scalars(kernel, scalars))
        names.update(_subgroup_size=self.meetings.size, _subgroup_count=self.meetings.count)
        self._bind_buffers(names, buffers)
        self._bind_tile_statics(names)
        main = self._load(names)
        shown = self._shown()
        # Overflow and division by zero of floats have a defined result.
        with np.errstate(all="ignore"), self.output, shown:
            try:
                self._run(main, shown)
            except UnboundLocalError as error:
                found = _unassigned(error, self.program)
                if found is None:
                    raise
            else:
                return
        self.judge.unassigned(*found)

    # -- memory

    def _bind_buffers(self, names: dict[str, Any], buffers: Mapping[str, NDArray[Any]]) -> None:
        """Passes the containers to the generated code."""
        program = self.program
        kind = BufferMemory if self.collected is None else CollectingBuffer
        shadow = self._shadow_of_region if self.races else None
        bound, self.global_shadows = bind(program.kernel, buffers, program.written, self.judge, kind, shadow)
        for name, buffer in bound.items():
            names[f"_mem_{name}"] = buffer
            names.update(_named({name: buffer}))
            for letter in program.letters:
                names[f"_{letter}_{name}"] = buffer.typed(letter)
            for letter, judged in (("r", buffer.read), ("w", buffer.write), ("x", buffer.atomic)):
                names[f"_{letter}_{name}"] = judged
            names[f"_o_{name}"] = buffer.layout.offset
            for dim, extent in enumerate(buffer.layout.shape):
                names[f"_n{dim}_{name}"] = extent
                names[f"_p{dim}_{name}"] = buffer.layout.strides[dim]

    def _shadow_of_region(self, _: MemoryRegion) -> Shadow:
        clock = self.clock if self.program.split[0] else None
        if self.edges is not None:
            whole = EdgedLaunchShadow(self.judge).with_edges(self.edges)
            if not self.grid.tiled:
                return whole
            if clock is None:
                return EdgedTileShadow(self.judge, whole).with_edges(self.edges)
            return EdgedFencedShadow(self.judge, whole, clock, 0).with_edges(self.edges)
        if self.collected is not None:
            return CollectingShadow(self.judge, whole_launch=True, clock=clock, space=0)
        launch = LaunchShadow(self.judge)
        if not self.grid.tiled:
            return launch
        return TileShadow(self.judge, launch) if clock is None else FencedShadow(self.judge, launch, clock, 0)

    def _bind_tile_statics(self, names: dict[str, Any]) -> None:
        """Passes the tile_static arrays to the generated code."""
        for variable in self.program.kernel.tile_statics:
            assert isinstance(variable.type, Array)
            shadow = self._shadow_of_tile_static() if self.races else None
            if shadow is not None:
                self.tile_shadows.append(shadow)
            array = (KernelArray if self.collected is None else CollectingArray)(
                variable.type, shadow, self.program.unit
            )
            self.arrays.append(array)
            names[f"_ts_{variable.name}"] = array
            names.update(_named({variable.name: array}))

    def _shadow_of_tile_static(self) -> Shadow:
        clock = self.clock if self.program.split[1] else None
        if self.collected is not None:
            return CollectingShadow(self.judge, whole_launch=False, clock=clock, space=1)
        return TileShadow(self.judge, None) if clock is None else FencedShadow(self.judge, None, clock, 1)

    def _load(self, names: dict[str, Any]) -> Callable[[Thread], Any]:
        """Defines the functions with these names in scope, and returns that of the kernel."""
        for name, code in self.program.codes:
            defined: dict[str, Any] = {}
            exec(code, names, defined)
            (names[name],) = defined.values()
        main: Callable[[Thread], Any] = names["_kernel"]
        return main

    # -- threads

    def _shown(self) -> Activity:
        """The progress shown in a terminal, unless the kernel itself uses the terminal."""
        if self.program.speaks or self.output.follow is not None:
            return NOTHING
        return activity(f"running {self.program.kernel.name} on the reference accelerator")

    def _run(self, main: Callable[[Thread], Any], shown: Activity) -> None:
        """Runs every thread."""
        if self.grid.tile is None:
            self._run_untiled(main, shown)
            return
        threads = self.threads
        locals_ = list(itertools.product(*map(range, self.grid.tile)))
        for number in shown.counted(self.orders.tiles(self.grid.count)):
            self._enter_tile(number, threads, locals_)
            self._run_group(main, threads)

    def _run_untiled(self, main: Callable[[Thread], Any], shown: Activity) -> None:
        """Runs every thread separately, since nothing orders threads of an untiled kernel."""
        if self.program.waits:
            threads = [Thread() for _ in range(_GROUP)]
            numbers = self.orders.tiles(self.grid.count)
            for start in shown.counted(range(0, len(numbers), _GROUP)):
                some = numbers[start : start + _GROUP]
                self._run_group(main, [self._enter(t, n) for t, n in zip(threads, some, strict=False)])
            return
        thread = Thread()
        step = partial(main, thread)
        for number in shown.counted(self.orders.tiles(self.grid.count)):
            self._enter(thread, number)
            self._step(step)

    def _enter(self, thread: Thread, number: int) -> Thread:
        thread.number = thread.tile_number = number
        thread.base = number * len(self.judge.sites)
        thread.global_ = unravel(number, self.grid.domain)
        return thread

    def _enter_tile(self, number: int, threads: list[Thread], locals_: list[tuple[int, ...]]) -> None:
        assert self.grid.tile is not None
        first = self.grid.thread(number * len(threads))
        origin, tile = first.global_, first.tile or ()
        for i, (thread, local) in enumerate(zip(threads, locals_, strict=True)):
            thread.number = number * len(threads) + i
            thread.base = thread.number * len(self.judge.sites)
            thread.tile_number = number
            thread.tile, thread.origin, thread.local = tile, origin, local
            thread.global_ = tuple(map(sum, zip(origin, local, strict=True)))
        self.clock.restart(threads)
        self.uniform.forget()
        self.aborted = False
        for array in self.arrays:
            array.forget()
        for shadow in (*self.global_shadows, *self.tile_shadows):
            shadow.clear()

    def _run_group(self, main: Callable[[Thread], Any], threads: list[Thread]) -> None:
        """Runs the threads of a tile from barrier to barrier, or some threads of an untiled kernel."""
        if not self.program.waits:
            self._run_interval([partial(main, thread) for thread in threads])
            return
        running: list[Generator[int, None, None]] = [main(thread) for thread in threads]
        steps = [partial(next, thread, None) for thread in running]
        while waiting := self._run_interval(steps):
            if not self._pass_barrier(threads, waiting):
                return

    def _run_interval(self, steps: Sequence[Callable[[], int | None]]) -> dict[int, int]:
        """Runs each thread of a tile up to its next barrier, and returns the sites where threads wait. A thread that
        reads memory that was not written may be ahead of the thread that writes it. The other threads continue then,
        and the race between the two is reported.
        """
        waiting: dict[int, int] = {}
        unset: CheckError | None = None
        for i in self._going(len(steps)):
            try:
                site = self._step(steps[i])
            except CheckError as error:
                if isinstance(error, RaceError) or (unset is None and error.error_code != "uninitialised"):
                    raise
                unset = unset or error
                continue
            if site == SWITCH:
                self.ready.append(i)
            elif site in self.program.meetings:
                self.ready.extend(self.meetings.arrive(i, site))
            elif site is not None:
                waiting[i] = site
        if unset is not None:
            raise unset
        self.judge.end_of_interval()
        waiting.update(self.meetings.stuck())
        return waiting

    def _going(self, count: int) -> Iterator[int]:
        """The threads in the order in which they continue; threads that were switched out appear again."""
        if not self.program.switched:
            yield from self.orders.threads(count)
            return
        self.ready = [*self.orders.threads(count)]
        while self.ready:
            yield self.orders.next(self.ready)

    def _step(self, step: Callable[[], int | None]) -> int | None:
        """Runs a thread until it waits. Returns the site, or ``None`` if the thread has ended."""
        if self.collected is None:
            return step()
        try:
            return step()
        except UnboundLocalError as error:
            found = _unassigned(error, self.program)
            if found is None:
                raise
            self.judge.unassigned(*found)
            self.aborted = True
            return None

    def _miss_a_meeting(self, threads: list[Thread], stuck: dict[int, int]) -> None:
        """Ends the tile: threads have reached subgroup functions, but others of their subgroups have not."""
        first = min(stuck)
        if not self.aborted:
            other = threads[self.meetings.missing(first, stuck)]
            self.judge.missed_meeting((threads[first].number, stuck[first]), other.number)
        assert self.collected is not None
        self.collected.ended_tiles.append(threads[0].tile)

    def _pass_barrier(self, threads: list[Thread], waiting: dict[int, int]) -> bool:
        """Whether all threads have reached the same barrier, and pass it."""
        stuck = {i: site for i, site in waiting.items() if site in self.program.meetings}
        if stuck:
            self._miss_a_meeting(threads, stuck)
            return False
        first = min(waiting)
        site = waiting[first]
        here = (threads[first].number, site)
        ended = next((i for i in range(len(threads)) if i not in waiting), None)
        other = next((i for i in sorted(waiting) if waiting[i] != site), None)
        if ended is not None or other is not None:
            if ended is None:
                assert other is not None
                self.judge.divergence(here, (threads[other].number, waiting[other]))
            elif not self.aborted:
                self.judge.divergence(here, (threads[ended].number, None))
            assert self.collected is not None
            self.collected.ended_tiles.append(threads[0].tile)
            return False
        self.clock.barrier()
        self.uniform.forget()
        fence = self.program.fences[site]
        if self.edges is not None and fence.orders_global:
            self.edges.barrier(threads)
        for orders, shadows in (
            (fence.orders_global, self.global_shadows),
            (fence.orders_tile_static, self.tile_shadows),
        ):
            for shadow in shadows if orders else ():
                shadow.clear()
        return True
