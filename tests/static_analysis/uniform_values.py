"""Kernels whose barriers depend on functions, memory, structs and assertions, some of which are rejected."""

from __future__ import annotations

import vkamp as amp
from tests.static_analysis.programs import Programs

PROGRAMS = Programs()
accepted, refused = PROGRAMS.accept, PROGRAMS.refuse


@amp.func
def wait(t):
    t.barrier.wait()


@amp.func
def wait_if(t, condition):
    if condition:
        t.barrier.wait()


@amp.func
def wait_times(t, count):
    for _ in range(count):
        wait(t)


@amp.func
def sign(v):
    if v < 0:
        return -1
    return 1 if v > 0 else 0


@amp.func
def pair(a, b):
    return a, b


@amp.func
def fill(cells, v):
    for k in range(3):
        cells[k] = v + k


@amp.func
def sum_of(cells):
    total = 0
    for k in range(3):
        total += cells[k]
    return total


@amp.func
def first_below(limit, start):
    k = start
    while k < 100:
        if k > limit:
            return k
        k += 1
    return 100


@amp.func
def set_first(t, cells, v):
    if t.local[0] == 0:
        cells[0] = v


@amp.func
def apply(function, v):
    return function(v)


@amp.struct
class Cell:
    row: amp.int32
    count: amp.int32

    @amp.func
    def bigger(self, limit):
        return self.count > limit


class Scale:
    """A functor; its number is a captured one."""

    def __init__(self, factor):
        self.factor = factor

    @amp.func
    def __call__(self, v):
        return v * self.factor

    @amp.func
    def meet(self, t):
        if self.factor > 1:
            t.barrier.wait()
        return self.factor


SCALE = Scale(3)
DEBUG = False


@amp.func
def watched(t, v):
    if DEBUG:
        t.barrier.wait()
    return v


# -- functions -----------------------------------------------------------------------------------------------------


@accepted
def function_that_waits(t, data, out, n):
    for _ in range(n):
        wait(t)
    wait_times(t, t.tile[0])
    out[t] = 1


@refused("VKA605")
def function_that_waits_under_a_divergent_condition(t, data, out, n):
    if t.local[0] > 1:
        wait_times(t, n)
    out[t] = 0


@refused("VKA605")
def function_that_waits_as_often_as_its_argument_says(t, data, out, n):
    wait_times(t, t.local[0])
    out[t] = 0


@accepted
def function_by_uniform_and_divergent_arguments(t, data, out, n):
    a = sign(n - 4)
    b = sign(t.local[0] - 1)
    wait_if(t, a < 0)
    out[t] = b


@refused("VKA601")
def function_of_a_divergent_argument(t, data, out, n):
    wait_if(t, sign(t.local[0] - 1) > 0)
    out[t] = 0


@refused("VKA601")
def uniform_argument_first_then_a_divergent_one(t, data, out, n):
    wait_if(t, n > 1)
    wait_if(t, t.local[0] > 1)
    out[t] = 0


@accepted
def the_uniform_one_of_two_results(t, data, out, n):
    a, b = pair(n, t.local[0])
    wait_if(t, a > 2)
    out[t] = b


@refused("VKA601")
def the_divergent_one_of_two_results(t, data, out, n):
    a, b = pair(n, t.local[0])
    wait_if(t, b > 2)
    out[t] = a


@accepted
def returns_in_the_loop_of_a_function(t, data, out, n):
    k = first_below(n, t.tile[0])
    for _ in range(k):
        t.barrier.wait()
    out[t] = first_below(t.local[0], n)


@refused("VKA602")
def returns_in_the_loop_of_a_function_at_a_divergent_time(t, data, out, n):
    for _ in range(first_below(t.local[0], 0)):
        t.barrier.wait()
    out[t] = 0


@accepted
def private_array_by_reference(t, data, out, n):
    cells = amp.private(3, amp.int32)
    fill(cells, n)
    wait_if(t, sum_of(cells) > 3)
    out[t] = cells[2]


