"""The plugin as users see it: which tests run where, the report on the others, golden shaders, check mode."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

import vkamp
from tests.testing.conftest import HEAD, ROOT

KERNELS = """
@amp.kernel
def doubled(i, values, out):
    out[i] = values[i] * 2

def pair(n=3):
    return amp.array_view(np.ones(3, np.int32)), amp.array_view(np.zeros(n, np.int32))
"""

DOUBLED = (
    KERNELS
    + """
def test_doubled(accelerator_view):
    values, out = pair()
    compare(accelerator_view, out.extent, doubled, values, out)
    assert np.asarray(out).tolist() == [2, 2, 2]
"""
)

ABSENT = """\
vkamp: some of the accelerators for the tests are missing:
- nosuch: accelerator('nosuch') names no accelerator: give an index, or part of a name that only one has. \
The accelerators:
"""
INSTALL = """\
Install what is missing, or name others with --vkamp-accelerators or the ini option vkamp_accelerators.
"""


def outcomes(result) -> list[str]:
    """The tests of a run with -v, with what came of them."""
    found = re.findall(r"^test_\w+\.py::(.+?) ([A-Z]{4,})(?: |$)", result.text, re.MULTILINE)
    return sorted(f"{name} {word.lower()}" for name, word in found)


def test_modules_of_a_run_remain(project):
    made = project("import vkamp.linalg.jacobi\n\ndef test_nothing():\n    pass\n").run()
    assert made.code == 0
    assert sys.modules["vkamp.linalg.jacobi"] is vkamp.linalg.jacobi


# -- which accelerators --------------------------------------------------------------------------------------------


@pytest.mark.vkamp_accelerators("swiftshader", "llvmpipe")
def test_every_device_of_the_machine_by_default(project, accelerator, request):
    made = project(DOUBLED).run("-v")
    assert made.code == 0
    name = request.node.callspec.params["accelerator"].partition("@")[0]
    assert f"test_doubled[{name}] passed" in outcomes(made)
    assert "test_doubled[reference] passed" in outcomes(made)
    driver = accelerator._info.driver
    assert f"\nvkamp: {name}: {accelerator.description}, driver {driver}, engine vulkan\n" in made.text
    assert "\nvkamp: reference: the IR run in Python, no driver\n" in made.text


def test_those_of_the_command_line(project, accelerator, request):
    name = request.node.callspec.params["accelerator"]
    made = project(DOUBLED).run("-v", "--vkamp-accelerators", f"{name}, {name}")
    assert (made.code, outcomes(made)) == (0, [f"test_doubled[{name}] passed"])


def test_those_of_the_configuration(project):
    made = project(DOUBLED)
    made.write("pytest.ini", "[pytest]\nvkamp_accelerators = reference\n")
    assert outcomes(made.run("-v")) == ["test_doubled[reference] passed"]


@pytest.mark.vkamp_accelerators("swiftshader")
def test_the_command_line_goes_before_the_configuration(project, accelerator):
    made = project(DOUBLED)
    (made.folder / "pytest.ini").unlink()
    made.write("pyproject.toml", '[tool.pytest.ini_options]\nvkamp_accelerators = ["reference"]\n')
    assert outcomes(made.run("-v")) == ["test_doubled[reference] passed"]
    found = outcomes(made.run("-v", "--vkamp-accelerators", "swiftshader"))
    assert found == ["test_doubled[swiftshader] passed"]
    found = outcomes(made.run("-v", "--vkamp-accelerators", "all"))
    assert {"test_doubled[reference] passed", "test_doubled[swiftshader] passed"} <= set(found)


@pytest.mark.vkamp_accelerators("swiftshader")
def test_the_engine_behind_an_at(project, accelerator):
    made = project(DOUBLED + "    assert accelerator_view.accelerator.engine == 'vulkan'\n")
    result = made.run("-v", "--vkamp-accelerators", "swiftshader@vulkan")
    assert outcomes(result) == ["test_doubled[swiftshader@vulkan] passed"]
    assert f"{accelerator.description}, driver {accelerator._info.driver}, engine vulkan\n" in result.text


def test_without_any_driver(project, tmp_path):
    nothing = str(tmp_path / "no.json")
    settings = {"VK_DRIVER_FILES": nothing, "VK_ADD_DRIVER_FILES": "", "HOME": str(tmp_path)}
    made = project(DOUBLED)
    result = made.start("-v", **settings)
    if outcomes(result) != ["test_doubled[reference] passed"]:
        # A browser of this machine has SwiftShader, which vkamp finds.
        assert outcomes(result) == ["test_doubled[reference] passed", "test_doubled[swiftshader] passed"]
        return
    assert (
        "\nvkamp: reference: the IR run in Python, no driver\n"
        "vkamp: there is no Vulkan device here: all tests run on the reference accelerator\n"
    ) in result.text


# -- what is missing, and what is wrong ----------------------------------------------------------------------------


def test_an_absent_accelerator_ends_the_session(project):
    made = project(DOUBLED + "\ndef test_plain(): pass\n").run("--vkamp-accelerators", "reference,nosuch")
    assert made.code == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {ABSENT}" in made.text
    assert INSTALL in made.text
    assert '  "cpu"  stores data but runs no kernels\n' in made.text
    assert "passed" not in made.text


def test_an_absent_accelerator_of_the_configuration(project):
    made = project(DOUBLED)
    made.write("pytest.ini", "[pytest]\nvkamp_accelerators = reference nosuch\n")
    result = made.run()
    assert result.code == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {ABSENT}" in result.text


def test_an_absent_accelerator_with_xdist(project):
    made = project(DOUBLED)
    made.write("test_more.py", HEAD + DOUBLED)
    result = made.start("-p", "xdist.plugin", "-n", "2", "--vkamp-accelerators", "reference,nosuch")
    assert result.code == pytest.ExitCode.TESTS_FAILED
    assert "ERROR collecting test_" in result.text
    assert ABSENT in result.text
    assert INSTALL in result.text
    assert "INTERNALERROR" not in result.text
    assert result.last == "1 error", "said once"


def test_the_accelerator_that_runs_nothing(project):
    made = project(DOUBLED).run("--vkamp-accelerators", "cpu")
    assert made.code == pytest.ExitCode.USAGE_ERROR
    assert "\n- cpu: 'cpu' stores data but runs no kernels\n" in made.text


def test_an_absent_accelerator_that_no_test_needs(project):
    made = project("\ndef test_plain(): pass\n").run("--vkamp-accelerators", "nosuch")
    assert made.last == "1 passed"


@pytest.mark.parametrize("names", ["", "reference,,swiftshader"])
def test_an_empty_name(project, names):
    made = project(DOUBLED).run(f"--vkamp-accelerators={names}")
    assert made.code != 0
    assert "--vkamp-accelerators: a name is empty" in made.text


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("vkamp_accelerators()", "vkamp_accelerators takes names of accelerators"),
        ("vkamp_accelerators(3)", "vkamp_accelerators takes names of accelerators"),
        ("vkamp_requires()", "vkamp_requires takes names; the names are "),
        (
            "vkamp_requires('float65')",
            "vkamp_requires does not know float65; the names are cooperative_matrix, denormals, ",
        ),
    ],
)
def test_a_wrong_mark(project, mark, message):
    made = project(f"\n@pytest.mark.{mark}\ndef test_one(accelerator): pass\n")
    result = made.run("--vkamp-accelerators", "reference", "--strict-markers")
    assert result.code == pytest.ExitCode.INTERRUPTED
    assert f"\ntest_kernels.py::test_one: {message}" in result.text


def test_requirements_without_an_accelerator(project):
    made = project("\n@pytest.mark.vkamp_requires('float64')\ndef test_one(): pass\n").run()
    assert made.code == pytest.ExitCode.INTERRUPTED
    assert "test_kernels.py::test_one: vkamp_requires is for tests that take the fixture accelerator\n" in made.text


def test_an_accelerator_asked_for_too_late(project):
    made = project("\ndef test_one(request): request.getfixturevalue('accelerator')\n").run()
    assert made.code == pytest.ExitCode.TESTS_FAILED
    assert (
        "the fixture accelerator must be an argument of the test or of its fixtures: request.getfixturevalue comes "
        "too late to run the test on each accelerator\n"
    ) in made.text


def test_an_accelerator_of_a_test_case(project):
    body = """
