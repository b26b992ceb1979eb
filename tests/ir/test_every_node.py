"""Every class of nodes in every part of the compiler: a class that one of them forgets fails here."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.emit.table import PROGRAMS
from tests.ir.samples import POINT, SAMPLES, kernel_of
from vkamp import sim
from vkamp.artifacts import Target
from vkamp.check import uniformity
from vkamp.check.instrument import instrument
from vkamp.check.instrument import rewrite as instrument_rewrite
from vkamp.check.race_prover import interpreter
from vkamp.check.race_prover import values as prover_values
from vkamp.check.race_prover.facts import Facts
from vkamp.check.race_prover.report import judge_races
from vkamp.check.races import check_certain_races
from vkamp.emit import expressions, statements
from vkamp.emit.scopes import plan
from vkamp.errors import InternalCompilerError, Span
from vkamp.ir import dataflow, lowered, nodes, traversal
from vkamp.ir import verify as verify_module
from vkamp.ir.ranges import Ranges
from vkamp.ir.rewrite import with_variables
from vkamp.ir.text import text
from vkamp.ir.types import INT32, int_range
from vkamp.ir.verify import verify
from vkamp.legalize.bind_arrays import bind_arrays
from vkamp.lower import NotLowerable, load_sharing, loops
from vkamp.lower.bounds import values
from vkamp.lower.tile_static_forwarding import index_values
from vkamp.pipeline.passes import legalized, shader_of
from vkamp.sim import expressions as sim_expressions
from vkamp.sim import statements as sim_statements

HERE = Span("a.py", 1, 0, 1, 1)


def classes(base: type[nodes.Node]) -> Iterator[type[nodes.Node]]:
    """The classes of nodes of the IR, but bases of others; those of both levels."""
    for each in base.__subclasses__():
        if each.__module__ in (nodes.__name__, traversal.__name__, lowered.__name__):
            yield from classes(each)
            if each not in (nodes.Expr, nodes.Place, nodes.Stmt) and "ALIKE" not in vars(each):
                yield each


def of_level(base: type[nodes.Node], level: str) -> set[type[nodes.Node]]:
    return {each for each in classes(base) if each.LEVEL == level}


STATEMENTS, EXPRESSIONS = of_level(nodes.Stmt, "source"), of_level(nodes.Expr, "source")


# -- fields --------------------------------------------------------------------------------------------------------


def held(kind: Any) -> set[type]:
    """The classes in an annotation."""
    if args := typing.get_args(kind):
        return {found for arg in args for found in held(arg)}
    return {kind} if inspect.isclass(kind) else set()


@pytest.mark.parametrize("cls", sorted(classes(nodes.Node), key=lambda cls: cls.__name__))
def test_the_annotations_of_fields_are_read_as_what_they_mean(cls):
    kinds = {name: held(kind) for name, kind in typing.get_type_hints(cls).items()}
    found = traversal.FIELDS[cls]

    def holding(base: type) -> list[str]:
        return [f.name for f in dataclasses.fields(cls) if any(issubclass(kind, base) for kind in kinds[f.name])]

    assert [name for name, _ in reversed(found.operands)] == holding(nodes.Node)
    assert list(found.blocks) == holding(nodes.Stmt)
    assert [name for name, _ in found.variables] == holding(nodes.Variable)
    # A value is read by an expression: a place that a statement holds itself is one that it may change.
    changed = holding(nodes.Place) if issubclass(cls, nodes.Stmt) else []
    assert [name for name, _ in found.changed] == changed


# -- tables --------------------------------------------------------------------------------------------------------

#: Of the form with loops alone, which nothing looks at but the printer and the verifier.
OF_LOOPS = {nodes.Remark}
#: Statements that are not printed, or only as a comment; claims are assignments by then.
UNPRINTED = {nodes.Remark, nodes.Assert, nodes.UniformAssert}
#: Expressions that no table of the prover of races has: of these it knows nothing, but what is in them.
UNKNOWN_TO_THE_PROVER = {nodes.SubgroupIndex, nodes.Construct, nodes.Swizzle}


def test_every_class_is_in_every_table():
    for table in (
        uniformity._HANDLERS,
        interpreter._HANDLERS,
        instrument_rewrite._STATEMENTS,
        sim_statements._HANDLERS,
    ):
        assert set(table) == STATEMENTS - OF_LOOPS
    assert set(verify_module.STATEMENTS) == STATEMENTS | of_level(nodes.Stmt, "lowered")
    assert set(sim_expressions._HANDLERS) == EXPRESSIONS
    assert set(verify_module.EXPRESSIONS) == set(expressions.PRINTERS) == EXPRESSIONS | of_level(nodes.Expr, "lowered")
    assert set(statements.PRINTERS) == (STATEMENTS | of_level(nodes.Stmt, "lowered")) - UNPRINTED
    assert set(prover_values._HANDLERS) == EXPRESSIONS - UNKNOWN_TO_THE_PROVER


# -- whole kernels with each class ---------------------------------------------------------------------------------


def nodes_of(kernel: nodes.Kernel) -> Iterator[nodes.Node]:
    for function in (*kernel.functions, kernel.body):
        yield from nodes.walk(*function.body)


def test_there_is_a_kernel_with_each_class():
    assert set(SAMPLES) == of_level(nodes.Node, "source") - OF_LOOPS
    for cls, body in SAMPLES.items():
        assert any(isinstance(node, cls) for node in nodes_of(kernel_of(body))), cls


@pytest.mark.parametrize("cls", SAMPLES, ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning", "ignore::vkamp.RaceWarning")
def test_every_part_of_the_compiler_takes_a_kernel_with_it(cls, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    kernel = kernel_of(SAMPLES[cls])
    verify(kernel)
    assert text(kernel)
    found = uniformity.check_uniformity(kernel)
    check_certain_races(kernel, found)
    races = judge_races(kernel, found)
    forms = [kernel, instrument(bind_arrays(kernel), races.proved).kernel]
    with contextlib.suppress(NotLowerable):
        forms.append(loops(kernel, 4))
    for form in forms:
        verify(form)
        facts = Facts(form)
        for function in (*form.functions, form.body):
            ranges = Ranges(function, form.tile, form.lanes)
            for statement in nodes.walk_statements(function.body):
                assert set(nodes.definitions(statement)) <= set(dataflow.mentioned(statement))
                facts.is_local_only(statement), facts.waits(statement), facts.assigned(statement)
                for node in nodes.own_nodes(statement):
                    if isinstance(node, nodes.Expr) and getattr(node.type, "is_integer", False):
                        ranges.of(node)
        # What no device takes is printed for people.
        for types in (frozenset(), frozenset({"storage16", "float16"})):
            assert shader_of(form, Target(reference=True, types=types)).glsl
    points = np.zeros(8, POINT)
    arrays = {"out": np.zeros(8, np.int32), "cells": np.arange(8, dtype=np.int32), "points": points}
    sim.run(kernel, (8,), arrays, {"count": 3}, races=False)
    # A line for the class itself: what a part leaves out as if it were nothing would be missing.
    without = kernel_of("out[i] = 0")
    assert text(kernel) != text(without)


def test_legalization_makes_each_lowered_class_and_what_the_verifier_accepts():
    """And the verifier refuses it at the level of the front end."""
    found: set[type[nodes.Node]] = set()
    for program in PROGRAMS.values():
        legal, _ = legalized(program.kernel(), program.target)
        verify(legal, "lowered")
        lower = {type(n) for s in legal.statements() for n in nodes.own_nodes(s) if n.LEVEL == "lowered"}
        if lower:
            with pytest.raises(verify_module.VerificationError):
                verify(legal)
        found |= lower
    assert found == of_level(nodes.Node, "lowered")


# -- a class that nothing knows ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, repr=False)
class Planted(nodes.Stmt):
    """A statement with a result, as a later one might be; no part of the compiler names it."""

    value: nodes.Expr
    result: nodes.Variable
    others: tuple[nodes.Variable | None, ...] = ()


def local(name: str) -> nodes.Variable:
    return nodes.Variable(name, INT32, "local", HERE)


def load(variable: nodes.Variable) -> nodes.Load:
    return nodes.Load(HERE, INT32, nodes.Local(HERE, INT32, variable))


X, Y, Z, W = map(local, "xyzw")
PLANTED = Planted(HERE, load(X), Y, (None, Z))
USE = nodes.Assign(HERE, nodes.Local(HERE, INT32, W), nodes.Binary(HERE, INT32, "add", load(Y), load(Z)))


def function_of(*body: nodes.Stmt) -> nodes.Function:
    return nodes.Function("f", "f", (), (), (X, Y, Z, W), body, HERE)


def test_its_results_are_definitions_everywhere():
    assert nodes.results(PLANTED) == nodes.definitions(PLANTED) == (Y, Z)
    assert list(dataflow.targets(PLANTED)) == [Y, Z]
    assert dataflow.assigned((PLANTED,)) == {"y", "z"}
    assert dataflow.named((PLANTED,)) == {"x", "y", "z"}
    assert dataflow.exposed((PLANTED, USE)) == {"x"}
    assert dataflow.certain((PLANTED,)) == {"y", "z"}
    kernel = dataclasses.replace(kernel_of("out[i] = 1"), body=function_of(PLANTED))
    assert Facts(kernel).assigned(PLANTED) == {"y", "z"}


def test_nothing_is_known_of_its_results():
    first = nodes.Assign(HERE, nodes.Local(HERE, INT32, Y), nodes.Const(HERE, INT32, 1))
    assert Ranges(function_of(first), None).of(load(Y)) == (1, 1)
    assert Ranges(function_of(first, PLANTED), None).of(load(Y)) == int_range(INT32)
    assert not values((PLANTED, first))
    assert not index_values(dataclasses.replace(kernel_of("out[i] = 1"), body=function_of(PLANTED, first)))


def test_its_variables_are_renamed():
    (made,) = with_variables((PLANTED,), {"y": W, "x": Z})
    assert made == Planted(HERE, load(Z), W, (None, Z))


def test_its_results_are_declared():
    found = plan(function_of(PLANTED, USE))
    at = {name: position for position, names in found.initialised.items() for name in names}
    assert at["y"] == ((), 0) and at["w"] == ((), 1)
    assert Z in found.before[(), 0]


def test_what_it_changes_is_another_version():
    versions = load_sharing._Versions()
    before = versions.of(load(Y), frozenset())
    versions.pass_by(PLANTED)
    assert versions.of(load(Y), frozenset()) != before


def test_the_printer_and_the_text_refuse_it():
    """As does every table above."""
    kernel = dataclasses.replace(kernel_of("out[i] = 1"), body=function_of(PLANTED))
    for use in (text, lambda kernel: shader_of(kernel, Target()), verify, uniformity.check_uniformity):
        with pytest.raises((AssertionError, InternalCompilerError, KeyError, verify_module.VerificationError)):
            use(kernel)
