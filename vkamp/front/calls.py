"""Lowering of calls: casts, the builtin table, atomics, fences, index objects."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from vkamp.errors import CompileError
from vkamp.front import advice, complexes, convert, dtypes, printing, references, scalars, vectors, views
from vkamp.front.arity import check_arity, no_keywords, wrong_count
from vkamp.front.atomics import ORDERED, atomic, ordered_atomic
from vkamp.front.context import Context, handles
from vkamp.front.counters import Counter
from vkamp.front.expressions import binary
from vkamp.front.functions import call_closure, call_function
from vkamp.front.index_objects import thread_index
from vkamp.front.known_operators import combine
from vkamp.front.matrices import NAMES as MATRIX_FUNCTIONS
from vkamp.front.matrices import call_matrix
from vkamp.front.names import marked_name
from vkamp.front.numpy_functions import NUMPY_FUNCTIONS
from vkamp.front.objects import call_object, construct, length_of, magnitude
from vkamp.front.operators import is_plain
from vkamp.front.python_math import MATH
from vkamp.front.python_operators import OPERATORS
from vkamp.front.reductions import REDUCTIONS, extreme, extreme_constant
from vkamp.front.sequences import is_range, sequence_of, spread
from vkamp.front.subgroups import call_clustered, call_subgroup
from vkamp.front.table import apply_row, apply_to_components
from vkamp.front.target import call_has
from vkamp.front.type_of import is_instance, type_of
from vkamp.front.value_classes import construct_value, is_value_class, replaced
from vkamp.front.values import (
    BarrierRef,
    BoundFunction,
    Closure,
    Constant,
    Element,
    FieldMethod,
    Functor,
    Memory,
    NoValue,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
)
from vkamp.front.words import NAMES as WORD_FUNCTIONS
from vkamp.front.words import call_words
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.builtins import ATOMICS, BUILTINS, TUPLES
from vkamp.ir.fences import FENCES
from vkamp.ir.rows import BuiltinRow, TupleRow
from vkamp.ir.types import BOOL, FLOAT32, FLOAT64, INT32, UINT32, Scalar, Vector, int_range, promoted
from vkamp.lang.device import MathFunction, MathTuple
from vkamp.lang.index_space import extent, index
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.structs import struct_fields
from vkamp.lang.subgroups import SubgroupFunction
from vkamp.lang.target import TargetFeature
from vkamp.lang.vectors import ShortVector
from vkamp.lang.views import array_view

#: What numpy calls a row, where it is another name than the row's.
_NUMPY_NAMES = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2",
    **{f"precise_{name}": name for name in ("cbrt", "copysign", "expm1", "hypot", "log1p", "nextafter")},
    **{f"precise_a{name}": f"arc{name}" for name in ("cosh", "sinh", "tanh")},
    "trunc": "fix", "precise_nearbyint": "rint",
}  # fmt: skip


def _python_functions() -> dict[int, BuiltinRow]:
    """The rows that Python's own functions correspond to, by identity: builtins, math, and equivalent functions of
    numpy.
    """
    table: dict[int, BuiltinRow] = {}
    for row in BUILTINS.values():
        for spelling in row.python:
            group, _, member = spelling.rpartition(".")
            owner: Any = {"": builtins, "math": math}.get(group)
            # Python 3.10 lacks some of math's functions.
            if owner is not None and hasattr(owner, member):
                table[id(getattr(owner, member))] = row
        # numpy rounds halves to even and lets NaN win: only what means the same.
        if not row.numpy_differs:
            for name in (row.name, _NUMPY_NAMES.get(row.name, row.name)):
                if hasattr(np, name):
                    table[id(getattr(np, name))] = row
    table[id(operator.abs)] = table[id(abs)]
    return table


_PYTHON_FUNCTIONS = _python_functions()

#: ``modf`` and ``frexp`` of ``math`` and of numpy, by identity.
_PYTHON_TUPLES = {
    id(getattr(owner, spelling.removeprefix("math."))): row
    for row in TUPLES.values()
    for spelling in row.python
    if spelling.startswith("math.")
    for owner in (math, np)
}


@handles(ast.Call)
def _call(ctx: Context, node: ast.Call) -> Value:
    callee = ctx.expr(node.func)
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        node = ast.copy_location(ast.Call(node.func, spread(ctx, node.args), node.keywords), node)
    if isinstance(callee, FieldMethod):
        return _method(ctx, callee, node)
    if isinstance(callee, Closure):
        return call_closure(ctx, callee, node)
    if isinstance(callee, BoundFunction):
        owner_node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return call_function(ctx, callee.function, node, (callee.owner, owner_node))
    if isinstance(callee, (Functor, Element, TupleValue)):
        result = call_object(ctx, callee, node)
        if result is not None:
            return result
    if not isinstance(callee, Object):
        _no_function(ctx, callee, node)
    target = callee.value
    if isinstance(target, DeviceFunction):
        return combine(ctx, target, node) or call_function(ctx, target, node)
    if is_plain(target):
        return call_function(ctx, target, node)
    if struct_fields(target) is not None:
        return construct(ctx, target, node)
    if is_value_class(target):
        return construct_value(ctx, target, node)
    name = marked_name(callee)
    if name is not None:
        return _language_function(ctx, name, node)
    if target is print:
        return printing.lower_print(ctx, node)
    if target is dataclasses.replace and len(node.args) == 1:
        owner = ctx.expr(node.args[0])
        if isinstance(owner, TupleValue) and owner.names:
            return replaced(ctx, owner, node)
    if target is array_view:
        return views.make_array_view(ctx, ctx.operands(*node.args), node)
    reduction = REDUCTIONS.get(id(target))
    if reduction is not None:
        return reduction(ctx, node)
    if (target is min or target is max) and len(node.args) == 1:
        return extreme(ctx, node)
    of_math = MATH.get(id(target))
    if of_math is not None and not (target is math.hypot and len(node.args) == 2):
        return of_math(ctx, node)
    if isinstance(target, SubgroupFunction) and node.keywords:
        return call_clustered(ctx, target, node)
    of_operator = OPERATORS.get(id(target)) or NUMPY_FUNCTIONS.get(id(target))
    if of_operator is not None:
        return of_operator(ctx, node)
    no_keywords(ctx, node)
    return _call_by_position(ctx, callee, node)


def _call_by_position(ctx: Context, callee: Object, node: ast.Call) -> Value:
    """A call of a function that takes no keyword arguments in kernels."""
    target = callee.value
    own = _PYTHON_CALLS.get(id(target))
    if own is not None:
        return own(ctx, node)
    found = complexes.of_library(ctx, target, node)
    if found is not None:
        return found
    if isinstance(target, MathFunction):
        return _builtin(ctx, target.row, node)
    if isinstance(target, SubgroupFunction):
        check_arity(ctx, node, target.arity, ctx.text(node.func), target.usage)
        return call_subgroup(ctx, target, node)
    if isinstance(target, TargetFeature):
        return call_has(ctx, node)
    several = target.row if isinstance(target, MathTuple) else _PYTHON_TUPLES.get(id(target))
    if several is not None:
        return _tuple_builtin(ctx, several, node)
    row = _PYTHON_FUNCTIONS.get(id(target))
    if row is not None:
        return _power(ctx, row, node) if target is pow else _python_builtin(ctx, target, row, node)
    if isinstance(target, type) and target is not range:
        return _type_call(ctx, target, node)
    _refuse_call(ctx, callee, node)


def _refuse_call(ctx: Context, callee: Object, node: ast.Call) -> NoReturn:
    """Something is called that kernels cannot call."""
    target = callee.value
    if isinstance(target, KernelFunction):
        ctx.fail("VKA219", node, name=target.__name__)
    if target is range:
        ctx.fail("VKA117", node, text=ctx.text(node))
    if not callable(target) or isinstance(target, ModuleType):
        _no_function(ctx, callee, node)
    if isinstance(target, FunctionType) and (target.__module__ or "").split(".")[0] == "vkamp":
        ctx.fail("VKA208", node, name=ctx.text(node.func))
    if not isinstance(target, (FunctionType, BuiltinFunctionType)) and not getattr(target, "__name__", ""):
        ctx.host_object(target, node.func)
    _plain_python(ctx, target, "function", node)


def _breakpoint(ctx: Context, node: ast.Call) -> Value:
    check_arity(ctx, node, 0, "breakpoint", "breakpoint()")
    return printing.lower_breakpoint(ctx, node)


def _dtype(ctx: Context, node: ast.Call) -> Value:
    check_arity(ctx, node, 1, ctx.text(node.func), f"{ctx.text(node.func)}(np.float32)")
    return dtypes.make_dtype(ctx, ctx.expr(node.args[0]), node.args[0])


def _has_attribute(ctx: Context, node: ast.Call) -> Value:
    """``hasattr(x, "name")``: whether a kernel can use the attribute; a compile-time constant."""
    check_arity(ctx, node, 2, "hasattr", 'hasattr(x, "name")')
    name = ctx.expr(node.args[1])
    text = name.value if isinstance(name, Object) else None
    if not isinstance(text, str):
        ctx.fail("VKA101", node, what="`hasattr` of a computed name", advice='write the name: `hasattr(x, "extent")`')
    ctx.expr(node.args[0])
    try:
        with ctx.nested():
            ctx.expr(ast.copy_location(ast.Attribute(node.args[0], text, ast.Load()), node))
    except CompileError:
        return Constant(False)
    return Constant(True)


def _power(ctx: Context, row: BuiltinRow, node: ast.Call) -> Value:
    if len(node.args) == 3:
        help_text = "write a loop that takes the remainder after each product, in a type that holds the product"
        ctx.fail("VKA101", node, what="`pow` with a modulus", advice=help_text)
    if len(node.args) != 2:
        return _python_builtin(ctx, pow, row, node)
    base, exponent = ctx.operands(*node.args)
    return binary(ctx, ast.Pow(), base, exponent, node, *node.args)


def _length(ctx: Context, node: ast.Call) -> Value:
    """``len``: the first dimension of a container or array, the number of items of an index, an extent or a tuple."""
    check_arity(ctx, node, 1, "len", "len(x)")
    if is_range(ctx, node.args[0]):
        length = sequence_of(ctx, node.args[0]).length
        return Constant(int(length.value)) if isinstance(length, ir.Const) else Number(length)
    value = ctx.expr(node.args[0])
    if isinstance(value, ThreadRef):
        value = thread_index(ctx, "global", ctx.span(node))
    own = length_of(ctx, (value, node.args[0]), node)
    if own is not None:
        return own
    if isinstance(value, Memory) and value.rank:
        return views.extent_value(value, ctx.span(node)).items[0]
    if isinstance(value, TupleValue) and value.has_items:
        return Constant(len(value.items))
    vector = ctx.vector_of(value)
    if vector is not None:
        return Constant(vector.count)
    if isinstance(value, Object) and isinstance(value.value, (list, dict, set, np.ndarray)):
        ctx.host_object(value.value, node.args[0])
    ctx.fail("VKA231", node.args[0], text=ctx.text(node.args[0]), what=ctx.describe(value))


def _divmod(ctx: Context, node: ast.Call) -> Value:
    """``divmod(x, y)``: ``(x // y, x % y)``."""
    check_arity(ctx, node, 2, "divmod", "divmod(x, y)")
    left, right = (
        _stable_number(ctx, value, part) for value, part in zip(ctx.operands(*node.args), node.args, strict=True)
    )
    first, second = node.args
    parts = (binary(ctx, op, left, right, node, first, second) for op in (ast.FloorDiv(), ast.Mod()))
    return TupleValue(tuple(parts))


def _stable_number(ctx: Context, value: Value, node: ast.expr) -> Value:
    """Evaluates a number once, so that it can be used several times."""
    number = convert.number(ctx, value, node)
    return number if isinstance(number, Constant) else Number(ctx.stable(number.expr), number.weak, number.double)


def _ord(ctx: Context, node: ast.Call) -> Value:
    """``ord("a")`` of a literal."""
    check_arity(ctx, node, 1, "ord", 'ord("a")')
    value = ctx.expr(node.args[0])
    text = value.value if isinstance(value, Object) else None
    if not isinstance(text, str) or len(text) != 1:
        ctx.fail("VKA232", node.args[0], text=ctx.text(node.args[0]))
    return Constant(ord(text))


#: What kernels can call of Python's own functions, except for those of tables.
_PYTHON_CALLS: dict[int, Callable[[Context, ast.Call], Value]] = {
    id(breakpoint): _breakpoint,
    id(len): _length,
    id(divmod): _divmod,
    id(np.divmod): _divmod,
    id(ord): _ord,
    id(np.dtype): _dtype,
    id(type): type_of,
    id(isinstance): is_instance,
    id(hasattr): _has_attribute,
}


def _plain_python(ctx: Context, target: Any, kind: str, node: ast.Call) -> NoReturn:
    first = ctx.text(node.args[0]) if node.args else ""
    ctx.fail("VKA203", node, name=ctx.text(node.func), kind=kind, advice=advice.plain_call(target, first))


def _no_function(ctx: Context, value: Value, node: ast.Call) -> NoReturn:
    """Something is called that is not a function."""
    text = ctx.text(node.func)
    arguments = ", ".join(map(ctx.text, node.args))
    help_text = "call a function"
    if isinstance(value, (Memory, TupleValue, ThreadRef)):
        help_text = f"subscripts are written with [ ]: `{text}[{arguments}]`"
    elif isinstance(value, (Number, Constant, Element)):
        help_text = f"a product is written with *: `{text} * ({arguments})`" if node.args else f"write `{text}`"
    elif isinstance(value, Object) and isinstance(value.value, ModuleType):
        help_text = f"call one of its functions: `{text}.name({arguments})`"
    elif isinstance(value, BarrierRef):
        help_text = f"wait at it: `{text}.wait()`"
    elif isinstance(value, Object) and isinstance(value.value, np.dtype) and value.value.names is not None:
        help_text = (
            "change the fields of a copy, `new = old.copy()`, or declare the struct with @amp.struct and call its name"
        )
    elif isinstance(value, Object) and isinstance(value.value, np.dtype):
        help_text = f"write `{arguments or 'x'}.astype({text})`, or pass a type, which converts"
    ctx.fail("VKA210", node.func, text=text, what=ctx.describe(value), advice=help_text)


# -- casts ---------------------------------------------------------------------------------------------------------


def _type_call(ctx: Context, target: type, node: ast.Call) -> Value:
    if target is index or target is extent:
        return _index_object(ctx, target, node)
    vector = vectors.type_of_class(target)
    if vector is not None:
        return vectors.construct(ctx, vector, node)
    kind = dtypes.type_of_class(target)
    if kind is None:
        _no_cast(ctx, target, node)
    check_arity(ctx, node, 1, ctx.text(node.func), f"{ctx.text(node.func)}(x)")
    (value,) = ctx.operands(*node.args)
    if isinstance(value, Object) and isinstance(value.value, str):
        value = _read_number(ctx, value.value, kind, node)
    return _cast(ctx, target, kind, value, node, node.args[0])


def _read_number(ctx: Context, text: str, kind: Scalar, node: ast.Call) -> Constant:
    """The number that a string is converted to, as in ``float("inf")``."""
    if kind == BOOL:
        ctx.fail("VKA101", node.args[0], what="strings", advice="write `True` or `False`")
    try:
        return Constant(int(text) if kind.is_integer else float(text))
    except ValueError:
        name, shown = ctx.text(node.func), ctx.text(node.args[0])
    what = f"`{name}({shown})`: the string is not a {'whole number' if kind.is_integer else 'number'}"
    example = 12 if kind.is_integer else 1.5
    ctx.fail("VKA101", node.args[0], what=what, advice=f"write the number itself, such as `{example}`")


def _cast(ctx: Context, target: Any, kind: Scalar, value: Value, node: ast.Call, part: ast.expr) -> Value:
    """``target(value)``, a conversion as C does it."""
    found = convert.number(ctx, value, part)
    span = ctx.span(node)
    weak = target in (int, float)
    if isinstance(found, Counter) and weak:
        return (
            Counter(found.terms, found.offset, weak_float=True) if target is float else found.within(*int_range(INT32))
        )
    if isinstance(found, Constant):
        if weak:
            try:
                return Constant(target(found.value))
            except (OverflowError, ValueError):
                convert.misfit(ctx, ctx.span(node), found.value, kind, "use a finite number in that range")
        if kind == BOOL:
            return Constant(bool(found.value))
        if kind.is_integer and convert.scalar_type(found) == FLOAT32 and math.isfinite(found.value):
            found = Constant(int(found.value))
        return Number(convert.cast(convert.literal(ctx, found, kind, node), promoted(kind), span))
    if kind == BOOL:
        return Number(convert.truth(found.expr, span))
    # A small integer is one in memory only: as a value it is an int32 in its range.
    return Number(convert.cast(convert.convert(ctx, found, kind, node), promoted(kind), span))


def _no_cast(ctx: Context, target: type, node: ast.Call) -> NoReturn:
    """Raises the error for a class that is not a type of the language."""
    text = ctx.text(node.func)
    if issubclass(target, ShortVector):
        raise advice.refused_dtype(np.dtype(target.value_type), ctx.span(node.func), text)
    if target in dtypes.NUMPY_TYPES:
        raise advice.refused_dtype(np.dtype(target), ctx.span(node.func), text)
    if issubclass(target, np.generic):
        ctx.fail("VKA110", node.func, text=text)
    if (target.__module__ or "").split(".")[0] == "vkamp":
        ctx.fail("VKA208", node, name=text)
    _plain_python(ctx, target, "class", node)


def _index_object(ctx: Context, target: type, node: ast.Call) -> Value:
    kind = "index" if target is index else "extent"
    values = ctx.operands(*node.args)
    if len(values) == 1 and isinstance(values[0], ThreadRef):
        values = [thread_index(ctx, "global", ctx.span(node))]
    if len(values) == 1 and isinstance(values[0], TupleValue):
        values = list(values[0].items)
    if not values:
        wrong_count(ctx, node, ctx.text(node.func), "one or more", f"{ctx.text(node.func)}(i, j)")
    items: list[Value] = []
    for k, value in enumerate(values):
        part = node.args[k] if len(values) == len(node.args) else node
        expr = convert.index_expr(ctx, value, part)
        items.append(Number(convert.cast(expr, INT32, ctx.span(part))))
    return TupleValue(tuple(items), kind)


# -- the builtin table ---------------------------------------------------------------------------------------------


def _python_builtin(ctx: Context, target: Any, row: BuiltinRow, node: ast.Call) -> Value:
    """Python's own function, which gives a constant for constants; ``min`` and ``max`` take two or more."""
    values = ctx.operands(*node.args)
    if target not in (min, max):
        _row_arity(ctx, row, node)
    if target is abs:
        of_class = magnitude(ctx, (values[0], node.args[0]), node)
        if of_class is not None:
            return of_class
    vector = next((k for k, v in enumerate(values) if type(ctx.vector_of(v)) is Vector), None)
    if vector is not None and not row.of_vectors:
        _no_vector(ctx, row, values[vector], node.args[vector], node)
    constants = [v for v in values if isinstance(v, Constant)]
    if constants and len(constants) == len(values):
        try:
            result = _folded(target, row, [v.value for v in constants])
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            ctx.fail("VKA327", node, text=ctx.text(node))
        if isinstance(result, (bool, int, float, np.bool_, np.floating)):
            return Constant(result.item() if isinstance(result, np.generic) else result)
    if target in (min, max) and len(values) > 2:
        result_value = values[0]
        for k in range(1, len(values)):
            result_value = apply_row(ctx, row, [result_value, values[k]], [node.args[0], node.args[k]], node)
        return result_value
    return _checked(ctx, row, values, node)


def _no_vector(ctx: Context, row: BuiltinRow, vector: Value, part: ast.expr, node: ast.Call) -> NoReturn:
    """Python's and numpy's functions take numbers; vkamp's own compute each component of a vector."""
    kind = ctx.vector_of(vector)
    assert kind is not None
    name = next((name for name in row.python if name.startswith(("fast_math.", "precise_math."))), None)
    if name is None:
        letter = {"int": "i", "uint": "u"}.get(kind.element.kind, "")
        integer = "direct3d.abs" if row.name == "abs" else f"direct3d.{letter}{row.name}"
        name = integer if letter else f"fast_math.f{row.name}"
    call = f"{advice.language_alias(ctx)}.{name}({', '.join(map(ctx.text, node.args))})"
    help_text = f"`{call}` computes each component"
    ctx.fail("VKA311", part, text=ctx.text(part), what=ctx.describe(vector), advice=help_text)


def _folded(target: Any, row: BuiltinRow, values: list[Any]) -> Any:
    """What Python's function gives for constants, where it does not differ from the row, and in the row's type."""
    if target is round:
        return float(row.reference(*values))
    if target in (min, max):
        return extreme_constant(row.name, values)
    result = target(*values)
    # `math.floor` and others give an int for a constant, and a float for a variable.
    return float(result) if row.result == "F" and isinstance(result, int) else result


def _builtin(ctx: Context, row: BuiltinRow, node: ast.Call) -> Value:
    values = ctx.operands(*node.args)
    _row_arity(ctx, row, node)
    found = apply_to_components(ctx, row, values, node)
    return _checked(ctx, row, values, node) if found is None else found


def _tuple_builtin(ctx: Context, row: TupleRow, node: ast.Call) -> Value:
    """Each result by its own row, of arguments that are evaluated once."""
    parts = [BUILTINS[name] for name in row.parts]
    check_arity(ctx, node, len(parts[0].params), ctx.text(node.func))
    values: list[Value] = []
    for value, part, letter in zip(ctx.operands(*node.args), node.args, parts[0].params, strict=True):
        number = convert.number(ctx, value, part)
        if isinstance(number, Number):
            expr = convert.convert(ctx, number, _float_kind(number), part) if letter == "F" else number.expr
            number = Number(ctx.stable(expr, "argument"), number.weak and letter != "F")
        values.append(number)
    return TupleValue(tuple(apply_row(ctx, part, values, node.args, node, row.name) for part in parts))


def _float_kind(number: Number) -> Scalar:
    """The float type in which functions take a number."""
    return FLOAT64 if convert.scalar_type(number) == FLOAT64 else FLOAT32


def _checked(ctx: Context, row: BuiltinRow, values: list[Value], node: ast.Call) -> Value:
    _row_arity(ctx, row, node)
    found = complexes.function(ctx, row, values, node)
    if found is not None:
        return found
    if row.name == "abs" and isinstance(values[0], (Number, Element)):
        operand = convert.number(ctx, values[0], node.args[0])
        if convert.scalar_type(operand).kind == "uint":
            return operand
    return apply_row(ctx, row, values, node.args, node)


def _row_arity(ctx: Context, row: BuiltinRow, node: ast.Call) -> None:
    usage = f"{ctx.text(node.func)}({', '.join('xyz'[: len(row.params)])})"
    if len(node.args) == 2 and len(row.params) == 1:
        usage = advice.with_second_argument(ctx.text(node.func), row.name, *map(ctx.text, node.args)) or usage
    check_arity(ctx, node, len(row.params), ctx.text(node.func), usage)


# -- functions of the language -------------------------------------------------------------------------------------


def _language_function(ctx: Context, name: str, node: ast.Call) -> Value:
    if name in ("tile_static", "private"):
        ctx.fail("VKA401", node, name=name)
    if name == "static_range":
        ctx.fail("VKA117", node, text=ctx.text(node))
    if name in ORDERED:
        return ordered_atomic(ctx, name, node)
    if name in MATRIX_FUNCTIONS:
        return call_matrix(ctx, name, node)
    no_keywords(ctx, node)
    if name in WORD_FUNCTIONS:
        return call_words(ctx, name, node)
    if name in FENCES:
        return _fence_function(ctx, name, node)
    if name in ATOMICS:
        return atomic(ctx, name, node)
    if name == "uniform":
        return _uniform(ctx, node)
    if name not in ("tdiv", "trem"):
        text = ctx.text(node.func)
        ctx.fail("VKA101", node, what=f"`{text}()` in an expression", advice=f"write a statement, `with {text}():`")
    check_arity(ctx, node, 2, ctx.text(node.func), f"{ctx.text(node.func)}(a, b)")
    return _c_division(ctx, name, node)


def _c_division(ctx: Context, name: Any, node: ast.Call) -> Value:
    left, right = (convert.number(ctx, v, n) for v, n in zip(ctx.operands(*node.args), node.args, strict=True))
    x, y, kind, _ = convert.arithmetic(ctx, left, right, node.args[0], node.args[1])
    if not kind.is_integer:
        example = f"amp.int32({ctx.text(node.args[0])})"
        ctx.fail("VKA315", node, name=name, accepts="integers", given=kind, advice=example)
    if isinstance(y, ir.Const) and y.value == 0:
        ctx.fail("VKA310", node.args[1])
    return Number(operation(ctx.span(node), kind, name, x, y))


def _uniform(ctx: Context, node: ast.Call) -> Value:
    """``amp.uniform``; a value that is known at compile time needs no assertion."""
    check_arity(ctx, node, 1, ctx.text(node.func), f"{ctx.text(node.func)}(x)")
    if ctx.module.tile is None:
        ctx.fail("VKA607", node)
    (value,) = ctx.operands(*node.args)
    number = convert.number(ctx, value, node.args[0])
    if isinstance(number, Constant):
        return number
    kind, span = convert.scalar_type(number), ctx.span(node)
    place = ctx.new_local("uniform_value", kind, span)
    ctx.emit(ir.UniformAssert(span, place.variable, number.expr))
    return Number(ir.Load(span, kind, place), number.weak)


def _fence_function(ctx: Context, name: str, node: ast.Call) -> Value:
    values = ctx.operands(*node.args)
    if len(values) != 1 or not isinstance(values[0], BarrierRef):
        ctx.fail("VKA221", node, name=name)
    ctx.emit(ir.Barrier(ctx.span(node), FENCES[name]))
    return NoValue()


def _method(ctx: Context, method: FieldMethod, node: ast.Call) -> Value:
    if method.name == "_replace" and isinstance(method.owner, TupleValue):
        check_arity(ctx, ast.copy_location(ast.Call(node.func, node.args, []), node), 0, "_replace", "p._replace(x=1)")
        return replaced(ctx, method.owner, node)
    no_keywords(ctx, node)
    if isinstance(method.owner, BarrierRef):
        check_arity(ctx, node, 0, method.name, f"{ctx.text(node.func)}()")
        ctx.emit(ir.Barrier(ctx.span(node), FENCES[method.name]))
        return NoValue()
    if method.name in scalars.METHODS and scalars.is_scalar(method.owner):
        return _scalar_method(ctx, method, node)
    if isinstance(method.owner, (Element, Number)):
        check_arity(ctx, node, 0, method.name, f"{ctx.text(node.func)}()")
        if method.name in ("conj", "conjugate"):
            return complexes.conjugate(ctx, method.owner, node)
        if method.name == "copy" and isinstance(method.owner, Element):
            return references.copy_of(ctx, method.owner, node)
        return replace(method.owner, objects=None) if isinstance(method.owner, Number) else method.owner
    if isinstance(method.owner, Memory):
        return _view_method(ctx, method.owner, method.name, node)
    assert isinstance(method.owner, TupleValue)
    items = method.owner.items
    span = ctx.span(node)
    if method.name == "size":
        check_arity(ctx, node, 0, "size", f"{ctx.text(node.func)}()")
        total: ir.Expr | None = None
        for item in items:
            part = convert.cast(_int32(ctx, item, node), UINT32, span)
            total = part if total is None else ir.Binary(span, UINT32, "mul", total, part)
        assert total is not None
        return Number(total)
    check_arity(ctx, node, 1, "contains", f"{ctx.text(node.func)}({ctx.module.index_name})")
    (point,) = ctx.operands(*node.args)
    if isinstance(point, ThreadRef):
        point = thread_index(ctx, "global", span)
    if not isinstance(point, TupleValue):
        point = TupleValue((point,))
    if len(point.items) != len(items):
        ctx.fail("VKA309", node, left=ctx.describe(method.owner), right=ctx.describe(point))
    return Number(_contains(ctx, items, point.items, node))


def _scalar_method(ctx: Context, method: FieldMethod, node: ast.Call) -> Value:
    """``x.view(dtype)``, ``x.astype(dtype)``, ``n.bit_count()``, ``x.copy()``: numpy's methods of scalars."""
    argument = "" if method.name in ("bit_count", "copy") else "amp.uint32"
    check_arity(ctx, node, 1 if argument else 0, method.name, f"{ctx.text(node.func)}({argument})")
    assert isinstance(node.func, ast.Attribute)
    before = len(ctx.block)
    values = ctx.operands(*node.args)
    owner = ctx.kept(method.owner, before)
    if method.name == "bit_count":
        return scalars.bit_count(ctx, owner, node, node.func.value)
    if method.name == "copy":
        return Number(convert.natural(ctx, convert.number(ctx, owner, node.func.value), node.func.value))
    kind = dtypes.scalar_dtype(values[0])
    if kind is None:
        dtypes.value_type(ctx, values[0], node.args[0])
        ctx.fail("VKA110", node.args[0], text=ctx.text(node.args[0]))
    if method.name == "view":
        return scalars.view(ctx, owner, kind, node, node.func.value)
    target = values[0].value if isinstance(values[0], Object) else None
    return _cast(ctx, target, kind, owner, node, node.func.value)


_VIEW_ARGUMENTS = {"view_as": "amp.extent(...)", "reinterpret_as": "amp.int32"}


def _view_method(ctx: Context, owner: Memory, name: str, node: ast.Call) -> Value:
    """``section``, ``view_as``, ``reinterpret_as``."""
    if name in _VIEW_ARGUMENTS:
        check_arity(ctx, node, 1, name, f"{ctx.text(node.func)}({_VIEW_ARGUMENTS[name]})")
    values = [
        thread_index(ctx, "global", ctx.span(n)) if isinstance(v, ThreadRef) else v
        for v, n in zip(ctx.operands(*node.args), node.args, strict=True)
    ]
    return views.make_view(ctx, owner, name, values, node)


def _int32(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    return convert.convert(ctx, convert.number(ctx, value, node), INT32, node)


def _contains(ctx: Context, sizes: tuple[Value, ...], point: tuple[Value, ...], node: ast.Call) -> ir.Expr:
    """``0 <= p < size`` for every component."""
    span = ctx.span(node)
    result: ir.Expr | None = None
    for size, part in zip(sizes, point, strict=True):
        p = _int32(ctx, part, node.args[0])
        if not isinstance(p, ir.ThreadIndex):
            p = ctx.in_local(p, "component")
        tests = [ir.Compare(span, BOOL, "lt", p, _int32(ctx, size, node))]
        if not isinstance(p, ir.ThreadIndex):
            tests.insert(0, ir.Compare(span, BOOL, "ge", p, ir.Const(span, INT32, 0)))
        for test in tests:
            result = test if result is None else ir.Logical(span, BOOL, "and", result, test)
    assert result is not None
    return result