import unittest

@pytest.fixture(autouse=True)
def each(accelerator): pass

class Test(unittest.TestCase):
    def test_one(self): pass
"""
    made = project(body).run()
    assert made.code == 1 and "pytest runs a method of a unittest.TestCase only once" in made.text


# -- marks ---------------------------------------------------------------------------------------------------------

MARKED = """
@pytest.mark.vkamp_accelerators("reference")
def test_reference(accelerator): pass

@pytest.mark.vkamp_accelerators("drivers")
def test_drivers(accelerator): pass

@pytest.mark.vkamp_accelerators("subzero", "REFERENCE")
def test_description(accelerator): pass

@pytest.mark.vkamp_accelerators("nvidia", "amd")
def test_gpu(accelerator): pass

@pytest.mark.vkamp_accelerators("nvidia")
def test_without_fixture(): pass
"""


@pytest.mark.vkamp_accelerators("swiftshader")
def test_a_test_for_some_accelerators(project, accelerator):
    made = project(MARKED).run("-v", "--vkamp-accelerators", "swiftshader,reference")
    assert outcomes(made) == [
        "test_description[reference] passed",
        "test_description[swiftshader] passed",
        "test_drivers[swiftshader] passed",
        "test_reference[reference] passed",
    ]
    assert made.last == "4 passed, 2 deselected"
    assert made.section("vkamp: not run") == (
        "on no accelerator of this session:\n"
        "  test_kernels.py::test_gpu (is for nvidia, amd)\n"
        "  test_kernels.py::test_without_fixture (is for nvidia)\n"
    )


REQUIRING = """
@pytest.mark.vkamp_requires("cooperative_matrix")
@pytest.mark.parametrize("n", [1, 2])
def test_matrices(accelerator, n): pass

