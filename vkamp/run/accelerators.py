"""Accelerators and their views: what users see of devices (AMP: ``accelerator``, ``accelerator_view``).

Importing this module does not access a driver; the first use of a device does. Two engines lead to Vulkan devices,
Kompute's and the direct one; others are added by :func:`register_engine`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AcceleratorRemovedError, AmpError, UnsupportedFeatureError
from vkamp.lang.access import access_type, access_type_auto, access_type_none, access_type_read_write
from vkamp.lang.capturing import refuse
from vkamp.lang.completion import completed, completion_future, completion_of
from vkamp.lang.storage import Storage, set_host_location_provider, set_location_provider
from vkamp.run import devices, libraries
from vkamp.run.engine import DeviceInfo, Engine, Limits, Observer, Queue, Statistics
from vkamp.run.environment import EnvironmentVariable
from vkamp.run.host_storage import HostStorage
from vkamp.run.kompute import KomputeEngine
from vkamp.run.queuing import queuing_mode, queuing_mode_automatic, queuing_mode_immediate
from vkamp.run.workarounds import faults_of
from vkamp.tracebacks import entry_point

_VARIABLE = "VKAMP_ACCELERATOR"
_ENGINE_VARIABLE = "VKAMP_ENGINE"
_KOMPUTE, _DIRECT, _AUTO = "kompute", "vulkan", "auto"
_VULKAN_ENGINES = (_KOMPUTE, _DIRECT)
_CPU = "cpu"
_DEFAULT = "default"
_VERSION = (1 << 16) | 2  # the device model is AMP 1.2's


class _Engines:
    """The registered engines, and their open queues and views."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.engines: dict[str, Engine] = {}
        self.default_views: dict[DeviceInfo | None, _View] = {}
        self.chosen: DeviceInfo | str | None = None  # by set_default; _CPU for the cpu accelerator
        self.queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self.observer: Observer | None = None
        self.default: _Default | None = None
        self.access: dict[DeviceInfo, access_type] = {}  # the default of arrays, once it was set or used
        self.unopened: dict[str, str] = {}  # Devices that the direct engine cannot open, and why.

    def add(self, engine: Engine) -> None:
        with self.lock:
            self.engines[engine.name] = engine
            self.default = None

    def to_vulkan(self, name: str) -> Engine:
        """One of the engines that lead to Vulkan devices."""
        with self.lock:
            if name not in self.engines:
                # Not with this module: `import vkamp` does not need it.
                from vkamp.run.vulkan.engine import VulkanEngine

                self.engines[name] = VulkanEngine()
            return self.engines[name]


_engines = _Engines()
_engines.add(KomputeEngine())


def vulkan_engine(name: str) -> Engine:
    """One of the engines that lead to Vulkan devices: ``kompute``, ``vulkan``."""
    return _engines.to_vulkan(name)


def register_engine(engine: Engine) -> None:
    """Adds an engine, or replaces the one of the same name; its devices are found from then on."""
    _engines.add(engine)


# -- finding devices ----------------------------------------------------------------------------


def _engine_name(requested: str | None) -> str:
    """The requested engine, else that of the environment variable, else ``"auto"``."""
    given = os.environ.get(_ENGINE_VARIABLE, "") if requested is None else requested
    name = given.strip().lower() or (_AUTO if requested is None else "")
    if name not in (*_VULKAN_ENGINES, _AUTO):
        asked = f"{_ENGINE_VARIABLE}={given}" if requested is None else f"engine={given!r}"
        raise AmpError(f"{asked} is not an engine: the engines are 'auto', {' and '.join(map(repr, _VULKAN_ENGINES))}")
    return name


def choose_engine(info: DeviceInfo) -> tuple[str, str]:
    """The engine that ``auto`` selects for a Vulkan device, and why."""
    reason = _engines.unopened.get(_identity(info))
    if reason is not None:
        return _KOMPUTE, f"the direct engine can't open the device: {reason}"
    return _DIRECT, "the default; Kompute runs a device only if this engine cannot open it"


def _identity(info: DeviceInfo) -> str:
    return f"{info.uuid} {info.index} {info.name}"


def _is_default(info: DeviceInfo) -> bool:
    """Whether its engine is the one that is used by default."""
    name = _engine_name(None)
    return info.engine == (choose_engine(info)[0] if name == _AUTO else name)


