"""Source locations and every error class of vkamp, each message template beside its code.

A diagnostic is made by :func:`diagnostic` from a row of :data:`MESSAGES`: the row holds the error class, one
sentence that says what is wrong, and the way to write it.  No other place words a compile error.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = [
    "MESSAGES",
    "AcceleratorRemovedError",
    "AmpError",
    "CompileError",
    "InvalidComputeDomainError",
    "Message",
    "Note",
    "OutOfMemoryError",
    "RaceError",
    "RaceWarning",
    "ShaderEditError",
    "Span",
    "UnsupportedFeatureError",
    "diagnostic",
    "render",
]


@dataclass(frozen=True)
class Span:
    """A piece of Python source: 1-based lines, 0-based columns, the end exclusive.

    ``caller`` is the call through which this code was reached, for code of a ``@func`` function.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    caller: Span | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Note:
    """A second place that explains an error, with its own caret."""

    span: Span
    text: str


class AmpError(RuntimeError):
    """Base of all errors of vkamp (AMP: ``runtime_exception``).

    ``error_code`` is the diagnostic's code (``"VKA201"``) or ``None``.
    """

    def __init__(self, message: str = "", *, error_code: str | None = None) -> None:
        super().__init__(message)
        self.error_code = error_code


@dataclass(frozen=True)
class _Where:
    """What a located error remembers beside its text."""

    span: Span | None = None
    notes: tuple[Note, ...] = field(default=())


class _LocatedError(AmpError):
    """An error that may point into a kernel's source."""

    def __init__(
        self,
        message: str = "",
        *,
        error_code: str | None = None,
        span: Span | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        super().__init__(message, error_code=error_code)
        self.where = _Where(span, tuple(notes))

    @property
    def span(self) -> Span | None:
        """The place in the Python source that the error points at."""
        return self.where.span


class CompileError(_LocatedError):
    """A kernel that is no tile program (AMP: a compile error); raised before any effect."""


class UnsupportedFeatureError(_LocatedError):
    """A type, function or size that the device or the engine hasn't (AMP: ``unsupported_feature``)."""


class InvalidComputeDomainError(AmpError):
    """A launch over a domain that cannot be run (AMP: ``invalid_compute_domain``)."""


class OutOfMemoryError(AmpError):
    """Device memory ran out; everything stays usable (AMP: ``out_of_memory``)."""


class AcceleratorRemovedError(AmpError):
    """The device was lost; its data are gone (AMP: ``accelerator_view_removed``)."""

    def __init__(self, message: str = "", *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class RaceError(AmpError):
    """Two threads access one element, one of them writing, and nothing orders them."""


class ShaderEditError(AmpError):
    """A hand-edited shader does not fit its kernel."""


class RaceWarning(UserWarning):
    """All threads of a tile store to one element: the last one wins, whichever that is."""


# -- rendering ---------------------------------------------------------------------------------------------------


def _snippet(span: Span, margin: int) -> list[str]:
    """The source line with carets under the span; nothing if the source cannot be read."""
    text = linecache.getline(span.file, span.line).rstrip("\n")
    where = f"{' ' * margin}--> {span.file}:{span.line}"
    if span.function:
        where += f", in {span.function}"
    lines = [where]
    if not text.strip():
        return lines
    end = span.end_column if span.end_line == span.line else len(text)
    # Columns of the ast module count UTF-8 bytes.
    raw = text.encode()
    start = len(raw[: span.column].decode(errors="replace"))
    stop = len(raw[:end].decode(errors="replace"))
    indent = len(text) - len(text.lstrip())
    start, stop = max(start, indent), max(stop, start + 1)
    gutter = " " * (margin + 1)
    lines.append(f"{gutter}|")
    lines.append(f"{span.line:>{margin}} | {text[indent:]}")
    lines.append(f"{gutter}| {' ' * (start - indent)}{'^' * (stop - start)}")
    return lines


def render(
    headline: str,
    span: Span | None,
    notes: Iterable[Note] = (),
    help_text: str = "",
) -> str:
    """The whole text of a diagnostic: headline, source with carets, notes, the way to write it."""
    notes = list(notes)
    caller = span.caller if span else None
    while caller is not None:
        notes.append(Note(caller, "called from here"))
        caller = caller.caller
    lines_used = [n.span.line for n in notes] + ([span.line] if span else [])
    margin = max((len(str(n)) for n in lines_used), default=1)
    out = [headline]
    if span is not None:
        out += _snippet(span, margin)
    for note in notes:
        out.append(f"{' ' * margin} = note: {note.text}")
        out += _snippet(note.span, margin)
    if help_text:
        out.append(f"{' ' * margin} = help: {help_text}")
    return "\n".join(out)


# -- the messages ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """One row: the error class, what is wrong in a sentence, and how to write it (both are format strings)."""

    error: type[_LocatedError]
    text: str
    help: str = ""


def diagnostic(
    code: str,
    span: Span | None,
    *,
    notes: Iterable[Note] = (),
    **fields: object,
) -> CompileError | UnsupportedFeatureError:
    """The error of row ``code``, its text filled in with ``fields``; the caller raises it."""
    row = MESSAGES[code]
    notes = tuple(notes)
    text = render(
        f"{code}: {row.text.format(**fields)}",
        span,
        notes,
        row.help.format(**fields),
    )
    error = row.error(text, error_code=code, span=span, notes=notes)
    assert isinstance(error, (CompileError, UnsupportedFeatureError))
    return error


_C = CompileError
_U = UnsupportedFeatureError

#: Codes: 1xx syntax, 2xx names and calls, 3xx types, 4xx memory, 5xx control flow, 6xx barriers and races.
MESSAGES: dict[str, Message] = {}

# -- 6xx: barriers and races
_MISSED = "some threads of the tile may miss this barrier: it stands {place}"
MESSAGES.update(
    {
        "VKA600": Message(
            _C,
            "a kernel without tiles has no barrier",
            "launch it over a tiled domain, `extent.tile(...)`: "
            "a barrier is for the threads of a tile",
        ),
        "VKA601": Message(
            _C,
            _MISSED,
            "move the barrier out of the `if`, so that every thread waits, "
            "and guard only the loads and stores",
        ),
        "VKA602": Message(
            _C,
            _MISSED,
            "let all threads of the tile repeat the loop equally often, "
            "and guard the loads and stores in it",
        ),
        "VKA603": Message(
            _C,
            _MISSED,
            "keep all threads alive up to the last barrier: instead of returning, "
            "guard the loads and stores by an `if` (of a padded domain: those outside the data)",
        ),
        "VKA604": Message(
            _C,
            _MISSED,
            "let all threads of the tile stay in the loop equally long, "
            "and guard the loads and stores in it instead of the `{jump}`",
        ),
        "VKA605": Message(
            _C,
            "some threads of the tile may miss this barrier: `{function}` is called {place}",
            "call `{function}` where all threads of the tile are, "
            "and guard only the loads and stores in it",
        ),
        "VKA610": Message(
            _C,
            "{threads} update this one element of `{name}` at once: a race",
            "write `amp.{atomic}({element}, ...)`, or let one thread do it: {single}",
        ),
        "VKA611": Message(
            _C,
            "{threads} update this one element of `{name}` at once: a race",
            "let each thread have an element of its own, and {combine}",
        ),
        "VKA620": Message(
            _C,
            "{threads} store to this one element of `{name}`: which value stays is not defined",
            "let one thread store it: {single}",
        ),
    }
)