@pytest.mark.vkamp_requires("long_loops")
def test_long(accelerator): pass

@pytest.mark.vkamp_requires("memory_model", "denormals")
def test_small(accelerator): pass
"""


@pytest.mark.vkamp_accelerators("swiftshader")
def test_a_test_that_needs_a_feature(project, accelerator):
    made = project(REQUIRING).run("-v", "-rs", "--vkamp-accelerators", "swiftshader@kompute")
    assert made.code == 0
    assert outcomes(made) == [
        "test_long[swiftshader@kompute] passed",
        "test_matrices[swiftshader@kompute-1] skipped",
        "test_matrices[swiftshader@kompute-2] skipped",
        "test_small[swiftshader@kompute] skipped",
    ]
    assert f"SKIPPED [2] test_kernels.py:6: {accelerator.description} has no cooperative_matrix\n" in made.text
    assert made.section("vkamp: not run") == (
        "swiftshader@kompute: has no cooperative_matrix:\n"
        "  test_kernels.py::test_matrices\n"
        "swiftshader@kompute: has memory_model, but not through the engine kompute; flushes denormal numbers to 0:\n"
        "  test_kernels.py::test_small\n"
        "on no accelerator of this session:\n"
        "  test_kernels.py::test_matrices (skipped on all)\n"
        "  test_kernels.py::test_small (skipped on all)\n"
    )


@pytest.mark.vkamp_accelerators("llvmpipe")
def test_a_trap(project, accelerator):
    made = project(REQUIRING).run("-v", "-k", "not matrices", "--vkamp-accelerators", "llvmpipe@vulkan,reference")
    assert made.code == 0
    assert "test_long[reference] passed" in outcomes(made)
    assert "test_long[llvmpipe@vulkan] skipped" in outcomes(made)
    assert "test_small[llvmpipe@vulkan] passed" in outcomes(made)
    assert (
        "llvmpipe@vulkan: terminates all loops of a thread after 65,535 iterations in total:\n"
        "  test_kernels.py::test_long\n"
    ) in made.section("vkamp: not run")
    assert "skipped on all" not in made.text


@pytest.mark.vkamp_accelerators("swiftshader")
def test_long_lists_are_cut(project, accelerator):
    text = "".join(
        f"\n@pytest.mark.vkamp_requires('cooperative_matrix')\ndef test_{k:02}(accelerator): pass\n" for k in range(12)
    )
    made = project(text)
    section = made.run("--vkamp-accelerators", "swiftshader").section("vkamp: not run").splitlines()
    assert section[1] == "  test_kernels.py::test_00"
    assert section[10:13] == [
        "  test_kernels.py::test_09",
        "  and 2 more (-v lists them)",
        "on no accelerator of this session:",
    ]
    assert "more" not in made.run("-v", "--vkamp-accelerators", "swiftshader").section("vkamp: not run")


# -- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.vkamp_accelerators("llvmpipe")
def test_a_failure_says_where_and_what_is_known_of_the_driver(project, accelerator):
    text = """
