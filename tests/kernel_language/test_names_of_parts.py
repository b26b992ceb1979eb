"""Names that the compiler forms from those of a program: parts of what a launch passes, objects without a name, flags.

They are never names of the program, also of what it reads from outside the kernel.
"""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import F32


@amp.struct
class Pair:
    x: amp.float32
    y: amp.float32

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)


def test_captured_numbers_beside_captured_structs_vectors_and_indices(accelerator_view):
    out = amp.array_view(np.zeros(6, F32))
    p, p_x, p_y = Pair(1.0, 2.0), 3.0, 4
    v, v_x, v_y = amp.float2(5.0, 6.0), 7.0, 8
    i, i_0, i_1 = amp.index(9, 10), 11, 12
    z, z_x, z_y = np.complex64(13 + 14j), 15.0, 16

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(idx):
        k = idx[0]
        out[k] = p.x + 100 * p_x + 10_000 * p.y
        out[k + 1] = v.x + 100 * v_x + 10_000 * v.y
        out[k + 2] = i[0] + 100 * i_0 + 10_000 * i[1]
        out[k + 3] = z.real + 100 * z_x + 10_000 * z.imag
        out[k + 4] = p_y + 100 * v_y
        out[k + 5] = i_1 + 100 * z_y

    assert np.asarray(out).tolist() == [20301, 60705, 101109, 141513, 804, 1612]


def test_arguments_beside_structs_vectors_and_indices(accelerator_view):
    out = amp.array_view(np.zeros(3, F32))

    @amp.kernel
    def sums(idx, p, p_x, v, v_y, i, i_1, out):
        k = idx[0]
        out[k] = p.x + 100 * p_x + 10_000 * p.y
        out[k + 1] = v.x + 100 * v_y + 10_000 * v.y
        out[k + 2] = i[0] + 100 * i_1 + 10_000 * i[1]

    for k in range(2):
        given = Pair(1 + k, 2), 3 + k, amp.float2(4 + k, 5), 6 + k, amp.index(7 + k, 8), 9 + k
        amp.parallel_for_each(accelerator_view, amp.extent(1), sums, *given, out)
        assert np.asarray(out).tolist() == [20301 + 101 * k, 50604 + 101 * k, 80907 + 101 * k]


def test_members_of_an_object_beside_its_structs_and_vectors(accelerator_view):
    class Model:
        def __init__(self):
            self.p, self.p_x = Pair(1.0, 2.0), 3.0
            self.v, self.v_y = amp.float2(4.0, 5.0), 6.0

        @amp.kernel
        def sums(self, idx, self_p_x, out):
            k = idx[0]
            out[k] = self.p.x + 100 * self.p_x + 10_000 * self.p.y
            out[k + 1] = self.v.x + 100 * self.v_y + 10_000 * self.v.y + self_p_x

    out = amp.array_view(np.zeros(2, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(1), Model().sums, 7.0, out)
    assert np.asarray(out).tolist() == [20301, 50611]


def test_a_captured_struct_is_named_like_an_object_without_a_name(accelerator_view):
    out = amp.array_view(np.zeros(4, F32))
    pair = Pair(1.0, 2.0)

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(idx):
        k = idx[0]
        total = pair + Pair(10.0, 20.0)
        out[k] = total.x
        out[k + 1] = pair.x
        out[k + 2] = (Pair(3.0, 4.0) + pair).y
        total += pair
        out[k + 3] = total.y

    assert np.asarray(out).tolist() == [11, 1, 6, 24]


def test_names_from_outside_are_read_after_loops_with_else(accelerator_view):
    values = amp.array_view(np.arange(4, dtype=F32))
    out = amp.array_view(np.zeros(2, F32))
    ended, subject, item = 5.0, 6.0, 7.0

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(idx):
        total = 0.0
        for x in values:
            if x > 10:
                break
        else:
            total += ended
        match values[idx], 1:
            case (0, _):
                total += subject
        out[idx] = total
        out[idx[0] + 1] = sum(x * item for x in values) + ended

    assert np.asarray(out).tolist() == [11, 47]
