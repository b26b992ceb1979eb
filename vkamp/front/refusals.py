"""What the kernel language does not have, by name, and what to write instead."""

from __future__ import annotations

import ast

__all__ = ["refusal"]

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("`try`", "a kernel raises no exceptions: test the condition with `if`"),
    ast.Raise: (
        "`raise`",
        "a kernel raises no exceptions: use `assert` for check mode, or store an error code",
    ),
    ast.With: ("`with`", "write the statements without it"),
    ast.AsyncWith: ("`async with`", "write the statements without it"),
    ast.AsyncFor: ("`async for`", "use `for ... in range(...)`"),
    ast.AsyncFunctionDef: ("`async def`", "define the function outside, with @amp.func"),
    ast.FunctionDef: ("a nested function", "define it outside the kernel, with @amp.func"),
    ast.Lambda: ("`lambda`", "define a function outside the kernel, with @amp.func"),
    ast.ClassDef: ("`class`", "define a structured dtype outside the kernel"),
    ast.Delete: ("`del`", "a kernel's variables live until it ends"),
    ast.Import: ("`import`", "import at the top of the module"),
    ast.ImportFrom: ("`import`", "import at the top of the module"),
    ast.Global: ("`global`", "pass a container and store the value in it"),
    ast.Nonlocal: (
        "`nonlocal`",
        "captured values are read-only: pass a container and store the value in it",
    ),
    ast.NamedExpr: ("`:=`", "assign in a statement of its own"),
    ast.Await: ("`await`", "a kernel waits at tile barriers only"),
    ast.Yield: ("`yield`", "store each value in a container"),
    ast.YieldFrom: ("`yield from`", "store each value in a container"),
    ast.ListComp: ("a list comprehension", "use amp.private(shape, dtype) and a `for` loop"),
    ast.SetComp: ("a set comprehension", "use amp.private(shape, dtype) and a `for` loop"),
    ast.DictComp: ("a dict comprehension", "use amp.private(shape, dtype) and a `for` loop"),
    ast.GeneratorExp: ("a generator expression", "use a `for` loop"),
    ast.List: ("a list", "use amp.private(shape, dtype), or a tuple for a few values"),
    ast.Set: ("a set", "use amp.private(shape, dtype)"),
    ast.Dict: ("a dict", "use a structured dtype, or variables of their own"),
    ast.JoinedStr: ("an f-string", "a kernel has no strings"),
    ast.FormattedValue: ("an f-string", "a kernel has no strings"),
    ast.Starred: ("`*` unpacking", "write the items one by one"),
    ast.Slice: ("a slice", "use a `for` loop over the indices"),
}


def refusal(node: ast.AST) -> tuple[str, str]:
    """The name of a piece of syntax and the advice."""
    found = _REFUSED.get(type(node))
    if found is None:
        kind = type(node).__name__
        found = (
            f"`{kind.lower()}`",
            "use if, for ... in range(...), while and functions marked @amp.func",
        )
    return found
