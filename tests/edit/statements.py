"""Hand edits of single statements and changes of kernels, for merges of each edit with each change.

A kernel has two parts beside each other, ``t`` and ``c``, of several kinds (``PARTS``). An edit changes the shader's
statement of ``t``, a change the Python of one part. The kernel's result is ``t + t_more + 100 (c + c_more)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

#: What a part is in Python; V is ``t`` or ``c``. The shader has the line of ``load`` as a comment, not ``plain``.
PARTS = {
    "plain": "V = V_in * 2.0 + 1.0",
    "load": "V = V_values[t_idx] * 2.0 + 1.0",
    "two": "V = V_in * 2.0 + 1.0\nV_more = V_in - 3.0",
    "loop": "for V_k in range(4):\n    V += V_in",
    "condition": "if V_in > 3.0:\n    V = V + 5.0",
    "barrier": "t_idx.barrier.wait()\nV = V_in + 2.0",
    "declaration": "V_more = V_in * 4.0\nV = V_more + 1.0",
    "shared": "V_shared = amp.tile_static(8, amp.float32)\nV_shared[local] = V_in\nV = V_shared[local]",
}

HELPER = """
@amp.func
def twice(x: amp.float32) -> amp.float32:
    return x * 2.0

"""

KERNEL = """
@amp.kernel(lowering="threads")
def NAME(t_idx, t_values, c_values, results):
    local = t_idx.local[0]
    t_in = t_values[t_idx]
    c_in = c_values[t_idx]
    t = 1.0
    c = 1.0
BODY
    results[t_idx] = TT + 100.0 * CC
"""

Maker = Callable[[str], str]


def part(kind: str, name: str) -> str:
    return named(PARTS[kind], name)


def named(text: str, name: str) -> str:
    return re.sub(r"\bV(?=\b|_)", name, text)


def kernel(name: str, *parts: str) -> str:
    """A kernel's source with its two parts in order."""
    body = "\n".join("    " + line for text in parts for line in text.splitlines())
    source = KERNEL.replace("NAME", name).replace("BODY", body)
    for each in ("t", "c"):
        result = f"({each} + {each}_more)" if f"{each}_more" in body else each
        source = source.replace(each.upper() * 2, result)
    return source


@dataclass(frozen=True)
class Row:
    """An edit of the shader, or a change of the kernel, where a part is of one kind."""

    name: str
    kind: str
    make: Maker
    #: Whether the statement itself is another, and where something new stands beside it.
    changes: bool = True
    inserts: frozenset[str] = frozenset()
    #: What the part's value is for an input, where that is not what it was.
    value: Callable[[float], float] | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


def swap(old: str, new: str) -> Maker:
    def make(text: str) -> str:
        assert text.count(old) == 1, f"{old!r}: {text.count(old)} in\n{text}"
        return text.replace(old, new)

    return make


def sub(pattern: str, new: str) -> Maker:
    def make(text: str) -> str:
        made, count = re.subn(pattern, new, text, flags=re.MULTILINE)
        assert count, f"{pattern!r} is not in\n{text}"
        return made

    return make


def both(*makers: Maker) -> Maker:
    def make(text: str) -> str:
        for each in makers:
            text = each(text)
        return text

    return make


BEFORE, AFTER = frozenset({"before"}), frozenset({"after"})


def edits_of_a_statement(kind: str, loaded: str, python: str) -> list[Row]:
    """Edits of ``t = LOADED * 2.0 + 1.0;``, which has a comment if ``python`` isn't empty."""
    line = f"    t = {loaded} * 2.0 + 1.0;\n"
    comment = f"    // {python}\n" if python else ""
    indented = "".join(f"    {each}\n" for each in (comment + line).splitlines())
    return [
        Row("constant", kind, swap(line, line.replace("1.0", "7.0")), value=lambda x: x * 2 + 7),
        Row("operator", kind, swap(line, line.replace("+", "-")), value=lambda x: x * 2 - 1),
        Row("deleted", kind, swap(comment + line, ""), value=lambda x: 1),
        Row(
            "statement before",
            kind,
            swap(comment + line, "    t += 1.0;\n" + comment + line.replace("t =", "t +=")),
            inserts=BEFORE,
            value=lambda x: x * 2 + 3,
        ),
        Row("statement behind", kind, swap(line, line + "    t *= 3.0;\n"), False, AFTER, lambda x: x * 6 + 3),
        Row(
            "wrapped",
            kind,
            swap(comment + line, "    if (t_in > 3.0) {\n" + indented + "    }\n"),
            False,
            BEFORE,
            lambda x: x * 2 + 1 if x > 3 else 1,
        ),
        Row("comment", kind, swap(line, "    // As measured.\n" + line), False),
        Row("comment behind", kind, swap(line, line.replace("\n", "  // As measured.\n")), False),
        Row("no comment", kind, swap(comment, "") if comment else lambda text: text, False),
        Row("formatted", kind, swap(line, line.replace(" * ", "*").replace(" +", "\n      +")), False),
        Row("indented", kind, swap(line, "  " + line), False),
        Row(
            "hoisted",
            kind,
            swap(line, f"    float t_double = {loaded} * 2.0;\n    t = t_double + 1.0;\n"),
            inserts=BEFORE,
        ),
        Row(
            "vector",
            kind,
            swap(line, f"    vec2 t_pair = vec2({loaded}) * vec2(2.0);\n    t = t_pair.x + 1.0;\n"),
            inserts=BEFORE,
        ),
        Row(
            "function",
            kind,
            both(
                swap("void main() {", "float t_doubled(float x) {\n    return x * 2.0;\n}\n\nvoid main() {"),
                swap(f"t = {loaded} * 2.0 + 1.0;", f"t = t_doubled({loaded}) + 1.0;"),
            ),
        ),
        Row(
            "extension",
            kind,
            swap(
                "#version 450\n", "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n#pragma debug(on)\n"
            ),
            False,
        ),
    ]


