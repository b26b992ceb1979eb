"""Runs that continue: all findings of faulty kernels, each once, and the same ones in every order. The lines of
expected findings are marked with ``#: A``; the expectations contain the marks.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.sim.build import G, L, T, add, at, barrier, buf, compare, function, if_, kernel, parameter, put, value, var
from vkamp import sim
from vkamp.check.race_prover.report import RaceVerdicts
from vkamp.dispatch.reference_controls import collecting
from vkamp.findings import Finding, Report
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32
from vkamp.pipeline import compiler

Found = set[tuple[str, str, str]]
pytestmark = pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")

SCHEDULES = [("in-order", 0), ("reversed", 0), ("adversarial", 0), *(("random", seed) for seed in range(4))]
VIEW = amp.accelerator("reference").default_view


@pytest.fixture(autouse=True)
def nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiler is certain of comes to the reference accelerator, too."""
    monkeypatch.setattr(compiler, "judge_races", lambda kernel, uniformity: RaceVerdicts())


def marks(finding: Finding) -> str:
    lines = (linecache.getline(span.file, span.line) for span in finding.locations)
    return "".join(sorted({line.partition("#: ")[2].strip() for line in lines}))


def check(schedule: tuple[str, int], domain: amp.extent, program: Any, *args: Any) -> Report:
    name, seed = schedule
    with amp.reference_schedule(name, seed=seed), collecting() as reports:
        amp.parallel_for_each(VIEW, domain, program, *args)
    (report,) = reports
    return report


def findings_of(report: Report) -> Found:
    return {(f.kind, f.variable, marks(f)) for f in report.findings}


def zeros(*shape: int, dtype: Any = np.int32) -> amp.array_view:
    return amp.array_view(np.zeros(shape, dtype))


# -- faulty kernels: what they are, what is found


