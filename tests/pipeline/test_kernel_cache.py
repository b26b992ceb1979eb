"""Kernels that are kept on disk: taken where nothing has changed, compiled again wherever something has."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vkamp
import vkamp as amp
from vkamp.dispatch import preparing
from vkamp.dispatch.domain import domain_of
from vkamp.front import identity
from vkamp.lang.kernel import DeviceFunction
from vkamp.pipeline import compiler, kernel_cache

pytestmark = pytest.mark.accelerators("swiftshader")

PROGRAM = """\
import numpy as np
import vkamp as amp
import kept_helpers
from kept_helpers import offset

N = 3
SCALE = 2.5
ON = True
WORDS = (4, 5)


@amp.func
def twice(x, k=2, *, less=0):
    return x * k * SCALE - less


@amp.kernel
def work(idx, a, n, *, M: amp.constant):
    acc = amp.float32(0)
    for i in range(N):
        acc += twice(a[idx]) + n + M + min(i, WORDS[1])
    if ON:
        acc += kept_helpers.FACTOR
    a[idx] = offset(acc)


def launch(view, n=2, size=21, M=4, dtype=np.float32):
    data = np.arange(size).astype(dtype)
    array = amp.array_view(data)
    amp.parallel_for_each(view, array.extent, work, array, n, M=M)
    wanted = sum(twice(np.arange(size)) + n + M + min(i, WORDS[1]) for i in range(N)) + ON * kept_helpers.FACTOR
    return np.asarray(array), offset(wanted).astype(dtype)
"""

HELPERS = """\
import vkamp as amp

FACTOR = 7


@amp.func
def offset(x):
    return x + inner(x)


@amp.func
def inner(x):
    return FACTOR * 0.5


@amp.func
def other(x):
    return x - 1
"""


class Project:
    """A folder with programs; :meth:`start` gives what a new process would find, and counts what is compiled."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.compiled = 0
        self.written = 0
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setenv("VKAMP_CACHE_DIR", str(folder / "cache"))
        monkeypatch.setenv("VKAMP_SHADERS", "0")
        real = compiler.compile_kernel

        def counted(*arguments: Any) -> Any:
            self.compiled += 1
            return real(*arguments)

        monkeypatch.setattr(compiler, "compile_kernel", counted)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        # A file's time may be too coarse for writes in a row.
        self.written += 1
        os.utime(path, (1_000_000_000 + self.written,) * 2)

    def start(self) -> ModuleType:
        preparing._cache.clear()
        for name in ("kept_helpers", "kept_program"):
            sys.modules.pop(name, None)
        self.compiled = 0
        spec = importlib.util.spec_from_file_location("kept_program", self.folder / "kept_program.py")
        assert spec is not None and spec.loader is not None
        with self.monkeypatch.context() as context:
            # Bytecode is found by a file's time in whole seconds.
            context.setattr(sys, "dont_write_bytecode", True)
            module = importlib.util.module_from_spec(spec)
            sys.modules["kept_program"] = module
            spec.loader.exec_module(module)
        return module

    def run(self, view: amp.accelerator_view, **arguments: Any) -> int:
        """Launches in a separate process, checks the result, and returns how many kernels were compiled."""
        module = self.start()
        found, wanted = module.launch(view, **arguments)
        np.testing.assert_array_equal(found, wanted)
        return self.compiled


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path, monkeypatch)
    project.write("kept_program.py", PROGRAM)
    project.write("kept_helpers.py", HELPERS)
    return project


def test_a_kernel_is_compiled_once(project: Project, accelerator_view: amp.accelerator_view) -> None:
    assert [project.run(accelerator_view) for _ in range(3)] == [1, 0, 0]
    # Values and extents are no part of it.
    assert project.run(accelerator_view, n=-9, size=300) == 0


