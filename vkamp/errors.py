"""Source locations and every error class of vkamp, each message template beside its code.

A diagnostic is made by :func:`diagnostic` from a row of :data:`MESSAGES`: the row holds the error class, one
sentence that says what is wrong, and the way to write it.  No other place words a compile error.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from keyword import iskeyword
from typing import Any


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
    #: The copies of unrolled loops' bodies that this statement belongs to, outermost first.
    copies: tuple[Copy, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Copy:
    """A copy of an unrolled loop's body: the loop, its variable's name and its values, and which of them this is."""

    loop: Span
    name: str
    values: range
    number: int


@dataclass(frozen=True)
class Note:
    """A second place that explains an error, with its own caret."""

    span: Span
    text: str


#: The style of lines with carets in a notebook, whose own style sheet may give `pre` a font of other widths.
FIXED_WIDTH = "font-family: ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace; white-space: pre"


class AmpError(RuntimeError):
    """Base of all errors of vkamp (AMP: ``runtime_exception``).

    ``error_code`` is the diagnostic's code (``"VKA201"``) or ``None``.
    """

    def __init__(self, message: str = "", *, error_code: str | None = None) -> None:
        super().__init__(message)
        self.error_code = error_code

    def _repr_html_(self) -> str:
        """For notebooks, where the error is a value: its lines with carets."""
        text = escape(f"{type(self).__name__}: {self}")
        return f'<pre style="{FIXED_WIDTH}; overflow-x: auto; text-align: left">{text}</pre>'


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


class InternalCompilerError(_LocatedError):
    """The compiler failed on a kernel for a reason that is not the kernel's: a fault of vkamp, to be reported.

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
    """Something that a checked launch (``VKAMP_CHECK=1``) could not look at."""


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
        # A long line: what stands at the carets, and a little before.
        first = max(indent, min(start - _WIDEST // 4, len(text) - _WIDEST))
        text, start, stop = text[: first + _WIDEST], start - first + indent, min(stop - first, _WIDEST) + indent
        text = text[:indent] + text[first:]
    gutter = " " * (margin + 1)
    lines.append(f"{gutter}|")
    lines.append(f"{span.line:>{margin}} | {text[indent:]}")
    lines.append(f"{gutter}| {' ' * (start - indent)}{'^' * (stop - start)}")
    return lines


def name_at(span: Span) -> str:
    """The name that a span covers, or begins with if an annotation follows; ``""`` if it is no name."""
    text = linecache.getline(span.file, span.line).encode()[span.column : span.end_column].decode(errors="replace")
    name = text.partition(":")[0]
    return name if name.isidentifier() and span.line == span.end_line and not iskeyword(name) else ""


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
    error = _located(code, span, notes, fields)
    assert isinstance(error, (CompileError, UnsupportedFeatureError))
    return error


def edit_diagnostic(code: str, span: Span, *, notes: Iterable[Note] = (), **fields: object) -> ShaderEditError:
    """As :func:`diagnostic`, for the rows of hand-edited shaders; ``span`` is in the shader's file."""
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
    return row.error(text, error_code=code, span=span, notes=notes)


_C = CompileError
_U = UnsupportedFeatureError
_E = ShaderEditError

#: Codes: 1xx syntax, 2xx names and calls, 3xx types, 4xx memory, 5xx control flow, 6xx barriers and races, 7xx hand-
#: edited shaders.
MESSAGES: dict[str, Message] = {
    # -- 1xx: syntax
    "VKA101": Message(_C, "kernels do not support {what}", "{advice}"),
    "VKA102": Message(
        _C,
        "the source of `{name}` cannot be read, and a kernel is compiled from its source",
        "define it in a file, a notebook cell or at the prompt of Python 3.13, not in text given to exec() or "
        "`python -c`",
    ),
    "VKA103": Message(_C, "`{text}` has no effect", "{advice}"),
    "VKA104": Message(_C, "a `for` loop cannot iterate over `{text}`", "{advice}"),
    "VKA106": Message(
        _C,
        "`{name}` takes any number of arguments (`{param}`); a kernel's parameters are fixed when it is compiled",
        "write a name for every parameter",
    ),
    "VKA107": Message(_C, "{what} cannot be a kernel", "{advice}"),
    "VKA108": Message(
        _C,
        "`{name}` is not supported in an unrolled loop",
        "use range(...) instead of amp.static_range(...), or guard the rest of the body by an `if`",
    ),
    "VKA109": Message(_C, "{what}", "{advice}"),
    "VKA110": Message(
        _C,
        "kernels do not support the type `{text}`",
        "use a type of 32 or 64 bits such as `amp.float32`; elements of containers can also have 8 or 16 bits, "
        "or a structured dtype",
    ),
    "VKA112": Message(_C, "the step of a range is 0", "use a step other than 0"),
    "VKA113": Message(
        _C,
        "this loop would be unrolled {count} times; the limit is {limit}",
        "use range(...) instead of amp.static_range(...)",
    ),
    "VKA114": Message(_C, "`{text}` is {given}; the arguments of a range must be integers", "{advice}"),
    "VKA115": Message(
        _C,
        "the kernel `{name}` has no parameter for its index",
        "write `def {name}({parameters}):`; the {which} parameter is the thread's index",
    ),
    "VKA116": Message(
        _C,
        "the keyword-only parameter `{name}` of a kernel is not annotated as a constant",
        "write `{name}: amp.constant`, or put it before the `*`",
    ),
    "VKA117": Message(_C, "`{text}` is supported only as the iterable of a `for` loop", "write `for i in {text}:`"),
    "VKA118": Message(
        _C,
        "this expression or chain of statements is nested too deeply",
        "assign parts of an expression to variables first; split a long chain of `elif` into functions",
    ),
    "VKA119": Message(
        _C,
        "this loop never ends: its condition is always true, and no `break` or `return` is reached",
        "write the condition under which it goes on, or leave it: `if ...: break`",
    ),
    "VKA121": Message(
        _C,
        "`{text}` has several clauses or conditions, so that its length is not known",
        "write its loops and conditions as statements; only `sum`, `any`, `all`, `min` and `max` accept it",
    ),
    "VKA122": Message(_C, "`{name}` of one sequence does not support `{keyword}`", "{advice}"),
    "VKA123": Message(_C, "`{text}` has no items", "pass the result for an empty sequence: `{name}(..., default=0)`"),
    "VKA124": Message(
        _C,
        "`{text}` cannot become a tuple: its length is not known when the kernel is compiled, or exceeds {limit}",
        "use amp.private(shape, dtype) and a `for` loop",
    ),
    "VKA125": Message(
        _C, "`{text}` is {what}, but `in` searches tuples, ranges, arrays and containers only", "compare with =="
    ),
    "VKA126": Message(
        _C, "`{text}` is {given}, but a range contains integers only", "compare with its ends: `low <= x < high`"
    ),
    "VKA127": Message(
        _C,
        "`strict=True` needs equal lengths, but they are {one} and {other}",
        "remove `strict` to stop at the shortest",
    ),
    # -- 2xx: names and calls
    "VKA201": Message(_C, "the name `{name}` is not defined", "{advice}"),
    "VKA202": Message(
        _C,
        "`{name}` may be unassigned here: not every path to this line assigns it",
        "{advice}",
    ),
    "VKA203": Message(_C, "`{name}` is an ordinary Python {kind}, which a kernel cannot call", "{advice}"),
    "VKA204": Message(_C, "`{name}` calls itself ({chain}); kernels do not support recursion", "write it as a loop"),
    "VKA205": Message(_C, "`{name}` is {what}, which a kernel cannot use", "{advice}"),
    "VKA206": Message(_C, "{owner} has no `{name}`", "{advice}"),
    "VKA207": Message(_C, "`{name}` takes {expected} argument{s}, but {given} {are} given", "{advice}"),
    "VKA208": Message(_C, "`{name}` works on the host only, not in a kernel", "use it before or after the launch"),
    "VKA209": Message(_C, "`{text}` cannot be assigned: {why}", "{advice}"),
    "VKA210": Message(_C, "`{text}` is {what}, not a function", "{advice}"),
    "VKA211": Message(
        _C,
        "`{name}` returns a value on some paths and nothing on others",
        "return a value at the end of every path through the function",
    ),
    "VKA212": Message(
        _C,
        "`{text}` is {what}, which a function cannot return",
        "return numbers, indices, structs or tuples of them",
    ),
    "VKA213": Message(_C, "a kernel cannot return a value", "store the result in a container: `{advice}`"),
    "VKA216": Message(
        _C,
        "`{text}` has no memory to view: a kernel can make views of containers and arrays only",
        "write `{name}(a)` or `{name}(a, extent)`, or make the view on the host and pass it",
    ),
    "VKA217": Message(
        _C,
        "`{text}` is a part of an array or struct, which cannot be passed to a function by reference",
        "pass the whole array and the index, or the value of the element",
    ),
    "VKA218": Message(
        _C,
        "`{name}` returns {given} here, but {other} elsewhere",
        "return the same number and kinds of values everywhere",
    ),
    "VKA219": Message(
        _C,
        "`{name}` is a kernel, and a kernel cannot call a kernel",
        "move what both need into an @amp.func, and call that",
    ),
    "VKA220": Message(_C, "`{text}` takes no keyword arguments", "pass its arguments by position"),
    "VKA221": Message(_C, "the argument of `{name}` must be the barrier", "write `amp.{name}(t_idx.barrier)`"),
    "VKA222": Message(_C, "the arguments do not fit `{name}`: {reason}", "call it as `{definition}`"),
    "VKA223": Message(_C, "`{text}` returns no value", "call it on its own line"),
    "VKA224": Message(
        _C,
        "`{name}` is assigned after the function `{function}` captured its value",
        "use another name for the new value, or make it a parameter of `{function}`",
    ),
    "VKA225": Message(_C, "no overload of `{name}` takes {given}", "its overloads are {forms}: convert the arguments"),
    "VKA226": Message(
        _C,
        "`{name}{given}` is ambiguous: {forms} fit equally well",
        "convert the arguments to the types of one of them",
    ),
    "VKA227": Message(_U, "{what}", "{advice}"),
    "VKA228": Message(_C, "`print` cannot show `{text}`, which is {what}", "{advice}"),
    "VKA229": Message(
        _C,
        "`print` in a kernel does not support {what}",
        "pass the values; `sep` and `end` may be string literals",
    ),
    "VKA230": Message(
        _C,
        "`{spec}` is not a format for {what}",
        "use Python's: `{{x:8.3f}}` for a float, `{{n:5d}}` for an integer, none for vectors, structs and indices",
    ),
    "VKA231": Message(
        _C, "`{text}` is {what}, which has no length", "`len` takes a container, array, tuple, index or extent"
    ),
    "VKA232": Message(
        _C,
        "`ord` takes a string of one character, and `{text}` is not one",
        "the elements of a container are numbers already",
    ),
    # -- 3xx: types
    "VKA301": Message(_C, "{given} value cannot be stored in {what}, which is {type}", "{advice}"),
    "VKA302": Message(_C, "`{op}` does not work on {what}", "{advice}"),
    "VKA303": Message(_C, "{value} does not fit {type}, which holds {range}", "{advice}"),
    "VKA304": Message(
        _U,
        "{what} the device feature {feature}, {why}",
        "{advice}",
    ),
    "VKA305": Message(
        _C,
        "bool is not an element type of containers: its size differs between host and device",
        "use amp.int32 with 0 and 1: `mask.astype(np.int32)` on the host",
    ),
    "VKA308": Message(_C, "{what} must be {kind} known at compile time, and `{text}` is not", "{advice}"),
    "VKA309": Message(_C, "{left} and {right} differ in rank", "use the same number of components on both sides"),
    "VKA310": Message(_C, "division by zero", "use a divisor that is not 0"),
    "VKA311": Message(_C, "`{text}` is {what}, but a number is needed here", "{advice}"),
    "VKA312": Message(_C, "the struct has no field `{name}`", "{advice}"),
    "VKA313": Message(_C, "{what} has rank {rank}, but {given} subscript{s} {are} given", "{advice}"),
    "VKA314": Message(_C, "`{text}` is {given}; a subscript must be an integer", "{advice}"),
    "VKA315": Message(_C, "`{name}` takes {accepts}, not {given}", "convert the argument: `{advice}`"),
    "VKA316": Message(
        _C,
        "`{name}` cannot become {new}: a variable keeps its type throughout the function",
        "{advice}",
    ),
    "VKA317": Message(_C, "{what} is {type}, but {given} is given", "{advice}"),
    "VKA318": Message(_C, "the result of a shift by {count} bits is undefined", "shift by 0 to 31 bits"),
    "VKA319": Message(
        _C,
        "an integer to the power of `{text}` is not an integer",
        "make the base a float: `float(x) ** {text}`",
    ),
    "VKA320": Message(
        _C,
        "`{text}` would be evaluated only if the comparisons before it hold, which is not supported in a chain",
        "assign it to a variable first, or write `a < b and b < c`",
    ),
    "VKA321": Message(_C, "indices and tuples cannot be ordered", "compare their components, `idx[0] < n`"),
    "VKA322": Message(_C, "`{op}` is not defined for {left} and {right}", "{advice}"),
    "VKA323": Message(_C, "`{text}` is {what}, which has no elements", "{advice}"),
    "VKA324": Message(_C, "the subscript {index} is outside {place}", "{advice}"),
    "VKA325": Message(
        _C,
        "the subscript {index} is out of range: `{text}` has {size} component{s}",
        "components are numbered from 0; negative subscripts do not count from the end",
    ),
    "VKA326": Message(
        _C,
        "the loop variable `{name}` would be {type} here",
        "use another name, or the same type in both places",
    ),
    "VKA327": Message(_C, "the result of `{text}` is undefined", "use arguments for which it is defined"),
    "VKA328": Message(_C, "`{text}` is {what}, which cannot be unpacked", "{advice}"),
    "VKA329": Message(_C, "{values} value{s} for {targets} name{t}", "use as many names as there are values"),
    "VKA330": Message(_C, "`{text}` is {what}, and only elements are assigned", "{advice}"),
    "VKA331": Message(
        _C,
        "the tuple `{name}` contains {what}",
        "a tuple variable can contain numbers only; assign the other things to variables",
    ),
    "VKA332": Message(_C, "short vectors cannot be ordered", "compare their components: `{left}.x {op} ...`"),
    "VKA333": Message(_C, "`{text}` is {given}, which does not convert to {type}: the lengths differ", "{advice}"),
    "VKA334": Message(
        _C, "`{text}` is {what}", "choose between vectors of one type; `amp.float3(a)` makes a vector from a number"
    ),
    "VKA335": Message(
        _C,
        "`{text}` is {given}, whose bits cannot be read as {type}: the sizes differ",
        "the bits stay the same; {advice}",
    ),
    "VKA340": Message(
        _C,
        "a section of rank {rank} takes an index, an extent, both, or {count} whole numbers",
        "{advice}",
    ),
    "VKA341": Message(
        _C,
        "the section {what} in dimension {dim}{of}",
        "the origin must be inside, the length at least 1, and the end not beyond the end of the container",
    ),
    "VKA342": Message(
        _C,
        "a view of {wanted} elements does not fit into {have}",
        "a view has at least 1 element, and at most as many as its memory",
    ),
    "VKA343": Message(
        _C,
        "`{name}` needs contiguous elements, but `{text}` is {what}",
        "take one row: `{text}[{indices}].{name}({args})`",
    ),
    "VKA344": Message(_C, "{old} cannot be read as {new}: {reason}", "{advice}"),
    "VKA351": Message(
        _C,
        "`{name}` cannot become {what} here: what branches and loops bind anew is elements of one array or container, "
        "or objects",
        "begin with an object, `{name} = ... .copy()`; or use one name for each of them",
    ),
    "VKA352": Message(
        _C,
        "`{text}` is assigned before `{name}` is read: in Python its old value is lost then",
        "assign copies: write `.copy()` after each element of `{value}`",
    ),
    "VKA353": Message(
        _C,
        "in Python `{name}` and `{by}` are one object here, and a kernel has a copy: it lacks the change",
        "copy it where it gets its second name, `{copy}`, or read `{by}`",
    ),
    "VKA354": Message(
        _C,
        "in Python this changes `{other}` too, and a kernel has a copy of it in `{name}`: the change would be lost",
        "copy it where it gets its second name, `... .copy()`, or change `{other}` itself",
    ),
    "VKA356": Message(_C, "`{text}` is one of its operands, and these are {what}", "{advice}"),
    "VKA355": Message(_C, "`{name}` is a copy of {of}: the change is lost", "{advice}"),
    # -- 4xx: memory
    "VKA401": Message(
        _C,
        "`amp.{name}` declares an array, and must be assigned to a name directly",
        "write `values = amp.{name}(shape, dtype)` on its own line",
    ),
    "VKA402": Message(
        _C,
        "a tile_static array cannot be declared inside a branch or loop: it exists once per tile",
        "move the declaration to the top level of the function, before the branch or loop",
    ),
    "VKA403": Message(
        _C,
        "tile_static memory needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`, or use amp.private(shape, dtype)",
    ),
    "VKA404": Message(
        _C,
        "{name} memory cannot have an initial value: its contents are undefined until a thread writes them",
        "assign the elements after the declaration; of tile_static memory each thread assigns some, "
        "and then all wait at a barrier",
    ),
    "VKA405": Message(
        _C,
        "this writes to `{name}`, which is a read-only view",
        "{advice}",
    ),
    "VKA406": Message(
        _C,
        "`{name}` needs an element of a container or of a tile_static array, but `{text}` is {what}",
        "{advice}",
    ),
    "VKA407": Message(
        _C,
        "`{name}` works on {accepts}, but the element is {given}",
        "use a container or tile_static array of integers",
    ),
    "VKA408": Message(_C, "a {name} array cannot have the size {size}", "use sizes of 1 or more"),
    "VKA409": Message(
        _C,
        "the expected value, `{text}`, must be a local variable of type {type}: it receives the old value",
        "assign it to a variable first: `expected = amp.{type}({advice})`",
    ),
    "VKA410": Message(
        _C,
        "this {name} array has {size} bytes; the limit is {limit}",
        "make it smaller, or use a container",
    ),
    "VKA411": Message(
        _C,
        "`{name}` cannot update `{text}`, {what}",
        "use a separate tile_static array for it",
    ),
    # -- 5xx: tiles
    "VKA501": Message(
        _C,
        "`{text}` needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`, or use `{index}` itself, the thread's index",
    ),
    "VKA502": Message(
        _U,
        "`{name}` works on the reference accelerator only, and this launch runs on another one",
        'run with VKAMP_ACCELERATOR=reference, or pass `amp.accelerator("reference")` before the domain; or remove it',
    ),
    "VKA503": Message(
        _U,
        "`amp.subgroup.{name}` needs {operation} operations of subgroups; {device} supports {supported}",
        "run it on another accelerator, or exchange the values through tile_static memory and barriers",
    ),
    "VKA504": Message(
        _U,
        "the tile_static arrays of `{kernel}` have {bytes} bytes; {device} has {limit} per tile",
        "make them smaller, or use smaller elements: `{name}` alone has {size} bytes",
    ),
}

# -- 6xx: barriers and races
_MISSED = "some threads of the tile may not reach this barrier: it is {place}"
MESSAGES.update(
    {
        "VKA600": Message(
            _C,
            "a barrier needs tiles, but the domain of this launch has none",
            "launch over a tiled domain, `extent.tile(...)`: a barrier synchronizes the threads of a tile",
        ),
        "VKA601": Message(
            _C,
            _MISSED,
            "{fix}move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores",
        ),
        "VKA602": Message(
            _C,
            _MISSED,
            "{fix}let all threads of the tile run the loop to the same bound, "
            "and guard the loads and stores in it by an `if`",
        ),
        "VKA603": Message(
            _C,
            _MISSED,
            "{fix}keep all threads alive up to the last barrier: instead of returning, "
            "guard the loads and stores by an `if` (of a padded domain: those outside the data)",
        ),
        "VKA604": Message(
            _C,
            _MISSED,
            "{fix}let all threads of the tile run the same number of iterations, "
            "and guard the loads and stores in it by an `if` instead of the `{jump}`",
        ),
        "VKA605": Message(
            _C,
            "some threads of the tile may not reach this barrier: `{function}` is called {place}",
            "{fix}call `{function}` where all threads of the tile call it, and guard only its loads and stores",
        ),
        "VKA606": Message(
            _C,
            "`amp.uniform` must be called by all threads of the tile, but some may not reach it: {what} {place}",
            "{fix}call it earlier, where all threads of the tile do, and use the result here",
        ),
        "VKA607": Message(
            _C,
            "`amp.uniform` needs tiles, but the domain of this launch has none",
            "remove it, or launch over a tiled domain, `extent.tile(...)`",
        ),
        "VKA608": Message(
            _C,
            "`amp.subgroup.{name}` needs tiles, but the domain of this launch has none",
            "launch over a tiled domain, `extent.tile(...)`",
        ),
        "VKA650": Message(
            _C,
            "`amp.subgroup.{name}` must be called by all threads of a subgroup together, "
            "but some of them may not reach it: {what} {place}",
            "{fix}call it where all threads of the subgroup do, threads without a value with a neutral one such as 0, "
            "and use the result here",
        ),
        "VKA651": Message(
            _C,
            "the second argument of `amp.subgroup.{name}` may differ between the threads of the subgroup",
            "{fix}pass the same value in all of them, or use `amp.subgroup.shuffle(x, lane)`: each chooses its lane",
        ),
        "VKA610": Message(
            _C,
            "{threads} update this one element of `{name}` at once: a race",
            "write `amp.{atomic}({element}, ...)`, or let one thread do it: {single}",
        ),
        "VKA611": Message(
            _C,
            "{threads} update this one element of `{name}` at once: a race",
            "let each thread update a separate element, and {combine}",
        ),
        "VKA620": Message(
            _C,
            "{threads} store to this one element of `{name}`: {outcome}",
            "let one thread store it: {single}",
        ),
        "VKA630": Message(
            _C,
            "{element} is {done} here by thread {now}{when} and {did} thread {before}, "
            "with no barrier that orders {space} memory in between: a race",
            "{advice}",
        ),
        "VKA631": Message(
            _C,
            "{element} is written here by the threads {first} and {second} without synchronization: a race",
            "let each thread write a separate element, or use an atomic",
        ),
        "VKA640": Message(
            _C,
            "this barrier has no effect: no thread accesses {memory} memory {where}",
            "remove it, or use the fence for the memory that is accessed",
        ),
    }
)

# -- 7xx: hand-edited shaders
_DROP = "or drop the edit: vkamp shaders revert {name}"
MESSAGES.update(
    {
        "VKA701": Message(_E, "glslang rejects this hand-edited shader: {said}", f"correct the line, {_DROP}"),
        "VKA702": Message(
            _E,
            "this hand-edited shader no longer fits its kernel: {what}",
            f"restore its declarations (vkamp shaders diff {{name}} shows them), {_DROP}",
        ),
        "VKA703": Message(
            _E,
            "this shader was edited for another version of its kernel: what vkamp generates for `{kernel}` has changed",
            "merge the edit with the new shader: vkamp shaders merge {name}",
        ),
        "VKA704": Message(
            _E,
            "this hand-edited shader contains an unresolved merge conflict",
            "edit the lines from <<<<<<< to >>>>>>> to what is right, and remove the markers; "
            "vkamp shaders merge --undo {name} reverts the merge",
        ),
        "VKA705": Message(
            _E,
            "the generated shader that this one was edited from is missing: {base}",
            "restore it from version control; or move the edited file away, and export the shader again",
        ),
        "VKA706": Message(_E, "spirv-val rejects this hand-edited shader: {said}", f"correct the line, {_DROP}"),
        "VKA707": Message(
            _E,
            "this hand-edited shader needs {features}, which {who}",
            f"remove what needs it, {_DROP}",
        ),
        "VKA708": Message(
            _E,
            "check mode cannot check this hand-edited shader: it instruments what vkamp generates for `{kernel}`, "
            "whose results may differ",
            "run without VKAMP_CHECK=1 to use the edit; VKAMP_SHADERS=0, amp.use_shaders(None) or amp.check(...) check "
            "the generated shader on purpose",
        ),
    }
)
