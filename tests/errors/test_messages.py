"""Every ill-formed program of ``cases/`` is rejected with the complete message in its golden file.

A case is a script that must fail; ``name.txt`` beside ``name.py`` holds the error's class and text. The option
``--vkamp-accept`` rewrites the golden files; review the diff.
"""

from __future__ import annotations

import re
import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import vkamp as amp
from vkamp.messages import MESSAGES

CASES = Path(__file__).parent / "cases"
PROGRAMS = sorted(CASES.glob("*/*.py"))


def name_of(program: Path) -> str:
    return program.relative_to(CASES).with_suffix("").as_posix()


def message_of(program: Path) -> str:
    """What the program ends with, as a traceback's last lines show it; folders of files are left out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(program))
    except (amp.AmpError, TypeError, ValueError, amp.RaceWarning, amp.BarrierWarning) as error:
        text = f"{type(error).__name__}: {error}\n"
    else:
        pytest.fail(f"{program.name} is accepted")
    for folder in (program.parent, Path.cwd()):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return text


@pytest.fixture(autouse=True)
def on_the_reference_accelerator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "reference")
    # Some cases write shaders; none has any at its beginning.
    monkeypatch.chdir(tmp_path)
    amp.use_shaders(None)
    yield
    amp.use_shaders(None)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_message(program: Path, request: pytest.FixtureRequest) -> None:
    golden = program.with_suffix(".txt")
    message = message_of(program)
    if request.config.getoption("vkamp_accept"):
        golden.write_text(message, encoding="utf-8")
    assert golden.exists(), f"no golden file yet (--vkamp-accept writes it):\n{message}"
    assert message == golden.read_text(encoding="utf-8")


def test_every_code_has_a_case() -> None:
    texts = [golden.read_text(encoding="utf-8") for golden in CASES.glob("*/*.txt")]
    shown = {code for text in texts for code in re.findall(r"^\w+: (VKA\d+): ", text, re.MULTILINE)}
    assert sorted(MESSAGES) == sorted(shown)


def test_every_golden_file_has_a_case() -> None:
    goldens = {path.with_suffix(".py") for path in CASES.glob("*/*.txt")}
    assert goldens - set(PROGRAMS) == set()
