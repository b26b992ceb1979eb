"""Device discovery: which Vulkan devices there are, with limits, features and memory, and why there are no others.

Kompute crashes where there is no driver, so the loader is asked first through PyPI's ``vulkan``. What this module finds
is remembered for the process; every step is recorded for people who wonder (:func:`steps`).
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vkamp.errors import AmpError
from vkamp.run.engine import SUBGROUP_OPERATIONS, DeviceInfo, DeviceKind, Heap, Limits, MemoryType, Step
from vkamp.run.features import FeatureChain, chain, struct
from vkamp.run.workarounds import has_quirk

#: Kompute's buffer sizes are 32-bit; the last word is left out so that rounding up can't wrap.
KOMPUTE_BUFFER_BYTES = 2**32 - 4
_MANIFEST = "vk_swiftshader_icd.json"
_API_1_1 = (1 << 22) | (1 << 12)
_ADD_DRIVER_FILES_SINCE = (1, 3, 207)
_INCOMPATIBLE_DRIVER = -9
_KINDS: dict[int, DeviceKind] = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_ORDER: dict[DeviceKind, int] = {
    "discrete": 0,
    "integrated": 1,
    "virtual": 2,
    "other": 3,
    "cpu": 4,
    "reference": 5,
}

_NO_LOADER = (
    "there is no Vulkan loader on this machine ({reason}): install it ({package}), or use "
    'accelerator("reference"), which needs none'
)
_NO_DEVICE = (
    "there is no Vulkan device on this machine: {reason}. Install the graphics card's driver, or a "
    "driver that runs on the CPU: {package}; "
    "any Chromium-family browser brings one too (SwiftShader), which vkamp finds automatically. "
    'accelerator("reference") needs no driver'
)


@dataclass
class _State:
    """What is known in this process; ``added`` is the SwiftShader manifest that the loader is told of, ``only`` the
    sound driver manifests, if it stumbles over a broken one.
    """

    devices: list[DeviceInfo] | None = None
    added: Path | None = None
    only: list[Path] = field(default_factory=list)
    loader_version: tuple[int, int, int] = (0, 0, 0)
    steps: list[Step] = field(default_factory=list)


_lock = threading.RLock()
_state = _State()


def vulkan_devices(*, search_browsers: bool = False) -> list[DeviceInfo]:
    """The Vulkan devices in the loader's order, asked once per process.

    If the loader has no device, SwiftShader is looked for where browsers install it; ``search_browsers`` does that even
    if there are others. Raises ``AmpError`` which says what to install, if there is no loader or no device.
    """
    with _lock:
        if _state.devices is None:
            _state.steps.clear()
            _state.devices = _discover()
        if search_browsers and _state.added is None:
            _state.devices = _add_swiftshader(_state.devices) or _state.devices
        return list(_state.devices)


def known_devices() -> object:
    """What stands for the devices as they are known now: another object when they are others, None before."""
    return _state.devices


def as_kompute(info: DeviceInfo) -> DeviceInfo:
    """The device as the Kompute engine offers it: no feature enabled, and its sizes are 32-bit."""
    largest = min(info.limits.buffer_bytes, KOMPUTE_BUFFER_BYTES)
    return replace(info, engine="kompute", limits=replace(info.limits, buffer_bytes=largest))


def shares_memory(info: DeviceInfo) -> bool:
    """Whether kernels best use memory that the host sees, too."""
    return info.kind in ("cpu", "integrated") and any(each.host_coherent for each in info.memory_types)


def free_memory(info: DeviceInfo) -> tuple[int, ...] | None:
    """Bytes that each heap of the device would still give this process; None if its driver can't say."""
    with _lock:
        binding = load_binding()
        with _instance(binding) as (instance, _):
            handles = physical_devices(binding, instance)[0] if instance is not None else []
            if info.index >= len(handles):
                return None
            device = handles[info.index]
            if "VK_EXT_memory_budget" not in device_extensions(binding, device):
                return None
            return heap_budgets(binding, device)


def heap_budgets(binding: Any, device: Any) -> tuple[int, ...]:
    """Bytes that each heap of a physical device with VK_EXT_memory_budget would still give this process."""
    heaps, _types = _memory(binding, device, True)
    return tuple(heap.budget for heap in heaps)


