"""The table in docs/conformance.md, and the page of the errors beside it, which the same tool writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conformance.registry import SECTIONS, collect, row
from tools.rows import ERRORS, TARGET, render, render_errors
from vkamp.cli.examples import examples, messages
from vkamp.messages import MESSAGES

HERE = Path(__file__).parent


def test_the_table_is_up_to_date():
    assert TARGET.read_text(encoding="utf-8") == render(), "write it: tools/env python -m tools.rows --write"


def test_the_page_of_errors_is_up_to_date():
    assert ERRORS.read_text(encoding="utf-8") == render_errors(), "write it: tools/env python -m tools.rows --write"


def test_the_page_of_errors_has_every_code_with_its_message_and_programs():
    sections = dict(part.split("\n", 1) for part in ERRORS.read_text(encoding="utf-8").split("\n### ")[1:])
    assert sections.keys() == MESSAGES.keys()
    for code, text in sections.items():
        assert f"```text\n{messages()[code].text}\n```\n" in text
        example = examples().get(code)
        programs = () if example is None else (example.wrong.strip(), example.right.strip())
        assert tuple(part.partition("\n```")[0] for part in text.split("```python\n")[1:]) == programs


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
