"""What the compiler makes of some 1,600 kernels is what it made of them before: no change of it goes unseen.

``--vkamp-accept`` takes the outputs as they are now.  They are kept as digests; ``python -m tests.outputs FOLDER``
writes their texts, and those of two versions of the compiler can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outputs.collect import SOURCES, Outputs

DIGESTS = Path(__file__).with_name("digests")
HOW = """
If that is meant: pytest --vkamp-accept tests/outputs.  To see what has changed: python -m tests.outputs FOLDER, once
with the compiler as it was and once as it is, and diff -r on the two folders."""


def _digests(outputs: Outputs) -> dict[str, str]:
    return {step: hashlib.sha256(output.encode()).hexdigest()[:8] for step, output in outputs.items()}


def _row(name: str, digests: dict[str, str]) -> str:
    return " ".join([name, *(f"{step}={digest}" for step, digest in digests.items())])


def _read(path: Path) -> dict[str, dict[str, str]]:
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: dict(step.split("=") for step in steps) for name, *steps in rows}


def _changes(before: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> Iterator[str]:
    """The kernels, and the steps whose outputs differ, have come or are gone."""
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name, {}), now.get(name, {})
        steps = [step for step in dict.fromkeys([*old, *new]) if old.get(step) != new.get(step)]
        if steps:
            yield f"{name}: {', '.join(steps)}"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the kernels says what is made of them, and the IR's verifier looks at it."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
    for name in ("VKAMP_LOWERING", "VKAMP_CHECK", "VKAMP_SHADERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("source", SOURCES)
def test_outputs_are_as_before(source: str, request: pytest.FixtureRequest) -> None:
    now = {name: _digests(outputs) for name, outputs in SOURCES[source]()}
    path = DIGESTS / f"{source}.txt"
    if request.config.getoption("vkamp_accept"):
        path.write_text("".join(f"{_row(*row)}\n" for row in now.items()), encoding="utf-8")
    changed = list(_changes(_read(path), now))
    assert not changed, "the compiler makes something else of\n    " + "\n    ".join(changed) + HOW


def test_every_file_has_its_kernels() -> None:
    assert sorted(path.stem for path in DIGESTS.iterdir()) == sorted(SOURCES)
