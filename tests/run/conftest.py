"""Small hand-written programs and the queues to run them on, without the compiler."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pytest_vkamp import accelerator_names
from vkamp.cache import default_cache
from vkamp.run import (
    devices,  # noqa: F401 - for the scripts
    kompute_queue,
    libraries,  # noqa: F401
)
from vkamp.run.driver import Driver
from vkamp.run.engine import DeviceInfo, Dispatch, Engine, Queue
from vkamp.run.kompute import KomputeEngine
from vkamp.run.vulkan.api import Api
from vkamp.run.vulkan.commands import DispatchWork
from vkamp.run.vulkan.engine import VulkanEngine

#: Accelerators that no driver stands behind.
WITHOUT_DRIVER = ("reference", "cpu")

SOURCES = {
    # a[i] += word, in place
    "add": """
        layout(std430, binding = 0) buffer A { uint a[]; };
        layout(push_constant) uniform P { uint n; uint word; };
        void main() { uint i = gl_GlobalInvocationID.x; if (i < n) a[i] += word; }""",
    # b[i] = a[i] * word
    "scale": """
        layout(std430, binding = 0) readonly buffer A { uint a[]; };
        layout(std430, binding = 1) buffer B { uint b[]; };
        layout(push_constant) uniform P { uint n; uint word; };
        void main() { uint i = gl_GlobalInvocationID.x; if (i < n) b[i] = a[i] * word; }""",
    # a[i] = word, which says what push constants arrive
    "word": """
        layout(std430, binding = 0) writeonly buffer A { uint a[]; };
        layout(push_constant) uniform P { uint word; };
        void main() { a[gl_GlobalInvocationID.x] = word; }""",
    "nothing": "void main() {}",
    # rounds of work that a compiler can't leave out (lavapipe ends an invocation's loops after 65535)
    "long": """
        layout(std430, binding = 0) buffer A { uint a[]; };
        layout(push_constant) uniform P { uint outer; uint inner; };
        void main() {
            uint x = a[0];
            for (uint i = 0; i < outer; i++)
                for (uint j = 0; j < inner; j++) x = x * 1664525u + 1013904223u + (x >> 7) + i;
            if (gl_GlobalInvocationID.x == 0) a[0] = x;
            else if (x == 12345678u) a[1] = x;
        }""",
    "double": """
        layout(std430, binding = 0) buffer A { double a[]; };
        void main() { a[0] = 1.0lf; }""",
}
PUSH_WORDS = {"add": 2, "scale": 2, "word": 1, "long": 2}
BUFFERS = {"scale": 2, "nothing": 0}


SETTINGS = {
    "khronos_validation.debug_action": "VK_DBG_LAYER_ACTION_LOG_MSG",
    "khronos_validation.report_flags": "error,warn",
    "khronos_validation.enables": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,"
    "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT",
}


def _glslang() -> tuple[str, dict[str, str]]:
    prefix = next(prefix for folder in sys.path if (prefix := Path(folder, "cmeel.prefix")).is_dir())
    environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
    return str(prefix / "bin" / "glslangValidator"), environment


@functools.cache
def spirv(source: str) -> bytes:
    """The SPIR-V of a GLSL compute shader, which the processes of tests share."""
    cache, key = default_cache(), hashlib.sha256(f"{__file__}\0{source}".encode()).hexdigest()
    known = cache.get(key)
    if known is None:
        known = _compiled(source)
        cache.put(key, known)
    return known


def _compiled(source: str) -> bytes:
    program, environment = _glslang()
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "a.comp"), Path(folder, "a.spv")
        text.write_text(source, encoding="utf-8")
        command = [program, "-V", "--target-env", "vulkan1.1", str(text), "-o", str(binary)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return binary.read_bytes()


@dataclass(frozen=True)
class Executable:
    """What the engine needs of a `vkamp.artifacts.Executable`."""

    spirv: bytes
    buffers: int
    push_bytes: int
    local_size: tuple[int, int, int]
    name: str = "program"
    subgroup_size: int | None = None

    @property
    def key(self) -> str:
        return hashlib.sha256(self.spirv).hexdigest()


def executable(name: str, local_size: int = 64) -> Executable:
    """One of the programs above."""
    text = f"#version 450\nlayout(local_size_x = {local_size}) in;\n{SOURCES[name]}"
    return Executable(
        spirv(textwrap.dedent(text)),
        BUFFERS.get(name, 1),
        4 * PUSH_WORDS.get(name, 0),
        (local_size, 1, 1),
    )


def words(*values: int) -> bytes:
    return np.array(values, np.uint32).tobytes()


class Runner:
    """A queue with the programs above at hand."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    executable = staticmethod(executable)

    def buffer(self, values):
        """A buffer that holds `values` as uint32."""
        data = np.ascontiguousarray(values, np.uint32)
        made = self.queue.allocate(data.nbytes)
        made.upload(0, data.view(np.uint8).ravel())
        return made

    @staticmethod
    def read(buffer):
        return buffer.download(0, buffer.nbytes).view(np.uint32)

    def launch(self, name, buffers, push=(), *, groups=None):
        """Runs a program over all of its buffers."""
        count = max((b.nbytes // 4 for b in buffers), default=1)
        if name in ("add", "scale"):
            push = (count, *push)
        self.launch_words(name, buffers, push, groups=groups or (-(-count // 64), 1, 1))

    def launch_words(self, name, buffers, push, *, groups):
        """Runs a program with just these push words; it writes its last buffer."""
        writes = tuple(b is buffers[-1] for b in buffers)
        program = self.queue.program(executable(name))
        self.queue.enqueue(Dispatch(program, tuple(buffers), words(*push), groups, writes))


def dispatch(runner, name, buffers, push, regions=(), groups=None):
    """A launch of a program, not enqueued; it writes its last buffer."""
    count = max(b.nbytes // 4 for b in buffers)
    words = np.array([count, *push] if name in ("add", "scale") else push, np.uint32).tobytes()
    writes = tuple(b is buffers[-1] for b in buffers)
    program = runner.queue.program(runner.executable(name))
    return Dispatch(program, tuple(buffers), words, groups or (-(-count // 64), 1, 1), writes, None, regions)


#: The engines, with each kind of memory: what the host sees, what it has copies of, and what it sees of little.
ENGINES = {
    "kompute-shared": "KomputeEngine(mirrored=False)",
    "kompute-mirrored": "KomputeEngine(mirrored=True)",
    "vulkan-shared": "VulkanEngine(staged=False)",
    "vulkan-staged": "VulkanEngine(staged=True)",
    "vulkan-visible": "VulkanEngine(staged=True, visible=True)",
}


def device(name: str, engine: Engine | None = None) -> DeviceInfo:
    """The engine's (Kompute's) device with `name` in its description; a test without it must fail."""
    found = (engine or KomputeEngine()).devices()
    return next(d for d in found if name.partition("@")[0].lower() in d.name.lower())


def runner_on(engine: Engine, name: str) -> Runner:
    """A fresh queue of an engine on the device with `name` in its description."""
    return Runner(engine.open(device(name, engine)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = [name.partition("@")[0] for name in accelerator_names(metafunc.config)]
    marker = metafunc.definition.get_closest_marker("accelerators")
    drivers = [n for n in dict.fromkeys(names) if n not in WITHOUT_DRIVER and (marker is None or n in marker.args)]
    if "info" in metafunc.fixturenames:
        metafunc.parametrize("info", drivers, indirect=True)
    if "driver" in metafunc.fixturenames:
        metafunc.parametrize("driver", drivers)


@pytest.fixture(params=ENGINES)
def expression(request) -> str:
    """Each engine with each kind of memory, in Python."""
    return ENGINES[request.param]


@pytest.fixture
def engine(expression) -> Engine:
    """Each engine with each kind of memory."""
    return eval(expression)


@pytest.fixture
def info(request) -> DeviceInfo:
    """Each driver that the session runs on, in turn, as the test's engine knows it."""
    engine = request.getfixturevalue("engine") if "engine" in request.fixturenames else None
    return device(request.param, engine)


@pytest.fixture
def runner(engine, info):
    """A fresh queue on each device with each kind of memory."""
    queue = engine.open(info)
    yield Runner(queue)
    queue.close()


@pytest.fixture
def staged(driver):
    """A fresh queue whose memory the host does not see."""
    engine = VulkanEngine(staged=True)
    queue = engine.open(device(driver, engine))
    yield Runner(queue)
    queue.close()


@pytest.fixture(params=[KomputeEngine, VulkanEngine])
def card(request, driver):
    """A fresh queue on each device as if it were a graphics card, which can be lost."""
    engine = request.param()
    made_up = dataclasses.replace(device(driver, engine), kind="discrete", uuid="a card")
    queue = engine.open(made_up)
    yield Runner(queue)
    queue.close()


@pytest.fixture
def gathering(monkeypatch):
    """Work is handed over when it has to be, and not before: neither by its launch nor by the driver."""
    monkeypatch.setattr(Driver, "call", lambda self: None)
    monkeypatch.setattr(DispatchWork, "is_short", True)
    monkeypatch.setattr(kompute_queue, "_WORTH_STARTING", float("inf"))


@pytest.fixture(scope="session")
def script(tmp_path_factory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python text in a separate process, which can import this file."""
    folder = tmp_path_factory.mktemp("scripts")
    header = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"

    def run(text, *, check=True, timeout=120, **environment):
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
        path.write_text(header + textwrap.dedent(text), encoding="utf-8")
        settings = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(path)],
            env=settings,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def validated(script, tmp_path):
    """Runs a script under the validation layers with synchronisation checks; gives what they say."""
    (tmp_path / "vk_layer_settings.txt").write_text(
        "".join(f"{name} = {value}\n" for name, value in SETTINGS.items()), encoding="utf-8"
    )

    def run(text):
        output = script(
            text,
            VK_LAYER_SETTINGS_PATH=str(tmp_path / "vk_layer_settings.txt"),
            VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation",
            VK_LOADER_LAYERS_DISABLE=None,
        ).stdout
        assert output.endswith("end\n")
        return output

    return run


class OneFamily(Api):
    """The copies use one of the queues that compute, since CPU drivers have no other."""

    def __init__(self, info):
        super().__init__(info)
        if not self.copy_queues:
            self.copy_family, self.copy_queues = self.family, self.queues[:1]


def bytes_of(size, seed):
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)
