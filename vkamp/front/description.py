"""What a kernel is compiled for, as plain data that a file can keep, and the request made from it again."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from vkamp.errors import AmpError
from vkamp.front.operators import operator_type, plain_of
from vkamp.front.parameters import parameters_of
from vkamp.front.signature import (
    ARG_TYPES,
    ArgType,
    BufferType,
    ConstantType,
    ElementType,
    FunctorType,
    HostType,
    IndexType,
    MethodType,
    ObjectType,
    OperatorType,
    Request,
    ScalarType,
    StructType,
    TupleType,
    VectorType,
    is_number,
)
from vkamp.front.source import source_of
from vkamp.ir.types import BOOL, NUMBERS, SCALARS, SMALL, VECTORS, Array, Field, Scalar, Struct, Type, Vector


def describe_request(request: Request, captured: Mapping[str, Any]) -> dict[str, Any]:
    """The signature that a kernel is compiled for: equal data, equal specialisation.

    ``captured``: the captured numbers that the compiler took as constants.  Names of parameters are no part of it, so
    that renaming one changes the shader but not which shader it is.
    """
    out: dict[str, Any] = {
        "rank": request.rank,
        "tile": None if request.tile is None else list(request.tile),
        "precise": request.precise,
        "args": [_row(kind) for _, kind in request.args],
    }
    if request.subgroup is not None:
        out["subgroup"] = request.subgroup
    if request.captures:
        out["captures"] = {name: _row(kind) for name, kind in sorted(request.captures)}
    if request.owner is not None:
        out["owner"] = _row(request.owner)
    constants = {name: _constant(value) for name, value in (*request.constants, *sorted(captured.items()))}
    if constants:
        out["constants"] = constants
    return out


def _constant(value: Any) -> dict[str, Any]:
    if isinstance(value, ARG_TYPES):
        return _row(value)
    if isinstance(value, np.generic):
        return {"value": value.item(), "dtype": value.dtype.name}
    if isinstance(value, (bool, int, float)):
        return {"value": value if value == value else "nan"}
    if isinstance(value, np.dtype) and value.names is None:
        return {"element": value.name}
    return {"object": _path(value)}


def _operator(kind: OperatorType) -> dict[str, Any]:
    """A function of plain Python: the text of a lambda distinguishes it from others."""
    source = source_of(kind.function)
    row: dict[str, Any] = {"object": _path(kind.function)}
    if source.is_lambda:
        (body,) = source.node.body
        row["lambda"] = f"{ast.unparse(source.node.args)}: {ast.unparse(body).removeprefix('return ')}"
    if kind.bound:
        row["bound"] = kind.bound
    if kind.members:
        row["captured"] = {name: _row(member) for name, member in kind.members}
    return row


def _path(value: Any) -> str:
    return f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', None) or repr(value)}"


def _row(kind: ArgType) -> dict[str, Any]:
    """One argument; what cannot be made again is an ``object``."""
    if isinstance(kind, BufferType):
        # Whether the launch may write it changes nothing in the shader.
        traits = {"rank": kind.rank, "dense": kind.dense, **({"unit": True} if kind.unit else {})}
        traits["storage"] = kind.storage
        return {"container": _element(kind.element), **traits}
    if isinstance(kind, ElementType):
        return {"scalar": _element(kind.type), "element": _element(kind.element), "storage": kind.storage}
    if isinstance(kind, ScalarType):
        return {"number": kind.type.name, **({"weak": True} if kind.weak else {})}
    if isinstance(kind, IndexType):
        return {kind.kind: kind.rank}
    if isinstance(kind, VectorType):
        return {"vector": kind.type.name}
    if isinstance(kind, StructType):
        return {"struct": _element(kind.type)}
    if isinstance(kind, ConstantType):
        return _constant(kind.value)
    if isinstance(kind, TupleType):
        names = {"names": list(kind.names)} if kind.names else {}
        return {"tuple": [_row(item) for item in kind.items], **names}
    if isinstance(kind, OperatorType):
        return _operator(kind)
    if isinstance(kind, FunctorType):
        return {"object": _path(kind.cls), "members": {name: _row(member) for name, member in kind.members}}
    if isinstance(kind, MethodType):
        return {"object": _path(kind.function.value), "owner": _row(kind.owner)}
    if isinstance(kind, HostType):
        return {"object": kind.what}
    assert isinstance(kind, ObjectType)
    return {"object": _path(kind.value)}


def _element(kind: Type) -> Any:
    if isinstance(kind, (Scalar, Vector)):
        return kind.name
    if isinstance(kind, Array):
        return {"array": _element(kind.element), "shape": list(kind.shape)}
    fields = [[field.name, _element(field.type), field.offset] for field in kind.fields]
    return {"name": kind.name, "size": kind.size, "fields": fields, **({"class": _path(kind.cls)} if kind.cls else {})}


# -- and back ----------------------------------------------------------------------------------------------------


def request_of(function: FunctionType, signature: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
    """The request that a description is of, and the captured constants.

    AmpError if it cannot be made without the program's own objects, or if the kernel's parameters are others now.
    """
    if "owner" in signature:
        raise AmpError("it is a method, which is compiled with its object")
    parameters = parameters_of(function)
    rows = signature["args"]
    names = parameters.names(len(rows))
    if len(names) != len(rows):
        raise AmpError(f"the kernel takes {len(names)} arguments now, and took {len(rows)}")
    constants = {name: _value(row) for name, row in signature.get("constants", {}).items()}
    missing = [name for name in parameters.constants if name not in constants]
    if missing:
        raise AmpError(f"the kernel has the constant {missing[0]} now")
    tile = signature["tile"]
    request = Request(
        function=function,
        precise=bool(signature["precise"]),
        rank=int(signature["rank"]),
        tile=None if tile is None else tuple(tile),
        args=tuple((name, _type(row)) for name, row in zip(names, rows, strict=True)),
        captures=tuple((name, _type(row)) for name, row in signature.get("captures", {}).items()),
        constants=tuple((name, constants[name]) for name in parameters.constants),
        subgroup=signature.get("subgroup"),
    )
    return request, {name: value for name, value in constants.items() if name not in parameters.constants}


def _value(row: Mapping[str, Any]) -> Any:
    if "object" in row:
        found = _type(row)
        return found.value if isinstance(found, ObjectType) else found
    if "tuple" in row:
        return _type(row)
    if "element" in row:
        return np.dtype(row["element"])
    value = float("nan") if row["value"] == "nan" else row["value"]
    return np.dtype(row["dtype"]).type(value) if "dtype" in row else value


def _object(path: str) -> Any:
    module, _, name = path.partition(":")
    # The kernel's module, which is imported by now, has imported what it uses.
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise AmpError(f"{path} no longer exists")
    return found


def _type(row: Mapping[str, Any]) -> ArgType:
    if "container" in row:
        element = _element_of(row["container"])
        return BufferType(element, row["rank"], False, row["dense"], row["storage"], bool(row.get("unit")))
    if "scalar" in row:
        value = BOOL if row["scalar"] == BOOL.name else _element_of(row["scalar"])
        return ElementType(_element_of(row["element"]), row["storage"], value)
    if "number" in row:
        return ScalarType(SCALARS.get(row["number"]) or SMALL[row["number"]], bool(row.get("weak")))
    for kind in ("index", "extent"):
        if kind in row:
            return IndexType(row[kind], kind)
    if "tuple" in row:
        items = [_value(item) for item in row["tuple"]]
        return TupleType(tuple(map(_item_type, items)), tuple(row.get("names", ())))
    if "vector" in row:
        return VectorType(VECTORS[row["vector"]])
    if "struct" in row:
        struct = _element_of(row["struct"])
        assert isinstance(struct, Struct)
        return StructType(struct)
    if "object" in row and not {"members", "owner", "lambda", "captured", "bound"} & row.keys():
        found = _object(row["object"])
        return operator_type(found, ()) if plain_of(found) is not None else ObjectType(found)
    if "members" in row and "<locals>" not in row["object"]:
        return FunctorType(_object(row["object"]), tuple((name, _type(each)) for name, each in row["members"].items()))
    raise AmpError("it takes an object, which only a running program can pass")


def _item_type(value: Any) -> ArgType:
    if isinstance(value, ARG_TYPES):
        return value  # type: ignore[no-any-return]
    return ConstantType(value) if is_number(value) else ObjectType(value)


def _element_of(data: Any) -> Type:
    if isinstance(data, str):
        found = NUMBERS.get(data) or VECTORS.get(data)
        if found is None:
            raise AmpError(f"{data} is not an element type")
        return found
    if "array" in data:
        return Array(_element_of(data["array"]), tuple(data["shape"]))
    fields = tuple(Field(name, _element_of(kind), offset) for name, kind, offset in data["fields"])
    return Struct(data["name"], fields, data["size"], _object(data["class"]) if "class" in data else None)
