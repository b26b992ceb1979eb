"""The parts of the language that programs use: node classes of the IR, builtins, operators, and forms of the source.

``python -m tools.fuzz.coverage COUNT`` prints a few of the first COUNT seeds, of short programs, which use everything
together.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections import Counter
from typing import Any

from tools.fuzz.programs import program
from tools.fuzz.rows import LEFT_OUT
from tools.fuzz.run import Loaded, forget, load, quietly
from vkamp.errors import CompileError
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS, BUILTINS

__all__ = ["NOT_CLAIMED", "claimed", "few", "of"]

#: Parts that no program uses, and why.
NOT_CLAIMED: dict[str, str] = {
    "node Print": "only the reference accelerator prints",
    "node Remark": "the compiler's passes write it for readers of the shader, no program does",
    "node Breakpoint": "only the reference accelerator stops",
    "node MatrixOperation": "its subgroups have one size; tests/kernel_language/test_matrices.py has such kernels",
    **{f"builtin {name}": why for name, why in LEFT_OUT.items()},
}


def claimed() -> list[str]:
    """Everything that a long run must use."""
    bases = (ir.Node, ir.Expr, ir.Place, ir.Stmt, ir.Operation, ir.Aside)
    classes = [
        c.__name__ for c in vars(ir).values()
        if isinstance(c, type) and issubclass(c, ir.Node) and c not in bases
    ]  # fmt: skip
    names = [f"node {name}" for name in classes]
    names += [f"builtin {name}" for name in BUILTINS]
    names += [f"atomic {name}" for name in ATOMICS]
    return [name for name in names if name not in NOT_CLAIMED]


def of(loaded: Loaded) -> Counter[str]:
    """Each part of the language that a program uses, once."""
    import vkamp as amp

    view = amp.accelerator("reference").default_view
    arguments = [*loaded.containers(view), *loaded.scalars()]
    with quietly():
        found = loaded.kernel.inspect(view, loaded.domain(), *arguments, **loaded.program.constants)
    kernel: Any = found._executable.module
    used: set[str] = set()
    for function in (*kernel.functions, kernel.body):
        for statement in function.body:
            for node in ir.walk(statement):
                used.add(f"node {type(node).__name__}")
                if isinstance(node, ir.Builtin):
                    used.add(f"builtin {node.name}")
                elif isinstance(node, ir.Atomic):
                    used.add(f"atomic {node.name}")
                elif isinstance(node, (ir.Binary, ir.Unary, ir.Compare, ir.Logical)):
                    used.add(f"operator {node.op} of {node.type}")
    used |= {f"source {type(node).__name__}" for node in ast.walk(ast.parse(loaded.source))}
    return Counter(used)


def few(count: int) -> tuple[list[int], list[str]]:
    """Seeds of short programs that together use everything that the first ``count`` do, and what none of those uses."""
    uses: dict[int, set[str]] = {}
    lengths: dict[int, int] = {}
    wanted = set(claimed())
    for seed in range(count):
        loaded = load(program(seed))
        # The compiler refuses a few programs, which change an object that has a second name.
        with contextlib.suppress(CompileError):
            uses[seed] = wanted & of(loaded).keys()
            lengths[seed] = len(loaded.source)
        forget(loaded)
    left = {name for used in uses.values() for name in used}
    missing = sorted(wanted - left)
    chosen: list[int] = []
    while left:
        best = max(uses, key=lambda seed: len(uses[seed] & left) / lengths[seed])
        chosen.append(best)
        left -= uses[best]
    for seed in sorted(chosen, key=lengths.__getitem__, reverse=True):
        others = {name for other in chosen if other != seed for name in uses[other]}
        if uses[seed] <= others:  # those chosen after it have what it was chosen for
            chosen.remove(seed)
    return sorted(chosen), missing


if __name__ == "__main__":
    found, absent = few(int(sys.argv[1]))
    print(", ".join(map(str, found)))
    print("used by none:", ", ".join(absent) or "nothing is missing")
