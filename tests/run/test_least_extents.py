"""Launches with containers that are smaller than their kernel asserts."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.func
def fourth(a):
    assert a.extent[0] >= 4, "there is a fourth element"
    return a[3]


@amp.kernel
def uses_fourth(idx, a, out):
    out[idx] = fourth(a)


@amp.kernel
def may_use_fourth(idx, a, out, is_long):
    out[idx] = a[0]
    if is_long:
        out[idx] = fourth(a)


@amp.kernel
def returns_before(idx, a, out):
    out[idx] = a[0]
    if a[0] == 0:
        return
    out[idx] = fourth(a)


def launched(view, kernel, n, *args):
    a = amp.array(np.arange(n, dtype=np.int32), accelerator_view=view)
    out = amp.array(np.zeros(2, np.int32), accelerator_view=view)
    amp.parallel_for_each(view, out.extent, kernel, a, out, *args)
    return np.asarray(out).tolist()


def test_every_launch_is_checked(accelerator_view):
    message = r"uses_fourth: `a` has the extent 3 in dimension 0, and the kernel asserts that it has 4 or more: there"
    for _ in range(3):
        assert launched(accelerator_view, uses_fourth, 5) == [3, 3]
        with pytest.raises(amp.AmpError, match=message):
            launched(accelerator_view, uses_fourth, 3)


def test_assertions_that_a_launch_may_not_reach_are_not_checked(accelerator_view):
    assert launched(accelerator_view, may_use_fourth, 3, False) == [0, 0]
    assert launched(accelerator_view, returns_before, 3) == [0, 0]


def test_a_launch_that_is_recorded_is_checked_at_once(accelerator_view):
    a = amp.array(np.arange(3, dtype=np.int32), accelerator_view=accelerator_view)
    out = amp.array(np.zeros(2, np.int32), accelerator_view=accelerator_view)
    with pytest.raises(amp.AmpError, match="asserts that it has 4 or more"), amp.capture(accelerator_view):
        amp.parallel_for_each(accelerator_view, out.extent, uses_fourth, a, out)


def test_check_mode_reports_a_finding():
    a, out = amp.array_view(np.arange(3, dtype=np.int32)), amp.array_view(np.zeros(2, np.int32))
    report = amp.check(amp.accelerator("llvmpipe"), out.extent, uses_fourth, a, out)
    assert "assert" in {finding.kind for finding in report.findings}
