"""Device discovery, where there are drivers, broken ones, none, or no loader."""

from __future__ import annotations

import dataclasses
import json
import os
import textwrap
from pathlib import Path

import pytest

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.run import devices, libraries
from vkamp.run.compute_units import ComputeUnits
from vkamp.run.kompute import KomputeEngine
from vkamp.run.workarounds import has_quirk, max_unrolled

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
SHOW = """
    from vkamp.run import devices, libraries
    from vkamp.errors import AmpError
    {before}
    try:
        for info in devices.vulkan_devices():
            print(info.index, info.name)
    except AmpError as error:
        print("AmpError:", error)
    print([(step.what, step.ok) for step in libraries.steps()])
    """
NO_BROWSER = "libraries.browser_patterns = lambda *_: []"


def show(script, before=NO_BROWSER, **environment):
    return script(SHOW.format(before=before), **environment).stdout


@pytest.fixture(scope="module")
def swiftshader_folder():
    """The folder that holds SwiftShader in this environment."""
    paths = os.environ["VK_ADD_DRIVER_FILES"].split(os.pathsep)
    return next(Path(p).parent for p in paths if p.endswith("vk_swiftshader_icd.json"))


def test_what_is_known_of_a_device(info):
    assert info.kind in ("cpu", "integrated", "discrete")
    assert info.api_version >= (1, 1, 0)
    assert len(info.uuid) == 32
    assert info.driver
    assert info.memory_bytes > 1 << 28
    assert info.engine_features == frozenset()
    assert info.limits.tile_threads >= 128
    assert info.limits.shared_bytes >= 16384
    assert info.limits.push_bytes >= 128
    assert info.limits.buffer_bytes % 4 == 0
    assert info.limits.subgroup_size in (4, 8, 16, 32, 64)
    assert "float64" in info.features or "llvmpipe" not in info.name


