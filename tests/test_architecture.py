"""The layout of the package: who may import whom, and who may reach out of the process."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import vkamp as amp

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "vkamp"

# The package itself as a user sees it, `vkamp`, stands here under the name PUBLIC.
PUBLIC = "vkamp"
MIDDLE = {
    "records",
    "messages",
    "errors",
    "artifacts",
    "cache",
    "prebuilt",
    "ir",
    "findings",
    "edit",
    "front",
    "check",
    "lower",
    "legalize",
    "emit",
    "sim",
    "spirv",
}
CORE = MIDDLE | {"display", "progress", "tracebacks", "lang", "run", "pipeline", "dispatch", "profiling"}
LIBRARIES = {"tile", "algorithms", "blas", "linalg", "fft", "rng", "tuning"}

MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "messages": set(),
    "errors": {"messages"},
    "artifacts": {"errors"},
    "cache": {"errors"},
    "prebuilt": {"errors", "tracebacks", "cache"},
    "ir": {"errors", "artifacts"},
    "display": {"errors"},
    "progress": set(),
    "tracebacks": {"errors"},
    "findings": {"errors", "ir", "display"},
    "edit": {"errors", "artifacts", "spirv"},
    "lang": {"errors", "tracebacks", "ir", "display"},
    "front": {"errors", "tracebacks", "ir", "lang"},
    "check": {"messages", "errors", "ir", "findings", "artifacts"},
    "lower": {"errors", "ir", "artifacts"},
    # What GLSL or a device lacks is rewritten there, IR -> IR; the printer only prints.
    "legalize": {"errors", "ir", "artifacts"},
    "emit": {"errors", "ir", "artifacts"},
    "sim": {"errors", "ir", "findings", "artifacts", "progress"},
    "spirv": {"errors", "artifacts", "cache", "prebuilt", "progress"},
    "run": {"errors", "tracebacks", "artifacts", "cache", "lang", "progress"},
    "profiling": {"errors", "tracebacks", "display", "run"},
    "pipeline": MIDDLE | {"progress"},
    "dispatch": {
        "errors",
        "tracebacks",
        "artifacts",
        "display",
        "findings",
        "lang",
        "pipeline",
        "edit",
        "progress",
        "run",
        "sim",
    },
    PUBLIC: CORE,
    "tile": {PUBLIC},
    # Of dispatch, what repeats calls.
    "algorithms": {PUBLIC, "tile", "tracebacks", "dispatch", "lang"},
    "rng": {PUBLIC, "algorithms", "dispatch", "tracebacks"},
    "fft": {PUBLIC, "algorithms", "tracebacks", "dispatch"},
    "tuning": {PUBLIC, "errors", "tracebacks", "cache", "progress", "lang", "run"},
    "blas": {PUBLIC, "algorithms", "tile", "tuning", "tracebacks", "dispatch", "lang"},
    "linalg": {PUBLIC, "algorithms", "blas", "tile", "tracebacks", "dispatch"},
    # Kernels travel with their source, which front reads.
    "dask": {PUBLIC, "algorithms", "fft", "linalg", "rng", "front", "lang", "run", "tracebacks"},
    "testing": CORE | LIBRARIES | {PUBLIC},
    "cli": CORE | LIBRARIES | {PUBLIC, "testing"},
    "__main__": {"cli"},
}
# Dataclasses of modules that programs load at their start.
for room in MAY_IMPORT.keys() - {"records"}:
    MAY_IMPORT[room] = MAY_IMPORT[room] | {"records"}

ONLY_ROOMS_WITH_VULKAN = {"run"}
ONLY_ROOMS_WITH_PROCESSES = {"spirv", "cli"}
ONLY_ROOMS_THAT_WRITE = {"edit", "cache", "prebuilt", "spirv", "profiling", "cli", "testing", "tuning"}
ROOMS_WITH_COMPUTED_IMPORTS = {PUBLIC, "cli", "testing"}

STARTS_PROCESSES = re.compile(
    r"os\.(system|popen|fork|forkpty|startfile|exec\w+|spawn\w+|posix_spawnp?)"
    r"|asyncio\.create_subprocess_\w+"
)
PROCESS_MODULES = {"subprocess", "multiprocessing", "pty"}
WRITES_FILES = re.compile(
    r"(os|shutil)\.(replace|rename|renames|remove|unlink|rmdir|mkdir|makedirs|copy\w*|move|rmtree)"
    r"|.*\.(write_text|write_bytes|touch)"
)
WRITING_MODULES = {"tempfile", "shutil"}


@dataclass(frozen=True, eq=False)
class Module:
    """One source file of the package."""

    path: Path
    tree: ast.Module

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes, in the order of ``ast.walk``. The tests share them, since a walk costs more than a test."""
        return list(ast.walk(self.tree))

    @functools.cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """All calls with the name of what they call, as far as it is a name."""
        return [(node, called_name(node)) for node in self.nodes if isinstance(node, ast.Call)]

    @property
    def parts(self) -> tuple[str, ...]:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return parts[:-1] if parts[-1] == "__init__" else parts

    @property
    def room(self) -> str:
        return self.parts[1] if len(self.parts) > 1 else PUBLIC

    def where(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


@functools.cache
def modules() -> list[Module]:
    return [Module(path, ast.parse(path.read_bytes())) for path in sorted(PACKAGE.rglob("*.py"))]


@functools.cache
def imported_names(module: Module) -> list[tuple[ast.AST, str]]:
    """Every module that a source file imports, also inside functions, as absolute names."""
    return list(_imported_names(module))


def _imported_names(module: Module) -> Iterator[tuple[ast.AST, str]]:
    package = module.parts if module.path.name == "__init__.py" else module.parts[:-1]
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            for alias in node.names:
                yield node, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and called_name(node) in IMPORT_FUNCTIONS:
            name = getattr(node.args[0], "value", None) if node.args else None
            if isinstance(name, str) and not name.startswith("."):
                yield node, name
            elif module.room not in ROOMS_WITH_COMPUTED_IMPORTS:
                raise AssertionError(f"{module.where(node)}: unreadable import")


IMPORT_FUNCTIONS = {"importlib.import_module", "import_module", "__import__"}


def called_name(call: ast.Call) -> str:
    """The dotted name of what is called; an expression before the dots is written as ``?``."""
    node, parts = call.func, []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "?", *reversed(parts)])


