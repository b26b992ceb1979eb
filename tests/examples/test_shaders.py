"""The shaders of the examples in ``shaders/`` are what is generated now, and no edit of them was left in the tree.

``--vkamp-accept`` brings them up to date, as ``vkamp shaders merge`` does.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import vkamp as amp
from vkamp.cli.workflow import look, merge_one
from vkamp.dispatch import override_files
from vkamp.edit.store import ShaderFolder, StoredShader

ROOT = Path(__file__).resolve().parents[2]
SHADERS = ShaderFolder(ROOT / "shaders").kept
#: Programs whose kernels capture: what they become is known when they run.
CAPTURING = ("averages", "sampling", "tiling_description")
#: Files without kernels of their own.
WITHOUT = {"cluster", "gallery", "particle_grid", "stream_compaction", "two_devices", "word_count"}


@pytest.fixture(autouse=True)
def _examples_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    yield
    override_files.export_launches(None)


def test_every_example_has_its_shaders() -> None:
    there = {Path(kept.record.file).stem for kept in SHADERS}
    assert there == {path.stem for path in (ROOT / "examples").glob("*.py")} - WITHOUT


@pytest.mark.parametrize("kept", SHADERS, ids=lambda kept: kept.name)
def test_shader_is_current(kept: StoredShader, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("vkamp_accept"):
        merge_one(kept)
        (kept,) = ShaderFolder(ROOT / "shaders").select([kept.name + ".comp"])
    state = look(kept)
    assert (state.word, state.is_edited) == ("unedited", False), (
        f"{state.text}: pytest tests/examples/test_shaders.py --vkamp-accept, or vkamp shaders merge"
    )


@pytest.mark.parametrize("name", CAPTURING)
def test_shader_of_a_closure_is_current(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "swiftshader")
    accept = request.config.getoption("vkamp_accept")
    override_files.export_launches(ROOT / "shaders" if accept else tmp_path)
    assert importlib.import_module(name).main([]) == 0
    override_files.export_launches(None)
    for kept in () if accept else ShaderFolder(tmp_path).kept:
        (there,) = (each for each in SHADERS if each.name.rpartition("/")[2] == kept.name.rpartition("/")[2])
        assert there.text == kept.text


@pytest.mark.accelerators("drivers")
def test_the_examples_run_as_generated(accelerator: amp.accelerator) -> None:
    """The folder is in force while the suite runs; none of its shaders is edited, so nothing is."""
    example = importlib.import_module("transpose")
    matrix = amp.array(amp.extent(16, 16), amp.float32, accelerator_view=accelerator.default_view)
    amp.use_shaders(ROOT / "shaders")
    try:
        shown = example.straight.inspect(accelerator.default_view, matrix.extent.tile(16, 16), matrix, matrix)
    finally:
        amp.use_shaders(None)
    assert shown.edited is None
