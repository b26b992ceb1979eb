"""The launch itself: target, compilation, binding, submission.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import inspect
import itertools
import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp import pipeline
from vkamp.artifacts import Executable, Lowering, PushWord, Target
from vkamp.dispatch import editing, launch_arguments, launch_cache
from vkamp.dispatch.domain import Domain, check_tile, domain_of
from vkamp.dispatch.targets import target_view
from vkamp.dispatch.types import check_types, check_wide_operations, small_types
from vkamp.errors import AmpError, CompileError, UnsupportedFeatureError, diagnostic
from vkamp.lang.capturing import recorder
from vkamp.lang.container import Container, Descriptor
from vkamp.lang.kernel import LOWERINGS, BoundKernel, DeviceFunction, KernelFunction
from vkamp.lang.region import Footprint
from vkamp.progress import activity
from vkamp.run.accelerators import accelerator_view
from vkamp.run.engine import SUBGROUP_OPERATIONS, Buffer, Dispatch, Launch, Limits
from vkamp.run.workarounds import max_in_piece, max_iterations, max_private_bytes, max_unrolled, quirks_of

if TYPE_CHECKING:
    from vkamp.dispatch.edits import Chosen
    from vkamp.pipeline.checked import Instrumented


#: Compiled kernels kept; the oldest goes first.
_KEEP = 1024


@dataclass
class Entry:
    """One compiled kernel and its programs by kind of device."""

    compiled: pipeline.Compiled
    executables: dict[Target, Executable] = field(default_factory=dict)
    #: Its forms for check mode, their programs, and what was told of it already.
    checked: dict[tuple[frozenset[str], bool], tuple[Instrumented, pipeline.Compiled]] = field(default_factory=dict)
    checked_executables: dict[Any, Executable] = field(default_factory=dict)
    told: dict[Any, Any] = field(default_factory=dict)
    #: The hand-edited shaders that its launches use, and the state of the folder in which they were found.
    edited: dict[Any, tuple[int, Chosen | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A launch that passed every check: what to run, on what, where."""

    view: accelerator_view
    domain: Domain
    arguments: pipeline.Arguments
    compiled: pipeline.Compiled
    target: Target
    executable: Executable
    entry: Entry
    #: The state of the folder of edited shaders, and the one that it uses, if any.
    generation: int = 0
    edit: Chosen | None = None
    request: pipeline.Request | None = None
    #: What was launched, as it was given.
    kernel: Any = None


@dataclass(frozen=True)
class Bound:
    """What a launch was made of, for the next like it."""

    dispatch: Dispatch
    descriptors: Mapping[str, Descriptor]
    layout: struct.Struct
    words: tuple[int | float, ...]


_cache: OrderedDict[Any, list[Entry]] = OrderedDict()
_cache_lock = threading.Lock()


