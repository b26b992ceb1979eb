"""The names of shader files: the kernel, the tile, the arguments' types, the constants, the form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

#: Longer names are cut, and end with a part of the signature's hash.
_MAX_LENGTH = 120


def file_stem(kernel: str, signature: Mapping[str, Any], form: str) -> str:
    """The name of a kernel's shader file without its suffix: ``tile_average.16x16.float32_2d-float32_2d``.

    ``form`` is ``""`` for a tile of threads, else the name of the form, such as ``loops4``.
    """
    name = ".".join([_plain(kernel.replace("<locals>.", "")), *_parts(signature), *filter(None, [form])])
    if len(name) > _MAX_LENGTH:
        digest = hashlib.sha256(json.dumps([signature, form], sort_keys=True).encode()).hexdigest()[:8]
        name = f"{name[: _MAX_LENGTH - 9].rstrip('.-')}.{digest}"
    return name


def signature_text(signature: Mapping[str, Any]) -> str:
    """A signature for people: ``16x16 float32_2d-float32_2d``."""
    return " ".join(_parts(signature))


def _parts(signature: Mapping[str, Any]) -> list[str]:
    tile = signature["tile"]
    parts = ["x".join(map(str, tile)) if tile is not None else f"untiled{signature['rank']}d"]
    rows = [*signature["args"], *signature.get("captures", {}).values()]
    if "owner" in signature:
        rows.append(signature["owner"])
    if rows:
        parts.append("-".join(_token(row) for row in rows))
    storages = [row["storage"] for row in rows if "container" in row]
    if len(set(storages)) < len(storages):
        parts.append("sharing-" + "-".join(map(str, storages)))
    parts += [_plain(f"{name}={_shown(value)}") for name, value in signature.get("constants", {}).items()]
    if signature["precise"]:
        parts.append("precise")
    if "subgroup" in signature:
        parts.append(f"subgroup{signature['subgroup']}")
    return parts


def _shown(constant: Mapping[str, Any]) -> str:
    if "lambda" in constant or "captured" in constant:
        return _function(constant)
    if "object" in constant:
        return str(constant["object"]).rpartition(":")[2]
    if "tuple" in constant:
        return "_".join(map(_shown, constant["tuple"])) or "empty"
    return str(constant["element"] if "element" in constant else constant["value"])


def _token(row: Mapping[str, Any]) -> str:
    if "container" in row:
        trait = "" if row["dense"] else "_section" if row.get("unit") else "_strided"
        return f"{_element(row['container'])}_{row['rank']}d{trait}"
    if "scalar" in row:
        kind = row["scalar"] if row["scalar"] == "bool" else row["element"]
        return f"{_element(kind)}_in_memory"
    if "struct" in row:
        return _element(row["struct"])
    if "tuple" in row:
        return "_".join(_token(item) for item in row["tuple"]) or "empty"
    if "lambda" in row or "captured" in row:
        return _function(row)
    if "object" in row:
        return _plain(str(row["object"]).rpartition(":")[2].rpartition(".")[2])
    for kind in ("index", "extent"):
        if kind in row:
            return f"{kind}{row[kind]}"
    return str(row.get("number") or row.get("vector"))


def _function(row: Mapping[str, Any]) -> str:
    """A function of plain Python: lambdas, and those that capture something, have a part of the row's hash."""
    name = re.split(r"[:.]", str(row["object"]))[-1].strip("<>")
    digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:6]
    return f"{_plain(name)}_{digest}"


def _element(data: Any) -> str:
    if isinstance(data, str):
        return data
    if "array" in data:
        return _plain(_element(data["array"]) + "".join(f"x{size}" for size in data["shape"]))
    return _plain(str(data["name"]))


def _plain(text: str) -> str:
    """The text with only those characters that every file system allows in a name."""
    return re.sub(r"[^A-Za-z0-9_.=+-]", "_", text) or "_"
