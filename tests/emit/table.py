"""The golden shaders: the kernels of ``programs.py`` with their arguments and targets."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from tests.emit import programs as kernels
from tests.emit.programs import BODY, PIXEL, READONLY, RECORD, STRIDED, Program, buffers, scalars
from vkamp.artifacts import Target
from vkamp.front import ArgType, ElementType
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, UINT8, UINT32, Type, from_dtype

MATRICES = buffers(matrix=(FLOAT32, 2, {"readonly": True, "dense": False}), averages=(FLOAT32, 2))
PRODUCT = buffers(a=(FLOAT32, 2, READONLY), b=(FLOAT32, 2, READONLY), c=(FLOAT32, 2))
RECORD_TYPE = from_dtype(RECORD, "Record")
_FOLDED = Target(folded=True)
FLOAT3_TYPE = from_dtype(amp.float3.dtype)
VECTORS_ARGS = buffers(
    points=(FLOAT3_TYPE, 1),
    colours=(from_dtype(amp.float4.dtype), 1),
    cells=(from_dtype(amp.int2.dtype), 1),
    bodies=(from_dtype(BODY, "Body"), 1),
)


def copies(rank: int, kind: Type = INT32) -> tuple[tuple[str, ArgType], ...]:
    return buffers(source=(kind, rank, READONLY), destination=(kind, rank))


def in_pieces(most: int, *names: str, **traits: Any) -> Target:
    """A target whose threads have several elements of these containers."""
    return Target(**{"group": (64, 1, 1), "together": (names,), **traits}, pieces=most, whole=frozenset(names))


MATRIX_ARGS = buffers(a=(FLOAT16, 2, READONLY), b=(FLOAT16, 2), c=(FLOAT32, 2, STRIDED), d=(FLOAT16, 2))
MATRIX_TYPES = frozenset({"cooperative_matrix", "float16", "storage16"})

PROGRAMS = {
    "matrices": Program(kernels.matrices, 1, (64,), MATRIX_ARGS, target=Target(types=MATRIX_TYPES), subgroup=32),
    "matrices_emulated": Program(kernels.matrices, 1, (64,), MATRIX_ARGS, subgroup=32),
    "pieces": Program(
        kernels.saxpy, 1, None, scalars(a=FLOAT32) + buffers(x=(FLOAT32, 1), y=(FLOAT32, 1)),
        target=in_pieces(4, "x", "y"),
    ),
    "pieces_of_parts": Program(
        kernels.saxpy,
        1,
        None,
        scalars(a=INT32) + buffers(x=(INT16, 1, STRIDED), y=(UINT8, 1, STRIDED)),
        target=in_pieces(4, "x", "y"),
    ),
    "pieces_of_bytes": Program(
        kernels.saxpy, 1, None, scalars(a=INT32) + buffers(x=(UINT8, 1), y=(INT8, 1)), target=in_pieces(16, "x", "y")
    ),
    "pieces_of_halves": Program(
        kernels.halves,
        1,
        None,
        buffers(x=(FLOAT16, 1), y=(FLOAT16, 1), out=(FLOAT16, 1)),
        target=in_pieces(16, "x", "y", "out", types=frozenset({"float16", "storage16"})),
    ),
    "pieces_of_rows": Program(
        kernels.tested,
        2,
        None,
        buffers(x=(FLOAT32, 2), y=(FLOAT32, 2, STRIDED), out=(FLOAT32, 2)),
        target=in_pieces(16, "x", "y", "out", group=(32, 8, 1), together=(("x", "out"), ("y",))),
    ),
    "pieces_of_all": Program(
        kernels.saxpy,
        3,
        None,
        scalars(a=FLOAT32) + buffers(x=(FLOAT32, 3), y=(FLOAT32, 3, STRIDED)),
        target=in_pieces(16, flat=frozenset({"x", "y"}), together=(("x", "y"),)),
    ),
    "tile_average": Program(kernels.tile_average, 2, (2, 3), MATRICES),
    "tile_average_folded": Program(kernels.tile_average, 2, (2, 3), MATRICES, target=_FOLDED),
    "tiled_product": Program(kernels.tiled_product, 2, (16, 16), PRODUCT, constants=(("tile", 16),)),
    "records": Program(
        kernels.records, 1, None, buffers(source=(RECORD_TYPE, 1, READONLY), destination=(RECORD_TYPE, 1))
    ),
    "aliases": Program(
        kernels.shift_in_place,
        1,
        (8,),
        buffers(
            left=(FLOAT32, 1, {"dense": False, "storage": 0}),
            right=(FLOAT32, 1, {"dense": False, "storage": 0}),
            bits=(UINT32, 1, {"dense": False, "storage": 0, "readonly": True}),
        ),
    ),
    "untiled_1": Program(kernels.copy_1, 1, None, copies(1), target=Target(group=(256, 1, 1))),
    "untiled_2": Program(kernels.copy_2, 2, None, copies(2), target=Target(group=(32, 8, 1))),
    "untiled_3": Program(kernels.copy_3, 3, None, copies(3), target=Target(group=(32, 8, 1))),
    "untiled_5": Program(kernels.copy_5, 5, None, copies(5), target=Target(group=(4, 4, 4))),
    "untiled_1_folded": Program(
        kernels.copy_1, 1, None, copies(1), target=Target(folded=True, group=(256, 1, 1))
    ),
    "untiled_5_folded": Program(
        kernels.copy_5, 5, None, copies(5), target=Target(folded=True, group=(64, 1, 1))
    ),
    "push_spill": Program(
        kernels.axpy,
        1,
        None,
        buffers(x=(FLOAT32, 1, STRIDED), y=(FLOAT32, 1, STRIDED))
        + scalars(a=FLOAT32, b=FLOAT32, wanted=BOOL),
        target=Target(push_words=4),
    ),
    "functions": Program(kernels.functions, 1, (4,), buffers(a=(INT32, 1))),
    "functions_folded": Program(kernels.functions, 1, (4,), buffers(a=(INT32, 1)), target=_FOLDED),
    "register_tiles": Program(
        kernels.register_tiles, 2, (4, 4),
        buffers(a=(FLOAT32, 2, READONLY), b=(FLOAT32, 2, READONLY), c=(FLOAT32, 2)), constants=(("size", 3),),
    ),
    "tables": Program(kernels.tables, 1, None, buffers(a=(INT32, 1, READONLY), out=(FLOAT32, 1))),
    "unrolled": Program(kernels.unrolled, 2, None, buffers(source=(FLOAT32, 2, READONLY), out=(FLOAT32, 2))),
    "control_flow": Program(
        kernels.control_flow, 1, None, buffers(a=(INT32, 1)) + scalars(n=INT32, step=INT32)
    ),
    "unsigned_loop": Program(kernels.unsigned_loop, 1, None, buffers(a=(UINT32, 1)) + scalars(n=UINT32)),
    "atomics": Program(
        kernels.atomics, 1, (32,), buffers(values=(UINT32, 1, READONLY), bins=(UINT32, 1), extremes=(UINT32, 1))
    ),
    "claims": Program(kernels.claims, 1, (4,), buffers(rounds=(INT32, 1), out=(INT32, 1)) + scalars(n=INT32)),
    "views": Program(
        kernels.views, 1, (8,),
        (*buffers(values=(FLOAT32, 1), table=(FLOAT32, 2, STRIDED), pixels=(from_dtype(PIXEL, "pixel"), 1)),
         *scalars(columns=INT32)),
    ),
    "scalars_in_memory": Program(
        kernels.scalars_in_memory,
        1,
        None,
        (
            *buffers(a=(FLOAT32, 1)),
            ("m", ElementType(FLOAT32, 1, FLOAT32)),
            ("n", ElementType(UINT8, 2, INT32)),
            ("wanted", ElementType(UINT8, 3, BOOL)),
            ("p", ElementType(from_dtype(PIXEL, "pixel"), 4, from_dtype(PIXEL, "pixel"))),
            ("v", ElementType(FLOAT3_TYPE, 5, FLOAT3_TYPE)),
        ),
    ),
    "scalars_in_pieces": Program(
        kernels.scaled, 1, None, (*buffers(a=(FLOAT32, 1)), ("m", ElementType(FLOAT32, 1, FLOAT32))),
        target=in_pieces(4, "a"),
    ),
    "native_float_atomics": Program(
        kernels.native_float_atomics,
        1,
        (8,),
        buffers(sums=(FLOAT32, 1), pixels=(from_dtype(PIXEL, "pixel"), 1)),
        target=Target(types=frozenset({"float_atomics", "shared_float_atomics"})),
    ),
    "float_atomics": Program(
        kernels.float_atomics, 1, (8,), buffers(sums=(FLOAT32, 1), pixels=(from_dtype(PIXEL, "pixel"), 1)), precise=True
    ),
    "compare_exchange": Program(
        kernels.compare_exchange, 1, None, buffers(cells=(INT32, 1), wanted=(INT32, 1, READONLY))
    ),
    "exact": Program(
        kernels.exact,
        1,
        (4,),
        buffers(x=(FLOAT32, 1, READONLY), y=(FLOAT32, 1, READONLY), out=(FLOAT32, 1), bits=(INT32, 1)),
        precise=True,
    ),
    "rounding": Program(
        kernels.rounding,
        1,
        None,
        buffers(
            a=(INT32, 1, READONLY),
            b=(INT32, 1, READONLY),
            c=(INT32, 2),
            x=(FLOAT32, 1, READONLY),
            y=(FLOAT32, 2),
        ),
    ),
    "operators": Program(kernels.operators, 1, None, buffers(a=(INT32, 1), u=(UINT32, 1), f=(FLOAT32, 1))),
    "names": Program(
        kernels.names,
        1,
        None,
        buffers(input=(FLOAT32, 1, READONLY), sample=(FLOAT32, 1, READONLY), output_=(FLOAT32, 1)),
    ),
    "fences": Program(kernels.fences, 1, (8,), buffers(a=(INT32, 1))),
    "fences_narrow": Program(
        kernels.fences, 1, (8,), buffers(a=(INT32, 1)), target=Target(quirks=frozenset({"fences_wait"}))
    ),
    "mathematics": Program(
        kernels.mathematics, 1, None, buffers(x=(FLOAT32, 1, READONLY), y=(FLOAT32, 2))
    ),
    "precise_mathematics": Program(
        kernels.precise_mathematics, 1, None, buffers(x=(FLOAT32, 1, READONLY), y=(FLOAT32, 2))
    ),
    "origins": Program(kernels.origins, 3, (2, 3, 4), buffers(a=(INT32, 3))),
    "origins_folded": Program(kernels.origins, 3, (2, 3, 4), buffers(a=(INT32, 3)), target=_FOLDED),
    "subgroups": Program(kernels.subgroups, 1, (40,), buffers(a=(INT32, 1), x=(FLOAT32, 1), out=(FLOAT32, 1))),
    "subgroups_in_a_row": Program(kernels.subgroups_in_a_row, 3, (2, 3, 4), buffers(a=(INT32, 3))),
    "subgroups_folded": Program(kernels.subgroups_in_a_row, 3, (2, 3, 4), buffers(a=(INT32, 3)), target=_FOLDED),
    "vectors": Program(kernels.vectors, 1, (4,), VECTORS_ARGS),
    "exact_vectors": Program(
        kernels.exact_vectors, 1, None, buffers(**dict.fromkeys(("a", "b", "out"), (FLOAT3_TYPE, 1))), precise=True
    ),
}  # fmt: skip
