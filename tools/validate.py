"""Runs every test that reaches a driver, on lavapipe, under the Vulkan validation layers with synchronisation checks.

    tools/env python -m tools.validate [pytest arguments]

Fails if a test fails, if the layers report anything, or if they do not report a hazard that is planted first: silence
of layers that are not there would prove nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

_SETTINGS = """\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = /dev/stderr
khronos_validation.report_flags = error,warn
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,\
VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT
"""
_REPORT = re.compile(r"\b(VUID-[\w-]+|SYNC-HAZARD-[\w-]+|UNASSIGNED-[\w-]+)")

#: A test with two dispatches of one command buffer, the second of which reads what the first writes, and no barrier
#: between them. It runs as the other tests, and so also shows that reports leave pytest's processes.
_HAZARD = """
import kp, numpy as np, vkamp as amp
from vkamp import spirv

def test_planted_hazard():
    code = spirv.compile('''#version 450
layout(local_size_x = 1) in;
layout(push_constant) uniform Launch { uint more; };
layout(std430, set = 0, binding = 0) readonly buffer from_buffer { uint from[]; };
layout(std430, set = 0, binding = 1) writeonly buffer to_buffer { uint to[]; };
void main() { to[0] = from[0] + more; }
''')
    manager = kp.Manager(amp.accelerator("llvmpipe").default_view._info.index)
    a, b = (manager.tensor_t(np.zeros(64, np.uint32)) for _ in range(2))
    sequence = manager.sequence()
    push = np.ones((1, 1), np.uint32)
    for tensors in ([a, b], [b, a]):
        algorithm = manager.algorithm(tensors, code, (1, 1, 1), np.zeros((1, 0), np.uint32), push)
        sequence.record(kp.OpAlgoDispatch(algorithm, push))
    sequence.eval()
"""
#: On all cores, and without treating the output of the layers as output of a test.
_PYTEST = (sys.executable, "-m", "pytest", "-s", "-q", "-n", "logical", "--dist", "worksteal")


def reports(output: str) -> Counter[str]:
    """The reports of the layers, by kind."""
    return Counter(_REPORT.findall(output))


def main(arguments: list[str]) -> int:
    """Runs the suite; the exit code is 0 if it passed in silence."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "vk_layer_settings.txt")
        settings.write_text(_SETTINGS, encoding="utf-8")
        environment = dict(os.environ)
        environment["VK_INSTANCE_LAYERS"] = "VK_LAYER_KHRONOS_validation"
        environment["VK_LAYER_SETTINGS_PATH"] = str(settings)
        environment.pop("VK_LOADER_LAYERS_DISABLE", None)
        return _validate(environment, arguments)


def _validate(environment: dict[str, str], arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        planted = Path(folder, "test_planted_hazard.py")
        planted.write_text(_HAZARD, encoding="utf-8")
        output = _run(environment, "-p", "no:cacheprovider", str(planted)).stdout
    if not reports(output):
        print("the validation layers do not report a planted hazard: install vulkan-validationlayers")
        print(output)
        return 1
    run = _run(environment, "--vkamp-accelerators", "llvmpipe", "--vkamp-devices-only", *arguments)
    found = reports(run.stdout)
    if run.returncode or found:
        print(run.stdout)
    for kind, count in found.most_common():
        print(f"{count:6} {kind}")
    print(run.stdout.rstrip().splitlines()[-1])
    print(f"validation layers: {sum(found.values())} reports" if found else "validation layers: silent")
    return 1 if found else run.returncode


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*_PYTEST, *arguments]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