def steps() -> list[Step]:
    """What discovery did so far, in order."""
    with _lock:
        return list(_state.steps)


def rank(info: DeviceInfo) -> tuple[int, bool, int, int]:
    """Sort key for the default device: kind, then the driver (those whose loops end too early last), then memory."""
    return (_ORDER[info.kind], has_quirk(info, "ends_loops"), -info.memory_bytes, info.index)


def _record(what: str, result: str, *, ok: bool = True, details: list[str] | None = None) -> None:
    _state.steps.append(Step(what, result, ok, details or []))


# -- the environment of the loader --------------------------------------------------------------


@contextlib.contextmanager
def driver_environment() -> Iterator[None]:
    """Sets what the loader reads while it makes an instance, and puts the variables back.

    Layers that merely are installed stay out (they slow every submission down), unless the user asked for layers. A
    SwiftShader that was found is added. Child processes see nothing of it.
    """
    with _lock:
        wanted = _driver_variables()
        if not os.environ.get("VK_INSTANCE_LAYERS") and "VK_LOADER_LAYERS_DISABLE" not in os.environ:
            wanted["VK_LOADER_LAYERS_DISABLE"] = "~all~"
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _driver_variables() -> dict[str, str]:
    """The variables that tell the loader of the manifests that it doesn't find, or must not read."""
    can_add = _state.loader_version >= _ADD_DRIVER_FILES_SINCE
    added = [str(_state.added)] if _state.added is not None else []
    if _state.only:
        files = os.pathsep.join([*map(str, _state.only), *added])
        return {"VK_DRIVER_FILES": files, "VK_ADD_DRIVER_FILES": ""} if can_add else {"VK_ICD_FILENAMES": files}
    if not added:
        return {}
    if can_add:
        before = [name for name in (os.environ.get("VK_ADD_DRIVER_FILES"),) if name]
        return {"VK_ADD_DRIVER_FILES": os.pathsep.join([*before, *added])}
    # An older loader can only be given a whole list; it had no device, so nothing is lost.
    return {"VK_ICD_FILENAMES": added[0]}


