"""The device functions that an instrumented kernel calls, created at their first use."""

from __future__ import annotations

from collections.abc import Sequence

from vkamp.check.instrument.layout import COUNT, EXHAUSTED, FIRST_RECORD, RECORD_WORDS, RECORDS, ReportLayout
from vkamp.check.instrument.make import NOWHERE, THREAD, Maker, uint
from vkamp.findings import AccessKind
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, UINT32, Array, Type

_make = Maker(NOWHERE)
_load, _add, _set, _when = _make.load, _make.add, _make.set, _make.when

#: The entries of a group of a container's shadow: between tiles, in the tile; for accesses other than plain writes, the
#: largest and the smallest.
_FAR, _NEAR, _FAR_MAX, _FAR_MIN, _NEAR_MAX, _NEAR_MIN = range(6)
#: The entries of a group of the shadow of tile_static memory; those of other accesses exist if races are checked. One
#: more, the last, says whether an atomic was the first write.
_WRITER, _MAX, _MIN = range(3)


def _parameter(name: str, kind: Type = UINT32) -> ir.Variable:
    return ir.Variable(name, kind, "parameter", NOWHERE)


def _local(name: str, kind: Type = UINT32) -> ir.Variable:
    storage = "private" if isinstance(kind, Array) else "local"
    return ir.Variable(name, kind, storage, NOWHERE)  # type: ignore[arg-type]