@refused("VKA601")
def private_array_filled_with_ids(t, data, out, n):
    cells = amp.private(3, amp.int32)
    fill(cells, t.local[0])
    wait_if(t, sum_of(cells) > 3)
    out[t] = cells[2]


@refused("VKA601")
def private_array_filled_by_some(t, data, out, n):
    cells = amp.private(3, amp.int32)
    fill(cells, 0)
    if t.local[0] > 1:
        fill(cells, n)
    wait_if(t, sum_of(cells) > 3)
    out[t] = cells[2]


@accepted
def private_array_read_by_some(t, data, out, n):
    cells = amp.private(3, amp.int32)
    fill(cells, n)
    if t.local[0] > 1:
        out[t] = sum_of(cells)
    wait_if(t, sum_of(cells) > 3)


@accepted
def callee_returns_early_for_some(t, data, out, n):
    out[t] = sign(t.local[0] - 2)
    t.barrier.wait()


@accepted
def nested_function(t, data, out, n):
    def twice(v):
        return 2 * v + n

    wait_if(t, twice(t.tile[0]) > 2)
    out[t] = twice(t.local[0])


@refused("VKA601")
def nested_function_that_captures_the_id(t, data, out, n):
    i = t.local[0]

    def shifted(v):
        return v + i

    wait_if(t, shifted(n) > 4)
    out[t] = 0


@refused("VKA605")
def nested_function_that_waits(t, data, out, n):
    def meet():
        t.barrier.wait()

    if t.local[0] == 0:
        meet()
    out[t] = 0


@accepted
def lambda_of_uniform_values(t, data, out, n):
    wait_if(t, apply(lambda v: v * n, t.tile[0]) > 2)
    out[t] = apply(lambda v: v * n, t.local[0])


@refused("VKA601")
def lambda_that_captures_the_id(t, data, out, n):
    i = t.local[0]
    wait_if(t, apply(lambda v: v * i, n) > 2)
    out[t] = 0


@refused("VKA605")
def barrier_by_short_circuit(t, data, out, n):
    def met():
        t.barrier.wait()
        return True

    out[t] = 1 if t.local[0] > 1 or met() else 0


@accepted
def barrier_by_uniform_short_circuit(t, data, out, n):
    def met():
        t.barrier.wait()
        return True

    out[t] = 1 if n > 3 or met() else 0


@accepted
def functor_of_a_uniform_value(t, data, out, n):
    wait_if(t, SCALE(t.tile[0]) > 2)
    SCALE.meet(t)
    out[t] = SCALE(t.local[0])


@refused("VKA601")
def functor_of_the_id(t, data, out, n):
    wait_if(t, SCALE(t.local[0]) > 2)
    out[t] = 0


@refused("VKA605")
def method_that_waits(t, data, out, n):
    if t.local[0] > 1:
        out[t] = SCALE.meet(t)


@accepted
def barrier_that_no_code_remains_of(t, data, out, n):
    if t.local[0] > 1:
        out[t] = watched(t, n)


# -- memory --------------------------------------------------------------------------------------------------------


