"""Writes a program as a test that holds by itself: the source, the launch, and the values that must come out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.fuzz.run import Failure, Loaded, load, lowered, quietly, run
from tools.fuzz.tree import Program

__all__ = ["report", "test_of"]

_TEST = '''"""Found by random kernels, seed {seed}: {what}"""

from __future__ import annotations

import math  # noqa: F401

import numpy as np

import vkamp as amp
from tests.fuzz.kept import Case, agrees, inf, nan  # noqa: F401
from tools.fuzz.tree import Container

# ruff: noqa: E501, F841
{definitions}

CASE = Case(
    seed={seed},
    extent={extent},
    tile={tile},
    containers={containers},
    scalars={scalars},
    constants={constants},
    expected={expected},
)


def test_{name}(accelerator_view):
    agrees(accelerator_view, k, CASE, globals())
'''


def _values(data: Any) -> str:
    # Values as Python prints them; nan and inf are names of the module.
    return repr(_plain(data.tolist()))


def _plain(value: Any) -> Any:
    """Without the arrays that are members of structs."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return type(value)(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _definitions(source: str) -> str:
    return source.split("import vkamp as amp\n", 1)[1].strip("\n")


def test_of(program: Program, name: str, what: str) -> str:
    """The text of a test file; the expected values are the reference accelerator's."""
    loaded = load(program)
    found = run(loaded, "reference")
    if isinstance(found, Failure):
        expected: dict[str, str] = {}
    else:
        expected = {key: _values(value) for key, value in found.items()}
    shown = "{" + ", ".join(f"{key!r}: {value}" for key, value in expected.items()) + "}"
    return _TEST.format(
        seed=program.seed, what=what, definitions="\n" + _definitions(loaded.source),
        extent=program.extent, tile=program.tile, containers=program.containers, scalars=program.scalars,
        constants=program.constants, expected=shown, name=name,
    )  # fmt: skip


def report(program: Program, failure: Failure) -> str:
    """Source, inputs, GLSL and the differing values, for people."""
    import vkamp as amp

    loaded = load(program)
    lines = [
        f"-- seed {program.seed}: {failure.kind} on {failure.accelerator} {failure.detail}",
        failure.message,
        "",
        loaded.source,
    ]
    lines.append(f"# domain {program.extent}, tile {program.tile}, scalars {program.scalars}, {program.constants}")
    reference = amp.accelerator("reference").default_view
    for made, container in zip(program.containers, loaded.containers(reference), strict=True):
        if not made.written:
            lines.append(f"# {made.name} = {np.asarray(container)!r}")
    lines.append(_glsl(loaded, failure.accelerator))
    return "\n".join(lines)


def _glsl(loaded: Loaded, accelerator: str) -> str:
    import vkamp as amp

    try:
        with quietly(), lowered(accelerator) as name:
            view = amp.accelerator(name).default_view
            arguments = [*loaded.containers(view), *loaded.scalars()]
            shader = loaded.kernel.inspect(view, loaded.domain(), *arguments, **loaded.program.constants)
    except Exception as error:
        return f"// no shader: {type(error).__name__}: {error}"
    return str(shader.glsl)
