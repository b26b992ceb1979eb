"""Facts for the analysis of uniformity that follow from the syntax alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vkamp.check.reasons import Diversion, Reason, because
from vkamp.check.state import SharedStore
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import changed_parameters


def variable_of(argument: ir.Expr | ir.Place) -> ir.Variable:
    """The array that is passed by reference."""
    assert isinstance(argument, ir.Local)
    return argument.variable


def culprit_of(diversion: Diversion) -> Reason:
    """The condition at the end of a chain of jumps, as a reason."""
    while diversion.reason is None and diversion.via is not None:
        diversion = diversion.via
    return because(diversion.span, diversion.text, diversion.reason)


def written_arrays(kernel: ir.Kernel) -> dict[str, tuple[int, ...]]:
    """Per device function, the positions of the array parameters that it or its callees may write."""
    changed = changed_parameters(kernel)
    return {f.name: tuple(n for n, p in enumerate(f.params) if p.name in changed[f.name]) for f in kernel.functions}


def may_run(statement: ir.For) -> bool:
    """Whether the loop certainly has an iteration."""
    bounds = (statement.start, statement.stop, statement.step)
    values = [int(b.value) for b in bounds if isinstance(b, ir.Const)]
    return len(values) == 3 and values[2] != 0 and len(range(*values)) > 0


def first_places(kernel: ir.Kernel, wanted: Callable[[ir.Stmt], bool]) -> dict[str, tuple[Span, ...]]:
    """Per device function that has such a statement: the first one, then the calls that lead to it."""
    found: dict[str, tuple[Span, ...]] = {}
    for function in kernel.functions:
        for statement in ir.walk_statements(function.body):
            if wanted(statement):
                found[function.name] = (statement.span,)
                break
            if isinstance(statement, ir.Call) and statement.function in found:
                found[function.name] = (*found[statement.function], statement.span)
                break
    return found


def unique_stores(stores: Iterable[SharedStore]) -> Iterator[SharedStore]:
    """One store per statement and variable, whatever the number of calls that lead to it."""
    seen: set[tuple[int, str]] = set()
    for store in stores:
        key = (id(store.statement), store.root)
        if key not in seen:
            seen.add(key)
            yield store
