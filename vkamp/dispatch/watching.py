"""What the host did to memory behind the views of a launch: loaded for check mode and the reference accelerator.

C++ AMP's model: docs/conformance.md, section 7 (the owner of the memory synchronises and refreshes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FrameType
from typing import TYPE_CHECKING

from vkamp.errors import Span
from vkamp.findings import Finding, error_of, stale
from vkamp.lang.container import Container
from vkamp.lang.watching import changed_behind, watch
from vkamp.tracebacks import user_frame

if TYPE_CHECKING:
    from vkamp.dispatch.launch import Prepared
    from vkamp.run.accelerators import accelerator_view


def used_views(prepared: Prepared) -> dict[str, Container]:
    """The containers that a launch uses, by their parameters' names."""
    return {n: each for n, each in prepared.arguments.containers.items() if n in prepared.compiled.access}


def refuse_stale(view: accelerator_view, containers: Mapping[str, Container]) -> None:
    """Raises CheckError for the views of a launch whose memory the host changed without telling so."""
    found = stale_views(view, containers)
    if found:
        raise error_of(found)


def stale_views(view: accelerator_view, containers: Mapping[str, Container]) -> tuple[Finding, ...]:
    """A finding for each view of a launch whose memory the host changed without telling so."""
    found = []
    for name, container in containers.items():
        changed = changed_behind(container)
        if changed is not None:
            frame = user_frame()
            device = view.accelerator.description
            values = changed.before, changed.now, changed.device
            found.append(stale(name, _variable(frame, container), changed.index, *values, device, _span(frame)))
    return tuple(found)


def look(containers: Iterable[Container]) -> None:
    """Keeps what the host's memory holds after a launch."""
    for container in containers:
        watch(container)


def look_until_the_end(prepared: Prepared) -> None:
    """As :func:`look`; the end of the program warns of what has not come home."""
    for name, container in used_views(prepared).items():
        if prepared.compiled.access[name].changes:
            frame = user_frame()
            watch(container, _variable(frame, container) or name, (frame.f_code.co_filename, frame.f_lineno))
        else:
            watch(container)


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
