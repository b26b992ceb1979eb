"""An index object as the first or last subscripts of an element: ``a[idx, 0]``."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32

A = np.arange(96, dtype=F32).reshape(4, 6, 4)
C = np.arange(96, 192, dtype=F32).reshape(4, 4, 6)


@amp.kernel
def products(t_idx, a, c, out):
    tile = amp.tile_static((2, 3, 4), amp.float32)
    for j in range(4):
        tile[t_idx.local, j] = a[t_idx, j]
    t_idx.barrier.wait()
    total = 0.0
    for j in range(4):
        total += tile[t_idx.local, j] * c[j, t_idx.global_]
    a[t_idx, 0] = 1
    a[t_idx.global_, 1] += 2
    amp.atomic_fetch_add(out[t_idx], total)


def test_index_objects_are_spliced_into_subscripts(accelerator_view):
    a = amp.array(A, accelerator_view=accelerator_view)
    out = amp.array(np.ones((4, 6), F32), accelerator_view=accelerator_view)
    amp.parallel_for_each(out.extent.tile(2, 3), products, a, amp.array_view(C), out)
    expected = A.copy()
    expected[..., 0] = 1
    expected[..., 1] += 2
    np.testing.assert_array_equal(np.asarray(a), expected)
    np.testing.assert_allclose(np.asarray(out), 1 + (A * C.transpose(1, 2, 0)).sum(-1))


@pytest.mark.parametrize("key", [(amp.index(1, 2), 3), (1, amp.index(2, 3)), (amp.index(1), 2, amp.index(3))])
def test_host_views_splice_them_too(key):
    view = amp.array_view(A.copy())
    assert view[key] == A[1, 2, 3]
    view[key] = 7
    assert np.asarray(view)[1, 2, 3] == 7


@amp.kernel
def one_too_many(idx, a):
    a[idx, 0] = 1


def test_a_rank_that_does_not_fit_is_an_error():
    a = amp.array_view(np.zeros((2, 3), F32))
    with pytest.raises(amp.CompileError, match=r"VKA\d+: .*2 subscripts|rank 2"):
        amp.parallel_for_each(amp.extent(2, 3), one_too_many, a)
