"""What takes long, shown while it does: by whom, when, and what is left of it afterwards."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp import progress
from vkamp.display.status import TerminalStatus

ROOT = Path(__file__).resolve().parents[2]


class Recorder(progress.Reporter):
    """Records its calls."""

    def __init__(self) -> None:
        self.wanted = True
        self.calls: list[str] = []
        self.shown = threading.Event()

    def is_wanted(self) -> bool:
        return self.wanted

    def prepare(self) -> None:
        self.calls.append("prepare")

    def show(self) -> None:
        self.calls.append(f"show {progress.current()}")
        self.shown.set()

    def end(self) -> None:
        self.calls.append("end")


@pytest.fixture
def reporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    before = progress._state.reporter
    recorder = Recorder()
    monkeypatch.setattr(progress, "DELAY", 0.02)
    # Timers have a clock of their own; the seconds that are said are those of a fast machine.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: 0.0))
    progress.set_reporter(recorder)
    yield recorder
    progress.set_reporter(before)
    assert progress._state.running == [] and not progress._state.is_shown and progress._state.timer is None


def wait_for(reporter: Recorder) -> None:
    assert reporter.shown.wait(20)


def test_what_lasts_is_shown_and_ended(reporter: Recorder) -> None:
    with progress.activity("resting"):
        wait_for(reporter)
        assert reporter.calls == ["prepare", "show resting (0 s)"]
    assert reporter.calls == ["prepare", "show resting (0 s)", "end"]
    assert progress.current() == ""


def test_what_is_short_is_not(reporter: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 5.0)
    for _ in range(5):
        with progress.activity("blinking"):
            timer = progress._state.timer
        assert timer is not None
        timer.join(2.0)
        assert not timer.is_alive()
    assert reporter.calls == []


def test_an_end_in_the_last_moment(reporter: Recorder) -> None:
    # The time is over while it ends: nothing is shown that nobody would end.
    entered, go_on = threading.Event(), threading.Event()

    def prepare() -> None:
        entered.set()
        go_on.wait(20)

    reporter.prepare = prepare  # type: ignore[method-assign]
    with progress.activity("ending"):
        timer = progress._state.timer
        assert timer is not None and entered.wait(20)
    go_on.set()
    timer.join(20)
    assert reporter.calls == []


def test_where_nobody_looks_nothing_is_done(reporter: Recorder) -> None:
    reporter.wanted = False
    assert progress.activity("nothing") is progress.NOTHING
    progress.set_reporter(None)
    assert progress.activity("nothing") is progress.NOTHING
    assert list(progress.NOTHING.counted(range(3))) == [0, 1, 2]


def test_the_innermost_is_said(reporter: Recorder) -> None:
    with progress.activity("outer"):
        with progress.activity("inner") as inner:
            wait_for(reporter)
            assert progress.current() == "inner (0 s)"
            texts = [progress.current() for _ in inner.counted(range(4))]
        assert texts == ["inner (0 %, 0 s)", "inner (25 %, 0 s)", "inner (50 %, 0 s)", "inner (75 %, 0 s)"]
        assert progress.current() == "outer (0 s)"
        assert "end" not in reporter.calls
    assert reporter.calls.count("end") == 1


def test_what_lets_nothing_else_run_is_shown_at_once(reporter: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with progress.activity("outer"), progress.activity("the driver compiles", at_once=True):
        assert reporter.calls == ["prepare", "show the driver compiles"]
    assert reporter.calls[-1] == "end"


def test_an_error_ends_it(reporter: Recorder) -> None:
    def fail() -> None:
        with progress.activity("failing"):
            wait_for(reporter)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert reporter.calls[-1] == "end"


def test_hidden_it_stays_hidden(reporter: Recorder) -> None:
    with progress.activity("outer"):
        wait_for(reporter)
        progress.hide()
        assert reporter.calls[-1] == "end"
        with progress.activity("inner", at_once=True):
            pass
        assert len(reporter.calls) == 4
    progress.hide()
    reporter.shown.clear()
    with progress.activity("next"):
        wait_for(reporter)
    assert reporter.calls[-2:] == ["show next (0 s)", "end"]


def test_threads_share_the_terminal(reporter: Recorder) -> None:
    first, last = threading.Event(), threading.Event()

    def work() -> None:
        with progress.activity("in a thread"):
            first.set()
            last.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert first.wait(20)
    wait_for(reporter)
    with progress.activity("here"):
        assert progress.current() == "here (0 s)"
    assert "end" not in reporter.calls
    last.set()
    thread.join(20)
    assert reporter.calls == ["prepare", "show in a thread (0 s)", "end"]


def test_an_interrupt_as_it_begins(reporter: Recorder) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    reporter.show = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), progress.activity("beginning", at_once=True):
        pass
    assert reporter.calls == ["prepare", "end"]


def test_a_forked_process_begins_anew(reporter: Recorder) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        # As the timer's thread holds it while it shows something.
        with progress._state.lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    with progress.activity("before the fork"):
        wait_for(reporter)
        thread.start()
        assert held.wait(20)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            fine = False
            try:
                with progress.activity("in the child"):
                    fine = progress.current() == "in the child (0 s)"
                fine &= progress.current() == ""
            finally:
                os._exit(0 if fine else 1)
        done.set()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join(20)
    assert reporter.calls == ["prepare", "show before the fork (0 s)", "end"]


# -- what says that it goes on -------------------------------------------------------------------------------------


@pytest.fixture
def said(reporter: Recorder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []

    class Noted(progress._Shown):
        def __init__(self, text: str, at_once: bool) -> None:
            super().__init__(text, at_once)
            texts.append(text)

    monkeypatch.setattr(progress, "_Shown", Noted)
    return texts


def test_compilations_and_launches(accelerator_view: amp.accelerator_view, said: list[str]) -> None:
    # Of its own for each test, so that nothing is compiled before.
    offset = time.monotonic_ns() % 1_000_003

    @amp.kernel
    def shifted(idx, values, *, by: amp.constant):
        values[idx] += by

    values = amp.array_view(np.zeros(7, np.int32))
    amp.parallel_for_each(accelerator_view, values.extent, shifted, values, by=offset)
    device = accelerator_view.accelerator.description
    assert np.array_equal(np.asarray(values), np.full(7, offset))
    launched = "running shifted on the reference accelerator"
    driver = [launched] if device == "reference" else ["compiling shifted to SPIR-V", f"{device} compiles shifted"]
    assert said == ["compiling shifted", "compiling shifted", *driver]
    said.clear()
    amp.parallel_for_each(accelerator_view, values.extent, shifted, values, by=offset)
    assert np.array_equal(np.asarray(values), np.full(7, 2 * offset))
    assert [text for text in said if text != launched] == []


def test_checks(accelerator_view: amp.accelerator_view, said: list[str]) -> None:
    @amp.kernel
    def doubled(idx, values):
        values[idx] *= 2.0

    values = amp.array_view(np.ones(7, np.float32))
    assert amp.check(accelerator_view, values.extent, doubled, values).ok
    device = accelerator_view.accelerator.description
    launched = "running doubled on the reference accelerator"
    assert (launched if device == "reference" else f"checking doubled on {device}") in said


@amp.kernel
def prints(idx, values):
    print(values[idx])


def test_kernels_that_need_the_terminal_have_it(said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    values = amp.array_view(np.ones(2, np.float32))
    amp.parallel_for_each(amp.accelerator("reference").default_view, values.extent, prints, values)
    assert capsys.readouterr().out == "thread (0): 1.0\nthread (1): 1.0\n"
    assert not any(text.startswith("running") for text in said)


@amp.kernel
def races(t_idx, values, last):
    last[t_idx.tile] = values[t_idx]


def test_a_warning_is_printed_on_a_line_of_its_own(reporter: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 60.0)
    values, last = amp.array_view(np.ones(8, np.float32)), amp.array_view(np.ones(2, np.float32))
    with progress.activity("outer", at_once=True):
        with pytest.warns(amp.RaceWarning):
            races.inspect(amp.accelerator("reference").default_view, values.extent.tile(4), values, last)
        assert reporter.calls == ["prepare", "show outer", "end"]


# -- the terminal --------------------------------------------------------------------------------------------------


class _Stream(io.StringIO):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def isatty(self) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return bool(self.answer)


@pytest.mark.parametrize(
    ("stream", "variable", "wanted"),
    [
        (_Stream(True), None, True),
        (_Stream(True), "1", True),
        (_Stream(True), "0", False),
        (_Stream(False), "1", False),
        (_Stream(ValueError("closed")), None, False),
        (None, None, False),
    ],
)
def test_who_looks(stream: Any, variable: str | None, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("VKAMP_PROGRESS", raising=False)
    if variable is not None:
        monkeypatch.setenv("VKAMP_PROGRESS", variable)
    assert TerminalStatus(str).is_wanted() is wanted


PROGRAM = """
import sys
import numpy as np
import vkamp as amp
from vkamp import progress