def _vulkan_devices(engine: str | None = None, *, search_browsers: bool = False) -> list[DeviceInfo]:
    name = _engine_name(engine)
    if search_browsers:
        devices.vulkan_devices(search_browsers=True)
    if name != _AUTO:
        return _engines.to_vulkan(name).devices()
    found = _engines.to_vulkan(_DIRECT).devices()
    if all(choose_engine(info)[0] == _DIRECT for info in found):
        return found
    others = _engines.to_vulkan(_KOMPUTE).devices()
    return [other if choose_engine(info)[0] == _KOMPUTE else info for info, other in zip(found, others, strict=True)]


def _other_devices() -> list[DeviceInfo]:
    others = [e for e in _engines.engines.values() if e.name not in _VULKAN_ENGINES]
    return [info for engine in others for info in engine.devices()]


def _path(info: DeviceInfo) -> str:
    """``vulkan:0``, with the engine unless it is the default one (``vulkan:0@kompute``), or the engine's name for what
    is not a Vulkan device (``reference``).
    """
    if info.engine in _VULKAN_ENGINES:
        return f"vulkan:{info.index}" + ("" if _is_default(info) else f"@{info.engine}")
    return info.engine if info.index == 0 else f"{info.engine}:{info.index}"


def _listing(found: list[DeviceInfo]) -> str:
    rows = [f"  {info.index}  {info.name}" for info in found if info.engine in _VULKAN_ENGINES]
    rows += [f'  "{_path(info)}"  {info.name}' for info in found if info.engine not in _VULKAN_ENGINES]
    return "\n".join([*rows, f'  "{_CPU}"  stores data but runs no kernels'])


def _named(name: str, asked: str, engine: str | None = None) -> DeviceInfo | str:
    """The device that ``name`` means; ``"cpu"`` for the accelerator that only stores.

    A name is ``cpu``, a device path, an index, or part of a description, whichever fits first; all but ``cpu`` may end
    in ``@`` and an engine, instead of ``engine``. ``asked`` tells errors where the name was given.
    """
    requested, engine = _without_engine(name.strip().lower(), engine)
    others = _other_devices() if engine is None else []
    if engine is None:
        if requested == _CPU:
            return _CPU
        exact = [info for info in others if requested == _path(info).lower()]
        if exact:
            return exact[0]
    found = _vulkan_devices(engine)
    matches = _matches(requested, found)
    browsers = not matches and bool(requested) and requested in "swiftshader"
    if browsers:
        found = _vulkan_devices(engine, search_browsers=True)
        matches = _matches(requested, found)
    if len({info.name for info in matches}) == 1:
        return matches[0]
    problem = "is ambiguous" if matches else "names no accelerator"
    engines = f", and no engine but {' or '.join(_VULKAN_ENGINES)} after the @" if "@" in requested else ""
    raise AmpError(
        f"{asked} {problem}: give an index, or part of a name that only one has{engines}. The accelerators:\n"
        + _listing(found + others)
        + (f"\n{libraries.swiftshader_package()}" if browsers and not matches else "")
    )


def _without_engine(name: str, engine: str | None) -> tuple[str, str | None]:
    """A name and the requested engine, which the name (``nvidia@vulkan``) or ``engine`` says."""
    start, _, end = name.rpartition("@")
    if end not in _VULKAN_ENGINES:
        return name, engine if engine is None else _engine_name(engine)
    if engine is not None and _engine_name(engine) != end:
        raise AmpError(f"{name!r} belongs to the engine {end!r}, not {engine!r}")
    return start, end


def _matches(requested: str, found: list[DeviceInfo]) -> list[DeviceInfo]:
    exact = [i for i in found if requested in (f"vulkan:{i.index}", str(i.index))]
    if exact or not requested or requested.isdigit():
        return exact
    return [i for i in found if requested in i.name.lower()]


def _default_device() -> DeviceInfo | str:
    """The variable's device, else ``set_default``'s, else the best Vulkan device, else cpu."""
    name = os.environ.get(_VARIABLE, "")
    if name.strip() and name.strip().lower() != _DEFAULT:
        return _named(name, f"{_VARIABLE}={name}")
    if _engines.chosen is not None:
        return _engines.chosen
    _engine_name(None)  # A wrong name is an error everywhere.
    try:
        return min(_vulkan_devices(), key=devices.rank)
    except AmpError:
        return _CPU  # This never fails; a launch reports what to install.