@amp.kernel
def rounds(i, out):
    count = 0
    for _ in range(300):
        for _ in range(300):
            count += 1
    out[i] = count

def test_rounds(accelerator):
    out = amp.array_view(np.zeros(1, np.int32))
    amp.parallel_for_each(accelerator, out.extent, rounds, out)
    assert out[0] == 90000
"""
    made = project(text).run("--vkamp-accelerators", "llvmpipe")
    assert made.last == "1 failed"
    where = f"llvmpipe: {accelerator.description}, driver {accelerator._info.driver}, engine vulkan\n"
    assert made.text.partition("- vkamp -")[2].partition("=====")[0].lstrip("-\n") == (
        where + "known trap: it terminates all loops of a thread after 65,535 iterations in total\n"
        "known trap: it replaces x * 0.0 by 0.0 even if x is negative, infinite or NaN\n"
        "mark a test that depends on this: @pytest.mark.vkamp_requires(...) (docs/testing.md)\n"
    )


@pytest.mark.vkamp_accelerators("swiftshader")
def test_a_difference_shows_the_test_and_no_frame_of_vkamp(project, accelerator):
    text = """
@amp.kernel
def sine(i, angles, out):
    out[i] = amp.fast_math.sin(angles[i])

def test_sine(accelerator):
    angles = amp.array_view(np.float32([0.5, 1.0, 2.0]))
    out = amp.array_view(np.zeros(3, np.float32))
    compare(accelerator, out.extent, sine, angles, out)
"""
    made = project(text).run("--vkamp-accelerators", "swiftshader")
    assert made.last == "1 failed"
    assert f"\nE       AssertionError: sine on {accelerator.description} differs from the reference accel" in made.text
    assert "comparison.py" not in made.text
    assert "forms.py" not in made.text


def test_a_feature_that_is_not_there(project):
    text = """
def test_unsupported(accelerator):
    raise amp.UnsupportedFeatureError("no such type here")
"""
    made = project(text).run("--vkamp-accelerators", "swiftshader")
    assert (
        "engine vulkan\nfeatures: integer_dot_product, memory_model, subgroup_extended_types, subgroup_size_control\n"
        "mark a test that needs others: @pytest.mark.vkamp_requires(...)\n"
    ) in made.text


# -- check mode ----------------------------------------------------------------------------------------------------

OUT_OF_BOUNDS = (
    KERNELS
    + """
def launch(accelerator):
    values, out = pair(4)
    amp.parallel_for_each(accelerator, out.extent, doubled, values, out)
    return np.asarray(out)

@pytest.mark.vkamp_check
def test_checked(accelerator):
    with pytest.raises(amp.CheckError, match="index 3 of values is out of bounds"):
        launch(accelerator)

def test_plain(accelerator):
    import os
    assert "VKAMP_CHECK" not in os.environ
    launch(accelerator)
"""
)


@pytest.mark.vkamp_accelerators("drivers")
def test_the_mark_for_check_mode(project, accelerator, request):
    name = request.node.callspec.params["accelerator"]
    made = project(OUT_OF_BOUNDS).run("--vkamp-accelerators", name)
    assert made.last == "2 passed"


@pytest.mark.vkamp_accelerators("swiftshader")
def test_the_option_for_check_mode(project, accelerator):
    made = project(OUT_OF_BOUNDS.replace('    assert "VKAMP_CHECK" not in os.environ\n', ""))
    result = made.run("-v", "--vkamp-check", "--vkamp-accelerators", "swiftshader")
    assert outcomes(result) == ["test_checked[swiftshader] passed", "test_plain[swiftshader] failed"]
    assert "CheckError: index 3 of values is out of bounds (extent 3), in thread (3)" in result.text


# -- golden shaders ------------------------------------------------------------------------------------------------

GOLDEN = (
    KERNELS
    + """
def shader():
    values, out = pair()
    return doubled.inspect(amp.accelerator("reference"), out.extent, values, out)