def room_of(dotted: str) -> str | None:
    """The room of an absolute name; None outside the package."""
    package, _, rest = dotted.partition(".")
    if package != "vkamp":
        return None
    first = rest.partition(".")[0]
    is_room = (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").is_file()
    return first if first and is_room else PUBLIC


def room_imports() -> dict[str, dict[str, str]]:
    """For every room the rooms it imports, each with a place where it does."""
    found: dict[str, dict[str, str]] = {}
    for module in modules():
        rooms = found.setdefault(module.room, {})
        for node, name in imported_names(module):
            room = room_of(name)
            if room is not None and room != module.room:
                rooms.setdefault(room, module.where(node))
    return found


def test_every_room_is_in_the_table() -> None:
    assert {module.room for module in modules()} <= MAY_IMPORT.keys()


def test_rooms_import_only_what_the_table_allows() -> None:
    wrong = [
        f"{where}: {room} imports {other}"
        for room, others in room_imports().items()
        for other, where in others.items()
        if other not in MAY_IMPORT[room]
    ]
    assert wrong == []


#: The tests that import a tool, and what they test of it.
TESTS_OF_TOOLS = {
    "tests/tools": "each tool",
    "tests/fuzz": "tools/fuzz",
    "tests/sweep": "tools/sweep",
    "tests/outputs": "the kernels of tools/fuzz are compiled, too",
    "tests/kernel_language/test_math.py": "a slice of tools/ulp.py",
    "tests/types/test_double_functions.py": "a slice of tools/ulp_doubles.py",
    "tests/run/test_host_memory.py": "a slice of tools/coherence.py",
    "tests/algorithms/first_calls.py": "measures by the clocks of tools/bench",
}


def importers_of(package: str, folder: str) -> list[str]:
    """The files of a folder that import a package; the kernels that tests and tools share do not count."""
    found = set()
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = path.read_bytes()
        # Parsing takes most of the time, and few files name the package at all.
        for node in ast.walk(ast.parse(source)) if package.encode() in source else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Call) and called_name(node) in IMPORT_FUNCTIONS and node.args:
                names += [str(getattr(node.args[0], "value", ""))]
            names = [name for name in names if not f"{name}.".startswith("tools.kernels.")]
            if any(name.partition(".")[0] == package for name in names):
                found.add(path.relative_to(ROOT).as_posix())
    return sorted(found)


