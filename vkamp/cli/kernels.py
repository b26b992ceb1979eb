"""Finds kernels: the function for ``MODULE:KERNEL``, and the new place of a kernel that has moved."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from vkamp.edit.active import no_folder
from vkamp.edit.store import OUTSIDE, Record
from vkamp.errors import AmpError
from vkamp.lang.kernel import KernelFunction

_SKIPPED = {"node_modules", "__pycache__", "build", "dist", "site-packages"}


@dataclass(frozen=True)
class KernelPlace:
    """A kernel in a project's source: its module's name, its file (with slashes, from the root), its qualified name."""

    module: str
    file: str
    kernel: str


#: The modules that were loaded from a project's files, with the time and size of each.
_loaded: dict[str, tuple[Path, tuple[int, int]]] = {}


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def forget_changed() -> None:
    """Reloads modules whose file has changed; for a command that keeps running."""
    for name, (path, stamp) in list(_loaded.items()):
        if not path.is_file() or _stamp(path) != stamp:
            del _loaded[name]
            sys.modules.pop(name, None)
    linecache.checkcache()


def project_root(start: Path) -> Path:
    """The nearest enclosing folder with a pyproject.toml, setup.py or .git; ``start`` if there is none."""
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in ("pyproject.toml", "setup.py", "setup.cfg", ".git")):
            return folder
    return start


def load_module(name: str, root: Path, file: str = "") -> ModuleType:
    """Imports a module of a project by its file, or else by its name. AmpError with the reason if that fails.

    A script that launches when it is imported runs without edited shaders. What it prints goes to standard error,
    because standard output belongs to the command.
    """
    known = sys.modules.get(name)
    if known is not None:
        return known
    with no_folder(), contextlib.redirect_stdout(sys.stderr):
        return _load(name, root, file)


def _load(name: str, root: Path, file: str) -> ModuleType:
    for folder in (str(root), str((root / file).parent)) if file else (str(root),):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    path = root / file
    if file and not file.startswith(OUTSIDE) and path.is_file():
        _loaded[name] = path, _stamp(path)
        return _load_file(name, path)
    try:
        return importlib.import_module(name)
    except Exception as error:
        # A user's module may raise anything while it is imported.
        raise AmpError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _load_file(name: str, path: Path) -> ModuleType:
    """Loads a file as a module of this name: by an import if that finds the file."""
    with contextlib.suppress(Exception):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None and Path(spec.origin).samefile(path):
            return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AmpError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise AmpError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def find_kernel(text: str, root: Path) -> KernelFunction:
    """The kernel that ``MODULE:KERNEL`` or ``FILE.py:KERNEL`` names. AmpError that lists the kernels if there is
    none."""
    module_name, module, kernel = _module_of(text, root)
    found = _member(module, kernel)
    if not isinstance(found, KernelFunction):
        names = ", ".join(kernels_in(module)) or "none"
        wrong = "does not exist" if found is None else "is not a kernel, which has the decorator @amp.kernel"
        raise AmpError(f"{kernel} of {module_name} {wrong}; the kernels there are: {names}")
    return found


def find_function(text: str, root: Path) -> FunctionType | None:
    """The function that ``MODULE:NAME`` names; None for a kernel, and for anything else. AmpError if there is no such
    module."""
    _, module, name = _module_of(text, root)
    found = _member(module, name)
    return found if isinstance(found, FunctionType) else None


def find_value(text: str, root: Path) -> Any:
    """What ``MODULE:NAME`` names. AmpError if there is none."""
    name_of_module, module, name = _module_of(text, root)
    found = _member(module, name)
    if found is None:
        raise AmpError(f"{name_of_module} has no {name}")
    return found


def _module_of(text: str, root: Path) -> tuple[str, ModuleType, str]:
    """The module of ``MODULE:NAME`` or ``FILE.py:NAME`` as written, the module, and the name."""
    module_name, colon, kernel = text.rpartition(":")
    if not colon or not module_name or not kernel:
        raise AmpError(f"{text!r} names no kernel: write MODULE:KERNEL, or FILE.py:KERNEL")
    if module_name.endswith(".py"):
        path = Path(module_name).absolute()
        if not path.is_file():
            raise AmpError(f"there is no file {module_name}")
        try:
            file = path.relative_to(root).as_posix()
        except ValueError:
            root, file = path.parent, path.name
        module = load_module(".".join(Path(file).with_suffix("").parts), root, file)
    else:
        module = load_module(module_name, root)
    return module_name, module, kernel


def _member(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, type) else getattr(found, part, None)
    return found


def kernels_in(module: ModuleType) -> dict[str, KernelFunction]:
    """The kernels that a module defines, by qualified name."""
    found = {}
    for value in vars(module).values():
        if isinstance(value, KernelFunction) and value.function.__module__ == module.__name__:
            found[value.function.__qualname__] = value
    return found


def kernel_of(record: Record, root: Path) -> KernelFunction | None:
    """The kernel of a shader's record; ``None`` if it no longer exists."""
    path = root / record.file
    if not record.file.startswith(OUTSIDE) and not path.is_file():
        return None
    file = "" if record.file.startswith(OUTSIDE) else record.file
    found = _member(load_module(record.module, root, file), record.kernel)
    return found if isinstance(found, KernelFunction) else None


# -- where kernels are -------------------------------------------------------------------------------------------


def places(root: Path) -> Iterator[KernelPlace]:
    """All functions in a project's Python files that are decorated as kernels."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(folder, name, "pyvenv.cfg").exists()
        )
        for name in sorted(files):
            if name.endswith(".py"):
                yield from _places_in(Path(folder, name), root)


def _places_in(path: Path, root: Path) -> Iterator[KernelPlace]:
    try:
        data = path.read_bytes()
        tree = ast.parse(data) if b"kernel" in data else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return
    file = path.relative_to(root)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(_is_kernel(each) for each in node.decorator_list):
            yield KernelPlace(".".join(file.with_suffix("").parts), file.as_posix(), node.name)


def _is_kernel(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return ast.unparse(decorator).rpartition(".")[2] == "kernel"
