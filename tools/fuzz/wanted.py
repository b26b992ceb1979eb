"""Which pairs of a construct and its context (``grammar.py``) the kernel of each seed has."""

from __future__ import annotations

import itertools

from tools.fuzz.grammar import (
    ALIVE,
    AROUND,
    ENCLOSING,
    EXPRESSIONS,
    NO_SUBGROUP,
    POSITIONS,
    SHAPES,
    STATEMENTS,
    form_pairs,
    possible,
)
from tools.fuzz.operators import operator_pairs
from tools.fuzz.rows import EXACT_ROWS, ROUGH_ROWS, SPECIAL_ROWS
from vkamp.ir.subgroups import INDICES, SUBGROUPS

__all__ = ["LONG_TYPES", "Wanted", "wanted"]

#: Types that few devices have.
LONG_TYPES = ("int64", "uint64", "float64")

_EXPRESSIONS = [(e, p) for e in EXPRESSIONS for p in POSITIONS if possible(e, p)]
_STATEMENTS = list(itertools.product(STATEMENTS, ENCLOSING))
_FORMS = form_pairs()
_OPERATORS = [p for p in operator_pairs() if not {p[0], p[2]} & {*LONG_TYPES}]
_LONG = [p for p in operator_pairs() if {p[0], p[2]} & {*LONG_TYPES}]
_ROWS = [(row, shape) for row in (*EXACT_ROWS, *ROUGH_ROWS, *SPECIAL_ROWS) for shape in SHAPES]
_WAITS = list(itertools.product(AROUND, (1, 2, 3), ALIVE))
_SUBGROUP_ROWS = [n for n in (*SUBGROUPS, *INDICES) if n not in NO_SUBGROUP]


class Wanted:
    """The pairs in the kernel of a seed: the next ones of each list."""

    def __init__(self, seed: int) -> None:
        def turn(rows: list, stride: int, count: int) -> list:  # type: ignore[type-arg]
            return [rows[(seed * count + n) * stride % len(rows)] for n in range(count)]

        #: Whether it has types of 64 bits, which few devices have.
        self.long = seed % 8 == 5
        self.expressions = turn(_EXPRESSIONS, 389, 2)
        self.statements = turn(_STATEMENTS, 101, 1)
        self.forms = turn(_FORMS, 173, 2)
        self.operators = [_LONG[(seed // 8 * 3 + n) * 211 % len(_LONG)] for n in range(3)] if self.long else []
        self.operators += turn(_OPERATORS, 307, 1)
        self.rows = turn(_ROWS, 239, 1)
        self.wait = turn(_WAITS, 67, 1)[0]
        self.subgroup = _SUBGROUP_ROWS[seed % len(_SUBGROUP_ROWS)]

    @property
    def needs_subgroups(self) -> bool:
        """Whether all threads of a tile have to be in one subgroup on every device."""
        return any("subgroup" in (e, p.split()[0]) for e, p in self.expressions)

    @property
    def needs_tiles(self) -> bool:
        """Whether the domain has to have tiles."""
        return self.needs_subgroups or any(e == "uniform" for e, _ in self.expressions)


def wanted(seed: int) -> Wanted:
    """The contents of the kernel of a seed."""
    return Wanted(seed)
