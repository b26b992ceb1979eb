"""Three-way merges: the table of hand edits, kernels that moved, and that no edit is ever lost."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.edit.hand_edits import EDITS, Row
from tests.edit.support import edit, exported, shader_files
from vkamp.cli.workflow import look, merge_one, revert_one
from vkamp.edit.store import ShaderFolder, StoredShader
from vkamp.errors import AmpError

KERNELS = Path(__file__).with_name("five_kernels.py")
_numbers = itertools.count()


class Project:
    """A separate project with one module, which is read again after each change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"five_kernels_{next(_numbers)}"
        self.file = folder / f"{self.name}.py"
        (folder / "pyproject.toml").touch()
        self.file.write_text(KERNELS.read_text())
        self.view = amp.accelerator("swiftshader").default_view

    def module(self) -> ModuleType:
        linecache.checkcache()
        spec = importlib.util.spec_from_file_location(self.name, self.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        spec.loader.exec_module(module)
        return module

    def launch(self, function: str) -> Any:
        return np.asarray(getattr(self.module(), function)(self.view))

    def change(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert text.count(old) == 1, f"{old!r}: {text.count(old)}"
        self.write(text.replace(old, new))

    def write(self, text: str) -> None:
        self.file.write_text(text)
        # The next command is another process.
        sys.modules.pop(self.name, None)

    def export(self, function: str) -> Path:
        (shader,) = exported(self.folder / "shaders", lambda: self.launch(function))
        return shader

    def kept(self) -> StoredShader:
        (kept,) = ShaderFolder(self.folder / "shaders").kept
        return kept

    def use(self) -> None:
        amp.use_shaders(self.folder / "shaders")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    # Two changes may fall into one tick of the clock, by which Python knows compiled files.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    amp.use_shaders(None)
    made = Project(tmp_path)
    yield made
    amp.use_shaders(None)
    sys.modules.pop(made.name, None)


def applied(text: str, row: Row) -> str:
    for old, new in row.edit:
        assert text.count(old) == 1, f"{old!r}: {text.count(old)}"
        text = text.replace(old, new)
    return text


ROWS = pytest.mark.parametrize("row", EDITS, ids=lambda row: row.name)


@ROWS
def test_an_edit_is_merged_with_a_change_elsewhere(project: Project, row: Row) -> None:
    plain = project.launch(row.launch)
    shader = project.export(row.launch)
    edit(shader, *row.edit)
    assert np.allclose(project.launch(row.launch), row.edited(plain), rtol=1e-6)

    project.change(*row.elsewhere)
    if row.is_code:
        with pytest.raises(amp.ShaderEditError, match="VKA703"):
            project.launch(row.launch)
    else:
        project.launch(row.launch)
    assert look(project.kept()).word == "stale"

    done = merge_one(project.kept())
    assert (done.word, done.conflicts) == ("merged", 0)
    kept = project.kept()
    # The oracle: the same edit of the shader that is generated now.
    assert kept.base_text is not None and kept.text == applied(kept.base_text, row)
    project.use()
    assert np.allclose(project.launch(row.launch), row.merged(plain), rtol=1e-6)
    assert look(kept).word == ("edited" if row.is_code else "unedited")
    assert merge_one(kept).word == "current"


@ROWS
def test_an_edit_conflicts_with_a_change_of_its_lines(project: Project, row: Row) -> None:
    shader = project.export(row.launch)
    edit(shader, *row.edit)
    before, generated = shader.read_text(), project.kept().base_text or ""
    project.change(*row.there)
    assert look(project.kept()).word == "stale"
    done = merge_one(project.kept())
    assert done.word == "conflict"
    assert done.conflicts > 0
    text = shader.read_text()
    assert text.count("<<<<<<<") == text.count("=======") == text.count(">>>>>>>") == done.conflicts
    # Both sides are there: nothing was decided.
    kept = project.kept()
    for side in (before, kept.base_text or ""):
        new = set(side.splitlines()) - set(generated.splitlines())
        assert new or row.name == "reordered loads"
        assert new <= set(text.splitlines())
    project.use()
    with pytest.raises(amp.ShaderEditError, match="VKA704"):
        project.launch(row.launch)
    with pytest.raises(AmpError, match="conflict"):
        merge_one(kept)
    kept.store.undo(kept.name)
    assert shader.read_text() == before
    assert look(project.kept()).word == "stale"
    project.use()
    if row.is_code:
        with pytest.raises(amp.ShaderEditError, match="VKA703"):
            project.launch(row.launch)


def test_there_are_twenty_edits_of_five_kernels() -> None:
    assert len(EDITS) == 20
    assert len({row.launch for row in EDITS}) == 5
    assert len({row.name for row in EDITS}) == 20


def test_an_unedited_shader_is_replaced(project: Project) -> None:
    shader = project.export("average")
    project.change("total = 0.0\n        for row", "total = 1.0\n        for row")
    state = look(project.kept())
    assert (state.word, state.needs_attention) == ("stale", False)
    assert merge_one(project.kept()).word == "updated"
    assert "total = 1.0" in shader.read_text()
    assert look(project.kept()).word == "unedited"


def test_a_renamed_kernel_takes_its_shader_along(project: Project) -> None:
    shader = project.export("average")
    edit(shader, ("total = 0.0", "total = 32.0"))
    plain = project.launch("average")
    project.write(project.file.read_text().replace("tile_average", "average_of_tiles"))
    # It runs, for its shader is the same; its file has the old name.
    assert np.array_equal(project.launch("average"), plain)
    state = look(project.kept())
    assert (state.word, state.text) == ("moved", f"the kernel is {project.name}:average_of_tiles now")
    done = merge_one(project.kept())
    assert done.word == "merged"
    (moved,) = shader_files(project.folder / "shaders")
    assert moved.name == "average_of_tiles.8x4.float32_2d-float32_2d.comp"
    assert "total = 32.0" in moved.read_text()
    assert "// average_of_tiles: tiles" in moved.read_text()
    project.use()
    assert np.array_equal(project.launch("average"), plain)
    # And back again.
    project.kept().store.undo(done.name)
    assert shader_files(project.folder / "shaders") == [shader]


def test_a_moved_kernel_takes_its_shader_along(project: Project) -> None:
    shader = project.export("product")
    edit(shader, ("total = 0.0", "total = 32.0"))
    moved = project.folder / "library" / f"moved_{project.name}.py"
    moved.parent.mkdir()
    moved.write_text(project.file.read_text().replace("total += a_tile", "total -= a_tile"))
    project.file.unlink()
    sys.modules.pop(project.name)
    state = look(project.kept())
    name = f"library.{moved.stem}"
    assert (state.word, state.text) == ("moved", f"the kernel is {name}:tiled_product now, and has changed")
    assert merge_one(project.kept()).conflicts == 0
    (found,) = shader_files(project.folder / "shaders")
    assert found.parent == project.folder / "shaders" / "library" / moved.stem
    assert "total -= a_tile" in found.read_text() and "total = 32.0" in found.read_text()
    assert sorted(p.name for p in (project.folder / "shaders").iterdir()) == [".base", "library"]


def test_a_kernel_that_is_gone_keeps_its_edit(project: Project) -> None:
    shader = project.export("summed")
    edit(shader, ("stride = 32", "stride = 31"))
    text = project.file.read_text()
    project.write(text[: text.index("@amp.kernel\ndef tree_sum")] + text[text.index("@amp.kernel\ndef blur") :])
    state = look(project.kept())
    assert (state.word, state.needs_attention) == ("gone", True)
    with pytest.raises(AmpError, match="gone, the kernel .* no longer exists"):
        merge_one(project.kept())
    assert "stride = 31" in shader.read_text()


def test_an_edit_goes_onto_another_signature(project: Project) -> None:
    """A kernel with another argument is another signature: its edit is merged onto the new file by name."""
    shader = project.export("average")
    edit(shader, ("float total = 0.0", "float total = 32.0"))
    project.change("def tile_average(t_idx, matrix, averages)", "def tile_average(t_idx, matrix, averages, factor)")
    project.change("total / (t_idx.tile_dim0", "factor * total / (t_idx.tile_dim0")
    project.change("tile_average, matrix, averages)", "tile_average, matrix, averages, 2.0)")
    state = look(project.kept())
    assert (state.word, state.text) == ("unknown", "the kernel takes 3 arguments now, and took 2")
    with pytest.warns(amp.ShaderEditWarning, match="for other arguments"):
        plain = project.launch("average")
    exported(project.folder / "shaders", lambda: project.launch("average"))
    new, old = ShaderFolder(project.folder / "shaders").kept
    assert merge_one(old, new).word == "merged"
    project.use()
    assert np.allclose(project.launch("average"), plain + 2.0)
    merged = ShaderFolder(project.folder / "shaders").kept[0]
    with pytest.raises(AmpError, match="is edited, too"):
        merge_one(old, merged)


def test_exporting_never_overwrites_an_edit(project: Project) -> None:
    shader = project.export("average")
    edit(shader, ("float total = 0.0", "float total = 32.0"))
    text = shader.read_text()
    project.change("total = 0.0\n        for row", "total = 1.0\n        for row")
    project.export("average")
    assert shader.read_text() == text
    kept = project.kept()
    with pytest.raises(AmpError, match="is edited, and exporting would overwrite it"):
        kept.store.export(kept.record, "another")
    assert shader.read_text() == text
    # Also one of which nothing is known but that it is there.
    kept.base_path.with_suffix(".json").unlink()
    with pytest.raises(AmpError, match="is edited, and exporting would overwrite it"):
        ShaderFolder(project.folder / "shaders").export(kept.record, "another")
    assert shader.read_text() == text


def test_reverting(project: Project) -> None:
    shader = project.export("average")
    generated = shader.read_text()
    edit(shader, ("float total = 0.0", "float total = 32.0"))
    edited = shader.read_text()
    assert revert_one(project.kept()).word == "reverted"
    assert shader.read_text() == generated
    project.kept().store.undo(project.kept().name)
    assert shader.read_text() == edited
    kept = project.kept()
    assert revert_one(kept, remove=True).word == "removed"
    assert shader_files(project.folder / "shaders") == []
    kept.store.undo(kept.name)
    assert shader.read_text() == edited
    with pytest.raises(AmpError, match="nothing was merged or reverted"):
        kept.store.undo(kept.name)


def test_a_merge_that_stops_halfway_can_be_made_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from vkamp.edit import store as module

    shader = project.export("average")
    edit(shader, ("float total = 0.0", "float total = 32.0"))
    project.change(*EDITS[0].elsewhere)
    written = module._write

    def stops(path: Path, text: str) -> None:
        if path == project.kept().base_path:
            raise AmpError("the disk is full")
        written(path, text)

    monkeypatch.setattr(module, "_write", stops)
    with pytest.raises(AmpError, match="the disk is full"):
        merge_one(project.kept())
    monkeypatch.setattr(module, "_write", written)
    merged = shader.read_text()
    assert "total = 32.0" in merged
    assert (project.kept().is_edited, look(project.kept()).word) == (True, "stale")
    assert merge_one(project.kept()).conflicts == 0
    assert shader.read_text() == merged
    assert look(project.kept()).word == "edited"


def test_closures_merge_after_their_program_has_run(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text(
        "import sys\nfrom pathlib import Path\nimport numpy as np\nimport vkamp as amp\n"
        "from vkamp.dispatch import override_files\n"
        "if sys.argv[1:]:\n    override_files.export_launches(Path('shaders').absolute())\n"
        "numbers = amp.array_view(np.zeros(8, np.float32))\n"
        "@amp.parallel_for_each(numbers.extent.tile(4))\n"
        "def fill(t_idx):\n    x = numbers[t_idx]\n"
        "    for k in range(3):\n        x = x + 1.0\n"
        "    for k in range(2):\n        x = x * 2.0\n"
        "    numbers[t_idx] = x\n"
        "print(numbers[3])\n"
    )
    (tmp_path / "setup.py").touch()

    def run(*args: str) -> str:
        environment = {**os.environ, "VKAMP_ACCELERATOR": "swiftshader"}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(amp.__file__).parents[1]), *sys.path])
        command = [sys.executable, str(program), *args]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return (done.stdout + done.stderr).strip()

    assert run("--export") == "12.0"
    (shader,) = shader_files(tmp_path / "shaders")
    shader.write_text(shader.read_text().replace("x + 1.0;", "x + 10.0;"))
    assert run() == "120.0"
    (kept,) = ShaderFolder(tmp_path / "shaders").kept
    assert "it captures" in look(kept).text
    program.write_text(program.read_text().replace("x * 2.0", "x * 3.0"))
    assert "VKA703" in run()
    assert run("--export") == "27.0"
    (kept,) = ShaderFolder(tmp_path / "shaders").kept
    assert look(kept).word == "stale"
    assert merge_one(kept).word == "merged"
    assert run() == "270.0"
