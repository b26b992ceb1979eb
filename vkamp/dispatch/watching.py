"""What the host did to memory behind the views of a launch: loaded for check mode and the reference accelerator.

C++ AMP's model: docs/conformance.md, section 7 (the owner of the memory synchronises and refreshes).
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING

from vkamp.errors import Span
from vkamp.findings import Finding, error_of, stale
from vkamp.lang.container import Container
from vkamp.lang.watching import Changed, changed_behind, watch
from vkamp.tracebacks import user_frame

if TYPE_CHECKING:
    from vkamp.dispatch.launch import Prepared

__all__ = ["look", "refuse_stale", "stale_views"]


def refuse_stale(prepared: Prepared) -> None:
    """Raises CheckError for the views whose memory the host changed without telling so."""
    found = stale_views(prepared)
    if found:
        raise error_of(found)


def stale_views(prepared: Prepared) -> tuple[Finding, ...]:
    """A finding for each view of a launch whose memory the host changed without telling so."""
    found = []
    for name, container in prepared.arguments.containers.items():
        changed = changed_behind(container) if name in prepared.compiled.access else None
        if changed is not None:
            found.append(_finding(prepared, name, container, changed))
    return tuple(found)


def look(prepared: Prepared, *, warns_at_end: bool) -> None:
    """Keeps what the host's memory holds after a launch."""
    for name, container in prepared.arguments.containers.items():
        use = prepared.compiled.access.get(name)
        if warns_at_end and use is not None and use.changes:
            frame = user_frame()
            watch(container, _variable(frame, container) or name, (frame.f_code.co_filename, frame.f_lineno))
        else:
            watch(container)


def _finding(prepared: Prepared, name: str, container: Container, changed: Changed) -> Finding:
    frame = user_frame()
    variable = _variable(frame, container)
    device = prepared.view.accelerator.description
    return stale(name, variable, changed.index, changed.before, changed.now, changed.device, device, _span(frame))


def _variable(frame: FrameType, container: Container) -> str:
    """The name that the program has for a container where it launches; ``""`` if it has none."""
    for scope in (frame.f_locals, frame.f_globals):
        for name, value in scope.items():
            if value is container and not name.startswith("_"):
                return name
    return ""


def _span(frame: FrameType) -> Span:
    """The line that launches."""
    import linecache

    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip()
    indent = len(text) - len(text.lstrip())
    return Span(file, line, indent, line, max(len(text.encode()), indent + 1), frame.f_code.co_name)
