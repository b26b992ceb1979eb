"""The Python blocks of README run unchanged, one after the other, and give the output that is printed below each.

The option ``--vkamp-accept`` rewrites the printed outputs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples.printed import PROGRAM, output_of

README = Path(__file__).resolve().parents[2] / "README.md"
#: What the programs' files are called in shaders and messages.
NAMES = ("tile_average.py", "closure.py", "inspect.py", "padded_average.py")


def test_readme(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # The shader there is the one for GPUs.
    monkeypatch.setenv("VKAMP_LOWERING", "threads")
    text = README.read_text(encoding="utf-8")
    found = list(PROGRAM.finditer(text))
    assert len(found) == len(NAMES) == text.count("```python\n")
    names: dict[str, Any] = {"__name__": "readme"}
    outputs = [output_of(match[1], tmp_path / name, names) for match, name in zip(found, NAMES, strict=True)]
    if request.config.getoption("vkamp_accept"):
        for match, output in zip(reversed(found), reversed(outputs), strict=True):
            text = text[: match.start(3)] + output + text[match.end(3) :]
        README.write_text(text, encoding="utf-8")
    else:
        assert [match[3] for match in found] == outputs


def test_linked_files_exist() -> None:
    text = README.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (README.parent / link.partition("#")[0]).exists()] == []
    picture = README.parent / "docs" / "images" / "tile_average.png"
    assert picture.stat().st_size < 300_000
