"""Launches whose containers are bound: acquired, enqueued, and marked as written, once or again and again."""

from __future__ import annotations

import itertools
import struct
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vkamp.artifacts import Executable, PushWord, Shader
from vkamp.dispatch.preparing import SIZES, WORDS, PreparedLaunch
from vkamp.errors import AmpError
from vkamp.lang.binding import Use, mark_written
from vkamp.lang.container import Container, bindable, use_of
from vkamp.lang.home import epoch
from vkamp.lang.region import Footprint
from vkamp.lang.storage import Descriptor
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.engine import Buffer, Dispatch, Launch, Program, Queue, Ready

_Number = int | float | bool
_Regions = tuple[Footprint, ...] | None
_NONE: list[Use] = []


class BoundLaunch(ABC):
    """Launches on one accelerator_view with the containers that they use, submitted together any number of times.

    ``apart``: they may change bytes next to the elements of their containers.  ``epoch``: the last time when all uses
    were current.
    """

    #: Why containers move, for their record of moves.
    why: ClassVar[str] = "a launch uses them"

    def __init__(self, view: accelerator_view, uses: Sequence[Use], *, apart: bool) -> None:
        self.view = view
        self.uses = uses
        self.apart = apart
        self.epoch = -1
        # Neither is a method of this object, which would keep the containers until the next garbage collection.
        self._enqueue: Callable[[], None] | None = None
        self._is_bound = False

    def submit(self, push: bytes | None = None) -> bool:
        """Makes the containers current, enqueues, and marks what is written; ``push``: other launch words.  False, and
        nothing is enqueued, where containers have moved and the launch cannot follow them.
        """
        # Where nothing has moved since the last time, nothing has to be acquired or marked.
        seen = epoch.now
        changed = _NONE if seen == self.epoch else [each for each in self.uses if not each.is_current]
        if changed:
            # Not bound until it is certain that all of it fits.
            before = self._enqueue, self._is_bound
            self._enqueue, self._is_bound = None, False
            moved = [each for each in changed if not each.acquire(self.view, self.why, apart=self.apart)]
            if not moved:
                self._enqueue, self._is_bound = before
        enqueue = self._enqueue or self._bind()
        if enqueue is None:
            return False
        if push is None:
            enqueue()
        else:
            self._enqueue_with(push)
        if changed:
            for each, home, version in mark_written(self.view, changed):
                each.home, each.version = home, version
        elif epoch.now == seen:
            self.epoch = seen
        else:  # somebody has used a container meanwhile: the next submission acquires it again
            self.mark_changed()
        return True

    def is_current(self) -> bool:
        """Whether nothing has moved since the launch was submitted."""
        return all(each.is_current for each in self.uses)

    def mark_changed(self) -> None:
        """Marks what is written in containers that somebody has used since this launch acquired them."""
        mark_written(self.view, [each for each in self.uses if not each.is_current])

    def acquire(self) -> bool:
        """Makes the containers current before :meth:`submit`; False if some have moved since the last time."""
        moved = [each for each in self.uses if not each.is_current and not self._acquire(each)]
        return not moved

    def _acquire(self, use: Use) -> bool:
        """Makes a container current; False if it has moved."""
        is_first = use.descriptor is None
        return use.acquire(self.view, self.why, apart=self.apart) or is_first

    @abstractmethod
    def _bind(self) -> Callable[[], None] | None:
        """What enqueues the launches for where the containers are now; None if there is nothing that can."""

    def _enqueue_with(self, push: bytes) -> None:
        """Enqueues a launch with other launch words."""
        raise NotImplementedError


