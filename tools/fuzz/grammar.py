"""The pairs of the language that random kernels must reach, and those in a program.

A pair is a construct and its context: a kind of expression and an operand position, a statement and
the statement around it, an operator and the types of its operands, a builtin and the shape of its argument, a barrier
and what is around it, a value and the barrier that it is alive across.  Nothing is compiled to find them: the source is
read by ``ast``, the types are those that the generator knows.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tools.fuzz.operators import SMALL, called, operator_pairs, operators_of, space_of
from tools.fuzz.rows import LEFT_OUT
from tools.fuzz.tree import Program, source_of
from vkamp.front.scopes import children, nodes_in
from vkamp.ir.builtins import ATOMICS, BUILTINS
from vkamp.ir.subgroups import INDICES, SUBGROUPS
from vkamp.ir.types import SCALARS

__all__ = ["ALIVE", "AROUND", "ENCLOSING", "EXPRESSIONS", "FORM_NAMES", "POSITIONS", "SHAPES",
           "STATEMENTS", "claimed", "form_pairs", "pairs_of", "pairs_of_seeds", "possible",
           "report"]  # fmt: skip


# -- expressions and positions -------------------------------------------------------------------------------------

#: Kinds of expressions, and the possible types of each: int, uint, float, bool, vector, struct.
EXPRESSIONS: dict[str, str] = {
    "int literal": "int", "float literal": "float", "bool literal": "bool",
    "variable": "int uint float bool vector struct", "launch value": "int uint float bool",
    "component": "int uint float", "swizzle": "vector", "element": "int uint float vector struct",
    "field": "int uint float vector", "index component": "int", "tuple item": "int float",
    "arithmetic": "int uint float vector", "division": "float vector", "floor": "int uint float",
    "bits": "int uint bool vector", "shift": "int uint vector", "power": "int uint float",
    "negation": "int float vector", "inversion": "int uint vector", "not": "bool",
    "logical": "bool", "comparison": "bool", "chain": "bool", "choice": "int uint float bool vector struct",
    "cast": "int uint float bool", "builtin": "int uint float bool", "vector": "vector", "struct": "struct",
    "function": "int uint float bool vector", "lambda": "int float", "atomic": "int", "subgroup": "int float bool",
    "uniform": "int",
}  # fmt: skip

_NUMBERS, _WHOLE, _TESTS = "int uint float", "int uint", "bool int uint float"

#: Operand positions, and the possible operands of each.
POSITIONS: dict[str, str] = {
    "arithmetic left": "int uint float vector bool", "arithmetic right": "int uint float vector bool",
    "division left": "int uint float vector", "division right": "int uint float vector",
    "floor left": _NUMBERS, "floor right": _NUMBERS,
    "bits left": "int uint bool vector", "bits right": "int uint bool vector",
    "shift left": "int uint vector", "shift count": _WHOLE, "power base": _NUMBERS,
    "negation of": "int float vector", "inversion of": "int uint vector", "not of": _TESTS,
    "logical first": _TESTS, "logical later": _TESTS,
    "comparison left": "int uint float bool vector", "comparison right": "int uint float bool vector",
    "chain left": _NUMBERS, "chain middle": _NUMBERS, "chain right": _NUMBERS,
    "choice test": _TESTS, "choice body": "int uint float bool vector struct",
    "choice orelse": "int uint float bool vector struct",
    "cast of": _TESTS, "builtin argument": _NUMBERS, "vector argument": "int uint float vector",
    "struct argument": "int uint float vector", "function argument": "int uint float bool vector struct",
    "lambda argument": "int float", "atomic operand": "int", "subgroup argument": "int float bool",
    "index argument": "int", "subscript": _WHOLE, "section origin": "int",
    "range start": _WHOLE, "range stop": _WHOLE, "range step": "int",
    "assigned to variable": "int uint float bool vector struct", "assigned to element": "int uint float vector struct",
    "assigned to field": "int uint float vector", "assigned to component": _NUMBERS,
    "augmenting variable": "int uint float vector", "augmenting element": "int uint float vector",
    "augmenting field": "int uint float vector", "augmenting component": _NUMBERS,
    "tuple member": "int uint float bool vector",
    "returned": "int uint float bool vector struct", "if test": _TESTS, "elif test": _TESTS, "while test": _TESTS,
    "match subject": "int uint", "guard": _TESTS, "assert test": _TESTS,
}  # fmt: skip

#: Pairs that the language refuses or that no type allows, with the reason.
REFUSED: dict[tuple[str, str], str] = {
    **{("bool literal", p): "a comparison's own bool has these roles" for p in
       ("shift count", "subscript", "atomic operand")},
    **{(e, p): "its threads would have to be all there" for e in ("subgroup", "uniform") for p in
       ("while test", "logical later", "choice body", "choice orelse", "guard", "returned", "chain right",
        "elif test")},
    **{(e, "chain right"): "it would be evaluated only sometimes" for e in ("atomic", "function", "lambda")},
    ("atomic", "while test"): "it would be evaluated again and again",
    ("launch value", "returned"): "functions see their parameters",
    ("struct", "choice body"): "constructors make variables",
    ("struct", "choice orelse"): "constructors make variables",
}  # fmt: skip


def possible(expression: str, position: str) -> list[str]:
    """The possible types of an expression in a position."""
    if (expression, position) in REFUSED:
        return []
    accepted = POSITIONS[position].split()
    return [t for t in EXPRESSIONS[expression].split() if t in accepted]


_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "arithmetic", ast.Sub: "arithmetic", ast.Mult: "arithmetic", ast.Div: "division", ast.FloorDiv: "floor",
    ast.Mod: "floor", ast.BitAnd: "bits", ast.BitOr: "bits", ast.BitXor: "bits", ast.LShift: "shift",
    ast.RShift: "shift", ast.Pow: "power",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "negation", ast.UAdd: "negation", ast.Invert: "inversion", ast.Not: "not",
}  # fmt: skip
_CASTS = {*SCALARS, *SMALL, "int", "float", "bool", "bool_"}
_PYTHON_BUILTINS = {n for row in BUILTINS.values() for n in row.python if "." not in n}


_AMP_BUILTINS = {"tdiv", "trem", *(n[4:] for row in BUILTINS.values() for n in row.python if n.startswith("amp."))}


class _Names:
    """The meanings of the names of a program."""

    def __init__(self, program: Program, nodes: list[ast.AST]) -> None:
        self.launch = {*program.scalars}
        self.functions: set[str] = set()
        self.lambdas: set[str] = set()
        self.structs: set[str] = set()
        self.tuples: set[str] = set()
        self.fields: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                self.functions.add(node.name)
            elif isinstance(node, ast.ClassDef):
                self.structs.add(node.name)
                self.fields |= {s.target.id for s in node.body if isinstance(s, ast.AnnAssign)
                                and isinstance(s.target, ast.Name)}  # fmt: skip
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if isinstance(node.value, ast.Lambda):
                    self.lambdas.add(node.targets[0].id)
                elif isinstance(node.value, ast.Tuple):
                    self.tuples.add(node.targets[0].id)


def expression_kind(node: ast.AST, names: _Names) -> str:
    """The kind of an expression; ``""`` if it is not an operand."""
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} literal"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return f"{type(node.operand.value).__name__} literal"
    if isinstance(node, ast.Name):
        return "launch value" if node.id in names.launch else "variable"
    if isinstance(node, ast.Attribute):
        if set(node.attr) <= set("xyzw") or set(node.attr) <= set("rgba"):
            return "component" if len(node.attr) == 1 else "swizzle"
        return "field" if node.attr not in ("inf", "nan", "pi", "local", "global_", "tile") else ""
    if isinstance(node, ast.Subscript):
        if isinstance(node.value, ast.Name) and node.value.id in names.tuples:
            return "tuple item"
        owner = node.value
        if isinstance(owner, ast.Attribute) and owner.attr in ("global_", "local", "tile", "tile_origin", "extent"):
            return "index component"
        if isinstance(owner, ast.Call) and called(owner) in ("index", "extent"):
            return "index component"
        return "index component" if isinstance(owner, ast.Name) and owner.id in ("i", "t") else "element"
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)]
    if isinstance(node, ast.Compare):
        return "comparison" if len(node.ops) == 1 else "chain"
    if isinstance(node, ast.Call):
        return _call_kind(node, names)
    return {ast.BoolOp: "logical", ast.IfExp: "choice"}.get(type(node), "")


def _call_kind(node: ast.Call, names: _Names) -> str:
    name, space = called(node), space_of(node)
    if space == "subgroup":
        return "subgroup"
    if name.startswith("atomic_"):
        return "atomic"
    if space in ("fast_math", "precise_math", "direct3d", "math") or name in _AMP_BUILTINS:
        return "builtin"
    if space == "" and name in names.structs:
        return "struct"
    if space == "" and name in names.lambdas:
        return "lambda"
    if space == "" and name in names.functions:
        return "function"
    if name in _CASTS:
        return "cast"
    if space == "" and name in _PYTHON_BUILTINS:
        return "builtin"
    if name in ("index", "extent", "uniform", "range", "static_range", "section"):
        return name
    return "vector" if name[-1:] in "234" and space == "amp" else ""


def _positions(node: ast.AST, names: _Names) -> Iterator[tuple[str, ast.AST]]:
    """The operands of a node, each with its position."""
    if isinstance(node, ast.BinOp):
        kind = _BINARY[type(node.op)]
        yield (f"{kind} base" if kind == "power" else f"{kind} left"), node.left
        yield (f"{kind} count" if kind == "shift" else f"{kind} right"), node.right
    elif isinstance(node, ast.UnaryOp):
        yield f"{_UNARY[type(node.op)]} of", node.operand
    elif isinstance(node, ast.BoolOp):
        yield "logical first", node.values[0]
        for later in node.values[1:]:
            yield "logical later", later
    elif isinstance(node, ast.Compare):
        kind = "comparison" if len(node.ops) == 1 else "chain"
        yield f"{kind} left", node.left
        for middle in node.comparators[:-1]:
            yield "chain middle", middle
        yield f"{kind} right", node.comparators[-1]
    elif isinstance(node, ast.IfExp):
        yield from (("choice test", node.test), ("choice body", node.body), ("choice orelse", node.orelse))
    elif isinstance(node, ast.Subscript):
        key = node.slice
        for part in key.elts if isinstance(key, ast.Tuple) else [key]:
            yield "subscript", part
    elif isinstance(node, ast.Call):
        kind = _call_kind(node, names)
        given = [*node.args, *(k.value for k in node.keywords)]
        if kind == "range":
            for word, part in zip(("stop",) if len(given) == 1 else ("start", "stop", "step"), given, strict=False):
                yield f"range {word}", part
        elif kind == "atomic":
            for part in given[1:]:
                yield "atomic operand", part
        elif kind == "section":
            yield from (("section origin", p) for g in given[:1] if isinstance(g, ast.Call) for p in g.args)
        else:
            word = {"cast": "cast of"}.get(kind, f"{kind} argument")
            yield from ((word, part) for part in given)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        yield from (("tuple member", part) for part in node.elts)


def _place_kind(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return "variable"
    if isinstance(target, ast.Subscript):
        return "element"
    if isinstance(target, ast.Attribute):
        return "component" if set(target.attr) <= set("xyzwrgba") else "field"
    return ""


def _statement_operands(node: ast.stmt, names: _Names, elif_: bool) -> Iterator[tuple[str, ast.AST]]:
    """The expressions that a statement has itself."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(target.elts, node.value.elts, strict=False) if several else [(target, node.value)]  # type: ignore[attr-defined]
            yield from ((f"assigned to {_place_kind(t)}", v) for t, v in pairs)
    elif isinstance(node, ast.AugAssign):
        yield f"augmenting {_place_kind(node.target)}", node.value
    elif isinstance(node, ast.Return) and node.value is not None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        yield from (("returned", v) for v in values)
    elif isinstance(node, ast.If):
        yield ("elif test" if elif_ else "if test"), node.test
    elif isinstance(node, ast.While):
        yield "while test", node.test
    elif isinstance(node, ast.Assert):
        yield "assert test", node.test
    elif isinstance(node, ast.Match):
        yield "match subject", node.subject
        yield from (("guard", c.guard) for c in node.cases if c.guard is not None)