def parallel_for_each(args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """What stands behind the public function."""
    view, domain, rest = launch_arguments.parse("parallel_for_each", args)
    if not rest:
        tiling = domain_of(domain)

        def launch_closure(function: Any) -> None:
            capture = recorder()
            if capture is not None:
                capture.launch(view, tiling, function, (), constants)
                return
            prepared = prepare(view, tiling, function, (), constants)
            if is_checked():
                _run_checked(prepared)
            else:
                run(prepared)

        return launch_arguments.decorator("parallel_for_each", "runs", "launch", launch_closure)
    kernel, arguments = rest[0], rest[1:]
    capture = recorder()
    if capture is not None:
        capture.launch(view, domain_of(domain), kernel, arguments, constants)
        return None
    if is_checked():
        _run_checked(prepare(view, domain_of(domain), kernel, arguments, constants))
        return None
    key = launch_cache.key_of(view, domain, kernel, arguments, constants)
    if key is None:
        run(prepare(view, domain_of(domain), kernel, arguments, constants))
    elif not launch_cache.recall(key, kernel, arguments):
        prepared = prepare(view, domain_of(domain), kernel, arguments, constants)
        launch_cache.remember(key, kernel, arguments, prepared, run(prepared))
    return None


#: The environment as CPython keeps it: a look into it takes a tenth of the time of os.environ.get.
_variables: Any = getattr(os.environ, "_data", os.environ)
_CHECK: Any = os.environ.encodekey("VKAMP_CHECK") if hasattr(os.environ, "_data") else "VKAMP_CHECK"


def is_checked() -> bool:
    """Whether the environment asks for every launch to be checked (``VKAMP_CHECK=1``)."""
    if _CHECK not in _variables:
        return False
    value = os.environ.get("VKAMP_CHECK", "")
    if value not in ("", "0", "1"):
        raise AmpError(f"VKAMP_CHECK is {value!r}: 1 checks every launch, 0 none")
    return value == "1"


def _run_checked(prepared: Prepared) -> None:
    # Check mode is loaded where it is asked for.
    from vkamp.dispatch import checking

    checking.checked_launch(prepared)


def prepare(
    view: accelerator_view | None, domain: Domain, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> Prepared:
    """Everything that comes before the device: target, limits, compilation."""
    function, _, owner = _function_of(kernel)
    arguments = pipeline.collect(function, args, constants, owner)
    try:
        return prepare_on(target_view(view, arguments.containers), domain, kernel, arguments)
    except (CompileError, UnsupportedFeatureError):
        # What a constant left out may not compile.
        if not pipeline.give_up(function):
            raise
        return prepare(view, domain, kernel, args, constants)


def prepare_on(target: accelerator_view, domain: Domain, kernel: Any, arguments: pipeline.Arguments) -> Prepared:
    """What :func:`prepare` does once it is known where the launch runs, and with what."""
    function, precise, _ = _function_of(kernel)
    limits = target.accelerator.limits
    if limits is None:
        # A view that only stores has no queue; its error says why, and what to install.
        limits = target._queue.info.limits
    check_tile(domain, limits, target.accelerator.description)
    request = pipeline.make_request(function, precise, domain.rank, domain.tile, arguments, target)
    return _compiled(request, kernel, domain, arguments, target)


def placed_again(prepared: Prepared) -> Prepared:
    """The launch for where its containers lie now: what is compiled depends on it.

    ``AmpError`` if another program is needed for that, and the globals that the kernel was captured with have changed.
    """
    known, arguments = prepared.request, prepared.arguments
    assert known is not None
    request = pipeline.make_request(known.function, known.precise, known.rank, known.tile, arguments, prepared.view)
    if (request.args, request.captures, request.owner) == (known.args, known.captures, known.owner):
        return prepared
    if not all(guard.holds(known.function) for guard in prepared.compiled.guards):
        raise AmpError(
            f"{prepared.compiled.name}: its containers have become part of other memory, so that it has to be "
            "compiled again, and globals that it was compiled with have changed: capture it again"
        )
    return _compiled(request, prepared.kernel, prepared.domain, arguments, prepared.view)


def _compiled(
    request: pipeline.Request, kernel: Any, domain: Domain, arguments: pipeline.Arguments, target: accelerator_view
) -> Prepared:
    """The launch with its program."""
    limits, name = target._queue.info.limits, request.function.__name__
    entry = _compile(request, arguments, keep=target.accelerator.device_path != "reference")
    check_types(entry.compiled.types, target)
    check_wide_operations(entry.compiled.wide, target)
    form = _with_lowering(plain_target(domain, limits, target), kernel, domain.tile, target, arguments, entry.compiled)
    pieces = _pieces(form, domain, target, arguments)
    form = replace(form, types=small_types(entry.compiled.types, target), **pieces)
    if editing.export_folder() is not None:
        # Imported here: few programs export their shaders.
        from vkamp.dispatch import edits

        edits.export(entry, request, form)
    generation = editing.looked_for()
    edit = editing.choose(entry, request, form, domain, target)
    if edit is not None:
        form, executable = edit.target, edit.executable
    else:
        known = entry.executables.get(form)
        executable = _executable(entry, form) if known is None else known
        entry.executables[form] = executable
    # Devices of one form may differ in what they take.
    check_shared(executable, entry.compiled, limits, target)
    check_limits(executable, limits, name, target)
    check_subgroups(entry.compiled, limits, target)
    return Prepared(
        target, domain, arguments, entry.compiled, form, executable, entry, generation, edit, request, kernel
    )


def _executable(entry: Entry, form: Target) -> Executable:
    with activity(f"compiling {entry.compiled.name}"):
        return pipeline.executable(entry.compiled, form)


def plain_target(domain: Domain, limits: Limits, view: accelerator_view) -> Target:
    """What the printer must know of a view's device, for each thread as an invocation."""
    return pipeline.choose_target(
        domain.rank,
        domain.tile,
        domain.shape,
        limits.tile_count,
        limits.push_bytes // 4,
        limits.tile_threads,
        reference=view.accelerator.device_path == "reference",
        quirks=quirks_of(view._queue.info),
        subgroup_size=limits.subgroup_size,
        max_unrolled_statements=max_unrolled(view._queue.info),
        private_bytes=max_private_bytes(view._queue.info),
    )


def _with_lowering(
    form: Target,
    kernel: Any,
    tile: tuple[int, ...] | None,
    view: accelerator_view,
    arguments: pipeline.Arguments,
    compiled: pipeline.Compiled,
) -> Target:
    """The target with how the threads of a tile are to run: as the kernel says, or for all by VKAMP_LOWERING."""
    accelerator = view.accelerator
    if accelerator.device_path == "reference":
        return form
    asked = os.environ.get("VKAMP_LOWERING") or _lowering_of(kernel)
    if asked not in LOWERINGS:
        raise AmpError(f"VKAMP_LOWERING is {asked!r}; it can be {', '.join(LOWERINGS)}")
    device = view._queue.info
    if asked == "threads" or (asked == "auto" and (tile is None or device.kind != "cpu")):
        return form
    # Elsewhere a workgroup of one subgroup is not certain, and loops of one lane need none.
    lanes = device.limits.subgroup_size if device.kind == "cpu" else 1
    iterations = max_iterations(device)
    containers = arguments.containers
    aligned = frozenset(n for n, c in containers.items() if c.rank > 1 and c.extent[c.rank - 1] % 4 == 0)
    sizes: tuple[tuple[str, int, int], ...] = ()
    if iterations is not None and asked == "auto":
        wanted = sorted(compiled.sizes_in_loops)
        sizes = tuple((name, dim, containers[name].extent[dim]) for name, dim in wanted)
    lowering: Lowering = "loops" if asked == "loops" else "auto"
    return replace(form, lowering=lowering, lanes=lanes, max_iterations=iterations, aligned=aligned, sizes=sizes)


def _pieces(form: Target, domain: Domain, view: accelerator_view, arguments: pipeline.Arguments) -> dict[str, Any]:
    """What the target says for a kernel whose threads have several elements each."""
    most = 0 if form.reference or domain.tile is not None else max_in_piece(view._queue.info)
    if most == 0:
        return {}
    placed = {}
    for name, container in arguments.containers.items():
        layout = container._layout
        size = layout.dtype.itemsize
        strides = tuple([stride // size for stride in layout.strides])
        placed[name] = pipeline.Placed(layout.shape, arguments.offsets[name] // size, strides, layout.is_dense)
    return pipeline.pieces_of(form, most, domain.shape, placed, view._queue.info.limits.tile_count)


def _lowering_of(kernel: Any) -> str:
    if isinstance(kernel, BoundKernel):
        kernel = kernel.kernel
    return kernel.lowering if isinstance(kernel, KernelFunction) else "auto"


def _function_of(kernel: Any) -> tuple[FunctionType, bool, Any]:
    """The function to compile, whether precisely, and the object whose method it is, if any."""
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
        return kernel.function, kernel.precise, owner
    if isinstance(kernel, DeviceFunction) and isinstance(kernel.function, FunctionType):
        return kernel.function, False, owner
    if isinstance(kernel, FunctionType):
        return kernel, False, owner
    raise TypeError(
        f"parallel_for_each runs a function decorated with @amp.kernel, not {type(kernel).__name__}: "
        "write a kernel that computes one element, and launch that"
    )


# -- compilation ---------------------------------------------------------------------------------------------------


def _key(request: pipeline.Request) -> Any:
    """The identity of a request: closures with one code and one module are one kernel."""
    function = request.function
    constants = tuple((n, type(v), _exactly(v)) for n, v in request.constants)
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
    )


def _exactly(value: Any) -> Any:
    """What tells a constant from others: 0.0 from -0.0, and NaN from nothing else."""
    return repr(value) if isinstance(value, (float, np.floating)) else value


def _compile(request: pipeline.Request, arguments: pipeline.Arguments, *, keep: bool) -> Entry:
    """The compiled kernel, from the cache if every name it was specialised for still means the same."""
    key, function = _key(request), request.function
    with _cache_lock:
        entries = _cache.setdefault(key, [])
        _cache.move_to_end(key)
        while len(_cache) > _KEEP:
            _cache.popitem(last=False)
    for entry in entries:
        if _still_right(entry.compiled, function, arguments.captured):
            pipeline.renew(entry.compiled, function)
            return entry
    with activity(f"compiling {function.__name__}"):
        entry = Entry(pipeline.compile_kernel(request, arguments.captured, keep=keep))
    # Only the newest meanings are kept: a program that changes a global for ever does not pile up kernels.
    entries[:] = [entry, *entries[:7]]
    return entry


def _still_right(compiled: pipeline.Compiled, function: FunctionType, captured: Mapping[str, Any]) -> bool:
    same = all(
        type(captured[n]) is type(v) and _exactly(captured[n]) == _exactly(v) for n, v in compiled.constants.items()
    )
    return same and all(guard.holds(function) for guard in compiled.guards)


def check_shared(executable: Executable, compiled: pipeline.Compiled, limits: Limits, view: accelerator_view) -> None:
    """Refuses more tile_static memory than the device has, with the largest array's place."""
    size = executable.shader.shared_bytes
    if size > limits.shared_bytes:
        largest = max(compiled.kernel.tile_statics, key=lambda variable: variable.type.size)
        device = view.accelerator.description
        raise diagnostic(
            "VKA504",
            largest.span,
            kernel=compiled.name,
            bytes=size,
            device=device,
            limit=limits.shared_bytes,
            name=largest.name,
            size=largest.type.size,
        )


def check_limits(executable: Executable, limits: Limits, name: str, view: accelerator_view) -> None:
    shader, device = executable.shader, view.accelerator.description
    if shader.shared_bytes > limits.shared_bytes:
        raise UnsupportedFeatureError(
            f"{name} needs {shader.shared_bytes} bytes of tile_static memory; {device} has {limits.shared_bytes} per "
            "tile: make its arrays smaller"
        )
    if any(n > most for n, most in zip(shader.local_size, limits.tile_size, strict=True)):
        raise UnsupportedFeatureError(
            f"{name} calls subgroup functions, which need the {shader.local_size[0]} threads of its tile in one "
            f"row; {device} supports {limits.tile_size[0]}"
        )
    if executable.buffers > limits.buffers:
        raise UnsupportedFeatureError(
            f"{name} uses {executable.buffers} containers at once; {device} takes {limits.buffers}"
        )


def check_subgroups(compiled: pipeline.Compiled, limits: Limits, view: accelerator_view) -> None:
    """Refuses functions of subgroups that the device cannot run."""
    for name, operation, span in compiled.subgroup_needs:
        if operation not in limits.subgroup_operations:
            supported = ", ".join(o for o in SUBGROUP_OPERATIONS if o in limits.subgroup_operations) or "none"
            device = view.accelerator.description
            raise diagnostic("VKA503", span, name=name, operation=operation, device=device, supported=supported)


def program_names() -> dict[str, str]:
    """The kernels' names of the programs made so far, by the programs' keys."""
    with _cache_lock:
        entries = [entry for found in _cache.values() for entry in found]
    names = {}
    for entry in entries:
        name = entry.compiled.name
        names.update({made.key: name for made in entry.executables.values()})
        names.update({made.key: f"{name} (checked)" for made in entry.checked_executables.values()})
        for _, chosen in entry.edited.values():
            if chosen is not None:
                names[chosen.executable.key] = f"{name} (edited)"
    return names


# -- submission ----------------------------------------------------------------------------------------------------


def run(prepared: Prepared) -> Bound:
    """Binds the containers and enqueues the launch; on the reference accelerator, looks at the host's memory, too."""
    if not prepared.target.reference:
        return enqueue(prepared, bind(prepared))
    # Imported here: only what looks at launches needs it.
    from vkamp.dispatch import watching

    containers = watching.used_views(prepared)
    watching.refuse_stale(prepared.view, containers)
    bound = enqueue(prepared, bind(prepared))
    watching.look(containers.values())
    return bound


def enqueue(prepared: Prepared, descriptors: Mapping[str, Descriptor]) -> Bound:
    """Enqueues a launch whose containers are bound."""
    view, arguments = prepared.view, prepared.arguments
    bound = dispatch_of(prepared, descriptors)
    view._queue.enqueue(bound.dispatch)
    for name in changed(prepared, descriptors):
        arguments.containers[name]._written(view)
    return bound


def changed(prepared: Prepared, descriptors: Mapping[str, Descriptor]) -> list[str]:
    """The containers that the launch may change."""
    containers, access = prepared.arguments.containers, prepared.compiled.access
    return [name for name in descriptors if name in containers and access[name].changes]


def dispatch_of(prepared: Prepared, descriptors: Mapping[str, Descriptor]) -> Bound:
    """What a launch whose containers are bound is for the engine."""
    view, arguments = prepared.view, prepared.arguments
    program = view._queue.program(prepared.executable)
    layout, values = _words(prepared, descriptors)
    words = layout.pack(*values)
    buffers, writes, regions = _buffers(prepared, descriptors)
    shader = prepared.executable.shader
    push = b"" if shader.push_binding is not None else words
    if shader.push_binding is not None:
        spill = view.allocate(max(4, len(words)))
        spill.upload(0, np.frombuffer(words, np.uint8))
        assert isinstance(spill, Buffer)
        buffers, writes, regions = (*buffers, spill), (*writes, False), (*regions, None)
    limits = view.accelerator.limits
    assert limits is not None
    domain = prepared.domain
    groups = pipeline.grid(domain.rank, domain.tile, domain.shape, prepared.target, limits.tile_count, shader)
    extents = {name: tuple(container.extent) for name, container in arguments.containers.items()}
    name, tile = prepared.compiled.name, domain.tile
    launch = Launch(domain.shape, descriptors, arguments.scalars, extents, name, tile)
    dispatch = Dispatch(program, buffers, push, groups, writes, launch, regions)
    return Bound(dispatch, descriptors, layout, values)


def used(prepared: Prepared) -> Iterator[tuple[str, Container, bool, bool]]:
    """The containers that travel, by name, and whether the launch reads and writes them."""
    for name, container in prepared.arguments.containers.items():
        use = prepared.compiled.access.get(name)
        if use is not None and (use.reads or use.changes):
            yield name, container, use.reads or use.atomics, use.changes


def runs_apart(prepared: Prepared) -> bool:
    """Whether the launch may change bytes beside the elements of its containers."""
    unchecked = "unchecked_atomics" in prepared.target.quirks
    if unchecked and prepared.edit is not None:
        return True
    for name, container, _, writes in used(prepared):
        if unchecked and prepared.compiled.access[name].atomics:
            return True
        # Elements smaller than a word are changed by words.
        if writes and container.dtype.itemsize < 4 and (unchecked or not container._layout.is_dense):
            return True
    return False


def bind(prepared: Prepared, *, apart: bool | None = None) -> dict[str, Descriptor]:
    """Makes the used containers current on the target; the unused ones do not travel."""
    out: dict[str, Descriptor] = {}
    apart = runs_apart(prepared) if apart is None else apart
    for name, container, reads, writes in used(prepared):
        out[name] = container._acquire(prepared.view, read=reads, write=writes, apart=apart)
    check_bound(prepared, out)
    return out


def check_bound(prepared: Prepared, out: Mapping[str, Descriptor]) -> None:
    """Refuses containers that lie as the kernel can't take them."""
    for name, found in out.items():
        if name in prepared.compiled.contiguous:
            _check_contiguous(name, found)
    if any(found.packed for found in out.values()):
        _check_packed(prepared, out)


def _check_packed(prepared: Prepared, found: Mapping[str, Descriptor]) -> None:
    """Copies without gaps do not see each other's writes."""
    containers, uses = prepared.arguments.containers, prepared.compiled.access
    for name, other in itertools.combinations(found, 2):
        packed = found[name].packed or found[other].packed
        changes = uses[name].changes or uses[other].changes
        if packed and changes and containers[name]._shares(containers[other]):
            raise AmpError(
                f"`{name}` and `{other}` overlap, the kernel writes, and the elements of one are not a whole number "
                "of elements apart, so that the launch would work on a copy of them: copy it to an array first"
            )


def _check_contiguous(name: str, found: Descriptor) -> None:
    """What a kernel reads as another type, or by one number, has no gaps."""
    if found.shape[-1] > 1 and found.strides_elements[-1] != 1:
        raise AmpError(
            f"the kernel reinterprets `{name}`, whose elements are {found.strides_elements[-1]} apart: "
            "copy it to an array"
        )


_Regions = tuple[tuple[Footprint, ...] | None, ...]


def _buffers(
    prepared: Prepared, descriptors: Mapping[str, Descriptor]
) -> tuple[tuple[Buffer, ...], tuple[bool, ...], _Regions]:
    buffers: list[Buffer] = []
    writes: list[bool] = []
    regions: list[tuple[Footprint, ...] | None] = []
    for binding in prepared.executable.shader.bindings:
        storage = descriptors[binding.params[0]].storage
        assert isinstance(storage, Buffer)
        buffers.append(storage)
        writes.append(binding.writes)
        found = [descriptors[name] for name in binding.params if name in descriptors]
        # Elements that are parts of words change with the whole word.
        in_words = binding.element == "uint32" and any(each.dtype.itemsize < 4 for each in found)
        regions.append(None if in_words else _region(storage, found))
    return tuple(buffers), tuple(writes), tuple(regions)


def _region(storage: Buffer, descriptors: list[Descriptor]) -> tuple[Footprint, ...] | None:
    """The parts of a buffer that its containers have; None if that is all of it."""
    footprints = tuple(dict.fromkeys(found.footprint for found in descriptors))
    if any(each.pitch == 0 and each.start == 0 and each.stop >= storage.nbytes for each in footprints):
        return None
    return footprints


_FORMATS = {"int32": "i", "uint32": "I", "float32": "f", "int64": "q", "uint64": "Q", "float64": "d"}


def _words(prepared: Prepared, descriptors: Mapping[str, Descriptor]) -> tuple[struct.Struct, tuple[int | float, ...]]:
    """The shader's layout of the launch words, and the words."""
    values = tuple(_word(w, prepared, descriptors) for w in prepared.executable.shader.push)
    layout = "".join(_FORMATS[w.type] for w in prepared.executable.shader.push)
    return struct.Struct(f"={layout}"), values


def _word(word: PushWord, prepared: Prepared, descriptors: Mapping[str, Descriptor]) -> int | float:
    if word.kind == "scalar":
        value = prepared.arguments.scalars[word.name]
        if word.type == "float64":
            return float(value)
        return float(np.float32(value)) if word.type == "float32" else int(value)
    if word.kind == "domain":
        shape, pieces = prepared.domain.shape, prepared.executable.shader.pieces
        return (shape if pieces is None else pieces.domain(shape))[word.dim]
    if word.kind == "tiles":
        domain = prepared.domain
        return pipeline.tile_counts(domain.rank, domain.tile, domain.shape, prepared.target)[word.dim]
    if word.kind == "extent":
        return prepared.arguments.containers[word.name].extent[word.dim]
    found = descriptors[word.name]
    return found.offset_elements if word.kind == "offset" else found.strides_elements[word.dim]
