"""What ``vkamp doctor`` does in separate processes, because a broken driver may crash its process.

``python -m vkamp.cli.probe WHAT [ARGUMENT]`` prints its answer as a line of JSON after a marker, because drivers may
print, too.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.cli.probe_kernel import reverse
from vkamp.run import devices, libraries
from vkamp.run.accelerators import vulkan_engine

MARK = "vkamp-probe: "


def _loader(_: str) -> dict[str, Any]:
    libraries.load_vulkan()
    return {"version": list(libraries.known.loader_version)}


def _devices(_: str) -> dict[str, Any]:
    found = devices.vulkan_devices()
    return {
        "devices": [
            {"index": each.index, "name": each.name, "kind": each.kind, "driver": each.driver} for each in found
        ],
        "steps": [[step.what, step.result, step.ok, step.details] for step in libraries.steps()],
    }


def _engine(name: str) -> dict[str, Any]:
    if name == "kompute":
        return {"file": str(libraries.load_kp().__file__)}
    return {"devices": len(vulkan_engine(name).devices())}


def _run(path: str) -> dict[str, Any]:
    """Runs a tile program with a barrier; returns whether its result is right."""
    view = amp.accelerator(path).default_view
    numbers = amp.array_view(np.arange(256, dtype=np.int32))
    amp.parallel_for_each(view, numbers.extent.tile(64), reverse, numbers)
    right = np.arange(256, dtype=np.int32).reshape(4, 64)[:, ::-1].reshape(-1)
    return {"right": bool(np.array_equal(np.asarray(numbers), right))}


_PROBES = {"loader": _loader, "devices": _devices, "engine": _engine, "run": _run}


def main(argv: list[str]) -> int:
    """Answers one question; an error is also an answer."""
    what, argument = argv[0], "".join(argv[1:2])
    try:
        answer = _PROBES[what](argument)
    except Exception as error:
        # The doctor reports every error.
        answer = {"error": str(error), "kind": type(error).__name__}
    print(f"\n{MARK}{json.dumps(answer)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
