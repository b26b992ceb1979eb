"""Names for what a machine has, on machines that are made up, and why an accelerator cannot run a test."""

from __future__ import annotations

import dataclasses

import pytest

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.run.accelerators import accelerator
from vkamp.testing import devices


def device(name: str, kind: str, index: int, **others) -> accelerator:
    info = amp.accelerator("reference")._info
    assert info is not None
    engine = "kompute" if kind == "cpu" else "vulkan"
    made_up = dataclasses.replace(info, engine=engine, name=name, kind=kind, index=index, **others)
    return accelerator._of(made_up)


SWIFTSHADER = device("SwiftShader Device (Subzero)", "cpu", 0)
SECOND = device("SwiftShader Device (LLVM 10.0.0)", "cpu", 1)
LAVAPIPE = device("llvmpipe (LLVM 15.0.6, 256 bits)", "cpu", 2)
CARDS = [device("NVIDIA H200", "discrete", 3), device("NVIDIA H200", "discrete", 4)]
OTHERS = [amp.accelerator("reference"), amp.accelerator("cpu")]


@pytest.mark.parametrize(
    ("here", "known", "names"),
    [
        ([], [], []),
        ([SWIFTSHADER, LAVAPIPE], [], ["swiftshader", "llvmpipe"]),
        ([SWIFTSHADER, LAVAPIPE], ["swiftshader", "llvmpipe", "reference"], []),
        ([SWIFTSHADER, LAVAPIPE], ["Subzero@vulkan"], ["llvmpipe"]),
        ([SWIFTSHADER, SECOND], [], ["swiftshader"]),
        ([SWIFTSHADER, CARDS[0]], ["swiftshader"], ["NVIDIA H200"]),
        (CARDS, [], ["NVIDIA H200", "vulkan:4"]),
        (CARDS, ["nvidia"], []),
        (CARDS, ["vulkan:3"], ["NVIDIA H200"]),
    ],
)
def test_the_devices_that_no_name_stands_for(here, known, names, monkeypatch):
    monkeypatch.delenv("VKAMP_ENGINE", raising=False)
    monkeypatch.setattr(accelerator, "get_all", lambda: [*here, *OTHERS])
    assert devices.further(known) == names


def lacking(found: accelerator, *abilities: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "lookup", lambda name: found._info)
        return devices.lacking("made up", abilities)


def test_what_is_missing():
    limits = amp.accelerator("reference").limits
    assert limits is not None
    card = device(
        "A card",
        "discrete",
        0,
        features=frozenset({"float64", "int64"}),
        engine_features=frozenset({"int64"}),
        limits=dataclasses.replace(limits, subgroup_operations=frozenset({"basic", "vote"})),
    )
    assert lacking(card, "int64", "subgroup_vote", "long_loops") == ""
    assert lacking(card, "float64") == "has float64, but not through the engine vulkan"
    assert lacking(card, "int64", "int8", "subgroup_shuffle") == "has no int8; has no shuffle of subgroups"
    assert lacking(LAVAPIPE, "long_loops") == "terminates all loops of a thread after 65,535 iterations in total"


def test_one_that_is_not_there():
    assert not devices.is_called("nosuch", "nvidia")
    with pytest.raises(AmpError, match="names no accelerator"):
        devices.lookup("nosuch")
