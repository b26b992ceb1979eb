"""What programmers of numpy, CUDA and Python write by mistake, each with all that it shows: place, reason, advice.

A program of ``mistakes/`` is a script that must fail on SwiftShader; ``name.txt`` beside it holds the frames of the
traceback and the whole message.  The option ``--vkamp-accept`` rewrites these files.
"""

from __future__ import annotations

import os
import re
import runpy
import traceback
import warnings
from pathlib import Path

import pytest

import vkamp as amp

FOLDER = Path(__file__).parent / "mistakes"
PROGRAMS = sorted(FOLDER.glob("*/*.py"))
#: The words with which advice says what to do.
ADVICE = re.compile(
    r"\b(write|use|pass|give|make|launch|define|declare|assign|compare|call|compute|decorate|loop|move|keep|let|test|"
    r"start|sort|measure|read|store|take|remove|swap|set|work|did you mean|its fields are|vkamp has its own|convert|"
    r"wait|add|run|choose|results leave|types are known|the last position is|negative subscripts do not|is (it|the)|"
    r"leave|has the|such as|unpack|import|put|it is one number|a kernel|Here are)\b"
)
#: Words of a private English, which nobody outside the project understands.
RIDDLES = re.compile(r"\b(told|stands|stand|lies|lie|apart|has not|hasn't|wanted|of its own|of their own|come by)\b")


def failure_of(program: Path) -> Exception:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(program))
    except (amp.AmpError, Warning, TypeError, ValueError, IndexError, AttributeError) as error:
        return error
    pytest.fail(f"{program.name} is accepted")


def frames_of(error: Exception) -> list[traceback.FrameSummary]:
    """The frames of a traceback after those that run the program."""
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return [frame for frame in found if "runpy" not in frame.filename]


def shown(program: Path, error: Exception) -> str:
    lines = [f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in frames_of(error)]
    text = "\n".join([*lines, f"{type(error).__name__}: {error}\n"])
    for folder in (program.parent, Path.cwd()):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


@pytest.fixture(autouse=True)
def on_swiftshader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "swiftshader")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.parent.name}-{program.stem}")
def test_mistake(program: Path, request: pytest.FixtureRequest) -> None:
    error = failure_of(program)
    text = shown(program, error)
    golden = program.with_suffix(".txt")
    if request.config.getoption("vkamp_accept"):
        golden.write_text(text, encoding="utf-8")
    assert golden.exists(), f"no golden file yet (--vkamp-accept writes it):\n{text}"
    assert text == golden.read_text(encoding="utf-8")
    # The traceback ends at the program's line, and has no frame of anybody else.
    assert {frame.filename for frame in frames_of(error)} == {str(program)}
    # What points into a kernel points at the program, with a caret under something.
    span = getattr(error, "span", None)
    if span is not None:
        assert span.file == str(program)
        assert re.search(r"^ *\d+ \| .*\S.*\n *\| +\^+$|^ *\d+ \| .*\n *\| \^+$", text, re.MULTILINE)
    advice = text.partition("= help: ")[2] or str(error).partition(": ")[2]
    assert ADVICE.search(advice), "no advice"
    assert not RIDDLES.search(text)


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 100
    assert {path.with_suffix(".py") for path in FOLDER.glob("*/*.txt")} == set(PROGRAMS)
