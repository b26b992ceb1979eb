"""Whole outputs of the compiler for kernels that together reach nearly every branch of the printer, the lowering and
check mode's instrumentation.

``--vkamp-accept`` takes the outputs as they are now; the diff shows what a change of the compiler does.
``python -m tests.outputs FOLDER`` writes the outputs of all 1,600 kernels, for a comparison of two versions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.outputs.collect import SOURCES, Outputs

GOLDEN = Path(__file__).with_name("golden")

#: Chosen by the branches that they reach in vkamp/emit, vkamp/lower and vkamp/check/instrument: 97 of 100 that the
#: 800 hand-written kernels reach.
KERNELS = {
    "printed": (
        "unrolled", "vectors", "float_atomics", "subgroups_in_a_row", "pieces_of_parts", "records", "control_flow",
        "compare_exchange", "fences", "pieces_of_halves", "subgroups", "views", "exact",
    ),
    "lowered": (
        "nothing_follows", "kept_array", "barrier_in_function", "uniform_blocks", "product", "guarded",
        "changed_between", "returns_from_a_loop", "copy_of_blocks",
    ),
    "faults": ("reinterpreted_past_the_end", "failed_assertion"),
    "uniform-control": ("counter_assigned_in_the_body",),
    "uniform-values": ("lambda_of_uniform_values", "uniform_component"),
    "random-types-0": ("23",),
    "corpus-arithmetic": ("scale_by_level_wrong",),
    "corpus-barriers_in_vain": ("after_everything",),
    "corpus-claims": ("nearly_equal_wrong", "ticket"),
    "corpus-divergent_branches": ("return_in_function",),
    "corpus-divergent_loops": ("wait_after_break",),
    "corpus-races_containers": ("row_and_matrix_wrong",),
    "corpus-reductions": ("halving_guard",),
    "corpus-scans": ("scan_in_one_buffer",),
    "corpus-sorting": ("bitonic",),
    "corpus-uninitialised": ("padded_rows", "halo_at_the_ends_wrong"),
}  # fmt: skip
NAMES = [f"{source}/{name}" for source, names in KERNELS.items() for name in names]


def _page(outputs: Outputs) -> str:
    """The outputs one after the other; one that equals an earlier one is only named."""
    parts: list[str] = []
    first: dict[str, str] = {}
    for step, output in outputs.items():
        before = first.setdefault(output, step)
        parts.append(f"== {step}\n{output.rstrip()}\n" if before == step else f"== {step}: as {before}\n")
    return "\n".join(parts)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the kernels determine the outputs, and the verifier checks the IR."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
    for name in ("VKAMP_LOWERING", "VKAMP_CHECK", "VKAMP_SHADERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_outputs(name: str, request: pytest.FixtureRequest) -> None:
    source, _, kernel = name.partition("/")
    page = _page(dict(SOURCES[source]())[kernel]())
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("vkamp_accept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8", newline="\n")
    assert page == path.read_text(encoding="utf-8"), "if that is meant: pytest --vkamp-accept tests/outputs"


def test_every_file_has_its_kernel() -> None:
    assert sorted(str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.txt")) == sorted(NAMES)
