"""Translation of statements and of whole functions."""

from __future__ import annotations

import ast
import re

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.matrices import function_of, kind_of, matrix_at
from vkamp.ir.types import BOOL, Array, Scalar, Struct, Type, Vector
from vkamp.sim.expressions import INDEX_NAMES, ExpressionTranslator, scalar_of
from vkamp.sim.output import PrintedText
from vkamp.sim.places import Address
from vkamp.sim.schedule import SWITCH
from vkamp.sim.trees import definition, name_of, place_at, quote, sum_of

_INDEX_SOURCES = {"global": "global_", "local": "local", "tile": "tile", "tile_origin": "origin"}


class FunctionTranslator(ExpressionTranslator):
    """Translates one function."""

    def run(self) -> None:
        """Adds the function to the program."""
        function = self.function
        is_kernel = function is self.kernel.body
        if self._waits():
            self.waiting.add(function.name)
        params = [self.local(p.name) for p in function.params]
        body = self._prologue() + self.block(function.body)
        if function.results:
            site = self.site(function.span, text=function.python_name)
            body.append(ast.Expr(quote("_fell(_t, S)", S=site)))
            zeros = [self._zero(kind) for kind in function.results]
            body.append(ast.Return(zeros[0] if len(zeros) == 1 else ast.Tuple(zeros, ast.Load())))
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(p) for p in ("_t", *params)],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        title = re.sub(r"\W", "_", function.python_name) or "_"
        made = definition(title, arguments, body or [ast.Pass()])
        place_at(made, function.span)
        module = ast.Module([made], [])
        self.program.codes.append(
            (
                "_kernel" if is_kernel else f"_fn_{function.name}",
                compile(module, function.span.file, "exec", dont_inherit=True),
            )
        )

    def _zero(self, kind: Type) -> ast.expr:
        if isinstance(kind, Struct):
            return quote("_nothing(Y, N)", Y=self.layout(kind), N=self.words_of(kind))
        if isinstance(kind, Vector):
            return quote("[X] * N", X=self._zero(kind.element), N=kind.count)
        scalar = scalar_of(kind)
        if scalar.kind == "float":
            return self.constant("c", scalar.dtype.type(0))
        return ast.Constant(False if kind == BOOL else 0)

    def _waits(self) -> bool:
        for statement in ir.walk_statements(self.function.body):
            if isinstance(statement, ir.Barrier) and statement.fence.waits:
                return True
            if isinstance(statement, (ir.MatrixOperation, ir.Subgroup)) or self._switches(statement):
                return True
            if isinstance(statement, ir.Call) and statement.function in self.waiting:
                return True
        return False

    def _switches(self, node: ir.Stmt) -> bool:
        """Whether threads are switched before a statement."""
        if isinstance(node, ir.Atomic):
            return self.switches != ""
        if self.switches != "stores" or not isinstance(node, ir.Assign):
            return False
        root = ir.root_of(node.place)
        return isinstance(root, ir.BufferElement) or root.variable.storage == "tile_static"

    def _prologue(self) -> list[ast.stmt]:
        """Defines the thread indices that are used, and the memory of struct and vector variables."""
        used = {(n.kind, n.dim) for s in self.function.body for n in ir.walk(s) if isinstance(n, ir.ThreadIndex)}
        out = [
            self.assign_name(f"{INDEX_NAMES[kind]}{dim}", quote(f"_t.{_INDEX_SOURCES[kind]}[I]", I=dim))
            for kind, dim in sorted(used)
        ]
        name = self.kernel.index_name
        if self.function is self.kernel.body and all(v.name != name for v in self.function.variables):
            # For the debugger.
            out.append(self.assign_name(self.local(name), name_of("_t")))
        for variable in self.function.variables:
            if variable.storage == "local" and isinstance(variable.type, (Struct, Vector)):
                # The components of a vector are adjacent for every size.
                words = variable.type.count if isinstance(variable.type, Vector) else self.words_of(variable.type)
                out.append(self.assign_name(self.local(variable.name), quote("[None] * N", N=words)))
        return out

    # -- statements

    def block(self, statements: ir.Block) -> list[ast.stmt]:
        """The Python statements of a block."""
        return [made for s in statements for made in self.statement(s)]

    def statement(self, node: ir.Stmt) -> list[ast.stmt]:
        """The Python statements of one statement, at its source position."""
        made: list[ast.stmt] = _HANDLERS[type(node)](self, node)
        if self.trace:
            made = self._traced(node, made)
        if self._switches(node):
            self.program.switched = True
            made.insert(0, ast.Expr(ast.Yield(ast.Constant(SWITCH))))
        for statement in made:
            place_at(statement, node.span)
        return made

    def _declare(self, node: ir.Declare) -> list[ast.stmt]:
        if node.variable.storage == "tile_static":
            return []
        return [
            self.assign_name(
                self.local(node.variable.name), quote("_private(T)", T=self.constant("k", node.variable.type))
            )
        ]

    def _assign(self, node: ir.Assign) -> list[ast.stmt]:
        value = self.expr(node.value)
        if self.trace and not isinstance(node.place, ir.Local):
            return [
                ast.Expr(quote("_kept(_t, X)", X=value)),
                self.store(node.place, quote("_pending()"), node.span),
            ]
        return [self.store(node.place, value, node.span)]

    def _if(self, node: ir.If) -> list[ast.stmt]:
        then = self.block(node.then) or [ast.Pass()]
        return [ast.If(self._condition(node), then, self.block(node.orelse))]

    def _for(self, node: ir.For) -> list[ast.stmt]:
        bounds = [self.expr(e) for e in (node.start, node.stop, node.step)]
        fixed = isinstance(node.step, ir.Const) and node.step.value
        counter = ast.Name(self.local(node.variable.name), ast.Store())
        steps = ast.Call(name_of("_range" if fixed else "_steps"), bounds, [])
        body = self.block(node.body) or [ast.Pass()]
        if self.trace:
            body[:0] = [self._begins(node), *self._shows(node.variable)]
        return [ast.For(counter, steps, body, [])]

    def _while(self, node: ir.While) -> list[ast.stmt]:
        return [ast.While(self._condition(node), self.block(node.body) or [ast.Pass()], [])]

    def _break(self, node: ir.Break) -> list[ast.stmt]:
        return [ast.Break()]

    def _continue(self, node: ir.Continue) -> list[ast.stmt]:
        return [ast.Continue()]

    def _return(self, node: ir.Return) -> list[ast.stmt]:
        values = [self.expr(v) for v in node.values]
        if self.trace:
            values = [
                self._shown(tree, v.type, "result", node.span) for tree, v in zip(values, node.values, strict=True)
            ]
        if not values:
            return [ast.Return()]
        return [ast.Return(values[0] if len(values) == 1 else ast.Tuple(values, ast.Load()))]

    def _barrier(self, node: ir.Barrier) -> list[ast.stmt]:
        if node.fence.waits:
            site = self.site(node.span)
            self.program.fences[site] = node.fence
            return [ast.Expr(ast.Yield(ast.Constant(site)))]
        if not self.races:
            return []
        flags = (node.fence.orders_global, node.fence.orders_tile_static)
        return [ast.Expr(quote("_fence(_t, G, T)", G=flags[0], T=flags[1]))]

    def _atomic(self, node: ir.Atomic) -> list[ast.stmt]:
        row = ATOMICS[node.name]
        kind = scalar_of(node.place.type)
        address = self.address(node.place)
        site = self.access(address, "atomic", node.span, node.place.type)
        word, old, new = self.temporary("k"), self.temporary("a"), self.temporary("a")
        at = name_of(word)
        args = [self.expr(a) for a in node.args]
        if node.expected is not None:
            args.insert(0, self.load_place(node.expected, node.expected.span))
        self.program.constants[f"_b_{node.name}"] = row.apply
        value: ast.expr = ast.Call(name_of(f"_b_{node.name}"), [name_of(old), *args], [])
        if kind.kind != "float":
            value = self.wrap(kind, value)
        place = self.judged(address, "atomic", sum_of(address.terms, address.constant), site, kind)
        unjudged = Address(address.root, [at], 0)
        loaded = self.read_back(unjudged, at, kind, site)
        if row.name == "atomic_exchange" and node.result is None:
            loaded = ast.Constant(None)  # The old value is not checked: this may be the first write.
        out = [self.assign_name(word, place), self.assign_name(old, loaded), self.assign_name(new, value)]
        if node.order and self.races:
            memory = ir.root_of(node.place)
            name = memory.buffer if isinstance(memory, ir.BufferElement) else memory.variable.name
            out.append(ast.Expr(quote(f"_{node.order}(_t, N, K)", N=name, K=word)))
        out.append(self.store_back(unjudged, at, kind, name_of(new)))
        if self.trace:
            out.append(ast.Expr(quote("_kept(_t, X)", X=new)))
            out.append(ast.Expr(quote("_stored(_t, S, K)", S=site, K=word)))
        if node.result is not None:
            result: ast.expr = name_of(old)
            if row.result == "bool":
                assert node.expected is not None
                expected = self.load_place(node.expected, node.expected.span)
                result = quote("A == E", A=old, E=expected)
            out.append(self.assign_name(self.local(node.result.name), result))
        if node.expected is not None:
            out.append(self.store(node.expected, name_of(old), node.span))
        return out

    def _call(self, node: ir.Call) -> list[ast.stmt]:
        args = [self.holder(ir.root_of(a)) if isinstance(a, ir.Place) else self.expr(a) for a in node.args]
        value: ast.expr = ast.Call(name_of(f"_fn_{node.function}"), [name_of("_t"), *args], [])
        if node.function in self.waiting:
            value = ast.YieldFrom(value)
        if not any(node.results):
            return [ast.Expr(value)]
        targets: list[ast.expr] = [
            ast.Name("_" if r is None else self.local(r.name), ast.Store()) for r in node.results
        ]
        return [ast.Assign(targets if len(targets) == 1 else [ast.Tuple(targets, ast.Store())], value)]

    def _assert(self, node: ir.Assert) -> list[ast.stmt]:
        site = self.site(node.span, text=node.message)
        failed = ast.Expr(quote("_failed(_t, S)", S=site))
        return [ast.If(quote("not X", X=self.expr(node.condition)), [failed], [])]

    def _uniform_assert(self, node: ir.UniformAssert) -> list[ast.stmt]:
        value = quote("_uniform(_t, S, X)", S=self.site(node.span), X=self.expr(node.value))
        return [self.assign_name(self.local(node.variable.name), value)]

    def _subgroup(self, node: ir.Subgroup) -> list[ast.stmt]:
        site = self.site(node.span, text=node.name, value=node.result.type)
        self.program.meetings[site] = node
        self.program.switched = True
        given = ast.Assign(
            [ast.Attribute(name_of("_t"), "given", ast.Store())],
            ast.Tuple([self.expr(a) for a in node.args], ast.Load()),
        )
        got = quote("_t.got")
        kind = node.result.type
        if isinstance(kind, Scalar) and kind.is_integer:
            got = self.wrap(kind, got)
        place = ir.Local(node.span, kind, node.result)
        return [given, ast.Expr(ast.Yield(ast.Constant(site))), self.store(place, got, node.span)]

    def _matrix_operation(self, node: ir.MatrixOperation) -> list[ast.stmt]:
        """The threads of a subgroup meet; then each has the elements of its lane, a product by numpy."""
        site = self.site(node.span, text=function_of(node))
        self.program.meetings[site] = node
        self.program.switched = True
        body = self.block(node.body)
        if node.op == "mul_add":
            places = [*node.targets, *(matrix_at(arg) for arg in node.args)]
            operands = [part for place in places for part in self._matrix_operand(place)]
            kinds = self.constant("k", tuple(map(kind_of, places)))
            done = ast.Call(name_of("_mul_add"), [kinds, *operands], [])
            body = [ast.If(ast.UnaryOp(ast.Not(), done), body, [])]
        return [ast.Expr(ast.Yield(ast.Constant(site))), *body]

    def _matrix_operand(self, place: ir.Place) -> tuple[ast.expr, ast.expr]:
        """The array that holds a matrix, and the word where it begins."""
        address = self.address(place)
        return self.holder(ir.root_of(place)), sum_of(address.terms, address.constant)

    def _print(self, node: ir.Print) -> list[ast.stmt]:
        values = ast.Tuple([self.expr(v) for v in node.values], ast.Load())
        self.program.speaks = True
        text = self.constant("k", PrintedText(node, self.program.unit))
        return [ast.Expr(quote("_print(_t, P, X)", P=text, X=values))]

    def _breakpoint(self, node: ir.Breakpoint) -> list[ast.stmt]:
        self.program.speaks = True
        return [ast.Expr(quote("_stop() if _acts(_t) else None"))]

    # -- the steps of a thread that is followed

    def _traced(self, node: ir.Stmt, made: list[ast.stmt]) -> list[ast.stmt]:
        """The statement, with a call before it that shows its line and a call after it that shows what it assigned."""
        if isinstance(node, (ir.Return, ir.While)):
            return [self._begins(node), *made] if isinstance(node, ir.Return) else made
        # A loop shows its variable in each iteration.
        assigned = () if isinstance(node, (ir.For, ir.Declare)) else ir.definitions(node)
        shows = [s for variable in assigned for s in self._shows(variable)]
        return [self._begins(node), *made, *shows]

    def _begins(self, node: ir.Stmt) -> ast.stmt:
        made = ast.Expr(quote("_at(_t, S)", S=self.site(node.span)))
        place_at(made, node.span)
        return made

    def _shows(self, variable: ir.Variable) -> list[ast.stmt]:
        if variable.temporary or isinstance(variable.type, Array):
            return []
        value = name_of(self.local(variable.name))
        return [ast.Expr(self._shown(value, variable.type, variable.name, variable.span))]

    def _shown(self, value: ast.expr, kind: Type, text: str, span: Span) -> ast.expr:
        return quote("_show(_t, S, X)", S=self.site(span, text=text, value=kind), X=value)

    def _condition(self, node: ir.If | ir.While) -> ast.expr:
        condition = self.expr(node.condition)
        if not self.trace:
            return condition
        shown = self._shown(condition, BOOL, "", node.span)
        return quote("_at(_t, S) or X", S=self.site(node.span), X=shown)


_HANDLERS = ir.handlers(FunctionTranslator, ir.Stmt)
