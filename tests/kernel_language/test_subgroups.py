"""Functions of subgroups: each row on each device against its reference, and programs that use them.

Devices differ in the size of a subgroup, and so does the reference accelerator on demand: the tests ask each thread
for its subgroup and lane, and compute from these what must come out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import F32, I32, U32
from tests.kernel_language.subgroups import TILE, N, expected_of, kernel_of, places, subgroups_of
from vkamp.ir.subgroups import INDICES, OPERATIONS, SUBGROUPS
from vkamp.run.engine import SUBGROUP_OPERATIONS

KINDS: dict[str, type] = {"int32": I32, "uint32": U32, "float32": F32, "bool": I32}


def test_places(accelerator_view):
    groups, size = subgroups_of(accelerator_view)
    assert sorted(thread for group in groups for thread in group) == list(range(N))
    assert size == accelerator_view.accelerator.limits.subgroup_size


@pytest.mark.accelerators("reference")
def test_places_on_the_reference_accelerator(accelerator_view, size_of_the_reference):
    groups, size = subgroups_of(accelerator_view)
    assert size == size_of_the_reference
    # Neighbours in the order of their local indices.
    assert groups[0] == list(range(min(size, TILE)))


# -- every row -----------------------------------------------------------------------------------------------------


CASES = [
    (name, kind, operand)
    for name, row in SUBGROUPS.items()
    for kind in [k for k in row.types if k in KINDS] or ["int32"]
    for operand in row.samples or (0,)
]


@pytest.mark.parametrize(("name", "kind", "operand"), CASES, ids=[f"{n}-{k}-{o}" for n, k, o in CASES])
def test_row(accelerator_view, name: str, kind: str, operand: int):
    row = SUBGROUPS[name]
    generator = np.random.default_rng(7)
    low = 0 if kind in ("uint32", "bool") else -7
    values = generator.integers(low, 9, N).astype(KINDS[kind])
    if row.name.endswith("mul") and kind == "float32":
        values = np.exp2(values % 3 - 1).astype(F32)  # products of powers of two are exact
    groups, size = subgroups_of(accelerator_view)
    expected = expected_of(row, kind, values, operand, groups, size)
    result_kind = U32 if row.result == "uint4" else KINDS[kind if row.result == "value" else row.result]
    out = amp.array_view(np.zeros((4, N), result_kind))
    second = "0" if name == "broadcast" and operand == 0 else str(operand)
    launched = (amp.extent(N).tile(TILE), kernel_of(row, kind, second), amp.array_view(values), out)
    if np.isnan(expected).any() and accelerator_view.accelerator.device_path == "reference":
        with pytest.raises(amp.CheckError, match=f"amp.subgroup.{name} reads the value of lane"):
            amp.parallel_for_each(accelerator_view, *launched)
        return
    amp.parallel_for_each(accelerator_view, *launched)
    result = np.asarray(out).astype(np.float64)
    if kind in ("int32", "uint32"):
        result = result % 2.0**32
    defined = ~np.isnan(expected)
    assert defined.sum() > N // 2
    assert np.array_equal(result[defined], expected[defined])


def test_the_names_of_operations():
    assert SUBGROUP_OPERATIONS[: len(OPERATIONS)] == OPERATIONS
    for row in SUBGROUPS.values():
        assert set(row.needs) <= set(OPERATIONS)
        assert (row.reference is None) != (row.source is None), row.name
        assert row.doc.endswith("."), row.name
        function = getattr(amp.subgroup, row.name)
        assert row.doc in function.__doc__
    for name in (*SUBGROUPS, *INDICES):
        with pytest.raises(amp.AmpError, match=rf"amp\.subgroup\.{name} works in kernels"):
            getattr(amp.subgroup, name)()
    with pytest.raises(AttributeError, match=r"vkamp has no subgroup\.sum"):
        _ = amp.subgroup.sum


@pytest.mark.parametrize("function", ["min", "max"])
def test_a_number_wins_over_nan(accelerator_view, function: str):
    source = f"def k(t_idx, a, out):\n    out[t_idx] = amp.subgroup.{function}(a[t_idx])\n"
    values = np.full(N, np.nan, F32)
    groups, _ = subgroups_of(accelerator_view)
    for group in groups:
        values[group[len(group) // 2]] = 5
    out = amp.array_view(np.zeros(N, F32))
    amp.parallel_for_each(
        accelerator_view, amp.extent(N).tile(TILE), amp.kernel(define(source)), amp.array_view(values), out
    )
    assert np.array_equal(np.asarray(out), np.full(N, 5, F32))


# -- programs ------------------------------------------------------------------------------------------------------


@amp.kernel
def sums(t_idx, a, out):
    """The sum of each tile: of its subgroups first, then of their sums."""
    partial = amp.tile_static(t_idx.tile_dim0, amp.float32)
    x = a[t_idx] if t_idx[0] < a.extent[0] else 0.0
    total = amp.subgroup.add(x)
    if amp.subgroup.elect():
        partial[amp.subgroup.id()] = total
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.id() == 0:
        of_tile = 0.0
        for first in range(0, amp.subgroup.count(), amp.subgroup.size()):
            k = first + amp.subgroup.lane()
            of_tile += amp.subgroup.add(partial[k] if k < amp.subgroup.count() else 0.0)
        if amp.subgroup.lane() == 0:
            out[t_idx.tile] = of_tile


@pytest.mark.parametrize(("n", "tile"), [(1000, 256), (45, 45), (129, 64), (1, 1), (777, 3)])
def test_a_reduction(accelerator_view, n: int, tile: int):
    a = np.arange(n, dtype=F32) % 13
    domain = amp.extent(n).tile(tile).pad()
    count = domain[0] // tile
    out = amp.array_view(np.zeros(count, F32))
    amp.parallel_for_each(accelerator_view, domain, sums, amp.array_view(a), out)
    padded = np.zeros(count * tile, F32)
    padded[:n] = a
    assert np.array_equal(np.asarray(out), padded.reshape(count, tile).sum(axis=1))


@pytest.mark.accelerators("reference")
def test_a_reduction_on_the_reference_accelerator(accelerator_view, size_of_the_reference):
    for name in ("reversed", "random", "adversarial"):
        with amp.reference_schedule(name, seed=3):
            test_a_reduction(accelerator_view, 100, 24)


@amp.func
def position():
    """Which thread of the tile this is, counted subgroup after subgroup."""
    return amp.subgroup.id() * amp.subgroup.size() + amp.subgroup.lane()


@amp.kernel
def scans(t_idx, a, out):
    """The inclusive scan of each tile: in subgroups, then over their sums."""
    partial = amp.tile_static(t_idx.tile_dim0, amp.int32)
    before = amp.tile_static(t_idx.tile_dim0, amp.int32)
    i = t_idx.tile_origin[0] + position()
    x = a[i] if i < a.extent[0] else 0
    own = amp.subgroup.inclusive_add(x)
    if amp.subgroup.lane() == amp.subgroup.size() - 1:
        partial[amp.subgroup.id()] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.id() == 0:
        carry = 0
        for first in range(0, amp.subgroup.count(), amp.subgroup.size()):
            k = first + amp.subgroup.lane()
            y = partial[k] if k < amp.subgroup.count() - 1 else 0
            rest = carry + amp.subgroup.exclusive_add(y)
            if k < amp.subgroup.count():
                before[k] = rest
            carry += amp.subgroup.add(y)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if i < out.extent[0]:
        out[i] = own + before[amp.subgroup.id()]


@pytest.mark.parametrize(("n", "tile"), [(1000, 256), (90, 45), (129, 64), (1, 1), (300, 33)])
def test_a_scan(accelerator_view, n: int, tile: int):
    a = np.arange(n, dtype=I32) * 7 % 31
    domain = amp.extent(n).tile(tile).pad()
    out = amp.array_view(np.zeros(n, I32))
    amp.parallel_for_each(accelerator_view, domain, scans, amp.array_view(a), out)
    expected = np.concatenate([np.cumsum(a[i : i + tile]) for i in range(0, n, tile)])
    assert np.array_equal(np.asarray(out), expected)


@pytest.mark.accelerators("reference")
def test_a_scan_on_the_reference_accelerator(accelerator_view, size_of_the_reference):
    test_a_scan(accelerator_view, 130, 50)


@pytest.mark.parametrize("ballot", ["amp.subgroup.ballot(a[t_idx] > 0)", "amp.uint4(amp.uint32(a[t_idx]))"])
def test_counting_bits_is_as_uniform_as_the_bits(accelerator_view, ballot: str):
    source = f"""\
