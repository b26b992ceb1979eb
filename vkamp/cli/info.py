"""``vkamp info``: the devices that kernels can run on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import replace
from typing import Any

import click

import vkamp as amp
from vkamp import spirv
from vkamp.cache import default_cache
from vkamp.cli.console import OUT, print_json, print_table, say
from vkamp.edit.active import active_folder
from vkamp.errors import AmpError
from vkamp.run import devices
from vkamp.run.accelerators import choose_engine, info_of
from vkamp.run.engine import DeviceInfo
from vkamp.run.workarounds import faults_of

_ENGINES = ("kompute", "vulkan")
_VARIABLES = ("VKAMP_", "VK_")


def collect() -> dict[str, Any]:
    """Everything that the command shows, as data."""
    found: list[DeviceInfo] = []
    problem = None
    try:
        found = devices.vulkan_devices()
    except AmpError as error:
        problem = str(error)
    return {
        "vkamp": amp.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "default": _default(),
        "problem": problem,
        "devices": [_device(each) for each in found],
        "engines": {"kompute": _version("kp"), "vulkan": _version("vulkan")},
        "compiler": _compiler(),
        "cache": str(default_cache().folder),
        "shaders": _shaders(),
        "environment": {n: v for n, v in sorted(os.environ.items()) if n.startswith(_VARIABLES)},
    }


def _device(info: DeviceInfo) -> dict[str, Any]:
    limits, engine = info.limits, _engine(info)
    return {
        "path": f"vulkan:{info.index}",
        "name": info.name,
        "kind": info.kind,
        "driver": info.driver,
        "api_version": ".".join(map(str, info.api_version)),
        "uuid": info.uuid,
        "memory_bytes": info.memory_bytes,
        "limits": {
            "tile_threads": limits.tile_threads,
            "tile_size": limits.tile_size,
            "tile_count": limits.tile_count,
            "shared_bytes": limits.shared_bytes,
            "buffer_bytes": limits.buffer_bytes,
            "push_bytes": limits.push_bytes,
            "buffers": limits.buffers,
            "subgroup_size": limits.subgroup_size,
            "compute_units": limits.compute_units,
        },
        "features": sorted(info.features),
        "engine": dict(zip(("name", "reason"), engine, strict=True)),
        "quirks": [
            {"name": row.name, "fault": row.fault, "workaround": row.remedy}
            for row in faults_of(replace(info, engine=engine[0]))
        ],
        "engine_features": {name: _usable(name, info) for name in _ENGINES},
    }


def _engine(info: DeviceInfo) -> tuple[str, str]:
    """The engine that is used for a device, and why."""
    given = os.environ.get("VKAMP_ENGINE", "").strip().lower()
    return (given, "VKAMP_ENGINE says so") if given in _ENGINES else choose_engine(info)


def _usable(engine: str, info: DeviceInfo) -> list[str]:
    """What a shader may use on a device through an engine."""
    try:
        made = amp.accelerator(f"vulkan:{info.index}", engine=engine)
    except AmpError:
        return []
    found = info_of(made)
    return [] if found is None else sorted(found.usable_features)


def _default() -> str:
    try:
        made = amp.accelerator()
    except AmpError as error:
        return f"none: {error}"
    return f"{made.device_path} ({made.description})"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> str:
    try:
        found = spirv.find_compiler()
        return f"{found.path} ({_first_version(found.version())})"
    except AmpError as error:
        return f"none: {error}"


def _first_version(text: str) -> str:
    return text.splitlines()[0].removeprefix("Glslang Version:").strip() if text else "?"


def _shaders() -> str | None:
    try:
        store = active_folder()
    except AmpError as error:
        return str(error)
    return None if store is None else str(store.folder)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> int:
    """Show devices, limits, features, drivers and engines. Exits with 1 if there is no Vulkan device."""
    data = collect()
    if as_json:
        print_json(data)
        return 0 if data["devices"] else 1
    say(f"vkamp {data['vkamp']}, Python {data['python']}, {data['platform']}")
    say("")
    if data["devices"]:
        _print_devices(data["devices"])
    else:
        say(data["problem"], "red")
        say("`vkamp doctor` looks for the cause")
    say("")
    engines = data["engines"]
    print_table(
        ("", ""),
        [
            ("default", data["default"]),
            ("without a driver", 'accelerator("reference"), accelerator("cpu")'),
            (
                "engines",
                f"kompute (kp {engines['kompute'] or 'is not installed; vulkan does not need it'}), "
                f"vulkan (vulkan {engines['vulkan'] or 'missing'})",
            ),
            ("compiler", data["compiler"]),
            ("cache", data["cache"]),
            ("edited shaders", data["shaders"] or "no folder is in force"),
            *data["environment"].items(),
        ],
    )
    OUT.file.flush()
    sys.stdout.flush()
    return 0 if data["devices"] else 1


def _print_devices(found: list[dict[str, Any]]) -> None:
    """A column for each device, a row for each property."""
    rows: dict[str, list[str]] = {}
    for device in found:
        limits = device["limits"]
        shown = {
            "name": device["name"],
            "kind": device["kind"],
            "driver": device["driver"],
            "Vulkan": device["api_version"],
            "memory": _size(device["memory_bytes"]),
            "threads of a tile": f"{limits['tile_threads']}, {_by(limits['tile_size'])} at most",
            "tiles": f"{_by(limits['tile_count'])} at most",
            "tile_static memory": _size(limits["shared_bytes"]),
            "lanes of a subgroup": str(limits["subgroup_size"]),
            "compute units": str(limits["compute_units"] or "not reported"),
            "containers of a kernel": str(limits["buffers"]),
            "largest container": _size(limits["buffer_bytes"]),
            "engine": f"{device['engine']['name']}: {device['engine']['reason']}",
            "features": ", ".join(device["features"]) or "none",
            "by Kompute": ", ".join(device["engine_features"]["kompute"]) or "none",
            "by the direct engine": ", ".join(device["engine_features"]["vulkan"]) or "none",
            "driver quirks": ", ".join(each["name"] for each in device["quirks"]) or "none",
        }
        for name, text in shown.items():
            rows.setdefault(name, []).append(text)
    print_table(("", *(each["path"] for each in found)), [(name, *texts) for name, texts in rows.items()])


def _by(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} B"
