"""Everything of a launch that comes before the device: where it runs, its compiled kernel, its program.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from vkamp import pipeline
from vkamp.artifacts import Domain, Executable, Lowering, Target
from vkamp.dispatch import shader_overrides
from vkamp.dispatch.requirements import (
    check_kernel,
    check_program,
    check_required_subgroup,
    check_subgroup_tile,
    check_tile,
    optional_features,
)
from vkamp.dispatch.targets import (
    device_traits,
    is_reference,
    target_for,
    target_view,
    wanted_lowering,
    with_lowering,
    with_pieces,
)
from vkamp.errors import AmpError, CompileError, UnsupportedFeatureError
from vkamp.lang.arrays import array
from vkamp.lang.container import Container
from vkamp.lang.indirect import indirect
from vkamp.lang.kernel import BoundKernel, DeviceFunction, KernelFunction
from vkamp.lang.target import LOWERED
from vkamp.lang.views import array_view
from vkamp.progress import activity
from vkamp.records import dataclass
from vkamp.run.accelerators import accelerator_view, queue_of

if TYPE_CHECKING:
    from vkamp.dispatch.override_files import Override
    from vkamp.pipeline.checked import Instrumented


#: Compiled kernels kept; the oldest goes first.
_KEEP = 1024


@dataclass
class KernelPrograms:
    """A compiled kernel and its programs by kind of device."""

    compiled: pipeline.Compiled
    executables: dict[Target, Executable] = field(default_factory=dict)
    #: The kernel instrumented for check mode, by what that leaves out, and its programs.
    checked: dict[tuple[frozenset[str], bool, int | None], tuple[Instrumented, pipeline.Compiled]] = field(
        default_factory=dict
    )
    checked_executables: dict[Any, Executable] = field(default_factory=dict)
    #: Whether its launches have reported the races of several threads.
    reported: bool = False
    #: The registry of the warnings about it.
    warned: dict[Any, Any] = field(default_factory=dict)
    #: The hand-edited shaders that its launches use, and the state of the folder in which they were found.
    overrides: dict[Any, tuple[int, Override | None]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, array_view]:
        """The tables of constants that its launches bind, by name; no other launch has them."""
        return {name: array_view(table, readonly=True) for name, table in self.compiled.tables.items()}


class ContainerUse(NamedTuple):
    """A container that a launch binds, by its parameter's name, and what the kernel does with it."""

    name: str
    container: Container
    reads: bool
    writes: bool


#: The containers of a launch that its kernel does not have.
SIZES, WORDS = "the sizes of the grid", "the launch words"


@dataclass(frozen=True)
class IndirectSize:
    """The size of a launch in device memory: the number of threads, the size of the grid and the launch words, where
    the device has these; without ``sizes`` the launch waits for the number.
    """

    domain: indirect
    sizes: array | None = None
    words: array | None = None


@dataclass(frozen=True)
class PreparedLaunch:
    """A launch that passed every check: what to run, on what, where."""

    view: accelerator_view
    domain: Domain
    #: What was launched, as it was given.
    kernel: Any
    request: pipeline.Request
    arguments: pipeline.Arguments
    programs: KernelPrograms
    target: Target
    executable: Executable
    #: The state of the folder of edited shaders, and the one that it uses, if any.
    generation: int = 0
    override: Override | None = None
    #: Of an indirect launch, whose domain is the largest one.
    indirect: IndirectSize | None = None

    @property
    def waits(self) -> bool:
        """Whether the host must know how many threads there are before it is enqueued."""
        return self.indirect is not None and self.indirect.sizes is None

    @property
    def compiled(self) -> pipeline.Compiled:
        """The compiled kernel."""
        return self.programs.compiled

    @property
    def containers(self) -> dict[str, Container]:
        """The containers of the launch, and the tables of constants of its kernel."""
        tables = self.programs.tables
        return {**self.arguments.containers, **tables} if tables else self.arguments.containers

    @property
    def uses(self) -> list[ContainerUse]:
        """The containers that are bound: those whose elements the kernel accesses."""
        found = []
        for name, container in self.containers.items():
            use = self.compiled.access.get(name)
            if use is not None and (use.reads or use.changes):
                found.append(ContainerUse(name, container, use.reads or use.atomics, use.changes))
        if self.indirect is not None:
            own = (SIZES, self.indirect.sizes), (WORDS, self.indirect.words)
            found += [ContainerUse(name, each, True, False) for name, each in own if each is not None]
        return found

    @property
    def runs_apart(self) -> bool:
        """Whether the launch may change bytes beside the elements of its containers."""
        # Elements smaller than a word are changed by words.
        placements = self.arguments.placements
        small = [use.name for use in self.uses if use.writes and use.container.dtype.itemsize < 4]
        return any(placements[name].packed or not placements[name].dense for name in small)


_cache: OrderedDict[Any, list[KernelPrograms]] = OrderedDict()
_cache_lock = threading.RLock()


