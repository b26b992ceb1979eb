"""The programs of a page of ``docs`` run as they stand there, one after the other, and give what is printed below each.

The option ``--vkamp-accept`` rewrites the printed outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.examples.test_readme import PROGRAM, output_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (
    "check-mode.md",
    "fences.md",
    "from-cpp-amp.md",
    "from-numba-cuda.md",
    "language.md",
    "reference-accelerator.md",
    "tutorial.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    found = list(PROGRAM.finditer(text))
    assert len(found) == text.count("```python\n") > 0
    names: dict[str, Any] = {"__name__": "page"}
    outputs = [output_of(match[1], tmp_path / f"block_{k}.py", names) for k, match in enumerate(found)]
    if request.config.getoption("vkamp_accept"):
        for match, output in zip(reversed(found), reversed(outputs), strict=True):
            text = text[: match.start(3)] + output + text[match.end(3) :]
        path.write_text(text, encoding="utf-8")
    else:
        assert [match[3] for match in found] == outputs