def missing_barrier(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    values[i] = a[t_idx]  #: A
    a[t_idx] = values[5 - i]  #: B


def two_writers(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    values[i] = 1  #: A
    values[(i + 1) % 6] = 2  #: B
    t_idx.barrier.wait()
    a[t_idx] = values[i]


def several_sites(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    if i == 0:
        values[3] = 1  #: A
        values[3] = 2  #: B
    if i == 1:
        a[t_idx] = values[3]  #: C


def between_tiles(t_idx, a):  # type: ignore[no-untyped-def]
    a[5] = t_idx.global_[0] + a[t_idx]  #: A


def neighbour_tile(t_idx, a):  # type: ignore[no-untyped-def]
    if t_idx.local[0] == 0:
        a[t_idx] = 1  #: A
    if t_idx.local[0] == 5 and t_idx.global_[0] + 1 < a.extent[0]:
        a[t_idx] = a[t_idx.global_[0] + 1]  #: B


def wrong_fence(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    values[i] = 1  #: A
    t_idx.barrier.wait_with_global_memory_fence()
    a[t_idx] = values[5 - i]  #: B


def fences_apart(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    values[i] = 1  #: A
    if i != 2:
        amp.tile_static_memory_fence(t_idx.barrier)
    t_idx.barrier.wait_with_global_memory_fence()
    amp.tile_static_memory_fence(t_idx.barrier)
    a[t_idx] = values[5 - i]  #: B


def plain_and_atomic(t_idx, a):  # type: ignore[no-untyped-def]
    count = amp.tile_static((), amp.int32)
    if t_idx.local[0] == 0:
        count[()] = 0  #: A
    amp.atomic_fetch_add(count, 1)  #: B
    t_idx.barrier.wait()
    a[t_idx] = count[()]


def out_of_bounds(t_idx, a):  # type: ignore[no-untyped-def]
    i = t_idx.global_[0]
    above = a[i + 1]  #: A
    a[i - 1] = 7 + above * 0  #: B


def many_faults(t_idx, a):  # type: ignore[no-untyped-def]
    i = t_idx.local[0]
    values = amp.private(4, amp.int32)
    values[i] = 1  #: A
    zero = a[t_idx]
    some = 7 // zero  #: B
    some += 7 % zero  #: C
    some += 1 << (i + 30)  #: D
    some += int(1e10 * (i + 1))  #: E
    assert i < 3, "too far"  #: F
    a[t_idx] = some + values[3] * 0  #: G


def uninitialised(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.float32)
    count = amp.tile_static((), amp.int32)
    i = t_idx.local[0]
    if i < 4:
        values[i] = 1.0
    amp.atomic_fetch_add(count, 1)  #: A
    t_idx.barrier.wait()
    a[t_idx] = int(values[i] * 2.0) + count[()]  #: B


def read_then_written(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    i = t_idx.local[0]
    a[t_idx] = values[i]  #: A
    values[i] = 1
    t_idx.barrier.wait()
    a[t_idx] += values[5 - i]


def wrong_claim(t_idx, a):  # type: ignore[no-untyped-def]
    for _ in range(amp.uniform(t_idx.local[0] // 5)):  #: A
        t_idx.barrier.wait()
    a[t_idx] = 1 // a[t_idx]  #: B


def vectors(t_idx, points):  # type: ignore[no-untyped-def]
    kept = amp.tile_static(6, amp.float3)
    i = t_idx.local[0]
    if i % 2 == 0:
        kept[i].xy = points[t_idx].yz
    t_idx.barrier.wait()
    points[t_idx] = kept[i] + points[i + 7]  #: A


def untiled(idx, a):  # type: ignore[no-untyped-def]
    a[0] = idx[0]  #: A
    a[idx[0] + 1] = a[idx] // a[idx]  #: B


def views_inside(t_idx, a):  # type: ignore[no-untyped-def]
    part = a.section(2, 4)
    part[t_idx.local[0]] = 1  #: A


def in_function(t_idx, a):  # type: ignore[no-untyped-def]
    values = amp.tile_static(6, amp.int32)
    store(values, t_idx.local[0])
    a[t_idx] = total(values)


@amp.func
def store(values, i):  # type: ignore[no-untyped-def]
    values[i] = i  #: A


@amp.func
def total(values):  # type: ignore[no-untyped-def]
    result = 0
    for k in range(6):
        result += values[k]  #: B
    return result


CASES: dict[Callable[..., None], Found] = {
    missing_barrier: {("race", "values", "AB")},
    two_writers: {("race", "values", "AB")},
    several_sites: {("race", "values", "AC"), ("race", "values", "BC")},
    between_tiles: {("race", "a", "A")},
    neighbour_tile: {("race", "a", "AB")},
    wrong_fence: {("race", "values", "AB")},
    fences_apart: {("race", "values", "AB")},
    plain_and_atomic: {("race", "count", "AB")},
    out_of_bounds: {("bounds", "a", "A"), ("bounds", "a", "B"), ("race", "a", "AB")},
    many_faults: {
        ("bounds", "values", "A"),
        ("division", "", "B"),
        ("division", "", "C"),
        ("shift", "", "D"),
        ("conversion", "", "E"),
        ("assert", "", "F"),
        ("uninitialised", "values", "G"),
    },
    uninitialised: {("uninitialised", "values", "B"), ("uninitialised", "count", "A")},
    read_then_written: {("uninitialised", "values", "A")},
    wrong_claim: {("uniformity", "", "A"), ("division", "", "B")},
    untiled: {("race", "a", "A"), ("race", "a", "AB"), ("race", "a", "B"), ("bounds", "a", "B"), ("division", "", "B")},
    views_inside: {("bounds", "a", "A"), ("race", "a", "A")},
    in_function: {("race", "values", "AB")},
}


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    def fine(t_idx, a):  # type: ignore[no-untyped-def]
        values = amp.tile_static(6, amp.int32)
        values[t_idx.local] = a[t_idx]
        t_idx.barrier.wait()
        a[t_idx] = values[5 - t_idx.local[0]] + amp.uniform(t_idx.tile[0])

    raw = np.arange(18, dtype=np.int32)
    for schedule in SCHEDULES:
        view = amp.array_view(raw.copy())
        report = check(schedule, amp.extent(18).tile(6), fine, view)
        assert report.ok
        assert report.not_covered == ()
        assert (report.kernel, report.accelerator) == ("fine", "reference")
        expected = raw.reshape(3, 6)[:, ::-1] + np.arange(3)[:, None]
        assert np.array_equal(np.asarray(view), expected.ravel())


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_all_findings_in_every_order(program: Callable[..., None], schedule: tuple[str, int]) -> None:
    domain = amp.extent(12) if program is untiled else amp.extent(12).tile(6)
    report = check(schedule, domain, program, zeros(12))
    assert findings_of(report) == CASES[program], str(report)
    places = [(f.kind, frozenset(f.locations)) for f in report.findings]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_vectors(schedule: tuple[str, int]) -> None:
    raw = np.arange(36, dtype=np.float32).reshape(12, 3)
    points = amp.array_view(raw, dtype=amp.float3)
    report = check(schedule, amp.extent(12).tile(6), vectors, points)
    found = {(f.kind, f.variable) for f in report.findings}
    assert found == {("uninitialised", "kept"), ("bounds", "points"), ("race", "points")}


def test_wrong_loads_give_0_and_wrong_stores_are_left_out() -> None:
    def shifts(idx, a, b):  # type: ignore[no-untyped-def]
        b[2 * idx[0]] = a[idx[0] + 2] + 10

    a, b = amp.array_view(np.arange(1, 5, dtype=np.int32)), zeros(5)
    report = check(("in-order", 0), amp.extent(4), shifts, a, b)
    assert findings_of(report) == {("bounds", "a", ""), ("bounds", "b", "")}
    assert np.asarray(b).tolist() == [13, 0, 14, 0, 10]


def test_values_after_findings_are_0() -> None:
    def computes(idx, a, b):  # type: ignore[no-untyped-def]
        n = a[idx]
        values = amp.private((2, 3), amp.int32)
        b[0] = 5 + 7 // n
        b[1] = 5 + amp.tdiv(7, n)
        b[2] = 5 + 7 % n
        b[3] = 5 + (1 << (n + 40))
        b[4] = 5 + int(1e20 * (n + 1))
        b[5] = 5 + values[n, 1]
        b[6] = 5 + values[n, n + 3]

    b = zeros(7)
    report = check(("in-order", 0), amp.extent(1), computes, zeros(1), b)
    assert np.asarray(b).tolist() == [5] * 7
    kinds = [f.kind for f in report.findings]
    assert kinds == ["division", "division", "division", "shift", "conversion", "uninitialised", "bounds"]


def test_a_wrong_store_into_a_struct_is_left_out() -> None:
    pair = np.dtype([("values", np.int32, (3,)), ("last", np.int32)])

    def fills(idx, rows):  # type: ignore[no-untyped-def]
        row = rows[idx]
        for k in range(4):
            row.values[k] = k + 1
        rows[idx] = row

    rows = amp.array_view(np.zeros(1, pair))
    report = check(("in-order", 0), amp.extent(1), fills, rows)
    assert [f.kind for f in report.findings] == ["bounds"]
    (row,) = np.asarray(rows)
    assert row["values"].tolist() == [1, 2, 3]
    assert row["last"] == 0


def test_a_tile_ends_at_a_divergent_barrier_and_the_others_go_on() -> None:
    # Only the compiler's own mistake could let this through: so it is built by hand.
    second = compare("eq", T, 1)
    body = [
        if_(second, [if_(compare("eq", L, 0), [barrier()])]),
        put(buf("a", G), 5),
        if_(second, [if_(compare("eq", L, 0), [barrier()], [barrier()])]),
    ]
    made = kernel(body, buffers={"a": (INT32, 1)}, tile=(2,))
    for schedule in (sim.Schedule(), sim.Schedule("reversed"), sim.Schedule("adversarial"), sim.Schedule("random", 3)):
        a = np.zeros(6, np.int32)
        report = sim.check(made, (6,), {"a": a}, {}, schedule=schedule)[0]
        (found,) = report.findings
        assert found.kind == "divergence"
        assert [thread.global_ for thread in found.threads] == [(2,), (3,)]
        assert report.not_covered == (
            "the rest of tile (1): it cannot continue past a barrier that not all of its threads reach",
        )
        assert a[[0, 1, 4, 5]].tolist() == [5] * 4


def test_a_tile_ends_at_a_subgroup_that_is_not_complete() -> None:
    # Only the compiler's own mistake could let this through: so it is built by hand.
    total = var("total")
    asks = ir.Subgroup(at(7), "add", (value(1),), total)
    body = [if_(compare("ne", L, 2), [asks, put(buf("a", G), total)]), barrier(), put(buf("b", G), 5)]
    made = kernel(body, buffers={"a": (INT32, 1), "b": (INT32, 1)}, tile=(6,))
    for schedule in (sim.Schedule(), sim.Schedule("reversed"), sim.Schedule("adversarial"), sim.Schedule("random", 3)):
        a, b = np.zeros(12, np.int32), np.zeros(12, np.int32)
        report = sim.check(made, (12,), {"a": a, "b": b}, {}, schedule=schedule, subgroup_size=2)[0]
        (found,) = report.findings
        assert found.kind == "divergence"
        # In whichever tile comes first.
        assert [thread.local for thread in found.threads] == [(3,), (2,)]
        assert "not all threads of the subgroup call amp.subgroup.add together" in str(found)
        assert a.reshape(2, 6).tolist() == [[2, 2, 0, 0, 2, 2]] * 2
        assert not b.any()
        with pytest.raises(amp.CheckError, match="not all threads of the subgroup"):
            sim.run(made, (12,), {"a": a, "b": b}, {}, schedule=schedule, subgroup_size=2)


def test_a_function_without_result_gives_0() -> None:
    p, r = parameter("p", INT32), var("r")
    half = function("half", [p], [INT32], [if_(compare("gt", p, 0), [ir.Return(at(), (value(1),))])])
    body = [ir.Call(at(), "half", (value(G),), (r,)), put(buf("a", G), add(r, 3))]
    made = kernel(body, buffers={"a": (INT32, 1)}, functions=[half], checked=False)
    a = np.zeros(3, np.int32)
    report = sim.check(made, (3,), {"a": a}, {})[0]
    assert [f.kind for f in report.findings] == ["uninitialised"]
    assert a.tolist() == [3, 4, 4]


def test_a_thread_that_reads_an_unassigned_variable_ends() -> None:
    r = var("r")
    body = [
        if_(compare("gt", L, 0), [put(r, 1)]),
        put(buf("a", G), r),
        barrier(),
        put(buf("a", G), 9),
    ]
    made = kernel(body, buffers={"a": (INT32, 1)}, tile=(2,), checked=False)
    a = np.zeros(4, np.int32)
    report = sim.check(made, (4,), {"a": a}, {})[0]
    assert [(f.kind, f.variable) for f in report.findings] == [("uninitialised", "r")]
    assert "tile (0) and 1 more" in report.not_covered[0]
    assert a.tolist() == [0, 1, 0, 1]


def test_launches_outside_still_raise() -> None:
    with collecting() as reports:
        amp.parallel_for_each(VIEW, amp.extent(12).tile(6), missing_barrier, zeros(12))
    with pytest.raises(amp.RaceError):
        amp.parallel_for_each(VIEW, amp.extent(12).tile(6), missing_barrier, zeros(12))
    assert len(reports) == 1