def prepare(
    view: accelerator_view | None,
    domain: Domain,
    kernel: Any,
    args: tuple[Any, ...],
    constants: dict[str, Any],
    *,
    size: Container | None = None,
) -> PreparedLaunch:
    """Everything that comes before the device: target, limits, compilation; ``size``: of an indirect launch, where the
    number of threads is.
    """
    found = _function_of(kernel)
    arguments = pipeline.collect(found.function, args, constants, found.owner)
    containers = arguments.containers if size is None else {**arguments.containers, "the number of threads": size}
    try:
        return prepare_on(target_view(view, containers), domain, kernel, arguments)
    except (CompileError, UnsupportedFeatureError):
        # What a constant left out may not compile.
        if not pipeline.give_up(found.function):
            raise
        return prepare(view, domain, kernel, args, constants, size=size)


def prepare_on(view: accelerator_view, domain: Domain, kernel: Any, arguments: pipeline.Arguments) -> PreparedLaunch:
    """What :func:`prepare` does once it is known where the launch runs, and with what."""
    found = _function_of(kernel)
    queue_of(view)  # its error says why a view only stores
    check_tile(domain, view)
    if found.subgroup is not None:
        check_subgroup_tile(found.subgroup, found.function.__name__, domain)
    shape = domain.rank, domain.tile
    request = pipeline.make_request(found.function, found.precise, *shape, arguments, view, found.subgroup)
    return _with_program(view, domain, kernel, request, arguments)


