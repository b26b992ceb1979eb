"""Signatures as written on a command line: ``float32[:,:], int32``, ``16x16``, ``radius=3``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.front.parameters import parameters_of
from vkamp.ir.types import BOOL, NUMBERS, SCALARS, UINT8, VECTORS, promoted
from vkamp.lang.kernel import KernelFunction

_CONTAINER = re.compile(r"(\w+)\[([^\]]*)\](?::(\w+))?")
_INDEX = re.compile(r"(index|extent)\((\d)\)")
_SCALAR = re.compile(r"device_scalar\((\w+)\)")
_HELP = "write float32[:,:] for a container, float32[64,64] for one with its size, int32 or float3 for a value"


@dataclass(frozen=True)
class Argument:
    """An argument's type: a row of ``front.describe_request``, and its sizes if given."""

    row: dict[str, Any]
    sizes: tuple[int, ...] | None = None


def parse_arguments(text: str) -> list[Argument]:
    """The types in ``float32[:,:], int32``; click's error for invalid types."""
    out: list[Argument] = []
    for part in _split(text):
        out.append(_argument(part, sum("storage" in each.row for each in out)))
    return out


def name_missing_types(kernel: KernelFunction, arguments: list[Argument]) -> None:
    """AmpError that lists the kernel's parameters unless there is one type for each."""
    names = parameters_of(kernel.function).names(len(arguments))
    if len(names) != len(arguments):
        example = ", ".join(["float32[:,:]"] * len(names))
        takes = f'{", ".join(names)}: give a type for each, as in --args "{example}"' if names else "no arguments"
        raise AmpError(f"{kernel.__name__} takes {takes}")


def _split(text: str) -> list[str]:
    parts = re.split(r",(?![^\[(]*[\])])", text)
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str, storage: int) -> Argument:
    found = _CONTAINER.fullmatch(text)
    if found is not None:
        element, sizes, trait = found.groups()
        if element not in VECTORS and element not in NUMBERS:
            raise click.BadParameter(f"{element} is not an element type; {_HELP}")
        if trait not in (None, "strided", "section"):
            raise click.BadParameter(f"{text!r}: only `strided` and `section` can follow the colon")
        parts = [part.strip() for part in sizes.split(",")]
        row = {"container": element, "rank": len(parts), "dense": trait is None, "storage": storage}
        if trait == "section":
            if len(parts) > 1:
                raise click.BadParameter(f"{text!r}: `section` is for one dimension; write `strided`")
            row["unit"] = True
        if all(part == ":" for part in parts):
            return Argument(row)
        if not all(part.isdigit() and int(part) > 0 for part in parts):
            raise click.BadParameter(f"{text!r}: each size is a colon or a number of at least 1")
        return Argument(row, tuple(map(int, parts)))
    index = _INDEX.fullmatch(text)
    if index is not None:
        return Argument({index[1]: int(index[2])})
    scalar = _SCALAR.fullmatch(text)
    if scalar is not None and (scalar[1] in NUMBERS or scalar[1] == BOOL.name):
        element = UINT8 if scalar[1] == BOOL.name else NUMBERS[scalar[1]]
        value = BOOL if scalar[1] == BOOL.name else promoted(element)
        return Argument({"scalar": value.name, "element": element.name, "storage": storage})
    if text in VECTORS:
        return Argument({"vector": text})
    if text in SCALARS:
        return Argument({"number": text})
    raise click.BadParameter(f"{text!r} is not a type; {_HELP}")


def parse_sizes(text: str) -> tuple[int, ...]:
    """The numbers in ``16x16`` or ``16,16``."""
    parts = [part.strip() for part in re.split(r"[x,]", text)]
    if not all(part.isdigit() for part in parts) or "0" in parts:
        raise click.BadParameter(f"{text!r} is not a size: write 256, 16x16 or 4x8x8")
    return tuple(map(int, parts))


def constants_of(texts: tuple[str, ...]) -> dict[str, Any]:
    """The constants of ``--set NAME=VALUE``: numbers, or names of element types."""
    out: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{text!r}: write NAME=VALUE")
        try:
            out[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found = getattr(amp, value, None)
            if not isinstance(found, (type, np.dtype)):
                raise click.BadParameter(f"{value!r} is neither a number nor an element type") from None
            out[name] = found
        if isinstance(out[name], (str, bytes, tuple, list, dict, set)) or out[name] is None:
            raise click.BadParameter(f"{value!r} is not a number")
    return out


def signature_of(
    arguments: list[Argument], tile: tuple[int, ...] | None, rank: int | None, precise: bool, constants: dict[str, Any]
) -> dict[str, Any]:
    """The result of ``front.describe_request`` for a launch with these types."""
    if tile is not None:
        rank = len(tile)
    elif rank is None:
        rank = next((each.row["rank"] for each in arguments if "container" in each.row), 1)
    out: dict[str, Any] = {
        "rank": rank,
        "tile": None if tile is None else list(tile),
        "precise": precise,
        "args": [each.row for each in arguments],
    }
    if constants:
        out["constants"] = {name: _constant(value) for name, value in constants.items()}
    return out


def _constant(value: Any) -> dict[str, Any]:
    if isinstance(value, (bool, int, float)):
        return {"value": value}
    if isinstance(value, np.dtype):
        return {"element": value.name}
    return {"object": f"{value.__module__}:{value.__qualname__}"}
