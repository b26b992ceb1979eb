"""Accelerators and their views, as users see them."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

import vkamp as amp
from vkamp.lang.storage import default_location, host_location
from vkamp.run import accelerators, libraries
from vkamp.run.accelerators import accelerator, accelerator_view


@pytest.mark.parametrize(
    ("path", "description"),
    [
        ("swiftshader", "SwiftShader"),
        ("LLVMpipe", "llvmpipe"),
        (" llvm ", "llvmpipe"),
        ("reference", "reference"),
        ("cpu", "CPU accelerator"),
    ],
)
@pytest.mark.accelerators("llvmpipe")
def test_an_accelerator_is_found_by_name(path, description):
    found = accelerator(path)
    assert description in found.description
    assert accelerator(found.device_path) == found
    assert hash(accelerator(found)) == hash(found)
    assert description in repr(found)


def test_an_accelerator_is_found_by_index(info):
    assert accelerator(str(info.index)).description == accelerator(info.index).description == info.name
    assert accelerator(f"vulkan:{info.index}").description == info.name


@pytest.mark.parametrize("named", ["kompute", "vulkan", "VULKAN "])
def test_an_accelerator_of_an_engine(info, named):
    found = accelerator(info.name, engine=named)
    name = named.strip().lower()
    assert found.engine == name
    assert found.description == info.name
    assert found == accelerator(f"{info.name}@{name}") == accelerator(f"vulkan:{info.index}@{name}")
    assert accelerator(found.device_path) == found
    assert accelerator(found, engine=name) is not found
    assert accelerator(found, engine=name) == found
    assert found in accelerator.get_all(named)
    assert accelerator(engine=name).engine == name


def test_engines_make_other_accelerators_of_one_device(info):
    one, other = (accelerator(info.name, engine=engine) for engine in ("kompute", "vulkan"))
    assert one != other
    assert accelerator(one, engine="vulkan") == other
    assert one.default_view != other.default_view
    assert one.device_path.partition("@")[0] == other.device_path.partition("@")[0]
    a = amp.array(amp.extent(5), amp.int32, np.arange(5, dtype=np.int32), accelerator_view=one.default_view)
    b = amp.array(a, accelerator_view=other.default_view)
    view = amp.array_view(np.zeros(5, np.int32))

    @amp.kernel
    def add(idx, source, target):
        target[idx] += source[idx]

    before = [each.default_view.statistics.dispatches for each in (one, other)]
    amp.parallel_for_each(one.default_view, a.extent, add, a, view)
    amp.parallel_for_each(other.default_view, b.extent, add, b, view)
    assert np.asarray(view).tolist() == [0, 2, 4, 6, 8]
    assert [each.default_view.statistics.dispatches for each in (one, other)] == [count + 1 for count in before]


def without_numbers(text):
    """Device paths with N for the number, which depends on the machine's other devices."""
    return re.sub(r"vulkan:\d+", "vulkan:N", text)


@pytest.mark.parametrize("wrong", ["metal", "", "reference"])
def test_an_unknown_engine_lists_what_there_is(wrong):
    text = f"engine={wrong!r} is not an engine: the engines are 'auto', 'kompute' and 'vulkan'"
    with pytest.raises(amp.AmpError, match=text):
        accelerator(engine=wrong)
    with pytest.raises(amp.AmpError, match=text):
        accelerator.get_all(wrong)


