"""A new statement that follows from its declaration, its GLSL and its Python: nothing else in the compiler names it."""

from __future__ import annotations

import ast
import dataclasses

import numpy as np
import pytest

import vkamp as amp
from vkamp.check import uniformity
from vkamp.check.instrument import rewrite
from vkamp.check.race_prover import interpreter
from vkamp.emit import statements
from vkamp.errors import InternalCompilerError
from vkamp.front import calls
from vkamp.ir import nodes, traversal, verify
from vkamp.sim import statements as sim_statements
from vkamp.sim.trees import quote

#: The tables of statements, and the classes whose methods are in them.
TABLES = [
    (verify.STATEMENTS, verify._FunctionVerifier),
    (uniformity._HANDLERS, uniformity._Analysis),
    (interpreter._HANDLERS, interpreter.Interpreter),
    (rewrite._STATEMENTS, rewrite.Rewriter),
    (statements.PRINTERS, statements._FunctionPrinter),
    (sim_statements._HANDLERS, sim_statements.FunctionTranslator),
]


@dataclasses.dataclass(frozen=True, repr=False)
class Negated(nodes.Operation):
    """``result = -value``."""

    value: nodes.Expr
    result: nodes.Variable


def glsl(self, statement, position):
    text = self.expressions.operand(statement.value).glsl
    self.add(f"{self._target(statement.result, position)} = -({text});", statement.span)


def python(self, node):
    return [self.assign_name(self.local(node.result.name), quote("-X", X=self.expr(node.value)))]


def lowered(ctx, node: ast.Call):
    """What ``amp.uniform`` becomes in this file."""
    value = calls.convert.number(ctx, ctx.expr(node.args[0]), node.args[0])
    kind, span = calls.convert.scalar_type(value), ctx.span(node)
    result = ctx.new_variable("negated", kind, span, temporary=True)
    ctx.emit(Negated(span, value.expr, result))
    return calls.Number(nodes.Load(span, kind, nodes.Local(span, kind, result)))


@pytest.fixture
def with_statement(monkeypatch):
    """The compiler with this statement, but for the printers that are forgotten."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
    monkeypatch.setattr(calls, "_uniform", lowered)

    def prepare(forgotten: type | None = None) -> None:
        methods = {statements._FunctionPrinter: glsl, sim_statements.FunctionTranslator: python}
        for table, cls in TABLES:
            if cls in methods and cls is not forgotten:
                monkeypatch.setattr(cls, "_negated", methods[cls], raising=False)
            handler = traversal.handlers(cls, nodes.Stmt).get(Negated)
            if handler is not None:
                monkeypatch.setitem(table, Negated, handler)

    return prepare


@amp.kernel
def in_phases(t: amp.tiled_index[8], cells: amp.array_view[amp.int32, 1], out: amp.array_view[amp.int32, 1]):
    tile = amp.tile_static(8, amp.int32)
    tile[t.local] = amp.uniform(cells[t.global_]) + 3
    t.barrier.wait()
    x = amp.uniform(tile[7 - t.local[0]])
    for k in range(3):
        x = amp.uniform(x + k)
    out[t.global_] = x


@amp.kernel
def once(t: amp.tiled_index[8], cells: amp.array_view[amp.int32, 1]):
    cells[t.global_] = amp.uniform(cells[t.global_] + 1)


def expected(cells: np.ndarray) -> np.ndarray:
    x = -(-cells + 3).reshape(-1, 8)[:, ::-1].ravel()
    for k in range(3):
        x = -(x + k)
    return x


def test_it_runs_and_is_checked(accelerator_view, with_statement):
    with_statement()
    cells = np.arange(40, dtype=np.int32)
    views = amp.array_view(cells), amp.array_view(np.zeros(40, np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(40).tile(8), in_phases, *views)
    assert np.array_equal(np.asarray(views[1]), expected(cells))
    views[1].discard_data()
    assert not amp.check(accelerator_view, amp.extent(40).tile(8), in_phases, *views).findings
    assert np.array_equal(np.asarray(views[1]), expected(cells))


def test_its_results_may_differ(with_statement):
    with_statement()

    @amp.kernel
    def kernel(t: amp.tiled_index[8], cells: amp.array_view[amp.int32, 1]):
        if amp.uniform(cells.extent[0]) > 0:
            t.barrier.wait()
        cells[t.global_] = 0

    views = (amp.array_view(np.zeros(8, np.int32)),)
    with pytest.raises(amp.CompileError, match="each of the threads of the tile may get a different result of this"):
        amp.parallel_for_each(amp.extent(8).tile(8), kernel, *views)


def launch(view: amp.accelerator_view) -> None:
    amp.parallel_for_each(view, amp.extent(8).tile(8), once, amp.array_view(np.zeros(8, np.int32)))


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_without_its_glsl_it_is_an_error(accelerator_view, with_statement):
    with_statement(forgotten=statements._FunctionPrinter)
    with pytest.raises(InternalCompilerError, match="Negated"):
        launch(accelerator_view)


@pytest.mark.accelerators("reference")
def test_without_its_python_it_is_an_error(accelerator_view, with_statement):
    with_statement(forgotten=sim_statements.FunctionTranslator)
    with pytest.raises((InternalCompilerError, KeyError), match="Negated"):
        launch(accelerator_view)