# -- statements ----------------------------------------------------------------------------------------------------

#: Statements by kind.
STATEMENTS = (
    "assign variable", "assign element", "assign field", "assign component", "assign tuple", "augment variable",
    "augment element", "augment field", "augment component", "call of a function", "call of an atomic", "assert",
    "if", "match", "for", "static for", "while", "break", "continue", "return", "private array", "view", "pass",
    "annotated", "function", "lambda",
)  # fmt: skip

#: The possible contexts of a statement.
ENCLOSING = ("kernel", "device function", "nested function", "if", "elif", "else", "case", "for", "static for", "while")

#: Statements that are refused in some places, with the reason.
_NOWHERE: dict[tuple[str, str], str] = {
    **{(s, e): "there is no loop" for s in ("break", "continue") for e in
       ("kernel", "device function", "nested function")},
    **{("function", e): "it is defined at the top" for e in ENCLOSING if e not in ("kernel", "device function")},
    **{("lambda", e): "it is defined at the top" for e in ENCLOSING if e not in ("kernel", "device function")},
    ("return", "static for"): "what follows could not be reached", ("return", "kernel"): "it would end the kernel",
}  # fmt: skip


def statement_kind(node: ast.stmt) -> str:
    """The kind of a statement."""
    if isinstance(node, ast.Assign):
        if isinstance(node.value, ast.Lambda):
            return "lambda"
        if isinstance(node.value, ast.Call) and called(node.value) in ("private", "tile_static"):
            return "private array" if called(node.value) == "private" else ""
        if isinstance(node.value, ast.Call) and called(node.value) in ("section", "view_as", "reinterpret_as"):
            return "view"
        return "assign tuple" if isinstance(node.targets[0], ast.Tuple) else f"assign {_place_kind(node.targets[0])}"
    if isinstance(node, ast.AugAssign):
        return f"augment {_place_kind(node.target)}"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = called(node.value)
        if name.startswith(("wait", "all_memory", "global_memory", "tile_static")):
            return "barrier"
        return "call of an atomic" if name.startswith("atomic") else "call of a function"
    if isinstance(node, ast.For):
        unrolled = isinstance(node.iter, ast.Call) and called(node.iter) == "static_range"
        return "static for" if unrolled else "for"
    words: dict[type[ast.stmt], str] = {
        ast.Assert: "assert", ast.If: "if", ast.Match: "match", ast.While: "while", ast.Break: "break",
        ast.Continue: "continue", ast.Return: "return", ast.Pass: "pass", ast.AnnAssign: "annotated",
        ast.FunctionDef: "function",
    }  # fmt: skip
    return words.get(type(node), "")


