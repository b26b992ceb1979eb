"""`amp.dot4_signed` and its kin with all bytes, also by the instruction of devices that have one.

Each row against its reference is in test_builtins.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

N = 1000


@amp.kernel
def products(i, a, b, c, d, signed, unsigned):
    x, y = amp.asuint(a[i]), amp.asuint(b[i])
    signed[0, i[0]] = amp.dot4_signed(a[i], b[i], c[i])
    signed[1, i[0]] = amp.dot4_signed_sat(a[i], b[i], c[i])
    unsigned[0, i[0]] = amp.dot4_unsigned(x, y, d[i])
    unsigned[1, i[0]] = amp.dot4_unsigned_sat(x, y, d[i])


def sums(a: np.ndarray, b: np.ndarray, kind: type, c: np.ndarray) -> np.ndarray:
    return (a.view(kind).reshape(-1, 4).astype(np.int64) * b.view(kind).reshape(-1, 4)).sum(1) + c


@pytest.mark.parametrize("engine", ["", "@vulkan"])
def test_products(accelerator_view, engine):
    name = accelerator_view.accelerator.device_path.partition("@")[0]
    view = accelerator_view if name == "reference" else amp.accelerator(name + engine).default_view
    generator = np.random.default_rng(1)
    a, b = (generator.integers(-(2**31), 2**31, N).astype(np.int32) for _ in range(2))
    c = generator.choice([0, 2**31 - 1, -(2**31), 100, -40000, 2**31 - 20000], N).astype(np.int32)
    d = generator.choice([0, 2**32 - 1, 2**32 - 100000, 7], N).astype(np.uint32)
    signed, unsigned = amp.array_view(np.zeros((2, N), np.int32)), amp.array_view(np.zeros((2, N), np.uint32))
    args = (*(amp.array_view(x) for x in (a, b, c, d)), signed, unsigned)
    amp.parallel_for_each(view, amp.extent(N), products, *args)
    s, u = sums(a, b, np.int8, c), sums(a, b, np.uint8, d)
    np.testing.assert_array_equal(np.asarray(signed), [s.astype(np.int32), np.clip(s, -(2**31), 2**31 - 1)])
    np.testing.assert_array_equal(np.asarray(unsigned), [u.astype(np.uint32), np.clip(u, 0, 2**32 - 1)])
    is_native = "spirv_instruction" in products.inspect(view, amp.extent(N), *args).glsl
    assert is_native == ("integer_dot_product" in view._queue.info.usable_features)
