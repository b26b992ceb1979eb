"""Detects changes of the host to memory that the views of a launch use; loaded for check mode and the reference
accelerator.

C++ AMP's model: docs/conformance.md, section 7 (the owner of the memory synchronises and refreshes).
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Sequence
from types import FrameType

from vkamp.dispatch.preparing import PreparedLaunch
from vkamp.errors import Span
from vkamp.findings import Finding, error_of, stale
from vkamp.lang.container import Container
from vkamp.lang.watching import changed_behind, watch
from vkamp.tracebacks import user_frame


def _used_views(prepared: PreparedLaunch) -> dict[str, Container]:
    """The containers that a launch uses, by their parameters' names."""
    return {n: each for n, each in prepared.arguments.containers.items() if n in prepared.compiled.access}


def stale_views(prepared: PreparedLaunch) -> tuple[Finding, ...]:
    """A finding for each view of a launch whose memory the host changed without telling so."""
    found = []
    for name, container in _used_views(prepared).items():
        changed = changed_behind(container)
        if changed is not None:
            frame = user_frame()
            device = prepared.view.accelerator.description
            values = changed.before, changed.now, changed.device
            found.append(stale(name, _variable(frame, container), changed.index, *values, device, _span(frame)))
    return tuple(found)


def refuse_stale(launches: Sequence[PreparedLaunch]) -> None:
    """Raises CheckError for the views of launches whose memory the host changed without telling so."""
    for each in launches:
        found = stale_views(each)
        if found:
            raise error_of(found)


def look(launches: Sequence[PreparedLaunch]) -> None:
    """Keeps what the host's memory holds after launches."""
    for each in launches:
        for container in _used_views(each).values():
            watch(container)


def look_until_the_end(prepared: PreparedLaunch) -> None:
    """Keeps what the host's memory holds after a launch; at its end the program warns of results never synchronized."""
    for name, container in _used_views(prepared).items():
        if prepared.compiled.access[name].changes:
            frame = user_frame()
            known = _variable(frame, container) if _keeps_no_values(frame) else ""
            watch(container, known or name, (frame.f_code.co_filename, frame.f_lineno))
        else:
            watch(container)


def _keeps_no_values(frame: FrameType) -> bool:
    """Whether reading a frame's variables keeps none of them alive.

    Before Python 3.13 a function's ``f_locals`` is a copy, and lives as long as the frame: ``del view`` would not copy
    its elements back.
    """
    return sys.version_info >= (3, 13) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def _variable(frame: FrameType, container: Container) -> str:
    """The name that the program has for a container where it launches; ``""`` if it has none."""
    for scope in (frame.f_locals, frame.f_globals):
        for name, value in scope.items():
            if value is container and not name.startswith("_"):
                return name
    return ""


def _span(frame: FrameType) -> Span:
    """The line that launches."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip()
    indent = len(text) - len(text.lstrip())
    return Span(file, line, indent, line, max(len(text.encode()), indent + 1), frame.f_code.co_name)
