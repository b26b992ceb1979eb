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
    ast.ClassDef: ("`class`", "define it outside the kernel, with @amp.struct"),
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
    ast.Yield: ("`yield`", "store the values in a container"),
    ast.YieldFrom: ("`yield from`", "store the values in a container"),
    ast.ListComp: ("list comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.SetComp: ("set comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.DictComp: ("dict comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.GeneratorExp: ("generator expressions", "use a `for` loop"),
    ast.List: ("lists", "use amp.private(shape, dtype), or a tuple for a few values"),
    ast.Set: ("sets", "use amp.private(shape, dtype)"),
    ast.Dict: ("dicts", "use a structured dtype, or variables of their own"),
    ast.JoinedStr: ("strings", "use numbers; f-strings stand in `print` alone"),
    ast.FormattedValue: ("strings", "use numbers"),
    ast.Starred: ("`*` unpacking", "write the items one by one"),
    ast.Slice: ("slices", "take the elements one by one, in a `for` loop; views of a part are made on the host"),
}

#: Syntax that not every supported Python has.
_NEWER = {
    "TryStar": ("`try`", "a kernel raises no exceptions: test the condition with `if`"),
    "TypeAlias": ("`type`", "name types outside the kernel"),
    "TemplateStr": ("strings", "use numbers"),
}


def refusal(node: ast.AST) -> tuple[str, str]:
    """The name of a piece of syntax and the advice."""
    kind = type(node)
    if kind.__name__ in _NEWER:
        return _NEWER[kind.__name__]
    return _REFUSED.get(kind) or (
        f"`{kind.__name__.lower()}`",
        "use `if`, `for`, `while` and calls of @amp.func functions",
    )
