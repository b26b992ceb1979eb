"""Branches that SwiftShader compiles quickly: what they are made of, and that they do the same."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.emit.validation import validate
from tests.spirv.paths import visits
from vkamp import spirv
from vkamp.spirv.blocks import Op, parse
from vkamp.spirv.straighten import _Common, _Lifetimes, straightened

HEAD = """#version 450
layout(local_size_x = 4) in;
layout(std430, set = 0, binding = 0) buffer numbers_buffer {
    int numbers[];
};
"""
SIDES = {
    "choice": "x = x > {k} ? x * 3 + {k} : x;",
    "vectors": "w = x > {k} ? w.yx * {k}.0 : w; x += int(w.x);",
    "arithmetic": "if (x > {k}) x = x * 3 + {k}; else {{ x ^= {k}; x += x; }}",
    "stores": "if (x > {k}) numbers[x] = {k}; else numbers[x + 1] = x;",
    "nested": "if (x > {k}) {{ if (numbers[x] > 3) ++x; else --x; }} else {{ if (x < 3) numbers[x] = x; else x = 5; }}",
    "long and short": "if (x > {k}) {{ if (x == 3) numbers[x] = 1; numbers[x] += 1; }} else numbers[0] = x;",
    "loops": "if (x > {k}) {{ for (int l = 0; l < x; ++l) x += numbers[l]; }} else {{ while (x < {k}) x += 2; }}",
    "jumps": "if (x == {k}) {{ numbers[x] = 1; continue; }} else if (x == -{k}) {{ break; }} else numbers[x] = 4;",
    "conditions": "if (x > {k} && numbers[x] > {k} || x < -{k}) x += numbers[1]; else x -= numbers[2];",
    "cases": "switch (x & 3) {{ case 0: x *= 3; break; case 1: numbers[x] = 2; default: x -= {k}; }}",
    "calls": "x += pick(x, {k}); x += find(x, {k}); put(x, {k});",
}
FUNCTIONS = """
int pick(int x, int k) {
    if (x == k) return 1;
    if (x > k) { if (numbers[x] > 3) return 7; x += 3; } else if (x < -k) return x; else { numbers[x] = 1; }
    if (x > 2 * k) { return 3; } else { numbers[x] = 3; }
    if (x == 3 * k) { numbers[x] = 5; return 2; } else { return x - 1; }
}
int find(int x, int k) {
    for (int j = 0; j < k; ++j) {
        for (int l = 0; l < k; ++l) if (numbers[x + j * l] == x) return j;
        if (x == j) return 2;
    }
    numbers[x] += 1;
    while (true) { if (numbers[x] > k) return x; else if (x > k) break; ++x; }
    return x == 3 && numbers[x] == 5 ? 4 : -1;
}
void put(int x, int k) {
    if (x > k) { numbers[x] = 1; return; }
    if (x == k) return;
    numbers[x] = 3;
}
"""


def shader(side: str, count: int) -> str:
    body = "\n".join(SIDES[side].format(k=k + 1) for k in range(count))
    loop = f"for (int j = 0; j < 9; ++j) {{\n{body}\n}}"
    return f"{HEAD}{FUNCTIONS}void main() {{\nint x = numbers[0]; vec2 w = vec2(x, 2);\n{loop}\nnumbers[0] = x;\n}}\n"


@pytest.mark.parametrize("side", SIDES)
def test_visits_grow_with_the_branches(side, tmp_path):
    counts = []
    for number in (10, 40):
        text = shader(side, number)
        data = straightened(spirv.compile(text))
        validate(data, tmp_path)
        counts.append(max(visits(function) for function in parse(data).functions))
    # Switches stay: vkamp prints none.
    assert side == "cases" or (counts[1] < 40 * counts[0] and counts[1] < 100_000)


def test_visits_doubled_with_the_branches():
    """What the module is there for: without it the count explodes."""
    main = parse(spirv.compile(shader("stores", 25))).functions[0]
    assert visits(main) == 10**6


def alive(data: bytes) -> tuple[list[int], list[int]]:
    """How many variables have a value at the start of each function, and at that of each loop, as they come."""
    module = parse(data)
    common = _Common(module)
    starts, loops = [], []
    for function in module.functions:
        live = _Lifetimes(common, function).live
        starts.append(len(live[function.blocks[0].label]))
        loops += [len(live[block.label]) for block in function.blocks if block.is_loop]
    return starts, loops


OLD_VALUES = {
    "two sides": "int z; if (x > {k}) z = numbers[x]; else {{ numbers[x] = {k}; z = x - 1; }} x += z;",
    "choices": "int z; if (x > {k}) z = x * 3; else z = x - 1; x += z;",
    "calls": "x += pick(x, {k}); x += find(x, {k}); put(x, {k});",
    "loops": "int z; for (int l = 0; l < x; ++l) {{ if (x > l) z = l; else {{ numbers[x] = 4; z = 3; }} x -= z; }}",
}


@pytest.mark.parametrize("name", OLD_VALUES)
def test_no_more_variables_are_alive_than_before(name, tmp_path):
    """An old value that looks alive goes around all loops: 120 calls took 6 s, and 1.3 s without."""
    body = "\n".join(f"{{\n{OLD_VALUES[name].format(k=k + 1)}\n}}" for k in range(6))
    text = f"{HEAD}{FUNCTIONS}void main() {{\nint x = numbers[0];\n"
    plain = spirv.compile(f"{text}for (int j = 0; j < 9; ++j) {{\n{body}\n}}\nnumbers[0] = x;\n}}\n")
    data = straightened(plain)
    validate(data, tmp_path)
    (starts_before, before), (starts, after) = alive(plain), alive(data)
    assert starts == starts_before
    # What a return in a loop left, and whether there was one, are variables that the rules add.
    added = 2 if name == "calls" else 0
    assert all(new <= old + added for old, new in zip(before, after, strict=True))


def test_functions_return_at_their_end_alone():
    data = straightened(spirv.compile(shader("calls", 1)))
    for function in parse(data).functions:
        ends = [block.end.op for block in function.blocks]
        assert sum(end in (Op.RETURN, Op.RETURN_VALUE) for end in ends) == 1


def test_sides_of_arithmetic_become_choices():
    for side in ("choice", "vectors", "arithmetic"):
        main = next(f for f in parse(straightened(spirv.compile(shader(side, 5)))).functions if not f.head[1:])
        assert all(block.merge is None or block.is_loop for block in main.blocks)
        assert sum(each.op == Op.SELECT for block in main.blocks for each in block.body) >= 5


def test_a_module_without_branches_stays():
    plain = spirv.compile(HEAD + "void main() { numbers[0] = numbers[1] * 2; }\n")
    assert straightened(plain) == plain
    assert spirv.compile(HEAD + "void main() { numbers[0] = numbers[1] * 2; }\n", straight=True) == plain


def test_the_same_program_is_compiled_both_ways():
    text = shader("stores", 3)
    assert spirv.compile(text, straight=True) == straightened(spirv.compile(text)) != spirv.compile(text)


# -- random functions ----------------------------------------------------------------------------------------------


class Writer:
    """Writes a device function of two integers, with branches, loops and returns."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def value(self) -> str:
        pick = self.random.choice
        first, second = pick(("x", "y", "z")), pick(("x", "y", "z", "3", "11"))
        return pick(
            (
                f"{first} + {second}",
                f"({first} ^ {second}) + 1",
                f"{first} * 3 - {second}",
                f"{first} // 3 + {second} % 5",
            )
        )

    def condition(self) -> str:
        pick = self.random.choice
        one = f"{pick('xyz')} {pick(('<', '>', '==', '!='))} {self.random.randrange(12)}"
        return (
            f"{one} {pick(('and', 'or'))} {pick('xyz')} % {self.random.randrange(2, 5)} == 1"
            if self.random.random() < 0.3
            else one
        )

    def block(self, depth: int, indent: str, in_loop: bool) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if depth == 0 or kind < 0.35:
                lines.append(f"{indent}{self.random.choice('xyz')} = ({self.value()}) & 4095")
            elif kind < 0.7:
                lines += [f"{indent}if {self.condition()}:", *self.block(depth - 1, indent + "    ", in_loop)]
                if self.random.random() < 0.6:
                    lines += [f"{indent}else:", *self.block(depth - 1, indent + "    ", in_loop)]
            elif kind < 0.82:
                self.loops += 1
                lines.append(f"{indent}for k{self.loops} in range(z % 4):")
                lines += self.block(depth - 1, indent + "    ", True)
            elif kind < 0.94:
                lines.append(f"{indent}return {self.value()}")
                break
            elif in_loop:
                lines.append(f"{indent}{self.random.choice(('break', 'continue'))}")
                break
        return lines or [f"{indent}x += 1"]

    def function(self, name: str) -> str:
        body = "\n".join(self.block(3, "    ", False))
        return f"def {name}(x: int, y: int) -> int:\n    z = x ^ y\n{body}\n    return x * 5 + y * 3 + z\n"


