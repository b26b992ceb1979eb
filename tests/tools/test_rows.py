"""The page of the errors."""

from __future__ import annotations

from tools.rows import ERRORS, render_errors
from vkamp.cli.examples import examples, messages
from vkamp.messages import MESSAGES


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
