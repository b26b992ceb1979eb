"""Errors for names that a library lacks: they name what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import NoReturn


def refusal(
    package: str, names: Sequence[str], elsewhere: Mapping[str, str], of_numpy: ModuleType
) -> Callable[[str], NoReturn]:
    """A library's ``__getattr__``, which raises an AttributeError with the name to write instead.

    ``names``: the library's functions. ``elsewhere``: names of other systems, each with what to write. ``of_numpy``:
    the module of numpy that has the functions which the library lacks.
    """

    def refuse(name: str) -> NoReturn:
        message = f"module {package!r} has no attribute {name!r}"
        if name.startswith("__"):
            raise AttributeError(message)
        close = difflib.get_close_matches(name, names, 1, 0.8)
        if name in elsewhere:
            message += f": write {elsewhere[name]}"
        elif close:
            message += f": did you mean {close[0]!r}?"
        elif callable(getattr(of_numpy, name, None)):
            message += f": {of_numpy.__name__}.{name} accepts np.asarray(a)"
        raise AttributeError(message)

    return refuse