def test_two_engines_at_once_are_refused():
    with pytest.raises(amp.AmpError, match="belongs to the engine 'vulkan', not 'kompute'"):
        accelerator("0@vulkan", engine="kompute")
    with pytest.raises(amp.AmpError, match="names no accelerator"):
        accelerator("reference", engine="vulkan")
    with pytest.raises(amp.AmpError, match="names no accelerator"):
        accelerator("0@metal")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ["vulkan", "vulkan:N@kompute", "vulkan:N"]),
        ("", ["vulkan", "vulkan:N@kompute", "vulkan:N"]),
        ("kompute", ["kompute", "vulkan:N", "vulkan:N@vulkan"]),
        ("auto", ["vulkan", "vulkan:N@kompute", "vulkan:N"]),
        (" Vulkan", ["vulkan", "vulkan:N@kompute", "vulkan:N"]),
    ],
)
def test_the_variable_names_the_engine(script, value, expected):
    done = script(
        """
        import vkamp as amp
        paths = [amp.accelerator("swiftshader", engine=engine).device_path for engine in ("kompute", "vulkan")]
        a = amp.array(amp.extent(3), amp.int32)
        print([amp.accelerator().engine, *paths], a.accelerator_view.accelerator.engine)
        print(sorted({each.engine for each in amp.accelerator.get_all() if each.is_emulated}))
        """,
        VKAMP_ENGINE=value,
        VKAMP_ACCELERATOR="swiftshader",
    )
    assert without_numbers(done.stdout) == f"{expected} {expected[0]}\n{sorted(['cpu', 'reference', expected[0]])}\n"


def test_a_wrong_engine_variable_lists_what_there_is(script):
    done = script(
        """
        import vkamp as amp
        for use in (amp.accelerator, amp.accelerator.get_all, lambda: amp.accelerator("swiftshader")):
            try:
                use()
            except amp.AmpError as error:
                print(error)
        """,
        VKAMP_ENGINE="cuda",
    )
    assert done.stdout == 3 * "VKAMP_ENGINE=cuda is not an engine: the engines are 'auto', 'kompute' and 'vulkan'\n"


def test_the_direct_engine_without_its_package(script):
    done = script(
        """
        import sys
        sys.modules["vulkan"] = None
        import vkamp as amp
        try:
            amp.accelerator("swiftshader")
        except amp.AmpError as error:
            print(error)
        """,
        VKAMP_ENGINE="vulkan",
    )
    assert "pip install vulkan" in done.stdout


def test_the_direct_engine_needs_no_kompute(script):
    done = script(
        """
        import sys
        sys.modules["kp"] = None
        import numpy as np
        import vkamp as amp
        a = amp.array(amp.extent(4), amp.int32, np.arange(4, dtype=np.int32))

        @amp.kernel
        def double(idx, a):
            a[idx] *= 2

        amp.parallel_for_each(a.extent, double, a)
        print(np.asarray(a), amp.accelerator().engine)
        """,
        VKAMP_ENGINE="vulkan",
        VKAMP_ACCELERATOR=None,
    )
    assert done.stdout == "[0 2 4 6] vulkan\n"


def test_without_kompute_cpu_drivers_are_reached_directly(script):
    done = script(
        """
        import sys
        sys.modules["kp"] = None
        import vkamp as amp
        print(sorted({each.engine for each in amp.accelerator.get_all()}), amp.accelerator("swiftshader").device_path)
        """,
        VKAMP_ENGINE=None,
        VKAMP_ACCELERATOR=None,
    )
    assert without_numbers(done.stdout) == "['cpu', 'reference', 'vulkan'] vulkan:N\n"


def test_a_program_where_kompute_is_not_installed(script):
    """Without kp, the default engine and the list of devices work; a request for Kompute is an error."""
    done = script(
        """
        import importlib.abc, sys

        # No folder has it, as where it is not installed.
        finder = next(each for each in sys.meta_path if getattr(each, "__name__", "") == "PathFinder")
        found = finder.find_spec
        class Folders(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                return None if name.partition(".")[0] == "kp" else found(name, path, target)
        sys.meta_path[sys.meta_path.index(finder)] = Folders()

        import numpy as np
        import vkamp as amp
        from vkamp import algorithms

        for device in ("swiftshader", "llvmpipe"):
            view = amp.accelerator(device).default_view
            a = amp.array_view(np.arange(4, dtype=np.int32))

            @amp.parallel_for_each(view, a.extent)
            def _(idx):
                a[idx] *= 2

            print(view.accelerator.engine, np.asarray(a), int(algorithms.reduce(a, accelerator_view=view)))
        try:
            amp.accelerator("llvmpipe", engine="kompute").default_view
            amp.array(4, amp.int32, amp.accelerator("llvmpipe", engine="kompute").default_view)
        except amp.AmpError as error:
            print(error)
        print("kp" in sys.modules)
        """,
        VKAMP_ENGINE=None,
        VKAMP_ACCELERATOR=None,
    )
    assert done.stdout == (
        "vulkan [0 2 4 6] 12\nvulkan [0 2 4 6] 12\n"
        "the Python package kp (Kompute) does not load (No module named 'kp'): pip install kp, or use the other engine "
        "(VKAMP_ENGINE=vulkan)\nFalse\n"
    )


