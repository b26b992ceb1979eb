"""Lowering a part of a function a second time, in another way."""

from __future__ import annotations

import dataclasses
from typing import Any

from vkamp.front.context import Context

#: What a first attempt finds out for the second.
_KEPT = {"constants_needed", "copied_loops"}


class Attempt:
    """The state of a function and its kernel before a part of the function is lowered."""

    def __init__(self, ctx: Context) -> None:
        self._fields = [
            (owner, each.name, value, _copy(value))
            for owner in (ctx, ctx.module)
            for each in dataclasses.fields(owner)
            if each.name not in _KEPT
            for value in [getattr(owner, each.name)]
        ]

    def undo(self) -> None:
        """Restores the state. Whoever holds a list, a dict or a set of it has its contents of before."""
        for owner, name, value, contents in self._fields:
            if isinstance(value, list):
                value[:] = contents
            elif isinstance(value, (dict, set)):
                value.clear()
                value.update(contents)
            setattr(owner, name, value)


def _copy(value: Any) -> Any:
    """The contents of a container, with those of the lists in a dict."""
    if isinstance(value, dict):
        return {key: list(each) if isinstance(each, list) else each for key, each in value.items()}
    return value.copy() if isinstance(value, (list, set)) else value
