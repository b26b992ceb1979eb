"""Sentences drawn for a reader: the prose alone, from the lines that are named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools import draw


@pytest.fixture(scope="module", autouse=True)
def one_room():
    """One room of the package has enough sentences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "SOURCES", "vkamp/run")
        yield
    draw._sources.cache_clear()
    draw.sentences.cache_clear()


@pytest.mark.parametrize("kind", draw.KINDS)
def test_a_seed_determines_the_sentences(kind):
    first = draw.drawn(kind, 10, 7)
    assert first == draw.drawn(kind, 10, 7) != draw.drawn(kind, 10, 8)
    assert len(set(first)) == 10


@pytest.mark.parametrize("kind", ["pages", "docstrings"])
def test_a_sentence_begins_in_its_line(kind):
    for sentence in draw.drawn(kind, 40, 1):
        file, _, line = sentence.place.rpartition(":")
        text = (draw.ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert sentence.text.split()[0].strip("`*") in text, sentence


def test_code_tables_and_headings_are_no_prose():
    page = "# A heading of a page\n\nOne sentence of prose. Another\none over two lines.\n\n"
    page += "```python\nx = 1 # some code here\n```\n| a | table of some words |\n\n1. An item of a list.\n"
    found = [s for line, text in draw._paragraphs(page.splitlines(), 1) for s in draw._sentences(Path("p"), line, text)]
    assert [(s.place, s.text) for s in found] == [
        ("p:3", "One sentence of prose."),
        ("p:3", "Another one over two lines."),
        ("p:11", "An item of a list."),
    ]


def test_messages_are_whole():
    tree = ast.parse("def f(n):\n    raise ValueError(f'{n} is not one of ' + 'two numbers')\n")
    assert {draw._text_of(each) for each in draw._texts(tree)} == {"{...} is not one of two numbers"}