def test_without_a_package_for_any_engine(script):
    done = script(
        """
        import sys
        sys.modules["kp"] = sys.modules["vulkan"] = None
        import vkamp as amp

        @amp.kernel
        def nothing(idx):
            pass

        try:
            amp.parallel_for_each(4, nothing)
        except amp.UnsupportedFeatureError as error:
            print(error)
        amp.parallel_for_each(amp.accelerator("reference").default_view, amp.extent(4), nothing)
        """,
        VKAMP_ENGINE=None,
        VKAMP_ACCELERATOR=None,
    )
    assert "runs no kernels, and no other was found: the Python package vulkan is missing" in done.stdout
    assert done.stdout.endswith(": pip install vulkan\n")


AS_A_GPU = """
    import dataclasses
    from vkamp.run import devices

    def as_gpus(found=devices.vulkan_devices):
        return lambda **how: [dataclasses.replace(each, kind="discrete") for each in found(**how)]

    devices.vulkan_devices = as_gpus()
    import numpy as np
    import vkamp as amp

    @amp.kernel
    def double(idx, a):
        a[idx] *= 2

    """
ON_A_GPU = """
    a = amp.array(amp.extent(4), amp.int32, np.arange(4, dtype=np.int32))
    amp.parallel_for_each(a.extent, double, a)
    where = a.accelerator_view.accelerator
    print(np.asarray(a), where.engine, where.device_path, amp.accelerator() == where)
    """


@pytest.mark.parametrize(
    ("value", "before", "expected"),
    [
        (None, "", "vulkan vulkan:N"),
        ("auto", "", "vulkan vulkan:N"),
        ("kompute", "", "kompute vulkan:N"),
        (None, "from vkamp.run.vulkan import device; device.Api = refuse", "kompute vulkan:N"),
    ],
    ids=["default", "auto", "kompute", "can't be opened"],
)
def test_the_engine_of_a_gpu(script, value, before, expected):
    refuse = """
    def refuse(info):
        raise amp.AmpError("out of order")

    """
    done = script(
        textwrap.dedent(AS_A_GPU) + textwrap.dedent(refuse) + before + "\n" + textwrap.dedent(ON_A_GPU),
        VKAMP_ENGINE=value,
        VKAMP_ACCELERATOR="swiftshader",
    )
    assert without_numbers(done.stdout) == f"[0 2 4 6] {expected} True\n"


def test_a_gpu_that_no_engine_opens_says_what_the_direct_engine_says(script):
    done = script(
        textwrap.dedent(AS_A_GPU)
        + textwrap.dedent(
            """
            def refuse(*_):
                raise amp.AmpError("out of order")

            from vkamp.run import kompute_device
            from vkamp.run.vulkan import device
            device.Api = kompute_device._open_manager = refuse
            try:
                amp.array(amp.extent(4), amp.int32)
            except amp.AmpError as error:
                print(error)
            """
        ),
        VKAMP_ENGINE=None,
        VKAMP_ACCELERATOR="swiftshader",
    )
    assert done.stdout == "out of order\n"


