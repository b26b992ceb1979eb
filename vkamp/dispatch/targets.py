"""Where a launch runs: AMP's rules for the accelerator_view of ``parallel_for_each``.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vkamp.errors import AmpError
from vkamp.lang.arrays import array
from vkamp.lang.container import Container
from vkamp.run.accelerators import accelerator_view, default_view


def target_view(view: accelerator_view | None, containers: Mapping[str, Container]) -> accelerator_view:
    """The explicit view, else that of the captured arrays, else the default (AMP's order)."""
    explicit = None if view is None or view.is_auto_selection else view
    chosen, of = explicit, "the launch"
    for name, container in containers.items():
        if not isinstance(container, array):
            continue
        home = container.accelerator_view
        if not isinstance(home, accelerator_view):
            raise AmpError(f"`{name}` is in memory that no accelerator runs kernels on")
        if chosen is None:
            chosen, of = home, f"`{name}`"
        elif chosen != home:
            raise AmpError(
                f"the array `{name}` is on {_places(home, chosen, of)}: copy it there, make it there, "
                f"`amp.array(..., accelerator_view=view)`, or use an array_view, which moves"
            )
    return chosen if chosen is not None else default_for(containers.values())


def _places(home: accelerator_view, other: accelerator_view, of: str) -> str:
    """Where two things are, by what their places do not share."""
    device, another = home.accelerator, other.accelerator
    if device == another:
        return f"one accelerator_view of {device.description}, and {of} is on another"
    if device.description != another.description:
        return f"{device.description}, and {of} is on {another.description}"
    return f"{device.description} by one engine, and {of} is on the same device by another"


def default_for(containers: Iterable[Container]) -> accelerator_view:
    """The default accelerator's default view, or another of its views that holds all captured array_views when the
    default view does not."""
    default = default_view()
    holding: list[Any] | None = None
    for container in containers:
        places = container._current_at()
        holding = places if holding is None else [place for place in holding if place in places]
    if not holding or default in holding:
        return default
    same = (p for p in holding if isinstance(p, accelerator_view) and p.accelerator == default.accelerator)
    return next(same, default)
