"""What the compiler makes of some 1,600 kernels is what it made of them before: no change of it goes unseen.

``--vkamp-accept`` takes the outputs as they are now.  They are kept as digests; ``python -m tests.outputs FOLDER``
writes their texts, and those of two versions of the compiler can be compared.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.outputs.collect import SOURCES, Outputs

DIGESTS = Path(__file__).with_name("digests")
HOW = """
If that is meant: pytest --vkamp-accept tests/outputs.  To see what has changed: python -m tests.outputs FOLDER, once
with the compiler as it was and once as it is, and diff -r on the two folders."""


def _row(name: str, outputs: Outputs) -> str:
    steps = [f"{step}={hashlib.sha256(output.encode()).hexdigest()[:8]}" for step, output in outputs.items()]
    return " ".join([name, *steps])


def _changed(before: str, now: str) -> str:
    """The kernel and the steps whose outputs differ."""
    known = set(before.split()[1:])
    name, *steps = now.split()
    return f"{name}: " + ", ".join(step.split("=")[0] for step in steps if step not in known)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the kernels says what is made of them, and the IR's verifier looks at it."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
    for name in ("VKAMP_LOWERING", "VKAMP_CHECK", "VKAMP_SHADERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("source", SOURCES)
def test_outputs_are_as_before(source: str, request: pytest.FixtureRequest) -> None:
    rows = [_row(name, outputs) for name, outputs in SOURCES[source]()]
    path = DIGESTS / f"{source}.txt"
    if request.config.getoption("vkamp_accept"):
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    before = path.read_text(encoding="utf-8").splitlines()
    changed = [_changed(old, new) for old, new in zip(before, rows, strict=False) if old != new]
    assert not changed, "the compiler makes something else of\n    " + "\n    ".join(changed) + HOW
    assert len(rows) == len(before)


def test_every_file_has_its_kernels() -> None:
    assert sorted(path.stem for path in DIGESTS.iterdir()) == sorted(SOURCES)