def _blocks(node: ast.stmt, kind: str) -> Iterator[tuple[str, list[ast.stmt], bool]]:
    """The blocks of a statement: the name of each, and whether it is only an ``elif``."""
    if isinstance(node, ast.If):
        yield kind, node.body, False
        chained = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
        if node.orelse:
            yield "else", node.orelse, chained
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield "case", case.body, False
    elif isinstance(node, (ast.For, ast.While)):
        yield statement_kind(node), node.body, False
    elif isinstance(node, ast.FunctionDef):
        yield "nested function", node.body, False


# -- forms ---------------------------------------------------------------------------------------------------------

#: Forms of several words, whose texts ``tools.fuzz.forms`` has.
FORM_NAMES = (
    *(f"{f} of {s}" for f in ("sum", "min", "max") for s in ("array", "tuple", "vector", "generator")),
    *(f"{f} of {s}" for f in ("any", "all") for s in ("array", "tuple", "generator")),
    *(f"for over {s}" for s in ("array", "tuple", "vector", "enumerate", "zip", "reversed", "map")),
    "in tuple", "not in tuple", "in array", "in vector", "starred target", "tuple slice", "array slice", "tuple joined",
    "tuple compared", "spread argument", "bool private", "reference", "reference rebound", "reference in loop",
    "struct copied", "struct argument", "method", "part as argument", "and value", "or value", "view of bits",
    "bit count", "astype", "power by variable", "walrus in test", "walrus in value", "for else", "while else",
    "while true", "private of small", "small cast", "small store", "subscript of tuple",
)  # fmt: skip
_REDUCTIONS = ("sum", "min", "max", "any", "all")
#: Forms that some places cannot have, with the reason.
_NO_FORM = {("small store", e): "functions do not see the container" for e in ("device function", "nested function")}


