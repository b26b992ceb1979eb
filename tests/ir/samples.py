"""A kernel for each class of the IR's nodes."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import numpy as np

import vkamp as amp
from tests.emit.programs import Program, buffers, scalars
from vkamp.ir import nodes
from vkamp.ir.types import INT32, from_dtype

FUNCTIONS = """
@amp.func
def half(x):
    return x // 2

@amp.func
def filled(cells, x):
    cells[0] = x
    return cells[0], x + 1
"""
#: A kernel's lines for each class.
SAMPLES: dict[type[nodes.Node], str] = {
    nodes.Declare: "a = amp.private(4, amp.int32)\na[0] = n\nout[i] = a[0]",
    nodes.Assign: "x = n\nx += 1\nout[i] = x",
    nodes.If: "if n > 3:\n    out[i] = 1\nelif n > 1:\n    out[i] = 2\nelse:\n    out[i] = 3",
    nodes.For: "for k in range(n):\n    out[i] += k",
    nodes.While: "x = n\nwhile x > 0:\n    x -= 1\nout[i] = x",
    nodes.Break: "for k in range(9):\n    if k > n:\n        break\n    out[i] += 1",
    nodes.Continue: "for k in range(9):\n    if k > n:\n        continue\n    out[i] += 1",
    nodes.Return: "if n > 3:\n    return\nout[i] = 1",
    nodes.Barrier: "tile[t.local] = n\nt.barrier.wait()\nout[i] = tile[3 - t.local[0]]",
    nodes.Atomic: "old = amp.atomic_fetch_add(cells[0], n)\nout[i] = old\namp.atomic_fetch_max(cells[1], n)",
    nodes.Call: "a = amp.private(4, amp.int32)\nx, y = filled(a, n)\nout[i] = x + y + a[0] + half(n)",
    nodes.Assert: "assert n > -9, 'small'\nout[i] = n",
    nodes.UniformAssert: "x = amp.uniform(cells[2])\nif x > 0:\n    t.barrier.wait()\nout[i] = x",
    nodes.Subgroup: "x = amp.subgroup.add(n)\ny = amp.subgroup.max(n)\nout[i] = x - y",
    nodes.MatrixOperation: "m = amp.matrix((8, 8), amp.int32, fill=3)\nout[i] = n",
    nodes.Print: "print('n', n)\nout[i] = n",
    nodes.Breakpoint: "breakpoint()\nout[i] = n",
    nodes.Const: "out[i] = 3",
    nodes.ScalarValue: "out[i] = count",
    nodes.ThreadIndex: "out[i] = t.local[0] + t.tile[0] + t.tile_origin[0] + t.global_[0]",
    nodes.SubgroupIndex: "out[i] = amp.subgroup.lane() + amp.subgroup.size()",
    nodes.BufferExtent: "out[i] = cells.extent[0]",
    nodes.Unary: "out[i] = -n + ~n + amp.int32(not n > 0)",
    nodes.Binary: "out[i] = n + n * n - n // 3 + n % 3 + (n & 3) + (n | 3) + (n ^ 3) + (n << 2) + (n >> 1)",
    nodes.Compare: "out[i] = amp.int32(n < 3) + amp.int32(n == 3)",
    nodes.Logical: "out[i] = amp.int32(n < 3 and n > 1 or n == 7)",
    nodes.Select: "out[i] = n if n > 3 else 3",
    nodes.Cast: "out[i] = amp.int32(amp.float32(n) * 0.5)",
    nodes.Builtin: "out[i] = min(n, 3) + abs(n)",
    nodes.Construct: "v = amp.int2(n, 3)\nv.x = 4\nout[i] = v.x + v.y",
    nodes.ItemIndex: "out[i] = (n, i, n * 2)[i % 3]",
    nodes.Swizzle: "out[i] = (amp.int2(n, 3) + amp.int2(1, 2)).yx.x",
    nodes.Load: "out[i] = cells[1]",
    nodes.Local: "x = n\nout[i] = x",
    nodes.BufferElement: "out[i] = cells[1]",
    nodes.ArrayElement: "a = amp.private((2, 2), amp.int32)\na[1, n & 1] = n\nout[i] = a[1, n & 1]",
    nodes.FieldOf: "points[i].x = n\nout[i] = points[i].x",
    nodes.ComponentsOf: "v = amp.int2(n, 3)\nv.yx = v.xy\nout[i] = v.x",
    nodes.Reinterpreted: "out[i] = 1 if cells.reinterpret_as(amp.uint32)[1] == 3 else 2",
    nodes.ViewElement: "part = cells.section(amp.index(1), amp.extent(2))\nout[i] = part[1]",
}


def kernel_of(body: str) -> nodes.Kernel:
    lines = textwrap.indent(body, "    ")
    first = "    i, n = t.global_[0], cells[t.local[0]]\n    tile = amp.tile_static(4, amp.int32)\n"
    source = f"{FUNCTIONS}\ndef kernel(t, out, cells, points, count):\n{first}{lines}\n"
    name = f"<every {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space: dict[str, Any] = {"amp": amp}
    exec(compile(source, name, "exec"), space)
    args = buffers(out=(INT32, 1), cells=(INT32, 1), points=(from_dtype(POINT), 1))
    # Subgroups with matrices have at least eight lanes.
    tile, lanes = ((8,), 8) if "matrix" in body else ((4,), None)
    return Program(space["kernel"], 1, tile, (*args, *scalars(count=INT32)), subgroup=lanes).kernel()


POINT = np.dtype([("x", np.int32), ("y", np.float32)])