if "without-rich" in sys.argv:
    sys.modules["rich"] = None
progress.DELAY = 0.05

@amp.kernel
def slow(idx, values):
    for k in range(600):
        values[idx] += 1.0
    if idx[0] == 299 and values.extent[0] == 300:
        values[idx[0] + 1] = 1.0

values = amp.array_view(np.zeros(300 if "wrong" in sys.argv else 301, np.float32))
amp.parallel_for_each(amp.accelerator("reference").default_view, values.extent, slow, values)
print(np.asarray(values).sum())
"""
SHOWN = "running slow on the reference accelerator ("
#: What rich leaves of a line: it is erased, and the cursor is back.
CLEAN = "\x1b[?25h\r\x1b[1A\x1b[2K"


def in_a_terminal(command: list[str], **variables: str) -> tuple[int, str, str]:
    """Status, output, and what the terminal behind the standard error got."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONPATH": str(ROOT), **variables}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_INTERACTIVE"):
        environment.pop(name, None)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        found = b""
        while True:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:
                # How Linux says that the other end is closed.
                break
            if not piece:
                break
            found += piece
        assert process.stdout is not None
        out = process.stdout.read()
        status = process.wait(120)
    os.close(master)
    return status, out, found.decode().replace("\r\n", "\n")


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "slow.py"
    path.write_text(PROGRAM)
    return [sys.executable, str(path)]


