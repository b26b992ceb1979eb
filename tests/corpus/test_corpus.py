"""Every faulty kernel of the corpus is found by the layer that must find it, and its mended twin passes them all."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tools.kernels.corpus import registry
from tools.kernels.corpus.registry import CATEGORIES, PAIRS, Launch, Pair
from vkamp.errors import Span

#: Whether the compiler finds races on tile_static memory; until then, the reference accelerator answers for it.
STATIC_RACES = True
#: Whether check mode runs on devices.
CHECK_MODE = True

#: Schedules of the reference accelerator beside its own.
SCHEDULES = (("reversed", 0), ("adversarial", 0), ("random", 1), ("random", 2))

FOLDER = Path(registry.__file__).parent
KERNELS = [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("__init__", "registry")]

#: What the compiler says with these codes is found without the analysis of races on tile_static memory.
STATIC_CODES = "VKA63"
#: What it says of barriers that order nothing, which is no finding of anyone else.
VAIN = "VKA640"


def layer_of(pair: Pair) -> str:
    """Who answers for a pair today."""
    expected = pair.expected
    if expected.code == VAIN:
        return "advice"
    if expected.code.startswith(STATIC_CODES) and not STATIC_RACES:
        return "check"
    return expected.layer


def by_layer(*layers: str) -> Any:
    chosen = [pair for pair in PAIRS if layer_of(pair) in layers]
    return pytest.mark.parametrize("pair", chosen, ids=lambda pair: pair.name)


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after the lowering of every kernel."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@pytest.fixture
def reference() -> amp.accelerator_view:
    return amp.accelerator("reference").default_view


def run(view: amp.accelerator_view, kernel: Any, made: Launch) -> None:
    amp.parallel_for_each(view, made.domain, kernel, *made.args, **made.constants)


def run_strictly(view: amp.accelerator_view, kernel: Any, made: Launch) -> None:
    """A launch of which nothing is warned, neither when it is compiled nor when it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(view, kernel, made)
        view.wait()


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, or for floats as equal as another order of summation allows."""
    if expected.dtype.kind == "f":
        return found.shape == expected.shape and np.allclose(found, expected, rtol=2e-4, atol=1e-4)
    return np.array_equal(found, expected)


# -- the mended twins ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
@pytest.mark.spread(2)
def test_mended(accelerator_view: amp.accelerator_view, pair: Pair) -> None:
    made = pair.launch()
    run_strictly(accelerator_view, pair.mended, made)
    found = {number: np.asarray(made.args[number]) for number in made.expect}
    for number, expected in made.expect.items():
        assert same(found[number], expected), f"argument {number}: {found[number]} instead of {expected}"


# -- the faulty ones -----------------------------------------------------------------------------------------------


def marked(pair: Pair, spans: list[Span]) -> None:
    """The places that a finding names are the marked ones, and one of them is a fault."""
    assert {span.file for span in spans} == {pair.file}
    lines = {span.line for span in spans}
    assert lines <= pair.lines("fault", "and here"), f"{sorted(lines)} instead of {pair.marks}"
    assert lines & pair.lines("fault"), f"{sorted(lines)} without the fault at {pair.marks}"


def found_by(pair: Pair, findings: tuple[Any, ...]) -> None:
    """The first finding is what the label says."""
    assert findings[0].kind == pair.expected.kind, findings[0]
    assert findings[0].variable in pair.expected.variable.split(" or "), findings[0]
    marked(pair, list(findings[0].locations))


@by_layer("compile")
def test_refused_by_the_compiler(reference: amp.accelerator_view, pair: Pair) -> None:
    made = pair.launch()
    with pytest.raises(amp.CompileError) as caught:
        run(reference, pair.faulty, made)
    error, code = caught.value, pair.expected.code
    assert (error.error_code or "").startswith(code)
    assert error.span is not None
    notes = [note.span for note in error.notes]
    if pair.expected.kind == "race":
        marked(pair, [error.span, *notes])
    else:
        # The notes tell more, from the value on which it depends to the condition that is marked.
        marked(pair, [error.span])
        noted = {span.line for span in notes}
        assert pair.lines("and here") <= noted, f"{error}\nwithout {pair.marks}"
    if pair.expected.variable:
        assert any(name in str(error).splitlines()[0] for name in pair.expected.variable.split(" or "))


@by_layer("warning")
def test_warned_of_by_the_compiler(reference: amp.accelerator_view, pair: Pair) -> None:
    """The reference accelerator finds it too."""
    with pytest.warns(amp.RaceWarning) as caught, pytest.raises(amp.CheckError) as found:
        run(reference, pair.faulty, pair.launch())
    (warning,) = caught
    assert f"`{pair.expected.variable}`" in str(warning.message)
    assert warning.filename == pair.file
    assert warning.lineno in pair.lines("fault"), f"{warning.message}\ninstead of {pair.marks}"
    found_by(pair, found.value.findings)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_mended_in_other_orders(reference: amp.accelerator_view, pair: Pair) -> None:
    """The order of tiles, and of threads between barriers, changes nothing."""
    for name, seed in SCHEDULES:
        made = pair.launch()
        with amp.reference_schedule(name, seed=seed):
            run_strictly(reference, pair.mended, made)
        for number, expected in made.expect.items():
            assert same(np.asarray(made.args[number]), expected), f"{name} {seed}"


if STATIC_RACES:

    @by_layer("advice")
    def test_advised_by_the_compiler(reference: amp.accelerator_view, pair: Pair) -> None:
        """The warning is all: the results are right."""
        made = pair.launch()
        with pytest.warns(amp.BarrierWarning) as caught:
            run(reference, pair.faulty, made)
        (warning,) = caught
        assert warning.filename == pair.file
        assert warning.lineno in pair.lines("fault"), f"{warning.message}\ninstead of {pair.marks}"
        for number, expected in made.expect.items():
            assert same(np.asarray(made.args[number]), expected)


@by_layer("check")
def test_found_in_other_orders(reference: amp.accelerator_view, pair: Pair) -> None:
    """What is found does not depend on luck."""
    for name, seed in SCHEDULES:
        with pytest.raises(amp.CheckError) as caught, amp.reference_schedule(name, seed=seed):
            run_strictly(reference, pair.faulty, pair.launch())
        found_by(pair, caught.value.findings)


@by_layer("check")
def test_found_by_the_reference_accelerator(reference: amp.accelerator_view, pair: Pair) -> None:
    with pytest.raises(amp.CheckError) as caught:
        run_strictly(reference, pair.faulty, pair.launch())
    found_by(pair, caught.value.findings)


# -- check mode ----------------------------------------------------------------------------------------------------


def check(view: amp.accelerator_view, kernel: Any, made: Launch) -> Any:
    """The report of a checked launch."""
    return amp.check(view, made.domain, kernel, *made.args, **made.constants)


def matches(pair: Pair, finding: Any) -> bool:
    """Whether a finding is the one of the label, at the marked lines."""
    expected = pair.expected
    lines = {span.line for span in finding.locations}
    return (
        finding.kind == expected.kind
        and finding.variable in expected.variable.split(" or ")
        and lines <= pair.lines("fault", "and here")
        and bool(lines & pair.lines("fault"))
    )


def covered(view: amp.accelerator_view, pair: Pair) -> bool:
    """Whether check mode can find this on an accelerator."""
    return pair.expected.on_devices or view.accelerator.description == "reference"


if CHECK_MODE:

    @by_layer("check")
    def test_found_by_check_mode(accelerator_view: amp.accelerator_view, pair: Pair) -> None:
        """One run reports all findings: the labelled finding is among them, and all are at marked lines."""
        report = check(accelerator_view, pair.faulty, pair.launch())
        if not covered(accelerator_view, pair):
            assert report.not_covered
            return
        assert not report.ok
        assert any(matches(pair, finding) for finding in report.findings), f"{report}\ninstead of {pair.marks}"
        for finding in report.findings:
            assert {span.line for span in finding.locations} <= pair.marks.keys(), f"{finding}\nbeside {pair.marks}"

    @pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
    def test_mended_under_check_mode(accelerator_view: amp.accelerator_view, pair: Pair) -> None:
        made = pair.launch()
        report = check(accelerator_view, pair.mended, made)
        assert report.ok, str(report)
        assert report.not_covered == () or not covered(accelerator_view, pair)
        for number, expected in made.expect.items():
            assert same(np.asarray(made.args[number]), expected)


# -- the corpus ----------------------------------------------------------------------------------------------------


def test_pairs_stand_once() -> None:
    assert [name for name, count in Counter(pair.name for pair in PAIRS).items() if count > 1] == []


def test_every_category_has_pairs() -> None:
    assert set(CATEGORIES) == {pair.category for pair in PAIRS}


def test_every_module_has_pairs() -> None:
    assert {str(path) for path in KERNELS} == {pair.file for pair in PAIRS}


def test_enough_of_every_layer() -> None:
    layers = Counter(pair.expected.layer for pair in PAIRS)
    assert layers["compile"] >= 90
    assert layers["check"] >= 90
    assert layers["warning"] >= 4


def test_sentences() -> None:
    assert [pair.name for pair in PAIRS if not pair.wrong.endswith(".") or len(pair.wrong) < 30] == []


# -- the judgement itself ------------------------------------------------------------------------------------------


def pair_of(name: str) -> Pair:
    return next(pair for pair in PAIRS if pair.name == name)


def wrongly(pair: Pair, **labels: Any) -> Pair:
    """The pair with another label."""
    return replace(pair, expected=replace(pair.expected, **labels))


@pytest.mark.parametrize("labels", [{"kind": "bounds"}, {"variable": "values"}])
def test_a_wrong_label_fails(reference: amp.accelerator_view, labels: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        test_found_by_the_reference_accelerator(reference, wrongly(pair_of("look_up"), **labels))


def test_a_wrong_line_fails(reference: amp.accelerator_view) -> None:
    pair = pair_of("look_up")
    moved = replace(pair, marks={line + 1: mark for line, mark in pair.marks.items()})
    with pytest.raises(AssertionError, match="instead of"):
        test_found_by_the_reference_accelerator(reference, moved)


def test_a_kernel_without_fault_fails(reference: amp.accelerator_view) -> None:
    for name, test in (
        ("look_up", test_found_by_the_reference_accelerator),
        ("wait_in_if", test_refused_by_the_compiler),
    ):
        pair = pair_of(name)
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            test(reference, replace(pair, faulty=pair.mended))


def test_a_wrong_result_fails(reference: amp.accelerator_view) -> None:
    pair = pair_of("scatter")
    with pytest.raises(AssertionError, match="argument 1"):
        test_mended(reference, replace(pair, launch=lambda: replace(pair.launch(), expect={1: np.zeros(8, np.int32)})))


def test_a_code_that_differs_fails(reference: amp.accelerator_view) -> None:
    with pytest.raises(AssertionError):
        test_refused_by_the_compiler(reference, wrongly(pair_of("wait_in_if"), code="VKA604"))
