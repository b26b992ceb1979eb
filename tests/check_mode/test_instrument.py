"""Instrumented kernels: well-formed IR, valid SPIR-V, and for a few the whole shader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emit.table import PROGRAMS
from tests.emit.validation import validate
from vkamp import spirv
from vkamp.check.instrument import REPORT, Instrumented, instrument
from vkamp.ir.nodes import UniformAssert, walk_statements
from vkamp.ir.verify import verify
from vkamp.legalize.bind_arrays import bind_arrays
from vkamp.pipeline.passes import shader_of

GOLDEN = Path(__file__).with_name("golden")
#: One with tile_static memory, one without tiles, one with claims.
SHOWN = ("tile_average", "atomics", "claims")


def instrumented(name: str, **options: Any) -> Instrumented:
    return instrument(bind_arrays(PROGRAMS[name].kernel()), **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_instrumented_kernels_are_valid(name: str, tmp_path: Path) -> None:
    made = instrumented(name)
    verify(made.kernel)
    shader = shader_of(made.kernel, PROGRAMS[name].target)
    assert sum(binding.name.startswith("check_report") for binding in shader.bindings) <= 1
    validate(spirv.compile(shader.glsl, name=name), tmp_path)


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    made = instrumented(name)
    text = shader_of(made.kernel, PROGRAMS[name].target).glsl
    assert text == shader_of(instrumented(name).kernel, PROGRAMS[name].target).glsl
    golden = GOLDEN / f"{name}.comp"
    if request.config.getoption("vkamp_accept"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_what_is_proved_is_not_judged() -> None:
    whole = instrumented("tile_average")
    names = {v.name for v in whole.kernel.tile_statics}
    proved = instrumented("tile_average", proved=frozenset({*names, *whole.shadows}))
    assert whole.shadows and not proved.shadows
    assert (whole.layout.static_tables, proved.layout.static_tables) == (3, 1)


def test_what_is_left_out_is_not_judged() -> None:
    whole = instrumented("tile_average")
    left_out = instrumented("tile_average", left_out=frozenset(whole.shadows))
    assert not left_out.shadows
    assert left_out.layout.static == whole.layout.static


def test_claims_are_replaced() -> None:
    made = instrumented("claims")
    assert not any(isinstance(s, UniformAssert) for s in walk_statements(made.kernel.body.body))
    assert "uniform cells" in made.words


@pytest.mark.parametrize("name", SHOWN)
def test_added_names_are_no_identifiers(name: str) -> None:
    made = instrumented(name)
    added = {REPORT, *made.words, *(v.name for v in made.kernel.thread_variables)}
    assert not any(name.isidentifier() for name in added)