def test_a_line_in_the_terminal(program: list[str]) -> None:
    status, out, seen = in_a_terminal(program)
    assert (status, out) == (0, "180600.0\n")
    assert seen.startswith("\x1b[?25l") and SHOWN in seen and " %, " in seen
    # It was one line all the time, and nothing is left of it; on a busy machine one for the compilation comes before.
    assert seen.endswith(f"\n{CLEAN}") and seen.count("\n") == seen.count(f"\n{CLEAN}") <= 2


def test_the_command_has_it_too(program: list[str]) -> None:
    status, out, seen = in_a_terminal([sys.executable, "-m", "vkamp", "run", "--device", "reference", program[1]])
    assert (status, out) == (0, "180600.0\n")
    assert SHOWN in seen and seen.endswith(CLEAN)


def test_an_error_comes_after_it(program: list[str]) -> None:
    status, out, seen = in_a_terminal([*program, "wrong"])
    assert (status, out) == (1, "")
    line, _, error = seen.rpartition(CLEAN)
    assert SHOWN in line and error.startswith("Traceback")
    assert "index 300 of values is out of bounds (extent 300)" in error


@pytest.mark.parametrize(
    ("argument", "variables"),
    [("", {"VKAMP_PROGRESS": "0"}), ("without-rich", {}), ("", {"TERM": "dumb"})],
    ids=["off", "without rich", "a dumb terminal"],
)
def test_nothing_in_the_terminal(program: list[str], argument: str, variables: dict[str, str]) -> None:
    assert in_a_terminal([*program, argument], **variables) == (0, "180600.0\n", "")


def test_nothing_outside_of_terminals(program: list[str]) -> None:
    # Nor where the output is one: it is the standard error that counts.
    environment = {**os.environ, "TERM": "xterm", "FORCE_COLOR": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "180600.0\n", "")
