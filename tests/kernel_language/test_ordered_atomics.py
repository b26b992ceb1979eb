"""Atomic loads and stores with an order: a payload behind a flag is no race."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.kernel
def passed_on(t_idx, payload, flags, out, *, order: amp.constant):
    """Each tile writes a payload and raises its flag; a later tile reads the payload where the flag is up."""
    tile = t_idx.tile[0]
    payload[t_idx.global_[0]] = t_idx.global_[0] + 1
    t_idx.barrier.wait()
    if t_idx.local[0] == 0:
        if order:
            amp.atomic_store(flags[tile], 1)
        else:
            amp.atomic_store(flags[tile], 1, order="relaxed", scope="device")
    seen = 0
    if tile > 0:
        seen = amp.atomic_load(flags[tile - 1])
    out[t_idx.global_[0]] = payload[t_idx.global_[0] - t_idx.tile_dim0] if seen == 1 else -1


@amp.kernel
def loaded(idx, words, out):
    x = amp.atomic_load(words[idx], order="relaxed")
    amp.atomic_store(out[idx], x + 1, scope="tile")
    amp.atomic_store(element=words[idx], value=2)


def _run(view, order):
    payload, flags, out = (amp.array(np.zeros(n, np.int32), accelerator_view=view) for n in (40, 5, 40))
    amp.parallel_for_each(view, payload.extent.tile(8), passed_on, payload, flags, out, order=order)
    return np.asarray(out)


def test_payload(accelerator_view):
    out = _run(accelerator_view, True)
    expected = np.arange(40) - 7
    assert (out[:8] == -1).all() and ((out == -1) | (out == expected)).all()


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
def test_values(accelerator_view, kind):
    words = amp.array(np.arange(5).astype(kind), accelerator_view=accelerator_view)
    out = amp.array(np.zeros(5, kind), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, words.extent, loaded, words, out)
    assert np.asarray(out).tolist() == [1, 2, 3, 4, 5] and np.asarray(words).tolist() == [2] * 5


def test_without_an_order_it_is_a_race():
    view = amp.accelerator("reference").default_view
    assert _run(view, True)[8:].tolist() == list(range(1, 33))
    with pytest.raises(amp.RaceError, match="race on payload"):
        _run(view, False)


@pytest.mark.accelerators("llvmpipe", "reference")
def test_check_mode(accelerator_view):
    payload, flags, out = (amp.array(np.zeros(n, np.int32), accelerator_view=accelerator_view) for n in (40, 5, 40))
    report = amp.check(accelerator_view, payload.extent.tile(8), passed_on, payload, flags, out, order=True)
    assert not report.findings


@amp.kernel
def misspelled(idx, words):
    amp.atomic_store(words[idx], 1, order="acquire")


def test_a_wrong_order():
    with pytest.raises(amp.CompileError, match='`order` is "release" or "relaxed"'):
        amp.parallel_for_each(amp.extent(4), misspelled, amp.array_view(np.zeros(4, np.int32)))