def _bit(op: str, left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
    return _make.binary(op, left, uint(right) if isinstance(right, int) else right)


def _same(left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
    return _make.compare("eq", left, uint(right) if isinstance(right, int) else right)


def _differ(left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
    return _make.compare("ne", left, uint(right) if isinstance(right, int) else right)


class CheckHelpers:
    """The helpers of one kernel. The rewriting of the kernel requests names; the bodies are created afterwards, when
    the layout is known.
    """

    def __init__(self) -> None:
        self._wanted: dict[str, tuple[str, ...]] = {}

    def _want(self, name: str, *key: str) -> str:
        self._wanted[name] = key
        return name

    # -- names

    def note(self) -> str:
        """``(cell, other tile, other thread, value, value)``: takes the cell and writes the finding."""
        return "note finding"

    def conversion(self) -> str:
        """``(cell, value)``: records a float that an integer type cannot hold."""
        return self._want("note conversion", "conversion")

    def static(self, access: AccessKind, *, judged: bool, must_be_set: bool) -> str:
        """``(word, access)``: records an access of tile_static memory. ``judged``: checks for races. ``must_be_set``:
        the access uses the current value.
        """
        name = f"{access} tile_static" + ("" if judged else " unjudged")
        if access != "write" and not must_be_set:
            name += " partly set"
        return self._want(name, "static", access, str(judged), str(must_be_set))

    def container(self, access: AccessKind, *, only_written: bool, near: bool) -> str:
        """``(group, access)``: records an access of a container. ``only_written``: there are only plain writes.
        ``near``: a tile has several threads.
        """
        name = f"{access} global" + (" written" if only_written else "")
        return self._want(name, "global", access, str(only_written), str(near))

    def interval(self, space: str) -> str:
        """``()``: a barrier that orders ``"static"`` or ``"global"`` memory has been passed."""
        return self._want(f"next interval {space}", "interval", space)

    # -- functions

    def functions(self, layout: ReportLayout, atomics_may_set: bool) -> tuple[ir.Function, ...]:
        """Every helper that is used, callees first."""
        makers: dict[str, type[_Space]] = {"static": _Static, "global": _Global}
        out = [_note_function(layout)]
        # No function is needed for what is never checked within a tile.
        spaces = [("static", "True", 2), ("global", "True", 3)]
        wanted = [key for key in self._wanted.values() if key[0] in makers]
        for space, judged, at in spaces:
            if not any(key[0] == space and key[at] == judged for key in wanted):
                continue
            out.append(makers[space](layout, atomics_may_set).near_function())
        for name, key in self._wanted.items():
            if key[0] == "conversion":
                out.append(_conversion_function(name))
            elif key[0] == "interval":
                out.append(_interval_function(name, key[1], layout))
            else:
                out.append(makers[key[0]](layout, atomics_may_set).function(name, key[1:]))
        return tuple(out)


def _function(
    name: str,
    params: Sequence[ir.Variable],
    body: Sequence[ir.Stmt],
    variables: Sequence[ir.Variable] = (),
) -> ir.Function:
    python_name = name.replace(" ", "_")
    return ir.Function(name, python_name, tuple(params), (), tuple(variables), tuple(body), NOWHERE)


_CELL, _OTHER_TILE, _OTHER, _A, _B = map(_parameter, ("cell", "other_tile", "other", "a", "b"))


def _note_function(layout: ReportLayout) -> ir.Function:
    taken, number, at = map(_local, ("taken", "number", "at"))
    cell = _add(uint(layout.cells), _load(_CELL))
    values = (_load(THREAD.tile), _load(THREAD.local), *map(_load, (_OTHER_TILE, _OTHER, _A, _B)))
    record = [_set(_make.word(_load(at)), _add(_load(_CELL), uint(1)))]
    record += [_set(_make.word(_add(_load(at), uint(k))), v) for k, v in enumerate(values, 1)]
    write = [
        _make.atomic("atomic_fetch_add", uint(COUNT), uint(1), number),
        _when(
            _make.compare("lt", _load(number), uint(RECORDS)),
            [_set(at, _add(_make.mul(_load(number), RECORD_WORDS), uint(FIRST_RECORD))), *record],
        ),
    ]
    take = [
        _make.atomic("atomic_exchange", cell, uint(1), taken),
        _when(_same(_load(taken), 0), write),
    ]
    body = [_when(_same(_load(_make.word(cell)), 0), take)]
    return _function("note finding", (_CELL, _OTHER_TILE, _OTHER, _A, _B), body, (taken, number, at))


def _note(cell: ir.Expr, tile: ir.Expr, other: ir.Expr, a: ir.Expr) -> ir.Call:
    return _make.call("note finding", cell, tile, other, a, uint(0))


def _conversion_function(name: str) -> ir.Function:
    value = _parameter("value", FLOAT32)
    bits = ir.Builtin(NOWHERE, UINT32, "asuint", (_load(value),))
    body = [_make.call("note finding", _load(_CELL), uint(0), uint(0), bits, uint(0))]
    return _function(name, (_CELL, value), body)


def _interval_function(name: str, space: str, layout: ReportLayout) -> ir.Function:
    variable = THREAD.in_static if space == "static" else THREAD.in_global
    bits = (layout.static_bits if space == "static" else layout.global_bits) + layout.thread_bits
    step = 1 << bits
    ran_out = [_set(variable, uint(0)), _set(_make.word(uint(EXHAUSTED)), uint(1))]
    body = [
        _when(
            _differ(_load(variable), 0),
            [
                _set(variable, _add(_load(variable), uint(step))),
                _when(_make.compare("lt", _load(variable), uint(step)), ran_out),
            ],
        )
    ]
    return _function(name, (), body)


_ENTRY, _WORD, _SITE, _GROUP = map(_parameter, ("entry", "word", "site", "group"))


class _Space:
    """The helpers of one memory space."""

    #: The cell of two accesses, their bits, the thread's signature, and the name of the function that checks entries.
    pairs: int
    bits: int
    signature: ir.Variable
    judge: str

    def __init__(self, layout: ReportLayout, atomics_may_set: bool) -> None:
        self.layout = layout
        self.atomics_may_set = atomics_may_set

    @property
    def thread_mask(self) -> int:
        """The bits of a signature that hold the thread."""
        return ((1 << self.layout.thread_bits) - 1) << self.bits

    def pair(self, other: ir.Expr) -> ir.Expr:
        """The cell of this access (``site``) and the access of an entry."""
        count = {"static": self.layout.static, "global": self.layout.global_}[self.name] + 1
        theirs = _bit("bitand", other, (1 << self.bits) - 1)
        return _add(_make.mul(_load(_SITE), count), theirs, uint(self.pairs))

    name: str = ""

    def function(self, name: str, key: tuple[str, ...]) -> ir.Function:
        """The function that records an access, for the key of its request."""
        raise NotImplementedError

    def near_function(self) -> ir.Function:
        """Checks an entry of the tile: whether another thread wrote it in this interval."""
        # It differs from the thread's signature in the bits of the thread, and not in the bits above them.
        difference = _local("difference")
        another = _make.compare("ge", _load(difference), uint(1 << self.bits))
        same_interval = _make.compare("lt", _load(difference), uint(1 << (self.bits + self.layout.thread_bits)))
        thread = _bit("bitand", _bit("shr", _load(_ENTRY), self.bits), (1 << self.layout.thread_bits) - 1)
        found = _note(self.pair(_load(_ENTRY)), _load(THREAD.tile), thread, _load(_WORD))
        body: list[ir.Stmt] = [
            _set(difference, _bit("bitxor", _load(_ENTRY), _load(self.signature))),
            _when(_make.both([another, same_interval]), [found]),
        ]
        return _function(self.judge, (_ENTRY, _WORD, _SITE), body, (difference,))

    def judged(self, entry: ir.Expr, word: ir.Variable) -> ir.Call:
        """Checks an entry of the tile."""
        return _make.call(self.judge, entry, _load(word), _load(_SITE))

    @staticmethod
    def raised(at: ir.Expr, value: ir.Expr) -> ir.If:
        """Raises an entry, unless it is already high enough."""
        lower = _make.compare("lt", _load(_make.word(at)), value)
        return _when(lower, [_make.atomic("atomic_fetch_max", at, value)])


class _Static(_Space):
    """tile_static memory: one shadow for each tile."""

    name = "static"
    judge = "judge tile_static"
    signature = THREAD.in_static

    @property
    def bits(self) -> int:  # type: ignore[override]
        return self.layout.static_bits

    @property
    def pairs(self) -> int:  # type: ignore[override]
        return self.layout.static_pairs

    def function(self, name: str, key: tuple[str, ...]) -> ir.Function:
        """The function that records an access of a word."""
        access, judged, must_be_set = key
        at = _local("at")
        out: list[ir.Stmt] = []
        has_tables = self.layout.static_tables > 2

        def entry(table: int) -> ir.Expr:
            return _add(_load(at), uint(table))

        out.append(_set(at, _add(_load(THREAD.static_at), _make.mul(_load(_WORD), self.layout.static_tables))))
        signed = _add(_load(THREAD.in_static), _load(_SITE))
        variables: list[ir.Variable] = [at]
        if access == "write" and judged == "True":
            before = _local("before")
            variables.append(before)
            out += [
                _make.atomic("atomic_fetch_max", entry(_WRITER), signed, before),
                self.judged(_load(before), _WORD),
            ]
            if has_tables:
                out += [
                    _make.fence(),
                    self.judged(_load(_make.word(entry(_MAX))), _WORD),
                    self.judged(_bit("bitxor", _load(_make.word(entry(_MIN))), self.thread_mask), _WORD),
                ]
        elif access == "write":
            out.append(_set(_make.word(_load(at)), signed))
        else:
            if judged == "True":
                inverted = _bit("bitxor", signed, self.thread_mask)
                out += [self.raised(entry(_MAX), signed), self.raised(entry(_MIN), inverted), _make.fence()]
            writer = _local("writer")
            variables.append(writer)
            out.append(_set(writer, _load(_make.word(entry(_WRITER)))))
            if judged == "True":
                out.append(self.judged(_load(writer), _WORD))
            if must_be_set == "True":
                unset = _same(_load(writer), 0)
                if self.atomics_may_set:
                    unset = _make.both([unset, _same(_load(_make.word(entry(self.layout.static_tables - 1))), 0)])
                cell = _add(_load(_SITE), uint(self.layout.unset))
                out.append(_when(unset, [_note(cell, uint(0), uint(0), _load(_WORD))]))
        if access == "atomic" and self.atomics_may_set:
            out.append(_set(_make.word(entry(self.layout.static_tables - 1)), uint(1)))
        body = [_when(_differ(_load(THREAD.in_static), 0), out)]
        return _function(name, (_WORD, _SITE), body, variables)


class _Global(_Space):
    """Containers: one shadow for each range of memory that containers of the launch use."""

    name = "global"
    judge = "judge global"
    signature = THREAD.in_global

    @property
    def bits(self) -> int:  # type: ignore[override]
        return self.layout.global_bits

    @property
    def pairs(self) -> int:  # type: ignore[override]
        return self.layout.global_pairs

    def function(self, name: str, key: tuple[str, ...]) -> ir.Function:
        """The function that records an access of a word, whose group of entries begins at ``group``."""
        access, only_written, near = key
        has_near, has_others = near == "True", only_written != "True"
        variables: list[ir.Variable] = []
        out: list[ir.Stmt] = []
        signed = _add(_load(THREAD.signature), _load(_SITE))
        near_signed = _add(_load(THREAD.in_global), _load(_SITE))
        counts = _differ(_load(THREAD.in_global), 0)

        def entry(table: int) -> ir.Expr:
            return _add(_load(_GROUP), uint(self.table(table, has_near)))

        def kept(variable: str, value: ir.Expr) -> ir.Variable:
            made = _local(variable)
            variables.append(made)
            out.append(_set(made, value))
            return made

        if access == "write":
            far = _local("far")
            variables.append(far)
            out.append(_make.atomic("atomic_fetch_max", entry(_FAR), signed, far))
            entries = [_load(far)]
            near_entries: list[ir.Expr] = []
            if has_near:
                before = _local("before")
                variables.append(before)
                out += [_make.fence(), _make.atomic("atomic_fetch_max", entry(_NEAR), near_signed, before)]
                near_entries.append(_load(before))
            if has_others:
                out.append(_make.fence())
                if has_near:
                    near_max = kept("near_max", _load(_make.word(entry(_NEAR_MAX))))
                    least = _bit("bitxor", _load(_make.word(entry(_NEAR_MIN))), self.thread_mask)
                    near_min = kept("near_min", least)
                    near_entries += [_load(near_max), _load(near_min)]
                    out.append(_make.fence())
                most = kept("far_most", _load(_make.word(entry(_FAR_MAX))))
                entries.append(_load(most))
                inverted = _load(_make.word(entry(_FAR_MIN)))
                entries.append(_load(kept("far_least", self.restored(inverted))))
        else:
            out += [self.raised(entry(_FAR_MAX), signed), self.raised(entry(_FAR_MIN), self.inverted(signed))]
            near_entries = []
            if has_near:
                near_inverted = _bit("bitxor", near_signed, self.thread_mask)
                out += [
                    _make.fence(),
                    self.raised(entry(_NEAR_MAX), near_signed),
                    self.raised(entry(_NEAR_MIN), near_inverted),
                ]
            out.append(_make.fence())
            if has_near:
                near_entries.append(_load(kept("near", _load(_make.word(entry(_NEAR))))))
                out.append(_make.fence())
            entries = [_load(kept("far", _load(_make.word(entry(_FAR)))))]
        out += self.verdict(entries, near_entries, counts)
        return _function(name, (_GROUP, _SITE), out, variables)

    @staticmethod
    def table(table: int, has_near: bool) -> int:
        """The position of an entry in its group; the first entries of the tile do not exist if a tile has only one
        thread."""
        return table if has_near else {_FAR: 0, _FAR_MAX: 1, _FAR_MIN: 2}[table]

    def inverted(self, signed: ir.Expr) -> ir.Expr:
        """A signature that is larger for smaller thread numbers."""
        return _bit("bitxor", signed, ~((1 << self.bits) - 1))

    def restored(self, entry: ir.Expr) -> ir.Expr:
        """Undoes :meth:`inverted`; 0 if there is no entry."""
        empty = _same(entry, 0)
        return ir.Select(NOWHERE, UINT32, empty, uint(0), self.inverted(entry))

    def verdict(self, entries: Sequence[ir.Expr], near: Sequence[ir.Expr], counts: ir.Expr) -> list[ir.Stmt]:
        """First the accesses of other tiles; those of the tile only if no access of another tile could be confused with
        them."""
        shift = self.bits + self.layout.thread_bits
        verdict: list[ir.Stmt] = []
        if near:
            verdict = [_when(counts, [self.judged(entry, _GROUP) for entry in near])]
        for entry in reversed(entries):
            tile = _bit("shr", entry, shift) if shift < 32 else uint(0)
            thread = _bit("bitand", _bit("shr", entry, self.bits), (1 << self.layout.thread_bits) - 1)
            other = _make.both([_differ(entry, 0), _differ(tile, _load(THREAD.tile))])
            verdict = [_when(other, [_note(self.pair(entry), tile, thread, _load(_GROUP))], verdict)]
        return verdict
