"""The benchmarks run, check their results, and write what was measured on which device; the speed is not tested."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tools.bench import compiling, peers, startup
from tools.bench.__main__ import GROUPS, main
from tools.bench.measure import Measurement, Options, alternately, check, warmly
from tools.bench.programs import Program, measure_programs
from vkamp import algorithms


@pytest.mark.sample("swiftshader", "reference")
def test_launches_are_measured(
    accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results" / "mine.json"
    arguments = ["--runs", "1", "--groups", "launch", "--accelerators", accelerator.device_path, "--json", str(output)]
    assert main([*arguments, "--rounds", "2"]) == 0
    table = capsys.readouterr().out
    assert table.startswith(accelerator.description)
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["command"].startswith("tools/env python -m tools.bench --runs 1 --groups launch")
    assert report["accelerators"][accelerator.device_path]["name"] == accelerator.description
    names = [row["name"] for row in report["measurements"]]
    assert "launch + wait" in names
    assert all(f"  {name} " in table for name in names)
    assert all(row["median_seconds"] > 0 and row["target_seconds"] is None for row in report["measurements"])
    assert len(set(names)) == len(names)
    # One of each round; 20 of functions that take microseconds.
    assert {2} <= {len(row["values_seconds"]) for row in report["measurements"]} <= {2, 40}
    assert main([*arguments, "--only", "+ wait"]) == 0
    report = json.loads(output.read_text(encoding="utf-8"))
    assert [row["name"] for row in report["measurements"]] == [name for name in names if "+ wait" in name]


def test_only_some_programs_run(
    accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the programs whose names lack the text, none runs."""

    def measured(_: Options) -> Iterator[Measurement]:
        yield from measure_programs("algorithms", _, lambda *_: iter(programs))

    def fails(_: Any) -> Any:
        raise AssertionError

    programs = [
        Program("copy", (np.arange(100, dtype=np.int32),), algorithms.copy, np.copy),
        Program("flip", (np.arange(100, dtype=np.int32),), fails, fails),
    ]
    monkeypatch.setitem(GROUPS, "algorithms", measured)
    output = tmp_path / "mine.json"
    arguments = ["--runs", "1", "--groups", "algorithms", "--accelerators", accelerator.device_path]
    assert main([*arguments, "--only", "copy", "--json", str(output)]) == 0
    names = {row["name"] for row in json.loads(output.read_text(encoding="utf-8"))["measurements"]}
    is_measured = accelerator.device_path != "reference"
    assert names == ({"copy, 100", "copy, 100, numpy"} if is_measured else set())


@pytest.mark.accelerators("swiftshader")
def test_starts_are_measured(
    accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each process starts once: none is left out as the first.
    monkeypatch.setattr(startup, "alternately", lambda runs, *works: [(work(),) for work in works])
    output = tmp_path / "starts.json"
    devices = f"{accelerator.device_path},reference"
    # The status says whether the targets were met, which is not this test's matter.
    assert main(["--runs", "1", "--groups", "startup", "--accelerators", devices, "--json", str(output)]) in (0, 1)
    rows = {row["name"]: row for row in json.loads(output.read_text(encoding="utf-8"))["measurements"]}
    assert {"import numpy", "import vkamp"} <= rows.keys()
    first, raw = rows["first launch, SPIR-V cached"], rows["the same by kp alone"]
    own = rows["vkamp's own share"]
    difference = first["values_seconds"][0] - raw["values_seconds"][0]
    assert own["values_seconds"] == [pytest.approx(difference, abs=1e-5)]
    assert [row["target_seconds"] for row in (first, raw, own)] == [0.6, None, 0.15]
    assert {row["accelerator"] for row in (first, raw, own)} == {accelerator.device_path}
    assert "  vkamp's own share " in capsys.readouterr().out


@pytest.mark.accelerators("swiftshader")
def test_engines_are_measured(accelerator: amp.accelerator, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "1", "--groups", "engines", "--accelerators", accelerator.device_path]) == 0
    table = capsys.readouterr().out
    for row in ("a launch of 100 in a chain, waited", "launch and read", "upload of 64 MiB", "download of 1 MiB"):
        assert f"  {row}, kompute " in table and f"  {row}, vulkan " in table


