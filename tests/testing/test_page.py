"""docs/testing.md: its program runs unchanged, and its statements on options, faults of drivers and set-up are true."""

from __future__ import annotations

import re

import pytest

from tests.testing.conftest import ROOT
from vkamp.run.workarounds import WORKAROUNDS

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.vkamp_accelerators("drivers")
def test_the_program(project, accelerator, request):
    name = request.node.callspec.params["accelerator"]
    (program,) = blocks("python")
    assert program.startswith("# test_smooth.py\n")
    made = project("")
    (made.folder / "test_kernels.py").unlink()
    made.write("test_smooth.py", program)
    names = ("--vkamp-accelerators", f"{name},reference")
    assert made.run("--vkamp-accept", "test_smooth.py", *names).last == "5 passed"
    assert (made.folder / "golden" / "test_smooth" / "test_shader.comp").is_file()
    result = made.run("test_smooth.py", *names)
    assert result.last == "5 passed"
    assert f"\nvkamp: {name}: {accelerator.description}, driver {accelerator._info.driver}, engine " in result.text


@pytest.mark.vkamp_accelerators("swiftshader")
def test_the_program_tests_something(project, accelerator):
    (program,) = blocks("python")
    made = project("")
    (made.folder / "test_kernels.py").unlink()
    made.write("test_smooth.py", program)
    made.run("--vkamp-accept", "--vkamp-accelerators", "swiftshader")
    made.write("test_smooth.py", program.replace("t_idx.local[0] - 1, 0", "t_idx.local[0] - 1, 1"))
    result = made.run("--vkamp-accelerators", "swiftshader")
    assert result.last == "2 failed, 1 passed"
    assert "actual: 6 of 12 elements are further off than 1 ulp\n" in result.text
    assert "the shader differs from golden/test_smooth/test_shader.comp" in result.text


def test_the_configuration(project):
    (configuration,) = blocks("toml")
    made = project("\ndef test_one(accelerator): pass\n")
    (made.folder / "pytest.ini").unlink()
    made.write("pyproject.toml", configuration.replace('"swiftshader", "llvmpipe"', '"nosuch"'))
    assert "\n- nosuch: " in made.run().text


def test_every_trap_is_there():
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \|$", PAGE, re.MULTILINE)
    faults = {row.ability: row.fault for row in WORKAROUNDS if row.ability}
    assert {ability: text.replace("`", "") for ability, text in rows if ability in faults} == faults


def test_kp_is_built_as_the_project_builds_it():
    flags = re.findall(r"^ +(KOMPUTE_OPT_\w+): \"(\w+)\"$", PAGE, re.MULTILINE)
    own = re.findall(r"^ +(KOMPUTE_OPT_\w+)=(\w+)$", (ROOT / "tools" / "env.setup").read_text("utf-8"), re.MULTILINE)
    assert flags == own != []


def test_every_workflow_names_what_it_expects():
    workflows = blocks("yaml")
    everywhere, without_drivers = "swiftshader,llvmpipe,reference", "reference"
    for text, expected in zip(workflows, (everywhere, everywhere, without_drivers), strict=True):
        assert "\t" not in text
        assert text.splitlines()[-1].endswith(f"pytest -n auto --vkamp-accelerators {expected}")