def form_pairs() -> list[tuple[str, str]]:
    """Every form with its possible contexts."""
    return [(f, e) for f in FORM_NAMES for e in ENCLOSING if (f, e) not in _NO_FORM]


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of statements in it."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        yield node
        left += [n for n in children(node) if not isinstance(n, (ast.stmt, ast.match_case))]


class _Sequences:
    """The meanings of the names of a program in forms."""

    def __init__(self, program: Program, nodes: list[ast.AST]) -> None:
        self.small = {c.name for c in program.containers if c.written and c.dtype.removeprefix("np.") in SMALL}
        self.of: dict[str, str] = {}
        structs = {n.name for n in nodes if isinstance(n, ast.ClassDef)}
        self.methods = {f.name for n in nodes if isinstance(n, ast.ClassDef) for f in n.body
                        if isinstance(f, ast.FunctionDef)}  # fmt: skip
        self.references: Counter[str] = Counter()
        assigned = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        for node in assigned:
            kind = self._made(node.value, structs)
            if kind:
                self.of[node.targets[0].id] = kind  # type: ignore[attr-defined]
        for node in assigned:
            if self.is_reference(node.value):
                self.references[node.targets[0].id] += 1  # type: ignore[attr-defined]

    @staticmethod
    def _made(node: ast.expr, structs: set[str]) -> str:
        if isinstance(node, ast.Tuple):
            return "tuple"
        if not isinstance(node, ast.Call):
            return ""
        name = called(node)
        if name == "private":
            return "structs" if isinstance(node.args[1], ast.Name) and node.args[1].id in structs else "array"
        if name in structs:
            return "struct"
        return "vector" if name[-1:] in "234" and space_of(node) == "amp" else ""

    def kind(self, node: ast.AST) -> str:
        """The sort of sequence of an expression."""
        if isinstance(node, ast.Name):
            return self.of.get(node.id, "")
        if isinstance(node, ast.Call) and called(node) in ("enumerate", "zip", "reversed", "map"):
            return called(node)
        return {ast.Tuple: "tuple", ast.GeneratorExp: "generator"}.get(type(node), "")

    def is_reference(self, node: ast.AST) -> bool:
        """Whether it is a struct in memory: an element, or a name that refers to one."""
        if isinstance(node, ast.Subscript):
            return self.kind(node.value) == "structs"
        return isinstance(node, ast.Name) and (self.kind(node) == "struct" or node.id in self.references)

    def forms(self, statement: ast.stmt) -> Iterator[str]:
        """The forms of a statement, without those of statements in it."""
        tests = nodes_in(statement.test) if isinstance(statement, (ast.If, ast.While)) else []
        if isinstance(statement, ast.For):
            yield f"for over {self.kind(statement.iter)}"
            first = statement.body[0]
            if self.kind(statement.iter) == "structs" or (
                isinstance(first, ast.Assign) and self.is_reference(first.value)
            ):
                yield "reference in loop"
        if isinstance(statement, (ast.For, ast.While)) and statement.orelse:
            yield "for else" if isinstance(statement, ast.For) else "while else"
        if isinstance(statement, ast.While) and isinstance(statement.test, ast.Constant):
            yield "while true"
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield from self._assigned(target, statement.value)
        for node in _own(statement):
            if isinstance(node, ast.NamedExpr):
                yield "walrus in test" if node in tests else "walrus in value"
            elif isinstance(node, ast.Call):
                yield from self._called(node)
            else:
                yield from self._expression(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[str]:
        if isinstance(target, ast.Tuple) and any(isinstance(t, ast.Starred) for t in target.elts):
            yield "starred target"
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self.small:
            yield "small store"
        if isinstance(value, ast.Call) and called(value) == "private":
            word = ast.unparse(value.args[1])
            if word == "bool":
                yield "bool private"
            elif word.removeprefix("amp.") in SMALL:
                yield "private of small"
        if isinstance(target, ast.Name) and self.is_reference(value):
            yield "reference"
            if self.references[target.id] > 1:
                yield "reference rebound"
        elif self.is_reference(target) and self.is_reference(value):
            yield "struct copied"

    def _called(self, node: ast.Call) -> Iterator[str]:
        name = called(node)
        if name in _REDUCTIONS and node.args:
            yield f"{name} of {self.kind(node.args[0])}"
        if any(isinstance(a, ast.Starred) for a in node.args):
            yield "spread argument"
        words = {"view": "view of bits", "asint": "view of bits", "asuint": "view of bits", "asfloat": "view of bits",
                 "bit_count": "bit count", "astype": "astype",
                 "copy": "struct copied", "pow": "power by variable"}  # fmt: skip
        if name in words:
            yield words[name]
        if name in SMALL:
            yield "small cast"
        if name in self.methods:
            yield "method"
        elif isinstance(node.func, ast.Name):
            if any(self.is_reference(a) for a in node.args):
                yield "struct argument"
            if any(isinstance(a, ast.Attribute) or (isinstance(a, ast.Subscript) and self.kind(a.value) == "array")
                   for a in node.args):  # fmt: skip
                yield "part as argument"

    def _expression(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Compare):
            for op, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(op, (ast.In, ast.NotIn)):
                    yield f"{'in' if isinstance(op, ast.In) else 'not in'} {self.kind(right)}"
                elif isinstance(right, ast.Tuple):
                    yield "tuple compared"
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            yield "array slice" if self.kind(node.value) == "array" else "tuple slice"
        elif isinstance(node, ast.Subscript) and self.kind(node.value) == "tuple":
            if not isinstance(node.slice, ast.Constant):
                yield "subscript of tuple"
        elif isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant):
                yield "power by variable"
            if self.kind(node.left) == "tuple":
                yield "tuple joined"
        elif isinstance(node, ast.BoolOp) and isinstance(node.values[0], ast.BinOp):
            word = "and value" if isinstance(node.op, ast.And) else "or value"
            if not isinstance(node.values[0].op, ast.Pow):
                yield word


