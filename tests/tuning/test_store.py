"""The store, the tables, and what a call takes from them."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.tuning.kernels import doubled, launch
from vkamp.run.accelerators import info_of
from vkamp.tuning import Autotuned, TuningWarning, autotuned, tables
from vkamp.tuning.space import Parameters
from vkamp.tuning.store import Store, entries

PARAMETERS = {"tile": (32, 64), "items": (1, 4), "kernel": (doubled,)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


@pytest.fixture
def tuned() -> Autotuned:
    made: Autotuned = amp.autotune(PARAMETERS, key=lambda a, out: len(a.extent))(launch)
    return made


@pytest.fixture
def arrays() -> tuple[amp.array, amp.array]:
    view = amp.accelerator("reference").default_view
    return tuple(amp.array(amp.extent(100), np.float32, np.ones(100, np.float32), accelerator_view=view) for _ in "ab")  # type: ignore[return-value]


def store_of(a: amp.array, **changes: str) -> Store:
    info = info_of(a.accelerator_view)  # type: ignore[arg-type]
    assert info is not None
    return Store(dataclasses.replace(info, **changes))  # type: ignore[arg-type]


def put(tuned: Autotuned, store: Store, parameters: Any) -> None:
    key = "1"
    assert store.write(tuned.identity, key, {"function": tuned.name, "key": key, "parameters": parameters})
    autotuned.changed()


FOUND = {"tile": 64, "items": 4, "kernel": "doubled"}


def test_a_call_takes_what_is_stored(folder: Path, tuned: Autotuned, arrays: Any) -> None:
    assert tuned.chosen(*arrays) == tuned.space.default
    put(tuned, store_of(arrays[0]), FOUND)
    assert tuned.chosen(*arrays) == {"tile": 64, "items": 4, "kernel": doubled}
    tuned(*arrays)
    assert (np.asarray(arrays[1]) == 2).all()
    assert [each["parameters"] for each in entries(folder)] == [FOUND]


@pytest.mark.parametrize("changes", [{"driver": "another"}, {"uuid": "0" * 32}, {"engine": "another"}])
def test_another_driver_takes_nothing(folder: Path, tuned: Autotuned, arrays: Any, changes: dict[str, str]) -> None:
    put(tuned, store_of(arrays[0], **changes), FOUND)
    assert tuned.chosen(*arrays) == tuned.space.default


def test_off_takes_nothing(folder: Path, tuned: Autotuned, arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tuned, store_of(arrays[0]), FOUND)
    monkeypatch.setenv("VKAMP_TUNE", "off")
    assert tuned.chosen(*arrays) == tuned.space.default
    monkeypatch.setenv("VKAMP_TUNE", "sometimes")
    with pytest.raises(amp.AmpError, match=r"^VKAMP_TUNE is 'sometimes': it must be one of off, cached, on$"):
        tuned.chosen(*arrays)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 0}', b"\xff\xfe", b'{"format": 1}'])
def test_a_damaged_file_is_missing(folder: Path, tuned: Autotuned, arrays: Any, content: bytes) -> None:
    put(tuned, store_of(arrays[0]), FOUND)
    (path,) = folder.glob("*.json")
    path.write_bytes(content)
    autotuned.changed()
    assert tuned.chosen(*arrays) == tuned.space.default


def test_an_edited_result_is_refused(folder: Path, tuned: Autotuned, arrays: Any) -> None:
    put(tuned, store_of(arrays[0]), {**FOUND, "tile": 48})
    with pytest.warns(TuningWarning, match=r"is not used: tile must be one of 32, 64, not 48$"):
        assert tuned.chosen(*arrays) == tuned.space.default
    autotuned.changed()
    # Once.
    assert tuned.chosen(*arrays) == tuned.space.default


def write_table(folder: Path, name: str, function: str, parameters: Any) -> None:
    entry = {"function": function, "key": 1, "parameters": parameters, "run": {}}
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"entries": [entry]}))
    tables.table.cache_clear()


def test_tables(folder: Path, tmp_path: Path, arrays: Any) -> None:
    place = tmp_path / "tables"
    made = amp.autotune(
        PARAMETERS, key=lambda a, out: len(a.extent), tables=place,
        where=lambda p, limits: p.tile * p.items < 256,
    )(launch)  # fmt: skip
    write_table(place, "default", made.name, {**FOUND, "items": 1})
    assert made.chosen(*arrays) == {"tile": 64, "items": 1, "kernel": doubled}
    # The store comes first.
    put(made, store_of(arrays[0]), {**FOUND, "tile": 32})
    assert made.chosen(*arrays).tile == 32
    for path in folder.glob("*.json"):
        path.unlink()
    write_table(place, "default", made.name, FOUND)
    autotuned.changed()
    with pytest.warns(TuningWarning, match=r"default\.json is not used: `where` refuses them on this device$"):
        assert made.chosen(*arrays) == made.space.default
    write_table(place, "default", made.name, {**FOUND, "kernel": "another"})
    autotuned.changed()
    made._warned.clear()
    with pytest.warns(TuningWarning, match=r"default\.json is not used: kernel must be one of doubled, not another$"):
        assert made.chosen(*arrays) == made.space.default
    for text, reason in (
        ("{}", r"KeyError\('entries'\)"), ('{"entries": [7]}', "TypeError"), ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
    ):  # fmt: skip
        (place / "default.json").write_text(text)
        tables.table.cache_clear()
        autotuned.changed()
        made._warned.clear()
        with pytest.warns(TuningWarning, match=rf"default\.json is not a table of tuned parameters: {reason}"):
            assert made.chosen(*arrays) == made.space.default
    autotuned.changed()
    # Once.
    assert made.chosen(*arrays) == made.space.default


def test_tables_of_other_devices(folder: Path, tmp_path: Path, arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device uses the tables of its family and its vendor only."""
    place = tmp_path / "tables"
    made = amp.autotune(PARAMETERS, key=lambda a, out: len(a.extent), tables=place)(launch)
    write_table(place, "lavapipe", made.name, {**FOUND, "tile": 32})
    write_table(place, "nvidia", made.name, FOUND)
    own = info_of(arrays[0].accelerator_view)
    assert own is not None
    for name, parameters in (
        ("NVIDIA H200", {**FOUND, "kernel": doubled}),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", {**FOUND, "tile": 32, "kernel": doubled}),
        ("SwiftShader Device (Subzero)", made.space.default),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", made.space.default),
    ):
        monkeypatch.setattr(autotuned, "info_of", lambda view, name=name: dataclasses.replace(own, name=name))
        autotuned.changed()
        assert made.chosen(*arrays) == parameters


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H200", ("nvidia-hopper", "nvidia", "default")),
        ("NVIDIA GeForce RTX 4090", ("nvidia-ada", "nvidia", "default")),
        ("NVIDIA GeForce RTX 2060", ("nvidia", "default")),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", ("amd-rdna3", "amd", "default")),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", ("lavapipe", "default")),
        ("llvmpipe (LLVM 15.0.6, 512 bits)", ("default",)),
        ("SwiftShader Device (Subzero)", ("swiftshader", "default")),
        ("Something", ("default",)),
    ],
)
def test_families(name: str, expected: tuple[str, ...]) -> None:
    info = info_of(amp.accelerator("reference"))
    assert info is not None
    assert tables.names_of(dataclasses.replace(info, name=name)) == expected


