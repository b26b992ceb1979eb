"""What a kernel shows: prints, the thread that is followed, its steps, the debugger."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp

VIEW = amp.accelerator("reference").default_view
ROOT = Path(__file__).resolve().parents[2]
pair = np.dtype([("at", np.float32, (2, 2)), ("n", np.int32)])


def printed(capsys: pytest.CaptureFixture[str], domain: amp.extent, kernel: Any, *args: Any) -> list[str]:
    capsys.readouterr()
    amp.parallel_for_each(VIEW, domain, kernel, *args)
    return capsys.readouterr().out.split("\n")


def ints(*values: int) -> amp.array_view:
    return amp.array_view(np.array(values, np.int32))


# -- print


def test_values_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a"

    def shows(t_idx, a, rows, scale):  # type: ignore[no-untyped-def]
        row = rows[t_idx]
        p = amp.float3(1.0, scale, 3.0)
        print("it is", a[t_idx], 3, True, None, a[t_idx] > 3, amp.uint32(4294967295))
        print(scale, 1e-3, p, p.zy, row)
        print(t_idx, t_idx.tile, t_idx.local, (a[t_idx], 2.5), t_idx.tile_extent, a.extent, name)
        print()
        print(f"{a[t_idx]:4d}|{scale:.3f}|{scale * 1e9:9.2e}|{a[t_idx]=}|{{}}|{'x'}|{name:>3}", "{}", sep="")

    rows = amp.array_view(np.array([(((1, 2), (3, 4)), 5)], pair))
    assert printed(capsys, amp.extent(1).tile(1), shows, ints(7), rows, 0.1) == [
        "thread (0): it is 7 3 True None True 4294967295",
        "thread (0): 0.1 0.001 float3(1.0, 0.1, 3.0) float2(3.0, 0.1) pair(at=[[1.0, 2.0], [3.0, 4.0]], n=5)",
        "thread (0): index(0) index(0) index(0) (7, 2.5) extent(1) extent(1) a",
        "thread (0): ",
        "thread (0):    7|0.100| 1.00e+08|a[t_idx]=7|{}|x|  a{}",
        "",
    ]


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_each_line_begins_with_its_thread(capsys: pytest.CaptureFixture[str]) -> None:
    def shows(t_idx, a):  # type: ignore[no-untyped-def]
        print("first", end=", ")
        print("then", a[t_idx], sep="\n")
        t_idx.barrier.wait()
        print(t_idx.local[0], end="")

    assert printed(capsys, amp.extent(2).tile(2), shows, ints(7, 8)) == [
        "thread (0): first, then",
        "thread (0): 7",
        "thread (1): first, then",
        "thread (1): 8",
        "thread (0): 0",
        "thread (1): 1",
        "",
    ]


def test_values_are_those_of_their_moment(capsys: pytest.CaptureFixture[str]) -> None:
    @amp.func
    def raises(counts):  # type: ignore[no-untyped-def]
        return amp.atomic_fetch_add(counts[0], 5)

    def shows(idx, counts):  # type: ignore[no-untyped-def]
        n = 1
        print(counts[0], raises(counts), f"{counts[0]} {raises(counts)}", counts[0])
        for n in range(2):
            if n:
                print("n", n)

    assert printed(capsys, amp.extent(1), shows, ints(0)) == ["thread (0): 0 0 5 5 10", "thread (0): n 1", ""]


def test_prints_do_not_keep_a_wrong_access_from_being_found() -> None:
    def shows(idx, a):  # type: ignore[no-untyped-def]
        print(a[idx[0] + 1])

    with pytest.raises(amp.CheckError, match="index 2 of a is out of bounds"):
        amp.parallel_for_each(VIEW, amp.extent(2), shows, ints(0, 0))


@pytest.mark.accelerators("drivers")
def test_a_device_refuses_before_any_effect(accelerator_view: amp.accelerator_view) -> None:
    def shows(idx, a):  # type: ignore[no-untyped-def]
        a[idx] = 5
        if a[idx] > 7:
            print(a[idx])

    a = ints(0, 0)
    with pytest.raises(amp.UnsupportedFeatureError, match="VKA502: `print` works on the reference accelerator only"):
        amp.parallel_for_each(accelerator_view, a.extent, shows, a)
    assert np.asarray(a).tolist() == [0, 0]
    amp.parallel_for_each(VIEW, a.extent, shows, a)
    assert np.asarray(a).tolist() == [5, 5]


# -- one thread


def counts_up(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static((2, 2), amp.int32)
    values[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    print("sees", values[1 - t_idx.local[0], 1 - t_idx.local[1]])


@pytest.mark.parametrize("schedule", ["in-order", "reversed", "adversarial"])
def test_only_the_followed_thread_prints(capsys: pytest.CaptureFixture[str], schedule: str) -> None:
    a = amp.array_view(np.arange(24, dtype=np.int32).reshape(4, 6))
    domain = a.extent.tile(2, 2)
    with amp.reference_schedule(schedule):
        with amp.follow((1, 4)):
            assert printed(capsys, domain, counts_up, a) == ["sees 5", ""]
        with amp.follow(amp.index(1, 4)):
            assert printed(capsys, domain, counts_up, a) == ["sees 5", ""]
        with amp.follow(tile=(1, 2), local=(0, 1)):
            assert printed(capsys, domain, counts_up, a) == ["sees 22", ""]
        assert len(printed(capsys, domain, counts_up, a)) == 25


def test_following_nobody_is_told() -> None:
    a = amp.array_view(np.zeros((4, 6), np.int32))
    for where, name in (
        ({"thread": (4, 0)}, r"thread \(4, 0\)"),
        ({"thread": 3}, r"thread \(3,\)"),
        ({"tile": (0, 3), "local": (0, 0)}, r"thread \(0, 0\) of tile \(0, 3\)"),
        ({"tile": (0, 0), "local": (0, 2)}, r"thread \(0, 2\) of tile \(0, 0\)"),
    ):
        expected = f"no launch on the reference accelerator had {name}, which amp.follow names"
        with pytest.raises(amp.AmpError, match=expected), amp.follow(**where):  # type: ignore[arg-type]
            amp.parallel_for_each(VIEW, a.extent.tile(2, 2), counts_up, a)
    for wrong in ({}, {"tile": 1}, {"local": 1}, {"thread": 1, "tile": 1, "local": 1}, {"thread": 1, "tile": 1}):
        with pytest.raises(TypeError, match="global index, or tile= and local="), amp.follow(**wrong):
            pass


def test_an_error_is_not_hidden_by_following_nobody() -> None:
    with pytest.raises(ZeroDivisionError), amp.follow(3):
        1 / 0  # noqa: B018


#: What a thread of the kernel below does, line by line.
STEPS = [
    "works: thread (3) (tile (1), local (1))",
    "i = t_idx.local[0]",
    "    i = 1",
    "p = amp.float2(0.5, i)",
    "    p = float2(0.5, 1.0)",
    "p.x = 2.0",
    "    p.x = 2.0",
    "for k in range(i):",
    "    k = 0",
    "rows[t_idx].at[k, 1] = twice(k)",
    "return 2 * x",
    "    result = 0",
    "rows[t_idx].at[k, 1] = twice(k)",
    "    rows[3].at[0, 1] = 0.0",
    "n = 1",
    "    n = 1",
    "while n > 0:",
    "    True",
    "n -= 1",
    "    n = 0",
    "while n > 0:",
    "    False",
    'print("here", end="")',
    "here",
    "t_idx.barrier.wait()",
    "old = amp.atomic_fetch_add(a[0], 3)",
    "    a[0] = 12",
    "    old = 9",
    "if old == 0 or i > 5:",
    "    False",
    "a[t_idx.global_[0] + 1] = twice(old)",
    "return 2 * x",
    "    result = 18",
    "a[t_idx.global_[0] + 1] = twice(old)",
    "    a[4] = 18",
    "",
]


def test_steps_of_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    @amp.func
    def twice(x):  # type: ignore[no-untyped-def]
        return 2 * x

    def works(t_idx, a, rows):  # type: ignore[no-untyped-def]
        i = t_idx.local[0]
        p = amp.float2(0.5, i)
        p.x = 2.0
        for k in range(i):
            rows[t_idx].at[k, 1] = twice(k)
        n = 1
        while n > 0:
            n -= 1
        print("here", end="")
        t_idx.barrier.wait()
        old = amp.atomic_fetch_add(a[0], 3)
        if old == 0 or i > 5:
            a[9] = 1
        a[t_idx.global_[0] + 1] = twice(old)

    rows = amp.array_view(np.zeros(6, pair))
    with amp.follow(tile=1, local=1, trace=True):
        found = printed(capsys, amp.extent(4).tile(2), works, ints(0, *[0] * 9), rows)
    shown = [line[8:] if line[6:7] == "|" else line for line in found]
    assert shown == STEPS
    assert printed(capsys, amp.extent(1), lambda_like, ints(1)) == [""]


def lambda_like(idx, a):  # type: ignore[no-untyped-def]
    a[idx] += 1


# -- the debugger

PROGRAM = """\
import numpy as np
import vkamp as amp

