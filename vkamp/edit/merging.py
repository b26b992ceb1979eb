"""The three-way merge of shaders, statement by statement.

Changes of the two sides merge unless they change the same statement. The header of a block and its body are separate,
and so are a statement and the comment above it. Changes of whitespace and comments never conflict with changes of the
code. Where both sides changed one statement, or one changed what the other removed, or both inserted at one place, the
text has the usual conflict markers, with the base between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from vkamp.edit.align import correspond
from vkamp.edit.renames import Renames, find_renames
from vkamp.edit.units import PYTHON_LINE, Unit, code_tokens, declared_names, split, tokens_of

_Block = tuple[str, int | None]


@dataclass(frozen=True)
class Merged:
    """The merged text, and the number of conflicts marked in it."""

    text: str
    conflicts: int


@dataclass(frozen=True)
class _Change:
    """One side's change of a part of the base, which it replaced by ``units``.

    The part is from cell ``first`` to cell ``last``. Unit i of the base is cell 2i + 1, and the place before it is cell
    2i, so adjacent changes do not overlap.
    """

    first: int
    last: int
    units: tuple[int, ...]
    #: The unit is a changed version of the base's unit.
    is_pair: bool = False
    #: Only its comments changed.
    is_comment: bool = False
    #: What an insertion belongs to: the unit before it (-1), the unit after it (1, and more for comments), or neither.
    side: int = 0

    @property
    def is_insertion(self) -> bool:
        return self.first % 2 == 0

    @property
    def is_removal(self) -> bool:
        return not self.units


@dataclass(frozen=True)
class _Region:
    """Overlapping changes of both sides, or changes of one side that overlap no others."""

    first: int
    last: int
    ours: tuple[_Change, ...]
    theirs: tuple[_Change, ...]
    is_torn: bool = False


@dataclass(frozen=True)
class _Piece:
    """A part of the result: a unit's text, or the three texts of a conflict."""

    lead: str
    text: str
    tail: str
    begins_line: bool = True
    #: For the ends of a block: which block it is, as a side and a unit.
    opens: _Block | None = None
    closes: _Block | None = None
    region: int = 0
    conflict: tuple[str, str, str] | None = None


def merge(base: str, edited: str, generated: str, *, name: str = "shader") -> Merged:
    """Applies the changes from ``base`` to ``edited`` to ``generated``."""
    if edited in (base, generated):
        return Merged(generated, 0)
    if generated == base:
        return Merged(edited, 0)
    labels = (f"{name} (edited)", "generated before", f"{name} (generated now)")
    return _Merge(base, edited, generated).run(labels)