# -- barriers ------------------------------------------------------------------------------------------------------

#: The statements around a barrier, the outermost first.
AROUND = ("kernel", "for", "while", "if", "static for", "match", "for for", "for if", "if for", "while if",
          "device function")  # fmt: skip
#: How many barriers a block has that has any.
_COUNTS = ("1", "2", "3")
#: Values that are computed before a barrier and used after it.
ALIVE = ("int", "uint", "float", "bool", "vector", "struct", "private array", "tuple", "view", "counter", "element")


def _is_wait(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value).startswith("wait")


def _value_kind(node: ast.expr, names: _Names) -> str:
    """The kind of value of a variable, if the assigned expression shows it."""
    if isinstance(node, ast.Call):
        name = called(node)
        found = {"private": "private array", "uint32": "uint", "int32": "int", "float32": "float", "bool": "bool",
                 "section": "view"}.get(name)  # fmt: skip
        if found:
            return found
        kind = _call_kind(node, names)
        return kind if kind in ("vector", "struct") else ""
    if isinstance(node, ast.Tuple):
        return "tuple"
    if isinstance(node, (ast.Compare, ast.BoolOp)):
        return "bool"
    if isinstance(node, ast.Subscript):
        return "element" if expression_kind(node, names) == "element" else ""
    return ""


