"""Other frameworks to compare vkamp with: which exist, and how each is measured in a separate process. Drivers and
frameworks disturb one another, and some end the process when they fail. Their output does not reach the table.
"""

# The peers are no dependencies: mypy may not find them, nor know their types.
# mypy: ignore-errors

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools.bench.measure import ROOT, child_environment

__all__ = ["CUDA", "Device", "answer", "ask", "taichi", "versions", "vkdispatch", "wgpu_device"]

#: The peers that reach a device by CUDA only.
CUDA = ("Taichi, CUDA", "CuPy", "numba-cuda", "PyTorch", "Warp")
#: The module name of each peer.
_MODULES = {
    "wgpu-py": "wgpu",
    "vkdispatch": "vkdispatch",
    "numba-vulkan": "numba_vulkan",
    "Taichi, Vulkan": "taichi",
    "Taichi, CUDA": "taichi",
    "CuPy": "cupy",
    "numba-cuda": "numba",
    "PyTorch": "torch",
    "Warp": "warp",
}
#: A child that ends so has found a wrong result.
_WRONG = 1


@dataclass(frozen=True)
class Device:
    """A Vulkan device as peers name it; `index` is the loader's."""

    index: int
    name: str

    @property
    def nvidia(self) -> bool:
        """Whether CUDA leads there, too."""
        return "NVIDIA" in self.name


def ask(module: str, peer: str, device: Device, *arguments: object, seconds: float = 120) -> dict[str, Any]:
    """The answer of the module for a peer, from a child process; in `missing`, why there is none."""
    name = _MODULES.get(peer)
    if name is not None and importlib.util.find_spec(name) is None:
        return {"missing": "not installed"}
    if peer in CUDA and not device.nvidia:
        return {"missing": "needs CUDA"}
    command = [sys.executable, "-W", "ignore", "-m", module, peer, str(device.index), device.name]
    command += [str(argument) for argument in arguments]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", cwd=ROOT, env=_environment(), timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {"missing": f"fails here: no end after {seconds:.0f} s"}
    if run.returncode == _WRONG:
        sys.exit(run.stderr.strip() or f"tools.bench: {peer} ended with status 1")
    if run.returncode != 0:
        return {"missing": f"fails here: {_end(run.returncode)}"}
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@functools.cache
def versions(peer: str) -> dict[str, str]:
    """The versions of the peer's packages, for the notes of a measurement."""
    packages = importlib.metadata.packages_distributions().get(_MODULES.get(peer, ""), [])
    return {package: importlib.metadata.version(package) for package in sorted(set(packages))}


def answer(work: Callable[..., dict[str, Any]]) -> None:
    """Runs in the child: calls `work` with the peer, the device and the arguments of :func:`ask`, and prints its
    answer."""
    peer, index, name, *arguments = sys.argv[1:]
    # Some peers print banners and warnings.
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        found = work(peer, Device(int(index), name), *arguments)
    except Exception as error:  # whatever a peer fails by here, it shall not end the others' measuring
        lines = str(error).strip().splitlines()
        found = {"missing": f"fails here: {type(error).__name__}{f': {lines[0][:150]}' if lines else ''}"}
    with os.fdopen(output, "w") as stream:
        stream.write(json.dumps(found))
    # Some peers crash at the end of the interpreter; the answer has been printed before.
    os._exit(0)


def _environment() -> dict[str, str]:
    """Otherwise Taichi looks for a newer version on the network."""
    return child_environment(TI_SKIP_VERSION_CHECK="ON")


def _end(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


# -- devices of the peers that choose them by themselves --------------------------------------------------------------


def wgpu_device(device: Device) -> Any:
    """wgpu's device, with the adapter's limits for buffers."""
    import wgpu

    for adapter in wgpu.gpu.enumerate_adapters_sync():
        if adapter.info["backend_type"] == "Vulkan" and adapter.info["device"] == device.name:
            limits = ("max-buffer-size", "max-storage-buffer-binding-size")
            return adapter.request_device_sync(required_limits={name: adapter.limits[name] for name in limits})
    raise LookupError(f"no Vulkan adapter named {device.name}")


def vkdispatch(device: Device) -> Any:
    """vkdispatch with a context on the device."""
    import vkdispatch as vd

    vd.initialize(backend="vulkan")
    names = [each.device_name for each in vd.get_devices()]
    vd.make_context(device_ids=names.index(device.name))
    return vd


def taichi(device: Device, cuda: bool) -> Any:
    """Taichi on the device; it would fall back to another one than CUDA or Vulkan in silence."""
    os.environ["TI_VISIBLE_DEVICE"] = str(device.index)
    import taichi as ti

    arch = ti.cuda if cuda else ti.vulkan
    ti.init(arch=arch, offline_cache=False)
    if ti.cfg.arch != arch:
        raise LookupError(f"no {'CUDA' if cuda else 'Vulkan'} here, {ti.cfg.arch} instead")
    return ti