def test_shipped_tables_are_legal() -> None:
    """Each entry is of a tuned function, within its space, and says which run made it."""
    import vkamp.linalg  # noqa: F401

    shipped = sorted(tables.FOLDER.glob("*.json"))
    assert {path.stem for path in shipped} >= {"lavapipe", "nvidia-hopper"}
    for path in shipped:
        found = tables.table(path.stem)
        assert found
        for (function, _), entry in found.items():
            assert isinstance(autotuned.registry[function].space.read(entry["parameters"]), Parameters)
            run = {
                "date",
                "driver",
                "engine",
                "accelerator",
                "seconds",
                "default_seconds",
                "command",
                "timed",
                "untried",
            }
            assert entry["run"].keys() >= run


PROGRAM = """
import sys, numpy as np, vkamp as amp
from tests.tuning.kernels import doubled, launch
from vkamp.tuning import autotuned
parameters = {"tile": (32,), "items": (1, 4), "kernel": (doubled,)}
tuned = amp.autotune(parameters, key=lambda a, out: len(a.extent))(launch)
view = amp.accelerator("llvmpipe@vulkan").default_view
a, out = (amp.array(amp.extent(5000), np.float32, np.ones(5000, np.float32), accelerator_view=view) for _ in range(2))
for _ in range(2):
    amp.tune(tuned, a, out, budget=20)
    tuned(a, out)
    assert (np.asarray(out) == 2).all()
print(*tuned.chosen(a, out))
"""


def test_two_processes_tune_at_once(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for each in running:
        out, err = each.communicate(timeout=100)
        assert each.returncode == 0, err.decode()
        assert out.decode() == "tile items kernel\n"
    (entry,) = entries(folder)
    assert entry["parameters"]["kernel"] == "doubled"
    assert not list(folder.glob("*.tmp")) and not list(folder.glob("*.trial"))


def _write_many(folder: str, number: int) -> None:
    store = Store(None, Path(folder))
    for k in range(100):
        rejected = [{"parameters": {"tile": number * 1000 + k}, "reason": "wrong"}]
        assert store.write("f", "1", {"parameters": {"tile": number}, "rejected": rejected})
        found = store.read("f", "1")
        assert found is not None and found["parameters"]["tile"] in (0, 1)


def test_a_file_is_always_whole(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_write_many, args=(str(tmp_path), k)) for k in range(2)]
    for each in running:
        each.start()
    for each in running:
        each.join()
        assert each.exitcode == 0
    assert len(list(tmp_path.iterdir())) == 1


def test_a_crash_is_remembered(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from vkamp.tuning.store import Store\n"
        "Store(None, Path(sys.argv[1])).begin_trial('f', '1', {'tile': 64}); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    store = Store(None, tmp_path)
    store.begin_trial("f", "1", {"tile": 32})
    assert store.crashed("f", "1") == [{"tile": 64}]
    store.end_trial("f", "1")
    assert store.crashed("f", "1") == [] and not list(tmp_path.iterdir())


def test_without_a_folder(tuned: Autotuned, arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_CACHE_SIZE", "0")
    store = store_of(arrays[0])
    assert store.folder is None and not store.write("f", "1", {}) and store.read("f", "1") is None
    assert tuned.chosen(*arrays) == tuned.space.default