# -- the public classes -------------------------------------------------------------------------


@entry_point
class accelerator:
    """A device that runs kernels or stores data (AMP: ``accelerator``). Handles of the same device are equal.

    ``accelerator()`` is the default one: that of the environment variable ``VKAMP_ACCELERATOR``, else that of
    :meth:`set_default`, else the best there is (a discrete GPU before an integrated one before a CPU driver).
    ``accelerator(path)`` takes a ``device_path``, an index, part of a description in any case, ``"reference"``,
    ``"cpu"`` (stores, never runs a kernel) or ``"default"``. Raises ``AmpError`` that lists the accelerators if
    ``path`` names none or several. Without any Vulkan device ``accelerator()`` is ``"cpu"``, and a launch reports what
    to install.

    ``engine`` selects the engine of a Vulkan device: ``"kompute"``, ``"vulkan"`` (the direct engine) or ``"auto"``
    (the direct engine; Kompute for devices that it cannot open). The default is the environment variable
    ``VKAMP_ENGINE``, else ``"auto"``. The path may contain the engine, too: ``"nvidia@vulkan"``. The same device with
    another engine is another accelerator.
    """

    __slots__ = ("_info",)

    default_accelerator = _DEFAULT
    cpu_accelerator = _CPU

    def __init__(self, path: str | int | accelerator = _DEFAULT, *, engine: str | None = None) -> None:
        self._info: DeviceInfo | None
        if isinstance(path, accelerator):
            if engine is None or path.engine == _engine_name(engine):
                self._info = path._info
                return
            path = path.device_path.partition("@")[0]
        if not isinstance(path, (str, int, np.integer)) or isinstance(path, bool):
            raise TypeError(f"accelerator takes a path or an index, not {type(path).__name__}")
        path = str(path)
        if path.strip().lower() != _DEFAULT:
            found = _named(path, f"accelerator({path!r})", engine)
        elif engine is None:
            found = _default_device()
        else:
            found = min(_vulkan_devices(engine), key=devices.rank)
        self._info = None if isinstance(found, str) else found

    @classmethod
    def _of(cls, info: DeviceInfo | None) -> accelerator:
        made = cls.__new__(cls)
        made._info = info
        return made

    @classmethod
    def get_all(cls, engine: str | None = None) -> list[accelerator]:
        """Every accelerator: the Vulkan devices, the reference accelerator, ``"cpu"`` (AMP: ``get_all``).

        A machine without Vulkan has the others. The Vulkan devices are those of one engine, the default one if none is
        given.
        """
        _engine_name(engine)
        try:
            found = _vulkan_devices(engine)
        except AmpError:
            found = []
        return [cls._of(info) for info in (*found, *_other_devices(), None)]

    @classmethod
    def set_default(cls, path: str) -> bool:
        """Makes ``path`` the default, once per process: False and no effect after an earlier success.

        ``VKAMP_ACCELERATOR`` takes precedence. Raises ``AmpError`` as ``accelerator(path)`` does.
        """
        found = cls(path)._info or _CPU
        with _engines.lock:
            if _engines.chosen is not None:
                return False
            _engines.chosen = found
            _engines.default = None
            return True

    @staticmethod
    def get_auto_selection_view() -> accelerator_view:
        """The view that means "choose one": a launch treats it as no view; elsewhere it is the default view."""
        return accelerator_view._of(accelerator().default_view._view, is_auto=True)

    @property
    def device_path(self) -> str:
        """The name by which ``accelerator(path)`` finds it: ``"vulkan:0"``, ``"vulkan:0@vulkan"`` where the engine is
        not the one that is taken by default, ``"reference"``, ``"cpu"``.
        """
        return _CPU if self._info is None else _path(self._info)

    @property
    def description(self) -> str:
        """The device's name."""
        return "CPU accelerator" if self._info is None else self._info.name

    @property
    def engine(self) -> str:
        """The engine: ``"kompute"``, ``"vulkan"``, ``"reference"``, ``"cpu"``."""
        return _CPU if self._info is None else self._info.engine

    @property
    def version(self) -> int:
        """The version of the device model, major in the high 16 bits."""
        return _VERSION

    @property
    def is_debug(self) -> bool:
        """Whether Vulkan's validation layers were requested."""
        return "validation" in os.environ.get("VK_INSTANCE_LAYERS", "").lower()

    @property
    def is_emulated(self) -> bool:
        """Whether it runs on the host's processor: a CPU driver, the reference accelerator, ``"cpu"``."""
        return self._info is None or self._info.kind in ("cpu", "reference")

    @property
    def has_display(self) -> bool:
        """False: compute devices are opened without asking for displays."""
        return False

    @property
    def dedicated_memory(self) -> int:
        """The device's dedicated memory in KB; 0 if it has none."""
        return 0 if self._info is None or self._info.kind == "cpu" else self._info.memory_bytes // 1024

    @property
    def supports_double_precision(self) -> bool:
        """Whether kernels may use float64 there: the device has it, and the engine can enable it."""
        return self._info is not None and "float64" in self._info.usable_features

    @property
    def supports_limited_double_precision(self) -> bool:
        """Like ``supports_double_precision``: vkamp has no limited double precision."""
        return self.supports_double_precision

    @property
    def supports_cpu_shared_memory(self) -> bool:
        """Whether the device shares memory with the host."""
        return self._info is None or self._info.kind in ("cpu", "integrated", "reference")

    @property
    def default_cpu_access_type(self) -> access_type:
        """The default host access to arrays here: none on a device unless :meth:`set_default_cpu_access_type` changed
        it, read_write on ``"cpu"``.
        """
        if self._info is None:
            return access_type_read_write
        return _engines.access.get(self._info, access_type_none)

    def set_default_cpu_access_type(self, access: access_type) -> bool:
        """Makes ``access`` the default for arrays here; True only the first time, and before an array was made with the
        default. Raises ``AmpError`` if the accelerator shares no memory with the host, and ``TypeError`` for
        ``access_type_auto``.
        """
        if not isinstance(access, access_type) or access == access_type_auto:
            raise TypeError(f"the default must be access_type_none, read, write or read_write, got {access!r}")
        self._check_access(access)
        with _engines.lock:
            if self._info is None or self._info in _engines.access:
                return False
            _engines.access[self._info] = access
            return True

    def _check_access(self, requested: access_type) -> None:
        if requested != access_type_none and not self.supports_cpu_shared_memory:
            raise AmpError(f"cpu_access_type {requested.name}: {self.description} shares no memory with the host")

    @property
    def limits(self) -> Limits | None:
        """The limits of the device: tile sizes, memory, subgroups, and ``compute_units``, the number of units that run
        tiles (processors, for a CPU driver; None where the driver does not report it). None for ``"cpu"``."""
        return None if self._info is None else self._info.limits

    @property
    def features(self) -> frozenset[str]:
        """The optional features that kernels can use, as ``amp.target.has`` names them; of ``"cpu"`` none."""
        return frozenset() if self._info is None else self._info.kernel_features

    @property
    def quirks(self) -> frozenset[str]:
        """The faults of the driver, by the names that ``vkamp info`` lists."""
        return frozenset() if self._info is None else frozenset(row.name for row in faults_of(self._info))

    @property
    def default_view(self) -> accelerator_view:
        """The view that launches on this accelerator use; queuing mode automatic."""
        with _engines.lock:
            view = _engines.default_views.get(self._info)
            if view is None:
                view = _View(self, queuing_mode_automatic)
                _engines.default_views[self._info] = view
            return accelerator_view._of(view)

    def create_view(self, mode: queuing_mode = queuing_mode_automatic) -> accelerator_view:
        """A new view, equal to no other; views of one accelerator are not ordered among each other."""
        return accelerator_view._of(_View(self, queuing_mode(mode)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, accelerator) and self._info == other._info

    def __hash__(self) -> int:
        return hash(self._info)

    def __repr__(self) -> str:
        return f"<accelerator {self.device_path}: {self.description}>"

    def __reduce__(self) -> tuple[Any, ...]:
        path, engine = self.device_path.partition("@")[0], self.engine
        return _unpickled, (path, engine if engine in _VULKAN_ENGINES else None)


class _View:
    """What views that are equal share: accelerator, queuing mode, and the queue (None on ``"cpu"``)."""

    def __init__(self, owner: accelerator, mode: queuing_mode) -> None:
        self.owner = owner
        self.mode = mode
        self.queue: Queue | None = None
        if owner._info is not None:
            self.queue = _open(owner)
            self.queue.immediate = mode is queuing_mode_immediate
            with _engines.lock:
                _engines.queues.add(self.queue)
                if _engines.observer is not None:
                    _attach(self.queue, _engines.observer)


def _open(owner: accelerator) -> Queue:
    """A queue on an accelerator; Kompute provides it if ``auto`` chose an engine that cannot open the device."""
    info = owner._info
    assert info is not None
    try:
        return _engines.engines[info.engine].open(info)
    except AmpError as error:
        if info.engine != _DIRECT or _engine_name(None) != _AUTO or choose_engine(info)[0] != _DIRECT:
            raise
        other = _engines.to_vulkan(_KOMPUTE)
        try:
            (again,) = (each for each in other.devices() if _identity(each) == _identity(info))
            queue = other.open(again)
        except (AmpError, ValueError):
            raise error from None
        with _engines.lock:
            _engines.unopened[_identity(info)] = str(error)
            _engines.default = None
            owner._info = again
        return queue


def _attach(queue: Queue, observer: Observer) -> None:
    try:
        queue.profile(observer.sink(queue))
    except AcceleratorRemovedError:
        pass  # Its next use raises an error.
    except AmpError as error:
        observer.missed(queue, error)


def observe(observer: Observer) -> None:
    """Makes the engines measure the times of all work on all queues, also of later ones, until :func:`stop_observing`.

    ``AmpError`` if there is an observer already.
    """
    with _engines.lock:
        if _engines.observer is not None:
            raise AmpError("amp.profile() inside amp.profile(): profiles cannot be nested")
        _engines.observer = observer
        for queue in list(_engines.queues):
            if queue.is_open:
                _attach(queue, observer)


def stop_observing() -> None:
    """Waits for all work on all queues, reports it to the observer, and ends the observation."""
    with _engines.lock:
        observer, _engines.observer = _engines.observer, None
        queues = [queue for queue in _engines.queues if queue.is_open]
    assert observer is not None
    try:
        for queue in queues:
            try:
                queue.wait()
            except AmpError as error:
                observer.missed(queue, error)
    finally:
        for queue in queues:
            with contextlib.suppress(AmpError):
                queue.profile(None)


@entry_point
class accelerator_view:
    """A queue of an accelerator: launches on it run in order (AMP: ``accelerator_view``).

    Views come from ``accelerator.default_view`` and ``accelerator.create_view``; a copy is the same view, and equal. A
    view of ``"cpu"`` stores data but runs no kernels. A pickled view is one of the accelerator with the same path where
    it is unpickled: its default view, or a new one of the same queuing mode.
    """

    __slots__ = ("__weakref__", "_identity", "_is_auto", "_view")

    def __init__(self, other: accelerator_view) -> None:
        if not isinstance(other, accelerator_view):
            raise TypeError("accelerator_view copies a view; accelerator.create_view() makes one")
        self._view: _View = other._view
        self._is_auto: bool = other._is_auto
        self._identity: int | None = other._identity

    @classmethod
    def _of(cls, view: _View, *, is_auto: bool = False) -> accelerator_view:
        made = cls.__new__(cls)
        made._view, made._is_auto, made._identity = view, is_auto, None if is_auto else id(view)
        return made

    @property
    def _info(self) -> DeviceInfo | None:
        """The device; None on ``"cpu"``."""
        return self._view.owner._info

    @property
    def _queue(self) -> Queue:
        """What launches are enqueued on; ``UnsupportedFeatureError`` on ``"cpu"``."""
        if self._view.queue is None:
            raise UnsupportedFeatureError(_no_kernels())
        return self._view.queue

    @property
    def accelerator(self) -> accelerator:
        """The accelerator that it is a view of."""
        return self._view.owner

    @property
    def queuing_mode(self) -> queuing_mode:
        """When launches are submitted."""
        return self._view.mode

    @property
    def is_auto_selection(self) -> bool:
        """Whether it means "choose one" (``accelerator.get_auto_selection_view()``)."""
        return self._is_auto

    @property
    def version(self) -> int:
        """The accelerator's version."""
        return self._view.owner.version

    @property
    def is_debug(self) -> bool:
        """The accelerator's ``is_debug``."""
        return self._view.owner.is_debug

    @property
    def runs_kernels(self) -> bool:
        """False for views of ``"cpu"``."""
        return self._view.queue is not None

    def host_access(self, requested: access_type) -> access_type:
        """How the host may access the elements of an array here that requests ``requested``; ``AmpError`` if the
        accelerator shares no memory with the host. ``access_type_auto`` is the accelerator's default, which cannot be
        changed after that.
        """
        if not isinstance(requested, access_type):
            raise TypeError(f"cpu_access_type must be an access_type, got {requested!r}")
        owner = self._view.owner
        if owner._info is None:
            return access_type_read_write
        if requested == access_type_auto:
            with _engines.lock:
                return _engines.access.setdefault(owner._info, access_type_none)
        owner._check_access(requested)
        return requested

    def allocate(self, nbytes: int) -> Storage:
        """Memory of the view, ``nbytes`` (1 or more) long; ``OutOfMemoryError`` if there is none."""
        if self._view.queue is None:
            return HostStorage(nbytes)
        return self._view.queue.allocate(nbytes)

    def share(self, memory: NDArray[np.uint8]) -> Storage | None:
        """Host memory itself as storage here; None if the accelerator cannot work in it."""
        return None if self._view.queue is None else self._view.queue.share(memory)

    def flush(self) -> None:
        """Submits everything launched so far, without waiting for it."""
        if self._view.queue is not None:
            self._view.queue.flush()

    def wait(self) -> None:
        """Submits everything launched so far and waits until it is done."""
        refuse("wait() of", self)
        if self._view.queue is not None:
            self._view.queue.wait()

    @property
    def statistics(self) -> Statistics:
        """A copy of the view's counters: launches, compilations, bytes copied; all 0 on ``"cpu"``."""
        return Statistics() if self._view.queue is None else self._view.queue.statistics

    def create_marker(self) -> completion_future:
        """Submits everything launched so far; the future is ready when it is done, whatever is launched later (AMP:
        ``create_marker``). ``get()`` raises what went wrong on the device.
        """
        refuse("create_marker() of", self)
        if self._view.queue is None:
            return completed()
        return completion_of(self._view.queue.mark())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, accelerator_view) and self._view is other._view

    def __hash__(self) -> int:
        return id(self._view)

    def __repr__(self) -> str:
        return f"<accelerator_view of {self.accelerator.device_path}, {self.queuing_mode.value}>"

    def __copy__(self) -> accelerator_view:
        return accelerator_view(self)

    def __deepcopy__(self, memo: object) -> accelerator_view:
        return accelerator_view(self)

    def __reduce__(self) -> tuple[Any, ...]:
        is_default = _engines.default_views.get(self._info) is self._view
        return _unpickled_view, (self.accelerator, None if is_default else self.queuing_mode, self._is_auto)


