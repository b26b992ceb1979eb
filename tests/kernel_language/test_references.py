"""Names for structs: every way to bind one, to change it and to read it, compared with plain Python on numpy's records.
Each program runs as Python on numpy's records, and as a kernel. Rejected programs must be in the table of rejections.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
import types

import numpy as np
import pytest

import vkamp as amp


@amp.struct
class Inner:
    a: amp.float32
    b: amp.int32


@amp.struct
class P:
    x: amp.float32
    n: amp.int32
    inner: Inner
    k: (amp.int32, (3,))
    many: (Inner, (2,))


@amp.func
def same(p):
    return p


@amp.func
def deeper(p):
    return same(p)


@amp.func
def changed(p):
    p.n += 1000


@amp.func
def changed_deeper(p):
    q = p
    changed(q)


@amp.func
def member_changed(inner):
    inner.b += 1000


@amp.func
def later(p, q):
    return q


@amp.func
def greater(p, q):
    return p if p.x > q.x else q


#: How ``p`` gets its name.  ``ps`` and ``qs`` are containers, ``i`` and ``j`` two of their subscripts.
BINDINGS = {
    "element": "p = ps[i]",
    "constant": "work = amp.private(2, P)\nwork[1] = ps[i]\np = work[1]",
    "computed": "p = ps[(i + 1) % 4]",
    "subscript changes": "m = i\np = ps[m]\nm = j",
    "second name": "q = ps[i]\np = q",
    "of a function": "p = same(ps[i])",
    "of two functions": "p = deeper(ps[i])",
    "second argument": "p = later(ps[j], ps[i])",
    "chosen by a function": "p = greater(ps[i], ps[j])",
    "chosen": "p = ps[i] if i > j else ps[j]",
    "branches": "if i > j:\n    p = ps[i]\nelse:\n    p = ps[j]",
    "bound again": "p = ps[j]\np.x += 50.0\np = ps[i]",
    "bound to another container": "p = qs[j]\np.x += 50.0\np = ps[i]",
    "loop": "p = ps[i]\nfor m in range(i + 4):\n    if ps[m].x > p.x:\n        p = ps[m]",
    "loop with a binding": "for m in range(2):\n    p = ps[i]\n    p.x += 1.0\np = ps[j]",
    "unrolled": "for m in amp.static_range(3):\n    p = ps[i + m]\n    p.x += 1.0",
    "tuple": "p, q = ps[i], ps[j]",
    "swapped": "p = ps[j]\nq = ps[i]\np, q = q, p",
    "swapped in a loop": "p = ps[j]\nq = ps[i]\nfor m in range(3):\n    p, q = q, p\n    p.x += 1.0",
    "two targets": "p = q = ps[i]",
    "item of a tuple": "pair = (ps[i], ps[j])\np = pair[0]",
    "copy": "p = ps[i].copy()",
    "object": "p = P(1.0, 2, ps[i].inner)",
    "object with two names": "q = P(1.0, 2, ps[i].inner)\np = q",
    "object of two targets": "p = q = P(1.0, 2)",
    "object of a function": "q = P(1.0, 2)\np = deeper(q)",
    "objects in branches": "p = P(1.0, 2)\nif i > j:\n    p = P(3.0, 4)",
    "object bound again": "p = P(1.0, 2)\nq = p\np = P(3.0, 4)\nq.x += ps[i].x",
    "private element": "work = amp.private(2, P)\nwork[0] = ps[i]\nwork[1] = ps[j]\np = work[(i + 1) % 2]",
    "best of a loop": (
        "p = P(0.0, 0)\nfor m in range(4):\n    q = P(ps[m].x, ps[m].n + m)\n    if q.x > p.x:\n        p = q"
    ),
    "last of a loop": "p = P(1.0, 2)\nfor m in range(3):\n    q = P(ps[m].x + p.n, ps[m].n - p.n)\n    p = q",
    "closure": "q = ps[i]\ndef give():\n    return q\np = give()",
}
#: How the element changes, through the name and past it.
WRITES = {
    "field": "p.x = 7.0",
    "augmented": "p.x += 7.0",
    "member": "p.inner.b += 7",
    "member with a name": "part = p.inner\npart.b += 7\npart.a = 2.0",
    "element of a member": "part = p.many[i % 2]\npart.b = 7",
    "array in it": "p.k[i % 3] += 7",
    "array with a name": "row = p.k\nrow[1] += 7",
    "string": "p['n'] = 7",
    "function": "changed(p)",
    "deeper function": "changed_deeper(p)",
    "function of a member": "member_changed(p.inner)",
    "function of an element of a member": "member_changed(p.many[i % 2])",
    "past the name": "ps[i].n += 7",
    "past the name, whole": "ps[i] = qs[j]",
    "into a member": "p.inner = qs[j].inner",
    "second name": "r = p\nr.n -= 7",
    "in a loop": "for m in range(3):\n    p.n += m\n    p.k[m] = m",
    "in a branch": "if i > 0:\n    p.x = 7.0",
    "closure": "def change():\n    p.n += 7\nchange()",
    "operands with effects": "p.n = p.n + bumped(p) * 10 + p.n",
    "bound anew": "r = p\np = qs[j]\np.x = 7.0\nr.x = 9.0",
}
#: What is read of it at last, beside all elements.
READS = {
    "fields": "out[i] = p.x + p.n * 10 + p.inner.b * 100 + p.k[1] + p.many[0].b + p.many[1].b",
    "element": "out[i] = ps[i].x + ps[i].n + p.x",
    "stored": "qs[i] = p\nout[i] = qs[i].n",
    "function": "out[i] = value_of(p) + p.n",
}


@amp.func
def bumped(p):
    p.n += 1
    return p.n


@amp.func
def value_of(p):
    return p.x + p.n * 2.0 + p.inner.b


#: Here a name becomes an element of another container where it may be one of several: Python's object is not known.
REFUSED = {
    (binding, "bound anew"): "VKA351"
    for binding in (
        "branches", "loop", "unrolled", "swapped in a loop", "objects in branches", "best of a loop", "last of a loop",
    )
}  # fmt: skip


def program(binding: str, write: str, read: str) -> types.FunctionType:
    body = "\n".join((binding, write, read))
    source = "def kernel(idx, ps, qs, out, d):\n    i = idx[0]\n    j = i + d\n" + textwrap.indent(body, "    ") + "\n"
    name = f"<{binding!r} {write!r} {read!r}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = dict(globals())
    exec(compile(source, name, "exec"), space)
    return space["kernel"]


def records() -> tuple[np.ndarray, np.ndarray]:
    ps, qs = np.zeros(4, P), np.zeros(4, P)
    for data, first in ((ps, 1), (qs, 11)):
        data["x"] = first + np.array([3, 1, 4, 2])
        data["n"] = first * np.arange(4)
        data["inner"]["a"], data["inner"]["b"] = first, first + np.arange(4)
        data["k"] = first * np.arange(12).reshape(4, 3)
        data["many"]["b"] = first + np.arange(8).reshape(4, 2)
    return ps, qs


def private(shape, dtype):
    return np.zeros(shape, dtype)


def as_python(function: types.FunctionType, thread: int, j: int) -> tuple[np.ndarray, ...]:
    ps, qs = records()
    out = np.zeros(4, np.float32)
    function.__globals__["amp"] = types.SimpleNamespace(private=private, static_range=range)
    try:
        function((thread,), ps, qs, out, j)
    finally:
        function.__globals__["amp"] = amp
    return ps, qs, out


def as_kernel(function: types.FunctionType, view, lowering: str, thread: int, j: int) -> tuple[np.ndarray, ...]:
    """One thread alone works: the others have no part in it."""
    kernel = amp.kernel(lowering=lowering)(function)
    ps, qs = map(amp.array_view, records())
    out = amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(view, amp.extent(1), kernel, ps, qs, out, j)
    return np.asarray(ps), np.asarray(qs), np.asarray(out)


CASES = list(itertools.product(BINDINGS, WRITES, READS))
#: The suite takes one program of so many; `python -m tests.kernel_language.test_references reference` takes all.
SLICE = 23


def compare(case: tuple[str, str, str], view, lowering: str = "auto") -> str:
    """The difference between a kernel and Python; ``""``: none, or the kernel is rejected as expected."""
    binding, write, read = case
    function = program(BINDINGS[binding], WRITES[write], READS[read])
    expected = as_python(function, 0, 2)
    refused = REFUSED.get((binding, write), "")
    try:
        got = as_kernel(function, view, lowering, 0, 2)
    except amp.CompileError as error:
        code = str(error).partition(":")[0]
        return "" if code == refused else f"refused: {error}"
    if refused:
        return f"{refused} is missing"
    for one, other, name in zip(got, expected, ("ps", "qs", "out"), strict=True):
        if one.tobytes() != other.tobytes():
            return f"{name}: {one} instead of {other}"
    return ""


def test_names_refer_as_in_python(accelerator_view):
    found = {case: compare(case, accelerator_view) for case in CASES[::SLICE]}
    assert not {case: text for case, text in found.items() if text}


@pytest.mark.parametrize("binding", ["best of a loop", "last of a loop"])
def test_a_name_keeps_an_object_of_an_earlier_iteration(accelerator_view, binding):
    case = (binding, "augmented", "fields")
    assert compare(case, accelerator_view) == ""


@amp.kernel
def changed_after_it_is_kept(idx, out):
    best = P(0.0, 0)
    for m in range(3):
        p = P(m, idx[0])
        if p.x > best.x:
            best = p
        p.n += 5
    out[idx] = best.n


def test_an_object_that_changes_after_a_name_keeps_it_is_refused(accelerator_view):
    out = amp.array_view(np.zeros(2, np.int32))
    with pytest.raises(amp.CompileError, match="VKA353: in Python `best` and `p` are one object here"):
        amp.parallel_for_each(accelerator_view, out.extent, changed_after_it_is_kept, out)


# -- tiles ---------------------------------------------------------------------------------------------------------


@amp.struct
class Small:
    flag: amp.uint8
    shift: amp.int16
    at: amp.float3


@amp.func
def doubled(item):
    item.shift *= 2
    item.at.y += 0.5


@amp.func
def last_of(tile, k):
    return tile[k]


def tiles(t_idx, data, out, rounds):
    tile = amp.tile_static(8, Small)
    lane = t_idx.local[0]
    mine = tile[lane]
    left = tile[(lane + 7) % 8]
    tile[lane] = data[t_idx]
    mine.flag = lane
    for k in range(rounds):
        t_idx.barrier.wait_with_tile_static_memory_fence()
        seen = left.shift
        t_idx.barrier.wait_with_tile_static_memory_fence()
        mine.shift = mine.shift + seen % 7
        doubled(mine)
        if k == lane:
            left = tile[lane]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    other = last_of(tile, (lane + 3) % 8)
    out[t_idx] = other
    out[t_idx].shift += left.shift


def tiles_in_numpy(data: np.ndarray, rounds: int) -> np.ndarray:
    out = np.zeros(len(data), Small)
    for start in range(0, len(data), 8):
        tile = data[start : start + 8].copy()
        lanes = np.arange(8)
        left = (lanes + 7) % 8
        tile["flag"] = lanes
        for k in range(rounds):
            seen = tile["shift"][left]
            tile["shift"] = (tile["shift"] + seen % 7) * 2
            tile["at"]["y"] += np.float32(0.5)
            left = np.where(lanes == k, lanes, left)
        out[start : start + 8] = tile[(lanes + 3) % 8]
        out["shift"][start : start + 8] += tile["shift"][left]
    return out


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_elements_of_tiles_across_barriers(accelerator_view, lowering):
    data = np.zeros(24, Small)
    data["shift"] = np.arange(24) * 5 % 13
    data["at"]["y"] = np.arange(24)
    out = amp.array_view(np.zeros(24, Small))
    kernel = amp.kernel(lowering=lowering)(tiles)
    amp.parallel_for_each(accelerator_view, out.extent.tile(8), kernel, amp.array_view(data), out, 3)
    np.testing.assert_array_equal(np.asarray(out), tiles_in_numpy(data, 3))


@amp.struct
class Wide:
    mass: amp.float64
    count: amp.int32


@amp.func
def grown(w, by):
    w.mass += by
    return w


@amp.kernel
def wide(idx, data):
    w = grown(data[idx], 0.25)
    w.mass *= 3.0
    amp.atomic_fetch_add(w.count, 5)
    first = data[0]
    amp.atomic_fetch_add(first.count, 1)
    counted(data[idx])


@amp.func
def counted(w):
    amp.atomic_fetch_max(w.count, 100)


@pytest.mark.parametrize("device", ["llvmpipe@vulkan", "reference"])
def test_doubles_and_atomics_through_names(device):
    accelerator_view = amp.accelerator(device).default_view
    data = np.zeros(5, Wide)
    data["mass"] = np.arange(5)
    view = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, view.extent, wide, view)
    got = np.asarray(view)
    np.testing.assert_array_equal(got["mass"], (np.arange(5) + 0.25) * 3)
    assert got["count"][1:].tolist() == [100] * 4
    assert got["count"][0] >= 100


@amp.kernel
def in_sections(idx, grid):
    part = grid.section(amp.index(1, 1), amp.extent(3, 2))
    p = part[idx]
    q = part[idx[0], 1 - idx[1]]
    p.n += 10
    if q.n > p.n:
        q.x = 1.0


def test_elements_of_sections(accelerator_view):
    data = np.zeros((5, 4), P)
    data["n"] = np.arange(20).reshape(5, 4)
    expected = data["n"].copy()
    expected[1:4, 1] += 10
    view = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, amp.extent(3, 1), in_sections, view)
    got = np.asarray(view)
    np.testing.assert_array_equal(got["n"], expected)
    assert not got["x"].any()


@amp.func
def moved(v, by):
    v.x += by
    v += 1.0
    return v


@amp.func
def moved_there(vs, k):
    v = vs[k]
    v.y = 5.0
    old = v.copy()
    v.x = 9.0
    return old + v


@amp.func
def next_of(where):
    where[0] += 1
    return where


@amp.kernel
def vectors(idx, vs, out):
    v = amp.float2(1.0, 2.0)
    out[0] = moved(v, 3.0) + v
    out[1] = moved_there(vs, 2)
    w = v
    w += 1.0
    out[2] = v + w
    here = amp.index(idx[0])
    out[3].x = next_of(here)[0] * 10.0 + here[0]


def test_vectors_and_indices_are_values(accelerator_view):
    vs, out = amp.array_view(np.ones(4, amp.float2.dtype)), amp.array_view(np.zeros(4, amp.float2.dtype))
    amp.parallel_for_each(accelerator_view, amp.extent(1), vectors, vs, out)
    v = amp.float2(1.0, 2.0)
    assert out[0] == moved(v, 3.0) + v == amp.float2(6.0, 5.0)
    assert out[1] == moved_there(vs, 2) == amp.float2(10.0, 10.0)
    w = v
    w += 1.0
    assert out[2] == v + w
    here = amp.index(0)
    assert out[3].x == next_of(here)[0] * 10.0 + here[0] == 10.0
    assert np.asarray(vs).tolist() == [[1.0, 1.0]] * 4


def test_shaders_name_the_element_itself():
    @amp.kernel
    def move(idx, ps):
        p = ps[idx]
        p.x += p.inner.a

    view = amp.array_view(np.zeros(4, P))
    assert "ps[idx_0].x += ps[idx_0].inner_.a;" in move.inspect(view.extent, view).glsl.replace("inner.", "inner_.")


if __name__ == "__main__":
    import sys

    device = amp.accelerator(sys.argv[1]).default_view
    step = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wrong = 0
    for case in CASES[::step]:
        result = compare(case, device)
        wrong += bool(result)
        if result:
            print(case, result)
    print(f"{len(CASES[::step])} programs, {wrong} wrong")