def k(t_idx, a, out):
    if amp.subgroup.ballot_bit_count({ballot}) > 1:
        out[t_idx] = amp.subgroup.add(a[t_idx])
"""
    n = 4 * accelerator_view.accelerator.limits.subgroup_size
    a, out = amp.array_view(np.arange(n, dtype=I32)), amp.array_view(np.zeros(n, I32))
    launched = accelerator_view, amp.extent(n).tile(n), amp.kernel(define(source)), a, out
    if "uint32" in ballot:
        with pytest.raises(amp.CompileError, match="VKA650"):
            amp.parallel_for_each(*launched)
    else:
        amp.parallel_for_each(*launched)
        assert np.array_equal(np.asarray(out).reshape(4, -1)[:, 0], np.arange(n).reshape(4, -1).sum(1))


@amp.kernel
def compacted(t_idx, a, out, count):
    """The numbers above a limit, in any order: one atomic for each subgroup."""
    i = t_idx[0]
    value = a[i] if i < a.extent[0] else -1.0
    chosen = amp.subgroup.ballot(value > 4.0)
    first = 0
    if amp.subgroup.elect():
        first = amp.atomic_fetch_add(count[0], amp.subgroup.ballot_bit_count(chosen))
    first = amp.subgroup.broadcast_first(first)
    if value > 4.0:
        out[first + amp.subgroup.ballot_exclusive_bit_count(chosen)] = value


def test_counting_under_a_divergent_condition_is_refused(accelerator_view):
    a, out, count = (
        amp.array_view(np.zeros(10, F32)),
        amp.array_view(np.zeros(10, F32)),
        amp.array_view(np.zeros(1, I32)),
    )
    with pytest.raises(amp.CompileError, match="VKA650"):
        amp.parallel_for_each(accelerator_view, amp.extent(10).tile(5), compacted, a, out, count)


@amp.kernel
def compacts(t_idx, a, out, count):
    i = t_idx[0]
    value = a[i] if i < a.extent[0] else -1.0
    chosen = amp.subgroup.ballot(value > 4.0)
    taken = amp.subgroup.ballot_bit_count(chosen)
    first = 0
    if amp.subgroup.elect():
        first = amp.atomic_fetch_add(count[0], taken)
    first = amp.subgroup.broadcast_first(first) + amp.subgroup.ballot_exclusive_bit_count(chosen)
    if value > 4.0:
        out[first] = value


@pytest.mark.parametrize("n", [1000, 77, 3])
def test_a_compaction(accelerator_view, n: int):
    a = (np.arange(n) * 5 % 11).astype(F32)
    out, count = amp.array_view(np.full(n, -1, F32)), amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(n).tile(64).pad(), compacts, amp.array_view(a), out, count)
    wanted = a[a > 4]
    assert count[0] == len(wanted)
    assert np.array_equal(np.sort(np.asarray(out)[: len(wanted)]), np.sort(wanted))


@amp.func
def butterfly(x):
    """The sum of a whole subgroup that has no empty lanes."""
    mask = amp.subgroup.size() // 2
    while mask > 0:
        x += amp.subgroup.shuffle_xor(x, mask)
        mask //= 2
    return x


@amp.kernel
def rounds(t_idx, a, out, steps):
    """Halves each number until all of the subgroup are odd or zero; a loop that each subgroup leaves by itself."""
    x = a[t_idx]
    n = 0
    while amp.subgroup.any(x != 0 and x % 2 == 0):
        if x % 2 == 0:
            x //= 2
        n += 1
    out[t_idx] = butterfly(x)
    steps[t_idx] = n


def test_loops_that_a_subgroup_leaves(accelerator_view):
    tile, tiles = 128, 3
    a = np.random.default_rng(1).integers(0, 2000, tile * tiles).astype(I32)
    out, steps = (amp.array_view(np.zeros(tile * tiles, I32)) for _ in range(2))
    amp.parallel_for_each(accelerator_view, amp.extent(tile * tiles).tile(tile), rounds, amp.array_view(a), out, steps)
    odd, halved = a.copy(), np.zeros_like(a)
    while (even := (odd != 0) & (odd % 2 == 0)).any():
        odd[even] //= 2
        halved[even] += 1
    size = accelerator_view.accelerator.limits.subgroup_size
    assert np.array_equal(
        np.asarray(out).reshape(-1, size), odd.reshape(-1, size).sum(1, keepdims=True).repeat(size, 1)
    )
    assert np.array_equal(
        np.asarray(steps).reshape(-1, size), halved.reshape(-1, size).max(1, keepdims=True).repeat(size, 1)
    )


@amp.kernel
def wanders(t_idx, a, out):
    """Each thread goes its own way before all of a subgroup meet, twice."""
    x = a[t_idx]
    n = 0
    for i in range(x % 17):
        if (x >> i) & 1 == 1:
            if i > 5:
                continue
            n += i
        elif n > 9:
            break
        n += 1
    total = amp.subgroup.add(n)
    m = n
    while m % 7 != 0:
        m += 1
        if m > total:
            break
    out[t_idx] = total * 1000 + amp.subgroup.max(m)


def test_threads_meet_again(accelerator_view):
    a = np.random.default_rng(5).integers(0, 2**20, N).astype(I32)
    groups, _ = subgroups_of(accelerator_view)
    out = amp.array_view(np.zeros(N, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), wanders, amp.array_view(a), out)
    for group in groups:
        own = []
        for x in a[group].tolist():
            n = 0
            for i in range(x % 17):
                if x >> i & 1:
                    if i > 5:
                        continue
                    n += i
                elif n > 9:
                    break
                n += 1
            own.append(n)
        total = sum(own)
        last = []
        for m in own:
            while m % 7:
                m += 1
                if m > total:
                    break
            last.append(m)
        assert set(np.asarray(out)[group].tolist()) == {total * 1000 + max(last)}


@amp.func
def combined(x, combine):
    return combine(x)


def test_other_names_and_functions_as_arguments(accelerator_view):
    from vkamp import subgroup

    largest = amp.subgroup.max

    @amp.kernel
    def k(t_idx, out):
        x = t_idx.local[0]
        out[t_idx] = combined(x, amp.subgroup.add) * 100 + subgroup.min(x) + largest(x)

    out = amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(4).tile(4), k, out)
    assert np.asarray(out).tolist() == [603] * 4


@amp.kernel
def in_planes(t_idx, a, out):
    total = amp.subgroup.add(a[t_idx])
    if amp.subgroup.elect():
        amp.atomic_fetch_add(out[t_idx.tile], total)


def test_tiles_of_rank_two_and_three(accelerator_view):
    a = np.arange(6 * 10 * 14, dtype=I32).reshape(6, 10, 14)
    out = amp.array_view(np.zeros((2, 5, 2), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(6, 10, 14).tile(3, 2, 7), in_planes, amp.array_view(a), out)
    assert np.array_equal(np.asarray(out), a.reshape(2, 3, 5, 2, 2, 7).sum(axis=(1, 3, 5)))


@pytest.mark.parametrize("tile", [(3, 10), (5, 3), (2, 3, 5), (20, 2), (1, 7)])
def test_threads_lie_in_a_row(accelerator_view, tile: tuple[int, ...]):
    ids, lanes, sizes, counts = (amp.array_view(np.full(tile, -1, I32)) for _ in range(4))
    amp.parallel_for_each(accelerator_view, amp.extent(*tile).tile(*tile), places, ids, lanes, sizes, counts)
    size = accelerator_view.accelerator.limits.subgroup_size
    numbers = np.arange(np.prod(tile)).reshape(tile)
    assert np.array_equal(np.asarray(ids), numbers // size)
    assert np.array_equal(np.asarray(lanes), numbers % size)
    assert (np.asarray(counts) == -(-numbers.size // size)).all()


def test_values_of_other_kinds(accelerator_view):
    @amp.kernel
    def k(t_idx, out, *, lane: amp.constant):
        shared = amp.tile_static((), amp.int32)
        if t_idx.local[0] == 0:
            shared[()] = 5
        t_idx.barrier.wait()
        out[0, t_idx[0]] = amp.subgroup.add(True)
        out[1, t_idx[0]] = amp.subgroup.max(shared)
        out[2, t_idx[0]] = amp.subgroup.all(shared)
        out[3, t_idx[0]] = amp.subgroup.broadcast(amp.subgroup.lane() * 10, lane)
        out[4, t_idx[0]] = 1 if amp.subgroup.lane() >= 0 and amp.subgroup.size() > 0 else 0
        x = amp.subgroup.lane()
        x = amp.subgroup.shuffle(x, 0) + amp.subgroup.shuffle(x + 1, amp.uint32(0))
        out[5, t_idx[0]] = x

    out = amp.array_view(np.zeros((6, 3), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(3).tile(3), k, out, lane=0)
    groups = -(-3 // accelerator_view.accelerator.limits.subgroup_size)
    assert groups == 1
    assert np.asarray(out).tolist() == [[3] * 3, [5] * 3, [1] * 3, [0] * 3, [1] * 3, [1] * 3]


# -- lowering, checking, devices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lowering", ["threads", "auto", "loops"])
def test_forms(accelerator_view, lowering: str, monkeypatch: pytest.MonkeyPatch):
    """CPU devices run the threads of a tile with a barrier as loops; subgroups have the same size in both forms.

    GPUs do not: vkamp does not fix the size of their subgroups.
    """
    monkeypatch.setenv("VKAMP_LOWERING", lowering)
    domain = amp.extent(100).tile(50)
    args = amp.array_view(np.zeros(100, I32)), amp.array_view(np.zeros(100, I32))
    found = scans.inspect(accelerator_view, domain, *args)
    device = accelerator_view.accelerator
    asked = lowering != "threads" and device.is_emulated and device.device_path != "reference"
    is_refused = lowering == "loops" and not device.is_emulated
    assert found.lowering.partition(":")[0] == ("loops" if asked else "threads")
    assert ("subgroups is not known" in found.lowering) == is_refused
    assert found.local_size == (device.limits.subgroup_size if asked else 50, 1, 1)
    test_a_scan(accelerator_view, 100, 50)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_every_row_as_loops(accelerator_view, monkeypatch: pytest.MonkeyPatch):
    """All rows in one kernel, each after a barrier; the last subgroup of a tile has fewer threads."""
    monkeypatch.setenv("VKAMP_LOWERING", "loops")
    groups, size = subgroups_of(accelerator_view)
    values = np.random.default_rng(7).integers(-7, 9, N).astype(I32)
    lines, expected = ["def k(t_idx, a, out):"], []
    for number, row in enumerate(SUBGROUPS.values()):
        operand = row.samples[0] if row.samples else 0
        given = {"predicate": "a[t_idx] > 3", "ballot": "amp.subgroup.ballot(a[t_idx] > 3)", "value": "a[t_idx]"}
        call = f"amp.subgroup.{row.name}({', '.join(given.get(p, str(operand)) for p in row.params)})"
        lines += [
            f"    out[{number}, t_idx[0]] = amp.int32({call}{'.x' if row.result == 'uint4' else ''})",
            "    t_idx.barrier.wait_with_global_memory_fence()",
        ][: 2 if number % 8 == 0 else 1]
        expected.append(expected_of(row, "int32", values, operand, groups, size)[0])
    out = amp.array_view(np.zeros((len(expected), N), I32))
    launched = amp.extent(N).tile(TILE), amp.kernel(define("\n".join(lines) + "\n")), amp.array_view(values), out
    assert launched[1].inspect(accelerator_view, launched[0], *launched[2:]).lowering == "loops"
    amp.parallel_for_each(accelerator_view, *launched)
    found = np.asarray(out).astype(np.float64) % 2.0**32
    for row, mine, right in zip(SUBGROUPS.values(), found, expected, strict=True):
        defined = ~np.isnan(right)
        assert defined.sum() > N // 2
        assert np.array_equal(mine[defined], right[defined] % 2.0**32), row.name


@amp.kernel
def asks_for_nobody(t_idx, a, out):
    size = amp.subgroup.size()
    out[t_idx] = amp.subgroup.shuffle(a[t_idx], amp.subgroup.lane() + size // 2 + 1)


def test_check_mode(accelerator_view):
    a, out = amp.array_view(np.ones(20, I32)), amp.array_view(np.full(20, 9, I32))
    report = amp.check(accelerator_view, amp.extent(20).tile(10), asks_for_nobody, a, out)
    (finding,) = report.findings
    assert finding.kind == "bounds"
    assert "amp.subgroup.shuffle reads the value of lane " in str(finding)
    assert set(np.asarray(out).tolist()) <= {0, 1}
    for kernel, domain, args in (
        (sums, amp.extent(100).tile(32).pad(), (amp.array_view(np.ones(100, F32)), amp.array_view(np.zeros(4, F32)))),
        (scans, amp.extent(100).tile(20), (amp.array_view(np.ones(100, I32)), amp.array_view(np.zeros(100, I32)))),
        (rounds, amp.extent(128).tile(64), tuple(amp.array_view(np.arange(128, dtype=I32)) for _ in range(3))),
    ):
        report = amp.check(accelerator_view, domain, kernel, *args)
        assert report.ok, str(report)
        assert report.not_covered == ()


@amp.kernel
def races(t_idx, a, out):
    last = amp.tile_static(64, amp.int32)
    last[amp.subgroup.id()] = a[t_idx]
    total = amp.subgroup.add(1)
    out[t_idx] = last[amp.subgroup.id()] + total


def test_a_subgroup_is_no_barrier(accelerator_view):
    a, out = amp.array_view(np.arange(64, dtype=I32)), amp.array_view(np.zeros(64, I32))
    report = amp.check(accelerator_view, amp.extent(64).tile(64), races, a, out)
    assert [f.kind for f in report.findings] == ["race", "race"]
    assert all(f.variable == "last" for f in report.findings)


def test_an_unsupported_operation(accelerator_view, monkeypatch: pytest.MonkeyPatch):
    queue = accelerator_view._queue
    info = queue.info
    assert info.limits.subgroup_operations >= set(OPERATIONS)
    limits = replace(info.limits, subgroup_operations=frozenset({"basic", "ballot"}))
    monkeypatch.setattr(type(queue), "info", replace(info, limits=limits))
    args = amp.array_view(np.zeros(100, I32)), amp.array_view(np.zeros(100, I32))
    with pytest.raises(amp.UnsupportedFeatureError, match="VKA503: `amp.subgroup.inclusive_add` needs arithmetic"):
        amp.parallel_for_each(accelerator_view, amp.extent(100).tile(50), scans, *args)


def test_sizes_of_the_reference_accelerator(monkeypatch: pytest.MonkeyPatch):
    view = amp.accelerator("reference").default_view
    monkeypatch.setenv("VKAMP_SUBGROUP_SIZE", "16")
    assert subgroups_of(view)[1] == 16
    with amp.reference_subgroups(4):
        assert subgroups_of(view)[1] == 4
    monkeypatch.setenv("VKAMP_SUBGROUP_SIZE", "12")
    with pytest.raises(amp.AmpError, match="VKAMP_SUBGROUP_SIZE is '12': give 1, 2, 4, 8, 16, 32, 64 or 128"):
        subgroups_of(view)
    with (
        pytest.raises(ValueError, match="a subgroup has 1, 2, 4, 8, 16, 32, 64 or 128 lanes, not 3"),
        amp.reference_subgroups(3),
    ):
        pass


@amp.kernel
def halves_from_below(t_idx, a, moved, sums):
    moved[t_idx] = amp.subgroup.shuffle_up(a[t_idx], 1)
    sums[t_idx] = amp.subgroup.inclusive_scan(a[t_idx], lambda p, q: p + q)


def test_vectors_of_float16(accelerator_view):
    raw = np.random.default_rng(1).integers(-4, 5, (N, 3)).astype(np.float16)
    a, moved, sums = (amp.array(amp.extent(N), amp.half3, raw, accelerator_view=accelerator_view) for _ in range(3))
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), halves_from_below, a, moved, sums)
    for group in subgroups_of(accelerator_view)[0]:
        np.testing.assert_array_equal(np.asarray(sums)[group], np.cumsum(raw[group], axis=0))
        np.testing.assert_array_equal(np.asarray(moved)[group], raw[[group[0], *group[:-1]]])