def _barrier_pairs(block: list[ast.stmt], around: tuple[str, ...], names: _Names) -> Iterator[str]:
    """The barriers of a block, and the values that are alive across them."""
    waits = [n for n, s in enumerate(block) if _is_wait(s)]
    where = " ".join([a for a in around if a not in ("kernel", "elif", "else")] or ["kernel"]).replace("case", "match")
    if waits:
        yield f"barriers: {min(len(waits), 3)} in {where}"
    reads = [{n.id for n in nodes_in(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
             for s in (block if waits else ())]  # fmt: skip
    for at in waits:
        before = block[:at]
        used = set().union(*reads[at + 1 :])
        for statement in before:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                kind = _value_kind(statement.value, names)
                if kind and statement.targets[0].id in used:
                    yield f"alive: {kind} in {where}"


# -- builtins ------------------------------------------------------------------------------------------------------

#: Shapes of the arguments of builtins.
SHAPES = ("literal", "variable", "element", "launch value", "component", "expression", "choice")

_SHAPE_OF = {
    "int literal": "literal", "float literal": "literal", "variable": "variable", "element": "element",
    "launch value": "launch value", "component": "component", "arithmetic": "expression", "choice": "choice",
}  # fmt: skip


def _spellings() -> dict[str, str]:
    """Rows by the names that kernels call them by, as dotted text."""
    found: dict[str, str] = {}
    for row in BUILTINS.values():
        for name in row.python:
            own = name.startswith(("math.", "amp.")) or "." not in name
            found[name if own else f"amp.{name}"] = row.name
    return found


_ROW_OF = _spellings()


def _dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Name)) else ""