def _unpickled(path: str, engine: str | None) -> accelerator:
    return accelerator(path, engine=engine)


def _unpickled_view(owner: accelerator, mode: queuing_mode | None, is_auto: bool) -> accelerator_view:
    if is_auto:
        return accelerator.get_auto_selection_view()
    return owner.default_view if mode is None else owner.create_view(mode)


def _no_kernels() -> str:
    text = f'accelerator("{_CPU}") stores data but runs no kernels'
    try:
        _vulkan_devices()
    except AmpError as error:
        return f"{text}, and no other was found: {error}"
    return text


_name, _engine = EnvironmentVariable(_VARIABLE), EnvironmentVariable(_ENGINE_VARIABLE)


class _Default(NamedTuple):
    """The default view, and the settings that selected it."""

    variables: tuple[str | None, str | None]
    devices: object
    view: accelerator_view


def queue_of(view: accelerator_view) -> Queue:
    """What launches on a view are enqueued on; ``UnsupportedFeatureError`` on ``"cpu"``."""
    return view._queue


def info_of(place: accelerator_view | accelerator) -> DeviceInfo | None:
    """The properties of a view's or an accelerator's device; None on ``"cpu"``."""
    return place._info


#: The identity of a view while it is alive; None for a view that means "choose one". A call in C.
identity_of: Callable[[accelerator_view], int | None] = attrgetter("_identity")


def default_view() -> accelerator_view:
    """The default accelerator's default view; cheap if nothing has changed since the last call."""
    variables = _name.value(), _engine.value()
    known = _engines.default
    if known is not None and known.variables == variables and known.devices is devices.known_devices():
        return known.view
    with _engines.lock:
        view = accelerator().default_view
        found = devices.known_devices()
        _engines.default = None if found is None else _Default(variables, found, view)
    return view


set_location_provider(default_view)
set_host_location_provider(lambda: accelerator(_CPU).default_view)
