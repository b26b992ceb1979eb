"""Names for elements of structs that loops and branches bind anew, where each use sees one binding only."""

from __future__ import annotations

import types

import numpy as np
import pytest

import vkamp as amp


@amp.struct
class P:
    x: amp.float32
    n: amp.int32


def bound_behind_an_unrolled_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in amp.static_range(2):
        work = amp.private(2, P)
        work[0] = ps[i]
        work[1] = ps[i + k]
        p = work[k]
        p.x += 1
        t += work[k].x
    for m in range(3):
        p = ps[i + m]
        t += p.x
    out[i] = t


def array_of_an_unrolled_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in amp.static_range(2):
        work = amp.private(2, P)
        work[0] = ps[i]
        work[1] = ps[i + k]
        for m in range(2):
            p = work[m]
            t += p.x
    out[i] = t


def greatest_in_an_unrolled_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in amp.static_range(2):
        work = amp.private(2, P)
        work[0] = ps[i]
        work[1] = ps[i + k]
        p = work[0]
        for m in range(2):
            if work[m].x > p.x:
                p = work[m]
        t += p.x
    out[i] = t


def bound_in_two_loops(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in range(2):
        work = amp.private(2, P)
        work[0] = ps[i]
        work[1] = ps[i + k]
        p = work[k]
        t += p.x
    for m in range(2):
        p = ps[m]
        t += p.x
    out[i] = t


def object_behind_a_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in range(2):
        p = ps[i + k]
        t += p.x
    p = P(1.0, 2)
    t += p.x
    out[i] = t


def copies_in_a_second_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in range(2):
        p = ps[i + k]
        t += p.x
    for k in range(2):
        p = ps[i + k].copy()
        t += p.x
    out[i] = t


def stored_in_between(idx, ps, out):
    i = idx[0]
    t = 0.0
    work = amp.private(2, P)
    for k in range(2):
        p = ps[i + k]
        t += p.x
        work[k] = p
    for k in range(2):
        p = work[k]
        t += p.x
    out[i] = t


def targets_of_two_loops(idx, ps, out):
    i = idx[0]
    t = 0.0
    work = amp.private(2, P)
    work[0] = ps[1]
    work[1] = ps[2]
    for p in ps:
        t += p.x
    for p in work:
        t += p.x
    out[i] = t


def bound_in_two_branches(idx, ps, out):
    i = idx[0]
    t = 0.0
    if i > 1:
        p = ps[i]
        t += p.x
    else:
        work = amp.private(2, P)
        work[0] = ps[0]
        p = work[0]
        t += p.x
    out[i] = t


def changed_in_nested_loops(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in amp.static_range(2):
        work = amp.private(2, P)
        work[0] = ps[i]
        work[1] = ps[i + k]
        for m in range(2):
            p = work[m]
            p.x += 1
            for n in range(2):
                q = work[n]
                q.n = int(p.x)
                t += q.n + p.x
        q = ps[i]
        t += q.x
    out[i] = t


def greatest(idx, ps, out):
    i = idx[0]
    t = 0.0
    p = ps[0]
    for k in range(2):
        if ps[k].x > p.x:
            p = ps[k]
    t += p.x
    out[i] = t


def bound_in_unrolled_branches(idx, ps, out):
    i = idx[0]
    t = 0.0
    work = amp.private(2, P)
    work[0] = ps[i]
    work[1] = ps[0]
    for k in amp.static_range(2):
        if i > k:
            p = work[k]
            t += p.x
        else:
            p = ps[i]
            t += p.x * 2
    out[i] = t


def bound_twice_in_a_loop(idx, ps, out):
    i = idx[0]
    t = 0.0
    for k in range(3):
        p = ps[i]
        if k > 1:
            break
        t += p.x
        p = P(k * 1.0, k)
        t += p.x
    out[i] = t


PROGRAMS = [
    bound_behind_an_unrolled_loop, array_of_an_unrolled_loop, greatest_in_an_unrolled_loop, bound_in_two_loops,
    object_behind_a_loop, copies_in_a_second_loop, stored_in_between, targets_of_two_loops, bound_in_two_branches,
    changed_in_nested_loops, greatest, bound_in_unrolled_branches, bound_twice_in_a_loop,
]  # fmt: skip


def as_python(function, records: np.ndarray) -> list[float]:
    """With numpy's arrays for private ones, and ``range`` for ``static_range``."""
    out = np.zeros(4, np.float32)
    stand_in = types.SimpleNamespace(private=np.zeros, static_range=range)
    plain = types.FunctionType(function.__code__, {**function.__globals__, "amp": stand_in})
    for i in range(4):
        plain((i,), records, out)
    return out.tolist()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_kernels_agree_with_python(accelerator_view, function):
    records = np.zeros(8, P)
    records["x"], records["n"] = np.arange(8), np.arange(8) * 3 % 5
    ps, out = amp.array_view(records.copy()), amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, amp.kernel(function), ps, out)
    assert np.asarray(out).tolist() == as_python(function, records)


def test_names_that_may_be_one_or_the_other_are_refused():
    @amp.kernel
    def either(idx, ps, qs, out):
        p = ps[0]
        if idx[0] > 1:
            p = qs[0]
        out[idx] = p.x

    ps, qs = (amp.array_view(np.zeros(4, P)) for _ in range(2))
    out = amp.array_view(np.zeros(4, np.float32))
    with pytest.raises(amp.CompileError, match="VKA351: `p` cannot become an element of `qs` here"):
        either.inspect(out.extent, ps, qs, out)
