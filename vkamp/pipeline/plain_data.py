"""Values as plain data, which JSON takes: what is stored of kernels and programs.

A list is a tuple. What JSON lacks is an object with one key, which says what it is: a span by its number, a set, a
mapping, an array, or a record with its fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from vkamp.artifacts import Binding, ContainerAccess, MatrixShape, Pieces, PushWord, Shader
from vkamp.errors import Span
from vkamp.ir.types import NAMED, from_dtype

_RECORDS = {cls.__name__: cls for cls in (Binding, ContainerAccess, MatrixShape, Pieces, PushWord, Shader)}


def packed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name as plain data."""
    encoding = _Encoding()
    data = {name: encoding.data(value) for name, value in values.items()}
    return {"values": data, "spans": encoding.rows}


def unpacked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The values that :func:`packed` was given."""
    decoding = _Decoding(data["spans"])
    return {name: decoding.value(each) for name, each in data["values"].items()}


class _Encoding:
    def __init__(self) -> None:
        #: Spans as rows of plain data; a span's caller is a number, too.
        self.rows: list[list[Any]] = []
        self.numbers: dict[Span, int] = {}

    def data(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, int, float)):
            return value
        if isinstance(value, tuple):
            return [self.data(each) for each in value]
        if isinstance(value, Span):
            return {"span": self.number(value)}
        if isinstance(value, frozenset):
            return {"set": [self.data(each) for each in sorted(value)]}
        if isinstance(value, Mapping):
            return {"map": [self.data(item) for item in value.items()]}
        if isinstance(value, np.ndarray):
            return {"array": [str(from_dtype(value.dtype)), value.shape, value.tobytes().hex()]}
        cls = type(value)
        assert _RECORDS[cls.__name__] is cls
        return {cls.__name__: [self.data(getattr(value, field.name)) for field in dataclasses.fields(cls)]}

    def number(self, span: Span) -> int:
        """The number of a span, new or not."""
        found = self.numbers.get(span)
        if found is None:
            caller = None if span.caller is None else self.number(span.caller)
            place = (span.line, span.column, span.end_line, span.end_column)
            self.rows.append([span.file, *place, span.function, caller])
            found = self.numbers[span] = len(self.rows) - 1
        return found


class _Decoding:
    def __init__(self, rows: list[list[Any]]) -> None:
        self.rows = rows
        self.spans: dict[int, Span] = {}

    def value(self, data: Any) -> Any:
        if type(data) is list:
            return tuple([self.value(each) for each in data])
        if type(data) is not dict:
            return data
        ((kind, inner),) = data.items()
        if kind == "span":
            return self.span(inner)
        if kind == "array":
            element, shape, text = inner
            return np.frombuffer(bytes.fromhex(text), NAMED[element].dtype).reshape(shape)
        values = self.value(inner)
        if kind == "set":
            return frozenset(values)
        return dict(values) if kind == "map" else _RECORDS[kind](*values)

    def span(self, number: int) -> Span:
        """The span of a number."""
        found = self.spans.get(number)
        if found is None:
            file, line, column, end_line, end_column, function, caller = self.rows[number]
            above = None if caller is None else self.span(caller)
            found = self.spans[number] = Span(file, line, column, end_line, end_column, function, above)
        return found