def test_tools_and_shared_kernels_import_no_tests() -> None:
    assert importers_of("tests", "tools") == importers_of("tests", "vkamp") == []
    assert importers_of("tools", "tools/kernels") == importers_of("tools", "vkamp") == []


def test_only_tests_of_tools_import_them() -> None:
    importing = importers_of("tools", "tests")
    assert [path for path in importing if not any(path.startswith(place) for place in TESTS_OF_TOOLS)] == []
    assert [place for place in TESTS_OF_TOOLS if not any(path.startswith(place) for path in importing)] == []


#: An import statement, also one of a program in a string or on a page.
IMPORT_STATEMENT = re.compile(r"^[ >]*(?:from|import) (?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)


def test_nobody_imports_a_module_of_tests() -> None:
    """What several files share is in a module without the prefix; a program of a test may import its own module."""
    wrong = []
    for path in (p for folder in ("tests", "tools", "docs", "vkamp") for p in (ROOT / folder).rglob("*.*")):
        if path.suffix in (".py", ".md"):
            for statement in IMPORT_STATEMENT.findall(path.read_text(encoding="utf-8")):
                names = set(re.findall(r"\btest_\w+", statement))
                if names and path.stem not in names:
                    wrong.append(f"{path.relative_to(ROOT).as_posix()}: {statement.strip()}")
    assert wrong == []


def test_table_and_imports_have_no_cycle() -> None:
    graphlib.TopologicalSorter(MAY_IMPORT).prepare()
    graphlib.TopologicalSorter({room: set(others) for room, others in room_imports().items()}).prepare()


def name_of(module: Module) -> str:
    return ".".join(module.parts)


@functools.cache
def module_names() -> set[str]:
    return {name_of(module) for module in modules()}


def vkamp_imports(module: Module, *, in_functions: bool) -> Iterator[tuple[ast.AST, str]]:
    """The modules of the package that a module imports, inside functions or outside; not for type checkers alone."""
    names = module_names()
    lazy = {id(node) for function in module.nodes if isinstance(function, FUNCTIONS) for node in body(function)}
    typed = {
        id(node)
        for branch in module.nodes
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in body(branch)
    }
    for node, name in imported_names(module):
        found = name if name in names else name.rpartition(".")[0]
        if found in names and found != name_of(module) and id(node) not in typed and (id(node) in lazy) == in_functions:
            yield node, found


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def body(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.If) -> Iterator[ast.AST]:
    for statement in node.body:
        yield from ast.walk(statement)


#: Imports inside functions, and what they save: times are of ``import vkamp`` and a launch whose kernel is kept on disk
#: (``python -m tools.bench --groups startup``), measured with the module's import alone.
LAZY_IMPORTS = {
    ("vkamp", "vkamp.front.habits"): "import vkamp loads no compiler: 10 ms",
    ("vkamp.cli", "vkamp.cli.app"): "the command's libraries are an extra, which may be missing",
    ("vkamp.dispatch", "vkamp.dispatch.launch"): "import vkamp loads no compiler: 30 ms",
    ("vkamp.dispatch.capturing", "vkamp.dispatch.graph_launches"): "as the launch",
    ("vkamp.dispatch.running", "vkamp.dispatch.on_demand"): "check mode and inspect come with the compiler: 250 ms",
    ("vkamp.dispatch.reference_controls", "vkamp.sim"): "only the reference accelerator runs the IR in Python: 60 ms",
    ("vkamp.dispatch.shader_overrides", "vkamp.dispatch.override_files"): "few programs have edited shaders: 10 ms",
    ("vkamp.edit.active", "vkamp.edit.store"): "few programs have edited shaders: 3 ms",
    ("vkamp.front.arguments", "vkamp.front.advice"): "words errors; loads the IR's nodes: 15 ms",
    ("vkamp.ir.passes", "vkamp.ir.reverification"): "for vkamp's own tests: 10 ms",
    ("vkamp.pipeline.loading", "vkamp.pipeline.compiler"): "kernels that are kept on disk need no compiler: 250 ms",
    ("vkamp.run.accelerators", "vkamp.run.vulkan.engine"): "the direct engine's binding: 30 ms",
    ("vkamp.run.kompute", "vkamp.run.kompute_queue"): "loads kp",
    ("vkamp.lang.index_space", "vkamp.display.tiling"): "drawn in notebooks alone: 2 ms",
    ("vkamp.spirv", "vkamp.spirv.rewriting"): "shaders that are kept on disk need no rewriting: 4 ms",
}


def test_imports_inside_functions_are_few() -> None:
    found = {
        (name_of(module), name): module.where(node)
        for module in modules()
        for node, name in vkamp_imports(module, in_functions=True)
    }
    assert {each: where for each, where in found.items() if each not in LAZY_IMPORTS} == {}
    assert LAZY_IMPORTS.keys() <= found.keys(), "an import that is gone is still in the table"
    assert len(LAZY_IMPORTS) <= 15


def test_import_loads_few_libraries() -> None:
    """What only errors, notebooks and asynchronous calls need takes 20 ms, which every program would spend."""
    late = ("concurrent.futures", "difflib", "html.entities", "logging", "sysconfig", "traceback", "vulkan")
    program = (
        f"import sys, numpy; before = {{*sys.modules}}; import vkamp; "
        f"print([name for name in {late} if name in sys.modules and name not in before])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"


def test_modules_import_in_no_circle() -> None:
    graph = {
        name_of(module): {name for lazy in (False, True) for _, name in vkamp_imports(module, in_functions=lazy)}
        for module in modules()
    }
    graphlib.TopologicalSorter(graph).prepare()


def private_uses(module: Module) -> Iterator[tuple[ast.Attribute, str]]:
    """Accesses to `_names` of objects other than `self`."""
    for node in module.nodes:
        if not isinstance(node, ast.Attribute) or not re.fullmatch(r"_[^_].*", node.attr):
            continue
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
            yield node, node.attr


def names_defined(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


#: Private names of Python's own library, without a public way.
OF_PYTHON = {"_getframe", "_exit", "_fields", "_data", "_is_owned"}


def test_rooms_use_no_private_names_of_other_rooms() -> None:
    defined: dict[str, set[str]] = {}
    for module in modules():
        defined.setdefault(module.room, set()).update(names_defined(module))
    wrong = [
        f"{module.where(node)}: {ast.unparse(node)}"
        for module in modules()
        for node, name in private_uses(module)
        if name not in defined[module.room] | OF_PYTHON
    ]
    assert wrong == []


def modules_outside(rooms: set[str]) -> list[Module]:
    return [module for module in modules() if module.room not in rooms]


def importers(names: set[str], allowed: set[str]) -> list[str]:
    return [
        f"{module.where(node)}: imports {name}"
        for module in modules_outside(allowed)
        for node, name in imported_names(module)
        if name.partition(".")[0] in names
    ]


def callers(pattern: re.Pattern[str], allowed: set[str]) -> list[str]:
    return [
        f"{module.where(node)}: calls {name}"
        for module in modules_outside(allowed)
        for node, name in module.calls
        if pattern.fullmatch(name)
    ]


def opened_for_writing(allowed: set[str]) -> list[str]:
    found = []
    for module in modules_outside(allowed):
        for node, name in module.calls:
            if name.split(".")[-1] == "open":
                words = [*node.args, *(keyword.value for keyword in node.keywords)]
                modes = [word.value for word in words if isinstance(word, ast.Constant)]
                if any(isinstance(mode, str) and re.fullmatch(r"[rwaxbt+]*[wax+][rwaxbt+]*", mode) for mode in modes):
                    found.append(f"{module.where(node)}: opens a file for writing")
    return found


def test_only_run_knows_vulkan() -> None:
    assert importers({"kp", "vulkan"}, ONLY_ROOMS_WITH_VULKAN) == []


def test_only_few_rooms_start_processes() -> None:
    assert importers(PROCESS_MODULES, ONLY_ROOMS_WITH_PROCESSES) == []
    assert callers(STARTS_PROCESSES, ONLY_ROOMS_WITH_PROCESSES) == []


def test_only_few_rooms_write_files() -> None:
    assert importers(WRITING_MODULES, ONLY_ROOMS_THAT_WRITE) == []
    assert callers(WRITES_FILES, ONLY_ROOMS_THAT_WRITE) == []
    assert opened_for_writing(ONLY_ROOMS_THAT_WRITE) == []


def test_import_loads_neither_vulkan_nor_the_compiler() -> None:
    late = ["kp", "vulkan", "vkamp.front", "vkamp.legalize", "vkamp.emit", "vkamp.spirv", "vkamp.sim"]
    program = f"import sys, vkamp; print([name for name in {late} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[]"


def test_libraries_are_imported_at_their_first_use() -> None:
    names = ["algorithms", "blas", "fft", "linalg", "rng", "tile"]
    program = (
        "import sys, vkamp as amp\n"
        f"loaded = [f'vkamp.{{name}}' in sys.modules for name in {names}]\n"
        f"print(loaded, [getattr(amp, name).__name__ for name in {names}], set({names}) <= set(dir(amp)))\n"
        "print('vkamp.algorithms.stl' in sys.modules, amp.algorithms.stl.lower_bound.__module__)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.splitlines() == [
        f"{[False] * 6} {[f'vkamp.{name}' for name in names]} True",
        "False vkamp.algorithms.stl",
    ]


@pytest.mark.accelerators("swiftshader")
def test_a_launch_whose_spirv_is_cached_loads_what_it_needs(
    accelerator: amp.accelerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = ["subprocess", "tempfile", "fractions", "vkamp.check.instrument", "vkamp.ir.verify", "vkamp.sim"]
    late += ["vkamp.edit.store", "vkamp.spirv.reflection", "vkamp.spirv.validator", "vkamp.dispatch.override_files"]
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "import numpy as np\n"
        "import vulkan\n"
        "before = set(sys.modules)\n"
        "import vkamp as amp\n"
        "@amp.kernel\n"
        "def double(idx, values):\n"
        "    values[idx] *= 2\n"
        f"view = amp.accelerator({accelerator.device_path!r}).default_view\n"
        "values = amp.array(amp.extent(5), amp.int32, np.arange(5, dtype=np.int32), accelerator_view=view)\n"
        "amp.parallel_for_each(view, values.extent, double, values)\n"
        f"print(np.asarray(values).tolist(), [name for name in {late} if name in sys.modules.keys() - before])\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("VKAMP_SHADERS", "VKAMP_CHECK", "VKAMP_VERIFY"):
        monkeypatch.delenv(name, raising=False)
    said = [
        subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
        ).stdout
        for _ in range(2)
    ]
    assert said[0].startswith("[0, 2, 4, 6, 8] [")
    assert said[1] == "[0, 2, 4, 6, 8] []\n"


# The reading itself, tried on samples:


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import kp", ["kp"]),
        ("def f():\n    import vkamp.run.engine as e", ["vkamp.run.engine"]),
        ("from ..ir import nodes", ["vkamp.ir.nodes"]),
        ("from . import array", ["vkamp.lang.array"]),
        ("from .array import array", ["vkamp.lang.array.array"]),
        ("from vkamp import errors", ["vkamp.errors"]),
        ("import importlib\nimportlib.import_module('kp')", ["importlib", "kp"]),
    ],
)
def test_imports_are_read(source: str, expected: list[str]) -> None:
    module = Module(PACKAGE / "lang" / "sample.py", ast.parse(source))
    assert [name for _, name in imported_names(module)] == expected


def test_computed_import_is_refused() -> None:
    module = Module(PACKAGE / "lang" / "sample.py", ast.parse("import_module(name)"))
    with pytest.raises(AssertionError, match="unreadable import"):
        list(imported_names(module))


def test_files_and_functions_are_short() -> None:
    long_files = [m.path.name for m in modules() if len(m.path.read_text(encoding="utf-8").splitlines()) > 700]
    functions = (
        (module, node)
        for module in modules()
        for node in module.nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None
    )
    long_functions = [f"{m.where(n)}: {n.name}" for m, n in functions if (n.end_lineno or 0) - n.lineno + 1 > 60]
    assert (long_files, long_functions) == ([], [])


#: Names of several classes: users know them from elsewhere.
SHARED_CLASS_NAMES = {"Generator": "numpy's, of vkamp.rng and of vkamp.dask"}


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module.where(node))
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: places for name, places in shared.items() if name not in SHARED_CLASS_NAMES} == {}
    assert SHARED_CLASS_NAMES.keys() <= shared.keys(), "a name that is no longer shared is still in the table"
