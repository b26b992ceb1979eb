"""The programs of ``vkamp explain``: each wrong one has its error, and each right one compiles."""

from __future__ import annotations

import ast
import inspect
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.cli.examples import examples
from vkamp.errors import MESSAGES
from vkamp.lang.kernel import KernelFunction

EXAMPLES = examples()
#: What no kernel shows: a lambda, a text, a device that lacks something.
WITHOUT_A_KERNEL = {"VKA102", "VKA107", "VKA503"}


#: What the reference accelerator takes, and a device without the feature does not.
OF_A_DEVICE = {"VKA304", "VKA502"}


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
        "n": 8,
    }


def launch(code: str, text: str, folder: Path) -> None:
    """Compiles the last kernel of a program, as a launch would."""
    path = folder / f"{code.lower()}.py"
    path.write_text(f"import math\nimport numpy as np\nimport vkamp as amp\n\n{text}")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
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


def test_every_code_of_the_compiler_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(code for code in MESSAGES if not code.startswith("VKA7"))


@pytest.mark.parametrize("code", sorted(set(EXAMPLES) - WITHOUT_A_KERNEL))
def test_the_wrong_one_has_the_error(code: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((amp.AmpError, UserWarning)) as caught:
            launch(code, EXAMPLES[code].wrong, tmp_path)
    assert str(caught.value).startswith(f"{code}: "), str(caught.value)


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_the_right_one_compiles(code: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(code, EXAMPLES[code].right, tmp_path)


@pytest.mark.parametrize("code", sorted(WITHOUT_A_KERNEL))
def test_the_others_are_python(code: str) -> None:
    ast.parse(EXAMPLES[code].wrong)
