"""IR -> Python: each function of a kernel becomes a Python function that one thread runs.

The code objects have the file and the lines of the kernel's source, and the variables keep their names. A debugger
therefore steps through the kernel, and a traceback shows its lines. A function that waits at a barrier is a generator
that yields the barrier's site.

Values: integers are Python's, in range, floats are numpy scalars, bools are truth values, structs are
lists of words as memory has them, short vectors lists of components.  A word has 32 bits, or fewer if the kernel has a
smaller type.  Every other name in the generated code begins with an underscore:

======================= =====================================================================
``_t``                  the running :class:`~vkamp.sim.faults.Thread`
``_g0 _l0 _b0 _o0``     its global and local index, tile, tile origin
``_mem_A _f_A _i_A``    buffer A, its words as floats, integers, ... (by ``LETTERS``)
``_r_A _w_A _x_A``      judge a read, a write, an atomic update of a word of buffer A
``_o_A _p0_A _n0_A``    offset, stride, extent of buffer A
``_ts_A _s_A _fn_A``    tile_static array, captured scalar, device function
======================= =====================================================================

C++ AMP's model: docs/conformance.md, sections 3, 10, 11.
"""

from __future__ import annotations

from collections.abc import Sequence

from vkamp.errors import AmpError
from vkamp.ir import nodes as ir
from vkamp.ir.fences import Fence
from vkamp.ir.requirements import memory_unit
from vkamp.sim.program import Mode, TranslatedProgram
from vkamp.sim.statements import FunctionTranslator


def translate(kernel: ir.Kernel, mode: Mode) -> TranslatedProgram:
    """The Python code of a kernel."""
    program = TranslatedProgram(kernel, memory_unit(kernel))
    functions = (*kernel.functions, kernel.body)
    statements = [s for f in functions for s in ir.walk_statements(f.body)]
    program.written = _written(statements)
    program.split = _split([s.fence for s in statements if isinstance(s, ir.Barrier)])
    program.edged = any(isinstance(s, ir.Atomic) and s.order for s in statements)
    waiting: set[str] = set()
    for function in functions:
        FunctionTranslator(program, function, waiting, mode).run()
    program.waits = kernel.body.name in waiting
    if kernel.tile is None and any(isinstance(s, ir.Barrier) and s.fence.waits for s in statements):
        raise AmpError(f"{kernel.name} waits at a barrier, but its domain has no tiles")
    return program


def _written(statements: Sequence[ir.Stmt]) -> frozenset[str]:
    roots = (ir.root_of(place) for s in statements for place in ir.changed_places(s))
    return frozenset(r.buffer for r in roots if isinstance(r, ir.BufferElement))


def _split(fences: Sequence[Fence]) -> tuple[bool, bool]:
    """For global and tile_static memory: whether there are both fences that do not wait, and waits that do not order
    it."""
    separate = [f for f in fences if not f.waits]
    waits = [f for f in fences if f.waits]
    return (
        any(f.orders_global for f in separate) and not all(f.orders_global for f in waits),
        any(f.orders_tile_static for f in separate) and not all(f.orders_tile_static for f in waits),
    )
