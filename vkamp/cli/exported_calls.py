"""``vkamp shaders export MODULE:FUNCTION``: the shaders of the kernels that a call of a function launches."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.cli.kernels import find_value
from vkamp.cli.signatures import Argument, constants_of, parse_arguments
from vkamp.dispatch import override_files
from vkamp.errors import AmpError

#: Sizes for the colons of ``float32[:]``, by rank: enough for all launches of an algorithm.
_SIZES = {1: (4099,), 2: (67, 67), 3: (17, 17, 17)}


def export_call(
    folder: Path, function: FunctionType, types: str, keywords: tuple[str, ...], root: Path
) -> dict[str, str]:
    """Calls a function with zeros of the types and with keywords; what was written, as ``override_files.exported``.

    A keyword is ``NAME=VALUE``, whose value may be ``MODULE:NAME``. AmpError for what the function raises.
    """
    arguments = [_zeros(each) for each in parse_arguments(types)]
    named = dict(text.split("=", 1) for text in keywords if ":" in text.partition("=")[2])
    options = {name: find_value(text, root) for name, text in named.items()}
    options |= constants_of(tuple(text for text in keywords if text.partition("=")[0] not in named))
    override_files.export_launches(folder.absolute())
    try:
        function(*arguments, **options)
        found = override_files.exported()
    except (TypeError, ValueError) as error:
        raise AmpError(f"{function.__name__} cannot be called with these arguments: {error}") from error
    finally:
        override_files.export_launches(None)
    if not found:
        raise AmpError(f"{function.__name__} launched no kernel")
    return found


def _zeros(argument: Argument) -> Any:
    """A container of zeros, or the number 1."""
    row = argument.row
    if "container" in row:
        sizes = argument.sizes or _SIZES.get(row["rank"])
        if sizes is None:
            raise AmpError(f"give the sizes of a container of rank {row['rank']}")
        if row["dense"]:
            return amp.array(amp.extent(*sizes), getattr(amp, row["container"]))
        if row.get("unit"):
            return amp.array_view(amp.array(amp.extent(sizes[0] + 1), getattr(amp, row["container"])))[1:]
        wide = amp.array(amp.extent(*sizes[:-1], sizes[-1] * 2), getattr(amp, row["container"]))
        every_second = (*(slice(None) for _ in sizes[:-1]), slice(None, None, 2))
        return amp.array_view(wide)[every_second]
    if "number" in row:
        return np.dtype(getattr(amp, row["number"])).type(1)
    raise AmpError("the arguments of a function are containers and numbers: write float32[:] or int32")