@pytest.mark.parametrize(
    "arguments", [{"n": 2.5}, {"M": 5}, {"M": np.float32(4)}, {"dtype": np.int32, "n": np.int32(1)}]
)
def test_other_types_and_constants(
    project: Project, accelerator_view: amp.accelerator_view, arguments: dict[str, Any]
) -> None:
    text = PROGRAM.replace("x * k * SCALE - less", "x * k").replace("acc = amp.float32(0)", "acc = a[idx] * 0")
    project.write("kept_program.py", text)
    project.write("kept_helpers.py", HELPERS.replace("FACTOR * 0.5", "FACTOR"))
    assert project.run(accelerator_view) == 1
    assert project.run(accelerator_view, **arguments) == 1
    assert project.run(accelerator_view, **arguments) == 0
    assert project.run(accelerator_view) == 0


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("program", "N = 3", "N = 4"),
        ("program", "SCALE = 2.5", "SCALE = 3.5"),
        ("program", "SCALE = 2.5", "SCALE = np.float32(2.5)"),
        ("program", "ON = True", "ON = False"),
        ("program", "(4, 5)", "(4, 1)"),
        ("program", "k=2", "k=3"),
        ("program", "less=0", "less=1"),
        ("program", "x * k * SCALE - less", "x * k * SCALE - less - 1"),
        ("program", "x * k * SCALE", "x * k - SCALE"),
        ("program", "import offset", "import other as offset"),
        ("program", "if ON:", "if not ON or ON:"),
        ("program", "if ON:", "if ON:  # what a shader's comments show"),
        ("program", "import numpy", "\n\n\nimport numpy"),
        ("helpers", "FACTOR = 7", "FACTOR = 8"),
        ("helpers", "FACTOR = 7", "FACTOR = 7.0"),
        ("helpers", "x + inner(x)", "x - inner(x)"),
        ("helpers", "0.5", "1.5"),
        ("helpers", "return x + inner(x)", "return x + other(inner(x))"),
    ],
)
def test_whatever_changes(
    project: Project, accelerator_view: amp.accelerator_view, file: str, before: str, after: str
) -> None:
    assert project.run(accelerator_view) == 1
    text = {"program": PROGRAM, "helpers": HELPERS}[file]
    assert before in text
    project.write(f"kept_{file}.py", text.replace(before, after))
    assert project.run(accelerator_view) == 1
    assert project.run(accelerator_view) == 0
    # Both may be kept; what matters is that it is right.
    project.write(f"kept_{file}.py", text)
    assert project.run(accelerator_view) <= 1


@pytest.mark.parametrize(
    ("assignment", "changed"),
    [
        ("kept_program.N = 5", 1),
        ("kept_program.SCALE = -0.0", 1),
        ("kept_helpers.FACTOR = 9", 1),
        ("kept_program.offset = kept_helpers.other", 1),
        ("kept_helpers.inner = kept_helpers.other", 1),
        ("kept_program.min = lambda a, b: 0", None),
        ("kept_program.N = 3", 0),
        ("kept_program.unused = 3", 0),
        ("kept_program.twice.__defaults__ = (3,)", 1),
        ("kept_program.twice.__kwdefaults__['less'] = 2", 1),
    ],
)
def test_names_that_mean_something_else(
    project: Project, accelerator_view: amp.accelerator_view, assignment: str, changed: int | None
) -> None:
    """The files are the same, what the program does before it launches is not."""
    assert project.run(accelerator_view) == 1
    module = project.start()
    exec(assignment, {"kept_program": module, "kept_helpers": sys.modules["kept_helpers"]})
    if changed is None:
        with pytest.raises(amp.CompileError):
            module.launch(accelerator_view)
        return
    found, wanted = module.launch(accelerator_view)
    np.testing.assert_array_equal(found, wanted)
    assert project.compiled == changed


COMPLEX = """\
import numpy as np
import vkamp as amp


@amp.kernel
def work(idx, a):
    z = a[idx]
    a[idx] = z * z / (z + 2) + abs(z) ** 2 - z ** 3


def launch(view):
    z = np.arange(12, dtype=np.complex64) * (1 - 0.5j)
    array = amp.array_view(z.copy())
    amp.parallel_for_each(view, array.extent, work, array)
    return np.asarray(array), z * z / (z + 2) + np.abs(z) ** 2 - z**3
"""


def test_products_of_complex_numbers(project: Project, accelerator_view: amp.accelerator_view) -> None:
    """The compiler calls device functions for them, which no name of the kernel leads to."""
    project.write("kept_program.py", COMPLEX)
    compiled = []
    for _ in range(3):
        found, wanted = project.start().launch(accelerator_view)
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        compiled.append(project.compiled)
    assert compiled == [1, 0, 0]


CLOSURES = """\
import numpy as np
import vkamp as amp


def make(k, count, view):
    @amp.kernel
    def fill(idx, a):
        parts = amp.private(count, amp.float32)
        for i in amp.static_range(count):
            parts[i] = k + i
        for i in amp.static_range(count):
            a[idx] += parts[i]

    array = amp.array_view(np.zeros(5, np.float32))
    amp.parallel_for_each(view, array.extent, fill, array)
    assert np.asarray(array).tolist() == [sum(k + i for i in range(count))] * 5
    return fill
"""


