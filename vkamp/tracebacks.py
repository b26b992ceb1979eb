"""Tracebacks that end at the user's line: every entry point of the package drops vkamp's own frames from its errors.

With ``VKAMP_TRACEBACK=1`` the frames stay, for people who work on vkamp.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from vkamp.errors import AmpError

_T = TypeVar("_T")
_P = ParamSpec("_P")
_F = TypeVar("_F", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
#: Modules whose frames come between two frames of the package.
_BETWEEN = ("contextlib", "functools")
_RAISE = dis.opmap["RAISE_VARARGS"]
#: The code of functions that do nothing but call a function of the user's.
_FORWARDING: set[CodeType] = set()
#: Set on an error that an entry point has already trimmed.
_TRIMMED = "_vkamp_trimmed"
#: Methods that raise no errors themselves, or that Python calls at times when they cannot be wrapped.
_UNTOUCHED = frozenset(
    ("__class_getitem__", "__del__", "__getattribute__", "__hash__", "__init_subclass__", "__repr__", "__str__")
)


def entry_point(target: _T) -> _T:
    """Decorates a function or class that users call: vkamp's frames are removed from the tracebacks of errors that
    vkamp raises.

    Of a class these are its public methods and properties and its operators.  A failure that vkamp did not raise
    deliberately keeps its frames: it is a bug, and they show where.
    """
    if isinstance(target, type):
        for name, member in list(vars(target).items()):
            if name not in _UNTOUCHED and (not name.startswith("_") or name.startswith("__")):
                wrapped = _member(member)
                if wrapped is not member:
                    setattr(target, name, wrapped)
        return target
    return _trimming(target)  # type: ignore[arg-type, return-value]


def _member(member: Any) -> Any:
    if isinstance(member, FunctionType):
        return _trimming(member)
    if isinstance(member, (staticmethod, classmethod)):
        return type(member)(_trimming(member.__func__))
    if type(member) is property:
        getter, setter, deleter = (f and _trimming(f) for f in (member.fget, member.fset, member.fdel))
        return property(getter, setter, deleter, member.__doc__)
    return member


def _trimming(function: Callable[_P, _T]) -> Callable[_P, _T]:
    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        __tracebackhide__ = True  # Python 3.10 keeps this frame; pytest hides it.
        try:
            return function(*args, **kwargs)
        except Exception as error:
            leave(error, sys._getframe(1))
            # A bare `raise` takes the traceback from the error, and adds no frame to it (Python 3.11 and later).
            raise

    return mark(call)


def leave(error: Exception, caller: FrameType) -> None:
    """Removes vkamp's frames from the traceback of an error that leaves an entry point.

    An entry point that vkamp itself calls leaves the error as it is, for the outermost one.
    """
    if not _is_own(caller):
        _trim(error)


def mark(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Marks a function that calls :func:`leave` itself as an entry point."""
    function.__vkamp_entry_point__ = True  # type: ignore[attr-defined]
    return function


def contextmanager(function: Callable[_P, Iterator[_T]]) -> Callable[_P, contextlib.AbstractContextManager[_T]]:
    """Like ``contextlib.contextmanager``, for entry points."""
    made = contextlib.contextmanager(function)

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _Managed:
        return _Managed(functools.partial(made, *args, **kwargs))

    return entry_point(call)


@entry_point
class _Managed(contextlib.ContextDecorator, contextlib.AbstractContextManager[Any]):
    """A context manager that makes a new generator each time it is entered."""

    def __init__(self, make: Callable[[], contextlib.AbstractContextManager[Any]]) -> None:
        self._make = make
        self._entered: list[contextlib.AbstractContextManager[Any]] = []

    def __enter__(self) -> Any:
        manager = self._make()
        value = manager.__enter__()
        self._entered.append(manager)
        return value

    def __exit__(self, *exception: Any) -> bool | None:
        return self._entered.pop().__exit__(*exception)


def forwards(function: _F) -> _F:
    """Decorates a function that only calls one of the user's: where that call fails, the arguments do not fit it."""
    _FORWARDING.add(function.__code__)
    return function


def user_frame() -> FrameType:
    """The frame of the innermost caller outside the package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (_is_own(frame) or frame.f_globals.get("__name__") in _BETWEEN):
        frame = frame.f_back
    return frame


# -- trimming ------------------------------------------------------------------------------------------------------


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE


def _trim(error: Exception) -> None:
    """Drops vkamp's frames from an error that is the program's, and from the errors that it chains."""
    trace = error.__traceback__
    if trace is None or os.environ.get("VKAMP_TRACEBACK") == "1" or not _is_deliberate(error, trace):
        return
    setattr(error, _TRIMMED, True)
    kept = _without_own(trace.tb_next)
    trace.tb_next = kept  # Python 3.10 re-raises with the traceback object at hand.
    error.__traceback__ = kept
    if error.__cause__ is not None:
        if not getattr(error, "keeps_cause", False):
            error.__cause__.__traceback__ = _without_own(error.__cause__.__traceback__)
        return
    # What vkamp caught on the way is not the user's; an exception that the user was handling is.
    context = error.__context__
    while context is not None and context.__traceback__ is not None and _is_own(context.__traceback__.tb_frame):
        hides_its_own, context = context.__suppress_context__, context.__context__
        while hides_its_own and context is not None and _is_of_library(context.__traceback__):
            context = context.__context__
    error.__context__ = context


@functools.cache
def library_folders() -> tuple[str, ...]:
    """The folders of code that belongs neither to the package nor to the user."""
    import sysconfig  # It takes 6 ms, and only errors need it.

    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def _is_of_library(trace: TracebackType | None) -> bool:
    """Whether a library caught an error, as its traceback shows."""
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith(library_folders())


def _is_deliberate(error: Exception, trace: TracebackType) -> bool:
    """Whether a ``raise`` statement of vkamp's raised it or the user's own code did, not a call that failed."""
    if isinstance(error, (AmpError, Warning)) or hasattr(error, _TRIMMED):
        return True
    if trace.tb_next is None:
        return True  # The arguments do not fit the entry point's parameters: it never began.
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if _is_own(trace.tb_frame):
        return code in _FORWARDING or code.co_code[trace.tb_lasti] == _RAISE
    return not code.co_filename.startswith((*library_folders(), "<frozen"))


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    """The frames of the user's that a traceback has."""
    frames: list[TracebackType] = []
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__")
        if not _is_own(trace.tb_frame) and name not in _BETWEEN:
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for each in reversed(frames):
        kept = TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return kept
