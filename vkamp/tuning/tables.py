"""The tables that come with vkamp: parameters for kinds of devices, each with the run that found them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from vkamp.errors import AmpError
from vkamp.run.engine import DeviceInfo

FOLDER = Path(__file__).parent / "tables"

#: Parts of the names of devices, and their tables, from the specific to the general.
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"swiftshader", ("swiftshader",)),
    # With vectors of other widths, its subgroups have other sizes, and other parameters are right.
    (r"llvmpipe.*\b256 bits", ("lavapipe",)),
    (r"nvidia.*\b(H100|H200|H800|H20|GH200)\b", ("nvidia-hopper", "nvidia")),
    (r"nvidia.*(\bRTX 40\d\d|\bL40S?\b|\bL4\b|Ada Generation)", ("nvidia-ada", "nvidia")),
    (r"nvidia", ("nvidia",)),
    (r"radeon.*RX 7\d\d\d", ("amd-rdna3", "amd")),
    (r"amd|radeon", ("amd",)),
    (r"intel", ("intel",)),
    (r"apple", ("apple",)),
)


def names_of(info: DeviceInfo | None) -> tuple[str, ...]:
    """The tables for a device, in the order in which they are searched: its family, its vendor, ``default``."""
    name = "" if info is None else info.name
    for pattern, tables in _FAMILIES:
        if re.search(pattern, name, re.IGNORECASE):
            return (*tables, "default")
    return ("default",)


@lru_cache(maxsize=32)
def table(name: str, folder: Path = FOLDER) -> dict[tuple[str, str], dict[str, Any]]:
    """The entries of a table by function and key; empty if there is no such table.

    AmpError for a file that is not a table.
    """
    path = folder / f"{name}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {(each["function"], json.dumps(each["key"])): each for each in found["entries"]}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise AmpError(f"{path} is not a table of tuned parameters: {error!r}") from error


def find(info: DeviceInfo | None, function: str, key: str, folder: Path = FOLDER) -> tuple[str, dict[str, Any]] | None:
    """The first entry for a function and a key, with the file that contains it."""
    for name in names_of(info):
        entry = table(name, folder).get((function, key))
        if entry is not None:
            return str(folder / f"{name}.json"), entry
    return None