class SingleLaunch(BoundLaunch):
    """One launch.  It keeps the memory of its containers alive, but not the containers."""

    dispatch: Dispatch
    layout: struct.Struct
    words: tuple[int | float, ...]

    def __init__(self, prepared: PreparedLaunch, *, apart: bool | None = None) -> None:
        used = prepared.uses
        view = prepared.view
        uses = [use_of(each.container, view, reads=each.reads, writes=each.writes) for each in used]
        super().__init__(view, uses, apart=prepared.runs_apart if apart is None else apart)
        self._prepared: PreparedLaunch | None = prepared
        self._ready: Ready | None = None

    def _bind(self) -> Callable[[], None] | None:
        if self._is_bound:
            return self._enqueue_again
        if self._prepared is None:
            return None
        self._make(self._prepared, bound_descriptors(self._prepared, self.uses))
        self._prepared = None
        self._is_bound = True
        return self._enqueue_first

    def bind(self) -> bool:
        """Does what :meth:`submit` does, but does not enqueue the launch; False if it cannot be enqueued."""
        if self._bind() is None:
            return False
        for each, home, version in mark_written(self.view, self.uses):
            each.home, each.version = home, version
        return True

    @property
    def is_bound(self) -> bool:
        """Whether it has been enqueued, so that it can be enqueued with other launch words."""
        return self._is_bound

    def _make(self, prepared: PreparedLaunch, descriptors: Mapping[str, Descriptor]) -> None:
        check_extents(prepared)
        self.layout, self.words = launch_words(prepared, prepared.executable, descriptors, prepared.arguments.scalars)
        push = self.layout.pack(*self.words)
        self.dispatch = make_dispatch(prepared, prepared.executable, descriptors, push)

    def _enqueue_first(self) -> None:
        queue_of(self.view).enqueue(self.dispatch)

    def _enqueue_again(self) -> None:
        self._enqueue = self.ready().enqueue
        self._enqueue()

    def ready(self) -> Ready:
        """What enqueues the launch from its second time on."""
        if self._ready is None:
            self._ready = queue_of(self.view).ready(self.dispatch)
        return self._ready

    def _enqueue_with(self, push: bytes) -> None:
        (self._ready or self.ready()).enqueue_with(push)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A launch without its containers, for launches whose containers have the same places in their memory.

    ``uses``: for each container its name, whether it is read, whether it is written.  ``places``: where they are.
    ``buffers``: for each binding the position of one of its containers in ``uses``.  ``like``: the launch without its
    containers' memory.  It does not keep the program, since a device keeps a limited number of programs.
    """

    view: accelerator_view
    apart: bool
    uses: tuple[tuple[str, bool, bool], ...]
    places: tuple[Any, ...]
    buffers: tuple[int, ...]
    program: weakref.ref[Program]
    groups: tuple[int, int, int]
    writes: tuple[bool, ...]
    regions: tuple[_Regions, ...]
    like: Launch
    layout: struct.Struct
    words: tuple[int | float, ...]

    @staticmethod
    def of(prepared: PreparedLaunch, bound: SingleLaunch) -> LaunchPlan:
        """The plan of a launch that ran."""
        uses = tuple((each.name, each.reads, each.writes) for each in prepared.uses)
        names = [name for name, _, _ in uses]
        dispatch, launch = bound.dispatch, bound.dispatch.launch
        assert launch is not None
        return LaunchPlan(
            view=bound.view,
            apart=bound.apart,
            uses=uses,
            places=_places([each.descriptor for each in bound.uses]),
            buffers=tuple(names.index(each.params[0]) for each in prepared.executable.shader.bindings),
            program=weakref.ref(dispatch.program),
            groups=dispatch.groups,
            writes=dispatch.writes,
            regions=dispatch.regions,
            like=Launch(launch.domain, {}, launch.scalars, launch.extents, launch.kernel, launch.tile),
            layout=bound.layout,
            words=bound.words,
        )

    def dispatch(self, found: Sequence[Descriptor], push: bytes, scalars: Mapping[str, _Number]) -> Dispatch | None:
        """The launch with containers in memory; None if the program is gone."""
        program, like = self.program(), self.like
        if program is None:
            return None
        names = {name: each for (name, _, _), each in zip(self.uses, found, strict=True)}
        launch = Launch(like.domain, names, scalars, like.extents, like.kernel, like.tile)
        buffers: Any = tuple([found[k].storage for k in self.buffers])
        return Dispatch(program, buffers, push, self.groups, self.writes, launch, self.regions)


def _places(found: Sequence[Descriptor | None]) -> tuple[Any, ...]:
    """The places of containers in their memory, and which of them share memory: everything that a launch depends on."""
    used = [each for each in found if each is not None]
    homes = [each.home_id for each in used]
    return tuple(
        [
            (d.offset_elements, d.shape, d.strides_elements, d.dtype, d.packed, homes.index(home))
            for d, home in zip(used, homes, strict=True)
        ]
    )


class PlannedLaunch(SingleLaunch):
    """A launch that uses the plan of another one, with other containers and launch words."""

    def __init__(
        self,
        plan: LaunchPlan,
        containers: Sequence[Container],
        words: tuple[int | float, ...],
        scalars: Mapping[str, _Number],
    ) -> None:
        view = plan.view
        uses = [
            use_of(each, view, reads=reads, writes=writes)
            for each, (_, reads, writes) in zip(containers, plan.uses, strict=True)
        ]
        BoundLaunch.__init__(self, view, uses, apart=plan.apart)
        self._prepared = None
        self._ready = None
        self._plan: LaunchPlan | None = plan
        self.layout, self.words, self._scalars = plan.layout, words, scalars

    def _bind(self) -> Callable[[], None] | None:
        plan = self._plan
        if plan is None:
            return super()._bind()
        found = [each.descriptor for each in self.uses if each.descriptor is not None]
        if _places(found) != plan.places:
            return None
        dispatch = plan.dispatch(found, self.layout.pack(*self.words), self._scalars)
        if dispatch is None:
            return None
        self.dispatch = dispatch
        self._plan, self._is_bound = None, True
        return self._enqueue_first


def bound_descriptors(prepared: PreparedLaunch, uses: Sequence[Use]) -> dict[str, Descriptor]:
    """The places of a launch's containers by name; ``uses`` are the uses of the containers, in the same order.

    AmpError for containers whose layout the kernel cannot use.
    """
    found: dict[str, Descriptor] = {}
    for used, each in zip(prepared.uses, uses, strict=True):
        assert each.descriptor is not None
        found[used.name] = each.descriptor
        if used.name in prepared.compiled.contiguous:
            _check_contiguous(used.name, each.descriptor)
    if any(each.packed for each in found.values()):
        _check_packed(prepared, found)
    if prepared.arguments.elements:
        _check_elements(prepared)
    return found


def check_extents(prepared: PreparedLaunch) -> None:
    """What a kernel asserts of its containers' extents; AmpError for one that is too small."""
    for name, dim, least, message in prepared.compiled.least_extents:
        given = prepared.containers[name].extent[dim]
        if given < least:
            raise AmpError(
                f"{prepared.compiled.name}: `{name}` has the extent {given} in dimension {dim}, and the kernel asserts "
                f"that it has {least} or more: {message}"
            )