def functions(seed: int) -> tuple[Any, list[Any]]:
    """A kernel that calls three random functions in a loop, and the functions."""
    texts = [Writer(seed * 10 + n).function(f"f{n}") for n in range(3)]
    calls = "".join(f"        total = (total * 3 + f{n}(xs[i] + k, ys[i])) & 65535\n" for n in range(3))
    kernel = f"def run(i, xs, ys, out):\n    total = 0\n    for k in range(3):\n{calls}    out[i] = total\n"
    source, file = "\n".join([*texts, kernel]), f"<straight {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    plain: dict[str, Any] = {}
    exec(compile(source, file, "exec"), plain)
    device: dict[str, Any] = {}
    exec(compile(source, file, "exec"), device)
    device.update({name: amp.func(device[name]) for name in ("f0", "f1", "f2")})
    return amp.kernel(device["run"]), [plain[name] for name in ("f0", "f1", "f2")]


@pytest.mark.spread(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_functions_give_what_python_gives(seed, accelerator_view):
    kernel, plain = functions(seed)
    rng = np.random.default_rng(seed)
    xs, ys = rng.integers(0, 60, (2, 64)).astype(np.int32)
    out = np.zeros(64, np.int32)
    result = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, result.extent, kernel, amp.array_view(xs), amp.array_view(ys), result)
    for i in range(64):
        total = 0
        for k in range(3):
            for function in plain:
                total = (total * 3 + function(int(xs[i]) + k, int(ys[i]))) & 65535
        assert result[i] == total, i
