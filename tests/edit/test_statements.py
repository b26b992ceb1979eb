"""Merges by statements: each edit with each change of the statement beside it, and with each of the same statement."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.conftest import ALL
from tests.edit.statements import CHANGES, EDITS, HELPER, PARTS, Row, kernel, named
from tests.edit.support import exported
from vkamp import spirv
from vkamp.edit.merging import merge

SIZE = 16


@pytest.fixture(autouse=True)
def no_shaders_in_force() -> Any:
    amp.use_shaders(None)
    yield
    amp.use_shaders(None)


class Kernels:
    """Kernels by their two parts, all in one module, and their shaders."""

    def __init__(self, folder: Path, parts: list[tuple[str, str]]) -> None:
        self.names = {both: f"kernel_{number}" for number, both in enumerate(dict.fromkeys(parts))}
        # All have one name, which their shaders say.
        texts = [kernel("work", *both) + f"{name} = work\n" for both, name in self.names.items()]
        self.module = loaded(folder / "kernels_for_merges.py", "import vkamp as amp\n" + HELPER + "\n".join(texts))
        self.view = amp.accelerator("swiftshader").default_view
        self.shaders: dict[tuple[str, str], str] = {}

    def __getitem__(self, parts: tuple[str, str]) -> str:
        if parts not in self.shaders:
            function = getattr(self.module, self.names[parts])
            self.shaders[parts] = function.inspect(self.view, amp.extent(SIZE).tile(8), *arguments()).glsl
        return self.shaders[parts]

    def launch(self, parts: tuple[str, str]) -> Any:
        args = arguments()
        amp.parallel_for_each(self.view, amp.extent(SIZE).tile(8), getattr(self.module, self.names[parts]), *args)
        return np.asarray(args[-1]).copy()


def loaded(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


T_VALUES = np.arange(SIZE, dtype=np.float32) / 2
C_VALUES = T_VALUES[::-1].copy()


def arguments() -> list[Any]:
    return [*map(amp.array_view, (T_VALUES.copy(), C_VALUES.copy(), np.zeros(SIZE, np.float32)))]


def beside(row: Row, change: Row, first: bool) -> list[tuple[str, str]]:
    """The parts of a kernel whose ``c`` changes, before and after; ``t``, which is edited, is first or last."""
    t = named(PARTS[row.kind], "t")
    made = (named(text, "c") for text in (PARTS[change.kind], change.make(PARTS[change.kind])))
    return [(t, c) if first else (c, t) for c in made]


def at_one_place(change: Row) -> list[tuple[str, str]]:
    """The parts of a kernel whose ``t`` changes, before and after."""
    c = named(PARTS["plain"], "c")
    return [(named(text, "t"), c) for text in (PARTS[change.kind], change.make(PARTS[change.kind]))]


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_each_edit_merges_with_each_change_beside_it(tmp_path: Path) -> None:
    """The merged shader is the new one with the same edit. In half of the kernels the edit comes first.

    Each edit and each change is in a third of its pairs; VKAMP_TEST_ALL=1 tries all pairs.
    """
    one_in = 1 if os.environ.get(ALL) else 3
    pairs = itertools.product(enumerate(EDITS), enumerate(CHANGES))
    cases = [(row, change, (a + b) % 2 == 0) for (a, row), (b, change) in pairs if (a + b) % one_in == 0]
    assert len({row.name for row in EDITS}) >= 20 and len({row.name for row in CHANGES}) >= 20
    assert len(cases) * one_in >= 400
    assert {str(row) for row, *_ in cases} == set(map(str, EDITS)) and {c for _, c, _ in cases} == set(CHANGES)
    kernels = Kernels(tmp_path, [parts for case in cases for parts in beside(*case)])
    merged = []
    for row, change, first in cases:
        before, after = (kernels[parts] for parts in beside(row, change, first))
        assert before != after
        done = merge(before, row.make(before), after)
        wanted = row.make(after)
        if row.name == "extension" and change.name == "static":
            # Both insert extensions at one place: in which order does not matter.
            assert sorted(done.text.splitlines()) == sorted(wanted.splitlines())
        else:
            assert done.text == wanted, f"{row} beside {change}"
        assert done.conflicts == 0
        merged.append(done.text)
    spirv.compile_many(merged)


def is_conflict(row: Row, change: Row) -> bool:
    """Whether an edit and a change of one statement are to conflict."""
    if row.name == change.name and row.name in ("operator", "deleted", "swapped"):
        # Both did the same.
        return False
    if row.name == change.name and row.name in ("body", "statement behind"):
        return True
    if change.name == "deleted":
        # A comment that somebody wrote is kept, too; and nothing is left that uses what is gone.
        return row.changes or row.name in ("comment behind", "statement behind") or str(row) == "comment (load)"
    return (row.changes and change.changes) or bool(row.inserts & change.inserts)


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_an_edit_conflicts_with_a_change_of_its_statement_alone(tmp_path: Path) -> None:
    cases = [(row, change) for row in EDITS for change in CHANGES if row.kind == change.kind]
    kernels = Kernels(tmp_path, [parts for _, change in cases for parts in at_one_place(change)])
    merged, conflicts = [], 0
    for row, change in cases:
        before, after = (kernels[parts] for parts in at_one_place(change))
        edited = row.make(before)
        done = merge(before, edited, after)
        if (row.name, change.name) == ("hoisted", "hoisted") and row.kind == "load":
            # Both wrote the same, one with a comment.
            assert done.conflicts == 0
        else:
            assert bool(done.conflicts) == is_conflict(row, change), f"{row} and {change}:\n{done.text}"
        assert done.text.count("<<<<<<<") == done.text.count("=======") == done.text.count(">>>>>>>") == done.conflicts
        conflicts += bool(done.conflicts)
        if done.conflicts:
            # Nothing of what either side wrote is lost.
            for side in (edited, after):
                assert new_words(side, before) <= words(done.text)
        else:
            merged.append(done.text)
    assert conflicts > 100 and len(merged) > 200
    spirv.compile_many(merged)


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w.]+", text))


def new_words(text: str, before: str) -> set[str]:
    return words(text) - words(before)


RUN = [(row, change) for row in EDITS if row.value for change in CHANGES if change.value][::37]


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@pytest.mark.parametrize(("row", "change"), RUN, ids=lambda row: str(row))
def test_what_a_merge_gives_is_what_both_ask_for(tmp_path: Path, row: Row, change: Row) -> None:
    before, after = beside(row, change, first=True)
    kernels = Kernels(tmp_path, [before, after])
    (shader,) = exported(tmp_path / "shaders", lambda: kernels.launch(before))
    generated = kernels[before]
    amp.use_shaders(None)
    plain, changed = kernels.launch(before), kernels.launch(after)
    shader_of_after = kernels[after]
    (made,) = exported(tmp_path / "new", lambda: kernels.launch(after))
    assert made.read_text() == shader_of_after
    made.write_text(merge(generated, row.make(generated), shader_of_after).text)
    amp.use_shaders(tmp_path / "new")
    both = kernels.launch(after)
    assert row.value is not None and change.value is not None
    t_before = values_of(PARTS[row.kind], plain, T_VALUES)
    t_after = np.array([row.value(float(x)) for x in T_VALUES], np.float32) + t_before[1]
    assert np.allclose(both - changed, t_after - t_before[0] - t_before[1], atol=1e-3)
    c_before = np.array([change.value(float(x)) for x in C_VALUES], np.float32)
    assert np.allclose(changed - t_before[0] - t_before[1], 100 * c_before, rtol=1e-5)
    assert shader.exists()


def values_of(text: str, plain: Any, values: Any) -> tuple[Any, Any]:
    """What Python gives for ``t`` and ``t_more``."""
    found = []
    for x in values:
        scope = {"t": 1.0, "t_in": float(x), "t_more": 0.0, "t_values": [float(x)], "t_idx": 0}
        exec(named(text, "t"), scope)
        found.append((scope["t"], scope["t_more"]))
    return np.array([t for t, _ in found], np.float32), np.array([more for _, more in found], np.float32)