def _check_contiguous(name: str, found: Descriptor) -> None:
    """What a kernel reads as another type, or by one number, has no gaps."""
    if found.shape[-1] > 1 and found.strides_elements[-1] != 1:
        raise AmpError(
            f"the kernel reinterprets `{name}`, whose elements are {found.strides_elements[-1]} apart: "
            "copy it to an array"
        )


def _check_packed(prepared: PreparedLaunch, found: Mapping[str, Descriptor]) -> None:
    """Copies without gaps do not see each other's writes."""
    for one, other in itertools.combinations(prepared.uses, 2):
        packed = found[one.name].packed or found[other.name].packed
        if packed and (one.writes or other.writes) and bindable(one.container).shares(bindable(other.container)):
            raise AmpError(
                f"`{one.name}` and `{other.name}` overlap, the kernel writes, and the elements of one are not a whole "
                "number of elements apart, so that the launch would work on a copy of them: copy it to an array first"
            )


def _check_elements(prepared: PreparedLaunch) -> None:
    """An element that the kernel takes as a scalar does not change during the launch."""
    for element, other in itertools.product(prepared.uses, prepared.uses):
        if element.name not in prepared.arguments.elements or not other.writes:
            continue
        if bindable(element.container).shares(bindable(other.container)):
            raise AmpError(
                f"the kernel takes `{element.name}` as a number, which must not change, and writes it as an element of "
                f"`{other.name}`: copy the number to memory of its own before the launch"
            )


# -- the dispatch --------------------------------------------------------------------------------------------------

_FORMATS = {"int32": "i", "uint32": "I", "float32": "f", "int64": "q", "uint64": "Q", "float64": "d"}