def compiled(kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> pipeline.Compiled:
    """An untiled kernel of rank 1 for these arguments, checked, not yet made for a device."""
    found = _function_of(kernel)
    arguments = pipeline.collect(found.function, args, constants, found.owner)
    view = target_view(None, arguments.containers)
    request = pipeline.make_request(found.function, found.precise, 1, None, arguments, view)
    found_programs = _compile(request, {**arguments.captured, **device_traits(view)}, keep=True)
    pipeline.report_races(found_programs.compiled)
    return found_programs.compiled


def prepare_again(prepared: PreparedLaunch) -> PreparedLaunch:
    """The launch for where its containers are now: what is compiled depends on it.

    ``AmpError`` if another program is needed for that, and the globals that the kernel was captured with have changed.
    """
    known, arguments = prepared.request, prepared.arguments
    fixed = known.function, known.precise, known.rank, known.tile
    request = pipeline.make_request(*fixed, arguments, prepared.view, known.subgroup)
    if (request.args, request.captures, request.owner) == (known.args, known.captures, known.owner):
        return prepared
    if not all(guard.holds(known.function) for guard in prepared.compiled.guards):
        raise AmpError(
            f"{prepared.compiled.name}: its containers moved to other memory, so it must be compiled again, but "
            "globals that it was compiled with have changed: capture it again"
        )
    made = _with_program(prepared.view, prepared.domain, prepared.kernel, request, arguments)
    return made if prepared.indirect is None else _same_size(prepared, made)


def _same_size(before: PreparedLaunch, made: PreparedLaunch) -> PreparedLaunch:
    """An indirect launch with another program."""
    size = before.indirect
    assert size is not None
    if size.words is not None and made.override is None:
        made = with_words_in_memory(made)
    if size.sizes is not None and _size_words(made) != _size_words(before):
        raise AmpError(
            f"{made.compiled.name}: its containers moved to other memory, which changes the launch words of its "
            "indirect launch: capture it again"
        )
    return replace(made, indirect=size)


def _size_words(prepared: PreparedLaunch) -> tuple[Any, ...]:
    """The places in the program of values that depend on the launch's size."""
    shader = prepared.executable.shader
    return (*shader.push, shader.pieces, shader.local_size, shader.push_binding is None)


def with_words_in_memory(prepared: PreparedLaunch) -> PreparedLaunch:
    """The launch with a generated program that has its launch words in a buffer, and not as push constants."""
    target = replace(prepared.target, push_words=0)
    executable = prepared.programs.executables.get(target) or _executable(prepared.programs, target)
    check_program(prepared.compiled, executable, prepared.view)
    return replace(prepared, target=target, executable=executable)


def _with_program(
    view: accelerator_view, domain: Domain, kernel: Any, request: pipeline.Request, arguments: pipeline.Arguments
) -> PreparedLaunch:
    """The launch with its program for the device.

    A kernel may ask whether its threads are loops, which may depend on what it does then: it is made as if they were,
    and if they are not, as if they were not, which threads always are.
    """
    wanted = wanted_lowering(kernel, domain, view)
    lowered = wanted != "threads"
    made = _made(view, domain, kernel, request, arguments, wanted, lowered=lowered)
    if lowered and LOWERED in made.compiled.constants and not _has_loops(made):
        made = _made(view, domain, kernel, request, arguments, wanted, lowered=False)
        if _has_loops(made):
            made = _made(view, domain, kernel, request, arguments, "threads", lowered=False)
    return made


def _has_loops(made: PreparedLaunch) -> bool:
    return made.executable.lowering.startswith("loops")


def _made(
    view: accelerator_view,
    domain: Domain,
    kernel: Any,
    request: pipeline.Request,
    arguments: pipeline.Arguments,
    wanted: Lowering,
    *,
    lowered: bool,
) -> PreparedLaunch:
    """Prepares the launch in one lowering; ``lowered`` is what the kernel can read about it."""
    captured = {**arguments.captured, **device_traits(view, request.subgroup, lowered=lowered)}
    programs = _compile(request, captured, keep=not is_reference(view))
    compiled = programs.compiled
    if compiled.certain_races and not programs.reported and not domain.is_single:
        pipeline.report_races(compiled)
        programs.reported = True
    if request.subgroup is not None:
        check_required_subgroup(request.subgroup, compiled, domain, view)
    check_kernel(compiled, view)
    target = target_for(domain, view)
    target = with_lowering(target, wanted, view, arguments.containers, compiled.sizes_in_loops)
    target = with_pieces(target, domain, view, arguments)
    target = replace(target, types=optional_features(compiled, view))
    shader_overrides.export(programs, request, target)
    generation, override = shader_overrides.choose(programs, request, target, domain, view)
    if override is not None:
        target, executable = override.target, override.executable
    else:
        executable = programs.executables.get(target) or _executable(programs, target)
    # Devices of one target may differ in their limits.
    check_program(compiled, executable, view)
    return PreparedLaunch(view, domain, kernel, request, arguments, programs, target, executable, generation, override)


def _executable(programs: KernelPrograms, target: Target) -> Executable:
    with activity(f"compiling {programs.compiled.name}"):
        made = programs.executables[target] = pipeline.executable(programs.compiled, target)
    return made


@dataclass(frozen=True)
class _Launched:
    """The function to compile, whether precisely, the object whose method it is, if any, and the lanes of the
    subgroups that it requires, if it does.
    """

    function: FunctionType
    precise: bool
    owner: Any
    subgroup: int | None = None


def _function_of(kernel: Any) -> _Launched:
    owner = None
    if isinstance(kernel, BoundKernel):
        kernel, owner = kernel.kernel, kernel.owner
    elif isinstance(kernel, MethodType):
        kernel, owner = kernel.__func__, kernel.__self__
    elif not isinstance(kernel, (KernelFunction, DeviceFunction, FunctionType, type)):
        method = inspect.getattr_static(type(kernel), "__call__", None)
        if isinstance(method, (KernelFunction, DeviceFunction, FunctionType)):
            kernel, owner = method, kernel
    if isinstance(owner, type):
        raise TypeError(f"parallel_for_each does not run class methods: make {kernel.__name__} a static method")
    if isinstance(kernel, KernelFunction):
        return _Launched(kernel.function, kernel.precise, owner, kernel.subgroup)
    if isinstance(kernel, DeviceFunction) and isinstance(kernel.function, FunctionType):
        return _Launched(kernel.function, False, owner)
    if isinstance(kernel, FunctionType):
        return _Launched(kernel, False, owner)
    raise TypeError(
        f"parallel_for_each runs a function decorated with @amp.kernel, not {type(kernel).__name__}: "
        "write a kernel that computes one element, and launch that"
    )


# -- compiled kernels ----------------------------------------------------------------------------------------------


def _key(request: pipeline.Request) -> Any:
    """The identity of a request: closures with one code and one module are one kernel."""
    function = request.function
    constants = tuple((n, pipeline.exactly(v)) for n, v in request.constants)
    return (
        pipeline.CodeKey(function.__code__),
        id(function.__globals__),
        request.precise,
        request.rank,
        request.tile,
        request.args,
        request.captures,
        constants,
        request.owner,
        request.subgroup,
    )


def _compile(request: pipeline.Request, captured: Mapping[str, Any], *, keep: bool) -> KernelPrograms:
    """The compiled kernel, from the cache if every name it was specialised for still means the same.

    ``captured``: the captured numbers and the traits of the device.
    """
    key, function = _key(request), request.function
    with _cache_lock:
        known = _cache.setdefault(key, [])
        _cache.move_to_end(key)
        while len(_cache) > _KEEP:
            _cache.popitem(last=False)
    for programs in known:
        if _still_right(programs.compiled, function, captured):
            pipeline.rebind(programs.compiled, function)
            return programs
    with activity(f"compiling {function.__name__}"):
        programs = KernelPrograms(pipeline.compile_kernel(request, captured, keep=keep))
    # Only the newest values are kept: a program that keeps changing a global does not accumulate kernels.
    known[:] = [programs, *known[:7]]
    return programs


def _still_right(compiled: pipeline.Compiled, function: FunctionType, captured: Mapping[str, Any]) -> bool:
    same = all(pipeline.exactly(captured[n]) == pipeline.exactly(v) for n, v in compiled.constants.items())
    return same and all(guard.holds(function) for guard in compiled.guards)


def program_names() -> dict[str, str]:
    """The kernels' names of the programs made so far, by the programs' keys."""
    with _cache_lock:
        known = [programs for found in _cache.values() for programs in found]
    names = {}
    for programs in known:
        name = programs.compiled.name
        names.update({made.key: name for made in programs.executables.values()})
        names.update({made.key: f"{name} (checked)" for made in programs.checked_executables.values()})
        for _, override in programs.overrides.values():
            if override is not None:
                names[override.executable.key] = f"{name} (edited)"
    return names