def test_numbers_of_closures(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.write("kept_program.py", CLOSURES)
    module = project.start()
    for k, count in ((1.5, 2), (9.25, 2), (1.5, 3)):
        module.make(k, count, accelerator_view)
    # `count` is needed at compile time, `k` is handed over.
    assert project.compiled == 2
    module = project.start()
    for k, count in ((0.5, 3), (0.25, 2), (7.0, 3), (1.0, 4)):
        module.make(k, count, accelerator_view)
    assert project.compiled == 1


TABLES = """\
import numpy as np
import vkamp as amp

SQUARES = tuple(n * n for n in range(40))


@amp.kernel
def work(idx, a):
    a[idx] = SQUARES[a[idx]] + SQUARES[39 - a[idx]]


def launch(view):
    array = amp.array_view(np.arange(40, dtype=np.int32))
    amp.parallel_for_each(view, array.extent, work, array)
    return np.asarray(array), [a + b for a, b in zip(SQUARES, reversed(SQUARES))]
"""


def test_tables_of_constants(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.write("kept_program.py", TABLES)
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 0]
    project.write("kept_program.py", TABLES.replace("n * n", "n + 7"))
    assert project.run(accelerator_view) == 1


def test_every_device_function_of_vkamp_can_be_kept() -> None:
    """Kernels that use one which cannot be described are compiled in every process."""
    seen = set()
    for each in pkgutil.walk_packages(vkamp.__path__, "vkamp."):
        if each.name.endswith("__main__"):
            continue
        module = importlib.import_module(each.name)
        for name, value in (*vars(module).items(), *vars(amp.subgroup).items()):
            if isinstance(value, DeviceFunction) and not value.overloads:
                seen.add(value.__name__)
                assert identity.describe(value) is not None, f"{each.name}.{name}"
    assert {"inclusive_scan", "philox4x32"} <= seen


FUNCTIONS = """\
import numpy as np
import vkamp as amp

STEP = 2


def plain(x):
    return x + helper(x) * STEP


def helper(x):
    return FACTOR


FACTOR = 10


@amp.func
def func(x):
    return plain(x) + 1


@amp.kernel
def work(idx, a, f, *, g: amp.constant):
    a[idx] = f(g(a[idx]))


def launch(view, k=3, which=0):
    fs = plain, func, lambda x: x + k, lambda x: (lambda y: y * k)(x) - helper(x)
    f = fs[which]
    g = lambda x: plain(x) if k else x  # noqa: E731
    array = amp.array_view(np.arange(5, dtype=np.int32))
    amp.parallel_for_each(view, array.extent, work, array, f, g=g)
    return np.asarray(array), np.array([f(g(x)) for x in range(5)])
"""


def test_functions_that_are_handed_over(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.write("kept_program.py", FUNCTIONS)
    assert [project.run(accelerator_view, which=k) for k in (0, 1, 2, 3)] == [1] * 4
    # Captured numbers and those of the module are handed over; what a helper names is part of the program.
    project.write("kept_program.py", FUNCTIONS)
    assert [project.run(accelerator_view, which=k, k=7) for k in (0, 1, 2, 3)] == [0] * 4
    project.write("kept_program.py", FUNCTIONS.replace("FACTOR = 10", "FACTOR = 11"))
    assert [project.run(accelerator_view, which=k) for k in (0, 1, 2, 3)] == [1] * 4
    project.write("kept_program.py", FUNCTIONS.replace("y * k", "y - k"))
    assert [project.run(accelerator_view, which=k) for k in (3, 3)] == [1, 0]


OBJECTS = """\
import numpy as np
import vkamp as amp

STEP = 2


@amp.struct
class Pair:
    x: amp.float32
    y: amp.float32 = 3

    @amp.func
    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y * STEP)


class Base:
    FACTOR = 2

    @amp.func
    def scaled(self, x):
        return x * self.FACTOR


class Line(Base):
    __slots__ = ("f", "inner", "k", "pair", "values")

    def __init__(self, k, values, inner):
        self.k, self.values, self.inner = k, values, inner
        self.pair, self.f = Pair, lambda x: x + k

    @amp.func
    def at(self, i):
        p = self.pair(self.values[i]) + Pair(1, 2)
        rest = self.inner.scaled(self.k) if hasattr(self.inner, "scaled") else 0
        return self.f(p.x + p.y) + self.scaled(i) + rest


class Inner:
    @amp.func
    def scaled(self, x):
        return -x


@amp.kernel
def work(idx, a, line, pairs):
    a[idx] = line.at(idx[0]) + pairs[idx].y


def launch(view, k=2.5):
    values, pairs = np.arange(7, dtype=np.float32), np.array([(i, -i) for i in range(7)], Pair)
    line = Line(k, amp.array_view(values), Inner())
    found = amp.array_view(np.zeros(7, np.float32))
    amp.parallel_for_each(view, found.extent, work, found, line, amp.array_view(pairs))
    y = Pair().y
    sums = values + 1 + y + 2 * STEP
    return np.asarray(found), (sums + k + Base.FACTOR * values + Inner().scaled(k) - values).astype(np.float32)
"""


@pytest.mark.parametrize(("before", "after"), [
    ("STEP = 2", "STEP = 5"),
    ("FACTOR = 2", "FACTOR = 4"),
    ("y: amp.float32 = 3", "y: amp.float32 = 4"),
    ("return -x", "return x * 3"),
    ("class Line(Base):", "class Line(Base):\n    NEW = 3\n"),
    ("    y: amp.float32 = 3", "    y: amp.float32 = 3\n    z: amp.int32 = 1"),
])  # fmt: skip
def test_objects_and_structs(project: Project, accelerator_view: amp.accelerator_view, before: str, after: str) -> None:
    project.write("kept_program.py", OBJECTS)
    assert [project.run(accelerator_view, k=k) for k in (2.5, 4.5)] == [1, 0]
    assert before in OBJECTS
    changed = OBJECTS.replace(before, after)
    if "z:" in after:
        changed = changed.replace(
            "Pair(self.x + other.x, self.y + other.y * STEP)", "Pair(self.x + other.x, self.y + other.y * STEP, 0)"
        )
        changed = changed.replace("(i, -i)", "(i, -i, 0)")
    project.write("kept_program.py", changed)
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 0]


def test_classes_that_change_while_a_process_runs(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.write("kept_program.py", OBJECTS)
    assert project.run(accelerator_view) == 1
    module = project.start()
    module.Base.FACTOR = 7
    found, wanted = module.launch(accelerator_view)
    np.testing.assert_array_equal(found, wanted)
    assert project.compiled == 1
    module.Inner.scaled = module.Base.scaled
    module.Inner.FACTOR = 1.5
    found, wanted = module.launch(accelerator_view)
    np.testing.assert_array_equal(found, wanted)


def test_types_of_results(project: Project) -> None:
    """``amp.result_type`` compiles nothing where the answer is kept."""
    project.write("kept_program.py", OBJECTS)
    for compiled in (1, 0):
        module = project.start()
        line = module.Line(2.5, amp.array_view(np.zeros(3, np.float32)), module.Inner())
        assert amp.result_type(module.Line.at, line, np.int32) == np.float32
        assert project.compiled == compiled


def test_the_ir_of_a_kernel_that_is_kept(project: Project, accelerator_view: amp.accelerator_view) -> None:
    """Further results of the compiler are computed on demand, also for a closure that was created later."""
    project.write("kept_program.py", CLOSURES)
    project.start().make(1.5, 2, accelerator_view)
    module = project.start()
    module.make(1.5, 2, accelerator_view)  # gone, with what it captured
    fill = module.make(1.5, 2, accelerator_view)
    assert project.compiled == 0
    array = amp.array_view(np.zeros(5, np.float32))
    shown = fill.inspect(accelerator_view, array.extent, array)
    assert project.compiled == 1
    assert "parts" in shown.ir and "parts" in shown.glsl
    assert not amp.check(accelerator_view, array.extent, fill, array).findings
    assert np.asarray(array).tolist() == [4.0] * 5
    reference = amp.accelerator("reference").default_view
    amp.parallel_for_each(reference, array.extent, fill, array)
    assert np.asarray(array).tolist() == [8.0] * 5
    assert project.compiled == 1


def test_a_program_that_is_kept_is_the_one_that_is_compiled(
    project: Project, accelerator_view: amp.accelerator_view
) -> None:
    programs = []
    for _ in range(2):
        module = project.start()
        array = amp.array_view(np.zeros(21, np.float32))
        prepared = preparing.prepare(accelerator_view, domain_of(array.extent), module.work, (array, 2), {"M": 4})
        programs.append((prepared.compiled, prepared.executable, project.compiled))
    (whole, made, one), (facts, taken, none) = programs
    assert (one, none) == (1, 0)
    assert made.shader == taken.shader and made.lowering == taken.lowering
    assert made.shader.lines and made.spirv == taken.spirv and made.key == taken.key
    fields = ("name", "span", "access", "contiguous", "least_extents", "constants", "types", "wide", "sizes_in_loops")
    for name in (*fields, "key"):
        assert getattr(whole, name) == getattr(facts, name), name
    assert {(g.name, g.value.__class__) for g in whole.guards} == {(g.name, g.value.__class__) for g in facts.guards}
    assert facts.kernel == whole.kernel


OTHERS = {
    "a warning": (
        "@amp.kernel\ndef work(t, a):\n    t.barrier.wait()\n    a[t.global_] = 3\n",
        lambda view, module, a: amp.parallel_for_each(view, a.extent.tile(4), module.work, a),
    ),
    "an object": (
        "class Adder:\n    def __init__(self):\n        self.n = 3\n\n    @amp.kernel\n"
        "    def run(self, idx, a):\n        a[idx] = self.n\n",
        lambda view, module, a: amp.parallel_for_each(view, a.extent, module.Adder().run, a),
    ),
    "overloads": (
        "@amp.func\ndef three(x):\n    return 4\n\n\n@three.register(amp.int32)\ndef _(x):\n    return 3\n\n\n"
        "@amp.kernel\ndef work(idx, a):\n    a[idx] = three(idx[0])\n",
        lambda view, module, a: amp.parallel_for_each(view, a.extent, module.work, a),
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_every_process_compiles(project: Project, accelerator_view: amp.accelerator_view, what: str) -> None:
    text, run = OTHERS[what]
    project.write("kept_program.py", f"import vkamp as amp\n\n\n{text}")
    told = []
    for _ in range(2):
        array = amp.array_view(np.zeros(8, np.int32))
        module = project.start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(accelerator_view, module, array)
        told.append([str(each.message) for each in caught])
        assert project.compiled == 1
        assert np.asarray(array).tolist() == [3] * 8
    assert told[0] == told[1] and bool(told[0]) == (what == "a warning")


def test_a_form_that_is_registered_after_a_launch(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.write(
        "kept_program.py", OTHERS["overloads"][0].replace("@three.register", "# ").join(("import vkamp as amp\n", ""))
    )
    module = project.start()
    array = amp.array_view(np.zeros(8, np.int32))
    amp.parallel_for_each(accelerator_view, array.extent, module.work, array)
    assert np.asarray(array).tolist() == [4] * 8
    module.three.register(amp.int32)(module._)
    amp.parallel_for_each(accelerator_view, array.extent, module.work, array)
    assert np.asarray(array).tolist() == [3] * 8


def test_a_file_that_changes_while_a_process_runs(project: Project, accelerator_view: amp.accelerator_view) -> None:
    """What it compiles from then on is of the old text, and not kept for the new one."""
    text = "import vkamp as amp\n\n\n@amp.kernel\ndef work(idx, a):\n    a[idx] = 3\n"
    project.write("kept_program.py", text)
    module = project.start()
    numbers, others = (amp.array_view(np.zeros(8, kind)) for kind in (np.int32, np.float32))
    amp.parallel_for_each(accelerator_view, numbers.extent, module.work, numbers)
    project.write("kept_program.py", text.replace("3", "5"))
    amp.parallel_for_each(accelerator_view, others.extent, module.work, others)
    assert project.compiled == 2
    assert np.asarray(others).tolist() == [3] * 8
    module = project.start()
    amp.parallel_for_each(accelerator_view, others.extent, module.work, others)
    assert np.asarray(others).tolist() == [5] * 8


def test_a_file_that_changes_while_its_kernel_is_compiled(
    project: Project, accelerator_view: amp.accelerator_view
) -> None:
    text = "import vkamp as amp\n\n\n@amp.kernel\ndef work(idx, a):\n    a[idx] = 3\n"
    project.write("kept_program.py", text)
    module, array, real = project.start(), amp.array_view(np.zeros(8, np.int32)), compiler.compile_kernel

    def slow(*arguments: Any) -> Any:
        compiled = real(*arguments)
        project.write("kept_program.py", text.replace("3", "5"))
        return compiled

    with project.monkeypatch.context() as context:
        context.setattr(compiler, "compile_kernel", slow)
        amp.parallel_for_each(accelerator_view, array.extent, module.work, array)
    assert np.asarray(array).tolist() == [3] * 8
    assert not (project.folder / "cache" / "kernels").exists()


@pytest.mark.parametrize("spoil", [lambda data: b"", lambda data: data[:-1], lambda data: bytes(len(data))])
def test_entries_that_are_spoilt(
    project: Project, accelerator_view: amp.accelerator_view, spoil: Callable[[bytes], bytes]
) -> None:
    project.run(accelerator_view)
    for path in (project.folder / "cache" / "kernels").iterdir():
        path.write_bytes(spoil(path.read_bytes()))
    assert project.run(accelerator_view) == 1
    assert project.run(accelerator_view) == 0


def test_an_entry_that_is_gone(project: Project, accelerator_view: amp.accelerator_view) -> None:
    project.run(accelerator_view)
    entries = sorted((project.folder / "cache" / "kernels").iterdir())
    # The names, the facts and the program.
    assert len(entries) == 3
    for path in entries:
        path.unlink()
        assert project.run(accelerator_view) == 1


@pytest.mark.parametrize("variable", ["VKAMP_CACHE_SIZE=0", "VKAMP_VERIFY=1"])
def test_nothing_is_kept(project: Project, accelerator_view: amp.accelerator_view, variable: str) -> None:
    project.monkeypatch.setenv(*variable.split("="))
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 1]
    assert not (project.folder / "cache" / "kernels").exists()


def test_another_compiler(project: Project, accelerator_view: amp.accelerator_view) -> None:
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 0]
    project.monkeypatch.setattr(kernel_cache, "_compiler", lambda: "of another version")
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 0]
    # In no folder, as in an archive: nobody knows which one it is.
    project.monkeypatch.setattr(kernel_cache, "_compiler", lambda: None)
    assert [project.run(accelerator_view) for _ in range(2)] == [1, 1]


def test_every_file_of_the_compiler_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = [room for room in kernel_cache.COMPILER_FOLDERS if room]
    for room in rooms:
        (tmp_path / room).mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(kernel_cache, "_PACKAGE", tmp_path)
    seen = set()
    for place in ("errors.py", *(f"{room}/a.py" for room in rooms), "emit/b.glsl"):
        for text in ("", "1", "2"):
            (tmp_path / place).write_text(text)
            os.utime(tmp_path / place, ns=(0, 7 if text == "2" else 6))
            seen.add(kernel_cache._compiler.__wrapped__())
    assert len(seen) == 3 * (2 + len(rooms)) and None not in seen
    monkeypatch.setattr(kernel_cache, "_PACKAGE", tmp_path / "archive.zip")
    assert kernel_cache._compiler.__wrapped__() is None


def test_the_compiler_is_in_these_folders() -> None:
    """What the compiler imports counts, but for what runs programs and shows them."""
    package = Path(amp.__file__).parent
    program = (
        "import sys, vkamp.pipeline.compiler\n"
        "for module in sys.modules.values(): print(getattr(module, '__file__', None) or '')"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    files = [Path(line).relative_to(package) for line in printed.splitlines() if Path(line).is_relative_to(package)]
    rooms = {file.parts[0] for file in files if len(file.parts) > 1} - {
        "run",
        "dispatch",
        "profiling",
        "display",
        "edit",
    }
    inner = {file.parent.relative_to(package).as_posix() for room in rooms for file in (package / room).rglob("*.py")}
    assert {"", *inner} == set(kernel_cache.COMPILER_FOLDERS)


def test_a_process_without_the_compiler(project: Project) -> None:
    """As it is for users: whole processes, whose hashes of strings differ."""
    project.write(
        "main.py",
        "import sys\nimport vkamp as amp\nfrom kept_program import launch\n"
        "found, wanted = launch(amp.accelerator('swiftshader').default_view)\n"
        "assert (found == wanted).all()\n"
        "rooms = ('front.lower', 'check.uniformity', 'lower', 'emit', 'pipeline.compiler', 'ir.nodes')\n"
        "print([room for room in rooms if f'vkamp.{room}' in sys.modules])\n",
    )
    printed = []
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, str(project.folder / "main.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        printed.append(eval(done.stdout))
    assert len(printed[0]) == 6
    assert printed[1:] == [[], []]
