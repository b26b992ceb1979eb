"""What is remembered of the containers that launches use again and again: where nothing has moved, nothing has to be
looked at.

Whoever launches looks at ``epoch.now`` first. Where :attr:`Use.is_current` holds for a use, its elements are on the
device and count as written there, as the launches before left them. If the number is another one after the launches are
enqueued, somebody has looked at or written a container meanwhile, and must be told that they were written again.
"""

from __future__ import annotations

from collections.abc import Sequence

from vkamp.lang.container import Container, Descriptor
from vkamp.lang.home import Home
from vkamp.run.accelerators import accelerator_view


class Use:
    """A container that is used: how, where it lay, and the state of its home after its last use."""

    __slots__ = ("descriptor", "home", "reads", "version", "writes")

    def __init__(self, *, reads: bool = False, writes: bool = False) -> None:
        self.reads = reads
        self.writes = writes
        self.descriptor: Descriptor | None = None
        self.home: Home | None = None
        self.version = -1

    @property
    def is_current(self) -> bool:
        """Whether nothing of the container's home has changed since its last use."""
        return self.home is not None and self.home.version == self.version


def acquire(view: accelerator_view, uses: Sequence[tuple[Use, Container]], why: str, *, apart: bool) -> bool:
    """Makes the containers current on ``view``, as ``Container._acquire`` does; whether all are still in the same
    memory."""
    stayed = True
    for use, container in uses:
        found = container._acquire(view, read=use.reads, write=use.writes, why=why, apart=apart)
        if found is not use.descriptor:
            use.descriptor = found
            stayed = False
    return stayed


def mark_written(view: accelerator_view, uses: Sequence[tuple[Use, Container]]) -> list[tuple[Use, Home, int]]:
    """Tells the containers of launches that are enqueued; the homes and their versions then."""
    if len(uses) == 1:
        return _tell_home(view, uses)
    by_home: dict[int, list[tuple[Use, Container]]] = {}
    for use, container in uses:
        by_home.setdefault(id(container._lease.home), []).append((use, container))
    return [row for group in by_home.values() for row in _tell_home(view, group)]


def _tell_home(view: accelerator_view, uses: Sequence[tuple[Use, Container]]) -> list[tuple[Use, Home, int]]:
    # One lock over all of a home, so that nobody's change comes between and is taken for the launches'.
    with uses[0][1]._lease as home:
        stayed = [container._written(view) for use, container in uses if use.writes]
        return [(use, home, home.version if all(stayed) else -1) for use, _ in uses]
