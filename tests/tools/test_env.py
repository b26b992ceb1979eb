"""tools/env: what every call does, and what it refuses before it changes anything.

Each test works on a separate checkout that contains only the two scripts; the slow one is replaced by a recorder at the
point where it would start to install packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Leaves what tools/env.setup leaves: an interpreter, SwiftShader, and the record of how it was made.
RECORDER = """#!/usr/bin/env bash
venv=$1/.venv
echo "$2" >>"$1/calls"
mkdir -p "$venv/bin" "$venv/swiftshader" "$venv/.vkamp-env"
ln -sf "$(command -v bash)" "$venv/bin/python"
touch "$venv/swiftshader/vk_swiftshader_icd.json"
printf '%s\\n' "$2" "${VKAMP_ENV_PYTHON:-python3}" "$(readlink -f "$venv/bin/python")" \\
    >"$venv/.vkamp-env/ready"
"""
VARIABLES = ("VK_ADD_DRIVER_FILES", "VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_DISABLE", "VKAMP_ENV_PYTHON")


class Checkout:
    """A checkout in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tools").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\n")
        for name in ("env", "env.setup"):
            shutil.copy(ROOT / "tools" / name, root / "tools" / name)

    def record_setup(self) -> None:
        (self.root / "tools" / "env.setup").write_text(RECORDER)

    @property
    def setups(self) -> int:
        calls = self.root / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def run(self, *command: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k not in VARIABLES} | variables
        return subprocess.run(
            [str(self.root / "tools" / "env"), *command],
            cwd=cwd or self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def variable(self, name: str, **variables: str) -> str:
        return self.run("bash", "-c", f'printf %s "${{{name}-unset}}"', **variables).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "a check out")
    made.record_setup()
    return made


def test_sets_up_once(checkout: Checkout) -> None:
    for _ in range(3):
        assert checkout.run("true").returncode == 0
    assert checkout.setups == 1


def test_keeps_folder_arguments_and_status(checkout: Checkout, tmp_path: Path) -> None:
    result = checkout.run("bash", "-c", 'pwd; printf "<%s>" "$@"; exit 7', "-", "a  b", "", cwd=tmp_path)
    assert result.stdout == f"{tmp_path}\n<a  b><>"
    assert result.returncode == 7


def test_command_that_is_not_there(checkout: Checkout) -> None:
    result = checkout.run("no-such-command")
    assert result.returncode == 127
    assert "no-such-command: not found" in result.stderr


def test_no_command_is_an_error(checkout: Checkout) -> None:
    result = checkout.run()
    assert result.returncode == 2
    assert result.stderr.startswith("usage: tools/env CMD")
    assert checkout.setups == 0


def test_sets_up_again_when_a_requirement_changes(checkout: Checkout) -> None:
    checkout.run("true")
    (checkout.root / "pyproject.toml").write_text("[project]\ndependencies = ['more']\n")
    checkout.run("true")
    assert checkout.setups == 2


def test_sets_up_again_when_the_interpreter_is_gone(checkout: Checkout) -> None:
    checkout.run("true")
    (checkout.root / ".venv" / "bin" / "python").unlink()
    checkout.run("true")
    assert checkout.setups == 2


def test_sets_up_again_when_the_checkout_was_moved(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run("true")
    checkout.root = checkout.root.rename(tmp_path / "elsewhere")
    checkout.run("true")
    assert checkout.setups == 2


def test_sets_up_again_for_another_interpreter_only(checkout: Checkout) -> None:
    checkout.run("true")
    checkout.run("true", VKAMP_ENV_PYTHON="python3")
    assert checkout.setups == 1
    checkout.run("true", VKAMP_ENV_PYTHON="python3.99")
    assert checkout.setups == 2
    checkout.run("true")
    assert checkout.setups == 2


def test_failed_setup_runs_nothing(checkout: Checkout) -> None:
    (checkout.root / "tools" / "env.setup").write_text("echo no >&2; exit 3\n")
    result = checkout.run("echo", "ran")
    assert (result.returncode, result.stdout, result.stderr) == (3, "", "no\n")


def test_virtual_environment_comes_first(checkout: Checkout) -> None:
    venv = checkout.root / ".venv"
    assert checkout.variable("PATH").split(os.pathsep)[0] == str(venv / "bin")
    assert checkout.variable("VIRTUAL_ENV") == str(venv)
    assert checkout.variable("PYTHONHOME", PYTHONHOME=sys.prefix) == "unset"


def test_swiftshader_is_added_to_the_drivers(checkout: Checkout) -> None:
    own = str(checkout.root / ".venv" / "swiftshader" / "vk_swiftshader_icd.json")
    assert checkout.variable("VK_ADD_DRIVER_FILES") == own
    assert checkout.variable("VK_ADD_DRIVER_FILES", VK_ADD_DRIVER_FILES="x.json") == f"x.json:{own}"
    assert checkout.variable("VK_ADD_DRIVER_FILES", VK_ADD_DRIVER_FILES=own) == own


def test_layers_are_off_unless_asked_for(checkout: Checkout) -> None:
    name = "VK_LOADER_LAYERS_DISABLE"
    assert checkout.variable(name) == "~all~"
    assert checkout.variable(name, VK_LOADER_LAYERS_DISABLE="*one*") == "*one*"
    assert checkout.variable(name, VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation") == "unset"


# From here on with the real tools/env.setup.


def test_foreign_virtual_environment_is_left_alone(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    kept = tmp_path / ".venv" / "bin" / "activate"
    kept.parent.mkdir(parents=True)
    kept.touch()
    result = checkout.run("true")
    assert result.returncode == 1
    assert result.stderr == (
        f"vkamp env: error: {tmp_path / '.venv'} was not made by tools/env. Please move it away.\n"
    )
    assert [path.name for path in (tmp_path / ".venv").iterdir()] == ["bin"]


def test_unknown_interpreter_is_named(tmp_path: Path) -> None:
    result = Checkout(tmp_path).run("true", VKAMP_ENV_PYTHON="python-that-is-not")
    assert result.returncode == 1
    assert result.stderr == ("vkamp env: error: VKAMP_ENV_PYTHON names no Python interpreter: python-that-is-not\n")


def test_old_interpreter_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    # Says of itself what a Python 3.9 would: where it is, that it is too old, which it is.
    old.write_text(
        '#!/usr/bin/env bash\ncase "$*" in *version_info*) exit 1 ;; -V) echo Python 3.9.2 ;; *) echo "$0" ;; esac\n'
    )
    old.chmod(0o755)
    result = Checkout(tmp_path / "p").run("true", VKAMP_ENV_PYTHON=str(old))
    assert result.returncode == 1
    assert result.stderr == (
        f"vkamp env: error: Python 3.10 or later is needed; {old} is Python 3.9.2.\n"
        "    Set VKAMP_ENV_PYTHON to the interpreter to use.\n"
    )
