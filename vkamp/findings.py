"""What checking finds wrong in a running kernel, as data and as text.

The reference accelerator and check mode on a device make the same findings through the functions of this module, so
that both speak alike.

C++ AMP's model: docs/conformance.md, sections 3, 10 and 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vkamp.display.page import block, details, heading, note
from vkamp.errors import CheckError, Note, RaceError, Span, render
from vkamp.ir.types import Array, Struct, Type, Vector

Kind = Literal[
    "race",
    "bounds",
    "divergence",
    "uninitialised",
    "division",
    "shift",
    "conversion",
    "assert",
    "uniformity",
    "loop",
    "stale",
]
AccessKind = Literal["read", "write", "atomic"]

_DONE = {"read": "reads", "write": "writes", "atomic": "atomically updates"}


@dataclass(frozen=True)
class ThreadAt:
    """A thread by its indices; ``tile`` and ``local`` are ``None`` in an untiled kernel."""

    global_: tuple[int, ...]
    tile: tuple[int, ...] | None = None
    local: tuple[int, ...] | None = None

    def __str__(self) -> str:
        if self.tile is None or self.local is None:
            return f"thread {_tuple(self.global_)}"
        return f"thread {_tuple(self.global_)} (tile {_tuple(self.tile)}, local {_tuple(self.local)})"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: ``str()`` shows it as the compiler shows its errors.

    ``kind``: what it is.  ``variable``: the container's or variable's Python name, or ``""``.  ``index``: the element,
    or the index that is out of bounds; ``()`` where there is none.  ``threads``: the one or two threads.
    ``locations``: file, line and column of each access, in the order of the threads.
    """

    kind: Kind
    variable: str
    index: tuple[int, ...]
    threads: tuple[ThreadAt, ...]
    locations: tuple[Span, ...]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """For notebooks."""
        return block([self._details()])

    def _details(self) -> str:
        headline, _, lines = self.text.partition("\n")
        return details(headline, lines)


@dataclass(frozen=True)
class Report:
    """What checking one launch found.

    ``findings`` contains each error once, even if several threads cause it. ``not_covered`` describes what could not be
    checked. ``kernel`` and ``accelerator`` are their names.
    """

    kernel: str
    accelerator: str
    findings: tuple[Finding, ...] = ()
    not_covered: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found; what :attr:`not_covered` names may still be wrong."""
        return not self.findings

    def __str__(self) -> str:
        parts = [f"{self.kernel} on {self.accelerator}: {self._verdict}", *map(str, self.findings)]
        parts += [f"not covered: {text}" for text in self.not_covered]
        return "\n\n".join(parts)

    @property
    def _verdict(self) -> str:
        count = len(self.findings)
        return "nothing wrong" if not count else f"{count} finding{'s' if count > 1 else ''}"

    def _repr_html_(self) -> str:
        """For notebooks: each finding with its Python lines."""
        head = heading(self.kernel, f"checked on {self.accelerator}: {self._verdict}")
        notes = [note(f"not covered: {text}") for text in self.not_covered]
        return block([head, *(finding._details() for finding in self.findings), *notes])


def error_of(findings: Sequence[Finding], text: str = "") -> CheckError:
    """The error that says what was found: a ``RaceError`` where the first finding is a race."""
    kind = RaceError if findings[0].kind == "race" else CheckError
    return kind(text or "\n\n".join(map(str, findings)), findings=tuple(findings))


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order of the source."""

    def place(finding: Finding) -> tuple[list[tuple[str, int, int]], str]:
        return sorted((s.file, s.line, s.column) for s in finding.locations), finding.kind

    return tuple(sorted(found, key=place))


# -- the texts -----------------------------------------------------------------------------------------------------


def bounds(
    variable: str, value: int, extent: int, dim: int | None, thread: ThreadAt, span: Span, what: str = ""
) -> Finding:
    """An index outside ``0 <= value < extent``; ``dim`` where there are several, ``what`` if not ``variable``."""
    where = "" if dim is None else f" in dimension {dim}"
    text = f"index {value}{where} of {what or variable} is out of bounds (extent {extent})"
    return _of_one("bounds", variable, (value,), text, thread, span)


def lane(function: str, number: int, count: int, thread: ThreadAt, span: Span) -> Finding:
    """The value of a lane that none of the subgroup's ``count`` threads is in."""
    threads = f"{count} thread{'s' if count > 1 else ''}"
    text = f"amp.subgroup.{function} reads the value of lane {number}, but its subgroup has {threads}"
    return _of_one("bounds", "", (number,), text, thread, span)


