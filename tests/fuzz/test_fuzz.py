"""The random kernels of tools/fuzz: a fixed slice of them, what they cover, and the tool that cuts them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import vkamp as amp
from pytest_vkamp import accelerator_names
from tools.fuzz import coverage, keep
from tools.fuzz.expressions import Array, Function, Scope
from tools.fuzz.programs import program
from tools.fuzz.run import Failure, compare, forget, load, run
from tools.fuzz.shrink import shrink
from tools.fuzz.statements import line
from tools.fuzz.tree import INT, Container, Program, source_of
from tools.fuzz.workers import Worker

ROOT = Path(__file__).resolve().parents[2]
#: `python -m tools.fuzz.coverage 230` chooses these of the first 230 kernels, which use everything together. They
#: are tried first, because the search through all of them takes minutes: choose again after a change of the generator.
FIRST = (
    0, 3, 6, 8, 19, 21, 23, 25, 26, 31, 35, 37, 51, 59, 63, 66, 74, 94, 98, 99, 104, 105, 106, 118, 122, 130, 131,
    139, 147, 148, 150, 162, 170, 182, 185, 189, 190, 193, 202, 203, 206, 227,
)  # fmt: skip


def test_a_slice(pytestconfig):
    """Each of these kernels gives the same in plain Python and on every accelerator of the session."""
    names = [n for n in accelerator_names(pytestconfig) if n != "reference"]
    worker = Worker(["reference", "python", *names], limit=120)
    try:
        failures = worker.run(range(620_000, 620_006))
    finally:
        worker.close()
    assert [(620_000 + n, f.message) for n, f in enumerate(failures) if f is not None] == []


SUBGROUPS = """
import numpy as np
import vkamp as amp

@amp.kernel
def k(t, out):
    me = t.global_[0]
    amp.atomic_fetch_add(out[3, me], amp.subgroup.add(me))
    out[0, me] = amp.subgroup.add(me)
    out[1, me] = amp.subgroup.id() * 1000 + amp.subgroup.count() * 100 + amp.subgroup.lane()
    out[2, me] = amp.subgroup.size()
