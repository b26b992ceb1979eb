"""The native libraries and the drivers: the only module that imports ``kp`` and ``vulkan`` and finds drivers. Its
errors say what to install.

Every step is recorded (:func:`steps`).
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from vkamp.errors import AmpError
from vkamp.records import dataclass
from vkamp.run.engine import Step
from vkamp.run.features import struct

#: The newest version of Vulkan that is requested.
NEWEST = (1, 3, 0)
#: The instance extension by which a program consents to drivers that lack parts of Vulkan, and its flag
#: (VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR). A device of such a driver has VK_KHR_portability_subset.
_PORTABILITY, _ENUMERATE_PORTABILITY = "VK_KHR_portability_enumeration", 1
#: What the loader returns where it finds no driver (VK_ERROR_INCOMPATIBLE_DRIVER).
INCOMPATIBLE_DRIVER = -9
_MANIFEST = "vk_swiftshader_icd.json"
#: The first version of the loader that can load drivers in addition to the installed ones.
ADDS_DRIVERS_SINCE = (1, 3, 207)

_NO_LOADER = (
    "there is no Vulkan loader on this machine ({reason}): install it ({package}), or use "
    'accelerator("reference"), which needs none'
)
_NO_KP = (
    "the Python package kp (Kompute) does not load ({reason}): pip install kp, or use the other engine "
    "(VKAMP_ENGINE=vulkan)"
)


@dataclass
class Known:
    """The results of discovery in this process. ``added``: the SwiftShader manifest that the loader reads in addition.
    ``only``: the valid driver manifests, if a broken one makes the loader fail.
    """

    added: Path | None = None
    only: list[Path] = field(default_factory=list)
    loader_version: tuple[int, int, int] = (0, 0, 0)
    steps: list[Step] = field(default_factory=list)


#: Guards the results, and the environment while the loader reads it.
lock = threading.RLock()
known = Known()


def steps() -> list[Step]:
    """The steps of discovery so far, in order."""
    with lock:
        return list(known.steps)


def record(what: str, result: str, *, ok: bool = True, details: list[str] | None = None) -> None:
    """Records a step."""
    known.steps.append(Step(what, result, ok, details or []))


# -- the libraries -------------------------------------------------------------------------------


@cache
def load_kp() -> Any:
    """Kompute, the module ``kp``, imported at first use."""
    import logging  # Kompute loads it; without Kompute, few programs need it.

    root = logging.getLogger()
    handlers = list(root.handlers)
    try:
        import kp
    except ImportError as error:
        if "libvulkan" in str(error):
            # kp is installed, but the library that it is linked to is missing: no other package helps.
            raise _no_loader(error) from error
        raise AmpError(_NO_KP.format(reason=error)) from error
    finally:
        # kp calls logging.basicConfig(), which only the application should call.
        for handler in root.handlers[:]:
            if handler not in handlers:
                root.removeHandler(handler)
    if not hasattr(kp, "Manager") or not hasattr(kp, "OpAlgoDispatch"):
        where = getattr(kp, "__file__", None) or "?"
        raise AmpError(_NO_KP.format(reason=f"the module kp at {where} is not Kompute"))
    logging.getLogger("kp").addHandler(logging.NullHandler())
    return kp


def load_vulkan() -> Any:
    """The package ``vulkan`` of PyPI, which opens the loader when it is imported."""
    try:
        import vulkan as binding
    except ModuleNotFoundError as error:
        record("the Python package vulkan", str(error), ok=False)
        raise AmpError(f"the Python package vulkan is missing ({error}): pip install vulkan") from error
    except OSError as error:
        # A half-imported module would fail differently the next time.
        for name in [n for n in sys.modules if n == "vulkan" or n.startswith("vulkan.")]:
            del sys.modules[name]
        record("the Vulkan loader", str(error), ok=False)
        raise _no_loader(error) from error
    version = binding.ffi.new("uint32_t*")
    try:
        binding.lib.vkEnumerateInstanceVersion(version)
    except AttributeError as error:
        record("the Vulkan loader", "older than Vulkan 1.1", ok=False)
        raise _no_loader("it is older than Vulkan 1.1") from error
    known.loader_version = version_of(version[0])
    record("the Vulkan loader", "version " + ".".join(map(str, known.loader_version)))
    return binding


def version_of(packed: int) -> tuple[int, int, int]:
    """A version of Vulkan: major, minor, patch."""
    return (packed >> 22) & 0x7F, (packed >> 12) & 0x3FF, packed & 0xFFF


def packed_version(limit: tuple[int, int, int] = NEWEST) -> int:
    """The newest version up to ``limit`` that the loader has, as Vulkan packs it."""
    major, minor, _ = min(NEWEST, limit, known.loader_version)
    return (major << 22) | (minor << 12)


def instance_extensions(vk: Any) -> frozenset[str]:
    """The extensions that instances can have."""
    ffi, count = vk.ffi, vk.ffi.new("uint32_t*")
    with driver_environment():
        if vk.lib.vkEnumerateInstanceExtensionProperties(ffi.NULL, count, ffi.NULL) < 0:
            return frozenset()
        rows = ffi.new("VkExtensionProperties[]", max(1, count[0]))
        vk.lib.vkEnumerateInstanceExtensionProperties(ffi.NULL, count, rows)
    return frozenset(ffi.string(rows[k].extensionName).decode() for k in range(count[0]))


def create_instance(vk: Any, api_version: int) -> tuple[Any, int]:
    """A Vulkan instance in the environment that discovery found, or None, and the loader's result.

    On macOS it has the devices of drivers that lack parts of Vulkan, too: usually there is no other (MoltenVK).
    Elsewhere it has them if no other driver is found, since asking for the loader's extensions takes time.
    """
    if sys.platform != "darwin":
        made, result = _create_instance(vk, api_version, consents=False)
        if result != INCOMPATIBLE_DRIVER:
            return made, result
    return _create_instance(vk, api_version, consents=_PORTABILITY in instance_extensions(vk))


class _Spare:
    """An instance that discovery has used, and the version of Vulkan that it allows: the first device that is opened
    takes it, since to create another one takes a driver as long as the import of numpy."""

    instance: Any = None
    api_version = 0


def keep_instance(instance: Any, api_version: int) -> None:
    """Keeps an instance for :func:`take_instance`. A process that is forked does not inherit it."""
    drop_instance()
    if not _Spare.api_version:
        atexit.register(drop_instance)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=drop_instance)
    _Spare.instance, _Spare.api_version = instance, api_version


def take_instance(vk: Any, api_version: int) -> tuple[Any, int]:
    """As :func:`create_instance`, or the instance that was kept, which belongs to the caller from then on."""
    with lock:
        if _Spare.instance is not None and _Spare.api_version >= api_version:
            found, _Spare.instance = _Spare.instance, None
            return found, 0
    return create_instance(vk, api_version)


def drop_instance() -> None:
    """Destroys the instance that was kept, if any."""
    with lock:
        found, _Spare.instance = _Spare.instance, None
        if found is not None:
            vk = load_vulkan()
            vk.lib.vkDestroyInstance(found, vk.ffi.NULL)


def _create_instance(vk: Any, api_version: int, *, consents: bool) -> tuple[Any, int]:
    ffi, lib = vk.ffi, vk.lib
    # Every struct is held in a variable: the package keeps nothing alive through a pointer.
    application = struct(vk, "VkApplicationInfo")
    application.apiVersion = api_version
    create = struct(vk, "VkInstanceCreateInfo")
    create.pApplicationInfo = application
    name = ffi.new("char[]", _PORTABILITY.encode())
    names = ffi.new("char*[]", [name])
    if consents:
        create.flags, create.enabledExtensionCount, create.ppEnabledExtensionNames = _ENUMERATE_PORTABILITY, 1, names
    handle = ffi.new("VkInstance*")
    with driver_environment():
        result = lib.vkCreateInstance(create, ffi.NULL, handle)
    return (handle[0] if result == 0 else None), result


# -- what is missing -----------------------------------------------------------------------------


def _no_loader(reason: object) -> AmpError:
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


def driver_package() -> str:
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


# -- the environment of the loader ---------------------------------------------------------------


@contextlib.contextmanager
def driver_environment() -> Iterator[None]:
    """Sets the variables that the loader reads while it creates an instance, and restores them. Layers that are only
    installed are disabled, since they slow every submission down, unless the user asked for layers. A SwiftShader that
    was found is added. Child processes do not see these variables.
    """
    with lock:
        variables = _driver_variables()
        if not os.environ.get("VK_INSTANCE_LAYERS") and "VK_LOADER_LAYERS_DISABLE" not in os.environ:
            variables["VK_LOADER_LAYERS_DISABLE"] = "~all~"
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
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
    can_add = known.loader_version >= ADDS_DRIVERS_SINCE
    added = [str(known.added)] if known.added is not None else []
    if known.only:
        files = os.pathsep.join([*map(str, known.only), *added])
        return {"VK_DRIVER_FILES": files, "VK_ADD_DRIVER_FILES": ""} if can_add else {"VK_ICD_FILENAMES": files}
    if not added:
        return {}
    if can_add:
        before = [name for name in (os.environ.get("VK_ADD_DRIVER_FILES"),) if name]
        return {"VK_ADD_DRIVER_FILES": os.pathsep.join([*before, *added])}
    # An older loader accepts only a complete list; it had found no device, so nothing is lost.
    return {"VK_ICD_FILENAMES": added[0]}


def restricting_variable() -> str | None:
    """The variable by which the user fixed the list of drivers, if any."""
    return next((n for n in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES") if os.environ.get(n)), None)


# -- drivers' manifests --------------------------------------------------------------------------


def leave_out_broken_manifests() -> bool:
    """Hides driver manifests that are not valid JSON from the loader, since some loaders fail entirely because of one.
    True if there are any."""
    manifests = installed_manifests()
    broken = {path: problem for path in manifests if (problem := _json_problem(path))}
    sound = [path for path in manifests if path not in broken]
    for path, problem in broken.items():
        record("driver manifests", f"{path} is skipped: {problem}", ok=False)
    known.only = sound if broken else []
    return bool(broken and sound)


def _json_problem(path: Path) -> str | None:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return str(error)
    return None


def installed_manifests() -> list[Path]:
    """The driver manifests that the loader reads; none on Windows, where the registry lists them."""
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
                record("SwiftShader of a browser", f"{path}: {problem}", ok=False)
            elif path.resolve() not in (p.resolve() for p in found):
                found.append(path)
    record(
        "SwiftShader of a browser",
        f"{len(found)} found in {len(patterns)} places",
        ok=bool(found),
        details=[str(p) for p in found] or patterns,
    )
    return found


def manifest_problem(manifest: Path) -> str | None:
    """Why a driver manifest is not usable, or None."""
    try:
        library = json.loads(manifest.read_text(encoding="utf-8"))["ICD"]["library_path"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"not a driver manifest ({error})"
    if not isinstance(library, str):
        return "not a driver manifest (library_path is not a string)"
    # A bare file name is looked for by the system's linker, any other relative to the manifest.
    if os.path.basename(library) != library and not (manifest.parent / library).is_file():
        return f"its library {library} is missing"
    return None


def browser_patterns(platform: str, environ: Mapping[str, str], home: Path) -> list[str]:
    """The folders, with wildcards, in which Chromium-family browsers and Electron applications store SwiftShader."""
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
