"""Every public function takes a ``counted`` in place of each of its inputs, and waits for it only as listed here.

A new function takes part without an entry if its parameters have known names; one that has no input is listed.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view
from vkamp import algorithms as alg
from vkamp.algorithms import stl

N = 50
#: Functions without inputs: they make elements, are functions for kernels, or take nothing.
WITHOUT_INPUTS = {"arange", "deterministic", "generate", "stl.minmax", "stl.swap", "trim"}
#: Parameters that are inputs.
INPUTS = {
    "a", "among", "at", "b", "condition", "flags", "inputs", "keys", "keys_a", "keys_b", "lengths", "more", "ordered",
    "segments", "values", "values_a", "values_b", "weights", "x", "y",
}  # fmt: skip
#: What functions take as their other parameters.
OTHERS = {
    "axes": (0,), "bins": 20, "count": 2, "counts": 2, "edges": [0, 5, 10], "f": lambda x: x + 1,
    "first": lambda x: x > 10, "func": lambda x: x + 1, "g": 1, "i": 0, "init": 0, "j": 1, "k": 2, "middle": 3,
    "new": 4, "new_value": 4, "nth": 2, "number": 3, "old": 3, "old_value": 3, "op": lambda x, y: x + y,
    "p": lambda x: x > 3, "pred": lambda x: x > 3, "q": 0.5, "range": (0, 20), "rng": 1, "second": lambda x: x > 5,
    "shift": 1, "total": 60, "value": 3,
}  # fmt: skip
#: Those of single functions; optional ones are those without which the function would wait, or refuse its arguments.
OWN = {
    "bincount": {"bins": 20},
    "for_each": {"f": lambda values, i: None},
    "for_each_no_return": {"f": lambda values, i: None},
    "generate": {"g": lambda i: i},
    "generate_n": {"g": lambda i: i},
    "histogram": {"range": (0, 20)},
    "partition": {"pred": lambda x: x > 3},
    "repeat": {"total": 60},
    "run_length_decode": {"total": 60},
    "select": {"pred": lambda x: x > 3},
}
#: Calls that wait, and why.
WAITING = {
    "histogram without range": (lambda c: alg.histogram(c, 5), "the edges are on the host"),
    "bincount without bins": (alg.bincount, "the largest element determines the size"),
    "repeat without total": (lambda c: alg.repeat(c, c), "the sum of the counts determines the size"),
    "run_length_decode without total": (
        lambda c: alg.run_length_decode(c, c),
        "the sum of lengths determines the size",
    ),
    "edges": (lambda c: alg.histogram_range(alg.copy(c.values), c), "the edges are on the host"),
}


def functions():
    """Each function with each of its inputs."""
    for prefix, module in (("", alg), ("stl.", stl)):
        for name in module.__all__:
            function = getattr(module, name)
            if not callable(function) or isinstance(function, type) or prefix + name in WITHOUT_INPUTS:
                continue
            changed = {"out"} if prefix + name in ("fill", "scatter", "scatter_reduce") else set()
            params = [each for each in inspect.signature(function).parameters if each in INPUTS | changed]
            assert params, f"{prefix}{name} has no input that is known"
            for param in params:
                yield pytest.param(function, param, id=f"{prefix}{name}, {param}")


def arguments(function, counted_at, make):
    """Arguments of which one is counted; ``make(n)`` is an input of ``n`` elements, and ``make(0)`` a counted."""
    name, placed, named = function.__name__, [], {}
    of_two = {"f": lambda x, y: x + y, "func": lambda x, y: x + y} if counted_at in ("b", "more") else {}
    own = OWN.get(name, {}) if counted_at != "flags" else {}
    for param in inspect.signature(function).parameters.values():
        is_needed = param.default is param.empty
        if param.kind is param.VAR_POSITIONAL:
            placed += [make(0)] if param.name == counted_at else []
            placed += [make(N)] if param.name == "inputs" else []
            continue
        if param.name == counted_at:
            given = make(0)
        elif is_needed and param.name == "segments":
            given = 5
        elif is_needed and param.name in {*INPUTS, "out"}:
            given = make(2 * N if name == "merge" and param.name == "out" else N)
        elif is_needed or param.name in own:
            given = {**OTHERS, **of_two, **own}[param.name]
        else:
            continue
        if is_needed:
            placed.append(given)
        else:
            named[param.name] = given
    return placed, named


def inputs():
    view = direct_view(amp.accelerator("llvmpipe"))
    raw = np.sort(np.random.default_rng(0).integers(0, 20, N).astype(np.int32))
    arrays = [amp.array(raw, accelerator_view=view) for _ in range(9)]
    c = alg.select(arrays.pop(), lambda x: x < 15)
    return c, lambda n: c if n == 0 else arrays.pop() if n == N else amp.array(n, np.int32, accelerator_view=view)


@pytest.mark.parametrize(("function", "param"), list(functions()))
def test_each_input_is_taken_without_waiting(function, param):
    placed, named = arguments(function, param, inputs()[1])
    with amp.capture():
        function(*placed, **named)


@pytest.mark.parametrize("name", WAITING)
def test_calls_that_wait(name):
    c, _ = inputs()
    call, reason = WAITING[name]
    assert reason
    call(c)
    with pytest.raises(amp.AmpError, match=r"inside amp\.capture"), amp.capture():
        call(c)


def test_functions_without_inputs_have_none():
    for name in WITHOUT_INPUTS - {"stl.minmax", "stl.swap"}:
        assert not INPUTS & set(inspect.signature(getattr(alg, name)).parameters)
