"""Random changes of the syntax tree of kernels that people wrote, and how a changed program is made smaller."""

from __future__ import annotations

import ast
import copy
import random
import time
from collections.abc import Callable, Iterator

from tools.fuzz.tree import Program

__all__ = ["changed", "reduced"]

_OPERATORS = {
    "arithmetic": (ast.Add, ast.Sub, ast.Mult), "whole": (ast.FloorDiv, ast.Mod), "bits": (ast.BitAnd, ast.BitOr,
    ast.BitXor), "shift": (ast.LShift, ast.RShift),
}  # fmt: skip
_COMPARES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_TYPES = ("int32", "uint32", "float32", "int8", "uint8", "int16", "uint16", "float16")
_WAITS = ("wait", "wait_with_all_memory_fence", "wait_with_tile_static_memory_fence")


def changed(program: Program, seed: int) -> Program:
    """The program with one to three changes; they may make it one that the compiler refuses."""
    r = random.Random(seed)
    tree = ast.parse(program.text)
    names = []
    for _ in range(r.choice([1, 1, 2, 2, 3])):
        for _ in range(8):
            change = r.choice(_CHANGES)
            after = copy.deepcopy(tree)
            if change(_Tree(after, r)):
                try:
                    text = ast.unparse(ast.fix_missing_locations(after))
                    compile(text, "<changed>", "exec", dont_inherit=True)
                    tree = ast.parse(text)
                except (ValueError, SyntaxError, RecursionError):
                    continue
                names.append(change.__name__)
                break
    made = copy.copy(program)
    made.seed, made.text, made.changes = seed, ast.unparse(tree) + "\n", tuple(names)
    return made


class _Tree:
    """A module with a place to change it at."""

    def __init__(self, tree: ast.Module, r: random.Random) -> None:
        self.tree, self.random = tree, r
        self.functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        self.kernel = next(f for f in self.functions if f.name == "k")
        #: Mostly the kernel, sometimes a function.
        self.function = self.kernel if r.random() < 0.8 else r.choice(self.functions)

    def blocks(self) -> list[list[ast.stmt]]:
        """Every list of statements of the function."""
        found = []
        for node in ast.walk(self.function):
            for name in ("body", "orelse"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    found.append(block)
        return found

    def statement(self) -> tuple[list[ast.stmt], int]:
        """A statement, as its block and number."""
        block = self.random.choice(self.blocks())
        return block, self.random.randrange(len(block))

    def slots(self, kinds: tuple[type[ast.AST], ...] = (ast.expr,)) -> list[tuple[ast.AST, str, int | None]]:
        """Where expressions are that are read: the parent, the field, and the number in a list."""
        found: list[tuple[ast.AST, str, int | None]] = []
        for parent in ast.walk(self.function):
            if isinstance(parent, (ast.arguments, ast.arg, ast.match_case, ast.pattern, ast.keyword)):
                continue
            for name, value in ast.iter_fields(parent):
                if name in ("decorator_list", "targets", "target", "func", "annotation", "returns", "op", "ops", "ctx"):
                    continue
                items = value if isinstance(value, list) else [value]
                for n, item in enumerate(items):
                    if isinstance(item, kinds) and isinstance(item, ast.expr) and _is_read(item, parent):
                        found.append((parent, name, n if isinstance(value, list) else None))
        return found

    def pick(self, *kinds: type[ast.AST]) -> tuple[ast.AST, str, int | None] | None:
        """One of them."""
        slots = self.slots(kinds or (ast.expr,))
        return self.random.choice(slots) if slots else None

    def names(self) -> list[str]:
        """The variables and parameters of the function."""
        found = {a.arg for a in self.function.args.args}
        found |= {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return sorted(found)

    def fresh(self, word: str) -> str:
        """An unused name."""
        taken = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
        taken |= {n.name for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef)}
        return next(f"{word}{k}" for k in range(1, 1000) if f"{word}{k}" not in taken)


def _is_read(node: ast.expr, parent: ast.AST) -> bool:
    """Whether an expression is a value: no place, no type, no tuple of subscripts, no module."""
    if isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(node, (ast.Slice, ast.Starred, ast.Lambda)):
        return False
    if isinstance(parent, (ast.Attribute, ast.Expr)) or (isinstance(parent, ast.Subscript) and parent.value is node):
        return False
    return not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("amp", "np"))


