"""What the verifier does not check again behind a pass."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.static_analysis.build import call, func, kernel, let, param, var
from vkamp.ir import nodes as ir
from vkamp.ir.reverification import unchanged, verify_changes
from vkamp.ir.types import FLOAT32
from vkamp.ir.verify import VerificationError

X, Y = var("x"), var("y", FLOAT32)
FIRST = func("first", [param("v")])
SECOND = func("second", [], call(FIRST, 3))
THIRD = func("third", [], let(X, 2))


def verified() -> ir.Kernel:
    made = kernel(call(SECOND), functions=(FIRST, SECOND, THIRD))
    verify_changes(made, None, "source")
    return made


def after(before: ir.Kernel, **changes: Any) -> ir.Kernel:
    return dataclasses.replace(before, **changes)


def test_what_a_pass_keeps() -> None:
    before = verified()
    assert unchanged(after(before), before, "lowered") == {"first", "second", "third", "k"}
    changed = dataclasses.replace(THIRD, body=(*THIRD.body, let(X, 1)))
    assert unchanged(after(before, functions=(FIRST, SECOND, changed)), before, "lowered") == {"first", "second", "k"}
    # The same statements in another tuple.
    same = dataclasses.replace(THIRD, body=(*list(THIRD.body),))
    assert "third" in unchanged(after(before, functions=(FIRST, SECOND, same)), before, "lowered")


@pytest.mark.parametrize(
    "changes",
    [
        # Of a function that others call, the parameters; the function itself; its name; the declarations of the kernel.
        {"functions": (dataclasses.replace(FIRST, params=(param("v", FLOAT32),)), SECOND, THIRD)},
        {"functions": (SECOND, THIRD)},
        {"functions": (SECOND, FIRST, THIRD)},
        {"functions": (dataclasses.replace(FIRST, name="other"), SECOND, THIRD)},
        {"functions": (FIRST, dataclasses.replace(SECOND, variables=(Y, Y)), THIRD)},
        {"functions": (FIRST, SECOND, dataclasses.replace(THIRD, body=(let(Y, 2.0),), variables=(X,)))},
        {"tile": (0, 3)},
    ],
)
def test_what_a_pass_makes_wrong_is_found(changes: dict[str, Any]) -> None:
    before = verified()
    with pytest.raises(VerificationError):
        verify_changes(after(before, **changes), before, "lowered")


def test_declarations_that_functions_refer_to() -> None:
    before = verified()
    assert unchanged(after(before, scalars=()), before, "source") == frozenset()
    assert unchanged(after(before, lanes=(2, 1)), before, "source") == frozenset()


def test_a_kernel_before_that_was_not_verified_proves_nothing() -> None:
    before = verified()
    before.facts.clear()
    assert unchanged(after(before), before, "source") == frozenset()


def test_a_lowered_kernel_does_not_prove_that_its_source_is_correct() -> None:
    before = verified()
    lowered = after(before)
    verify_changes(lowered, before, "lowered")
    assert unchanged(after(lowered), lowered, "lowered") == {"first", "second", "third", "k"}
    assert unchanged(after(lowered), lowered, "source") == frozenset()
