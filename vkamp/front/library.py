"""Functions of programs that the libraries of this package call: an error in such a call is the program's."""

from __future__ import annotations

import sys
from types import FrameType

#: The libraries, whose public functions take functions.
_LIBRARIES = ("vkamp.algorithms", "vkamp.tile")


def library_caller() -> str:
    """The function of a library that the program has called, by its public name; ``""`` outside of the libraries."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        library = next((each for each in _LIBRARIES if module == each or module.startswith(f"{each}.")), None)
        if library is not None and not frame.f_code.co_name.startswith("_"):
            name = f"{library}.{frame.f_code.co_name}"
        frame = frame.f_back
    return name