def test_importing_asks_nothing(script):
    done = script(
        """
        import sys
        import vkamp.run.accelerators, vkamp.run.kompute, vkamp.run.kompute_queue, vkamp.run.vulkan.queue
        print(sorted({"kp", "vulkan"} & set(sys.modules)))
        """
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("platform", ["", "darwin"])
def test_drivers_that_need_consent_are_found(script, tmp_path, platform):
    """The loader hides drivers like MoltenVK from programs that do not consent to them."""
    manifest = json.loads(Path(LAVAPIPE).read_text())
    manifest["ICD"]["is_portability_driver"] = True
    (tmp_path / "portability.json").write_text(json.dumps(manifest))
    done = script(
        """
        import sys
        import numpy as np
        import vkamp as amp
        from vkamp.run import devices

        if PLATFORM:
            sys.platform = PLATFORM
            devices.vulkan_devices()
            sys.platform = "linux"
        print([each.device_path for each in amp.accelerator.get_all() if each.device_path.startswith("vulkan")])
        a = amp.array_view(np.arange(5, dtype=np.int32))

        @amp.parallel_for_each(a.extent)
        def _(idx):
            a[idx] += 10

        print(np.asarray(a))
        """.replace("PLATFORM", repr(platform)),
        VK_ADD_DRIVER_FILES=None,
        VK_DRIVER_FILES=str(tmp_path / "portability.json"),
        VKAMP_ENGINE="vulkan",
    )
    assert done.stdout == "['vulkan:0']\n[10 11 12 13 14]\n"


def test_kompute_does_not_open_a_driver_that_lacks_parts_of_vulkan(info):
    partial = dataclasses.replace(info, is_partial=True)
    with pytest.raises(AmpError, match="lacks parts of Vulkan: use engine='vulkan'"):
        KomputeEngine().open(partial)


def test_no_driver(script):
    output = show(script, VK_ADD_DRIVER_FILES=None, VK_DRIVER_FILES="/nonexistent/none.json")
    assert "AmpError: there is no Vulkan device on this machine" in output
    assert "VK_DRIVER_FILES=/nonexistent/none.json names no driver that works" in output
    assert "mesa-vulkan-drivers" in output
    assert "('SwiftShader of a browser', True)" in output


def test_no_driver_and_no_browser(script, tmp_path):
    # A file that is no manifest hides the installed drivers from the loader.
    before = f"{NO_BROWSER}\nlibraries.restricting_variable = lambda: None".replace("\n", "\n    ")
    output = show(script, before, VK_ADD_DRIVER_FILES=None, VK_DRIVER_FILES="/nonexistent")
    assert "the Vulkan loader finds no driver" in output
    assert "('SwiftShader of a browser', False)" in output


BROKEN = {
    "no JSON": "{",
    "cut off": '{"ICD": {"library_path": "libvulkan_lvp',
    "empty": "",
    "something else": "[]",
    "no library": '{"file_format_version": "1.0.0", "ICD": {"library_path": "./missing.so"}}',
    "no driver": '{"file_format_version": "1.0.0", "ICD": {"library_path": "libc.so.6"}}',
}


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_driver_file_does_not_hide_the_others(script, tmp_path, broken):
    (tmp_path / "broken.json").write_text(broken, encoding="utf-8")
    files = os.pathsep.join([str(tmp_path / "broken.json"), LAVAPIPE])
    assert show(script, VK_ADD_DRIVER_FILES=None, VK_DRIVER_FILES=files).startswith("0 llvmpipe")


@pytest.mark.accelerators("llvmpipe")
def test_a_broken_file_among_the_installed_drivers(script, tmp_path):
    folder = tmp_path / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    done = script(
        """
        from conftest import *
        runner = Runner(KomputeEngine().open(device("llvmpipe")))
        a = runner.buffer([5, 6])
        runner.launch("add", [a], [4])
        device("swiftshader")
        print(runner.read(a), [s.what for s in libraries.steps() if "broken.json" in s.result])
        """,
        XDG_DATA_HOME=str(tmp_path),
    )
    assert done.stdout == "[ 9 10] ['driver manifests']\n"


def _browser(tmp_path, folder, name="one"):
    """A browser's folder with SwiftShader in it, and a broken one that sorts before."""
    good = tmp_path / "browsers" / name
    good.mkdir(parents=True)
    for file in folder.iterdir():
        (good / file.name).symlink_to(file)
    bad = tmp_path / "browsers" / "a-broken-one"
    bad.mkdir()
    manifest = {"file_format_version": "1.0.0", "ICD": {"library_path": "./missing.so"}}
    (bad / "vk_swiftshader_icd.json").write_text(json.dumps(manifest), encoding="utf-8")
    return f"libraries.browser_patterns = lambda *_: [{str(tmp_path / 'browsers' / '*')!r}]"


@pytest.fixture
def empty_machine(script, tmp_path, swiftshader_folder):
    """A machine whose only driver is the SwiftShader of a browser."""
    patch = _browser(tmp_path, swiftshader_folder)

    def run(text):
        # The loader has no switch for "no installed drivers" that leaves drivers to be added.
        before = f"""
            import os
            from vkamp.run import devices, libraries
            libraries.restricting_variable = lambda: None
            def variables():
                added = libraries.known.added
                return {{"VK_DRIVER_FILES": str(added)}} if added else {{}}
            libraries._driver_variables = variables
            {patch}
            """
        return script(
            textwrap.dedent(before) + textwrap.dedent(text),
            VK_ADD_DRIVER_FILES=None,
            VK_DRIVER_FILES="/nonexistent",
        )

    return run


@pytest.mark.accelerators("llvmpipe")
def test_swiftshader_of_a_browser_is_found_and_runs(empty_machine):
    done = empty_machine(
        """
        from conftest import *
        runner = Runner(KomputeEngine().open(device("swiftshader")))
        a = runner.buffer([5, 6])
        runner.launch("add", [a], [4])
        print([d.name for d in devices.vulkan_devices()], runner.read(a), os.environ["VK_DRIVER_FILES"])
        print([s.result for s in libraries.steps() if not s.ok][-1])
        """
    )
    first, second = done.stdout.splitlines()
    assert first == "['SwiftShader Device (Subzero)'] [ 9 10] /nonexistent"
    assert "a-broken-one" in second
    assert "missing.so is missing" in second


@pytest.mark.accelerators("llvmpipe")
def test_swiftshader_is_added_beside_other_drivers(script, tmp_path, swiftshader_folder):
    patch = _browser(tmp_path, swiftshader_folder)
    done = script(
        f"""
        import os
        from vkamp.run import devices, libraries
        {patch}
        from vkamp.run.accelerators import accelerator
        print(devices.vulkan_devices()[0].name[:8], len(devices.vulkan_devices()))
        print(accelerator("swiftshader").description, os.environ.get("VK_ADD_DRIVER_FILES"))
        """,
        VK_ADD_DRIVER_FILES=None,
    )
    assert done.stdout == "llvmpipe 1\nSwiftShader Device (Subzero) None\n"


def test_no_loader(script):
    done = script(
        """
        import sys
        from vkamp.errors import AmpError
        from vkamp.run import devices, libraries
        from vkamp.run.accelerators import accelerator

        class NoLoader:
            def find_spec(self, name, path=None, target=None):
                if name == "vulkan":
                    raise OSError("Cannot find Vulkan SDK version")

        sys.meta_path.insert(0, NoLoader())
        for _ in range(2):
            try:
                devices.vulkan_devices()
            except AmpError as error:
                print(error)
        print([a.device_path for a in accelerator.get_all()], accelerator().device_path)
        """
    )
    first, second, third = done.stdout.splitlines()
    assert first == second
    assert first.startswith("there is no Vulkan loader on this machine")
    assert "libvulkan1" in first
    assert third.endswith("'cpu'] cpu")


def test_the_binding_is_missing(script):
    done = script(
        """
        import sys
        sys.modules["vulkan"] = None
        from vkamp.errors import AmpError
        from vkamp.run import devices, libraries
        try:
            devices.vulkan_devices()
        except AmpError as error:
            print(error)
        """
    )
    assert "pip install vulkan" in done.stdout


@pytest.mark.accelerators("llvmpipe")
def test_kompute_is_missing(script):
    done = script(
        """
        import sys
        sys.modules["kp"] = None
        from vkamp.errors import AmpError
        from conftest import *
        try:
            KomputeEngine().open(device("llvmpipe"))
        except AmpError as error:
            print(error)
        """
    )
    assert "the Python package kp (Kompute) does not load" in done.stdout
    assert "VKAMP_ENGINE=vulkan" in done.stdout


@pytest.mark.accelerators("llvmpipe")
def test_layers_stay_out_and_the_environment_is_put_back(script):
    done = script(
        """
        import os
        before = dict(os.environ)
        from conftest import *
        KomputeEngine().open(device("llvmpipe")).allocate(4)
        print(before == dict(os.environ))
        print(any("alidation" in line for line in open("/proc/self/maps")))
        """,
        VK_LOADER_LAYERS_DISABLE=None,
    )
    assert done.stdout == "True\nFalse\n"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_browsers_are_looked_for_everywhere(platform):
    environment = {
        "LOCALAPPDATA": "C:\\Users\\me\\AppData\\Local",
        "PROGRAMFILES": "C:\\Program Files",
    }
    patterns = libraries.browser_patterns(platform, environment, Path("/home/me"))
    assert len(patterns) == len(set(patterns)) > 1
    expected = {
        "linux": "/opt/google/chrome*",
        "darwin": "/Applications/*.app/Contents/Frameworks/*.framework/Versions/*/Libraries",
        "win32": "C:\\Program Files\\Google\\Chrome*\\Application\\*",
    }
    assert expected[platform] in patterns


def test_rank_prefers_hardware_then_exact_loops_then_memory(info):
    def made(index, kind, name="a", memory=1):
        return dataclasses.replace(info, index=index, kind=kind, name=name, memory_bytes=memory)

    wanted = [
        made(6, "discrete", memory=9),
        made(3, "discrete", memory=8),
        made(5, "discrete", memory=8),
        made(4, "integrated", memory=99),
        made(2, "virtual"),
        made(1, "cpu", "SwiftShader"),
        made(0, "cpu", "llvmpipe", memory=99),
    ]
    for order in (wanted, wanted[::-1], wanted[3:] + wanted[:3]):
        assert sorted(order, key=devices.rank) == wanted


@pytest.mark.parametrize(
    ("name", "version", "wait"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa 22.3.6 (LLVM 15.0.6)", True),
        ("llvmpipe (LLVM 16.0.0, 256 bits)", "Mesa 23.3.1 (LLVM 16.0.0)", True),
        ("llvmpipe (LLVM 19.1.1, 256 bits)", "Mesa 24.0.0 (LLVM 19.1.1)", False),
        ("llvmpipe", "of its own", True),
        ("AMD Radeon (RADV NAVI21)", "Mesa 22.3.6", False),
        ("SwiftShader Device (Subzero)", "SwiftShader driver", False),
    ],
)
def test_which_drivers_make_barriers_of_fences(info, name, version, wait):
    assert has_quirk(dataclasses.replace(info, name=name, driver=version), "fences_wait") is wait


@pytest.mark.parametrize(
    ("name", "kind", "most"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "cpu", 1 << 14),
        ("SwiftShader Device (Subzero)", "cpu", 128),
        ("AMD Radeon (RADV NAVI21)", "discrete", None),
        ("reference", "reference", None),
    ],
)
def test_how_much_drivers_unroll(info, name, kind, most):
    assert max_unrolled(dataclasses.replace(info, name=name, kind=kind)) == most