"""


@pytest.mark.parametrize("changes", [None, ()])
def test_each_device_is_compared_at_the_size_of_its_subgroups(pytestconfig, changes):
    out = Container("out", "np.int32", (4, 90), "old int", written=True)
    made = Program(0, False, (90,), (45,), [], [], [out], {}, {}, [], text=SUBGROUPS, changes=changes)
    names = [n for n in accelerator_names(pytestconfig) if n != "reference"]
    worker = Worker(["reference", "python", *names], limit=120)
    try:
        assert worker.run([made]) == [None]
    finally:
        worker.close()
    loaded = load(made)
    four, eight = (run(loaded, "reference", size)["out"][0] for size in (4, 8))
    assert (four != eight).any()
    for size in (1, 4, 8, 32, 64):
        assert compare(made, run(loaded, "reference", size), run(loaded, "python", size), "python") is None
    forget(loaded)


def test_a_seed_is_a_kernel():
    assert source_of(program(7)) == source_of(program(7))
    assert len({source_of(program(seed)) for seed in range(20)}) == 20


def test_a_kernel_is_the_same_in_another_process():
    code = (
        "from tools.fuzz.programs import program; from tools.fuzz.tree import source_of; print(source_of(program(11)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == source_of(program(11)) + "\n"


def test_the_kernels_use_the_whole_language():
    """Every class of nodes, every builtin and every atomic, but those that are listed with a reason."""
    used: Counter[str] = Counter()
    missing = coverage.claimed()
    for seed in (*FIRST, *range(1000)):
        loaded = load(program(seed))
        used.update(coverage.of(loaded))
        forget(loaded)
        missing = [name for name in missing if not used[name]]
        if not missing:
            break
    assert missing == []
    assert all(not used[name] for name in coverage.NOT_CLAIMED), "what is used is claimed"


def test_what_is_stored_before_a_barrier_is_not_read_by_a_nested_function():
    tile, other = Array("tile1", INT, (4,)), Array("tile12", INT, (4,))
    scope = Scope(
        arrays=[tile, other],
        functions=[
            Function("inner1", (INT,), (INT,), text="tile1[q & 3]"),
            Function("inner2", (INT,), (INT,), text="tile12[q & 3]"),
            Function("f1", (INT,), (INT,)),
        ],
    )
    hidden = scope.without([tile])
    assert hidden.arrays == [other]
    assert [f.name for f in hidden.functions] == ["inner2", "f1"]
    assert len(scope.functions) == 3


@pytest.mark.parametrize("seed", [1006974, 1011300, 1023308, 1023737, 1028009])
def test_no_kernel_has_a_race(seed):
    """Seeds of which each had a nested function that reads what its caller stores."""
    loaded = load(program(seed))
    assert not isinstance(found := run(loaded, "reference"), Failure), found
    forget(loaded)


# -- a disagreement ------------------------------------------------------------------------------------------------


def written(made: Program) -> dict:
    loaded = load(made)
    found = run(loaded, "reference")
    forget(loaded)
    return found


def test_a_difference_is_found_and_named():
    made = program(500_001)
    right = written(made)
    name = next(c.name for c in made.containers if c.written and c.contents == "old int")
    wrong = {key: value.copy() for key, value in right.items()}
    wrong[name].reshape(-1)[2] += 1
    assert compare(made, right, right, "device") is None
    failure = compare(made, right, wrong, "device")
    assert failure is not None
    assert (failure.kind, failure.detail) == ("differs", name)
    assert failure.message.startswith(f"1 elements of {name} differ on device:\n  {name}[")


def test_shrinking_keeps_what_shows_it_and_little_else():
    # Without `while`: a cut would make an endless loop of one.
    fitting = (p for p in map(program, range(500)) if "while " not in source_of(p) and "+ 0.5)" in source_of(p))
    made = next(p for p in fitting if len(source_of(p)) > 4000)

    def shows(candidate: Program) -> bool:
        if "+ 0.5)" not in source_of(candidate):
            return False
        try:
            loaded = load(candidate)
        except (SyntaxError, NameError):
            return False
        found = run(loaded, "reference")
        forget(loaded)
        return not isinstance(found, Failure)

    small = shrink(made, shows, 60)
    assert shows(small)
    assert len(source_of(small)) < 900
    assert source_of(made) == source_of(program(made.seed)), "the program itself stays as it is"


@pytest.mark.parametrize("seed", [500_000, 500_002])
def test_a_kept_kernel_is_a_test_that_can_fail(tmp_path, seed):
    text = keep.test_of(program(seed), "kept", "nothing")
    names: dict = {"__name__": "kept"}
    file = tmp_path / "test_kept.py"
    file.write_text(text, encoding="utf-8")
    exec(compile(text, str(file), "exec"), names)
    view = amp.accelerator("reference").default_view
    names["test_kept"](view)
    changed = next(c for c in names["CASE"].containers if c.written and c.contents == "old int")
    rows = names["CASE"].expected[changed.name]
    while isinstance(rows[0], list):
        rows = rows[0]
    rows[0] ^= 1
    with pytest.raises(AssertionError, match=rf"1 elements of {changed.name} differ"):
        names["test_kept"](view)


def test_a_hang_and_a_crash_stop_one_kernel_only():
    worker = Worker(["reference"], limit=15)
    endless, crashing, fine = program(1), program(2), program(3)
    endless.prelude.append(line("import time as _time\n_time.sleep(60)"))
    crashing.prelude.append(line("import os as _os\n_os.kill(_os.getpid(), 11)"))
    try:
        found = worker.run([fine, crashing, fine])
        worker.limit = 1  # for a program that has no end
        found += worker.run([endless])
        worker.limit = 15
        found += worker.run([fine])
    finally:
        worker.close()
    assert [f and f.kind for f in found] == [None, "died", None, "hang", None]


def test_the_command():
    given = ["--count", "3", "--seed", "500000", "--accelerators", "reference"]
    done = subprocess.run(
        [sys.executable, "-m", "tools.fuzz", *given], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 of 3 kernels in ")
    assert "0 failures" in done.stdout