@amp.func
def half(x):
    y = x / 2.0
    return y

@amp.kernel
def works(t_idx, a, scale):
    values = amp.tile_static(3, amp.float32)
    i = t_idx.local[0]
    if i > 0:
        values[i] = a[t_idx] * scale
    t_idx.barrier.wait()
    STOP
    total = half(scale)
    total += i
    a[t_idx] = total

a = amp.array_view(np.arange(6, dtype=np.float32))
with amp.follow(4):
    amp.parallel_for_each(a.extent.tile(3), works, a, 3.0)
print(np.asarray(a).tolist())
"""


def debug(folder: Path, program: str, commands: list[str], *, outside: bool = False) -> list[str]:
    """What a session in the debugger shows, without its prompts."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONBREAKPOINT", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, *(["-m", "pdb"] if outside else []), str(path)],
        input="\n".join([*commands, ""]),
        env={**environment, "VKAMP_ACCELERATOR": "reference", "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    shown = done.stdout.replace("(Pdb) ", "").replace(str(path), "program.py")
    return [line for line in shown.split("\n") if line]


def test_breakpoint_stops_in_the_kernel_with_its_names(tmp_path: Path) -> None:
    commands = ["p t_idx", "p t_idx.local, i", "p a[t_idx], scale", "p values", "p values[1]", "n", "n", "p total", "c"]
    assert debug(tmp_path, PROGRAM.replace("STOP", "breakpoint()"), commands) == [
        "> program.py(17)works()",
        "-> total = half(scale)",
        "thread (4) (tile (1), local (1))",
        "((1,), 1)",
        "(np.float32(4.0), 3.0)" if np.__version__ >= "2" else "(4.0, 3.0)",
        "[?, 12.0, 15.0]",
        "np.float32(12.0)" if np.__version__ >= "2" else "12.0",
        "> program.py(18)works()",
        "-> total += i",
        "> program.py(19)works()",
        "-> a[t_idx] = total",
        "np.float32(2.5)" if np.__version__ >= "2" else "2.5",
        "[1.5, 2.5, 3.5, 1.5, 2.5, 3.5]",
    ]


def test_step_goes_into_device_functions_and_not_into_vkamp(tmp_path: Path) -> None:
    commands = ["s", "s", "n", "p x, y > 1", "up", "down", "r", "n", "n", "s", "c"]
    assert debug(tmp_path, PROGRAM.replace("STOP", "breakpoint()"), commands) == [
        "> program.py(17)works()",
        "-> total = half(scale)",
        "--Call--",
        "> program.py(5)half()",
        "-> def half(x):",
        "> program.py(6)half()",
        "-> y = x / 2.0",
        "> program.py(7)half()",
        "-> return y",
        "(np.float32(3.0), np.True_)" if np.__version__ >= "2" else "(3.0, True)",
        "> program.py(17)works()",
        "-> total = half(scale)",
        "> program.py(7)half()",
        "-> return y",
        "--Return--",
        "> program.py(7)half()->" + ("np.float32(1.5)" if np.__version__ >= "2" else "1.5"),
        "-> return y",
        "> program.py(18)works()",
        "-> total += i",
        "> program.py(19)works()",
        "-> a[t_idx] = total",
        "--Return--",
        "> program.py(19)works()->None",
        "-> a[t_idx] = total",
        "[1.5, 2.5, 3.5, 1.5, 2.5, 3.5]",
    ]


def test_a_breakpoint_from_outside(tmp_path: Path) -> None:
    commands = ["b 14", "b half", "c", "p i", "c", "p i, values", "cl 1", "y", "c", "p y", "q"]
    found = debug(tmp_path, PROGRAM.replace("STOP", "pass"), commands, outside=True)
    assert "> program.py(14)works()" in found
    assert found.count("-> values[i] = a[t_idx] * scale") == 2
    assert "(2, [?, 3.0, ?])" in found


def test_a_hook_of_the_program_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []

    def stops(idx, a):  # type: ignore[no-untyped-def]
        n = a[idx] + 1
        breakpoint()
        a[idx] = n

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_locals["n"], frame.f_lineno - stops.__code__.co_firstlineno))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    amp.parallel_for_each(VIEW, amp.extent(2), stops, ints(5, 7))
    assert seen == [(6, 2), (8, 2)]
    with amp.follow(1):
        amp.parallel_for_each(VIEW, amp.extent(2), stops, ints(5, 7))
    assert seen[2:] == [(8, 2)]
