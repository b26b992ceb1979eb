"""Loops of more iterations than a driver has for a thread: check mode reports them instead of wrong results."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

#: A multiple of 80.
N = 70_000


@amp.kernel
def upwards(i, n, out):
    total = 0
    for _ in range(3, n[i] + 3):
        total += 1
    out[i] = total


@amp.kernel
def downwards(i, n, out):
    total = 0
    for k in range(n[i], 0, -1):
        if k < 0:
            break
        total += 1
    out[i] = total


@amp.kernel
def of_constant_length(i, n, out):
    total = 0
    for k in range(70_000):
        if k == n[i]:
            break
        total += 1
    out[i] = total


@amp.kernel
def with_condition(i, n, out):
    total = 0
    while total < n[i]:
        total += 1
    out[i] = total


@amp.kernel
def without_condition(i, n, out):
    total = 0
    while True:
        if total >= n[i]:
            break
        total += 1
    out[i] = total


@amp.kernel
def of_short_loops(i, n, out):
    total = 0
    for _ in range(n[i] // 80):
        for j in range(3, 200):
            if j == 83:
                break
            total += 1
    out[i] = total


@amp.func
def counted(n):
    total = 0
    for _ in range(n):
        total += 1
    return total


@amp.kernel
def of_calls(i, n, out):
    total = 0
    while total < n[i]:
        total += counted(80)
    out[i] = total


@amp.kernel
def with_a_bound_that_changes(i, n, out):
    total = 0
    end = amp.uint32(n[i])
    for _ in range(int(end)):
        end += 100_000_000
        total += 1
    out[i] = total


@amp.kernel
def by_a_variable_step(i, n, out):
    step = max(min(n[i], 2), 1)
    total = 0
    for _ in range(0, step * n[i], step):
        total += 1
    out[i] = total


KERNELS = [
    upwards,
    downwards,
    of_constant_length,
    with_condition,
    without_condition,
    of_short_loops,
    of_calls,
    with_a_bound_that_changes,
    by_a_variable_step,
]


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_loops_of_many_iterations(accelerator, kernel):
    view = accelerator.default_view
    for n in (0, 80, 400, N):
        given = np.array([0, n, 0], np.int32)
        out = amp.array_view(np.zeros(3, np.int32))
        report = amp.check(view, out.extent, kernel, amp.array_view(given), out)
        if n > 400 and "ends_loops" in accelerator.quirks:
            assert {each.kind for each in report.findings} == {"loop"}
            assert not np.array_equal(out, given)
            continue
        assert report.ok, report
        assert np.asarray(out).tolist() == given.tolist()


@pytest.mark.accelerators("llvmpipe")
def test_message(accelerator):
    out = amp.array_view(np.zeros(3, np.int32))
    n = amp.array_view(np.array([5, N, 0], np.int32))
    (finding,) = amp.check(accelerator.default_view, out.extent, with_condition, n, out).findings
    assert [thread.global_ for thread in finding.threads] == [(1,)]
    assert str(finding).splitlines()[0] == (
        "the driver ended this loop early: it ends all loops of a thread after 65,535 iterations in total, "
        "in thread (1)"
    )
    assert "while total < n[i]:" in str(finding)