def view_bounds(variable: str, thread: ThreadAt, span: Span) -> Finding:
    """A view that the kernel made reaches beyond its container."""
    return _of_one("bounds", variable, (), f"a view of {variable} reaches beyond its memory", thread, span)


def uninitialised(variable: str, element: str, index: tuple[int, ...], thread: ThreadAt, span: Span) -> Finding:
    """A read of memory that nothing wrote; ``element`` as :func:`element_text` gives it."""
    return _of_one("uninitialised", variable, index, f"{element} is read before it is written", thread, span)


def unassigned(variable: str, thread: ThreadAt, span: Span) -> Finding:
    """A read of a local variable that has no value yet."""
    return _of_one("uninitialised", variable, (), f"{variable} is read before it is assigned", thread, span)


def ended_without_result(function: str, thread: ThreadAt, span: Span) -> Finding:
    """A device function that ended without a result."""
    return _of_one("uninitialised", "", (), f"{function} ends without returning its result", thread, span)


def division(thread: ThreadAt, span: Span) -> Finding:
    """An integer division by zero."""
    return _of_one("division", "", (), "integer division by zero", thread, span)


def ended_loop(longest: int, thread: ThreadAt, span: Span) -> Finding:
    """A loop that the driver ended."""
    text = f"the driver ended this loop early: it ends all loops of a thread after {longest:,} iterations in total"
    return _of_one("loop", "", (), text, thread, span)


def shift(count: int, thread: ThreadAt, span: Span) -> Finding:
    """A shift by a negative count, or by one not below the number of bits."""
    return _of_one("shift", "", (), f"shift by {count}: the count must be from 0 to 31", thread, span)


def conversion(value: object, target: str, thread: ThreadAt, span: Span) -> Finding:
    """A float that the integer type cannot hold."""
    text = f"undefined conversion: {value!s} has no value in {target}"
    return _of_one("conversion", "", (), text, thread, span)


def failed_assert(message: str, thread: ThreadAt, span: Span) -> Finding:
    """An assertion that does not hold."""
    text = f"assertion failed: {message}" if message else "assertion failed"
    return _of_one("assert", "", (), text, thread, span)


def not_uniform(first: tuple[ThreadAt, object], second: tuple[ThreadAt, object], span: Span) -> Finding:
    """An ``amp.uniform`` whose value differs: two threads of a tile with their values."""
    (one, value), (other, different) = first, second
    text = f"amp.uniform() got different values in one tile: {value!s} in {one}, {different!s} in {other}"
    help_text = "pass only what is the same for all threads of the tile"
    message = render(text, span, (), help_text)
    return Finding("uniformity", "", (), (one, other), (span, span), message)


def missed_barrier(waiting: ThreadAt, ended: ThreadAt, span: Span) -> Finding:
    """A barrier that one thread waits at and another never reaches."""
    text = f"not all threads of the tile reach this barrier: {waiting} waits, {ended} has ended"
    return _divergence(text, (waiting, ended), (span,), ())


def missed_subgroup(function: str, first: ThreadAt, other: ThreadAt, span: Span) -> Finding:
    """A subgroup function that not all threads of a subgroup reach."""
    text = f"not all threads of the subgroup call amp.subgroup.{function} together: {first} does, {other} does not"
    message = render(text, span, (), "let every thread of the subgroup call it")
    return Finding("divergence", "", (), (first, other), (span,), message)


def different_barriers(first: tuple[ThreadAt, Span], second: tuple[ThreadAt, Span]) -> Finding:
    """Two threads that wait at different barriers."""
    (one, here), (other, there) = first, second
    text = f"the threads of the tile wait at different barriers: here {one}"
    return _divergence(text, (one, other), (here, there), (Note(there, f"here {other}"),))