def _get(slot: tuple[ast.AST, str, int | None]) -> ast.expr:
    parent, name, n = slot
    value = getattr(parent, name)
    found: ast.expr = value if n is None else value[n]
    return found


def _put(slot: tuple[ast.AST, str, int | None], new: ast.expr) -> None:
    parent, name, n = slot
    if n is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[n] = new


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


# -- the changes ---------------------------------------------------------------------------------------------------


def other_operator(t: _Tree) -> bool:
    """Another operator of the same family, now and then of any."""
    nodes = [n for n in ast.walk(t.function) if isinstance(n, (ast.BinOp, ast.AugAssign))]
    if not nodes:
        return False
    node = t.random.choice(nodes)
    family = next((f for f in _OPERATORS.values() if isinstance(node.op, f)), ())
    every = [o for f in _OPERATORS.values() for o in f]
    node.op = t.random.choice(every if not family or t.random.random() < 0.2 else list(family))()
    return True


def other_comparison(t: _Tree) -> bool:
    """Another comparison."""
    nodes = [n for n in ast.walk(t.function) if isinstance(n, ast.Compare)]
    if not nodes:
        return False
    node = t.random.choice(nodes)
    node.ops[t.random.randrange(len(node.ops))] = t.random.choice(_COMPARES)()
    return True


def swapped_operands(t: _Tree) -> bool:
    """``a - b`` becomes ``b - a``, ``f(a, b)`` becomes ``f(b, a)``."""
    nodes = [n for n in ast.walk(t.function) if isinstance(n, (ast.BinOp, ast.Compare))
             or (isinstance(n, ast.Call) and len(n.args) > 1)]  # fmt: skip
    if not nodes:
        return False
    node = t.random.choice(nodes)
    if isinstance(node, ast.BinOp):
        node.left, node.right = node.right, node.left
    elif isinstance(node, ast.Compare):
        node.left, node.comparators[0] = node.comparators[0], node.left
    else:
        node.args[0], node.args[1] = node.args[1], node.args[0]
    return True


def swapped_statements(t: _Tree) -> bool:
    """Two neighbours change places."""
    block, n = t.statement()
    if n + 1 >= len(block):
        return False
    block[n], block[n + 1] = block[n + 1], block[n]
    return True


def left_out(t: _Tree) -> bool:
    """Removes a statement."""
    block, n = t.statement()
    if len(block) < 2:
        return False
    del block[n]
    return True


def doubled(t: _Tree) -> bool:
    """Repeats a statement."""
    block, n = t.statement()
    block.insert(n, copy.deepcopy(block[n]))
    return True


def wrapped(t: _Tree) -> bool:
    """A run of statements in a loop or a branch."""
    block, n = t.statement()
    end = min(len(block), n + t.random.randint(1, 3))
    part = block[n:end]
    condition = ast.unparse(_get(slot)) if (slot := t.pick(ast.Compare, ast.BoolOp)) else "True"
    name = t.fresh("turn")
    head = t.random.choice([
        f"for {name} in range(2):\n pass", f"for {name} in range(1, 3):\n pass",
        f"for {name} in amp.static_range(2):\n pass",
        f"if {condition}:\n pass", f"if not ({condition}):\n pass\nelse:\n pass", "while True:\n pass",
        f"for {name} in range(3 if {condition} else 1):\n pass", "match 1:\n case 1:\n  pass\n case _:\n  pass",
    ])  # fmt: skip
    made = _statement(head)
    if isinstance(made, ast.Match):
        made.cases[0].body = part
    elif isinstance(made, ast.If) and made.orelse:
        made.orelse = part
    elif isinstance(made, ast.While):
        made.body = [*part, ast.Break()]
    else:
        assert isinstance(made, (ast.For, ast.If))
        made.body = part
    block[n:end] = [made]
    return True


def jump(t: _Tree) -> bool:
    """A return, break or continue under a condition."""
    block, n = t.statement()
    slot = t.pick(ast.Compare)
    condition = ast.unparse(_get(slot)) if slot else "True"
    value = ""
    if t.function is not t.kernel:
        results = [s for s in ast.walk(t.function) if isinstance(s, ast.Return)]
        value = ast.unparse(results[0].value) if results and results[0].value is not None else ""
    word = t.random.choice([f"return {value}", f"return {value}", "break", "continue"])
    block.insert(n, _statement(f"if {condition}:\n {word}"))
    return True


