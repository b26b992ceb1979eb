"""``match`` as AMP's ``switch``: alternatives, guards, constants, definite assignment, uniformity."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, rows, same_rows


class codes(enum.IntEnum):
    SMALL = 2
    LARGE = 5


class limits:
    LOW = -1
    HIGH = 7


@amp.func
def name_of(x):
    match x:
        case 0 | 1:
            return 10
        case limits.LOW:
            return 20
        case limits.HIGH:
            return 30
    return 0


@amp.kernel
def switches(i, a, u, f, out):
    k = i[0]
    x = a[k]
    match x:
        case 0:
            r = 1
        case 1 | 2 | 3:
            r = 2
        case -4:
            r = 3
        case _:
            r = 4
    out[0, k] = r
    match a[k] * 2 % 5:
        case 1 if x > 0:
            out[1, k] = 100
        case 1:
            out[1, k] = 200
        case 2 | 3:
            out[1, k] = 300
    out[2, k] = name_of(x)
    total = 0
    for j in range(6):
        match j:
            case 1:
                continue
            case 4:
                break
            case _ if j == x:
                total += 50
        total += j
    out[3, k] = total
    match u[k]:
        case 4294967295:
            out[4, k] = 1
        case 3:
            out[4, k] = 2
        case _:
            out[4, k] = 3
    match x > 0:
        case True:
            out[5, k] = 1
        case False:
            out[5, k] = 2
    match f[k]:
        case 0.5:
            out[6, k] = 1
        case 2:
            out[6, k] = 2
        case _:
            out[6, k] = 3
    match x:
        case 0:
            x = 1
        case 1:
            x = 0
    out[7, k] = x


def test_match(accelerator_view):
    a = np.array([0, 1, 2, 3, -4, 5, 7, -1, 9], I32)
    u = np.array([0, 3, 4294967295, 4, 5, 3, 3, 1, 2], U32)
    f = np.array([0.5, 2, 3, 0.25, 2, 0.5, 0, 1, 2], F32)

    def remainder(x):
        return x * 2 % 5

    def row(function, *values):
        return [function(*(v.item() for v in vs)) for vs in zip(*values, strict=True)]

    expected = {
        "alternatives": row(lambda x: 1 if x == 0 else 2 if x in (1, 2, 3) else 3 if x == -4 else 4, a),
        "an expression, guards": row(lambda x: {1: 100 if x > 0 else 200, 2: 300, 3: 300}.get(remainder(x), 77), a),
        "dotted constants": row(lambda x: {0: 10, 1: 10, -1: 20, 7: 30}.get(x, 0), a),
        "in a loop": row(lambda x: 5 + 50 * (x in (0, 2, 3)), a),
        "unsigned": row(lambda x: {4294967295: 1, 3: 2}.get(x, 3), u),
        "bool": row(lambda x: 1 if x > 0 else 2, a),
        "float": row(lambda x: {0.5: 1, 2: 2}.get(x, 3), f),
        "the subject is evaluated once": row(lambda x: {0: 1, 1: 0}.get(x, x), a),
    }
    same_rows(rows(accelerator_view, switches, len(expected), I32, a, u, f), expected)


@amp.kernel
def constant_match(i, out, *, mode: amp.constant):
    match mode:
        case 1:
            out[i] = 10
        case 2:
            out[i] = 20
        case _:
            out[i] = 30


def test_a_constant_subject_leaves_one_case(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    for chosen, value in ((1, 10), (2, 20), (7, 30)):
        amp.parallel_for_each(accelerator_view, out.extent, constant_match, out, mode=chosen)
        assert np.asarray(out).tolist() == [value] * 3
    glsl = constant_match.inspect(out.extent, out, mode=2).glsl
    assert "if (" not in glsl.split("domain_0")[-1].split("return;")[-1]


@amp.kernel
def uniform_match(t_idx, mode, out):
    match t_idx.tile[0] - mode:
        case 0:
            out[t_idx] = 1
        case _:
            t_idx.barrier.wait()
            out[t_idx] = 2


@amp.kernel
def divergent_match(t_idx, out):
    match t_idx.local[0]:
        case 0:
            out[t_idx] = 1
        case 1:
            t_idx.barrier.wait()


@amp.kernel
def assigned_in_one_case(i, out):
    match i[0]:
        case 0:
            x = 1
        case 1:
            x = 2
    out[i] = x


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_uniformity_follows_the_subject(accelerator_view):
    out = amp.array_view(np.zeros(12, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), uniform_match, 1, out)
    assert np.asarray(out).tolist() == [2] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(amp.CompileError, match=r"VKA601(.|\n)*case 1:"):
        divergent_match.inspect(amp.extent(12).tile(4), out)


def test_a_case_that_is_missing_assigns_nothing():
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError, match="VKA202: `x` may be unassigned here"):
        assigned_in_one_case.inspect(out.extent, out)


@amp.kernel
def enumerated(i, a, out):
    match a[i]:
        case codes.SMALL:
            out[i] = 1
        case codes.LARGE:
            out[i] = 2
        case _:
            out[i] = 3


def test_members_of_an_enumeration_are_constants(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    a = amp.array_view(np.array([2, 5, 0, 2], I32))
    amp.parallel_for_each(accelerator_view, out.extent, enumerated, a, out)
    assert np.asarray(out).tolist() == [1, 2, 3, 1]


@amp.func
def raised(a, k):
    a[k] += 1
    return False


@amp.kernel
def subject_that_changes(i, a, out):
    k = i[0]
    match a[k] + 1:
        case 3 if raised(a, k):
            out[k] = 1
        case 4:
            out[k] = 2
        case 3:
            out[k] = 3
        case _:
            out[k] = 4


def test_a_subject_is_evaluated_once(accelerator_view):
    """Python keeps its value, whatever a guard does to what it was computed from."""
    a = np.arange(6, dtype=I32)
    view, out = amp.array_view(a), amp.array_view(np.zeros(6, I32))
    amp.parallel_for_each(accelerator_view, out.extent, subject_that_changes, view, out)
    assert np.asarray(out).tolist() == [4, 4, 3, 2, 4, 4]
    assert np.asarray(view).tolist() == [0, 1, 3, 3, 4, 5]


@amp.func
def activated(x, *, mode: amp.constant):
    if mode == "relu":
        return max(x, 0)
    return -x


@amp.kernel
def activate(idx, a, *, mode: amp.constant = None):
    if mode is None:
        a[idx] += 100
    elif mode in ("twice", "double"):
        a[idx] *= 2
    else:
        match mode:
            case "relu" | "negative":
                a[idx] = activated(a[idx], mode=mode)
            case _:
                a[idx] = 7


def test_strings_and_none_are_constants(accelerator_view):
    a = np.array([-1, 2, 3], np.int32)
    for mode, expected in (
        (None, a + 100), ("double", a * 2), ("relu", np.maximum(a, 0)), ("negative", -a), ("other", np.full(3, 7)),
    ):  # fmt: skip
        view = amp.array_view(a.copy())
        amp.parallel_for_each(accelerator_view, view.extent, activate, view, mode=mode)
        np.testing.assert_array_equal(view, expected)
    view = amp.array_view(a.copy())
    amp.parallel_for_each(accelerator_view, view.extent, activate, view)
    np.testing.assert_array_equal(view, a + 100)


def test_the_number_of_a_string():
    @amp.kernel
    def numbered(idx, a, *, mode: amp.constant):
        a[idx] = mode

    with pytest.raises(amp.CompileError, match="VKA311: `mode` is a string, but a number is needed here"):
        numbered.inspect(amp.extent(3), amp.array_view(np.zeros(3, np.int32)), mode="relu")