def test_get_all_has_every_kind():
    found = accelerator.get_all()
    paths = [a.device_path for a in found]
    assert len(paths) == len(set(paths))
    assert {"reference", "cpu", "vulkan:0", "vulkan:1"} <= set(paths)
    assert accelerator() in found


@pytest.mark.parametrize("path", ["nonsense", "99", "-1", "", "vulkan:99", "reference:3", "cpu:0"])
@pytest.mark.accelerators("llvmpipe")
def test_an_unknown_name_lists_what_there_is(path):
    with pytest.raises(amp.AmpError) as caught:
        accelerator(path)
    text = str(caught.value)
    assert text.startswith(f"accelerator({path!r}) names no accelerator: ")
    for part in ("SwiftShader", "llvmpipe", '"reference"', '"cpu"'):
        assert part in text
    with pytest.raises(amp.AmpError, match="and no engine but kompute or vulkan after the @"):
        accelerator("llvmpipe@kompte")


@pytest.mark.accelerators("llvmpipe")
def test_an_ambiguous_name_lists_what_there_is():
    with pytest.raises(amp.AmpError, match=r"accelerator\('e'\) is ambiguous"):
        accelerator("e")


def test_a_path_of_another_type():
    with pytest.raises(TypeError):
        accelerator(1.5)


def test_properties(info):
    found = accelerator(info.name)
    assert found.is_emulated == (info.kind == "cpu")
    assert found.is_debug == bool(os.environ.get("VK_INSTANCE_LAYERS"))
    assert not found.has_display
    assert found.version >> 16 == 1
    assert (found.dedicated_memory == 0) == found.is_emulated
    # Kompute enables no features.
    assert found.supports_double_precision == (found.engine == "vulkan" and "float64" in info.features)
    assert found.supports_limited_double_precision == found.supports_double_precision
    assert found.supports_cpu_shared_memory == (info.kind in ("cpu", "integrated"))
    assert found.limits == info.limits
    assert found != accelerator("cpu")
    assert found != "cpu"
    assert accelerator("cpu").limits is None


def test_views(info):
    owner = accelerator(info.name)
    view = owner.default_view
    assert view == owner.default_view == accelerator_view(view)
    assert hash(view) == hash(owner.default_view)
    assert view.accelerator == owner
    assert view.queuing_mode is amp.queuing_mode_automatic
    assert not view.is_auto_selection
    assert (view.version, view.is_debug) == (owner.version, owner.is_debug)
    other = owner.create_view()
    assert other != view
    assert other != owner.create_view()
    assert other.queuing_mode is amp.queuing_mode_automatic
    immediate = owner.create_view(amp.queuing_mode_immediate)
    assert immediate.queuing_mode is amp.queuing_mode_immediate
    assert immediate._queue.immediate
    assert info.name not in repr(view)
    assert owner.device_path in repr(view)


@pytest.mark.parametrize("wanted", [None, "kompute", "vulkan"])
def test_pickled_accelerators_and_views(info, wanted):
    owner = accelerator(info.index, engine=wanted)
    assert pickle.loads(pickle.dumps(owner)) == owner == copy.deepcopy(owner)
    view = owner.default_view
    assert pickle.loads(pickle.dumps(view)) == view == copy.deepcopy(view)
    own = owner.create_view(amp.queuing_mode_immediate)
    assert copy.copy(own) == own == copy.deepcopy([own])[0]
    other, again = pickle.loads(pickle.dumps([own, own]))
    assert other == again != own
    assert (other.accelerator, other.queuing_mode) == (owner, amp.queuing_mode_immediate)


def test_pickled_views_without_a_device():
    for path in ("reference", "cpu"):
        view = accelerator(path).default_view
        assert pickle.loads(pickle.dumps(view)) == view
    auto = accelerator.get_auto_selection_view()
    assert pickle.loads(pickle.dumps(auto)).is_auto_selection


