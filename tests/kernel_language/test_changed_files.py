"""Functions whose file is changed after it was imported: what is compiled is what was imported, or nothing is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import vkamp as amp

TEXT = """\
import vkamp as amp

@amp.kernel
def first(idx, x):
    x[idx] = twice(1)

@amp.kernel
def second(idx, x):
    x[idx] = 2

@amp.func
def twice(x):
    return x + x

double = lambda x: 2 * x
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = "imported_and_changed"
    path = tmp_path / f"{name}.py"
    path.write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module(name), path
    del sys.modules[name]


def launched(kernel):
    x = amp.array_view(np.zeros(3, np.int32))
    amp.parallel_for_each(amp.accelerator("reference").default_view, x.extent, kernel, x)
    return np.asarray(x).tolist()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT[TEXT.index("@amp.kernel") : TEXT.index("@amp.kernel\ndef second")], ""),
        ("def first", "def other"),
        ("twice(1)", "twice(2)"),
        ("x + x", "x - x"),
    ],
)
def test_a_changed_function_is_an_error(module, old, new):
    module, path = module
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(amp.CompileError, match=r"VKA102.* has changed since it was defined(.|\n)*reload its module"):
        launched(module.first)
    module = importlib.reload(module)
    launched(module.second)


def test_other_changes_of_the_file(module):
    module, path = module
    path.write_text(TEXT.replace("2 * x", "3 * x") + "# more\n")
    assert launched(module.first) == [2, 2, 2]

    def apply(idx, x, f):
        x[idx] = f(idx[0] + 1)

    x = amp.array_view(np.zeros(3, np.int32))
    with pytest.raises(amp.CompileError, match="has changed since"):
        amp.parallel_for_each(amp.accelerator("reference").default_view, x.extent, apply, x, module.double)


def test_a_program_without_its_sources(tmp_path):
    path = tmp_path / "shipped.py"
    path.write_text(TEXT)
    subprocess.run([sys.executable, "-m", "compileall", "-b", "-q", path], check=True)
    path.unlink()
    program = (
        "import vkamp as amp, shipped; shipped.second.inspect(amp.extent(3), amp.array(amp.extent(3), amp.float32))"
    )
    environment = os.environ | {"VKAMP_ACCELERATOR": "reference", "PYTHONPATH": f"{os.getcwd()}:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert "VKA102: the source of `second` cannot be read" in done.stderr
    assert "shipped.py is missing" in done.stderr and "vkamp build" in done.stderr


@pytest.mark.parametrize("first", ["", "from __future__ import annotations"])
def test_a_file_written_after_the_import_of_vkamp(first, tmp_path, monkeypatch):
    """Its functions are compiled as its imports from the future say."""
    text = """
        import vkamp as amp

        @amp.kernel
        def annotated(idx, x):
            def more(y: int, z: int = 3) -> int:
                return y + z
            seven: int = 7
            x[idx] = more(seven)
    """
    name = f"written_later_{len(first)}"
    (tmp_path / f"{name}.py").write_text(first + textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    assert launched(importlib.import_module(name).annotated) == [10, 10, 10]
