"""The driver of a built program, which is started while Python loads modules."""

from __future__ import annotations

import dataclasses
import os
import sys

import pytest

from tests.run.conftest import device
from vkamp.run import accelerators, ahead, default_device
from vkamp.run.vulkan.engine import VulkanEngine

pytestmark = pytest.mark.skipif(
    sys.platform not in ahead._LOADERS or sys.maxsize < 1 << 32, reason="no driver is started ahead here"
)

BEGINNING = """
import os, sys
import vkamp as amp
import numpy as np
from vkamp.run import ahead, devices, libraries
from vkamp.run.vulkan import opening
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.engine import VulkanEngine

made, create = [], libraries._create_instance
libraries._create_instance = lambda *a, **k: (made.append(1), create(*a, **k))[1]

def info():
    return next(d for d in VulkanEngine().devices() if DRIVER in d.name.lower())

def works():
    view = amp.accelerator(DRIVER + "@vulkan").default_view
    a = amp.array(amp.extent(5), amp.float32, np.arange(5, dtype=np.float32), accelerator_view=view)
    return np.asarray(a).tolist() == [0, 1, 2, 3, 4]
"""


@pytest.fixture
def built(script, driver, tmp_path):
    """Runs text in a program that counts as built, and gives what it prints."""

    def run(text, **environment):
        settings = {"VKAMP_ARTIFACTS": str(tmp_path), "VKAMP_ACCELERATOR": None, "VKAMP_ENGINE": None, **environment}
        done = script(f"DRIVER = {driver!r}\n{BEGINNING}{text}", **settings)
        assert done.stderr == ""
        return done.stdout.split()

    return run


def test_the_first_instance_is_the_one_that_was_made_ahead(built):
    text = "print(ahead.has_begun(), works(), len(made), os.environ.get('VK_LOADER_LAYERS_DISABLE'))"
    assert built(text, VK_LOADER_LAYERS_DISABLE=None) == ["True", "True", "0", "None"]


def test_other_programs_start_nothing(built):
    for environment in ({"VKAMP_ARTIFACTS": None}, {"VKAMP_ACCELERATOR": "reference"}, {"VKAMP_BUILD": "x"}):
        assert built("print(ahead.has_begun(), ahead.take_instance(0))", **environment) == ["False", "0"]


def test_a_frozen_program_counts_as_built(script):
    text = """
    sys.frozen = True
    import vkamp
    from vkamp.run import ahead
    print(ahead.has_begun())
    """
    assert script(text, VKAMP_ACCELERATOR=None).stdout == "True\n"


def test_a_program_that_uses_no_device_ends(built):
    assert built("print('end')") == ["end"]
    assert built("opening.open_ahead(info()); print(opening._Opened.found is not None)") == ["True"]


def test_without_a_driver_the_first_use_reports_it(built):
    text = "print(amp.accelerator().device_path)"
    assert built(text, VK_DRIVER_FILES="none.json", VK_ADD_DRIVER_FILES="none.json") == ["cpu"]


def test_the_device_that_was_opened_is_used_once(built):
    text = """
opening.open_ahead(info())
api = opening._Opened.found[1]
first, second = VulkanDevice(info(), staged=False), VulkanDevice(info(), staged=False)
print(first.api is api, second.api is api, opening._Opened.found)
first.close()
second.close()
"""
    assert built(text) == ["True", "False", "None"]


@pytest.mark.accelerators("swiftshader", "llvmpipe")  # A GPU is opened without being asked.
def test_another_device_is_not_taken(built):
    text = """
import dataclasses
opening.open_ahead(dataclasses.replace(info(), uuid="another"))
print(works(), opening._Opened.found is not None)
"""
    assert built(text) == ["True", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("opens", [True, False])
def test_a_fork_inherits_nothing(built, opens):
    text = f"""
if {opens}:
    opening.open_ahead(info())
import warnings
warnings.simplefilter("ignore")  # of threads beside forks
child = os.fork()
os.write(1, f"{{works()}} {{opening._Opened.found}}\\n".encode())
if child:
    print(os.waitpid(child, 0)[1])
"""
    assert built(text) == ["True", "None", "True", "None", "0"]


@pytest.mark.accelerators("swiftshader", "llvmpipe")  # A GPU is opened without being asked.
def test_only_a_device_that_is_certain_to_be_used_is_opened(driver, monkeypatch):
    opened = []
    info = device(driver, VulkanEngine())
    card, other = (dataclasses.replace(info, kind="discrete", uuid=uuid) for uuid in ("a", "b"))
    monkeypatch.delenv("VKAMP_ACCELERATOR", raising=False)
    monkeypatch.setattr(accelerators._engines, "chosen", None)
    for there, expected in (([info], []), ([info, card], [card]), ([info, card, other], [])):
        monkeypatch.setattr(accelerators, "_vulkan_devices", lambda *_, there=there, **__: there)
        default_device._open(opened.append)
        assert opened == expected
        opened.clear()
    monkeypatch.setattr(
        accelerators, "_vulkan_devices", lambda *_, **__: [card, dataclasses.replace(other, name="the other")]
    )
    monkeypatch.setenv("VKAMP_ACCELERATOR", "the other")
    default_device._open(opened.append)
    assert [each.name for each in opened] == ["the other"]


AS_A_CARD = """
import importlib.abc, importlib.machinery, os, sys, threading

class Patch(importlib.abc.MetaPathFinder):
    # Drivers that run on the processor are cards for this program.
    def find_spec(self, name, path, target=None):
        if name != "vkamp.run.devices":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        def patched(module):
            run(module)
            module._KINDS = dict.fromkeys(range(5), "discrete")
        spec.loader.exec_module = patched
        return spec

sys.meta_path.insert(0, Patch())
os.environ["VKAMP_ACCELERATOR"] = DRIVER + "@vulkan"
import vkamp as amp
import numpy as np
from vkamp.run import ahead
from vkamp.run.vulkan import opening

if WAITS:
    ahead._ahead._thread.join()
    found = opening._Opened.found
    assert found is not None
view = amp.accelerator().default_view
a = amp.array(amp.extent(5), amp.float32, np.arange(5, dtype=np.float32), accelerator_view=view)
assert np.asarray(a).tolist() == [0, 1, 2, 3, 4]
assert not WAITS or view._view.queue.device.api is found[1]
assert opening._Opened.found is None
print("end")
"""


@pytest.mark.parametrize("waits", [True, False])
def test_a_card_is_opened_before_the_program_uses_it(script, driver, tmp_path, waits):
    text = f"DRIVER, WAITS = {driver!r}, {waits}\n{AS_A_CARD}"
    done = script(text, VKAMP_ARTIFACTS=str(tmp_path), VKAMP_ENGINE=None, timeout=60)
    assert (done.stdout, done.stderr) == ("end\n", "")
