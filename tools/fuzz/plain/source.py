"""The calls that are inserted into a program's source: where variables get their types, and around literals.

Python has no types of variables: ``x = 0`` makes an int32 of the literal, and each later value of ``x`` one, too. So
every assignment to a name, parameter, return, negation and choice calls a function of ``language.py``.
"""

from __future__ import annotations

import ast

__all__ = ["marked"]


def marked(source: str) -> ast.Module:
    """The program without its imports, ready to be run."""
    tree = ast.parse(source)
    tree.body = [s for s in tree.body if not isinstance(s, (ast.Import, ast.ImportFrom))]
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            _Marks().visit(statement)
    return ast.fix_missing_locations(tree)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(_name(name), list(args), [])


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


class _Marks(ast.NodeTransformer):
    def __init__(self) -> None:
        self.number = 0
        #: The number of enclosing functions without arguments that this module has added.
        self.inside = 0

    def next(self) -> ast.Constant:
        self.number += 1
        return ast.Constant(self.number)

    # -- functions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outer, self.number = self.number, 0
        body = [self.visit(s) for s in node.body]
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        place = ast.Constant(f"{node.name}:{node.lineno}")
        types = _call("__enter__", place, *map(_name, names))
        head: list[ast.stmt] = [ast.Assign([ast.Name("__types", ast.Store())], types)]
        for name in names:
            head.append(ast.Assign([ast.Name(name, ast.Store())],
                                   _call("__param__", _name("__types"), ast.Constant(name), _name(name))))  # fmt: skip
        node.body = [*head, *_flat(body)]
        node.returns = None
        self.number = outer
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.body = self.visit(node.body)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            node.value = _call("__ret__", self.visit(node.value))
        return node

    # -- assignments

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        value = self.visit(node.value)
        node.targets = [self.visit(t) for t in node.targets]
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            node.value = _call("__set__", _name("__types"), ast.Constant(name), self.next(), value)
        elif len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
            node.value = value
        else:
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            names = ast.Tuple([ast.Constant(_bound(t)) for t in targets], ast.Load())
            several = ast.Constant(not isinstance(node.targets[0], ast.Tuple))
            if isinstance(node.targets[0], ast.Tuple):
                node.targets[0].elts = [t.value if isinstance(t, ast.Starred) else t for t in targets]
            node.value = _call("__sets__", _name("__types"), names, self.next(), several, value)
            if len(node.targets) > 1:
                node.targets = [ast.Tuple(list(node.targets), ast.Store())]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        typed = _call("__annotated__", node.annotation, self.visit(node.value))
        return ast.Assign([node.target], _call("__set__", _name("__types"), ast.Constant(node.target.id), self.next(),
                                               typed))  # fmt: skip

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        node.value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            whole = ast.BinOp(_name(node.target.id), node.op, node.value)
            return ast.Assign([node.target], _call("__set__", _name("__types"), ast.Constant(node.target.id),
                                                   self.next(), whole))  # fmt: skip
        node.target = self.visit(node.target)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        unrolled = isinstance(node.iter, ast.Call) and _called(node.iter) == "static_range"
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("__tick__", ast.Constant(unrolled))))
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("__tick__", ast.Constant(False))))
        return node

    # -- expressions

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call("__shl__", node.left, node.right) if isinstance(node.op, ast.LShift) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return _call("__not__", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        if self.inside:
            return _call("__unknown__")
        value = self.visit(node.value)
        node.value = _call("__set__", _name("__types"), ast.Constant(node.target.id), self.next(), value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test, (then, orelse) = self.visit(node.test), self._late(node.body, node.orelse)
        return _call("__choose__", _name("__types"), self.next(), test, then, orelse)

    def _late(self, *nodes: ast.expr) -> list[ast.expr]:
        """Expressions that are evaluated when they are needed."""
        self.inside += 1
        made: list[ast.expr] = [_thunk(self.visit(n)) for n in nodes]
        self.inside -= 1
        return made

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if any(isinstance(n, ast.NamedExpr) for v in node.values for n in ast.walk(v)):
            # A separate function could not assign the name.
            node.values = [self.visit(v) for v in node.values]
            return node
        parts = self._late(*node.values)
        return _call("__and__" if isinstance(node.op, ast.And) else "__or__", *parts)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        node.left = self.visit(node.left)
        node.comparators = [self.visit(c) for c in node.comparators]
        return _call("__bool__", node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if _called(node) == "atomic_compare_exchange" and len(node.args) == 3:
            return self._exchange(node)
        if _called(node) == "tile_static":
            node.keywords.append(ast.keyword("__site__", ast.Constant(f"{node.lineno}:{node.col_offset}")))
        node.func = self.visit(node.func)
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _exchange(self, node: ast.Call) -> ast.expr:
        """The compared local variable receives the old value."""
        place, expected, value = (self.visit(a) for a in node.args)
        if not isinstance(expected, ast.Name):
            return _call("__exchange__", place, expected, value)
        made = _call("__exchange__", place, _thunk(expected), value)
        if self.inside:
            return _call("__unknown__")
        kept = ast.NamedExpr(ast.Name("__found", ast.Store()), made)
        old = ast.Subscript(_name("__found"), ast.Constant(1), ast.Load())
        changed = ast.NamedExpr(ast.Name(expected.id, ast.Store()), old)
        done = ast.Subscript(_name("__found"), ast.Constant(0), ast.Load())
        return ast.Subscript(ast.Tuple([kept, changed, done], ast.Load()), ast.Constant(2), ast.Load())

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node


def _bound(target: ast.expr) -> str | None:
    """The name that a target binds; ``*name`` if it binds the rest."""
    if isinstance(target, ast.Starred) and isinstance(target.value, ast.Name):
        return f"*{target.value.id}"
    return target.id if isinstance(target, ast.Name) else None


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    return [s for each in body for s in (each if isinstance(each, list) else [each])]