def test_a_view_for_another_process(info):
    program = """
        import pickle, sys
        import numpy as np
        import vkamp as amp

        view = pickle.load(sys.stdin.buffer)
        values = amp.array(amp.extent(5), amp.int32, range(5), accelerator_view=view)
        @amp.parallel_for_each(view, values.extent)
        def _(idx):
            values[idx] *= 3
        print(view.accelerator.device_path, view.queuing_mode.value, np.asarray(values).tolist())
        """
    view = accelerator(info.index).create_view(amp.queuing_mode_immediate)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(textwrap.dedent(program))
        ran = subprocess.run([sys.executable, path], input=pickle.dumps(view), capture_output=True, check=True)
    assert ran.stdout.decode().strip() == f"{view.accelerator.device_path} immediate [0, 3, 6, 9, 12]"


def test_an_accelerator_view_is_not_made_from_nothing():
    with pytest.raises(TypeError):
        accelerator_view("cpu")


def test_the_auto_selection_view():
    view = accelerator.get_auto_selection_view()
    assert view.is_auto_selection
    assert view == accelerator().default_view
    assert not accelerator().default_view.is_auto_selection


@pytest.mark.parametrize("path", ["swiftshader", "reference", "cpu"])
def test_memory_of_a_view(path):
    view = accelerator(path).default_view
    storage = view.allocate(10)
    storage.upload(0, np.arange(10, dtype=np.uint8))
    storage.upload(3, np.full(2, 77, np.uint8))
    assert storage.nbytes == 10
    assert storage.download(2, 4).tolist() == [2, 77, 77, 5]
    view.flush()
    view.wait()


def test_cpu_runs_no_kernel():
    view = accelerator("cpu").create_view()
    assert not view.runs_kernels
    with pytest.raises(amp.UnsupportedFeatureError, match="stores data but runs no kernels"):
        _ = view._queue
    with pytest.raises(amp.AmpError, match="the memory has 4"):
        view.allocate(4).download(2, 3)
    assert host_location() == accelerator("cpu").default_view


def test_the_default_location_is_the_default_view():
    assert default_location() == accelerator().default_view


def test_a_marker_waits_for_the_launches_before_it(runner):
    view = accelerator(runner.queue.info.name).create_view()
    other = type(runner)(view._queue)
    a = other.buffer([1, 2])
    other.launch("add", [a], [1])
    marker = view.create_marker()
    assert marker.valid()
    marker.wait()
    assert view.statistics.dispatches == 1
    marker.get()
    assert runner.read(a).tolist() == [2, 3]


@pytest.mark.usefixtures("gathering")
def test_a_marker_does_not_wait_for_later_launches(runner):
    view = accelerator(runner.queue.info.name).create_view()
    other = type(runner)(view._queue)
    a, b = other.buffer([1, 2]), other.buffer([3])
    other.launch("add", [a], [1])
    wait = view._queue.mark()
    other.launch("add", [b], [1])
    wait()
    assert view.statistics.dispatches == 1
    view.wait()
    assert view.statistics.dispatches == 2


def test_a_marker_on_the_cpu_is_ready():
    marker = accelerator("cpu").default_view.create_marker()
    assert marker.wait_for(0)


def default_of(script, **environment):
    return script(
        """
        import vkamp as amp
        try:
            print(amp.accelerator().description)
            print(amp.accelerator("default") == amp.accelerator())
        except amp.AmpError as error:
            print(error)
        """,
        **environment,
    ).stdout.splitlines()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "SwiftShader Device (Subzero)"),
        ("", "SwiftShader Device (Subzero)"),
        ("default", "SwiftShader Device (Subzero)"),
        ("llvmpipe", "llvmpipe"),
        ("SWIFT", "SwiftShader Device (Subzero)"),
        ("reference", "reference"),
        ("cpu", "CPU accelerator"),
    ],
)
@pytest.mark.accelerators("llvmpipe")
def test_the_variable_names_the_default(script, value, expected):
    lines = default_of(script, VKAMP_ACCELERATOR=value)
    assert lines[0].startswith(expected)
    assert lines[1] == "True"


