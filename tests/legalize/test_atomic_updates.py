"""Atomics of floats as functions that update words."""

from __future__ import annotations

import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, UINT32
from vkamp.legalize.atomic_updates import without_float_atomics
from vkamp.legalize.lower_addresses import lower_places, memory_elements


def updated(i, sums):
    amp.atomic_fetch_add(sums[i], 1.0)
    amp.atomic_fetch_add(sums[0], 2.0)
    sums[1] = amp.atomic_fetch_max(sums[i], 3.0)
    amp.atomic_exchange(sums[i], 4.0)


def lowered(features: frozenset[str] = frozenset()) -> ir.Kernel:
    kernel = Program(updated, 1, None, tuple(buffers(sums=(FLOAT32, 1)))).kernel()
    return without_float_atomics(memory_elements(lower_places(kernel, features)))


@pytest.mark.parametrize(
    ("features", "functions"),
    [
        (frozenset(), ["atomic_fetch_add_sums", "atomic_fetch_max_sums", "atomic_exchange_sums"]),
        (frozenset({"float_atomics"}), ["atomic_fetch_max_sums", "atomic_exchange_sums"]),
    ],
)
def test_an_update_that_the_device_lacks_is_a_function_for_each_memory(features, functions):
    kernel = lowered(features)
    assert [f.name for f in kernel.functions] == functions
    left = [s for s in kernel.statements() if isinstance(s, ir.Atomic) and s.place.type == FLOAT32]
    assert len(left) == (2 if features else 0)


def test_words_are_compared_and_exchanged_as_words():
    atomics = [s for s in lowered().statements() if isinstance(s, ir.Atomic)]
    assert {str(a.type) for s in atomics for a in s.args} == {str(UINT32)}
    names = ["atomic_compare_exchange", "atomic_compare_exchange", "atomic_exchange"]
    assert [s.name for s in atomics] == names