def make_dispatch(
    prepared: PreparedLaunch, executable: Executable, descriptors: Mapping[str, Descriptor], words: bytes
) -> Dispatch:
    """What a launch is for the engine: a program of it, bound to its containers, with its launch words."""
    view, arguments, domain = prepared.view, prepared.arguments, prepared.domain
    queue = queue_of(view)
    extents = {name: tuple(container.extent) for name, container in prepared.containers.items()}
    launch = Launch(domain.shape, descriptors, arguments.scalars, extents, prepared.compiled.name, domain.tile)
    if prepared.target.reference:
        # It runs the IR, and needs no shader.
        groups = prepared.target.grid(domain, queue.info.limits.tile_count)
        return Dispatch(queue.program(executable), (), b"", groups, (), launch)
    shader = executable.shader
    size = descriptors.get(SIZES)
    sizes = size.storage if size is not None and isinstance(size.storage, Buffer) else None
    bindings = [_buffer(descriptors, each.params, each.element) for each in shader.bindings]
    writes = [binding.writes for binding in shader.bindings]
    if shader.push_binding is not None:
        bindings.append((_spilled(queue, shader, descriptors, words), None))
        writes.append(False)
    return Dispatch(
        program=queue.program(executable),
        buffers=tuple(buffer for buffer, _ in bindings),
        push=b"" if shader.push_binding is not None else words,
        groups=(1, 1, 1) if sizes else prepared.target.grid(domain, queue.info.limits.tile_count, shader),
        writes=tuple(writes),
        launch=launch,
        regions=tuple(region for _, region in bindings),
        sizes=sizes,
    )


def _spilled(queue: Queue, shader: Shader, descriptors: Mapping[str, Descriptor], words: bytes) -> Buffer:
    """The buffer of the launch words; of an indirect launch, the device writes those that depend on its size."""
    found = descriptors.get(WORDS)
    if found is None:
        made = queue.allocate(max(4, len(words)))
        made.upload(0, np.frombuffer(words, np.uint8))
        return made
    assert isinstance(found.storage, Buffer)
    # They are the last ones.
    known = sum(word.size for word in shader.push if word.kind not in ("domain", "tiles"))
    if known:
        found.storage.upload(0, np.frombuffer(words[:known], np.uint8))
    return found.storage


def _buffer(descriptors: Mapping[str, Descriptor], params: tuple[str, ...], element: str) -> tuple[Buffer, _Regions]:
    """The buffer that containers share, and the parts of it that are theirs; None if that is all of it."""
    storage = descriptors[params[0]].storage
    assert isinstance(storage, Buffer)
    found = [descriptors[name] for name in params if name in descriptors]
    # Elements that are parts of words change with the whole word.
    if element == "uint32" and any(each.dtype.itemsize < 4 for each in found):
        return storage, None
    footprints = tuple(dict.fromkeys(each.footprint for each in found))
    if any(each.pitch == 0 and each.start == 0 and each.stop >= storage.nbytes for each in footprints):
        return storage, None
    return storage, footprints


def launch_words(
    prepared: PreparedLaunch,
    executable: Executable,
    descriptors: Mapping[str, Descriptor],
    scalars: Mapping[str, _Number],
) -> tuple[struct.Struct, tuple[int | float, ...]]:
    """A program's layout of the launch words, and the words; the reference accelerator needs none."""
    push = () if prepared.target.reference else executable.shader.push
    values = tuple(_word(word, prepared, executable, descriptors, scalars) for word in push)
    return struct.Struct("=" + "".join(_FORMATS[word.type] for word in push)), values


def _word(
    word: PushWord,
    prepared: PreparedLaunch,
    executable: Executable,
    descriptors: Mapping[str, Descriptor],
    scalars: Mapping[str, _Number],
) -> int | float:
    if word.kind == "scalar":
        value = scalars[word.name]
        if word.type == "float64":
            return float(value)
        return float(np.float32(value)) if word.type == "float32" else int(value)
    if word.kind == "domain":
        shape, pieces = prepared.domain.shape, executable.shader.pieces
        return (shape if pieces is None else pieces.domain(shape))[word.dim]
    if word.kind == "tiles":
        return prepared.target.tile_counts(prepared.domain)[word.dim]
    if word.kind == "extent":
        return prepared.containers[word.name].extent[word.dim]
    found = descriptors[word.name]
    return found.offset_elements if word.kind == "offset" else found.strides_elements[word.dim]
