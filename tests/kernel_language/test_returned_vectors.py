"""Vectors and index objects that functions return: what is one object in Python, and a copy in a kernel.

Each program runs as Python and as a kernel.  Where the copy would show, the kernel is refused.  An ``@amp.func`` copies
its arguments in both, and what it returns is another object than the caller's.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.struct
class Box:
    corner: amp.float2
    size: amp.float2

    @amp.func
    def same(self, v):
        return v

    @amp.func
    def first(self):
        return self.corner


@amp.func
def same(v):
    return v


@amp.func
def deeper(v):
    return same(same(v))


@amp.func
def one_of(v, w, k: amp.int32):
    return v if k > 0 else w


@amp.func
def one_or_new(v, w, k: amp.int32):
    if k > 0:
        return v
    return w * 2.0


@amp.func
def through_names(v):
    w = v
    return w


@amp.func
def twice(v):
    return v, v


@amp.func
def twice_new(v):
    w = v * 2.0
    return w, w


@amp.func
def fresh(v):
    return v + 1.0


@amp.func
def copied(v):
    w = v.copy()
    w.x += 1.0
    return w


@amp.func
def bound_anew(v):
    v += 1.0
    return v


@amp.func
def called(f, v):
    return f(v)


@amp.func
def next_of(i):
    i += 1
    return i


AROUND = amp.float2(1.0, 2.0)
START = amp.index(3, 4)


def by_parameter(idx, out):
    p = amp.float2(1.0, 2.0)
    q = same(p)
    q.x += 1.0
    out[idx] = p.x


def by_two_functions(idx, out):
    p = amp.float2(1.0, 2.0)
    q = deeper(p)
    p.x += 1.0
    out[idx] = q.x


def by_a_name_in_it(idx, out):
    p = amp.float2(1.0, 2.0)
    q = through_names(p)
    q.x += 1.0
    out[idx] = p.x


def by_a_conditional(idx, out):
    p, r = amp.float2(1.0, 2.0), amp.float2(3.0, 4.0)
    q = one_of(r, p, idx[0])
    q.x += 1.0
    out[idx] = p.x


def by_one_of_two_returns(idx, out):
    p, r = amp.float2(1.0, 2.0), amp.float2(3.0, 4.0)
    q = one_or_new(r, p, idx[0])
    q.x += 1.0
    out[idx] = r.x


def by_a_method(idx, out):
    box = Box(amp.float2(5.0, 6.0), amp.float2(1.0, 1.0))
    p = amp.float2(1.0, 2.0)
    q = box.same(p)
    q.x += box.size.x
    out[idx] = p.x


def by_a_lambda(idx, out):
    p = amp.float2(1.0, 2.0)
    get = lambda v: v  # noqa: E731
    q = get(p)
    q.x += 1.0
    out[idx] = p.x


def by_a_capture(idx, out):
    p = amp.float2(1.0, 2.0)

    def get(k):
        return p if k == 0 else amp.float2(0.0, 0.0)

    q = get(idx[0])
    q.x += 1.0
    out[idx] = p.x


def by_a_function_as_argument(idx, out):
    p = amp.float2(1.0, 2.0)
    q = called(lambda v: p, amp.float2(v0(idx), 0.0))
    q.x += 1.0
    out[idx] = p.x


@amp.func
def v0(idx):
    return idx[0] * 1.0


def by_name(idx, out):
    p = amp.float2(1.0, 2.0)
    q = same(v=p)
    q.x += 1.0
    out[idx] = p.x


def in_a_tuple(idx, out):
    p = amp.float2(1.0, 2.0)
    q, r = twice(p)
    q.x += 1.0
    out[idx] = r.x


def new_in_a_tuple(idx, out):
    p = amp.float2(1.0, 2.0)
    q, r = twice_new(p)
    q.x += 1.0
    out[idx] = r.x


def in_a_tuple_with_a_name(idx, out):
    p = amp.float2(1.0, 2.0)
    both = twice_new(p)
    both[0].x += 1.0
    out[idx] = both[1].x


def in_a_nested_tuple(idx, out):
    p = amp.float2(1.0, 2.0)
    (q, n), m = (same(p), 2), 3
    q.x += n + m
    out[idx] = p.x


def in_a_loop(idx, out):
    p = amp.float2(1.0, 2.0)
    for _ in range(3):
        q = same(p)
        q.x += 1.0
    out[idx] = p.x


def in_an_unrolled_loop(idx, out):
    p = amp.float2(1.0, 2.0)
    for _ in amp.static_range(3):
        q = same(p)
        q.x += 1.0
    out[idx] = p.x


def over_a_tuple(idx, out):
    p = amp.float2(1.0, 2.0)
    for v in (same(p), amp.float2(3.0, 4.0)):
        v.x += 1.0
        out[idx] = p.x + v.x


def in_a_conditional_expression(idx, out):
    p = amp.float2(1.0, 2.0)
    q = p if idx[0] == 0 else fresh(p)
    q.x += 1.0
    out[idx] = p.x


def chosen_at_run_time(idx, out):
    p = amp.float2(1.0, 2.0)
    q = (p, same(p))[idx[0]]
    q.x += 1.0
    out[idx] = p.x


def with_a_walrus(idx, out):
    p = amp.float2(1.0, 2.0)
    q = (w := same(p))
    q.x += 1.0
    out[idx] = w.x


def of_the_module(idx, out):
    q = same(AROUND)
    q.x += 1.0
    out[idx] = AROUND.x + q.x


def index_by_parameter(idx, out):
    i = amp.index(idx[0], 2)
    j = same(i)
    j[0] += 1
    out[idx] = i[0]


def index_in_place(idx, out):
    i = amp.index(idx[0], 2)
    j = i
    j += 1
    out[idx] = i[0]


def index_that_a_function_changes(idx, out):
    i = amp.index(idx[0], 2)
    j = next_of(i)
    j[0] += 1
    out[idx] = i[0] + j[0]


def index_of_two_targets(idx, out):
    i = j = amp.index(idx[0], 2)
    i[0] += 1
    out[idx] = j[0]


def index_chosen(idx, out):
    i, k = amp.index(idx[0], 2), amp.index(7, 8)
    j = i if idx[0] == 0 else k
    j[0] += 1
    out[idx] = i[0]


def index_of_the_module(idx, out):
    i = START
    i[0] += 1
    out[idx] = START[0] + i[0]


def changed_by_a_nested_function(idx, out):
    p = amp.float2(1.0, 2.0)

    def moved(v):
        v.x += 1.0
        return v.x

    out[idx] = moved(p) + p.x


def changed_by_a_function_as_argument(idx, out):
    p = amp.float2(1.0, 2.0)

    def moved(v):
        v.x += 1.0
        return v.x

    out[idx] = called(moved, p) + called(moved, p)


@amp.func
def exchanged(v, w):
    return w, v


def exchanged_and_kept(idx, out):
    p, q = amp.float2(1.0, 2.0), amp.float2(3.0, 4.0)
    r = p
    p, q = exchanged(p, q)
    q.x += 1.0
    out[idx] = r.x + p.x


REFUSED = [
    by_a_lambda, by_a_capture, by_a_function_as_argument, in_a_tuple, new_in_a_tuple, in_a_tuple_with_a_name,
    in_a_conditional_expression, chosen_at_run_time, with_a_walrus, index_in_place, index_of_two_targets,
    index_chosen, index_of_the_module, changed_by_a_nested_function,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_copies_that_would_show_are_refused(function):
    out = amp.array_view(np.zeros(4, np.float32))
    with pytest.raises(amp.CompileError, match="VKA353: in Python .* are one object here"):
        amp.kernel(function).inspect(out.extent, out)


def of_a_new_vector(idx, out):
    p = amp.float2(1.0, 2.0)
    q = fresh(p)
    q.x += 1.0
    r = copied(p)
    r.x += 10.0
    s = bound_anew(p)
    s.x += 100.0
    out[idx] = p.x + q.x + r.x + s.x


def of_copies(idx, out):
    p = amp.float2(1.0, 2.0)
    q = same(p.copy())
    q.x += 1.0
    r = same(p).copy()
    r.x += 10.0
    s = same(+p)
    s.x += 100.0
    t = one_of(p.copy(), amp.float2(p), idx[0])
    t.x += 1000.0
    out[idx] = p.x + q.x + r.x + s.x + t.x


def chosen_copies(idx, out):
    p, r = amp.float2(1.0, 2.0), amp.float2(3.0, 4.0)
    q = p.copy() if idx[0] == 0 else r.copy()
    q.x += 1.0
    out[idx] = p.x + r.x + q.x


def bound_to_the_result(idx, out):
    p = amp.float2(1.0, 2.0)
    p = same(p)
    p.x += 1.0
    out[idx] = p.x


def exchanged_by_a_function(idx, out):
    p, q = amp.float2(1.0, 2.0), amp.float2(3.0, 4.0)
    p, q = exchanged(p, q)
    p.x += 1.0
    q, r = exchanged(amp.float2(5.0, 6.0), q)
    q.x += 10.0
    out[idx] = p.x + q.x * 100.0 + r.x * 10000.0


def only_read(idx, out):
    p = amp.float2(1.0, 2.0)
    q, r = twice(p)
    out[idx] = p.x + q.x + r.y


def read_before(idx, out):
    p = amp.float2(1.0, 2.0)
    q = same(p)
    first = p.x
    q.x += 1.0
    out[idx] = first + q.x


def part_of_a_struct(idx, out):
    box = Box(amp.float2(5.0, 6.0), amp.float2(1.0, 1.0))
    q = box.first()
    q.x += 1.0
    out[idx] = box.corner.x + q.x * 10.0


def parameters_that_change(idx, out):
    box = Box(amp.float2(5.0, 6.0), amp.float2(1.0, 1.0))

    def moved(v):
        v.x += 1.0
        return v.x

    out[idx] = moved(box.corner.copy()) + box.corner.x + moved(amp.float2(2.0, 3.0))


def copies_of_an_index(idx, out):
    i = amp.index(idx[0], 2)
    j = amp.index(i)
    j += 1
    k = next_of(i + 1)
    k[0] += 10
    m = i[0]
    n = amp.index(m, 3)
    n[0] += 100
    out[idx] = i[0] + j[0] + k[0] + n[0] + m


def index_chosen_at_run_time(idx, out):
    places = (amp.index(idx[0], 2), amp.index(5, 6))
    j = places[idx[0] % 2] + amp.index(1, 1)
    out[idx] = j[0] * 10 + j[1]


AGREEING = [
    exchanged_by_a_function, of_a_new_vector, of_copies, chosen_copies, bound_to_the_result, only_read, read_before,
    part_of_a_struct, parameters_that_change, copies_of_an_index, index_chosen_at_run_time,
    changed_by_a_function_as_argument, by_parameter, by_two_functions, by_a_name_in_it, by_a_conditional,
    by_one_of_two_returns, by_a_method, by_name, in_a_nested_tuple, in_a_loop, in_an_unrolled_loop, over_a_tuple,
    of_the_module, index_by_parameter, index_that_a_function_changes, exchanged_and_kept,
]  # fmt: skip


@pytest.mark.parametrize("function", AGREEING, ids=lambda f: f.__name__)
def test_kernels_agree_with_python(accelerator_view, function):
    expected = np.zeros(4, np.float32)
    for i in range(4):
        function(amp.index(i), expected)
    out = amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, amp.kernel(function), out)
    assert np.asarray(out).tolist() == expected.tolist()


def test_messages_name_the_expression_of_the_program():
    @amp.kernel
    def tuple_twice(idx, out):
        p = amp.float2(1.0, 2.0)
        for v in (p, p):
            v.x += 1.0
        out[idx] = p.x

    out = amp.array_view(np.zeros(4, np.float32))
    with pytest.raises(amp.CompileError, match="VKA353: in Python `p` and `v` are one object here"):
        tuple_twice.inspect(out.extent, out)
    with pytest.raises(amp.CompileError, match=r"VKA353: in Python `both\[1\]\.x` and `both` are one object"):
        amp.kernel(in_a_tuple_with_a_name).inspect(out.extent, out)