class TestShaders:
    def test_doubled(self, golden_shader):
        golden_shader(shader())

@pytest.mark.parametrize("factor", [2, 3])
def test_named(golden_shader, factor):
    golden_shader(shader().glsl.replace("* 2", f"* {factor}"), "by the factor")

def test_each(golden_shader, accelerator):
    values, out = pair()
    golden_shader(doubled.inspect(accelerator, out.extent, values, out))
"""
)
FILES = [
    "TestShaders.test_doubled.comp",
    "test_each-reference.comp",
    "test_named-2-by-the-factor.comp",
    "test_named-3-by-the-factor.comp",
]
ON_REFERENCE = ("--vkamp-accelerators", "reference")


def golden_files(made) -> list[str]:
    return sorted(path.name for path in (made.folder / "golden" / "test_kernels").iterdir())


def test_golden_shaders(project):
    made = project(GOLDEN)
    first = made.run(*ON_REFERENCE)
    assert first.last == "4 failed"
    assert (
        "AssertionError: there is no golden file golden/test_kernels/TestShaders.test_doubled.comp yet; "
        "--vkamp-accept writes it:\nE       #version 450\n"
    ) in first.text
    assert not (made.folder / "golden").exists()

    accepted = made.run("--vkamp-accept", *ON_REFERENCE)
    assert accepted.last == "4 passed"
    assert golden_files(made) == FILES
    listed = "".join(f"  golden/test_kernels/{name}\n" for name in FILES)
    assert accepted.section("vkamp: golden shaders") == "rewritten; review the difference:\n" + listed

    assert made.run(*ON_REFERENCE).section("vkamp: golden shaders") == ""
    again = made.run("--vkamp-accept", *ON_REFERENCE)
    assert (again.last, again.section("vkamp: golden shaders")) == ("4 passed", "")


def test_a_golden_shader_that_differs(project):
    made = project(GOLDEN)
    made.run("--vkamp-accept", *ON_REFERENCE)
    made.write("test_kernels.py", HEAD + GOLDEN.replace("values[i] * 2", "values[i] * 5"))
    result = made.run("-k", "doubled", *ON_REFERENCE)
    assert result.last == "1 failed, 3 deselected"
    lines = [line[8:] for line in result.text.splitlines() if line.startswith("E       ")]
    assert lines == [
        "AssertionError: the shader differs from golden/test_kernels/TestShaders.test_doubled.comp; "
        "--vkamp-accept rewrites it:",
        "--- golden/test_kernels/TestShaders.test_doubled.comp",
        "+++ generated",
        "@@ -26,5 +26,5 @@",
        "     const int i_0 = int(gl_GlobalInvocationID.x);",
        " ",
        "-    // out[i] = values[i] * 2",
        "-    out_[i_0] = values[i_0] * 2;",
        "+    // out[i] = values[i] * 5",
        "+    out_[i_0] = values[i_0] * 5;",
        " }",
    ]


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n", "2")], ids=["alone", "xdist"])
def test_unused_golden_shaders(project, workers):
    made = project(GOLDEN)
    made.run("--vkamp-accept", *ON_REFERENCE)
    made.write("golden/test_kernels/test_gone.comp", "old\n")
    made.write("golden/test_kernels/test_each-nvidia.comp", "of a device that is not here\n")
    result = made.start(*workers, *ON_REFERENCE)
    assert result.last == "4 passed"
    assert result.section("vkamp: golden shaders") == (
        "no longer used by any test; delete them:\n  golden/test_kernels/test_gone.comp\n"
    )


@pytest.mark.parametrize("part", [("-k", "not doubled"), ("test_kernels.py::test_named",)], ids=["deselected", "one"])
def test_a_part_of_the_tests_says_nothing_of_unused_golden_shaders(project, part):
    made = project(GOLDEN)
    made.run("--vkamp-accept", *ON_REFERENCE)
    made.write("golden/test_kernels/test_gone.comp", "old\n")
    result = made.run(*part, *ON_REFERENCE)
    assert result.code == 0
    assert result.section("vkamp: golden shaders") == ""


def test_a_failed_test_may_use_golden_shaders_that_it_did_not_reach(project):
    made = project(GOLDEN)
    made.run("--vkamp-accept", *ON_REFERENCE)
    made.write("test_kernels.py", HEAD + GOLDEN.replace("golden_shader(shader())", "assert False"))
    result = made.run(*ON_REFERENCE)
    assert result.last == "1 failed, 3 passed"
    assert result.section("vkamp: golden shaders") == ""


def test_one_golden_file_for_two_shaders(project):
    text = """