# -- a program's pairs ---------------------------------------------------------------------------------------------


def claimed() -> list[str]:
    """Every pair that the kernels must have."""
    rows = [f"expression: {e} as {p}" for e in EXPRESSIONS for p in POSITIONS if possible(e, p)]
    rows += [f"statement: {s} in {e}" for s in STATEMENTS for e in ENCLOSING if (s, e) not in _NOWHERE]
    rows += [f"form: {f} in {e}" for f, e in form_pairs()]
    rows += [f"operator: {left} {op} {right}" for left, op, right in operator_pairs()]
    rows += [f"builtin: {row.name} of {shape}" for row in BUILTINS.values() for shape in SHAPES
             if row.name not in LEFT_OUT and row.python and row.params and _has_shape(row.name, shape)]  # fmt: skip
    rows += [f"barriers: {n} in {a}" for n in _COUNTS for a in AROUND]
    rows += [f"alive: {v} in {a}" for v in ALIVE for a in AROUND if v != "counter"]
    rows += [f"atomic: {name}" for name in ATOMICS]
    rows += [f"subgroup: {name}" for name in (*SUBGROUPS, *INDICES) if name not in NO_SUBGROUP]
    rows += [f"source: {kind.__name__}" for kind in source_classes()]
    return rows


#: Functions of subgroups whose results depend on the size of a subgroup, in which devices differ.
NO_SUBGROUP = ("size", "shuffle_down")


def _has_shape(name: str, shape: str) -> bool:
    """Whether arguments of a shape can be made: special floats come from memory, a literal is no uint32."""
    row = BUILTINS[name]
    special = row.result == "bool" or name.endswith("fpclassify")
    if shape == "literal" and "U" in row.params:
        return False
    return shape in ("variable", "element", "choice") if special else True


