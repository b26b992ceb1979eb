"""``vkamp tune`` and ``vkamp bench``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import vkamp as amp
from vkamp.cli.app import command

PROGRAM = """
import vkamp as amp


@amp.kernel
def added(t_idx, a, out, *, items: amp.constant):
    for k in amp.static_range(items):
        i = t_idx.global_[0] * items + k
        if i < a.extent[0]:
            out[i] = a[i] + 1


@amp.autotune({"tile": (4, 8), "items": (1, 2)})
def add(a, out, *, tile, items):
    threads = -(-a.extent[0] // items)
    amp.parallel_for_each(a.accelerator_view, amp.extent(threads).tile(tile).pad(), added, a, out, items=items)


def plain(a):
    pass
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "adding.py"
    path.write_text(PROGRAM)
    return path


def invoke(*args: str, status: int = 0) -> str:
    done = CliRunner().invoke(command, args, catch_exceptions=status != 0)
    assert done.exit_code == status, done.output
    return done.output if status == 0 or done.exception is None else str(done.exception)


def test_tune(tmp_path: Path) -> None:
    types = ("--args", "int32[20], int32[20]", "--accelerator", "reference")
    out = invoke("tune", "adding.py:add", *types, "--budget", "60", "--plot", "search.svg", "--export", "table.json")
    assert len(re.findall(r"tile=[48], items=[12]", out)) >= 4 and "times the default's speed" in out
    assert "wrote search.svg" in out and "1 entries in table.json" in out
    assert (tmp_path / "search.svg").read_text().startswith("<svg ")
    table = json.loads((tmp_path / "table.json").read_text())
    (entry,) = table["entries"]
    assert entry["function"].endswith(":add") and entry["key"] == [["int32", 1, 5], ["int32", 1, 5]]
    assert entry["parameters"].keys() == {"tile", "items"} and entry["run"]["engine"] == "reference"
    invoke("tune", "adding.py:add", *types, "--budget", "60", "--export", "table.json")
    assert len(json.loads((tmp_path / "table.json").read_text())["entries"]) == 1
    assert invoke("tune", "--list").endswith("1 results\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("adding.py:plain", "--args", "int32[20]"), "tune: 'plain' calls no function of amp.autotune"),
        (("adding.py:add", "--args", "int32[:], int32[:]"), "tune takes containers with their sizes, and numbers: "),
    ],
)
def test_what_is_refused(args: tuple[str, ...], message: str) -> None:
    assert message in invoke("tune", *args, "--accelerator", "reference", status=1)


def test_bench() -> None:
    args = ("bench", "--accelerator", "llvmpipe@vulkan", "--peer", "numpy", "--small", "--work")
    rows = json.loads(invoke(*args, "product of 256", "--json"))["rows"]
    assert [row["work"] for row in rows] == ["product of 256 x 256"] and rows[0]["numpy"] > 0 < rows[0]["vkamp"]
    assert "product of 256 x 256" in invoke(*args, "product of 256")
    assert "no benchmark's name contains nothing: sum of" in invoke(*args, "nothing", status=1)


def test_refusals() -> None:
    invoke("tune", "adding.py:add", "--budget", "0", status=2)
    with pytest.raises(amp.AmpError, match="adding.py:added is a kernel: name a function with @amp.autotune"):
        CliRunner().invoke(command, ["tune", "adding.py:added"], catch_exceptions=False)
