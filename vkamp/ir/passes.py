"""How the compiler runs its passes, and what happens when one fails for a reason that is not the program's.

A pass that the program can do without is left out then, with a warning; any other failure is an
:class:`InternalCompilerError` with the kernel, the pass and a way round.  ``VKAMP_PASSES_OFF`` names passes to leave
out from the start.
"""

from __future__ import annotations

import contextlib
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from vkamp.errors import AmpError, InternalCompilerError, InternalCompilerWarning, Span, diagnostic

if TYPE_CHECKING:
    from vkamp.ir.nodes import Kernel

_T = TypeVar("_T")

#: The passes that a launch can do without, and what they do.
OPTIONAL = {
    "races": "proofs that a kernel has no races, for check mode and for warnings",
    "loops": "the threads of a tile as loops, for CPU devices",
    "results": "results of calls in expressions, without temporaries",
    "quotients": "quotients and remainders of sums, without multiples of the divisor",
    "pieces": "neighbouring elements of plain kernels in one access",
    "elements": "scalars in memory that are read once, before loops and functions that use them",
}
#: All passes, and what helps where one fails.
_PRINTED = (
    "VKAMP_PASSES_OFF=all compiles it without optimizations, VKAMP_ACCELERATOR=reference runs it without a shader"
)
_FRONT = "write that line in another way"
PASSES = {
    "front end": _FRONT,
    "verifier": "unset VKAMP_VERIFY",
    "unroller": _FRONT,
    "facts": _FRONT,
    "uniformity": "write the conditions around its barriers in another way",
    "certain races": "write its stores to shared memory in another way",
    "check mode": "launch it without VKAMP_CHECK, or on the reference accelerator (VKAMP_ACCELERATOR=reference)",
    "places": _PRINTED,
    "printer": _PRINTED,
    "glslang": _PRINTED,
    "reference accelerator": "run it on another accelerator",
    **{name: f"VKAMP_PASSES_OFF={name} leaves the pass out" for name in OPTIONAL},
}

#: Whether every optional pass is left out, and the failures so far of the compilation that goes on.
_bare: ContextVar[bool] = ContextVar("_bare", default=False)
_failures: ContextVar[tuple[list[InternalCompilerError], ...]] = ContextVar("_failures", default=())


def switched_off() -> frozenset[str]:
    """The optional passes that are left out; AmpError where ``VKAMP_PASSES_OFF`` names one that there is not."""
    names = frozenset(name.strip() for name in os.environ.get("VKAMP_PASSES_OFF", "").split(",")) - {""}
    unknown = names - {*OPTIONAL, "all"}
    if unknown:
        raise AmpError(f"VKAMP_PASSES_OFF names {min(unknown)!r}; it can name {', '.join(OPTIONAL)}, or all")
    return frozenset(OPTIONAL) if "all" in names or _bare.get() else names


@contextlib.contextmanager
def without_optional() -> Iterator[None]:
    """Leaves every optional pass out."""
    before = _bare.set(True)
    try:
        yield
    finally:
        _bare.reset(before)


@contextlib.contextmanager
def recorded() -> Iterator[list[InternalCompilerError]]:
    """The failures of optional passes while it lasts."""
    found: list[InternalCompilerError] = []
    before = _failures.set((*_failures.get(), found))
    try:
        yield found
    finally:
        _failures.reset(before)


def required(
    name: str,
    kernel: str,
    span: Span | None,
    run: Callable[[], _T],
    *,
    where: Callable[[Exception], Span | None] = lambda _: None,
) -> _T:
    """The result of a pass over a kernel; InternalCompilerError for what it fails with, but vkamp's own errors.

    ``where``: the place in the kernel that a failure was at.
    """
    try:
        return _run(name, kernel, span, run, where)
    except InternalCompilerError as error:
        if isinstance(error.__cause__, RecursionError) and span is not None:
            raise diagnostic("VKA118", span) from None
        raise


def is_verifying() -> bool:
    """Whether the environment variable ``VKAMP_VERIFY`` asks for vkamp's checks of itself."""
    return bool(os.environ.get("VKAMP_VERIFY"))


def verify_if_asked(kernel: Kernel, level: str = "source", before: Kernel | None = None) -> None:
    """Verifies the IR of a level if the environment variable ``VKAMP_VERIFY`` is set.

    ``before``: the kernel before the pass. Functions that the pass kept are not verified again.
    """
    if is_verifying():
        # Imported here: it is for vkamp's own tests.
        from vkamp.ir.reverification import verify_changes

        required("verifier", kernel.name, kernel.span, lambda: verify_changes(kernel, before, level))


def _run(
    name: str,
    kernel: str,
    span: Span | None,
    run: Callable[[], _T],
    where: Callable[[Exception], Span | None] = lambda _: None,
) -> _T:
    try:
        return run()
    except (AmpError, Warning, MemoryError):
        raise
    except Exception as error:
        raise failure(name, kernel, where(error) or span, error) from error


def optional(name: str, kernel: Kernel, run: Callable[[], _T], otherwise: Callable[[], _T]) -> _T:
    """The result of a pass that the kernel can do without: ``otherwise``, with a warning, where it fails."""
    if name in switched_off():
        return otherwise()
    try:
        return _run(name, kernel.name, kernel.span, run)
    except InternalCompilerError as error:
        warn(error)
        return otherwise()


def warn(error: InternalCompilerError) -> None:
    """Warns of a failure without which the compiler goes on."""
    for found in _failures.get():
        found.append(error)
    span = error.span
    text = (
        f"{_what(error.compiler_pass, error.kernel, span, error.__cause__)}. The kernel is compiled without that pass: "
        f"its results are the same, it may be slower. {_REPORT}; {_way(error.compiler_pass)}, and the warning with it."
    )
    file, line = ("<vkamp>", 0) if span is None else (span.file, span.line)
    warnings.warn_explicit(text, InternalCompilerWarning, file, line)


def failure(name: str, kernel: str, span: Span | None, cause: BaseException) -> InternalCompilerError:
    """The error for a pass that failed with ``cause``."""
    text = f"{_what(name, kernel, span, cause)}. {_REPORT}. Until it is fixed: {PASSES[name]}."
    return InternalCompilerError(text, compiler_pass=name, kernel=kernel, span=span)


_REPORT = "This is a fault of vkamp, not of the kernel: please report it, with the kernel and this message"


def _way(name: str) -> str:
    return PASSES[name] if name in OPTIONAL else "VKAMP_PASSES_OFF=all leaves all optional passes out"


def _what(name: str, kernel: str, span: Span | None, cause: BaseException | None) -> str:
    """Which pass failed on what, with what, and where in vkamp."""
    at = f" ({span.file}:{span.line})" if span is not None else ""
    said = "".join(traceback.format_exception_only(type(cause), cause)).strip() if cause is not None else ""
    frames = traceback.extract_tb(cause.__traceback__) if cause is not None else []
    inside = f" [{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}]" if frames else ""
    return f"vkamp's pass {name!r} failed on the kernel {kernel}{at}: {said}{inside}"