@pytest.mark.parametrize("value", ["nvidia h9000", "77"])
def test_a_wrong_variable_lists_what_there_is(script, value):
    lines = default_of(script, VKAMP_ACCELERATOR=value)
    assert lines[0].startswith(f"VKAMP_ACCELERATOR={value} names no accelerator")
    assert any("SwiftShader" in line for line in lines)
    assert any('"reference"' in line for line in lines)


def test_how_to_get_swiftshader(monkeypatch):
    monkeypatch.setattr(libraries.sys, "platform", "linux")
    text = libraries.swiftshader_package()
    assert "Chromium" in text and "apt-get download chromium-common" in text
    monkeypatch.setattr(libraries.sys, "platform", "win32")
    assert libraries.swiftshader_package() in text and "apt-get" not in libraries.swiftshader_package()


@pytest.mark.accelerators("llvmpipe")
def test_swiftshader_that_is_not_there_says_where_to_get_it(monkeypatch):
    found = [info for info in accelerators._vulkan_devices(None) if "SwiftShader" not in info.name]
    monkeypatch.setattr(accelerators, "_vulkan_devices", lambda engine, search_browsers=False: found)
    with pytest.raises(amp.AmpError) as caught:
        accelerator("swiftshader")
    assert str(caught.value).endswith(f"runs no kernels\n{libraries.swiftshader_package()}")
    with pytest.raises(amp.AmpError, match="runs no kernels$"):
        accelerator("abacus")


@pytest.mark.accelerators("llvmpipe")
def test_set_default_works_once(script):
    done = script(
        """
        import vkamp as amp
        try:
            amp.accelerator.set_default("nonsense")
        except amp.AmpError:
            print("refused")
        amp.accelerator()
        print(amp.accelerator.set_default("llvmpipe"), amp.accelerator.set_default("reference"))
        print(amp.accelerator().description[:8])
        """,
        VKAMP_ACCELERATOR=None,
    )
    assert done.stdout == "refused\nTrue False\nllvmpipe\n"


def test_without_a_driver_the_default_stores_and_a_launch_says_what_to_install(script):
    done = script(
        """
        import vkamp as amp
        print([a.device_path for a in amp.accelerator.get_all()], amp.accelerator().device_path)
        try:
            amp.accelerator().default_view._queue
        except amp.UnsupportedFeatureError as error:
            print(error)
        try:
            amp.accelerator("swiftshader")
        except amp.AmpError as error:
            print(error)
        """,
        VK_ADD_DRIVER_FILES=None,
        VK_DRIVER_FILES="/nonexistent",
        VKAMP_ACCELERATOR=None,
    )
    first, second, third = done.stdout.splitlines()
    assert first == "['reference', 'cpu'] cpu"
    assert "runs no kernels, and no other was found: there is no Vulkan device" in second
    assert "mesa-vulkan-drivers" in second
    assert third.startswith("there is no Vulkan device on this machine")


def test_the_default_view_follows_the_variables(monkeypatch):
    """What is remembered of the last look is not taken for the answer to another question."""
    from vkamp.run.accelerators import default_view

    seen = []
    for name, engine in (
        ("reference", ""),
        ("reference", ""),
        ("cpu", ""),
        ("swiftshader", ""),
        ("swiftshader", "kompute"),
    ):
        monkeypatch.setenv("VKAMP_ACCELERATOR", name)
        monkeypatch.setenv("VKAMP_ENGINE", engine)
        view = default_view()
        assert view == amp.accelerator().default_view
        assert default_view() == view
        seen.append(view.accelerator.engine)
    assert seen == ["reference", "reference", "cpu", "vulkan", "kompute"]
    monkeypatch.setenv("VKAMP_ACCELERATOR", "abacus")
    for _ in range(2):
        with pytest.raises(amp.AmpError, match="VKAMP_ACCELERATOR=abacus names no accelerator"):
            default_view()
