"""Kernels that people wrote, each as a separate module with one launch: the starting points of random changes.

``python -m tools.fuzz.real FILE TESTS...`` runs tests on the reference accelerator and writes the kernels that they
launch, with their arguments; ``tests/fuzz/real_kernels.json`` is such a file.
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np

import vkamp as amp
from tools.fuzz.tree import Container, Program
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.structs import struct_fields
from vkamp.lang.vectors import vector_class

__all__ = ["FILE", "real_programs"]

FILE = Path(__file__).resolve().parents[2] / "tests" / "fuzz" / "real_kernels.json"
#: Launches of more threads or bytes take too long.
_MAX_THREADS, _MAX_BYTES = 128, 6144
_HEAD = "import math\n\nimport numpy as np\n\nimport vkamp as amp\n\n"


def real_programs(file: Path = FILE) -> list[Program]:
    """The kernels of a file."""
    programs = []
    for number, row in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        containers = [Container(**c) for c in row["containers"]]
        scalars = {name: (value, word) for name, (value, word) in row["scalars"].items()}
        tile = None if row["tile"] is None else tuple(row["tile"])
        for each in containers:
            each.shape = tuple(each.shape)
        programs.append(
            Program(number, True, tuple(row["extent"]), tile, [], row["params"], containers, scalars, row["constants"],
                    [], row["long"], _HEAD + row["text"])
        )  # fmt: skip
    return programs


# -- a kernel's text -----------------------------------------------------------------------------------------------


class _SkippedError(Exception):
    """The kernel cannot be written down alone."""


class _Module:
    """The text of a module that has a kernel and all that it names."""

    def __init__(self, kernel: Any) -> None:
        self.parts: list[str] = []
        self.known: set[str] = set()
        #: Captured containers, which become arguments.
        self.captured: dict[str, Any] = {}
        function = kernel.function if isinstance(kernel, KernelFunction) else kernel
        node = self._definition(function)
        node.decorator_list = [ast.parse("amp.kernel(precise=True)", mode="eval").body]
        node.name = "k"
        self.node = node
        self._names(node, function)
        self.params = [a.arg for a in node.args.args]
        node.args.args += [ast.arg(n) for n in self.captured]
        self.params += list(self.captured)

    def text(self) -> str:
        """The module without its head."""
        return "\n\n".join([*self.parts, ast.unparse(ast.fix_missing_locations(self.node))]) + "\n"

    @staticmethod
    def _definition(function: Any) -> ast.FunctionDef:
        try:
            source = textwrap.dedent(inspect.getsource(function))
            node = ast.parse(source).body[0]
        except (OSError, SyntaxError, TypeError, IndexError) as error:
            raise _SkippedError("no source") from error
        if not isinstance(node, ast.FunctionDef) or node.args.vararg or node.args.defaults:
            raise _SkippedError("no plain function")
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant) and len(node.body) > 1:
            del node.body[0]
        return node

    def _names(self, node: ast.AST, function: Any) -> None:
        local = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
        local |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)}
        closure = inspect.getclosurevars(function)
        values = {**closure.globals, **closure.nonlocals}
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id not in local and each.id in values:
                self._name(each.id, values[each.id], is_kernel=node is self.__dict__.get("node"))

    def _name(self, name: str, value: Any, is_kernel: bool) -> None:
        if name in ("amp", "np", "math") and isinstance(value, types.ModuleType):
            return
        if name in self.known:
            return
        self.known.add(name)
        if isinstance(value, (amp.array, amp.array_view)):
            if not is_kernel:
                raise _SkippedError("a container that a function captures")
            self.captured[name] = value
        elif type(value) in (bool, int, float):
            self.parts.append(f"{name} = {value!r}" if np.isfinite(value) else f"{name} = float('{value}')")
        elif isinstance(value, DeviceFunction):
            self._function(name, value)
        elif isinstance(value, type) and struct_fields(value) is not None:
            self._struct(name, value)
        elif isinstance(value, type) and issubclass(value, np.generic):
            self.parts.append(f"{name} = np.{value.__name__}")
        elif isinstance(value, type) and hasattr(amp, value.__name__):
            self.parts.append(f"{name} = amp.{value.__name__}")
        elif isinstance(value, np.dtype):
            self.parts.append(f"{name} = {dtype_text(value, {})}")
        elif value in _known_values():
            self.parts.append(f"{name} = {_known_values()[value]}")
        else:
            raise _SkippedError(f"{name}: {type(value).__name__}")

    def _function(self, name: str, value: Any) -> None:
        if value.overloads:
            raise _SkippedError("overloads")
        node = self._definition(value.function)
        node.decorator_list = [ast.parse("amp.func", mode="eval").body]
        node.name = name
        self._names(node, value.function)
        self.parts.append(ast.unparse(ast.fix_missing_locations(node)))

    def _struct(self, name: str, value: type) -> None:
        try:
            node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
        except (OSError, SyntaxError, TypeError) as error:
            raise _SkippedError("no source") from error
        assert isinstance(node, ast.ClassDef)
        if any(not isinstance(s, ast.AnnAssign) for s in node.body):
            raise _SkippedError("methods")
        node.name = name
        for statement in node.body:
            for each in ast.walk(statement):
                if isinstance(each, ast.Name) and each.id not in ("amp", "np", "int", "float"):
                    module = vars(sys.modules[value.__module__])
                    if each.id in module:
                        self._name(each.id, module[each.id], False)
        self.parts.append(ast.unparse(ast.fix_missing_locations(node)))


def _known_values() -> dict[Any, str]:
    """Functions of the language that are imported by name."""
    return {getattr(amp, n): f"amp.{n}" for n in ("tdiv", "trem", "private", "tile_static", "static_range", "uniform")}


def dtype_text(dtype: Any, structs: dict[Any, str]) -> str:
    """A dtype as a module names it."""
    if dtype in structs:
        return structs[dtype]
    vector = vector_class(dtype)
    if vector is not None:
        return f"amp.{vector.__name__}"
    if dtype.subdtype is not None:
        return f"({dtype_text(dtype.subdtype[0], structs)}, {dtype.subdtype[1]})"
    if dtype.names:
        if dtype.type is not np.void:
            raise _SkippedError("a struct of another module")
        fields = [f"({n!r}, {dtype_text(dtype[n], structs).removeprefix('(').removesuffix(')')})" for n in dtype.names]
        text = f"np.dtype([{', '.join(fields)}])"
        if eval(text, {"np": np, "amp": amp}) != dtype:
            raise _SkippedError("a layout of its own")
        return text
    return f"np.{dtype.name}"


# -- recording -----------------------------------------------------------------------------------------------------


def _structs(kernel: Any) -> dict[Any, tuple[str, type]]:
    function = kernel.function if isinstance(kernel, KernelFunction) else kernel
    return {v.dtype: (n, v) for n, v in function.__globals__.items() if struct_fields(v) is not None}


def record(domain: Any, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> dict[str, Any]:
    """A launch as a row of the file; raises where it cannot be one."""
    if int(np.prod(domain.shape)) > _MAX_THREADS or (domain.tile and int(np.prod(domain.tile)) > 64):
        raise _SkippedError("too many threads")
    made = _Module(kernel)
    names = [a for a in made.params[1:] if a not in made.captured]
    given = dict(zip(names, args, strict=True)) | made.captured
    structs = {}
    given_dtypes = {getattr(value, "dtype", None) for value in given.values()}
    for dtype, (name, struct) in _structs(kernel).items():
        if dtype in given_dtypes:
            # Elements may have a type that the kernel itself does not name.
            made._name(name, struct, False)
        if name in made.known:
            structs[dtype] = name
    containers: list[dict[str, Any]] = []
    scalars: dict[str, Any] = {}
    size = 0
    for name, value in given.items():
        if isinstance(value, (amp.array, amp.array_view)):
            flat = np.ascontiguousarray(np.asarray(value))
            size += flat.nbytes
            shape = list(value.extent)
            containers.append({
                "name": name, "dtype": dtype_text(value.dtype, structs), "shape": shape,
                "contents": f"data {base64.b64encode(flat.tobytes()).decode()}",
                "written": not getattr(value, "readonly", False), "as_array": isinstance(value, amp.array),
            })  # fmt: skip
        elif isinstance(value, (bool, int, float)):
            scalars[name] = (value, type(value).__name__)
        elif isinstance(value, np.generic) and value.dtype.kind in "iufb":
            scalars[name] = (value.item(), f"np.{value.dtype.name}" if value.dtype.kind != "b" else "bool")
        else:
            raise _SkippedError(f"an argument: {type(value).__name__}")
    if size > _MAX_BYTES or not all(isinstance(v, (bool, int, float)) for v in constants.values()):
        raise _SkippedError("too much data")
    order = [made.params[0], *(c["name"] for c in containers)]
    node = made.node
    node.args.args = [ast.arg(n) for n in (*order, *scalars)]
    text = made.text()
    return {"text": text, "extent": list(domain.shape), "tile": None if domain.tile is None else list(domain.tile),
            "params": order, "containers": containers, "scalars": scalars, "constants": constants,
            "long": any(word in text or any(word in c["dtype"] for c in containers)
                        for word in ("int64", "float64", "double"))}  # fmt: skip


def main(file: Path, tests: list[str]) -> None:
    """Runs tests, and writes the kernels that they launch."""
    import pytest

    from vkamp.dispatch import launch as launches

    rows: dict[str, dict[str, Any]] = {}
    skipped: dict[str, int] = {}
    plain = launches.prepare  # type: ignore[attr-defined]

    def prepare(view: Any, domain: Any, kernel: Any, args: Any, constants: Any, *, size: Any = None) -> Any:
        try:
            row = record(domain, kernel, tuple(args), dict(constants))
            rows.setdefault(row["text"], row)
        except _SkippedError as error:
            skipped[str(error)] = skipped.get(str(error), 0) + 1
        except Exception as error:
            skipped[repr(error)[:80]] = skipped.get(repr(error)[:80], 0) + 1
        return plain(view, domain, kernel, args, constants, size=size)

    launches.prepare = prepare  # type: ignore[attr-defined]
    pytest.main(["-q", "-p", "no:cacheprovider", "--vkamp-accelerators", "reference", "-x", "--maxfail=1000", *tests])
    text = json.dumps(list(rows.values()), indent=0, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
    print(f"{len(rows)} kernels; skipped: {skipped}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
