"""The source of a function is found in its file however it is laid out."""

from __future__ import annotations

import ast
import importlib.util

import pytest

from vkamp.front.source import source_of

LAYOUTS = {
    "text at the margin": '''
        def function(x):
            """Says
        something
            """
            y = x

            return y

        z = 1
        ''',
    "brackets at the margin": """
        def function(
        x, y=(
            1),
        ):
            return [
        x,
            y,
        ]
        z = 1
        """,
    "comments at the margin": """
        def function(x):
            if x:
        # A comment
                x += 1
          # Another one

            return x
        # After it
        z = 1
        """,
    "a continued line": """
        def function(x):
            y = x + \\
        1
            return y
        z = 1
        """,
    "tabs": """
        def function(x):
        \tif x:
        \t\tx += 1
        \treturn x
        z = 1
        """,
    "a decorator of several lines": """
        def same(*_):
            return lambda f: f
        @same(
            "def function(x):",
        )
        @same()
        def function(x):
            return x
        z = 1
        """,
    "one line": """
        def function(x): return x
        z = 1
        """,
    "the end of the file": """
        def function(x):
            return x""",
    "a nested function": """
        def around():
            z = 1
            def function(x):
                def inner(y):
                    return y + 1
                return inner(x)
            return function
        function = around()
        """,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_function_is_whole(name, tmp_path):
    text = LAYOUTS[name].replace("\n        ", "\n").lstrip("\n")
    path = tmp_path / "layouts.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("layouts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = source_of(module.function)
    nodes = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == "function")
    expected = next(nodes)
    assert ast.dump(found.node) == ast.dump(expected)
    places = [(found.span(n).line, found.span(n).column) for n in ast.walk(found.node) if hasattr(n, "lineno")]
    assert places == [(n.lineno, n.col_offset) for n in ast.walk(expected) if hasattr(n, "lineno")]