def test_two(golden_shader):
    golden_shader("one\\n")
    golden_shader("one\\n")
    golden_shader("two\\n")
"""
    made = project(text).run("--vkamp-accept")
    assert "AssertionError: golden/test_kernels/test_two.comp is used for two shaders: give each a name\n" in made.text


def test_what_is_no_shader(project):
    made = project("\ndef test_one(golden_shader): golden_shader(3)\n").run()
    assert "TypeError: golden_shader takes what kernel.inspect(...) gives, or a text, not int\n" in made.text


# -- together with others ------------------------------------------------------------------------------------------


@pytest.mark.vkamp_accelerators("swiftshader")
def test_xdist(project, accelerator):
    text = DOUBLED + REQUIRING + MARKED
    made = project(text).start("-p", "xdist.plugin", "-n", "2", "--vkamp-accelerators", "swiftshader,reference")
    assert made.code == 0
    alone = project(text).run("--vkamp-accelerators", "swiftshader,reference")
    assert made.section("vkamp: not run").splitlines()[-6:] == alone.section("vkamp: not run").splitlines()[-6:]
    assert sorted(made.section("vkamp: not run")) == sorted(alone.section("vkamp: not run"))
    assert f"\nvkamp: swiftshader: {accelerator.description}, driver " in made.text


def test_a_fixture_of_the_users_own_by_that_name(project):
    text = """
@pytest.fixture
def accelerator(): return "pedal"

def test_one(accelerator): assert accelerator == "pedal"
"""
    assert project(text).run("--vkamp-accelerators", "nosuch").last == "1 passed"


def test_a_fixture_that_refines_it(project):
    text = """
@pytest.fixture
def accelerator(accelerator): return accelerator.create_view()

def test_one(accelerator): assert isinstance(accelerator, amp.accelerator_view)
"""
    made = project(text).run("-v", "--vkamp-accelerators", "reference,swiftshader")
    assert outcomes(made) == ["test_one[reference] passed", "test_one[swiftshader] passed"]


def test_parameters_of_the_users_own(project):
    text = """
@pytest.mark.parametrize(("n", "accelerator"), [(1, "pedal"), (2, "engine")])
def test_one(n, accelerator): assert accelerator in ("pedal", "engine")
"""
    assert project(text).run("--vkamp-accelerators", "nosuch").last == "2 passed"


def test_a_project_without_kernels_loads_nothing(project):
    made = project("")
    made.write("test_kernels.py", "")
    made.write(
        "test_plain.py",
        "import sys\n\ndef test_plain(accelerators=()):\n"
        "    assert [name for name in ('vkamp', 'numpy', 'kp', 'vulkan') if name in sys.modules] == []\n",
    )
    result = made.start("-v")
    assert result.last == "1 passed"
    assert "vkamp: " not in result.text


# -- installation --------------------------------------------------------------------------------------------------


def installed(folder: Path) -> dict[str, str]:
    """An environment in which a package announces the plugin as pyproject.toml does."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r"^\[project\.entry-points\.pytest11\]\n(.+?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    info = folder / "site" / "made_up-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made_up\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{found[1].replace(chr(34), '')}\n", encoding="utf-8")
    path = [str(info.parent), str(ROOT)]
    assert importlib.metadata.distributions(path=path[:1])
    return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTHONPATH": ":".join([*path, *filter(None, sys.path)])}


def test_the_plugin_is_found(project, tmp_path_factory):
    settings = installed(tmp_path_factory.mktemp("installed"))
    made = project(DOUBLED).start("-v", *ON_REFERENCE, plugin=(), **settings)
    assert outcomes(made) == ["test_doubled[reference] passed"]


def test_the_plugin_can_be_left_out(project, tmp_path_factory):
    settings = installed(tmp_path_factory.mktemp("installed"))
    made = project(DOUBLED).start(plugin=("-p", "no:vkamp"), **settings)
    assert made.code == pytest.ExitCode.TESTS_FAILED
    assert "fixture 'accelerator_view' not found" in made.text