LOOP = """    // for t_k in range(4):
    for (int t_k = 0; t_k < 4; ++t_k) {
        t += t_in;
    }
"""

EDITS = [
    *edits_of_a_statement("plain", "t_in", ""),
    *edits_of_a_statement("load", "t_values[t_idx_global_0]", "t = t_values[t_idx] * 2.0 + 1.0"),
    Row("renamed", "plain", sub(r"^((?! *//).*?)\bt_in\b(?!;)", r"\1t_input"), value=None),
    Row("swapped", "two", sub(r"(    t = t_in.*\n)((?:    // t_more = .*\n)?    float t_more = .*\n)", r"\2\1")),
    Row("unrolled", "loop", swap(LOOP, "    t += t_in;\n" * 3), value=lambda x: 1 + 3 * x),
    Row("bound", "loop", swap("t_k < 4", "t_k < 5"), value=lambda x: 1 + 5 * x),
    Row("condition", "condition", swap("if (t_in > 3.0)", "if (t_in > 4.0)"), value=lambda x: 6 if x > 4 else 1),
    Row("body", "condition", swap("t = t + 5.0;", "t = t + 6.0;"), False, value=lambda x: 7 if x > 3 else 1),
    Row(
        "fence",
        "barrier",
        sub(r"memoryBarrierShared\(\); memoryBarrierBuffer\(\); (barrier\(\);\n    t = )", r"groupMemoryBarrier(); \1"),
    ),
    Row("declaration", "declaration", swap("float t_more = ", "precise float t_more = ")),
    Row("size", "shared", swap("shared float t_shared[8];", "shared float t_shared[9];")),
]


def changes_of_a_statement(kind: str, loaded: str) -> list[Row]:
    """Changes of ``V = LOADED * 2.0 + 1.0``."""
    line = f"V = {loaded} * 2.0 + 1.0"
    return [
        Row("constant", kind, swap("+ 1.0", "+ 9.0"), value=lambda x: x * 2 + 9),
        Row("operator", kind, swap("2.0 +", "2.0 -"), value=lambda x: x * 2 - 1),
        Row("deleted", kind, swap(line, ""), value=lambda x: 1),
        Row(
            "statement before",
            kind,
            swap(line, "V += 2.0\n" + line.replace("V =", "V +=")),
            inserts=BEFORE,
            value=lambda x: x * 2 + 4,
        ),
        Row("statement behind", kind, swap(line, line + "\nV *= 4.0"), False, AFTER, lambda x: x * 8 + 4),
        Row(
            "wrapped",
            kind,
            swap(line, f"if V_in > 2.0:\n    {line}"),
            False,
            BEFORE,
            lambda x: x * 2 + 1 if x > 2 else 1,
        ),
        Row("repeated", kind, swap(line, f"for V_n in range(2):\n    {line}"), False, BEFORE),
        Row("formatted", kind, swap(line, f"V = (({loaded} * 2.0)\n     + 1.0)"), False),
        Row("hoisted", kind, swap(line, f"V_double = {loaded} * 2.0\nV = V_double + 1.0"), inserts=BEFORE),
        Row("function", kind, swap(f"{loaded} * 2.0", f"twice({loaded})")),
    ]


CHANGES = [
    *changes_of_a_statement("plain", "V_in"),
    *changes_of_a_statement("load", "V_values[t_idx]"),
    Row("swapped", "two", lambda text: "\n".join(reversed(text.splitlines()))),
    Row("unrolled", "loop", lambda text: "V += V_in\nV += V_in", value=lambda x: 1 + 2 * x),
    Row("static", "loop", swap("range(4)", "amp.static_range(4)")),
    Row("bound", "loop", swap("range(4)", "range(6)"), value=lambda x: 1 + 6 * x),
    Row("body", "loop", swap("V += V_in", "V -= V_in"), False, value=lambda x: 1 - 4 * x),
    Row("while", "loop", swap("for V_k in range(4):", "V_k = 0\nwhile V_k < 4:\n    V_k += 1")),
    Row("condition", "condition", swap("> 3.0", "> 5.0"), value=lambda x: 6 if x > 5 else 1),
    Row("body", "condition", swap("V + 5.0", "V + 4.0"), False, value=lambda x: 5 if x > 3 else 1),
    Row(
        "otherwise",
        "condition",
        swap("V + 5.0", "V + 5.0\nelse:\n    V = 8.0"),
        False,
        value=lambda x: 6 if x > 3 else 8,
    ),
    Row("fence", "barrier", swap("wait()", "wait_with_global_memory_fence()")),
    Row("no barrier", "barrier", swap("t_idx.barrier.wait()\n", "")),
    Row("declaration", "declaration", swap("* 4.0", "* 5.0"), value=lambda x: 10 * x + 1),
    Row("size", "shared", swap("(8, ", "(16, ")),
]
