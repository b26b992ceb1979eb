"""``kernel.inspect(...).save(path)``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.edit.support import edit, exported
from vkamp import spirv
from vkamp.errors import AmpError


@pytest.fixture(autouse=True)
def no_shaders_left() -> Iterator[None]:
    amp.use_shaders(None)
    yield
    amp.use_shaders(None)


@amp.kernel
def row_sums(t_idx, matrix, sums):
    values = amp.tile_static((5,), amp.float32)
    values[t_idx.local] = matrix[t_idx.tile[0], t_idx.local[0]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local[0] == 0:
        total = 0.0
        for k in range(5):
            total += values[k]
        sums[t_idx.tile] = total


def inspection(view: amp.accelerator_view) -> Any:
    matrix = amp.array_view(np.ones((7, 5), np.float32))
    sums = amp.array_view(np.zeros(7, np.float32))
    return row_sums.inspect(view, amp.extent(35).tile(5), matrix, sums)


def launch(view: amp.accelerator_view) -> Any:
    sums = amp.array_view(np.zeros(7, np.float32))
    matrix = amp.array_view(np.ones((7, 5), np.float32))
    amp.parallel_for_each(view, amp.extent(35).tile(5), row_sums, matrix, sums)
    return np.asarray(sums)


def test_the_suffix_says_what_is_saved(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    shown = inspection(accelerator_view)
    for name in ("a.comp", "a.glsl"):
        assert shown.save(tmp_path / name) == (tmp_path / name,)
        assert (tmp_path / name).read_text() == shown.glsl
    assert shown.save(str(tmp_path / "a.spv")) == (tmp_path / "a.spv",)
    assert (tmp_path / "a.spv").read_bytes() == shown.spirv
    assert shown.save(tmp_path / "a.ir") == (tmp_path / "a.ir",)
    assert (tmp_path / "a.ir").read_text() == shown.ir
    assert "kernel row_sums(t_idx)" in shown.ir
    assert {path.name for path in tmp_path.iterdir()} == {"a.comp", "a.glsl", "a.spv", "a.ir"}


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_gets_all(accelerator_view: amp.accelerator_view, tmp_path: Path, there: bool) -> None:
    # A folder that is there may be called anything.
    folder = tmp_path / ("out.1" if there else "deep/out")
    if there:
        folder.mkdir()
    shown = inspection(accelerator_view)
    files = shown.save(folder)
    assert files == tuple(folder / f"row_sums{suffix}" for suffix in (".comp", ".spv", ".ir"))
    assert set(files) == set(folder.iterdir())
    assert [path.read_bytes() for path in files] == [shown.glsl.encode(), shown.spirv, shown.ir.encode()]


def test_saving_again_replaces(tmp_path: Path) -> None:
    shown = inspection(amp.accelerator("reference").default_view)
    path = tmp_path / "shader.comp"
    path.write_text("what was there, longer than nothing\n" * 1000)
    shown.save(path)
    assert path.read_text() == shown.glsl


def message(function: Any, *args: Any) -> str:
    with pytest.raises(AmpError) as caught:
        function(*args)
    return str(caught.value)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    shown = inspection(amp.accelerator("reference").default_view)
    assert message(shown.save, tmp_path / "shader.hlsl") == (
        f"{tmp_path / 'shader.hlsl'} ends in .hlsl: .comp and .glsl save the GLSL, .spv the SPIR-V, .ir the typed IR, "
        "and a folder gets all three"
    )
    path = tmp_path / "nowhere" / "shader.comp"
    assert message(shown.save, path) == f"{path} cannot be written: there is no folder {path.parent}"
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "deeper"
    found = message(shown.save, path)
    assert found.startswith(f"{path / 'row_sums.comp'} cannot be written: ") and found[-1] != " "
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.accelerators("swiftshader")
def test_an_edit_is_never_lost(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    folder = tmp_path / "shaders"
    (shader,) = exported(folder, lambda: launch(accelerator_view))
    edit(shader, ("float total = 0.0", "float total = 0.5"))
    assert np.array_equal(launch(accelerator_view), np.full(7, 5.5, np.float32))
    shown = inspection(accelerator_view)
    edited = shader.read_text()
    for path in (shader, folder / "new.comp", folder, folder / ".base" / "x.spv", tmp_path / "shaders" / "x" / ".."):
        found = message(shown.save, path)
        assert f"is in {folder}, a folder of hand-edited shaders: `vkamp shaders export` writes" in found
    assert shader.read_text() == edited
    # Nor when the folder is not in force; elsewhere the edit is what is saved.
    amp.use_shaders(None)
    assert "a folder of hand-edited shaders" in message(shown.save, shader)
    (saved,) = shown.save(tmp_path / "mine.comp")
    assert "float total = 0.5" in saved.read_text()
    assert saved.read_text().startswith("// Edited by hand: ")
    assert spirv.compile(saved.read_text(), limited=True) == shown.spirv