def restricting_variable() -> str | None:
    """The variable by which the user fixed the list of drivers, if any."""
    return next((n for n in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES") if os.environ.get(n)), None)


# -- discovery ----------------------------------------------------------------------------------


def _discover() -> list[DeviceInfo]:
    binding = load_binding()
    devices, reason = _ask_loader(binding)
    if not devices and _leave_out_broken_manifests():
        devices, reason = _ask_loader(binding)
    if devices:
        return devices
    restricted = restricting_variable()
    if restricted is not None:
        reason = f"{restricted}={os.environ[restricted]} names no driver that works"
        _record("SwiftShader of a browser", f"not looked for: {restricted} is set")
    else:
        devices = _add_swiftshader([]) or []
    if not devices:
        raise AmpError(_NO_DEVICE.format(reason=reason, package=_driver_package()))
    return devices


def _add_swiftshader(before: list[DeviceInfo]) -> list[DeviceInfo] | None:
    """The devices with a browser's SwiftShader among them; None if there is none that loads."""
    if restricting_variable() is not None:
        return None
    if before and _state.loader_version < _ADD_DRIVER_FILES_SINCE:
        _record("SwiftShader of a browser", "not added: this loader can't add to its drivers", ok=False)
        return None
    binding = load_binding()
    for manifest in find_swiftshader():
        _state.added = manifest
        devices, _ = _ask_loader(binding)
        if len(devices) > len(before):
            _record("SwiftShader of a browser", f"added {manifest}")
            return devices
        _record("SwiftShader of a browser", f"{manifest} does not load", ok=False)
    _state.added = None
    return None


def _leave_out_broken_manifests() -> bool:
    """Keeps the loader from driver manifests that are no JSON: some fail as a whole over one. True if there are any."""
    manifests = installed_manifests()
    broken = {path: problem for path in manifests if (problem := _json_problem(path))}
    sound = [path for path in manifests if path not in broken]
    for path, problem in broken.items():
        _record("driver manifests", f"{path} is left out: {problem}", ok=False)
    _state.only = sound if broken else []
    return bool(broken and sound)


def _json_problem(path: Path) -> str | None:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return str(error)
    return None


def installed_manifests() -> list[Path]:
    """The driver manifests that the loader reads; none on Windows, where the registry names them."""
    if sys.platform == "win32":
        return []
    restricted = restricting_variable()
    named = os.environ.get(restricted, "") if restricted else os.environ.get("VK_ADD_DRIVER_FILES", "")
    places = [Path(name) for name in named.split(os.pathsep) if name]
    if restricted is None:
        places += [root / "vulkan" / "icd.d" for root in _data_folders(os.environ, Path.home())]
    files: list[Path] = []
    for place in places:
        files += sorted(place.glob("*.json")) if place.is_dir() else [place] if place.is_file() else []
    return list(dict.fromkeys(files))


def _data_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Where the loader looks for ``vulkan/icd.d``, in its order."""
    names = [environ.get("XDG_CONFIG_HOME") or str(home / ".config")]
    names += (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    names += ["/usr/local/etc", "/etc"]
    names.append(environ.get("XDG_DATA_HOME") or str(home / ".local/share"))
    names += (environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)
    if sys.platform == "darwin":
        names.append("/opt/homebrew/share")
    return [Path(name) for name in names if name]


def find_swiftshader() -> list[Path]:
    """Driver manifests of SwiftShader in installed browsers and Electron applications, whose library exists."""
    found: list[Path] = []
    patterns = browser_patterns(sys.platform, os.environ, Path.home())
    for pattern in patterns:
        for name in sorted(glob.glob(os.path.join(pattern, _MANIFEST))):
            path = Path(name)
            problem = manifest_problem(path)
            if problem:
                _record("SwiftShader of a browser", f"{path}: {problem}", ok=False)
            elif path.resolve() not in (p.resolve() for p in found):
                found.append(path)
    _record(
        "SwiftShader of a browser",
        f"{len(found)} found in {len(patterns)} places",
        ok=bool(found),
        details=[str(p) for p in found] or patterns,
    )
    return found


def manifest_problem(manifest: Path) -> str | None:
    """Why a driver manifest can't be used, or None."""
    try:
        library = json.loads(manifest.read_text(encoding="utf-8"))["ICD"]["library_path"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"not a driver manifest ({error})"
    if not isinstance(library, str):
        return "not a driver manifest (library_path is no string)"
    # A bare file name is looked for by the system's linker, anything else beside the manifest.
    if os.path.basename(library) != library and not (manifest.parent / library).is_file():
        return f"its library {library} is missing"
    return None


def browser_patterns(platform: str, environ: Mapping[str, str], home: Path) -> list[str]:
    """Where Chromium-family browsers and Electron applications keep SwiftShader: folders, with wildcards."""
    if platform == "win32":
        return _windows_patterns(environ)
    if platform == "darwin":
        inside = "*.app/Contents/Frameworks/*.framework/Versions/*/Libraries"
        return [f"{root}/{inside}" for root in ("/Applications", str(home / "Applications"))]
    return [
        "/usr/lib/chromium",
        "/usr/lib64/chromium",
        "/usr/lib/chromium-browser",
        "/usr/lib64/chromium-browser",
        "/snap/chromium/current/usr/lib/chromium-browser",
        "/opt/google/chrome*",
        "/opt/microsoft/msedge*",
        "/opt/brave.com/brave*",
        "/opt/vivaldi*",
        "/opt/visual-studio-code",
        "/usr/share/code*",
        "/usr/share/codium",
        "/usr/lib/electron*",
        "/usr/lib/electron*/dist",
        "/usr/lib/slack",
        "/usr/share/discord",
        "/opt/*",
        "/snap/code/current/usr/share/code",
        "/var/lib/flatpak/app/*/current/active/files/*",
        str(home / ".local/share/flatpak/app/*/current/active/files/*"),
        str(home / ".cache/ms-playwright/chromium-*/chrome-linux*"),
        str(home / ".cache/puppeteer/chrome/*/chrome-linux64"),
    ]


def _windows_patterns(environ: Mapping[str, str]) -> list[str]:
    local = environ.get("LOCALAPPDATA", "")
    programs = [environ.get(n, "") for n in ("PROGRAMFILES", "PROGRAMFILES(X86)")] + [local]
    browsers = (
        "Google\\Chrome*\\Application\\*",
        "Microsoft\\Edge*\\Application\\*",
        "BraveSoftware\\Brave-Browser\\Application\\*",
        "Chromium\\Application\\*",
        "Vivaldi\\Application\\*",
        "Microsoft VS Code*",
        "Microsoft VS Code*\\*",
    )
    patterns = [f"{root}\\{browser}" for root in programs if root for browser in browsers]
    if local:
        patterns += [f"{local}\\Programs\\*", f"{local}\\Programs\\*\\*", f"{local}\\*\\app-*"]
    return patterns


def no_loader(reason: object) -> AmpError:
    """The error where the Vulkan loader does not load."""
    return AmpError(_NO_LOADER.format(reason=reason, package=_loader_package()))


def _loader_package() -> str:
    return {
        "win32": "a graphics driver or the Vulkan runtime from LunarG brings vulkan-1.dll",
        "darwin": "brew install vulkan-loader molten-vk",
    }.get(
        sys.platform,
        "apt install libvulkan1, dnf install vulkan-loader, pacman -S vulkan-icd-loader",
    )


def _driver_package() -> str:
    return {
        "win32": "Microsoft's OpenCL, OpenGL and Vulkan Compatibility Pack",
        "darwin": "brew install molten-vk",
    }.get(sys.platform, "apt install mesa-vulkan-drivers (lavapipe)")


def swiftshader_package() -> str:
    """How to get SwiftShader where it is not, for users of this system."""
    text = "SwiftShader is found where Chromium, Chrome, Edge, VS Code or Playwright's Chromium is installed."
    if not sys.platform.startswith("linux"):
        return text
    return (
        f"{text} To install it alone on Debian:\n"
        "  apt-get download chromium-common && dpkg -x chromium-common_*.deb chromium\n"
        f"  install -Dt ~/.local/share/vulkan/icd.d chromium/usr/lib/chromium/*{_MANIFEST.removesuffix('_icd.json')}*"
    )


# -- asking the loader --------------------------------------------------------------------------


def load_binding() -> Any:
    """PyPI's ``vulkan``, which opens the loader when it is imported."""
    try:
        import vulkan as binding
    except ModuleNotFoundError as error:
        _record("the Python package vulkan", str(error), ok=False)
        raise AmpError(f"the Python package vulkan is missing ({error}): pip install vulkan") from error
    except OSError as error:
        # Half imported, it would fail differently the next time.
        for name in [n for n in sys.modules if n == "vulkan" or n.startswith("vulkan.")]:
            del sys.modules[name]
        _record("the Vulkan loader", str(error), ok=False)
        raise no_loader(error) from error
    version = binding.ffi.new("uint32_t*")
    try:
        binding.lib.vkEnumerateInstanceVersion(version)
    except AttributeError as error:
        _record("the Vulkan loader", "older than Vulkan 1.1", ok=False)
        raise no_loader("it is older than Vulkan 1.1") from error
    _state.loader_version = _version(version[0])
    _record("the Vulkan loader", "version " + ".".join(map(str, _state.loader_version)))
    return binding


def _version(packed: int) -> tuple[int, int, int]:
    return (packed >> 22) & 0x7F, (packed >> 12) & 0x3FF, packed & 0xFFF


@contextlib.contextmanager
def _instance(vk: Any) -> Iterator[tuple[Any, int]]:
    """A Vulkan instance as Kompute makes it, or None, and the loader's result."""
    instance, result = create_instance(vk, _API_1_1)
    try:
        yield instance, result
    finally:
        if instance is not None:
            vk.lib.vkDestroyInstance(instance, vk.ffi.NULL)


def create_instance(vk: Any, api_version: int) -> tuple[Any, int]:
    """A Vulkan instance in the environment that discovery found, or None, and the loader's result."""
    ffi, lib = vk.ffi, vk.lib
    # Every struct is held in a variable: the package keeps nothing alive through a pointer.
    application = ffi.new("VkApplicationInfo*")
    application.sType = vk.VK_STRUCTURE_TYPE_APPLICATION_INFO
    application.apiVersion = api_version
    create = ffi.new("VkInstanceCreateInfo*")
    create.sType = vk.VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
    create.pApplicationInfo = application
    handle = ffi.new("VkInstance*")
    with driver_environment():
        result = lib.vkCreateInstance(create, ffi.NULL, handle)
    return (handle[0] if result == 0 else None), result


def loader_version() -> tuple[int, int, int]:
    """The loader's version of Vulkan; zeros before it was asked for devices."""
    return _state.loader_version


def physical_devices(vk: Any, instance: Any) -> tuple[list[Any], int]:
    """The physical devices of ``instance``, and the driver's result."""
    ffi, lib = vk.ffi, vk.lib
    count = ffi.new("uint32_t*")
    result = lib.vkEnumeratePhysicalDevices(instance, count, ffi.NULL)
    handles = ffi.new("VkPhysicalDevice[]", max(1, count[0]))
    if result == 0 and count[0]:
        result = lib.vkEnumeratePhysicalDevices(instance, count, handles)
    return [handles[i] for i in range(count[0])] if result >= 0 else [], result


def _ask_loader(vk: Any) -> tuple[list[DeviceInfo], str]:
    """The devices of an instance made for the question, and why there are none, if so."""
    with _instance(vk) as (instance, result):
        if instance is None:
            reason = "the Vulkan loader finds no driver"
            if result != _INCOMPATIBLE_DRIVER:
                reason = f"vkCreateInstance failed with {result}"
            _record("an instance", reason, ok=False)
            return [], reason
        handles, result = physical_devices(vk, instance)
        if not handles:
            reason = "the Vulkan loader has drivers, but they find no device"
            _record("devices", f"{reason} ({result})", ok=False)
            return [], reason
        devices = [_describe(vk, handle, i) for i, handle in enumerate(handles)]
    names = [f"{d.index}: {d.name}" for d in devices]
    _record("devices", f"{len(devices)} found", details=names)
    return devices, ""


def _describe(vk: Any, device: Any, index: int) -> DeviceInfo:
    extensions = device_extensions(vk, device)
    plain = vk.ffi.new("VkPhysicalDeviceProperties*")
    vk.lib.vkGetPhysicalDeviceProperties(device, plain)
    version = _version(plain.apiVersion)
    driver = struct(vk, "VkPhysicalDeviceDriverProperties")
    ids = struct(vk, "VkPhysicalDeviceIDProperties")
    subgroup = struct(vk, "VkPhysicalDeviceSubgroupProperties")
    sizes = struct(vk, "VkPhysicalDeviceMaintenance3Properties")
    if version >= (1, 1, 0):
        head = struct(vk, "VkPhysicalDeviceProperties2")
        parts = [ids, subgroup, sizes]
        if version >= (1, 2, 0) or "VK_KHR_driver_properties" in extensions:
            parts.append(driver)
        chain(vk, head, *parts)
        vk.lib.vkGetPhysicalDeviceProperties2(device, head)
    heaps, types = _memory(vk, device, "VK_EXT_memory_budget" in extensions)
    return DeviceInfo(
        engine="vulkan",
        index=index,
        name=_text(vk, plain.deviceName),
        kind=_KINDS.get(plain.deviceType, "other"),
        vendor_id=plain.vendorID,
        driver=_driver_text(vk, driver, plain.driverVersion),
        api_version=version,
        uuid=bytes(vk.ffi.buffer(ids.deviceUUID)).hex(),
        memory_bytes=sum(h.size for h in heaps if h.device_local),
        limits=_limits(vk, plain.limits, subgroup, sizes.maxMemoryAllocationSize),
        features=FeatureChain(vk, device, version, extensions).names(),
        engine_features=frozenset(),
        heaps=heaps,
        memory_types=types,
        max_allocations=plain.limits.maxMemoryAllocationCount,
        tick=plain.limits.timestampPeriod * 1e-9,
        tick_bits=_timestamp_bits(vk, device),
    )


def queue_families(vk: Any, device: Any) -> Any:
    """The queue families of a physical device, as Vulkan's structs."""
    ask, count = vk.lib.vkGetPhysicalDeviceQueueFamilyProperties, vk.ffi.new("uint32_t*")
    ask(device, count, vk.ffi.NULL)
    rows = vk.ffi.new("VkQueueFamilyProperties[]", count[0])
    ask(device, count, rows)
    return rows


def _timestamp_bits(vk: Any, device: Any) -> int:
    """The valid bits of timestamps on every family of queues that compute; 0 if one has no timestamps."""
    families = (row for row in queue_families(vk, device) if row.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
    return min((family.timestampValidBits for family in families), default=0)


def _text(vk: Any, chars: Any) -> str:
    raw: bytes = vk.ffi.string(chars)
    return raw.decode("utf-8", errors="replace")


def _driver_text(vk: Any, driver: Any, packed: int) -> str:
    known = f"{_text(vk, driver.driverName)} {_text(vk, driver.driverInfo)}".strip()
    return known or ".".join(map(str, _version(packed)))


def device_extensions(vk: Any, device: Any) -> frozenset[str]:
    ffi, lib = vk.ffi, vk.lib
    count = ffi.new("uint32_t*")
    lib.vkEnumerateDeviceExtensionProperties(device, ffi.NULL, count, ffi.NULL)
    rows = ffi.new("VkExtensionProperties[]", max(1, count[0]))
    lib.vkEnumerateDeviceExtensionProperties(device, ffi.NULL, count, rows)
    return frozenset(_text(vk, rows[i].extensionName) for i in range(count[0]))


def _limits(vk: Any, limits: Any, subgroup: Any, allocation: int) -> Limits:
    size, count = limits.maxComputeWorkGroupSize, limits.maxComputeWorkGroupCount
    largest = min(limits.maxStorageBufferRange, allocation or 2**64)
    return Limits(
        tile_threads=limits.maxComputeWorkGroupInvocations,
        tile_size=(size[0], size[1], size[2]),
        tile_count=(count[0], count[1], count[2]),
        shared_bytes=limits.maxComputeSharedMemorySize,
        buffer_bytes=largest - largest % 4,
        push_bytes=limits.maxPushConstantsSize,
        buffers=min(
            limits.maxPerStageDescriptorStorageBuffers,
            limits.maxDescriptorSetStorageBuffers,
            limits.maxPerStageResources,
        ),
        subgroup_size=max(1, subgroup.subgroupSize),
        subgroup_operations=_subgroup_operations(vk, subgroup),
    )


def _subgroup_operations(vk: Any, subgroup: Any) -> frozenset[str]:
    if not subgroup.supportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return frozenset()
    flags = subgroup.supportedOperations
    return frozenset(
        name for name in SUBGROUP_OPERATIONS if flags & getattr(vk, f"VK_SUBGROUP_FEATURE_{name.upper()}_BIT")
    )


def _memory(vk: Any, device: Any, has_budget: bool) -> tuple[tuple[Heap, ...], tuple[MemoryType, ...]]:
    head = struct(vk, "VkPhysicalDeviceMemoryProperties2")
    budget = struct(vk, "VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    if has_budget:
        chain(vk, head, budget)
    vk.lib.vkGetPhysicalDeviceMemoryProperties2(device, head)
    memory = head.memoryProperties
    heaps = []
    for i in range(memory.memoryHeapCount):
        heap = memory.memoryHeaps[i]
        free = max(0, budget.heapBudget[i] - budget.heapUsage[i]) if has_budget else heap.size
        local = bool(heap.flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
        heaps.append(Heap(heap.size, min(free, heap.size), local))
    coherent = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    types = []
    for i in range(memory.memoryTypeCount):
        flags = memory.memoryTypes[i].propertyFlags
        local = bool(flags & vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        heap_index = memory.memoryTypes[i].heapIndex
        types.append(MemoryType(heap_index, local, flags & coherent == coherent))
    return tuple(heaps), tuple(types)
