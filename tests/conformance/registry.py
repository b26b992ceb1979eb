"""Which row of C++ AMP's model a test shows: the source of the table in docs/conformance.md (``table.py``)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

__all__ = ["SECTIONS", "Row", "collect", "row"]

Verdict = Literal["works", "works with a documented difference", "refused"]

_Test = TypeVar("_Test", bound=Callable[..., Any])
_MARK = "_conformance_rows"

#: The parts of the model, by number.
SECTIONS = {
    "1": "Index space",
    "2": "Tiling",
    "3": "Barriers and fences",
    "4": "Element types",
    "5": "array",
    "6": "array_view",
    "7": "Coherence",
    "8": "copy and copy_async",
    "9": "parallel_for_each",
    "10": "Kernel language",
    "11": "Atomics",
    "12": "Memory model",
    "13": "Math",
    "14": "Short vectors",
    "15": "Accelerators, views, queues",
    "16": "Exceptions",
    "20": "Cases most often missed",
}


@dataclass(frozen=True)
class Row:
    """A row: its section, the part of C++ AMP, and whether it is supported, with the difference or the reason for the
    rejection."""

    section: str
    name: str
    verdict: Verdict
    note: str


def row(section: str, name: str, *, differs: str = "", refused: str = "") -> Callable[[_Test], _Test]:
    """Declares that a test shows the row ``name`` of ``section``. ``differs`` is the documented difference from C++
    AMP, ``refused`` why vkamp rejects it; without both it works as in C++ AMP. Several tests may show one row, and a
    test several rows.
    """
    if section not in SECTIONS:
        raise ValueError(f"section {section!r} is none of {', '.join(SECTIONS)}")
    if differs and refused:
        raise ValueError("a row that is refused has no difference beside that")
    verdict: Verdict = "works with a documented difference" if differs else "refused" if refused else "works"
    made = Row(section, name, verdict, differs or refused)

    def mark(test: _Test) -> _Test:
        setattr(test, _MARK, (made, *getattr(test, _MARK, ())))
        return test

    return mark


def _tests_of(path: Path) -> list[Any]:
    spec = importlib.util.spec_from_file_location(f"conformance_rows_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for name, value in vars(module).items() if name.startswith("test_")]


def collect() -> dict[Row, list[str]]:
    """Every row with the names of its tests, by section and in the order of the files."""
    found: dict[Row, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_section_*.py")):
        for test in _tests_of(path):
            for each in getattr(test, _MARK, ()):
                found.setdefault(each, []).append(test.__name__)
    order = list(SECTIONS)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0].section)))
