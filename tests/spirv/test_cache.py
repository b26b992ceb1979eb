"""The cache on disk: damage, folders that cannot be used, many processes, and its bound."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tests.spirv.shaders import shader
from vkamp import spirv
from vkamp.cache import DiskCache, default_cache
from vkamp.errors import AmpError
from vkamp.spirv import glslang
from vkamp.spirv.resident import Resident


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the shaders that were compiled and not taken from the cache."""
    names: list[str] = []
    real = glslang.run

    def run(compiler: glslang.Compiler, glsl: str, name: str) -> bytes:
        names.append(name)
        return real(compiler, glsl, name)

    monkeypatch.setattr(spirv, "run", run)
    monkeypatch.setattr(Resident, "compile", lambda *_: None)
    return names


@pytest.fixture(autouse=True)
def _warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    DiskCache._warned.clear()


def entry(folder: Path) -> Path:
    """The file of the only shader in the cache."""
    (path,) = (p for p in folder.glob("*.bin") if not p.name.startswith("version"))
    return path


def test_a_second_time_nothing_is_compiled(cache: Path, runs: list[str]) -> None:
    first = spirv.compile(shader(1), name="one")
    assert spirv.compile(shader(1), name="two") == first
    assert runs == ["one"]
    assert spirv.compile(shader(2), name="three") != first
    assert runs == ["one", "three"]
    assert not list(cache.glob("*.tmp"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-4],
        lambda data: data + b"0000",
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: bytes(len(data)),
    ],
    ids=["empty", "no header", "truncated", "longer", "one bit", "zeros"],
)
def test_a_damaged_entry_is_built_again(cache: Path, runs: list[str], damage) -> None:
    first = spirv.compile(shader(1))
    path = entry(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert spirv.compile(shader(1)) == first
    assert len(runs) == 2
    assert path.read_bytes() == whole


def test_an_entry_that_cannot_be_read_is_left_alone(cache: Path, runs: list[str]) -> None:
    first = spirv.compile(shader(1))
    path = entry(cache)
    path.unlink()
    path.mkdir()
    (path / "kept").touch()
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert spirv.compile(shader(1)) == first
    assert (path / "kept").exists()
    assert len(runs) == 2


@pytest.mark.parametrize("where", ["a file", "under a file", "a dangling link"])
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str], where: str
) -> None:
    blocked = tmp_path / "blocked"
    if where == "a dangling link":
        blocked.symlink_to(tmp_path / "nowhere" / "deeper")
    else:
        blocked.touch()
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(blocked / "sub" if where == "under a file" else blocked))
    with pytest.warns(RuntimeWarning, match="compiled shaders cannot be kept"):
        first = spirv.compile(shader(1))
    # One warning is enough.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spirv.compile(shader(1)) == first
    assert len(runs) == 2


def test_a_full_disk(cache: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vkamp.cache.os.replace", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        spirv.compile(shader(1))
    assert list(cache.iterdir()) == []
    assert len(runs) == 1


def test_the_cache_turned_off(cache: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_CACHE_SIZE", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spirv.compile(shader(1)) == spirv.compile(shader(1))
    assert len(runs) == 2
    assert not cache.exists()


@pytest.mark.parametrize("text", ["lots", "nan", "inf", "1e400", "-1"])
def test_a_bound_that_is_no_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("VKAMP_CACHE_SIZE", text)
    with pytest.raises(AmpError, match=f"VKAMP_CACHE_SIZE is '{text}', which is not a number of MiB"):
        default_cache()


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "c", limit=10_000)
    now = time.time()
    for number in range(9):
        store.put(f"k{number}", bytes([number]) * 1000)
        used = now - 7200 * (9 - number)
        os.utime(tmp_path / "c" / f"k{number}.bin", (used, used))
    # Reading an entry is using it.
    assert store.get("k0") == bytes(1000)
    store.put("big", bytes(2000))
    left = {p.stem for p in (tmp_path / "c").iterdir()}
    assert "k0" in left and "big" in left and "k8" in left
    assert "k1" not in left and "k2" not in left
    assert sum(p.stat().st_size for p in (tmp_path / "c").iterdir()) <= 8000


def test_what_a_crash_left_is_removed_in_time(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "c", limit=10_000)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "one.bin").write_bytes(b"1")
    for name, age in (("new-a.tmp", 7200), ("new-b.tmp", 10)):
        path = tmp_path / "c" / name
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    (tmp_path / "c" / "somebody-else.txt").touch()
    store.put("two", b"2")
    assert {p.name for p in (tmp_path / "c").iterdir()} == {
        "one.bin",
        "two.bin",
        "new-b.tmp",
        "somebody-else.txt",
    }


def test_what_other_processes_add_is_counted_in_time(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "c", limit=100_000)
    store.put("first", b"1")
    for number in range(9):
        (tmp_path / "c" / f"theirs{number}.bin").write_bytes(bytes(20_000))
    for number in range(300):
        store.put(f"{number}", bytes(10))
    assert sum(p.stat().st_size for p in (tmp_path / "c").iterdir()) <= 100_000


def test_entries_are_taken_as_they_are(tmp_path: Path) -> None:
    store = DiskCache(tmp_path, limit=10**6)
    for data in (b"", b"x", bytes(range(256)) * 99):
        store.put("key", data)
        assert store.get("key") == data
    assert store.get("other") is None
    assert DiskCache(None, 100).get("key") is None


def test_many_processes_at_once(cache: Path) -> None:
    """Eight processes compile the same shaders into one cache; a bound this small keeps evicting."""
    script = (
        "import sys\n"
        "from vkamp import spirv\n"
        "from tests.spirv.shaders import shader\n"
        "for n in range(3):\n"
        "    print(len(spirv.compile(shader(n))), hash(spirv.compile(shader(n))))\n"
    )
    environment = {**os.environ, "VKAMP_CACHE_SIZE": "0.003", "PYTHONHASHSEED": "0"}
    root = Path(__file__).resolve().parents[2]
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
            env=environment,
        )
        for _ in range(8)
    ]
    outputs = [process.communicate(timeout=120) for process in running]
    assert {errors for _, errors in outputs} == {""}
    assert len({said for said, _ in outputs}) == 1
    assert not list(cache.glob("*.tmp"))
    assert sum(p.stat().st_size for p in cache.glob("*")) <= 3500
