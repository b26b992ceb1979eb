"""The programs of ``docs/errors.md``: each wrong one causes the error on the page, and each right one compiles.

The option ``--vkamp-accept`` writes the messages into the page.
"""

from __future__ import annotations

import inspect
import linecache
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.cli.errors_page import PAGE, render
from vkamp.cli.examples import Example, examples
from vkamp.lang.kernel import KernelFunction
from vkamp.messages import MESSAGES

PROGRAMS = {code: example.programs for code, example in examples().items() if example.programs}
#: What the reference accelerator takes, and a device without the feature does not.
OF_A_DEVICE = {"VKA304", "VKA502"}
#: Hand-edited shaders have no kernels to show, but programs that write and edit them.
SHADERS = {
    "VKA701": "undeclared",
    "VKA702": "bindings",
    "VKA703": "stale",
    "VKA704": "conflict",
    "VKA705": "no_base",
    "VKA706": "invalid",
    "VKA707": "feature",
    "VKA708": "checked",
}
GOLDENS = Path(__file__).parents[1] / "errors" / "cases" / "shaders"
NAME = "example.py"


def arguments() -> dict[str, Any]:
    """What a parameter of each name is."""
    floats = {name: amp.array_view(np.ones(24, np.float32)) for name in ("a", "b", "out", "values")}
    ints = {name: amp.array_view(np.ones(24, np.int32)) for name in ("counts", "flags")}
    return {
        **floats,
        **ints,
        "grid": amp.array_view(np.ones((6, 8), np.float32)),
        "m": amp.array_view(np.ones((6, 8), np.float32)),
        "source": amp.array_view(np.ones(24, np.float32), readonly=True),
        "points": amp.array_view(np.ones((24, 3), np.float32), dtype=amp.float3),
        "cells": amp.array_view(np.ones((24, 2), np.int32), dtype=amp.int2),
        "particles": amp.array_view(np.zeros(24, [("position", "f4"), ("velocity", "f4")])),
        "bodies": amp.array_view(np.zeros(24, [("position", "f4"), ("velocity", "f4")])),
        "n": 8,
    }


def launch(code: str, text: str, folder: Path) -> None:
    """Compiles the last kernel of a program, as a launch would."""
    path = folder / NAME
    path.write_text(text)
    linecache.checkcache(str(path))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    vars(module).update(math=math, np=np, amp=amp)
    if "parallel_for_each(" in text:
        vars(module).update(arguments())
    exec(compile(text, str(path), "exec"), vars(module))
    kernel = [value for value in vars(module).values() if isinstance(value, KernelFunction)][-1]
    names = list(inspect.signature(kernel.function).parameters.values())
    index = names[0].name if names else "idx"
    values = [arguments()[each.name] for each in names[1:] if each.kind is each.POSITIONAL_OR_KEYWORD]
    shape = (6, 8) if any(each.name == "grid" for each in names) else (24,)
    domain: Any = amp.extent(*shape)
    if index == "t_idx":
        domain = domain.tile(*(8,) * len(shape))
    device = "swiftshader" if code in OF_A_DEVICE else "reference"
    kernel.inspect(amp.accelerator(device).default_view, domain, *values)


@contextmanager
def without_arithmetic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reference accelerator as a device, named Small GPU, whose subgroups only vote."""
    queue = amp.accelerator("reference").default_view._queue
    info = queue.info
    limits = replace(info.limits, subgroup_operations=frozenset({"basic", "vote"}))
    with monkeypatch.context() as patch:
        patch.setattr(type(queue), "info", replace(info, limits=limits))
        patch.setattr(amp.accelerator, "description", "Small GPU")
        yield


def test_every_code_of_the_compiler_has_an_example() -> None:
    assert sorted(PROGRAMS) == sorted(code for code in MESSAGES if not code.startswith("VKA7"))
    assert sorted(SHADERS) == sorted(code for code in MESSAGES if code.startswith("VKA7"))


def of_the_wrong_program(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Example:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        special = without_arithmetic(monkeypatch) if code == "VKA503" else nullcontext()
        with special, pytest.raises((amp.AmpError, UserWarning)) as caught:
            launch(code, PROGRAMS[code][0], folder)
    text = str(caught.value).replace(f"{folder}/", "")
    assert str(folder) not in text
    return Example(type(caught.value).__name__, text, PROGRAMS[code])


@pytest.mark.parametrize("code", sorted(MESSAGES))
def test_the_wrong_program_causes_the_error(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if code in SHADERS:
        kind, _, text = (GOLDENS / f"{SHADERS[code]}.txt").read_text(encoding="utf-8").partition(": ")
        found = Example(kind, text.rstrip("\n"), ())
    else:
        found = of_the_wrong_program(code, tmp_path, monkeypatch)
    assert found.message.startswith(f"{code}: ")
    assert "```" not in found.message
    if request.config.getoption("vkamp_accept"):
        examples.cache_clear()
        known = {code: each for code, each in examples().items() if code in MESSAGES}
        PAGE.write_text(render({**known, code: found}), encoding="utf-8", newline="\n")
        examples.cache_clear()
    assert examples().get(code) == found


def test_the_page_is_as_written_from_its_programs() -> None:
    assert list(examples()) == sorted(MESSAGES)
    assert render(examples()) == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", sorted(PROGRAMS))
def test_the_right_program_compiles(code: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(code, PROGRAMS[code][1], tmp_path)
