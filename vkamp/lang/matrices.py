"""Cooperative matrices: the functions by which kernels use them; AMP has none.

The front end recognizes them by an attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vkamp.errors import AmpError
from vkamp.lang.device import MARK
from vkamp.tracebacks import entry_point

_F = TypeVar("_F", bound=Callable[..., Any])


def _marked(function: _F) -> _F:
    setattr(function, MARK, function.__name__)
    return entry_point(function)


def _only_in_kernels(name: str) -> AmpError:
    return AmpError(
        f"amp.{name} works in kernels and @amp.func functions only; plain Python has no subgroup to run it in"
    )


@_marked
def matrix(shape: Any, dtype: Any, use: str = "accumulator", fill: Any = 0, count: Any = ()) -> Any:
    """A cooperative matrix of ``shape`` (rows, columns), which the lanes of a subgroup hold together.

    ``use``: which operand of a product it is, ``"a"``, ``"b"`` or ``"accumulator"``.  All elements have the value
    ``fill``, or are indeterminate with ``fill=None``.  ``count`` makes an array of ``count`` matrices, whose elements
    are ``m[i, j]``.  The kernel must require a size of subgroups, ``@amp.kernel(subgroup=32)``, and all threads of a
    subgroup must call the functions of matrices together.  CompileError for a type or shape that matrices cannot have.
    """
    raise _only_in_kernels("matrix")


@_marked
def matrix_load(memory: Any, position: Any, shape: Any, use: str, layout: str = "row", dtype: Any = None) -> Any:
    """The matrix of ``shape`` whose element (0, 0) is at ``position`` (row, column) of ``memory``.

    ``memory``: a container, view or ``tile_static`` array of rank 2, whose element type is that of the matrix.
    ``layout="column"``: the transpose of the block that begins there.  The whole block must be inside the memory.
    Memory may also be of uint4, which has 8 elements of 16 bits or 16 of 8 bits, in ascending bits of x, y, z, w:
    ``dtype`` is their type then, and the column, in elements, a multiple of that number.
    """
    raise _only_in_kernels("matrix_load")


@_marked
def matrix_store(m: Any, memory: Any, position: Any, layout: str = "row") -> None:
    """Stores an accumulator at ``position`` (row, column) of ``memory``, as :func:`matrix_load` loads it."""
    raise _only_in_kernels("matrix_store")


@_marked
def matrix_mul_add(a: Any, b: Any, c: Any) -> Any:
    """``a @ b + c`` of an ``"a"`` and a ``"b"`` matrix of one type, and an accumulator.

    float16 gives float32 or float16, bfloat16 float32, int8 int32, and uint8 int32 or uint32.  The order of additions
    and the precision in between are the device's.
    """
    raise _only_in_kernels("matrix_mul_add")


@_marked
def matrix_map(function: Callable[..., Any], *matrices: Any) -> Any:
    """The accumulator of ``function`` of each element of one or more accumulators of the same type and shape."""
    raise _only_in_kernels("matrix_map")


@_marked
def matrix_convert(m: Any, dtype: Any) -> Any:
    """An accumulator with the elements of another one, converted to ``dtype``."""
    raise _only_in_kernels("matrix_convert")