#: Syntax that random kernels lack: `with` is for tile scopes, which the plain Python that judges them does not have.
#: `raise` refuses a call while a kernel is compiled.
NOT_GENERATED = (ast.Raise, ast.With)


def source_classes() -> list[type[ast.AST]]:
    """The classes of syntax that the front end knows."""
    import vkamp.front.lower  # noqa: F401  (registers the handlers)
    from vkamp.front.context import _HANDLERS

    return [kind for kind in _HANDLERS if kind not in NOT_GENERATED]


def pairs_of_seeds(seeds: range) -> Counter[str]:
    """How many kernels of some seeds have each pair."""
    from tools.fuzz.programs import program

    found: Counter[str] = Counter()
    for seed in seeds:
        found.update(pairs_of(program(seed)))
    return found


def report(found: Counter[str], count: int) -> str:
    """A table for people: how many pairs of each group there are, how rare the rarest is, and the gaps."""
    groups: dict[str, list[str]] = {}
    for row in claimed():
        groups.setdefault(row.partition(":")[0], []).append(row)
    lines = [f"pairs of {count} kernels", f"{'group':12}{'pairs':>8}{'missing':>9}{'rarest':>9}{'median':>9}"]
    for group, rows in groups.items():
        counts = sorted(found[row] for row in rows)
        missing = sum(n == 0 for n in counts)
        lines.append(f"{group:12}{len(rows):8}{missing:9}{counts[0]:9}{counts[len(counts) // 2]:9}")
    lines += [f"  never  {row}" for rows in groups.values() for row in rows if not found[row]]
    return "\n".join(lines)


def pairs_of(program: Program) -> Counter[str]:
    """The pairs that a program has, each once."""
    tree = ast.parse(source_of(program))
    nodes = nodes_in(tree)
    names, sequences = _Names(program, nodes), _Sequences(program, nodes)
    found: set[str] = {f"source: {name}" for name in {type(node).__name__ for node in nodes}}
    for node in nodes:
        for position, operand in _positions(node, names):
            found.add(f"expression: {expression_kind(operand, names)} as {position}")
        if isinstance(node, ast.Call):
            found |= set(_calls(node, names))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            where = "kernel" if function.name == "k" else "device function"
            found |= set(_statements(function.body, (where,), names, False))
            found |= set(_forms(function.body, where, sequences, False))
    found |= {f"operator: {left} {op} {right}" for lines in (program.prelude, program.body)
              for left, op, right in operators_of(lines)}  # fmt: skip
    return Counter(found)


def _forms(block: list[ast.stmt], around: str, sequences: _Sequences, elif_: bool) -> Iterator[str]:
    for statement in block:
        yield from (f"form: {name} in {around}" for name in sequences.forms(statement))
        for word, below, chained in _blocks(statement, "elif" if elif_ else "if"):
            yield from _forms(below, around if chained else word, sequences, chained)


def _calls(node: ast.Call, names: _Names) -> Iterator[str]:
    row = _ROW_OF.get(_dotted(node.func))
    if row is not None:
        for arg in node.args:
            shape = _SHAPE_OF.get(expression_kind(arg, names))
            if shape:
                yield f"builtin: {row} of {shape}"
    name = called(node)
    if name.startswith("atomic_"):
        yield f"atomic: {name}"
    if space_of(node) == "subgroup":
        yield f"subgroup: {name}"


def _statements(block: list[ast.stmt], around: tuple[str, ...], names: _Names, elif_: bool) -> Iterator[str]:
    yield from _barrier_pairs(block, around, names)
    for statement in block:
        kind = statement_kind(statement)
        if not elif_:
            yield f"statement: {kind} in {around[-1]}"
        for position, operand in _statement_operands(statement, names, elif_):
            yield f"expression: {expression_kind(operand, names)} as {position}"
        for word, below, chained in _blocks(statement, "elif" if elif_ else "if"):
            outer = around[:-1] if elif_ else around
            yield from _statements(below, (*outer, word), names, chained)
