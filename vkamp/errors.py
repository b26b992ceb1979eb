"""Source locations, every error class of vkamp, and how diagnostics are rendered.

:func:`diagnostic` makes a compile error from a row of :data:`vkamp.messages.MESSAGES`.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from typing import Any

from vkamp.messages import MESSAGES
from vkamp.records import dataclass


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


#: The style of lines with carets in a notebook, whose own style sheet may give `pre` a font of other widths.
FIXED_WIDTH = "font-family: ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace; white-space: pre"


def escaped(text: str) -> str:
    """A text in HTML."""
    from html import escape  # Its table of names takes 3 ms, and only notebooks need it.

    return escape(text)


class AmpError(RuntimeError):
    """Base of all errors of vkamp (AMP: ``runtime_exception``).

    ``error_code`` is the diagnostic's code (``"VKA201"``) or ``None``.
    """

    def __init__(self, message: str = "", *, error_code: str | None = None) -> None:
        super().__init__(message)
        self.error_code = error_code

    def _repr_html_(self) -> str:
        """For notebooks, where the error is a value: its lines with carets."""
        text = escaped(f"{type(self).__name__}: {self}")
        return f'<pre style="{FIXED_WIDTH}; overflow-x: auto; text-align: left">{text}</pre>'


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
        #: The place in the Python source that the error points at.
        self.span = span
        self.notes = tuple(notes)


class CompileError(_LocatedError):
    """A kernel that is not a tile program (AMP: a compile error); raised before any effect."""


class InternalCompilerError(_LocatedError):
    """The compiler failed because of a fault in vkamp, not in the kernel. Please report it.

    The message says which pass failed on which kernel (``compiler_pass``, ``kernel``), and a way round it.
    ``__cause__`` is the failure.
    """

    #: The traceback of the cause shows where the compiler failed: it keeps vkamp's frames.
    keeps_cause = True

    def __init__(
        self, message: str = "", *, compiler_pass: str = "", kernel: str = "", span: Span | None = None
    ) -> None:
        super().__init__(message, span=span)
        self.compiler_pass = compiler_pass
        self.kernel = kernel


class UnsupportedFeatureError(_LocatedError):
    """A type, function or size that the device or the engine does not support (AMP: ``unsupported_feature``)."""


class InvalidComputeDomainError(AmpError):
    """A launch over a domain that cannot be run (AMP: ``invalid_compute_domain``)."""


class OutOfMemoryError(AmpError):
    """Device memory ran out; everything stays usable (AMP: ``out_of_memory``)."""


class AcceleratorRemovedError(AmpError):
    """The device was lost; its data are gone (AMP: ``accelerator_view_removed``)."""

    def __init__(self, message: str = "", *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class CheckError(AmpError):
    """A kernel did what no device defines, as checking found when it ran.

    ``findings`` says what as data, each a :class:`vkamp.findings.Finding`; ``error_code`` is the kind of the first.
    """

    def __init__(self, message: str = "", *, findings: tuple[Any, ...] = ()) -> None:
        super().__init__(message, error_code=findings[0].kind if findings else None)
        self.findings = findings


class RaceError(CheckError):
    """Two threads access one element, one of them writing, and nothing orders them."""


class ShaderEditError(_LocatedError):
    """A hand-edited shader does not compile or does not fit its kernel; nothing runs.  ``span`` is in its file."""


class ShaderEditWarning(UserWarning):
    """A kernel has a hand-edited shader, and this launch does not use it."""


class CheckWarning(UserWarning):
    """Part of a launch that check mode (``VKAMP_CHECK=1``) could not check."""


class RaceWarning(UserWarning):
    """All threads of a tile store to one element: the last one wins, whichever that is."""


class InternalCompilerWarning(UserWarning):
    """A pass of the compiler failed that the kernel can do without: a fault of vkamp, to be reported."""


class EngineWarning(UserWarning):
    """A program loses time to the engine that it has chosen; another one would not (``VKAMP_ENGINE``)."""


class BarrierWarning(UserWarning):
    """A barrier orders nothing, and costs time."""


class CompileTimeWarning(UserWarning):
    """A CPU driver will compile a kernel for longer than people wait; once for each kernel."""


# -- rendering ---------------------------------------------------------------------------------------------------


#: Columns of source that a message shows.
_WIDEST = 120
#: How the names of vkamp's own files begin.
_PACKAGE = os.path.join(os.path.dirname(__file__), "")


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
    if stop - indent > _WIDEST:
        # A long line: the part at the carets, and a little before it.
        first = max(indent, min(start - _WIDEST // 4, len(text) - _WIDEST))
        text, start, stop = text[: first + _WIDEST], start - first + indent, min(stop - first, _WIDEST) + indent
        text = text[:indent] + text[first:]
    gutter = " " * (margin + 1)
    lines.append(f"{gutter}|")
    lines.append(f"{span.line:>{margin}} | {text[indent:]}")
    lines.append(f"{gutter}| {' ' * (start - indent)}{'^' * (stop - start)}")
    return lines


def name_at(span: Span) -> str:
    """The name that a span covers, or begins with if an annotation follows; ``""`` if it is not a name."""
    text = linecache.getline(span.file, span.line).encode()[span.column : span.end_column].decode(errors="replace")
    name = text.partition(":")[0]
    return name if name.isidentifier() and span.line == span.end_line and not iskeyword(name) else ""


def _callers(span: Span) -> Iterator[Span]:
    """The calls that lead to a place. For a place in a program, calls in vkamp's own files are left out."""
    keeps_all = is_of_package(span.file) or os.environ.get("VKAMP_TRACEBACK") == "1"
    caller = span.caller
    while caller is not None:
        if keeps_all or not is_of_package(caller.file):
            yield caller
        caller = caller.caller


def is_of_package(file: str) -> bool:
    """Whether a source file is one of vkamp's."""
    return file.startswith(_PACKAGE)


def render(
    headline: str,
    span: Span | None,
    notes: Iterable[Note] = (),
    help_text: str = "",
) -> str:
    """The whole text of a diagnostic: headline, source with carets, notes, the way to write it."""
    notes = list(notes)
    if span is not None:
        notes += [Note(caller, "called from here") for caller in _callers(span)]
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


# -- diagnostics -------------------------------------------------------------------------------------------------


_ERRORS: dict[str, type[_LocatedError]] = {
    "compile": CompileError,
    "unsupported": UnsupportedFeatureError,
    "edit": ShaderEditError,
}


def diagnostic(
    code: str,
    span: Span | None,
    *,
    notes: Iterable[Note] = (),
    **fields: object,
) -> CompileError | UnsupportedFeatureError:
    """The error of row ``code``, its text filled in with ``fields``; the caller raises it."""
    error = _located(code, span, notes, fields)
    assert isinstance(error, (CompileError, UnsupportedFeatureError))
    return error


def edit_diagnostic(code: str, span: Span, *, notes: Iterable[Note] = (), **fields: object) -> ShaderEditError:
    """Like :func:`diagnostic`, for the rows of hand-edited shaders; ``span`` is in the shader's file."""
    error = _located(code, span, notes, fields)
    assert isinstance(error, ShaderEditError)
    return error


def _located(code: str, span: Span | None, notes: Iterable[Note], fields: dict[str, object]) -> _LocatedError:
    row = MESSAGES[code]
    notes = tuple(notes)
    text = render(
        f"{code}: {row.text.format(**fields)}",
        span,
        notes,
        row.help.format(**fields),
    )
    return _ERRORS[row.kind](text, error_code=code, span=span, notes=notes)