@pytest.mark.accelerators("swiftshader")
def test_captures_and_moves_are_measured(
    accelerator: amp.accelerator, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VKAMP_CHECK", "0")
    assert main(["--runs", "1", "--groups", "capture,moving", "--accelerators", accelerator.device_path]) == 0
    table = capsys.readouterr().out
    for kind in ("50 dependent", "50 independent"):
        for side in ("kompute", "vulkan", "Vulkan by hand"):
            assert f"  {kind}, replayed and waited, {side} " in table
    assert "  there and back, 16 MiB, vulkan " in table
    assert re.search(r"  memory of an array of 16 MiB, by kompute +(\d\.\d\d x  +){4}met$", table, re.MULTILINE)


@pytest.mark.accelerators("swiftshader")
def test_throughput_is_measured(accelerator: amp.accelerator, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--runs", "1", "--groups", "throughput", "--accelerators", accelerator.device_path]
    assert main(arguments) in (0, 1)
    table = capsys.readouterr().out
    assert "  copy of 4 MiB, vkamp " in table and "  product of 256 x 256, probe " in table


def test_compilation_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "KERNELS", ("matrix_product",))
    # The status says whether the target was met, which is not this test's matter.
    assert main(["--runs", "1", "--groups", "compile", "--accelerators", "reference"]) in (0, 1)
    assert "matrix_product, SPIR-V cached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--groups", "speed"],
            "no group 'speed': there are startup, compile, driver_compile, launch, engines",
        ),
        (["--runs", "0"], "--runs is 1 or more"),
        (["--accelerators", "abacus"], "accelerator('abacus') names no accelerator"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_wrong_result_ends_the_run() -> None:
    with pytest.raises(SystemExit, match=r"tools\.bench: wrong result: the sum"):
        check(1 == 2, "the sum")


def test_works_are_measured_in_turn() -> None:
    order: list[str] = []

    def work(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert alternately(2, lambda: work("a"), lambda: work("b")) == [(3.0, 5.0), (4.0, 6.0)]
    assert order == ["a", "b"] * 3


def test_warm_works_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is called until it is warm, then as often as it counts; a slow one once a round."""
    now, calls = [0.0], []
    monkeypatch.setattr("tools.bench.measure.time.perf_counter", lambda: now[0])

    def work(name: str, takes: float) -> float:
        calls.append(name)
        now[0] += takes
        return takes

    found = warmly(4, lambda: work("a", 0.03), lambda: work("b", 2.0), seconds=0.05, rounds=2)
    assert found == [(0.03,) * 4, (2.0,) * 2]
    assert "".join(calls) == "aaaabb" * 2


def test_targets() -> None:
    assert Measurement("g", "n", (1.0, 9.0, 2.0), target=2.0).met is True
    assert Measurement("g", "n", (1.0, 9.0, 2.1), target=2.0).met is False
    assert Measurement("g", "n", (1.0,)).met is None


@pytest.mark.accelerators("swiftshader")
def test_peers_are_measured(
    accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
    output = tmp_path / "peers.json"
    arguments = ["--runs", "1", "--groups", "peers", "--accelerators", accelerator.device_path, "--json", str(output)]
    assert main(arguments) == 0
    table = capsys.readouterr().out.splitlines()
    for kind in ("launch + wait", "launch", "1000 dependent, one by one and waited"):
        for engine in ("kompute", "vulkan"):
            assert sum(line.startswith(f"  {kind}, vkamp, {engine} ") for line in table) == 1
    rows = {row["name"]: row for row in json.loads(output.read_text(encoding="utf-8"))["measurements"]}
    for peer in ("wgpu-py", "vkdispatch", "numba-vulkan", "Taichi, Vulkan", "CuPy", "numba-cuda", "PyTorch", "Warp"):
        assert sum(line.split(peer)[-1].strip() == "not installed" for line in table if peer in line) == 1
        assert rows[f"launches, {peer}"]["missing"] == "not installed"
        assert rows[f"launches, {peer}"]["values_seconds"] == []


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("raise LookupError('no device\\nat all')", {"missing": "fails here: LookupError: no device"}),
        ("import os; os.write(1, b'noise'); os.abort()", {"missing": "fails here: ended by SIGABRT"}),
        ("import os; os._exit(3)", {"missing": "fails here: ended with status 3"}),
        ("import time; time.sleep(60)", {"missing": "fails here: no end after 1 s"}),
        ("print('a banner')", {"peer": "mine", "device": "llvmpipe (256 bits)", "runs": "5"}),
    ],
)
def test_a_peer_that_fails_says_so(
    program: str, found: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "peer_program.py").write_text(
        "from tools.bench import peers\n"
        "def work(peer, device, runs):\n"
        f"    {program}\n"
        "    return {'peer': peer, 'device': device.name, 'runs': runs}\n"
        "peers.answer(work)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    seconds = 1 if "sleep" in program else 60
    assert peers.ask("peer_program", "mine", peers.Device(1, "llvmpipe (256 bits)"), 5, seconds=seconds) == found


def test_a_wrong_result_of_a_peer_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong_program.py").write_text(
        "from tools.bench import peers\n"
        "from tools.bench.measure import check\n"
        "peers.answer(lambda peer, device: check(False, f'a launch by {peer}'))\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(SystemExit, match=r"tools\.bench: wrong result: a launch by mine"):
        peers.ask("wrong_program", "mine", peers.Device(0, "any"))


def test_a_peer_over_cuda_needs_cuda() -> None:
    assert peers.ask("json", "CuPy", peers.Device(0, "llvmpipe"))["missing"] in ("not installed", "needs CUDA")
