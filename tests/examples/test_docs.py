"""The programs of a page of ``docs`` run unchanged, one after the other, and give the output that is printed below
each.

The option ``--vkamp-accept`` rewrites the printed outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vkamp as amp
from tests.examples.printed import PROGRAM, output_of
from vkamp.ir.subgroups import INDICES, SUBGROUPS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (
    "check-mode.md",
    "dask.md",
    "embedding.md",
    "fences.md",
    "from-cpp-amp.md",
    "from-cub-thrust-cupy.md",
    "from-numba-cuda.md",
    "language.md",
    "notebooks.md",
    "random-numbers.md",
    "fourier-transforms.md",
    "linear-algebra.md",
    "reference-accelerator.md",
    "streaming.md",
    "algorithms.md",
    "reductions-and-scans.md",
    "selections.md",
    "sorting.md",
    "subgroups.md",
    "matrices.md",
    "tuning.md",
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


def table_of_subgroups() -> str:
    """The functions of subgroups, as their rows say."""
    lines = ["| function | | the same for all threads of the | needs |", "|---|---|---|---|"]
    for row in (*INDICES.values(), *SUBGROUPS.values()):
        usage = getattr(amp.subgroup, row.name).usage.removeprefix("amp.")
        needs = ", ".join(f"`{name}`" for name in getattr(row, "needs", ("basic",)))
        whom = {"thread": "", "arguments": "subgroup, if `b` is"}.get(row.uniform, row.uniform)
        lines.append(f"| `{usage}` | {row.doc.removesuffix('.')} | {whom} | {needs} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_subgroup_functions(request: pytest.FixtureRequest) -> None:
    path = DOCS / "subgroups.md"
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- table -->\n")
    found, _, after = rest.partition("<!-- end -->\n")
    if request.config.getoption("vkamp_accept"):
        path.write_text(f"{before}<!-- table -->\n{table_of_subgroups()}<!-- end -->\n{after}", encoding="utf-8")
    else:
        assert found == table_of_subgroups()
