"""Structured dtypes: nested, with subarrays and padding, in place, neighbours' bytes intact; structs of a launch."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same

Vec = np.dtype([("x", F32), ("y", F32), ("z", F32)])
Body = np.dtype([("position", Vec), ("weights", F32, (2, 3)), ("id", I32), ("flags", U32), ("next", Vec, 2)])
#: Gaps between members, after the last one, and an offset first member.
Padded = np.dtype(
    {"names": ["a", "b", "c"], "formats": [F32, (I32, 2), U32], "offsets": [4, 16, 28], "itemsize": 40}
)  # fmt: skip
Single = np.dtype([("only", U32)])
Aligned = np.dtype([("a", F32), ("b", I32), ("c", F32, 5)], align=True)


def filled(dtype: np.dtype, count: int) -> np.ndarray:
    """Elements whose every byte is known, gaps included; as floats they are ordinary numbers."""
    words = np.arange(count * dtype.itemsize // 4, dtype=U32) + 0x3F800000
    return words.view(np.uint8).view(dtype)


def whole_bytes(data: np.ndarray) -> np.ndarray:
    return np.frombuffer(data.tobytes(), np.uint8)


@amp.kernel
def body_fields(i, bodies):
    k = i[0]
    bodies[k].position.x = 1.5
    bodies[k].position.y += 2
    bodies[k].weights[1, 2] = bodies[k].weights[0, 1] * 2
    bodies[k].id = k - 5
    bodies[k].flags |= 3
    bodies[k].next[1].z = bodies[k].next[0].x + bodies[k].position.x
    bodies[k]["next"][0]["y"] = -bodies[k].position.z
    for r in range(2):
        bodies[k].weights[r, 0] = r + k


def test_nested_fields_in_place(accelerator_view):
    data, expected = filled(Body, 5), filled(Body, 5)
    k = np.arange(5)
    expected["position"]["x"] = 1.5
    expected["position"]["y"] += 2
    expected["weights"][:, 1, 2] = expected["weights"][:, 0, 1] * 2
    expected["id"] = k - 5
    expected["flags"] |= 3
    expected["next"]["z"][:, 1] = expected["next"]["x"][:, 0] + F32(1.5)
    expected["next"]["y"][:, 0] = -expected["position"]["z"]
    expected["weights"][:, :, 0] = np.arange(2) + k[:, None]
    view = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, view.extent, body_fields, view)
    view.synchronize()
    same(whole_bytes(data), whole_bytes(expected))


@amp.kernel
def padded_fields(i, data):
    data[i].b[1] = data[i].b[0] + 1
    data[i].a = 0.25


@pytest.mark.parametrize("strided", [False, True])
def test_padding_and_neighbours_keep_their_bytes(accelerator_view, strided):
    data, expected = filled(Padded, 8), filled(Padded, 8)
    chosen = slice(1, 7, 3) if strided else slice(2, 5)
    expected["b"][chosen, 1] = expected["b"][chosen, 0] + 1
    expected["a"][chosen] = 0.25
    view = amp.array_view(data[chosen])
    amp.parallel_for_each(accelerator_view, view.extent, padded_fields, view)
    view.synchronize()
    del view
    same(whole_bytes(data), whole_bytes(expected))


@amp.kernel
def whole_elements(i, source, target):
    k = i[0]
    target[k] = source[source.extent[0] - 1 - k]


@pytest.mark.parametrize("dtype", [Vec, Body, Padded, Single, Aligned], ids=["vec", "body", "padded", "one", "aligned"])
def test_elements_are_copied_whole(accelerator_view, dtype):
    data = filled(dtype, 7)
    target = amp.array(amp.extent(7), dtype, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, amp.extent(7), whole_elements, amp.array_view(data, readonly=True), target)
    result = np.asarray(target)
    assert result.dtype == dtype
    for name in dtype.names:
        same(result[name], data[name][::-1], name)


@amp.kernel
def structs_to_fields(i, bodies, points, out):
    k = i[0]
    p = bodies[k].position
    points[k] = p
    bodies[k].next[0] = points[k]
    bodies[k].next[1] = p
    out[k] = p.x + bodies[k].next[1].y


def test_struct_members_are_assigned_whole(accelerator_view):
    data = filled(Body, 3)
    points, out = amp.array_view(np.zeros(3, Vec)), amp.array_view(np.zeros(3, F32))
    bodies = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, amp.extent(3), structs_to_fields, bodies, points, out)
    got = np.asarray(bodies)
    same(np.asarray(points), got["position"])
    same(got["next"][:, 0], got["position"])
    same(got["next"][:, 1], got["position"])
    same(np.asarray(out), got["position"]["x"] + got["position"]["y"])


@amp.kernel
def by_value(i, body, step, out):
    k = i[0]
    copied = body.copy()
    copied.position.x += k
    copied.weights[1, 1] *= 2
    copied.id += step.only
    out[k] = copied
    if body.id != copied.id - step.only:
        out[k].id = -1


def test_structs_by_value(accelerator_view):
    body = filled(Body, 1)
    body["id"] = 40
    step = np.array([(7,)], Single)
    out = amp.array_view(np.zeros(3, Body))
    amp.parallel_for_each(accelerator_view, amp.extent(3), by_value, body[0], step[0], out)
    expected = np.repeat(body, 3)
    expected["position"]["x"] += np.arange(3, dtype=F32)
    expected["weights"][:, 1, 1] *= 2
    expected["id"] = 47
    same(np.asarray(out), expected)
    assert body["id"][0] == 40


def test_struct_closure(accelerator_view):
    light = np.array([(1, 2, 3)], Vec)[0]
    out = amp.array_view(np.zeros(4, F32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = light.x * 100 + light.y * 10 + light.z + i[0]

    same(np.asarray(out), 123 + np.arange(4))


@amp.kernel
def grid_of_structs(i, source, target):
    row, col = i
    target[col, row].x = source[i].z
    target[col, row].y = source[row, col].y
    target[col, row].z = source[row][col].x


def test_two_dimensional_structs_in_sections(accelerator_view):
    data = filled(Vec, 30).reshape(5, 6)
    result = filled(Vec, 48).reshape(6, 8)
    expected = result.copy()
    part, target = data[1:4, ::2], result[2:5, 3:6]
    expected[2:5, 3:6]["x"] = part["z"].T
    expected[2:5, 3:6]["y"] = part["y"].T
    expected[2:5, 3:6]["z"] = part["x"].T
    out = amp.array_view(result).section(2, 3, 3, 3)
    amp.parallel_for_each(accelerator_view, amp.extent(3, 3), grid_of_structs, amp.array_view(part, readonly=True), out)
    out.synchronize()
    same(result, expected)
    del target


@amp.kernel
def private_structs(i, out):
    work = amp.private(3, Vec)
    for j in range(3):
        work[j].x = j
        work[j].y = j * 2
        work[j].z = i[0]
    first = work[0].copy()
    work[0] = work[2]
    work[2] = first
    out[i].x = work[0].x * 10 + work[2].x
    out[i].y = work[1].y
    out[i].z = work[0].z


def test_private_structs(accelerator_view):
    out = amp.array_view(np.zeros(3, Vec))
    amp.parallel_for_each(accelerator_view, out.extent, private_structs, out)
    same(np.asarray(out), np.array([(20, 2, 0), (20, 2, 1), (20, 2, 2)], Vec))


@amp.kernel
def atomics_on_fields(i, bodies):
    amp.atomic_fetch_add(bodies[i[0] % 2].id, i[0])
    amp.atomic_fetch_max(bodies[0].flags, amp.uint32(i[0]))


def test_atomics_on_fields(accelerator_view):
    data = np.zeros(2, Body)
    bodies = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, amp.extent(9), atomics_on_fields, bodies)
    got = np.asarray(bodies)
    same(got["id"], [20, 16])
    same(got["flags"], [8, 0])


#: Names that are GLSL's, or Python's own.
Awkward = np.dtype([("float", F32), ("in", I32), ("x y", F32), ("gl_Position", U32)])


@amp.kernel
def awkward_names(i, data):
    data[i].float += 1
    data[i]["in"] += 2
    data[i]["x y"] *= 3
    data[i].gl_Position += 4


def test_field_names_that_glsl_reserves(accelerator_view):
    data = np.ones(3, Awkward)
    view = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, view.extent, awkward_names, view)
    same(np.asarray(view), np.array([(2, 3, 3, 5)] * 3, Awkward))