def barrier(t: _Tree) -> bool:
    """A barrier more."""
    index = t.function.args.args[0].arg if t.function.args.args else ""
    if not any(isinstance(n, ast.Attribute) and n.attr == "barrier" for n in ast.walk(t.function)):
        return False
    block, n = t.statement()
    block.insert(n, _statement(f"{index}.barrier.{t.random.choice(_WAITS)}()"))
    return True


def negated(t: _Tree) -> bool:
    """``-x``, ``~x`` or ``not x`` of an expression."""
    slot = t.pick()
    if slot is None:
        return False
    op = t.random.choice([ast.USub, ast.USub, ast.Invert, ast.Not, ast.UAdd])()
    _put(slot, ast.UnaryOp(op, _get(slot)))
    return True


def other_constant(t: _Tree) -> bool:
    """A number becomes another."""
    slots = [s for s in t.slots((ast.Constant,)) if isinstance(_get(s), ast.Constant)]
    slots = [s for s in slots if type(_get(s).value) in (int, float, bool)]  # type: ignore[attr-defined]
    if not slots:
        return False
    slot = t.random.choice(slots)
    value = _get(slot).value  # type: ignore[attr-defined]
    if type(value) is float:
        new = t.random.choice([value + 0.5, -value, 0.0, 1.0, 2.0, value * 2])
    else:
        new = t.random.choice([value + 1, value - 1, -value, 0, 1, 2, 3, 7, value * 2])
    _put(slot, _expression(repr(new)))
    return True


def cast(t: _Tree) -> bool:
    """A conversion around an expression, or another type of an array or cast."""
    nodes = [n for n in ast.walk(t.function) if isinstance(n, ast.Attribute) and n.attr in _TYPES]
    if nodes and t.random.random() < 0.5:
        t.random.choice(nodes).attr = t.random.choice(_TYPES)
        return True
    slot = t.pick()
    if slot is None:
        return False
    _put(slot, ast.Call(_expression(f"amp.{t.random.choice(_TYPES)}"), [_get(slot)], []))
    return True


def another(t: _Tree) -> bool:
    """An expression in the place of another one of the kernel."""
    first, second = t.pick(), t.pick()
    if first is None or second is None:
        return False
    _put(first, copy.deepcopy(_get(second)))
    return True


def chosen(t: _Tree) -> bool:
    """A conditional expression of two of the kernel's, or ``and`` and ``or`` of them."""
    slot, other = t.pick(), t.pick()
    test = t.pick(ast.Compare)
    if slot is None or other is None:
        return False
    value, second = _get(slot), copy.deepcopy(_get(other))
    condition = copy.deepcopy(_get(test)) if test else _expression("True")
    if t.random.random() < 0.25:
        _put(slot, ast.BoolOp(t.random.choice([ast.And, ast.Or])(), [value, second]))
    else:
        _put(
            slot,
            ast.IfExp(condition, value, second) if t.random.random() < 0.5 else ast.IfExp(condition, second, value),
        )
    return True


def combined(t: _Tree) -> bool:
    """An operator between an expression and another one."""
    slot, other = t.pick(), t.pick()
    if slot is None or other is None:
        return False
    op = t.random.choice([o for f in _OPERATORS.values() for o in f])()
    _put(slot, ast.BinOp(_get(slot), op, copy.deepcopy(_get(other))))
    return True


def renamed(t: _Tree) -> bool:
    """Renames a variable to another or to a new name, everywhere or in one place."""
    names = t.names()
    old = t.random.choice(names)
    new = t.random.choice([*names, t.fresh("other"), "int", "out", "sample", "buffer", "main", "gl_x", "half", "input"])
    found = [n for n in ast.walk(t.function) if isinstance(n, ast.Name) and n.id == old]
    if not found or old in {a.arg for a in t.function.args.args}:
        return False
    for node in found if t.random.random() < 0.6 else [t.random.choice(found)]:
        node.id = new
    return True


def extracted(t: _Tree) -> bool:
    """An expression becomes a function of the module, of the names that it reads."""
    slot = t.pick(ast.BinOp, ast.Call, ast.IfExp, ast.Compare, ast.Subscript, ast.UnaryOp)
    if slot is None:
        return False
    value = _get(slot)
    local = set(t.names())
    reads = sorted({n.id for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in local})
    name = t.fresh("part")
    text = f"@amp.func\ndef {name}({', '.join(reads)}):\n return {ast.unparse(value)}"
    t.tree.body.insert(t.tree.body.index(t.function), _statement(text))
    _put(slot, _expression(f"{name}({', '.join(reads)})"))
    return True