def race(
    variable: str,
    index: tuple[int, ...],
    now: tuple[ThreadAt, AccessKind, str, Span],
    before: tuple[ThreadAt, AccessKind, str, Span],
    *,
    space: Literal["global", "tile_static"],
) -> Finding:
    """Two accesses that nothing orders: each a thread, what it does, the element's text, the place."""
    (second, does, name, here), (first, did, other_name, there) = now, before
    same_tile = first.tile is not None and first.tile == second.tile
    text = f"race on {name}: {second} {_DONE[does]} it, {first} {_DONE[did]} it"
    text += ", and nothing orders the two" if same_tile else ", and nothing orders two tiles"
    if first.tile is None:
        text = text.removesuffix("tiles") + "threads"
    also = f", as {other_name}" if other_name != name else ""
    notes = (Note(there, f"the other access, by {first}{also}"),)
    if same_tile:
        help_text = f"put a barrier whose fence orders {space} memory between them, or use atomics"
    else:
        help_text = "let each element have one writer, or use atomics"
    return Finding("race", variable, index, (second, first), (here, there), render(text, here, notes, help_text))


def _of_one(kind: Kind, variable: str, index: tuple[int, ...], text: str, thread: ThreadAt, span: Span) -> Finding:
    return Finding(kind, variable, index, (thread,), (span,), render(f"{text}, in {thread}", span))


def _divergence(text: str, threads: tuple[ThreadAt, ...], spans: tuple[Span, ...], notes: Iterable[Note]) -> Finding:
    message = render(text, spans[0], notes, "let every thread of the tile reach the same barrier")
    return Finding("divergence", "", (), threads, spans, message)


def stale(
    name: str,
    variable: str,
    index: tuple[int, ...],
    before: object,
    now: object,
    newer: Sequence[object],
    device: str,
    span: Span,
) -> Finding:
    """Host memory that changed behind a view: the parameter, the program's variable, an element and its values.

    ``newer``: the value that a launch has written to the element, if one has.
    """
    view = variable or name
    element = element_text(view, index)
    parameter = f" (parameter `{name}`)" if variable not in ("", name) else ""
    if newer:
        text = (
            f"the host changed the memory of the view `{view}`{parameter} before the results of a launch "
            f"were copied to it: "
            f"{element} was {before!s} in memory and is {now!s} now, and {newer[0]!s} on {device}"
        )
        advice = (
            f"call {view}.synchronize() before the host reads or changes the array, and {view}.refresh() after it has "
            f"changed it; {view}.refresh() alone discards what the launch wrote"
        )
    else:
        text = (
            f"the host changed the memory of the view `{view}`{parameter}, and the launch does not see it: "
            f"{element} is {now!s} in memory, and {before!s} on {device}"
        )
        advice = (
            f"call {view}.refresh() after changing the array, or assign through the view; before a launch that writes "
            f"all elements and reads none, {view}.discard_data() is enough"
        )
    return Finding("stale", name, index, (), (span,), render(text, span, (), advice))


# -- elements ------------------------------------------------------------------------------------------------------


def element_text(name: str, index: Sequence[int]) -> str:
    """``name[1, 2]``."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def member_text(kind: Type, word: int, unit: int = 4) -> str:
    """The path from a value to its scalar at an offset of words of ``unit`` bytes: ``.velocity[2]``."""
    if isinstance(kind, Struct):
        for member in reversed(kind.fields):
            if member.offset <= unit * word:
                return f".{member.name}{member_text(member.type, word - member.offset // unit, unit)}"
    if isinstance(kind, Vector):
        return f".{kind.letters[word * unit // kind.element.size]}"
    if isinstance(kind, Array):
        number, rest = divmod(word, kind.element.size // unit)
        return element_text("", unravel(number, kind.shape)) + member_text(kind.element, rest, unit)
    return ""


def unravel(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major index of element ``number``."""
    index = []
    for size in reversed(shape):
        number, component = divmod(number, size)
        index.append(component)
    return tuple(reversed(index))


def locate(word: int, strides: Sequence[int], shape: Sequence[int], size: int) -> tuple[tuple[int, ...], int] | None:
    """Index and remaining words of the element ``word`` words after a container's first element.

    ``strides`` and ``size`` (of an element) are in words; ``None`` where strides overlap too much.
    """
    low = [s * (n - 1) if s < 0 else 0 for s, n in zip(strides, shape, strict=True)]
    rest = word - sum(low)
    index = [0] * len(shape)
    for dim in sorted(range(len(index)), key=lambda d: -abs(strides[d])):
        stride = abs(strides[dim])
        if stride:
            index[dim] = min(rest // stride, shape[dim] - 1)
            rest -= index[dim] * stride
        if strides[dim] < 0:
            index[dim] = shape[dim] - 1 - index[dim]
    return (tuple(index), rest) if 0 <= rest < size else None


def _tuple(index: Sequence[int]) -> str:
    return f"({', '.join(map(str, index))})"
