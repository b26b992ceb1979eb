"""The values of an array as a small table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import escaped

#: The maximum number of rows and columns; of larger tables, the first and last ones are shown.
MAX = 10
_ENDS = MAX // 2
#: The maximum number of characters in a cell.
_WIDEST = 60
_GAP = "\N{HORIZONTAL ELLIPSIS}"


def values_table(values: NDArray[Any], vectors: frozenset[np.dtype[Any]] = frozenset()) -> str:
    """The first and last values: rank 1 as a column, structs with a column for each field; rank 2 as a table; for a
    higher rank the first slice. ``vectors``: structured dtypes that are shown only as their components.
    """
    note = ""
    if values.ndim > 2:
        slices = int(np.prod(values.shape[:-2], dtype=object))
        place = ", ".join(["0"] * (values.ndim - 2) + [":", ":"])
        note = f"\n<p>[{place}], the first of {slices} slices</p>" if slices > 1 else ""
        values = values[(0,) * (values.ndim - 2)]
    if values.ndim == 2:
        columns = _shown(values.shape[1])
        header = [_GAP if k is None else str(k) for k in columns]
        rows = [
            (row, [None if row is None or k is None else values[row, k] for k in columns])
            for row in _shown(len(values))
        ]
    else:
        names = values.dtype.names if values.dtype not in vectors else None
        header = list(names) if names else [""]
        rows = [(row, _fields(values, row, names)) for row in _shown(len(values))]
    lines = ["<table>", f"<thead><tr><th></th>{''.join(f'<th>{escaped(text)}</th>' for text in header)}</tr></thead>"]
    lines.append("<tbody>")
    for row, cells in rows:
        shown = "".join(f"<td>{_GAP if cell is None else escaped(_text(cell, vectors))}</td>" for cell in cells)
        lines.append(f"<tr><th>{_GAP if row is None else row}</th>{shown}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"]) + note


def _shown(count: int) -> list[int | None]:
    """The positions to show; ``None`` for omitted ones."""
    if count <= MAX:
        return list(range(count))
    return [*range(_ENDS), None, *range(count - _ENDS, count)]


def _cells(values: NDArray[Any], row: int | None, columns: list[int | None]) -> list[Any]:
    return [None if row is None or col is None else values[row, col] for col in columns]


def _fields(values: NDArray[Any], row: int | None, names: tuple[str, ...] | None) -> list[Any]:
    if row is None:
        return [None] * len(names or [""])
    return [values[row][name] for name in names] if names else [values[row]]


def _text(value: Any, vectors: frozenset[np.dtype[Any]]) -> str:
    text = _whole_text(value, vectors)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + _GAP


def _whole_text(value: Any, vectors: frozenset[np.dtype[Any]]) -> str:
    if isinstance(value, np.ndarray):
        # A field that is an array, as far as it fits in a cell.
        items = [_text(item, vectors) for item in value[: _WIDEST // 2]]
        return f"[{', '.join(items)}]"
    if isinstance(value, np.void) and value.dtype.names:
        parts = [(name, _text(value[name], vectors)) for name in value.dtype.names]
        if value.dtype in vectors:
            return f"({', '.join(text for _, text in parts)})"
        return f"{{{', '.join(f'{name}: {text}' for name, text in parts)}}}"
    return f"{float(value):.6g}" if isinstance(value, np.floating) else str(value)
