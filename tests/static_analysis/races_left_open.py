"""Programs of which the race prover does not know whether they have races."""

from __future__ import annotations

import vkamp as amp
from tests.static_analysis.race_programs import BODY, GRID, LINE, floats, left_open, whole


@left_open("values", LINE.tile(32), floats(1536), 3)
def indices_that_meet_in_later_iterations(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    place = t_idx.local[0]
    for _ in range(n):
        values[place] = a[t_idx]
        t_idx.barrier.wait()
        a[t_idx] = values[t_idx.local[0]]
        t_idx.barrier.wait()
        place = place // 2


@left_open("values", LINE.tile(32), floats(1536))
def out_of_a_loop_by_three_ways(t_idx, a):
    """Threads 0 and 1 leave by the first or the last one, as the data say."""
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(3):
        if i < 2 and a[t_idx] > 0:
            place = 5 + i
            break
        if i > 20:
            place = i
            break
    values[place] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536))
def on_to_the_next_iteration_by_three_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(2):
        if i < 2 and a[t_idx] > 0:
            place = 5 + i
            continue
        if i > 20:
            place = i
            continue
        place = i
    values[place] = a[t_idx]


@amp.func
def place_by_three_ways(i, value):
    if i < 2 and value > 0:
        return 5 + i
    if i > 20:
        return i
    return i + 0


@left_open("values", LINE.tile(32), floats(1536))
def out_of_a_function_by_three_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    values[place_by_three_ways(t_idx.local[0], a[t_idx])] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536), 3)
def a_barrier_unless_the_loop_ends_before(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    for k in range(3):
        if n > k:
            break
        t_idx.barrier.wait()
    a[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), 3)
def a_barrier_if_the_loop_ends_early(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    for k in range(3):
        if n > k:
            t_idx.barrier.wait()
            break
    a[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def under_two_conditions(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n < 7:
        values[t_idx.local] = a[t_idx]


@left_open("", LINE.tile(64), whole(1536))
def atomics_and_reads(t_idx, a):
    values = amp.tile_static(1, amp.int32)
    amp.atomic_fetch_add(values[0], 1)
    a[t_idx] = values[0]


@left_open("", LINE.tile(32), floats(1536), floats(1536), 3)
def under_opposite_conditions(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n <= 3:
        values[t_idx.local] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def barrier_under_a_condition(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    if n > 3:
        t_idx.barrier.wait()
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def at_an_unknown_distance(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + n) % 32]


@left_open("values", LINE.tile(64), floats(1536), floats(1536))
def some_bits_of_a_global_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values[t_idx.global_[0] & 62] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[63 - t_idx.local[0]]


@left_open("values", LINE.tile(64), floats(1536), floats(1536))
def floats_as_integers(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values.reinterpret_as(amp.int32)[t_idx.local[0]] = 1
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("grids", LINE.tile(64), floats(1536), floats(1536), 1)
def a_row_of_a_member(t_idx, a, out, n):
    grids = amp.tile_static(32, GRID)
    i = t_idx.local[0]
    if i < 32:
        grids[i].cells[n, 2] = a[t_idx]
    else:
        grids[i - 32].cells[1, 2] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = grids[i // 2].cells[n, n]


@left_open("bodies", LINE.tile(64), floats(1536), floats(1536), 1)
def a_letter_of_some_vector(t_idx, a, out, n):
    """The vector may be the other one, too."""
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    bodies[i].spins[n].x = a[t_idx]
    out[t_idx] = bodies[63 - i].spins[1].x


@left_open("values", LINE.tile(64), floats(1536), floats(1536), 3)
def condition_in_two_parts(t_idx, a, out, n):
    values = amp.tile_static(64, amp.float32)
    if n > 3 and t_idx.local[0] < 32:
        values[0] = a[t_idx]
    else:
        values[t_idx.local[0] + 1] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def told_by_a_container(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    if a[t_idx] > 0.0:
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def places_told_by_a_container(t_idx, a, out):
    """Each thread leaves the loop when its own element says so."""
    values = amp.tile_static(35, amp.float32)
    place = t_idx.local[0]
    for _ in range(3):
        if a[t_idx] > place:
            break
        place += 1
    values[place] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def steps_told_by_a_container(t_idx, a, out):
    """Each thread leaves out the steps that its own element says."""
    values = amp.tile_static(35, amp.float32)
    place = t_idx.local[0]
    for _ in range(3):
        if a[t_idx] > place:
            continue
        place += 1
    values[place] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def fence_and_barrier_apart(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    amp.tile_static_memory_fence(t_idx.barrier)
    t_idx.barrier.wait_with_global_memory_fence()
    amp.tile_static_memory_fence(t_idx.barrier)
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("out", LINE.tile(32), floats(1536), floats(1536))
def between_tiles(t_idx, a, out):
    out[t_idx.local] = a[t_idx]


@left_open("out", LINE.tile(32), floats(1536), floats(1536), 3)
def between_tiles_in_different_iterations(t_idx, a, out, n):
    for k in range(n):
        out[t_idx.global_[0] + k // 2 * 32] = a[t_idx]
        t_idx.barrier.wait_with_global_memory_fence()


@left_open("out", LINE.tile(32), floats(1536), floats(1536))
def between_every_second_tile_and_the_next(t_idx, a, out):
    out[t_idx.global_[0] - t_idx.tile[0] // 2 * 32] = a[t_idx]


@left_open("b", LINE.tile(32), *[floats(1536)] * 2)
def one_memory(t_idx, a, b):
    b[t_idx] = a[t_idx.tile_origin]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def past_the_largest_integer(t_idx, a, out):
    """The sum is negative in every tile but the first one."""
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    if t_idx.tile_origin[0] + 2147483647 >= 0:
        t_idx.barrier.wait()
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def past_the_largest_unsigned_integer(t_idx, a, out):
    """The sum is small in every tile but the first one."""
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    if not amp.uint32(t_idx.tile_origin[0]) + amp.uint32(4294967295) < amp.uint32(4096):
        t_idx.barrier.wait()
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def a_loop_that_ends_past_the_largest_integer(t_idx, a, out):
    """There is no iteration in the first tile."""
    values = amp.tile_static(32, amp.float32)
    place = 0
    first = t_idx.tile_origin[0] + 2147483646
    for _ in range(first, first + 2):
        place = t_idx.local[0]
    values[place] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def a_return_past_the_largest_integer(t_idx, a, out):
    """No thread of the first tile returns."""
    values = amp.tile_static(32, amp.float32)
    first = t_idx.tile_origin[0] + 2147483646
    for _ in range(first, first + 2):
        if t_idx.local[0] > 0:
            return
    values[0] = a[t_idx]
