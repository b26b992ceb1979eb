"""Chains of causes: why a value, or the path to a statement, may differ between threads. A :class:`Reason` explains a
value, and a :class:`Diversion` explains control flow; both become notes of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from vkamp.errors import Note, Span

#: Longer chains are cut in the middle: a reader needs the condition and the thread index.
_MAX_LENGTH = 8


@dataclass(frozen=True)
class Reason:
    """One step of a chain: what happens at ``span``, and ``cause``, the step before it.

    ``parameter`` marks the end of a chain inside a device function: the value is that part of the argument. ``fix``, at
    the end of a chain, says how such a value becomes the same for all threads.
    """

    span: Span
    text: str
    cause: Reason | None = None
    parameter: tuple[int, str] | None = None
    depth: int = 1
    fix: str = ""

    def steps(self) -> Iterator[Reason]:
        """This step and those before it, nearest first."""
        step: Reason | None = self
        while step is not None:
            yield step
            step = step.cause


@dataclass(frozen=True)
class Diversion:
    """Why not all threads of a tile are here: an enclosing branch or loop, or a jump that some threads took. ``reason``
    explains the condition; ``via`` is the branch that contains the jump.
    """

    kind: Literal["if", "loop", "return", "break", "continue"]
    span: Span
    text: str
    reason: Reason | None = None
    via: Diversion | None = None


def because(span: Span, text: str, cause: Reason | None = None, fix: str = "") -> Reason:
    """A step in front of ``cause``."""
    return Reason(span, text, cause, None, 1 + (cause.depth if cause else 0), fix)


def shortest(reasons: Iterable[Reason | None]) -> Reason | None:
    """The chain that is quickest to read; ``None`` if there is none: the value is uniform."""
    best: Reason | None = None
    for reason in reasons:
        if reason is not None and (best is None or reason.depth < best.depth):
            best = reason
    return best


def graft(reason: Reason, arguments: Mapping[tuple[int, str], Reason]) -> Reason:
    """The chain with its end in a parameter continued by the chain of the call's argument."""
    last = reason
    while last.cause is not None:
        last = last.cause
    if last.parameter is None or last.parameter not in arguments:
        return reason
    whole = arguments[last.parameter]
    for step in reversed(list(reason.steps())[:-1]):
        whole = Reason(step.span, step.text, whole, step.parameter, whole.depth + 1, step.fix)
    return whole


def _chain(reason: Reason) -> list[Note]:
    """The steps of a chain as notes, without repetitions and without the middle of a long chain."""
    notes: list[Note] = []
    for step in reason.steps():
        note = Note(replace(step.span, caller=None), step.text)
        if note not in notes:
            notes.append(note)
    if len(notes) > _MAX_LENGTH:
        notes[_MAX_LENGTH - 2 : -1] = []
    return notes


def fix_of(diversion: Diversion, resolve: Callable[[Reason], Reason]) -> str:
    """How the condition at the end of a diversion becomes the same for all threads; ``""``: not known."""
    step: Diversion | None = diversion
    while step is not None and step.reason is None:
        step = step.via
    if step is None or step.reason is None:
        return ""
    return list(resolve(step.reason).steps())[-1].fix


def notes_of(diversion: Diversion, resolve: Callable[[Reason], Reason]) -> tuple[Note, ...]:
    """The notes that explain a diversion: each jump and condition, then why the condition differs.

    ``resolve`` continues a chain that ends in a parameter of a device function.
    """
    notes: list[Note] = []
    step: Diversion | None = diversion
    while step is not None:
        notes.append(Note(replace(step.span, caller=None), step.text))
        if step.reason is not None:
            notes += _chain(resolve(step.reason))
        step = step.via
    unique: list[Note] = []
    for note in notes:
        if note not in unique:
            unique.append(note)
    return tuple(unique)
