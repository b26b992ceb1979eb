"""``amp.uniform``: the author's claim that a value is the same for all threads of a tile."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same


@amp.func
def more(x):
    return amp.uniform(x) > 0


@amp.kernel
def rounds_of_each_tile(t_idx, rounds, out, n):
    ring = amp.tile_static(t_idx.tile_dim0, amp.int32)
    i = t_idx.local[0]
    total = 0
    count = amp.uniform(rounds[t_idx.tile])
    for k in range(count):
        ring[i] = i + k
        t_idx.barrier.wait()
        total += ring[(i + 1) % t_idx.tile_dim0]
        t_idx.barrier.wait()
    steps = 0
    while amp.uniform(rounds[t_idx.tile] + steps) < 5:
        t_idx.barrier.wait()
        steps += 1
    if n > 0 and amp.uniform(count > 1) and more(rounds[t_idx.tile]):
        ring[i] = 10 * i
        t_idx.barrier.wait()
        total += ring[(i + 2) % t_idx.tile_dim0]
    out[t_idx] = 1000 * total + amp.uniform(steps)


def expected_rounds(rounds, tile):
    i = np.arange(tile)
    out = []
    for count in rounds:
        total = sum(((i + 1) % tile + k for k in range(count)), np.zeros(tile, int))
        if count > 1:
            total = total + 10 * ((i + 2) % tile)
        out.append(1000 * total + max(5 - count, 0))
    return np.concatenate(out)


@pytest.mark.parametrize("tile", [1, 3, 8])
def test_a_loaded_value_decides_over_barriers(accelerator_view, tile):
    rounds = np.array([0, 3, 1, 7, 2], I32)
    out = amp.array(amp.extent(5 * tile), amp.int32, accelerator_view=accelerator_view)
    domain = out.extent.tile(tile)
    amp.parallel_for_each(accelerator_view, domain, rounds_of_each_tile, amp.array_view(rounds), out, 1)
    same(np.asarray(out), expected_rounds(rounds, tile).astype(I32))


@amp.kernel
def of_each_type(t_idx, floats, ints, uints, out):
    i = t_idx.tile[0]
    x = amp.uniform(floats[i])
    y = amp.uniform(ints[i] - 2)
    z = amp.uniform(uints[i] * 3)
    if amp.uniform(ints[i] > 2) or x > 1.5:
        t_idx.barrier.wait()
        out[t_idx] = x
    elif z == 3:
        t_idx.barrier.wait()
        out[t_idx] = amp.float32(z)
    else:
        out[t_idx] = amp.float32(y) + amp.uniform(0.5) + amp.uniform(t_idx.tile[0])


def test_every_scalar_type(accelerator_view):
    floats, ints, uints = np.array([2.5, 0, 0, 0], F32), np.array([0, 3, 0, 1], I32), np.array([0, 0, 1, 2], np.uint32)
    out = amp.array(amp.extent(12), amp.float32, accelerator_view=accelerator_view)
    views = [amp.array_view(a) for a in (floats, ints, uints)]
    amp.parallel_for_each(accelerator_view, out.extent.tile(3), of_each_type, *views, out)
    same(np.asarray(out), np.repeat(np.array([2.5, 0, 3, 2.5], F32), 3))


def test_plain_python_gets_the_argument_back():
    assert more(3) and not more(-1)
    assert amp.uniform(2.5) == 2.5


# -- what the reference accelerator verifies


@pytest.fixture
def reference():
    return amp.accelerator("reference").default_view


@amp.kernel
def claim_of_each_thread(t_idx, values, out):
    out[t_idx] = amp.uniform(values[t_idx])


def claimed(view, values, tile):
    values = np.asarray(values)
    out = amp.array_view(np.zeros_like(values))
    amp.parallel_for_each(view, out.extent.tile(tile), claim_of_each_thread, amp.array_view(values), out)
    return np.asarray(out)


def test_a_wrong_claim_names_two_threads_and_their_values(reference):
    with pytest.raises(amp.CheckError) as caught:
        claimed(reference, np.array([4, 4, 4, 5, 5, 6, 7, 7, 7], I32), 3)
    error = caught.value
    assert error.error_code == "uniformity"
    text = "got different values in one tile: 5 in thread (3) (tile (1), local (0)), 6 in thread (5)"
    assert text in str(error)
    assert "out[t_idx] = amp.uniform(values[t_idx])" in str(error)
    (finding,) = error.findings
    assert [t.global_ for t in finding.threads] == [(3,), (5,)]


def test_tiles_may_differ_from_each_other(reference):
    same(claimed(reference, np.array([4, 4, 5, 5, 4, 4], I32), 2), np.array([4, 4, 5, 5, 4, 4], I32))


@pytest.mark.parametrize("pair", [(0.0, -0.0), (1.0, np.nan), (1.0, np.nextafter(F32(1), F32(2)))])
def test_floats_are_compared_bit_by_bit(reference, pair):
    with pytest.raises(amp.CheckError, match="uniform"):
        claimed(reference, np.array(pair, F32), 2)


def test_a_nan_is_like_any_other(reference):
    values = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(F32)
    assert np.isnan(claimed(reference, values, 2)).all()


@amp.kernel
def claim_in_a_loop(t_idx, values, out):
    total = 0
    for k in range(values.extent[0]):
        total += amp.uniform(k * 3)
        if amp.uniform(values[k, t_idx.local[0]] > 2):
            t_idx.barrier.wait()
        total += amp.uniform(values[k, 0])
    out[t_idx] = total


def test_the_same_pass_of_a_loop_is_compared(reference):
    """The value may change from one iteration to the next; the threads must agree in each."""
    out = amp.array_view(np.zeros(2, I32))
    good = np.array([[1, 2], [3, 5], [4, 9], [0, 1]], I32)
    amp.parallel_for_each(reference, out.extent.tile(2), claim_in_a_loop, amp.array_view(good), out)
    same(np.asarray(out), np.full(2, 18 + 8, I32))
    bad = good.copy()
    bad[3, 1] = 3
    with pytest.raises(amp.CheckError, match=r"False in thread \(0\) .*True in thread \(1\)"):
        amp.parallel_for_each(reference, out.extent.tile(2), claim_in_a_loop, amp.array_view(bad), out)