class _Side:
    """One side: its units, and their correspondence to the base's."""

    def __init__(self, name: str, base: list[Unit], text: str) -> None:
        self.name = name
        self.units = split(text)
        self.partner = correspond(base, self.units)
        self.owner = {j: i for i, j in enumerate(self.partner) if j is not None}
        self.changes = [self._placed(base, change) for change in self._changes(base)]
        self.renames = Renames({}, {})

    def _changes(self, base: list[Unit]) -> Iterator[_Change]:
        before, before_here = -1, -1
        for i, j in enumerate(self.partner):
            if j is None:
                continue
            inserted = tuple(range(before_here + 1, j))
            if i > before + 1:
                yield _Change(2 * before + 3, 2 * i - 1, inserted)
            elif inserted:
                yield _Change(2 * i, 2 * i, inserted)
            if base[i].key != self.units[j].key:
                yield _Change(2 * i + 1, 2 * i + 1, (j,), True, base[i].kind == "comment")
            elif base[i].comments != self.units[j].comments:
                yield _Change(2 * i + 1, 2 * i + 1, (j,), True, True)
            before, before_here = i, j

    def _placed(self, base: list[Unit], change: _Change) -> _Change:
        return replace(change, side=self._side(base, change)) if change.is_insertion else change

    def _side(self, base: list[Unit], change: _Change) -> int:
        """What an insertion belongs to, which may order two insertions at one place."""
        units = [self.units[j] for j in change.units]
        if all(unit.kind == "comment" for unit in units):
            return 3 if self.name == "edited" else 2
        if units[0].kind == "close" and units[0].opener not in change.units:
            return -1
        closed = {unit.opener for unit in units if unit.kind == "close"}
        if any(self.units[j].kind == "open" and j not in closed for j in change.units):
            return 1
        after = change.first // 2
        keys = {unit.key for unit in units if unit.kind == "code"}
        moved = [i for i, j in enumerate(self.partner) if j is None and base[i].key in keys]
        if moved:
            return 1 if moved[0] >= after else -1
        following = next(i for i in range(after, len(base)) if base[i].kind != "comment")
        if self._is_changed(base, following):
            return 1
        return -1 if after > 0 and self._is_changed(base, after - 1) else 0

    def _is_changed(self, base: list[Unit], i: int) -> bool:
        j = self.partner[i]
        return j is None or (base[i].kind != "close" and base[i].key != self.units[j].key)

    def moved(self, base: list[Unit], i: int) -> int:
        """The number of columns by which a unit of the base is indented more."""
        j = self.partner[i] if 0 <= i < len(base) else None
        if j is None or not (base[i].begins_line and self.units[j].begins_line):
            return 0
        return _width(self.units[j].lead) - _width(base[i].lead)

    def between(self, region: _Region, changes: Iterable[_Change]) -> list[Unit]:
        """The side's units in a region."""
        starts = {change.first: change for change in changes}
        found: list[Unit] = []
        cell = region.first
        while cell <= region.last:
            change = starts.get(cell)
            if change is not None:
                found += [self.units[j] for j in change.units]
                cell = change.last
            elif cell % 2:
                j = self.partner[cell // 2]
                found += [] if j is None else [self.units[j]]
            cell += 1
        return found


class _Merge:
    def __init__(self, base: str, edited: str, generated: str) -> None:
        self.base = split(base)
        self.ours = _Side("edited", self.base, edited)
        self.theirs = _Side("generated", self.base, generated)
        self.ours.renames = find_renames(self.base, self.ours.units, self.ours.partner)
        self.theirs.renames = find_renames(self.base, self.theirs.units, self.theirs.partner)

    def run(self, labels: tuple[str, str, str]) -> Merged:
        torn: list[tuple[int, int]] = []
        while True:
            regions = self._regions(torn)
            pieces = _together(self._pieces(regions))
            conflicts = sum(piece.conflict is not None for piece in pieces)
            wrong = None if conflicts else self._wrong(pieces, regions)
            if wrong is None:
                return Merged(_joined(pieces, labels), conflicts)
            torn.append(wrong)

    def _wrong(self, pieces: list[_Piece], regions: list[_Region]) -> tuple[int, int] | None:
        """The first and last cell of changes that cannot both be made although they do not overlap, if there are
        any."""
        crossed = _crossed(pieces)
        if crossed is not None:
            return regions[crossed[0]].first, regions[crossed[1]].last
        keys = [code_tokens(piece.text) for piece in pieces]
        there = {name for key in keys for name in declared_names(key)}
        used = {name for key in keys for before, name in zip(("", *key), key, strict=False) if before != "."}
        for i, unit in enumerate(self.base):
            if unit.kind == "code" and (declared_names(unit.key) - there) & used:
                for region in regions:
                    if region.first <= 2 * i + 1 <= region.last:
                        return region.first, region.last
        return None

    # -- what meets what ---------------------------------------------------------------------------------------

    def _regions(self, torn: list[tuple[int, int]]) -> list[_Region]:
        ours = [change for change in self.ours.changes if not self._is_superseded(change)]
        theirs = [change for change in self.theirs.changes if not self._is_moot(change)]
        marked = [(c.first, c.last, 0, c) for c in ours] + [(c.first, c.last, 1, c) for c in theirs]
        spans = sorted([(first, last) for first, last, _, _ in marked] + torn)
        joined: list[list[int]] = []
        for first, last in spans:
            if joined and first <= joined[-1][1]:
                joined[-1][1] = max(last, joined[-1][1])
            else:
                joined.append([first, last])
        out = []
        for first, last in joined:
            inside = [(side, c) for start, end, side, c in marked if first <= start and end <= last]
            mine, other = (tuple(c for at, c in inside if at == side) for side in (0, 1))
            out.append(_Region(first, last, mine, other, any(first <= a and b <= last for a, b in torn)))
        return out

    def _is_moot(self, change: _Change) -> bool:
        """Whether a change is that of a generated comment that the edit removed."""
        return change.is_pair and change.is_comment and self.ours.partner[change.first // 2] is None

    def _is_superseded(self, change: _Change) -> bool:
        """Whether an edit only removed comments of statements whose generated form changed."""
        if not change.is_removal or any(
            self.base[c // 2].kind != "comment" for c in range(change.first, change.last + 1, 2)
        ):
            return False
        return any(
            c.units and not c.is_pair and c.first <= change.first and change.last <= c.last for c in self.theirs.changes
        )

    def _pieces(self, regions: list[_Region]) -> Iterator[_Piece]:
        cell = 0
        for number, region in enumerate(regions):
            yield from self._same(cell, region.first - 1)
            cell = region.last + 1
            for piece in self._region(region):
                yield replace(piece, region=number)
        yield from self._same(cell, 2 * len(self.base) - 1)

    def _same(self, first: int, last: int) -> Iterator[_Piece]:
        for cell in range(first, last + 1):
            if cell % 2:
                yield self._pair(cell // 2)

    def _region(self, region: _Region) -> Iterator[_Piece]:
        ours, theirs = region.ours, region.theirs
        if not region.is_torn:
            if not theirs or not ours:
                yield from self._one(self.ours if ours else self.theirs, region, ours or theirs)
                return
            found = self._both(region)
            if found is not None:
                yield from found
                return
        sides = (self.ours.between(region, ours), self.base_units(region), self.theirs.between(region, theirs))
        yield _Piece("", "", "", conflict=(_block(sides[0]), _block(sides[1]), _block(sides[2])))

    def base_units(self, region: _Region) -> list[Unit]:
        return [self.base[cell // 2] for cell in range(region.first, region.last + 1) if cell % 2]

    def _one(self, side: _Side, region: _Region, changes: Iterable[_Change]) -> Iterator[_Piece]:
        """One side's version of a region that is unchanged on the other."""
        for change in changes:
            if change.is_pair:
                yield self._pair(change.first // 2)
            else:
                for j in change.units:
                    yield self._inserted(side, j, change)

    def _both(self, region: _Region) -> list[_Piece] | None:
        """The merge of a region that both sides changed; ``None`` for a conflict."""
        ours, theirs = region.ours, region.theirs
        if all(change.is_removal for change in (*ours, *theirs)):
            return []
        first, second = ours[0], theirs[0]
        if len(ours) == len(theirs) == 1 and first.is_pair and second.is_pair:
            i = first.first // 2
            mine, other = self.ours.units[first.units[0]], self.theirs.units[second.units[0]]
            changed = self.base[i].key not in (mine.key, other.key) and mine.key != other.key
            return None if changed else [self._pair(i)]
        mine_all, other_all = self.ours.between(region, ours), self.theirs.between(region, theirs)
        if [unit.key for unit in mine_all] == [unit.key for unit in other_all]:
            return list(self._one(self.ours, region, ours))
        if first.is_insertion and second.is_insertion:
            return self._insertions(first, second)
        return None

    def _insertions(self, ours: _Change, theirs: _Change) -> list[_Piece] | None:
        """Two insertions at one place, if their order is clear or irrelevant; else ``None``."""
        mine, other = [self.ours.units[j] for j in ours.units], [self.theirs.units[j] for j in theirs.units]
        if ours.side == theirs.side and not _are_independent(mine, other):
            return None
        known = {unit.key for unit in other if unit.kind == "directive"}
        first = [self._inserted(self.ours, j, ours) for j in ours.units if self.ours.units[j].key not in known]
        second = [self._inserted(self.theirs, j, theirs) for j in theirs.units]
        return [*first, *second] if ours.side < theirs.side else [*second, *first]

    # -- units of the result -----------------------------------------------------------------------------------

    def _pair(self, i: int) -> _Piece:
        """A unit that both sides have and whose code at most one of them changed."""
        mine, other = self.ours.partner[i], self.theirs.partner[i]
        assert mine is not None and other is not None
        base, ours, theirs = self.base[i], self.ours.units[mine], self.theirs.units[other]
        lead = _lead(base, ours, theirs)
        if theirs.key == base.key or theirs.key == ours.key:
            core, indent = ours.core, ours.lead
            if base.kind == "comment":
                core = _numbered(ours.core, base.core, theirs.core)
        elif ours.core == base.core:
            core, indent = theirs.core, theirs.lead
        else:
            core, indent = _patched(ours.core, theirs.core), ours.lead
        if theirs.key != base.key and ours.key == base.key:
            core = self.ours.renames.apply(core, base, i)
        if ours.key != base.key and theirs.key == base.key:
            core = self.theirs.renames.apply(core, base, i)
        tail = theirs.tail if ours.tail == base.tail else ours.tail
        core = _shifted(core, _width(lead) - _width(indent))
        begins = (theirs if ours.begins_line == base.begins_line else ours).begins_line
        opener = None if base.opener is None else ("base", base.opener)
        return _Piece(lead, core, tail, begins, ("base", i) if base.kind == "open" else None, opener)

    def _inserted(self, side: _Side, j: int, change: _Change) -> _Piece:
        """A unit of one side, indented as the other side indents its neighbours now."""
        other = self.theirs if side is self.ours else self.ours
        unit = side.units[j]
        shift = self._shift(other, change) if unit.begins_line else 0
        blank, _, indent = unit.lead.rpartition("\n")
        blank = unit.lead[: len(unit.lead) - len(indent)]
        lead = blank + (" " * shift + indent if shift >= 0 else indent[: max(len(indent) + shift, 0)])
        scope = None if unit.scope is None else side.owner.get(unit.scope)
        core = other.renames.apply_in(unit.core, scope)
        opener = None if unit.opener is None else (side.name, unit.opener)
        opens = (side.name, j) if unit.kind == "open" else None
        return _Piece(lead, _shifted(core, shift), unit.tail, unit.begins_line, opens, opener)

    def _shift(self, other: _Side, change: _Change) -> int:
        """The number of columns by which the other side moved what a change belongs to, or else both its neighbours."""
        before, after = change.first // 2 - 1, (change.last + 1) // 2
        moves = [other.moved(self.base, i) for i in (before, after)]
        if change.side:
            return moves[change.side > 0]
        return min(moves, key=abs)


def _are_independent(mine: list[Unit], other: list[Unit]) -> bool:
    """Whether two insertions at one place mean the same in either order: declarations at file scope."""
    in_file = all(units[0].depth == 0 and units[0].kind != "close" for units in (mine, other))
    return in_file and not _declared(mine) & _declared(other)


def _declared(units: list[Unit]) -> set[str]:
    """The names that units declare at file scope."""
    found = set()
    for unit in units:
        if unit.depth == 0 and unit.kind in ("code", "open"):
            depth, words = 0, [""]
            for token in unit.key:
                if depth == 0 and (token in "[={;" or (token == "(" and words[-1] != "layout")):
                    break
                depth += (token == "(") - (token == ")")
                words += [token] if depth == 0 and token != ")" else []
            found.add(words[-1])
        elif unit.depth == 0 and unit.kind == "directive" and unit.key[0] == "#define":
            found.add(unit.key[1].partition("(")[0])
    return found


def _lead(base: Unit, ours: Unit, theirs: Unit) -> str:
    """The whitespace before a unit: empty lines, then the indentation, both of which both sides may have changed."""
    blanks = [unit.lead[: unit.lead.rfind("\n") + 1] for unit in (base, ours, theirs)]
    blank = blanks[2] if blanks[1] == blanks[0] else blanks[1]
    indents = [unit.lead[unit.lead.rfind("\n") + 1 :] for unit in (base, ours, theirs)]
    if indents[1] == indents[0]:
        return blank + indents[2]
    more = len(indents[2]) - len(indents[0]) if theirs.begins_line == base.begins_line else 0
    return blank + (indents[1] + " " * more if more >= 0 else indents[1][:more])


def _width(lead: str) -> int:
    return len(lead) - lead.rfind("\n") - 1


def _shifted(core: str, by: int) -> str:
    """The text with all lines but the first indented by this number of columns more."""
    if by == 0 or "\n" not in core:
        return core
    first, *lines = core.split("\n")
    moved = [" " * by + line if by > 0 else line[min(-by, len(line) - len(line.lstrip())) :] for line in lines]
    return "\n".join([first, *(line if line.strip() else "" for line in moved)])


def _numbered(ours: str, base: str, theirs: str) -> str:
    """A comment of the edited shader, with the present numbers of Python lines of the generated shader."""
    if ours == base:
        return theirs
    for old, new in zip(PYTHON_LINE.findall(base), PYTHON_LINE.findall(theirs), strict=False):
        ours = ours.replace("".join(old), "".join(new))
    return ours


def _patched(ours: str, theirs: str) -> str:
    """A statement that one side only reformatted, with the present tokens of the other side.

    Whitespace and comments are those of ``ours`` between tokens that are still adjacent, and where new ones begin.
    """
    # Imported here because only a merge of formatted text needs it.
    import difflib

    spaces, tokens = _spaced(ours)
    new_spaces, new_tokens = _spaced(theirs)
    out: list[str] = []
    is_after_new = False
    for kind, first, last, new, new_end in difflib.SequenceMatcher(None, tokens, new_tokens, False).get_opcodes():
        unused = {k: spaces[k] for k in range(first, min(last + (kind == "insert"), len(tokens)))}
        for at in range(new, new_end):
            old = first + at - new
            is_old = not is_after_new if kind == "equal" and at == new else kind == "equal" or at == new
            space = unused.pop(old, new_spaces[at]) if is_old else new_spaces[at]
            out.append(space or (new_spaces[at] if kind == "insert" else ""))
            out.append(new_tokens[at])
        if kind != "insert":
            # Comments stay even if their tokens do not.
            out += [space for space in unused.values() if space.strip()]
        is_after_new = kind in ("insert", "replace")
    return "".join(out)


def _spaced(text: str) -> tuple[list[str], list[str]]:
    """The space and comments before each token of the code, and the tokens."""
    spaces, tokens, space = [], [], ""
    for kind, token in tokens_of(text):
        if kind in ("space", "comment"):
            space += token
        else:
            spaces.append(space)
            tokens.append(token)
            space = ""
    return spaces, tokens


def _together(pieces: Iterable[_Piece]) -> list[_Piece]:
    """The pieces, with consecutive conflicts joined to one."""
    out: list[_Piece] = []
    for piece in pieces:
        before = out[-1].conflict if out else None
        if before is not None and piece.conflict is not None:
            texts = [one + two for one, two in zip(before, piece.conflict, strict=True)]
            out[-1] = replace(piece, conflict=(texts[0], texts[1], texts[2]))
        else:
            out.append(piece)
    return out


def _crossed(pieces: list[_Piece]) -> tuple[int, int] | None:
    """The regions between which two blocks of different sides partly overlap; ``None`` if no blocks do."""
    opened: list[_Piece] = []
    for piece in pieces:
        if piece.closes is not None:
            top = opened.pop() if opened else None
            if top is not None and top.opens != piece.closes:
                regions = [p.region for p in (top, piece, *(o for o in opened if o.opens == piece.closes))]
                return min(regions), max(regions)
        if piece.opens is not None:
            opened.append(piece)
    return None


def _block(units: list[Unit]) -> str:
    """One side of a conflict: whole lines."""
    text = "".join(unit.text for unit in units)
    if units and not units[0].begins_line:
        text = text.lstrip(" ")
    return text if not text or text.endswith("\n") else text + "\n"


def _joined(pieces: list[_Piece], labels: tuple[str, str, str]) -> str:
    marks = ("<<<<<<<", "|||||||", ">>>>>>>")
    out: list[str] = []
    indent = ""
    for piece in pieces:
        ends_line = not out or out[-1].endswith("\n")
        if piece.conflict is not None:
            ours, base, theirs = piece.conflict
            out.append("" if ends_line else "\n")
            out.append(f"{marks[0]} {labels[0]}\n{ours}{marks[1]} {labels[1]}\n{base}=======\n{theirs}")
            out.append(f"{marks[2]} {labels[2]}\n")
            continue
        lead = piece.lead
        if piece.begins_line:
            out.append("" if ends_line else "\n")
            indent = lead[lead.rfind("\n") + 1 :]
        elif ends_line and out:
            lead = indent + lead.lstrip(" ")
        out.append(lead + piece.text + piece.tail)
    return "".join(out)
