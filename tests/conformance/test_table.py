"""The table in docs/conformance.md, which ``--vkamp-accept`` writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conformance.registry import SECTIONS, collect, row
from tests.conformance.table import PAGE, render

HERE = Path(__file__).parent


def test_the_table_is_up_to_date(request):
    if request.config.getoption("vkamp_accept"):
        PAGE.write_text(render(), encoding="utf-8", newline="\n")
    assert PAGE.read_text(encoding="utf-8") == render(), "write it: pytest --vkamp-accept tests/conformance"


@pytest.mark.parametrize("path", sorted(HERE.glob("test_section_*.py")), ids=lambda path: path.stem)
def test_every_test_shows_a_row(path):
    functions = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    names = {node.name for node in functions if node.name.startswith("test_")}
    section = str(int(path.stem.split("_")[2]))
    shown = {test for each, tests in collect().items() if each.section == section for test in tests}
    assert names == shown & names, f"no row of section {section}: {sorted(names - shown)}"


def test_rows_stand_in_one_way():
    names = [(each.section, each.name) for each in collect()]
    assert len(names) == len(set(names))
    assert {each.section for each in collect()} <= SECTIONS.keys()


def test_wrong_rows():
    with pytest.raises(ValueError, match="none of 1, 2"):
        row("99", "no such section")
    with pytest.raises(ValueError, match="refused"):
        row("1", "both", differs="a", refused="b")
