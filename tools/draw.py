"""Sentences of the documentation, of docstrings and of messages, drawn at random, for a reader of the English.

    python -m tools.draw --seed 1 --count 25

Each line is a file, a line of it, and the sentence.  A seed determines the choice in one state of the files.
"""

from __future__ import annotations

import argparse
import ast
import functools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder whose docstrings and messages are drawn.
SOURCES = "vkamp"
#: Pages of tables and generated text alone, whose sentences are drawn where they are written.
GENERATED = {"conformance.md", "errors.md", "runs.md"}
#: The fewest words of a sentence; shorter ones are headings and names.
FEWEST_WORDS = 4
#: An f-string's values, as a reader sees the place of a value.
_VALUE = "{...}"


@dataclass(frozen=True)
class Sentence:
    """A sentence, and where it begins."""

    place: str
    text: str


def _sentences(place: Path, line: int, text: str) -> Iterator[Sentence]:
    """The sentences of a paragraph that begins in a line."""
    start = 0
    for match in re.finditer(r"(?<=[.!?])\s+(?=[A-Z`*(])|\Z", text):
        words = " ".join(text[start : match.start()].split())
        if len(words.split()) >= FEWEST_WORDS:
            yield Sentence(f"{place}:{line + text.count(chr(10), 0, start)}", words)
        start = match.end()


def _paragraphs(lines: list[str], first: int) -> Iterator[tuple[int, str]]:
    """Lines that belong together, with the number of the first one: without code, tables and headings."""
    found: list[str] = []
    begin, fence = first, False
    for number, line in enumerate([*lines, ""], first):
        bare = line.strip()
        is_fence = bare.startswith(("```", ":::"))
        fence ^= is_fence
        is_item = re.match(r"([-*]|\d+\.) ", bare) is not None
        if not bare or fence or is_fence or bare.startswith(("|", "#", ">>>", "<")) or is_item:
            if found:
                yield begin, "\n".join(found)
            found = []
        if bare and not fence and not is_fence and not bare.startswith(("|", "#", ">>>", "<")):
            if not found:
                begin = number
            found.append(re.sub(r"^([-*]|\d+\.) ", "", bare))


def of_pages() -> Iterator[Sentence]:
    """The prose of README, CONTRIBUTING and the pages of docs."""
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        if path.name not in GENERATED:
            for line, text in _paragraphs(path.read_text(encoding="utf-8").splitlines(), 1):
                yield from _sentences(path.relative_to(ROOT), line, text)


@functools.cache
def _sources() -> list[tuple[Path, ast.Module]]:
    return [(path.relative_to(ROOT), ast.parse(path.read_bytes())) for path in sorted((ROOT / SOURCES).rglob("*.py"))]


def of_docstrings() -> Iterator[Sentence]:
    """The prose of docstrings."""
    for path, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node, clean=True)
                if text is not None:
                    for line, paragraph in _paragraphs(text.splitlines(), node.body[0].lineno):
                        yield from _sentences(path, line, paragraph)


def _text_of(node: ast.expr) -> str:
    """The text of a string in source; its values as ``{...}``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_VALUE if isinstance(part, ast.FormattedValue) else _text_of(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text_of(node.left) + _text_of(node.right)
    return ""


def _texts(tree: ast.Module) -> Iterator[ast.expr]:
    """The arguments of the calls that make an error, a warning or a row of a table of messages, and help texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            if isinstance(node.exc, ast.Call):
                yield from _arguments(node.exc)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("Message", "Workaround", "warn") or name.endswith("Error"):
                yield from _arguments(node)
            else:
                # The help of an error that depends on the program.
                yield from (each.value for each in node.keywords if each.arg in ("advice", "help"))


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (each.value for each in call.keywords)


def of_messages() -> Iterator[Sentence]:
    """The texts of errors and warnings: those of the table of messages, and those beside the checks."""
    found: dict[Sentence, None] = {}
    for path, tree in _sources():
        for value in _texts(tree):
            words = " ".join(_text_of(value).split())
            if len(words.split()) >= FEWEST_WORDS:
                found[Sentence(f"{path}:{value.lineno}", words)] = None
    yield from found


KINDS = {"pages": of_pages, "docstrings": of_docstrings, "messages": of_messages}


@functools.cache
def sentences(kind: str) -> list[Sentence]:
    """All sentences of a kind."""
    return list(KINDS[kind]())


def drawn(kind: str, count: int, seed: int) -> list[Sentence]:
    """Some sentences of a kind, in the order of the files."""
    found = sentences(kind)
    chosen = random.Random(f"{seed} {kind}").sample(range(len(found)), min(count, len(found)))
    return [found[number] for number in sorted(chosen)]


def main(arguments: list[str] | None = None) -> None:
    """Prints the sentences of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=25, help="how many of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of " + ", ".join(KINDS))
    given = parser.parse_args(arguments)
    for kind in given.kinds.split(","):
        print(f"{kind}, of {len(sentences(kind))}:")
        for sentence in drawn(kind, given.count, given.seed):
            print(f"  {sentence.place}: {sentence.text}")


if __name__ == "__main__":
    main()