def test_compute_units_of_a_cpu_driver_are_processors() -> None:
    for info in devices.vulkan_devices():
        if info.kind == "cpu":
            assert info.limits.compute_units == len(os.sched_getaffinity(0))
    assert amp.accelerator("reference").limits.compute_units is None


@pytest.mark.parametrize(
    ("extensions", "fields", "units"),
    [
        ({"VK_NV_shader_sm_builtins", "VK_KHR_other"}, {"shaderSMCount": 132, "shaderWarpsPerSM": 64}, 132),
        ({"VK_AMD_shader_core_properties", "VK_AMD_shader_core_properties2"}, {"activeComputeUnitCount": 84}, 84),
        (
            {"VK_AMD_shader_core_properties"},
            {"shaderEngineCount": 4, "shaderArraysPerEngineCount": 2, "computeUnitsPerShaderArray": 9},
            72,
        ),
        ({"VK_ARM_shader_core_builtins"}, {"shaderCoreCount": 10}, 10),
        ({"VK_NV_shader_sm_builtins"}, {}, None),
        ({"VK_KHR_other"}, {}, None),
    ],
)
def test_compute_units_by_extensions(extensions: set[str], fields: dict[str, int], units: int | None) -> None:
    """The struct of the first extension that the device has, filled as a driver would."""
    found = ComputeUnits(libraries.load_vulkan(), frozenset(extensions))
    assert len(found.parts) == (extensions != {"VK_KHR_other"})
    for name, value in fields.items():
        setattr(found.parts[0], name, value)
    assert found.count(is_cpu=False) == units
