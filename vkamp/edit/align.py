"""Which units of two shaders correspond: equal ones, and a statement and its changed version."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from vkamp.edit.units import Unit, code_tokens

#: For larger tables, the longest equal runs are used instead.
_LARGEST_TABLE = 400_000
_LARGEST_GAP = 4_000
#: The similarity from which one unit can be the changed version of the other.
_ALIKE = 0.5
_WEIGHTS = {"close": 1.0, "comment": 2.0}
_Pairs = list[tuple[int, int]]


def correspond(base: list[Unit], other: list[Unit]) -> list[int | None]:
    """For each unit of ``base`` the corresponding unit of ``other``; in order, with both ends of blocks in pairs."""
    pairs = _equal(base, other)
    pairs = list(_in_one_block(base, other, sorted([*pairs, *_changed(base, other, pairs)])))
    found: list[int | None] = [None] * len(base)
    for i, j in _with_whole_blocks(base, other, pairs):
        found[i] = j
    return found


def _equal(base: list[Unit], other: list[Unit]) -> _Pairs:
    """A longest common sequence of equal units."""
    left, right = _signs(base), _signs(other)
    first = 0
    while first < min(len(left), len(right)) and left[first] == right[first]:
        first += 1
    last = 0
    while last < min(len(left), len(right)) - first and left[-1 - last] == right[-1 - last]:
        last += 1
    pairs = [(k, k) for k in range(first)]
    rows, cols = range(first, len(left) - last), range(first, len(right) - last)
    if len(rows) * len(cols) <= _LARGEST_TABLE:
        pairs += _best(rows, cols, lambda i, j: _WEIGHTS.get(base[i].kind, 3.0) if left[i] == right[j] else 0.0)
    else:
        blocks = difflib.SequenceMatcher(None, left[first : rows.stop], right[first : cols.stop], autojunk=False)
        for block in blocks.get_matching_blocks():
            pairs += [(first + block.a + k, first + block.b + k) for k in range(block.size)]
    return pairs + [(len(left) - last + k, len(right) - last + k) for k in range(last)]


def _signs(units: list[Unit]) -> list[tuple[object, ...]]:
    """The key that units are compared by; closing braces are equal if the headers of their blocks are."""
    return [(u.kind, u.key, () if u.opener is None else units[u.opener].key) for u in units]


def _changed(base: list[Unit], other: list[Unit], pairs: _Pairs) -> _Pairs:
    """Pairs the units between equal ones: first similar units of the same kind, and between these, units of the
    same kinds if their numbers agree.
    """
    found = []
    for rows, cols in _gaps(pairs, len(base), len(other)):
        left = [i for i in rows if base[i].kind != "close"]
        right = [j for j in cols if other[j].kind != "close"]
        if 0 < len(left) * len(right) <= _LARGEST_GAP:
            found += _best(left, right, lambda i, j: _likeness(base[i], other[j]))
    for rows, cols in _gaps(sorted([*pairs, *found]), len(base), len(other)):
        left = [i for i in rows if base[i].kind != "close"]
        right = [j for j in cols if other[j].kind != "close"]
        if [base[i].kind for i in left] == [other[j].kind for j in right]:
            found += zip(left, right, strict=True)
    return found


def _gaps(pairs: _Pairs, rows: int, cols: int) -> Iterator[tuple[range, range]]:
    """The units between pairs, on both sides."""
    i = j = 0
    for row, col in [*pairs, (rows, cols)]:
        if i < row and j < col:
            yield range(i, row), range(j, col)
        i, j = row + 1, col + 1


def _likeness(one: Unit, two: Unit) -> float:
    """0, or from ``_ALIKE`` to 1: the share of words, numbers and operators that both have in the same order."""
    if one.kind != two.kind:
        return 0.0
    words, others = ([t for t in code_tokens(u.core.removeprefix("//")) if t not in "()[]{};,."] for u in (one, two))
    if (one.key[0] in ("if", "for", "while", "else")) != (two.key[0] in ("if", "for", "while", "else")):
        return 0.0
    ratio = difflib.SequenceMatcher(None, words, others, autojunk=False).ratio()
    return ratio if ratio >= _ALIKE else 0.0


def _best(rows: range | list[int], cols: range | list[int], score: Callable[[int, int], float]) -> _Pairs:
    """The ordered pairs with the largest sum of scores, without pairs of score 0."""
    table = [[0.0] * (len(cols) + 1) for _ in range(len(rows) + 1)]
    scores = [[score(i, j) for j in cols] for i in rows]
    for i in range(len(rows) - 1, -1, -1):
        line, below, of_row = table[i], table[i + 1], scores[i]
        for j in range(len(cols) - 1, -1, -1):
            best = max(below[j], line[j + 1])
            if of_row[j] and of_row[j] + below[j + 1] >= best:
                best = of_row[j] + below[j + 1]
            line[j] = best
    pairs, i, j = [], 0, 0
    while i < len(rows) and j < len(cols):
        if scores[i][j] and table[i][j] == scores[i][j] + table[i + 1][j + 1]:
            pairs.append((rows[i], cols[j]))
            i, j = i + 1, j + 1
        elif table[i][j] == table[i][j + 1]:
            j += 1
        else:
            i += 1
    return pairs


def _in_one_block(base: list[Unit], other: list[Unit], pairs: _Pairs) -> Iterator[tuple[int, int]]:
    """The pairs, without changed units whose blocks do not correspond, such as those of an unrolled loop's body."""
    partner: dict[int | None, int | None] = {None: None}
    for i, j in pairs:
        one, two = base[i], other[j]
        if one.key == two.key or (one.parent in partner and partner[one.parent] == two.parent):
            partner[i] = j
            yield i, j


def _with_whole_blocks(base: list[Unit], other: list[Unit], pairs: _Pairs) -> _Pairs:
    """Makes both ends of blocks correspond: closing braces correspond exactly if the headers of their blocks do.

    Units that are inside one block and outside the other do not correspond.
    """
    ends = {unit.opener: j for j, unit in enumerate(other) if unit.kind == "close" and unit.opener is not None}
    forward = dict(pairs)
    for i, unit in enumerate(base):
        if unit.kind != "close":
            continue
        forward.pop(i, None)
        header = None if unit.opener is None else forward.get(unit.opener)
        if header is None or header not in ends or unit.opener is None:
            continue
        j = ends[header]
        inside = range(unit.opener + 1, i)
        forward = {a: b for a, b in forward.items() if b != j and (a in inside) == (header < b < j)}
        forward[i] = j
    return sorted(forward.items())