@accepted
def flag_of_one_thread(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 2:
        flag[()] = data[t]
    t.barrier.wait_with_tile_static_memory_fence()
    if flag[()] > 2:
        t.barrier.wait()
    out[t] = flag[()]


@refused("VKA601")
def flag_behind_the_wrong_fence(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 2:
        flag[()] = data[t]
    t.barrier.wait_with_global_memory_fence()
    if flag[()] > 2:
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def flag_behind_a_fence_that_does_not_wait(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 2:
        flag[()] = data[t]
    amp.all_memory_fence(t.barrier)
    if flag[()] > 2:
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def flag_set_again_since(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 2:
        flag[()] = data[t]
    t.barrier.wait()
    if t.local[0] == 1:
        flag[()] = data[t]
    if flag[()] > 2:
        t.barrier.wait()
    out[t] = 0


@accepted
def flag_read_before_it_is_set_again(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 2:
        flag[()] = data[t]
    t.barrier.wait()
    seen = flag[()]
    t.barrier.wait()
    if t.local[0] == 1:
        flag[()] = data[t]
    if seen > 2:
        t.barrier.wait()
    out[t] = seen


@refused("VKA602")
def flag_of_a_loop_set_at_its_end(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 0:
        flag[()] = n
    t.barrier.wait()
    while flag[()] > 0:
        t.barrier.wait()
        if t.local[0] == 0:
            flag[()] -= 1
    out[t] = 0


@accepted
def flag_of_a_loop_between_barriers(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 0:
        flag[()] = n
    t.barrier.wait()
    while flag[()] > 0:
        t.barrier.wait()
        if t.local[0] == 0:
            flag[()] -= 1
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def flag_ordered_on_one_way_only(t, data, out, n):
    flag = amp.tile_static((), amp.int32)
    if t.local[0] == 0:
        flag[()] = n
    if n > 2:
        t.barrier.wait()
    else:
        out[t] = 1
    if flag[()] > 0:
        t.barrier.wait()


@accepted
def flag_set_and_read_by_functions(t, data, out, n):
    flag = amp.tile_static(3, amp.int32)
    for k in range(3):
        set_first(t, flag, n)
        t.barrier.wait()
        if k == 2:
            wait_if(t, flag[0] > 2)
        t.barrier.wait()
    out[t] = 1


@refused("VKA601")
def flag_set_by_a_function_since(t, data, out, n):
    flag = amp.tile_static(3, amp.int32)
    t.barrier.wait()
    set_first(t, flag, n)
    wait_if(t, flag[0] > 2)
    out[t] = 1


@refused("VKA601")
def count_of_an_atomic_since(t, data, out, n):
    count = amp.tile_static((), amp.int32)
    if t.local[0] == 0:
        count[()] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(count[()], 1)
    if count[()] > 2:
        t.barrier.wait()
    out[t] = 0


@accepted
def count_of_an_atomic_behind_a_barrier(t, data, out, n):
    count = amp.tile_static((), amp.int32)
    if t.local[0] == 0:
        count[()] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(count[()], data[t] % 2)
    t.barrier.wait()
    if count[()] > 2:
        t.barrier.wait()
    out[t] = count[()]


@refused("VKA601")
def result_of_an_atomic(t, data, out, n):
    if amp.atomic_fetch_add(out[0], 1) == 0:
        t.barrier.wait()


@refused("VKA601")
def expected_of_an_exchange(t, data, out, n):
    expected = n
    amp.atomic_compare_exchange(out[0], expected, 1)
    if expected == 3:
        t.barrier.wait()


@accepted
def container_that_nobody_writes(t, data, out, n):
    if data[t.tile[0] + n] > 2:
        t.barrier.wait()
    out[t] = data[t]


@refused("VKA601")
def container_at_a_divergent_index(t, data, out, n):
    if data[t.local[0]] > 2:
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def container_that_the_kernel_writes(t, data, out, n):
    t.barrier.wait()
    if out[t.tile] > 2:
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def container_that_a_function_of_the_kernel_updates(t, data, out, n):
    def count(v):
        amp.atomic_fetch_add(data[0], v)

    if data[1] > 2:
        t.barrier.wait()
    count(n)
    out[t] = 0


@accepted
def view_made_in_the_kernel(t, data, out, n):
    row = data.section(amp.index(4), amp.extent(4))
    if row[t.tile] > 2 and data.view_as(amp.extent(3, 4))[2, 1] > 2:
        t.barrier.wait()
    out[t] = row[t.local[0]]


@refused("VKA601")
def view_at_a_divergent_place(t, data, out, n):
    row = data.section(amp.index(t.local[0]), amp.extent(4))
    if row[1] > 2:
        t.barrier.wait()
    out[t] = 0


@accepted
def element_of_a_private_array(t, data, out, n):
    cells = amp.private((2, 2), amp.int32)
    cells[0, 0] = n
    cells[0, 1] = t.tile[0]
    if cells[0, t.tile[0] % 2] > 1:
        t.barrier.wait()
    out[t] = cells[0, 0]


@refused("VKA601")
def private_array_stored_at_a_divergent_place(t, data, out, n):
    cells = amp.private(4, amp.int32)
    for k in range(4):
        cells[k] = 0
    cells[t.local[0]] = n
    if cells[1] > 1:
        t.barrier.wait()
    out[t] = 0


# -- structs and vectors -------------------------------------------------------------------------------------------


@accepted
def uniform_field(t, data, out, n):
    cell = Cell(t.local[0], n)
    cell.row += 1
    if cell.count > 2 and cell.bigger(1):
        t.barrier.wait()
    cell.count = t.local[0]
    out[t] = cell.row + cell.count


@refused("VKA601")
def divergent_field(t, data, out, n):
    cell = Cell(n, n)
    cell.count = t.local[0]
    if cell.count > 2:
        t.barrier.wait()
    out[t] = cell.row


@refused("VKA601")
def method_of_a_divergent_struct(t, data, out, n):
    cell = Cell(n, t.local[0])
    if cell.bigger(1):
        t.barrier.wait()
    out[t] = cell.row


@refused("VKA601")
def field_assigned_by_some(t, data, out, n):
    cell = Cell(n, n)
    if t.local[0] > 1:
        cell.count = 0
    if cell.count > 2:
        t.barrier.wait()
    out[t] = cell.row


@accepted
def other_field_assigned_by_some(t, data, out, n):
    cell = Cell(n, n)
    if t.local[0] > 1:
        cell.count = 0
    if cell.row > 2:
        t.barrier.wait()
    out[t] = cell.count


@accepted
def copy_of_a_struct(t, data, out, n):
    cell = Cell(t.local[0], n)
    other = cell
    if other.count > 2:
        t.barrier.wait()
    out[t] = other.row


@accepted
def uniform_component(t, data, out, n):
    v = amp.int3(t.local[0], n, 2)
    w = v.zyx + amp.int3(1, 2, 3)
    if w.x > 2 and v.yz == amp.int2(3, 2):
        t.barrier.wait()
    w.xy = v.zy
    if w.y > 2:
        t.barrier.wait()
    out[t] = w.z


@refused("VKA601")
def divergent_component(t, data, out, n):
    v = amp.int3(t.local[0], n, 2)
    w = v.zyx
    if w.z > 2:
        t.barrier.wait()
    out[t] = 0


@refused("VKA601")
def component_of_a_vector_compared_as_a_whole(t, data, out, n):
    v = amp.int2(t.local[0], n)
    if v != amp.int2(0, 3):
        t.barrier.wait()
    out[t] = 0


# -- claims --------------------------------------------------------------------------------------------------------


@accepted
def claimed_container(t, data, out, n):
    out[t] = data[t]
    t.barrier.wait()
    if amp.uniform(data[t.tile] * n) > 4:
        t.barrier.wait()


@accepted
def claimed_in_a_function(t, data, out, n):
    def rounds(v):
        return amp.uniform(v)

    for _ in range(rounds(data[t.local[0] - t.local[0]])):
        t.barrier.wait()
    out[t] = 0


@accepted
def claimed_difference_of_ids(t, data, out, n):
    if amp.uniform(t.global_[0] - t.local[0]) >= 4:
        t.barrier.wait()
    out[t] = 0


@refused("VKA606")
def claim_under_a_divergent_condition(t, data, out, n):
    if t.local[0] > 1:
        k = amp.uniform(data[0])
        out[t] = k


@refused("VKA606")
def claim_behind_a_divergent_break(t, data, out, n):
    for k in range(n):
        if k == t.local[0]:
            break
        out[t] = amp.uniform(data[k])


@refused("VKA606")
def claim_in_one_side_of_a_conditional_expression(t, data, out, n):
    out[t] = amp.uniform(n) if t.local[0] > 1 else 0


@refused("VKA601")
def claimed_value_changed_by_the_id(t, data, out, n):
    k = amp.uniform(data[0])
    k += t.local[0]
    if k > 3:
        t.barrier.wait()
    out[t] = 0
