"""Operations on typed constants, which GLSL's compiler would compute in double precision, and rounded once."""

from __future__ import annotations

import itertools
import linecache
import math
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.constants import folded_node
from vkamp.ir.types import SCALARS

#: Expressions of constants alone, with numpy's classes for their types, and their result's type.
EXPRESSIONS = [
    ("f(16777216.0) + f(1.0) - f(16777216.0)", "float32"),
    ("f(0.1) * f(3.0) - f(0.3)", "float32"),
    ("f(1.0) / f(3.0) * f(3.0) - f(1.0)", "float32"),
    ("f(1e-30) * f(1e-30) * f(1e30) * f(1e30)", "float32"),
    ("(f(3e38) + f(3e38)) * f(0.0)", "float32"),
    ("f(3e38) + f(3e38)", "float32"),
    ("f(1.0) / -f(0.0)", "float32"),
    ("-(f(0.1) + f(0.2)) + f(0.3)", "float32"),
    ("f(-7.5) // f(2.0)", "float32"),
    ("f(-7.5) % f(2.0)", "float32"),
    ("f(i(16777217)) - f(16777216.0)", "float32"),
    ("f(n(4611686293305294849))", "float32"),
    ("f(h(0.1) * h(3.0))", "float32"),
    ("f(h(65504.0) + h(65504.0))", "float32"),
    ("f(h(2048.0) + h(1.0) - h(2048.0))", "float32"),
    ("i(f(0.1) + f(0.2) == f(0.3))", "int32"),
    ("i(f(16777216.0) + f(1.0) > f(16777216.0))", "int32"),
    ("i(u(3) - u(5) > u(7))", "int32"),
    ("i(2147483647) + i(1)", "int32"),
    ("i(-2147483648) // i(-1)", "int32"),
    ("i(-7) % i(3) + i(-7) // i(2)", "int32"),
    ("i(-7) >> i(31)", "int32"),
    ("u(4294967295) * u(3) >> u(1)", "uint32"),
    ("~u(5)", "uint32"),
]
LETTERS = {"f": "float32", "h": "float16", "i": "int32", "u": "uint32", "n": "int64"}


def _kernel(lines: list[str]) -> Any:
    body = [f"    {line}".replace("out[", "out[idx[0], ") for line in lines]
    source = "\n".join(["def k(idx, out, by):", *body]) + "\n"
    file = f"<constants {hash(source)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names: dict[str, Any] = {"amp": amp, **{letter: getattr(amp, name) for letter, name in LETTERS.items()}}
    exec(compile(source, file, "exec"), names)
    return amp.kernel(names["k"])


def _run(kernel: Any, view: amp.accelerator_view, out: np.ndarray[Any, Any]) -> None:
    result = amp.array_view(out.reshape(1, -1))
    amp.parallel_for_each(view, amp.extent(1), kernel, result, 1)
    result.synchronize()


@pytest.mark.parametrize("kind", ["float32", "int32", "uint32"])
def test_results_are_numpys(accelerator_view: amp.accelerator_view, kind: str) -> None:
    usable = accelerator_view.accelerator._info.usable_features  # type: ignore[attr-defined]
    texts = [text for text, result in EXPRESSIONS if result == kind and ("n(" not in text or "int64" in usable)]
    with np.errstate(all="ignore"):
        names = {letter: np.dtype(name).type for letter, name in LETTERS.items()}
        right = np.array([eval(text, names) for text in texts], kind)
    found = np.full(len(texts), 99, kind)
    _run(_kernel([f"out[{n}] = {text}" for n, text in enumerate(texts)]), accelerator_view, found)
    differ = [text for text, a, b in zip(texts, found, right, strict=True) if a.tobytes() != b.tobytes() and a == a]
    assert differ == []
    np.testing.assert_array_equal(found, right)


def test_vectors(accelerator_view: amp.accelerator_view) -> None:
    found = np.zeros(4, np.float32)
    lines = [
        "v = amp.float2(16777216.0, 0.1) + amp.float2(1.0, 0.2)",
        "out[0] = v.x - f(16777216.0)",
        "out[1] = (amp.float2(16777216.0, 0.1) + amp.float2(1.0, 0.2)).y - f(0.3)",
        "out[2] = (amp.float2(16777216.0, 3.0) + 1.0 - amp.float2(16777216.0, 4.0)).x",
        "out[3] = (-amp.float2(1.0, 3.0)).y",
    ]
    _run(_kernel(lines), accelerator_view, found)
    f = np.float32
    np.testing.assert_array_equal(found, [0.0, f(0.1) + f(0.2) - f(0.3), 0.0, -3.0])


def test_counters_of_copied_loops(accelerator_view: amp.accelerator_view) -> None:
    found = np.zeros(4, np.float32)
    _run(_kernel(["for k in amp.static_range(4):", "    out[k] = f(k + 16777215) + f(1.0)"]), accelerator_view, found)
    np.testing.assert_array_equal(found, (np.arange(4) + 16777215).astype(np.float32) + np.float32(1))


def test_products_with_zero_and_known_conditions_are_left_out(accelerator_view: amp.accelerator_view) -> None:
    lines = [
        "n = 0",
        "out[0] = by + i(0) * by",
        "if not (by > 5) and i(2) < i(1):",
        "    out[1] = 7",
        "out[2] = 3 if u(2) > u(1) or by > 9 else 4",
        "for j in range(3):",
        "    if i(2) > i(1):",
        "        break",
        "    out[1] = 9",
    ]
    found = np.zeros(3, np.int32)
    kernel = _kernel(lines)
    _run(kernel, accelerator_view, found)
    np.testing.assert_array_equal(found, [1, 0, 3])
    if accelerator_view.accelerator.engine != "reference":
        text = kernel.inspect(accelerator_view, amp.extent(1), amp.array_view(found.reshape(1, -1)), 1).glsl
        code = "\n".join(line for line in text.splitlines() if not line.strip().startswith("//"))
        assert "7" not in code.partition("void main")[2]
        assert not {"true", "false", "0 *", "&&"} & set(code.partition("void main")[2].split())


_NUMBERS = {
    "float": (0.0, -0.0, 1.5, -2.5, 6e4, math.inf, -math.inf, math.nan),
    "int": (0, 1, -1, 5, -(2**31), 2**31 - 1),
    "uint": (0, 1, 5, 2**32 - 1),
    "bool": (False, True),
}


@pytest.mark.parametrize("name", BUILTINS)
def test_every_builtin_of_constants_is_a_constant_of_its_type(name: str) -> None:
    """Also of the numbers at the ends, where the reference may have no result."""
    row, span, folded = BUILTINS[name], Span("", 0, 0, 0, 0), 0
    for given in sorted({kind for letter in row.params for kind in row.types(letter)}):
        result = SCALARS[row.result_name(dict.fromkeys(row.params, given))]
        for values in itertools.product(_NUMBERS[SCALARS[given].kind], repeat=len(row.params)):
            args = tuple(ir.Const(span, SCALARS[given], value) for value in values)
            found = folded_node(ir.Builtin(span, result, name, args))
            assert found.type == result  # type: ignore[attr-defined]
            if isinstance(found, ir.Const):
                folded += 1
                assert result.kind == "float" or result.dtype.type(found.value) == found.value
    assert folded > 0
