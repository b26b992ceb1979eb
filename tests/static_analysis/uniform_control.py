"""Kernels with barriers under conditions, in loops and after jumps, some of which are rejected."""

from __future__ import annotations

import vkamp as amp
from tests.static_analysis.programs import TILE, Programs

PROGRAMS = Programs()
accepted, refused = PROGRAMS.accept, PROGRAMS.refuse


# -- conditions and variables --------------------------------------------------------------------------------------


@accepted
def captured_scalar(t, data, out, n):
    if n > 2 and not (n == 5 or n < 0):
        t.barrier.wait()
    out[t] = n


@accepted
def tile_and_origin(t, data, out, n):
    if t.tile[0] % 2 == 0 or t.tile_origin[0] == 4:
        t.barrier.wait()
    out[t] = t.tile_dim0


@accepted
def extent_of_a_container(t, data, out, n):
    for _ in range(data.extent[0] // t.tile_extent[0]):
        t.barrier.wait()
    out[t] = out.extent.size() > 3


@accepted
def conditional_expression(t, data, out, n):
    k = 2 if n > 1 else t.tile[0]
    if (k if n > 2 else 3) > 1:
        t.barrier.wait()
    out[t] = k


@refused("VKA601")
def conditional_expression_on_the_local_id(t, data, out, n):
    k = 2 if t.local[0] > 1 else 3
    if k > 2:
        t.barrier.wait()
    out[t] = k


@refused("VKA601")
def one_divergent_side_of_a_conditional_expression(t, data, out, n):
    if (n if n > 3 else t.local[0]) > 1:
        t.barrier.wait()
    out[t] = 0


@accepted
def chained_comparison(t, data, out, n):
    if 0 <= t.tile[0] < n <= 3:
        t.barrier.wait()
    out[t] = 1


@refused("VKA601")
def chained_comparison_with_the_id(t, data, out, n):
    if 0 <= t.local[0] < n <= 3:
        t.barrier.wait()
    out[t] = 1


@accepted
def made_uniform_again(t, data, out, n):
    k = t.local[0]
    out[t] = k
    k = n
    if k > 2:
        t.barrier.wait()


@refused("VKA601")
def made_uniform_by_some(t, data, out, n):
    k = t.local[0]
    if k > 1:
        k = 0
    if k == 0:
        t.barrier.wait()
    out[t] = k


@refused("VKA601")
def same_constant_in_both_branches(t, data, out, n):
    if t.local[0] > 1:
        k = 1
    else:
        k = 1
    if k == 1:
        t.barrier.wait()
    out[t] = k


@accepted
def assigned_by_some_and_then_by_all(t, data, out, n):
    k = 0
    if t.local[0] > 1:
        k = 1
    out[t] = k
    k = n
    if t.local[0] > 2:
        out[t] = 7
    if k == 3:
        t.barrier.wait()


@refused("VKA601")
def tuple_assignment(t, data, out, n):
    a, b = n, t.local[0]
    a, b = b, a
    if a > 1:
        t.barrier.wait()
    out[t] = b


@accepted
def swapped_back(t, data, out, n):
    a, b = n, t.local[0]
    a, b = b, a
    out[t] = a
    if b > 1:
        t.barrier.wait()


@refused("VKA601")
def augmented(t, data, out, n):
    k = n
    k += t.global_[0]
    if k > 6:
        t.barrier.wait()
    out[t] = k


@accepted
def divergent_value_that_decides_nothing(t, data, out, n):
    k = t.local[0] * n
    if n > 1:
        t.barrier.wait()
        out[t] = k


@accepted
def elif_chain(t, data, out, n):
    if n == 1:
        t.barrier.wait()
    elif t.tile[0] == 1:
        out[t] = 1
        t.barrier.wait()
    elif t.tile[0] == 2:
        out[t] = 2
    else:
        t.barrier.wait_with_global_memory_fence()


@refused("VKA601")
def else_of_a_divergent_elif(t, data, out, n):
    if n == 1:
        out[t] = 1
    elif t.local[0] == 1:
        out[t] = 2
    else:
        t.barrier.wait()


@accepted
def min_and_max_of_uniform_values(t, data, out, n):
    k = max(min(n, 8), t.tile[0])
    for _ in range(abs(k)):
        t.barrier.wait()
    out[t] = k


@accepted
def index_object_by_component(t, data, out, n):
    where = amp.index(t.local[0], t.tile[0])
    if where[1] == 1:
        t.barrier.wait()
    out[t] = where[0]


@refused("VKA601")
def index_object_compared_as_a_whole(t, data, out, n):
    where = amp.index(t.local[0], t.tile[0])
    if where == amp.index(1, 1):
        t.barrier.wait()
    out[t] = 0


@accepted
def match_over_a_uniform_number(t, data, out, n):
    match n:
        case 1 | 2:
            out[t] = 1
        case 3:
            t.barrier.wait()
        case _:
            out[t] = 2


@refused("VKA601")
def match_over_a_divergent_number(t, data, out, n):
    match t.local[0]:
        case 1 | 2:
            out[t] = 1
        case _:
            t.barrier.wait()


@refused("VKA601")
def barrier_in_a_later_case(t, data, out, n):
    match n:
        case 3 if t.local[0] > 1:
            out[t] = 1
        case 3:
            t.barrier.wait()
        case _:
            out[t] = 2


# -- loops ---------------------------------------------------------------------------------------------------------


@accepted
def counter_assigned_in_the_body(t, data, out, n):
    for k in range(n):
        k = t.local[0]
        out[t] = k
        t.barrier.wait()


@refused("VKA601")
def counter_assigned_in_the_body_decides(t, data, out, n):
    for k in range(n):
        k = t.local[0]
        if k > 1:
            t.barrier.wait()
    out[t] = 0


@accepted
def counter_is_new_in_each_iteration(t, data, out, n):
    for k in range(n):
        if k == 1:
            t.barrier.wait()
        k = t.local[0]
        out[t] = k


@refused("VKA602")
def stop_is_the_local_id(t, data, out, n):
    for _ in range(n, t.local[0] + 8):
        t.barrier.wait()
    out[t] = 0


@refused("VKA602")
def step_is_the_local_id(t, data, out, n):
    for _ in range(0, 24, t.local[0] + 1):
        t.barrier.wait()
    out[t] = 0


@accepted
def bound_changes_in_the_body(t, data, out, n):
    count = n
    for _ in range(count):
        t.barrier.wait()
        count = t.local[0]
    out[t] = count


@refused("VKA602")
def while_condition_diverges_in_the_second_iteration(t, data, out, n):
    k = n
    while k < 8:
        t.barrier.wait()
        k = k * 2 + t.local[0]
    out[t] = k


@refused("VKA601")
def carried_over_three_iterations(t, data, out, n):
    a, b, c = 0, 0, 0
    for _ in range(n):
        if c > 1:
            t.barrier.wait()
        c = b
        b = a
        a = t.local[0]
    out[t] = c


@accepted
def halving(t, data, out, n):
    sums = amp.tile_static(TILE, amp.int32)
    i = t.local[0]
    sums[i] = data[t]
    t.barrier.wait_with_tile_static_memory_fence()
    stride = t.tile_dim0 // 2
    while stride > 0:
        if i < stride:
            sums[i] += sums[i + stride]
        t.barrier.wait_with_tile_static_memory_fence()
        stride //= 2
    out[t] = sums[0]


@accepted
def guarded_body_instead_of_a_divergent_bound(t, data, out, n):
    total = 0
    for k in range(TILE):
        if k < t.local[0]:
            total += k
        t.barrier.wait()
    out[t] = total


@accepted
def uniform_break(t, data, out, n):
    k = 0
    while True:
        t.barrier.wait()
        if k == n:
            break
        k += 1
    if k == 3:
        t.barrier.wait()
    out[t] = k


@refused("VKA604")
def divergent_break(t, data, out, n):
    for k in range(n):
        if k == t.local[0]:
            break
        t.barrier.wait()
    out[t] = 0


@refused("VKA604")
def left_in_one_iteration_waits_in_the_next(t, data, out, n):
    for k in range(n):
        if k > 1:
            t.barrier.wait()
        if k == t.local[0]:
            break
    out[t] = 0


@refused("VKA604")
def uniform_break_after_a_divergent_continue(t, data, out, n):
    for k in range(n):
        if k == t.local[0]:
            continue
        if k == 2:
            break
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def value_after_a_uniform_break_behind_a_divergent_continue(t, data, out, n):
    last = 0
    for k in range(8):
        last = k
        if k == t.local[0] + 1:
            continue
        if k >= 2:
            break
    if last == 2:
        t.barrier.wait()
    out[t] = last


@accepted
def barrier_after_a_loop_with_a_divergent_break(t, data, out, n):
    found = 0
    for k in range(n):
        if data[k] == t.local[0]:
            found = k
            break
    t.barrier.wait()
    out[t] = found


@refused("VKA601")
def counter_after_a_divergent_break(t, data, out, n):
    k = 0
    while k < n:
        if data[k] == t.local[0]:
            break
        k += 1
    if k == n:
        t.barrier.wait()
    out[t] = k


@refused("VKA601")
def uniform_in_each_iteration_but_not_behind_the_loop(t, data, out, n):
    last = 0
    for k in range(8):
        last = k * n
        if k >= t.local[0]:
            break
    if last > 3:
        t.barrier.wait()
    out[t] = last


@accepted
def assigned_before_the_divergent_continue(t, data, out, n):
    total = 0
    for k in range(n):
        total += k
        if k < t.local[0]:
            continue
        out[t] = total
    if total == 3:
        t.barrier.wait()


@refused("VKA601")
def assigned_behind_the_divergent_continue(t, data, out, n):
    total = 0
    for k in range(n):
        if k < t.local[0]:
            continue
        total += k
    if total == 3:
        t.barrier.wait()
    out[t] = total


@refused("VKA601")
def assigned_in_the_branch_that_continues(t, data, out, n):
    total = 0
    for k in range(n):
        if k < t.local[0]:
            total += k
            continue
        out[t] = k
    if total == 3:
        t.barrier.wait()


@refused("VKA604")
def while_over_what_a_divergent_continue_skips(t, data, out, n):
    k = 0
    while k < 24:
        k += 1
        if k == t.local[0]:
            continue
        k += 1
        t.barrier.wait()
    out[t] = k


@accepted
def inner_loop_with_a_divergent_continue(t, data, out, n):
    for _ in range(n):
        total = 0
        for k in range(TILE):
            if k == t.local[0]:
                continue
            total += k
        out[t] = total
        t.barrier.wait()


@accepted
def inner_loop_with_a_divergent_break_in_a_uniform_one(t, data, out, n):
    for _ in range(n):
        for k in range(TILE):
            if k == t.local[0]:
                out[t] = k
                break
        t.barrier.wait()


@refused("VKA601")
def outer_break_by_a_divergent_flag(t, data, out, n):
    done = False
    for _ in range(n):
        for k in range(TILE):
            if k == t.local[0]:
                done = True
                break
        if done:
            t.barrier.wait()
    out[t] = 0


@refused("VKA604")
def outer_loop_left_by_a_flag(t, data, out, n):
    done = False
    for r in range(n):
        for k in range(TILE):
            if k == t.local[0] - r:
                done = True
                break
        if done:
            break
        t.barrier.wait()
    out[t] = 0


@accepted
def outer_loop_left_by_a_uniform_flag(t, data, out, n):
    done = False
    for r in range(n):
        for k in range(TILE):
            if k + r == 4:
                done = True
                break
        if done:
            break
        t.barrier.wait()
    out[t] = done


@refused("VKA602")
def uniform_if_in_a_divergent_loop(t, data, out, n):
    for _ in range(t.local[0]):
        if n > 2:
            t.barrier.wait()
    out[t] = 0


@accepted
def divergent_loop_without_a_barrier(t, data, out, n):
    total = 0
    for k in range(t.global_[0]):
        total += k
    t.barrier.wait()
    out[t] = total


@accepted
def bound_from_a_container(t, data, out, n):
    for k in range(data[t.tile], data[t.tile[0] + 2]):
        t.barrier.wait()
        out[t] = k


@accepted
def static_range_unrolled(t, data, out, n):
    total = 0
    for k in amp.static_range(3):
        if k == 1:
            t.barrier.wait()
        total += k
    out[t] = total


@accepted
def uniform_continue_before_a_barrier(t, data, out, n):
    for k in range(6):
        if k % n == 1:
            continue
        t.barrier.wait()
        out[t] = k


@accepted
def uniform_continue_in_a_while(t, data, out, n):
    k = 0
    while k < 6:
        k += 1
        if k == n:
            continue
        t.barrier.wait()
    out[t] = k


@refused("VKA603")
def barrier_after_a_loop_that_some_left_by_return(t, data, out, n):
    for k in range(n):
        if k == t.local[0]:
            return
    t.barrier.wait()
    out[t] = 0


@refused("VKA603")
def barrier_in_the_iteration_after_a_divergent_return(t, data, out, n):
    for k in range(n):
        t.barrier.wait()
        if k == t.local[0]:
            return
    out[t] = 0


@accepted
def uniform_return_in_a_loop(t, data, out, n):
    for k in range(8):
        if k == n:
            return
        t.barrier.wait()
        out[t] = k


@accepted
def return_of_whole_tiles(t, data, out, n):
    if t.tile[0] == 1:
        return
    t.barrier.wait()
    out[t] = 1


@accepted
def divergent_return_after_the_last_barrier(t, data, out, n):
    t.barrier.wait()
    if t.local[0] > n - 2:
        return
    out[t] = 1


@refused("VKA603")
def divergent_return_in_a_uniform_branch(t, data, out, n):
    if n > 2:
        if t.local[0] == 0:
            return
        out[t] = 1
    t.barrier.wait()


@refused("VKA603")
def uniform_return_in_a_divergent_branch(t, data, out, n):
    if t.local[0] > 1:
        if n > 1:
            return
        out[t] = 1
    t.barrier.wait()
