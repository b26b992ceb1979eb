"""Whether a code object was made from a syntax tree."""

from __future__ import annotations
import __future__

import ast
import dis
import sys
from types import CodeType
from typing import Any

#: Instructions whose operands are operators.
_OPERATORS = ("BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP")


def is_made_from(code: CodeType, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether a function or lambda, with the private names that its code has, compiles to the code."""
    if any(name.startswith("@") for name in code.co_names):
        return True  # pytest has rewritten its assertions
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != code.co_name:
        return False
    made = compiled(node, code)
    return essence(made) == essence(code) and _operators(made) == _operators(code)


def compiled(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, code: CodeType) -> CodeType:
    """The code of a function or lambda whose free variables are those of ``code``."""
    # A function around it makes the same names its free variables.
    outer = ast.parse(f"def outer({', '.join(code.co_freevars)}): return 0")
    function = outer.body[0]
    assert isinstance(function, ast.FunctionDef)
    if isinstance(node, ast.Lambda):
        function.body = [ast.copy_location(ast.Return(node), node)]
    else:
        # A function that names itself has its own name as a free variable only if it is in another function.
        function.body = (
            [node] if node.name in code.co_freevars else [ast.Global([node.name], lineno=1, col_offset=0), node]
        )
    # The annotations of functions inside it are constants, or are evaluated.
    flags = code.co_flags & __future__.annotations.compiler_flag
    module = compile(outer, code.co_filename, "exec", flags, dont_inherit=True)
    (inside,) = (each for each in module.co_consts if isinstance(each, CodeType))
    # The lambdas among its defaults and decorators come first.
    *_, made = (each for each in inside.co_consts if isinstance(each, CodeType))
    return made


def essence(code: CodeType) -> tuple[Any, ...]:
    """What two code objects of the same source share, wherever they are."""
    # Python 3.10 keeps the paths of nested functions among the constants.
    known = [c for c in code.co_consts if not (isinstance(c, str) and "<locals>" in c)]
    constants = [essence(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in known]
    # Later versions compile the call of a module's function differently where they see the import.
    instructions = code.co_code if sys.version_info < (3, 11) else b""
    return instructions, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _operators(code: CodeType) -> list[str]:
    """The operators of a function and of the functions inside it, in their order."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = [each.argrepr for each in dis.get_instructions(code) if each.opname in _OPERATORS]
    return own + [operator for each in inside for operator in _operators(each)]
