"""Orders that users choose: what each is, how it is chosen, and what it brings to light."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.sim.schedule import Orders, Schedule

VIEW = amp.accelerator("reference").default_view
NAMES = ["in-order", "reversed", "random", "adversarial"]


def order_of(launches: int = 1, threads: int = 6, **constants: Any) -> list[int]:
    """The threads in the order in which they came to an atomic counter."""
    order = amp.array_view(np.zeros(threads, np.int32))
    count = amp.array_view(np.zeros(1, np.int32))

    def counts(t_idx, count, order):  # type: ignore[no-untyped-def]
        order[amp.atomic_fetch_add(count[0], 1) % order.extent[0]] = t_idx.global_[0]

    for _ in range(launches):
        amp.parallel_for_each(VIEW, amp.extent(threads).tile(3), counts, count, order, **constants)
    return list(np.asarray(order).tolist())


# -- the orders themselves


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 64, 65, 300])
@pytest.mark.parametrize("name", NAMES)
def test_each_order_has_every_tile_and_thread_once(name: Any, count: int) -> None:
    orders = Orders(Schedule(name, 5))
    assert sorted(orders.tiles(count)) == list(range(count))
    for _ in range(3):
        assert sorted(orders.threads(count)) == list(range(count))


def test_no_tile_of_the_adversary_can_count_on_its_neighbours() -> None:
    order = list(Orders(Schedule("adversarial")).tiles(9))
    when = {tile: k for k, tile in enumerate(order)}
    for tile in range(9):
        neighbours = [when[n] for n in (tile - 1, tile + 1) if n in when]
        assert all(n > when[tile] for n in neighbours) == bool(tile % 2)


def test_the_adversary_alternates_at_barriers() -> None:
    orders = Orders(Schedule("adversarial"))
    assert [list(orders.threads(4)) for _ in range(3)] == [[3, 2, 1, 0], [2, 3, 0, 1], [3, 2, 1, 0]]


# -- choosing


def test_orders_of_a_launch() -> None:
    assert order_of() == [0, 1, 2, 3, 4, 5]
    with amp.reference_schedule("reversed"):
        assert order_of() == [5, 4, 3, 2, 1, 0]
        with amp.reference_schedule("in-order"):
            assert order_of() == [0, 1, 2, 3, 4, 5]
        assert order_of() == [5, 4, 3, 2, 1, 0]
    assert order_of() == [0, 1, 2, 3, 4, 5]


def test_a_seed_gives_one_order() -> None:
    found = []
    for seed in (*range(6), *range(6)):
        with amp.reference_schedule("random", seed=seed):
            found.append(tuple(order_of()))
    assert found[:6] == found[6:]
    assert len(set(found)) > 3
    assert all(sorted(order) == list(range(6)) for order in found)


def test_the_environment_chooses_where_the_program_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_SCHEDULE", "reversed")
    assert order_of() == [5, 4, 3, 2, 1, 0]
    with amp.reference_schedule("in-order"):
        assert order_of() == [0, 1, 2, 3, 4, 5]
    monkeypatch.setenv("VKAMP_SCHEDULE", "random:3")
    drawn = order_of()
    monkeypatch.setenv("VKAMP_SCHEDULE", "")
    assert order_of() == [0, 1, 2, 3, 4, 5]
    with amp.reference_schedule("random", seed=3):
        assert order_of() == drawn


CHOICES = "is not a schedule: give in-order, reversed, random:SEED or adversarial"


@pytest.mark.parametrize("text", ["backwards", "random:x", "random:-1", "reversed:2", "Random", "random:"])
def test_a_wrong_schedule_in_the_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("VKAMP_SCHEDULE", text)
    with pytest.raises(amp.AmpError) as caught:
        order_of()
    assert str(caught.value) == f"VKAMP_SCHEDULE: {text!r} {CHOICES}"


def test_a_wrong_schedule_in_a_program() -> None:
    with pytest.raises(ValueError, match="'backwards' is not a schedule"), amp.reference_schedule("backwards"):
        pass


def test_a_schedule_is_that_of_its_thread() -> None:
    found: list[list[int]] = []
    with amp.reference_schedule("reversed"):
        other = threading.Thread(target=lambda: found.append(order_of()))
        other.start()
        other.join()
        found.append(order_of())
    assert found == [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]


# -- what they bring to light


def test_a_test_before_an_atomic_is_caught_by_switching_at_atomics() -> None:
    """Each atomic is correct; the program wrongly assumes that nothing comes between the two."""

    def takes_one(t_idx, seats, taken):  # type: ignore[no-untyped-def]
        if amp.atomic_fetch_add(seats[0], 0) > 0:
            amp.atomic_fetch_sub(seats[0], 1)
            amp.atomic_fetch_add(taken[0], 1)

    def taken() -> int:
        seats, people = (amp.array_view(np.array([n], np.int32)) for n in (2, 0))
        amp.parallel_for_each(VIEW, amp.extent(8).tile(8), takes_one, seats, people)
        return int(np.asarray(people)[0])

    assert taken() == 2
    with amp.reference_schedule("reversed"):
        assert taken() == 2
    with amp.reference_schedule("adversarial"):
        assert taken() == 8
    drawn = set()
    for seed in range(5):
        with amp.reference_schedule("random", seed=seed):
            drawn.add(taken())
    assert max(drawn) > 2


def test_untiled_threads_are_switched_at_atomics() -> None:
    def takes_one(idx, seats, taken):  # type: ignore[no-untyped-def]
        if amp.atomic_fetch_add(seats[0], 0) > 0:
            amp.atomic_fetch_sub(seats[0], 1)
            amp.atomic_fetch_add(taken[0], 1)

    for name, expected in (("in-order", 2), ("adversarial", 64)):
        seats, people = (amp.array_view(np.array([n], np.int32)) for n in (2, 0))
        with amp.reference_schedule(name):
            amp.parallel_for_each(VIEW, amp.extent(150), takes_one, seats, people)
        assert int(np.asarray(people)[0]) == expected


def test_waiting_for_another_thread_ends_where_threads_are_switched() -> None:
    def waits(t_idx, flag, a):  # type: ignore[no-untyped-def]
        if t_idx.local[0] == 0:
            amp.atomic_exchange(flag[0], 1)
        else:
            while amp.atomic_fetch_add(flag[0], 0) == 0:
                pass
        a[t_idx] = 1

    for name in ("adversarial", "random"):
        flag, a = (amp.array_view(np.zeros(n, np.int32)) for n in (1, 6))
        with amp.reference_schedule(name):
            amp.parallel_for_each(VIEW, amp.extent(6).tile(6), waits, flag, a)
        assert np.asarray(a).tolist() == [1] * 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(12, 10), (6, 35)])
def test_a_right_program_gives_one_result(name: str, shape: tuple[int, int]) -> None:
    raw = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    a, b = amp.array_view(raw), amp.array_view(np.zeros(shape[::-1], np.int32))
    total = amp.array_view(np.zeros(1, np.int32))

    def transposes(t_idx, a, b, total):  # type: ignore[no-untyped-def]
        values = amp.tile_static((3, 5), amp.int32)
        part = amp.tile_static((), amp.int32)
        row, col = t_idx.local
        if row == 0 and col == 0:
            part[()] = 0
        values[row, col] = a[t_idx]
        t_idx.barrier.wait()
        amp.atomic_fetch_add(part, values[2 - row, 4 - col])
        origin = t_idx.tile_origin
        b[origin[1] + col, origin[0] + row] = values[row, col]
        t_idx.barrier.wait()
        if row == 1 and col == 1:
            amp.atomic_fetch_add(total[0], part[()])

    with amp.reference_schedule(name, seed=11):
        amp.parallel_for_each(VIEW, a.extent.tile(3, 5), transposes, a, b, total)
    assert np.array_equal(np.asarray(b), raw.T)
    assert np.asarray(total)[0] == raw.sum()
