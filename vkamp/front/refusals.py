"""The syntax that kernels do not support, by name, and what to write instead."""

from __future__ import annotations

import ast

_OUT = (
    "results leave a kernel through containers: pass a view of one element, `total`, "
    "and write `amp.atomic_fetch_add(total[0], value)`"
)

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("`try`", "a kernel raises no exceptions: test the condition with `if`"),
    ast.Raise: (
        "`raise`",
        "a kernel raises no exceptions: use `assert` for check mode, or store an error code",
    ),
    ast.With: ("`with`", "remove the `with` line, and keep its body"),
    ast.AsyncWith: ("`async with`", "write the statements without it"),
    ast.AsyncFor: ("`async for`", "use `for ... in range(...)`"),
    ast.AsyncFunctionDef: ("`async def`", "define the function outside, with @amp.func"),
    ast.ClassDef: ("`class`", "define it outside the kernel, with @amp.struct"),
    ast.Delete: ("`del`", "remove the line: a variable costs nothing once it is no longer used"),
    ast.Import: ("`import`", "import at the top of the module"),
    ast.ImportFrom: ("`import`", "import at the top of the module"),
    ast.Global: ("`global`", _OUT),
    ast.Nonlocal: ("`nonlocal`", _OUT),
    ast.Await: ("`await`", "a kernel waits at tile barriers only"),
    ast.Yield: ("`yield`", "store the values in a container"),
    ast.YieldFrom: ("`yield from`", "store the values in a container"),
    ast.ListComp: ("list comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.SetComp: ("set comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.DictComp: ("dict comprehensions", "use amp.private(shape, dtype) and a `for` loop"),
    ast.GeneratorExp: ("generator expressions", "use a `for` loop"),
    ast.List: ("lists", "use amp.private(shape, dtype), or a tuple for a few values"),
    ast.Set: ("sets", "use amp.private(shape, dtype)"),
    ast.Dict: ("dicts", "use a variable for each value, or a structured dtype; a tuple looks up by number"),
    ast.JoinedStr: ("strings", "use numbers; only `print` takes f-strings"),
    ast.FormattedValue: ("strings", "use numbers"),
    ast.Starred: ("`*` unpacking", "write the items one by one"),
}

#: Syntax that not every supported Python has.
_NEWER = {
    "TryStar": ("`try`", "a kernel raises no exceptions: test the condition with `if`"),
    "TypeAlias": ("`type`", "name types outside the kernel"),
    "TemplateStr": ("strings", "use numbers"),
}


def refusal(node: ast.AST, *, nested: bool = False) -> tuple[str, str]:
    """The name of a piece of syntax and the advice; ``nested``: in a function that a kernel calls."""
    kind = type(node)
    if isinstance(node, ast.Nonlocal) and nested:
        return "`nonlocal`", f"return the new value, and assign it at the call: `{node.names[0]} = f({node.names[0]})`"
    if kind.__name__ in _NEWER:
        return _NEWER[kind.__name__]
    return _REFUSED.get(kind) or (
        f"`{kind.__name__.lower()}`",
        "use `if`, `for`, `while` and calls of @amp.func functions",
    )