def named(t: _Tree) -> bool:
    """Assigns an expression of a statement to a variable before it."""
    block, n = t.statement()
    if not isinstance(block[n], (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Return, ast.For)):
        return False
    inner = _Tree(ast.Module([t.kernel], []), t.random)
    inner.function = t.kernel
    slots = [s for s in t.slots() if any(c is s[0] for c in _own(block[n]))]
    if not slots:
        return False
    slot = t.random.choice(slots)
    name = t.fresh("value")
    block.insert(n, _statement(f"{name} = {ast.unparse(_get(slot))}"))
    _put(slot, ast.Name(name, ast.Load()))
    return True


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of statements in it."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield from ast.walk(child)


def kept_in_memory(t: _Tree) -> bool:
    """A variable becomes an element of a private array."""
    numbers = (ast.BinOp, ast.Constant, ast.Subscript)
    single = [n for n in ast.walk(t.function) if isinstance(n, ast.Assign) and isinstance(n.value, numbers)]
    names = [n.targets[0].id for n in single if len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)]
    if not names:
        return False
    old, name = t.random.choice(names), t.fresh("held")

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(1), node.ctx) if node.id == old else node

    for statement in t.function.body:
        Replace().visit(statement)
    kind = t.random.choice(["int32", "float32", "uint32"])
    t.function.body.insert(0, _statement(f"{name} = amp.private(2, amp.{kind})"))
    return True


def unrolled(t: _Tree) -> bool:
    """A loop is unrolled, or no longer."""
    names = [n for n in ast.walk(t.function) if isinstance(n, ast.For) and isinstance(n.iter, ast.Call)]
    if not names:
        return False
    loop = t.random.choice(names).iter
    assert isinstance(loop, ast.Call)
    loop.func = _expression("range" if isinstance(loop.func, ast.Attribute) else "amp.static_range")
    return True


_CHANGES: tuple[Callable[[_Tree], bool], ...] = (
    other_operator, other_comparison, swapped_operands, swapped_statements, left_out, doubled, wrapped, wrapped, jump,
    barrier, negated, other_constant, other_constant, cast, another, another, chosen, chosen, combined, renamed,
    extracted, extracted, named, kept_in_memory, unrolled,
)  # fmt: skip


# -- smaller programs ----------------------------------------------------------------------------------------------


def reduced(program: Program, shows: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found within the time for which ``shows`` still holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for text in _smaller(program.text):
            if time.monotonic() > end:
                return program
            candidate = copy.copy(program)
            candidate.text = text
            if len(text) < len(program.text) and shows(candidate):
                program = candidate
                break
        else:
            return program
    return program


def _smaller(text: str) -> Iterator[str]:
    """Texts with a statement less, a block in its statement's place, or an operand in its expression's place."""
    count = sum(1 for _ in ast.walk(ast.parse(text)))
    for number in range(count):
        for way in ("without", "hoisted", "operand", "simple"):
            tree = ast.parse(text)
            if _cut(tree, list(ast.walk(tree))[number], way):
                try:
                    yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                except (ValueError, AttributeError):
                    continue


def _cut(tree: ast.Module, node: ast.AST, way: str) -> bool:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, list) and any(v is node for v in value):
                at = next(n for n, v in enumerate(value) if v is node)
                if isinstance(node, ast.stmt) and not isinstance(node, (ast.Import, ast.FunctionDef)):
                    if way == "without":
                        value[at : at + 1] = [] if len(value) > 1 or name == "orelse" else [ast.Pass()]
                        return not isinstance(node, ast.Pass)
                    if way == "hoisted" and isinstance(node, (ast.If, ast.For, ast.While)):
                        value[at : at + 1] = node.body
                        return True
                if way == "without" and isinstance(node, ast.FunctionDef) and node.name != "k":
                    del value[at]
                    return True
            slot = next(((parent, name, n) for n, v in enumerate(value) if v is node), None) if isinstance(
                value, list) else ((parent, name, None) if value is node else None)  # fmt: skip
            if slot is not None and isinstance(node, ast.expr) and _is_read(node, parent):
                operands = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr) and _is_read(c, node)]
                if way == "operand" and operands:
                    _put(slot, operands[-1])
                    return True
                if way == "simple" and not isinstance(node, (ast.Constant, ast.Name)):
                    _put(slot, ast.Constant(1))
                    return True
    return False
