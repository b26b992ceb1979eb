"""The pairs of constructs and contexts that random kernels have: `python -m tools.fuzz --coverage` counts 5,000."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from tools.fuzz import grammar, operators
from tools.fuzz.__main__ import main
from tools.fuzz.expressions import Scope
from tools.fuzz.forms import FORMS
from tools.fuzz.programs import _Maker, program
from tools.fuzz.run import Failure, compare, forget, load, run
from tools.fuzz.statements import line
from tools.fuzz.tree import Container, Program
from tools.fuzz.wanted import wanted
from vkamp.front import context
from vkamp.ir import builtins, types

ROOT = Path(__file__).resolve().parents[2]
SLICE = range(3_000, 3_060)


def pairs(text: str, *, scalars=()) -> Counter[str]:
    """The pairs of a kernel with this body."""
    body = [line(each.replace("{", "{{")) for each in text.strip("\n").split("\n")]
    launched = dict.fromkeys(scalars, (1, "np.int32"))
    return grammar.pairs_of(Program(1, False, (4,), None, [], ["i", "out"], [], launched, {}, body))


def test_every_kernel_has_the_pairs_that_it_is_to_have():
    claimed = set(grammar.claimed())
    for seed in SLICE:
        found, wants = grammar.pairs_of(program(seed)), wanted(seed)
        for what, position in wants.expressions:
            if what not in ("variable", "atomic"):
                assert found[f"expression: {what} as {position}"], (seed, what, position)
        for left, op, right in wants.operators:
            assert found[f"operator: {left} {op} {right}"], (seed, left, op, right)
        for row, shape in wants.rows:
            pair = f"builtin: {row.name} of {shape}"
            assert found[pair] or pair not in claimed or row.suffix, (seed, pair)


def test_the_first_kernels_want_everything():
    """5,000 kernels use all pairs of each list."""
    wants = [wanted(seed) for seed in range(5_000)]
    expressions = {pair for each in wants for pair in each.expressions}
    assert expressions == {(e, p) for e in grammar.EXPRESSIONS for p in grammar.POSITIONS if grammar.possible(e, p)}
    assert {pair for each in wants for pair in each.operators} == set(operators.operator_pairs())
    assert {pair for each in wants for pair in each.statements} == {
        (s, e) for s in grammar.STATEMENTS for e in grammar.ENCLOSING
    }
    assert {pair for each in wants for pair in each.forms} == set(grammar.form_pairs())
    assert {each.wait for each in wants} == {
        (a, n, v) for a in grammar.AROUND for n in (1, 2, 3) for v in grammar.ALIVE
    }
    rows = {(row.name, shape) for each in wants for row, shape in each.rows}
    claimed = [c for c in grammar.claimed() if c.startswith("builtin: ")]
    assert {f"builtin: {name} of {shape}" for name, shape in rows} >= set(claimed)


def test_pairs_are_read_off_the_source():
    found = pairs("x = (h & 3) if out[i] < 2.5 else -x\nout[x % 3, i[0]] += abs(x)", scalars=["h"])
    assert found["expression: launch value as bits left"] == 1
    assert found["expression: int literal as bits right"] == 1
    assert found["expression: bits as choice body"] == 1
    assert found["expression: comparison as choice test"] == 1
    assert found["expression: element as comparison left"] == 1
    assert found["expression: negation as choice orelse"] == 1
    assert found["expression: floor as subscript"] == 1
    assert found["expression: index component as subscript"] == 1
    assert found["expression: builtin as augmenting element"] == 1
    assert found["statement: assign variable in kernel"] == 1
    assert found["statement: augment element in kernel"] == 1
    assert found["expression: shift as bits left"] == 0


def test_forms_are_read_off_the_source():
    text = """
    cells = amp.private(3, amp.int32)
    flags = amp.private(2, bool)
    few = (h, 2, 3)
    first, *rest = few
    out[0] = sum(cells) + max(few) + any(x > 2 for x in rest)
    for n, x in enumerate(cells):
        if (y := x) in few:
            break
    else:
        out[1] = (x & 3) or 7
    """
    found = {p for p in pairs(textwrap.dedent(text).strip(), scalars=["h"]) if p.startswith("form: ")}
    assert found >= {
        "form: sum of array in kernel", "form: max of tuple in kernel", "form: any of generator in kernel",
        "form: starred target in kernel", "form: for over enumerate in kernel", "form: in tuple in for",
        "form: walrus in test in for", "form: for else in kernel", "form: bool private in kernel",
    }  # fmt: skip
    assert not {p for p in found if p.startswith(("form: for over tuple", "form: walrus in value", "form: sum of tu"))}


def test_forms_give_the_same_in_plain_python():
    """Each form once, in one place after the other."""
    for n, (name, texts) in enumerate(FORMS.items()):
        where = grammar.ENCLOSING[n % len(grammar.ENCLOSING)]
        if (name, where) not in grammar.form_pairs():
            where = "kernel"
        maker = _Maker(n)
        maker.tiled, maker.tile, maker.extent, maker.index, maker.precise = False, None, (3,), "i", True
        maker.containers, maker.scalars, maker.seed = [], {}, n
        scope = Scope()
        with mock.patch.dict(FORMS, {name: texts[n % len(texts) :][:1]}):
            body = [*maker.header(scope), *maker.nested(scope, f"form {name}", where)]
        maker.beside_pieces()
        params = ["i", *(c.name for c in maker.containers)]
        loaded = load(Program(n, True, (3,), None, maker.beside, params, maker.containers, maker.scalars, {}, body))
        expected, found = run(loaded, "reference"), run(loaded, "python")
        assert not isinstance(expected, Failure), expected
        assert not isinstance(found, Failure), found
        assert compare(loaded.program, expected, found, "python") is None
        forget(loaded)


@pytest.mark.parametrize(
    "group", ["expression", "statement", "operator", "builtin", "barriers", "alive", "source", "form"]
)
def test_a_gap_is_shown(group):
    found = Counter(grammar.claimed())
    gap = next(row for row in grammar.claimed() if row.startswith(group))
    del found[gap]
    assert grammar.report(found, 7).endswith(f"\n  never  {gap}")


def test_what_the_language_gets_new_is_claimed():
    """A class of syntax, a builtin and a scalar type: each is a gap until kernels have it."""
    row = builtins.BUILTINS["abs"]
    with mock.patch.dict(builtins.BUILTINS, {"newest": row.__class__(**{**vars(row), "name": "newest"})}):
        assert "builtin: newest of variable" in grammar.claimed()
    with mock.patch.dict(context._HANDLERS, {__import__("ast").Await: lambda *_: None}):
        assert "source: Await" in grammar.claimed()
    assert {*types.SCALARS, *types.SMALL} - {"bfloat16"} <= set(operators.TYPES)


def test_the_command_counts_and_runs_nothing():
    command = [sys.executable, "-m", "tools.fuzz", "--coverage", "--count", "30", "--seed", "40"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("pairs of 30 kernels\n")
    assert "  never  operator: " in done.stdout


def test_containers_of_the_pieces_are_arguments():
    made = program(3)
    assert {c.name for c in made.containers} <= set(made.params)
    assert all(isinstance(c, Container) for c in made.containers)


def _names(seeds: range) -> Counter[str]:
    return Counter({"source: Name": len(seeds)})


@pytest.mark.parametrize(("gap", "count", "status"), [("source: Name", 100, 0), ("operator: none", 130, 1)])
def test_counting_ends_once_all_are_found(gap, count, status, capsys):
    """Without making the kernels, of which each has a name."""
    counted = mock.patch.object(grammar, "pairs_of_seeds", _names)
    with mock.patch.object(grammar, "claimed", return_value=[gap]), counted:
        assert main(["--coverage", "--until-all", "--count", "130", "--seed", "40"]) == status
    assert capsys.readouterr().out.startswith(f"pairs of {count} kernels\n")
