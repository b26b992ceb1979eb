"""Searches: wrong candidates are rejected with their reasons, results are stored, and calls take them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.tuning import kernels
from vkamp.tuning import search as searching
from vkamp.tuning import timing

N = 5000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock by which the last candidates are the fastest."""

    def measure(self: Any, parameters: Any) -> float:
        self.trials[parameters].seconds.append(1.0)
        wrong = parameters.kernel is not kernels.doubled
        return (0.1 if wrong else 1.0) / parameters.items

    monkeypatch.setattr(searching._Searching, "_measure", measure)
    monkeypatch.setattr(timing, "warm", lambda chain: chain.run())
    return measure


def arrays(view: amp.accelerator_view, n: int = N) -> tuple[amp.array, amp.array]:
    values = np.arange(n, dtype=np.float32)
    a = amp.array(amp.extent(n), np.float32, values, accelerator_view=view)
    return a, amp.array(amp.extent(n), np.float32, np.zeros(n, np.float32), accelerator_view=view)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("out_of_bounds", "check mode: index "),
        ("wrong_at_the_end", "1 wrong elements in container 1: "),
        ("racing", "check mode: race on shared"),
    ],
)
def test_a_wrong_candidate_is_never_chosen(fast: Any, wrong: str, reason: str) -> None:
    """It would be the fastest by far, and is right for the arguments of the call."""
    view = amp.accelerator("llvmpipe@vulkan").default_view
    choices = (kernels.doubled, getattr(kernels, wrong))
    tuned = amp.autotune({"tile": (32,), "items": (1, 2), "kernel": choices})(kernels.launch)
    a, out = arrays(view, 4096)
    report = amp.tune(tuned, a, out, budget=60)
    assert report.best == {"tile": 32, "items": 2, "kernel": kernels.doubled}
    assert report.gain > 1
    assert [each.parameters.kernel for each in report.rejected] == [choices[1]] * 2
    assert all(reason in each.reason for each in report.rejected), [each.reason for each in report.rejected]
    assert not np.asarray(out).any()
    tuned(a, out)
    assert (np.asarray(out) == 2 * np.asarray(a)).all()
    assert tuned.chosen(a, out) == report.best
    assert tuned.chosen(*arrays(view, 100)) == tuned.space.default


def test_a_report(fast: Any, folder: Path, tmp_path: Path) -> None:
    view = amp.accelerator("reference").default_view
    parameters = {"tile": (4, 8), "items": (1, 2), "kernel": (kernels.doubled,)}
    tuned = amp.autotune(parameters, where=lambda p, limits: p.tile * p.items < 16)(kernels.launch)
    a, out = arrays(view, 20)
    seen: list[tuple[str, int, int, str]] = []
    report = amp.tune(tuned, a, out, budget=60, progress=lambda *step: seen.append(step))
    lines = report.table().splitlines()
    assert lines[0].endswith(" on reference: tile=4, items=2, kernel=doubled, 2.00 times the default")
    assert lines[1].split() == ["parameters", "time", "speed"]
    assert lines[-1].split("  ")[-1] == "`where` refuses it"
    assert {step for step, *_ in seen} == {"compile", "check"}
    report.plot(tmp_path / "search.svg")
    picture = (tmp_path / "search.svg").read_text()
    assert picture.count("<circle") == 3 and picture.count('class="rejected"') == 1
    assert "tile=8, items=2, kernel=doubled: `where` refuses it" in picture
    assert len(list(folder.glob("*.json"))) == 1


def test_real_times() -> None:
    """Fewer threads that do more each: the clock is the real one, so either result is right."""
    view = amp.accelerator("llvmpipe@vulkan").default_view
    tuned = amp.autotune({"tile": (32, 64), "items": (1, 4), "kernel": (kernels.doubled,)})(kernels.launch)
    a, out = arrays(view)
    report = amp.tune(tuned, a, out, budget=60)
    assert not report.rejected and len(report.searches[0].trials) == 4
    assert all(each.seconds for each in report.searches[0].trials)
    assert report.best == tuned.chosen(a, out)


def test_a_function_that_calls_a_tuned_one(fast: Any) -> None:
    view = amp.accelerator("reference").default_view
    tuned = amp.autotune({"tile": (4,), "items": (1, 2), "kernel": (kernels.doubled,)})(kernels.launch)

    def twice(a: Any, out: Any) -> None:
        tuned(a, out)
        tuned(out, a)

    a, out = arrays(view, 20)
    report = amp.tune(twice, a, out, budget=60)
    assert len(report.searches) == 1 and report.best.items == 2
    with pytest.raises(ValueError, match=r"^tune: 'arrays' calls no function of amp\.autotune$"):
        amp.tune(arrays, view, 20)
    with pytest.raises(ValueError, match=r"^tune: budget=0: it must be a positive number of seconds$"):
        amp.tune(tuned, a, out, budget=0)


def test_a_kernel() -> None:
    view = amp.accelerator("reference").default_view
    tuned = amp.autotune({"tile": (4, 8), "items": (1,)})(kernels.doubled)
    a, out = arrays(view, 20)
    tuned(view, a.extent, a, out)
    assert (np.asarray(out) == 2 * np.asarray(a)).all()
    assert amp.tune(tuned, view, a.extent, a, out, budget=60).best in ({"tile": 4, "items": 1}, {"tile": 8, "items": 1})
    with pytest.raises(
        TypeError, match=r"^doubled is a tuned kernel: call it as doubled\(\[accelerator_view,\] amp\.extent"
    ):
        tuned(a, out)


def test_parameters_of_a_call() -> None:
    view = amp.accelerator("reference").default_view
    used: list[dict[str, int]] = []

    @amp.autotune({"x": (1, 2), "y": (1, 2)}, default={"x": 1, "y": 2}, key=lambda a: 0)
    def function(a: Any, *, x: int, y: int) -> None:
        used.append({"x": x, "y": y})

    a, _ = arrays(view, 4)
    function(a)
    function(a, x=2)
    assert used == [{"x": 1, "y": 2}, {"x": 2, "y": 2}]


def test_candidates_that_fail(fast: Any) -> None:
    view = amp.accelerator("reference").default_view

    @amp.kernel
    def wrong(t_idx, a, out, *, items: amp.constant):  # type: ignore[no-untyped-def]
        out[t_idx.global_] = a.nothing

    tuned = amp.autotune({"tile": (4, 4096), "items": (1,), "kernel": (kernels.doubled, wrong)})(kernels.launch)
    a, out = arrays(view, 20)
    reasons = [each.reason for each in amp.tune(tuned, a, out, budget=60).rejected]
    assert len(reasons) == 3 and all(each.startswith("it does not compile: ") for each in reasons)
    assert any("4096" in each for each in reasons) and any("nothing" in each for each in reasons)


def test_slow_candidates_are_remembered(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    view = amp.accelerator("reference").default_view
    calls: list[int] = []

    @amp.autotune({"pause": (0, 1)}, key=lambda a: 0)
    def function(a: Any, *, pause: int) -> None:
        calls.append(pause)
        if pause:
            searching.time.sleep(0.1)

    monkeypatch.setattr(searching, "TIME_OUT", 0.05)
    monkeypatch.setattr(searching._Searching, "_measure", lambda self, parameters: 1.0)
    a, _ = arrays(view, 4)
    for _ in range(2):
        (rejected,) = amp.tune(function, a, budget=60).rejected
        assert rejected.reason == "it takes longer than 0 s"
        assert (1 in calls) == (_ == 0)
        calls.clear()


def test_a_large_space_goes_by_neighbours(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    view = amp.accelerator("reference").default_view
    tried: set[tuple[int, int]] = set()

    @amp.autotune({"x": tuple(range(12)), "y": tuple(range(12))}, key=lambda a: 0, default={"x": 2, "y": 11})
    def function(a: Any, *, x: int, y: int) -> None:
        tried.add((x, y))

    def measure(self: Any, p: Any) -> float:
        return 1.0 + (p.x - 5) ** 2 + (p.y - 7) ** 2

    monkeypatch.setattr(searching._Searching, "_measure", measure)
    a, _ = arrays(view, 4)
    report = amp.tune(function, a, budget=60)
    assert report.best == {"x": 5, "y": 7}
    assert len(tried) < 100


def test_on_searches_at_the_first_call(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    view = amp.accelerator("reference").default_view
    tuned = amp.autotune({"tile": (4,), "items": (1, 2), "kernel": (kernels.doubled,)})(kernels.launch)
    a, out = arrays(view, 20)
    assert tuned.chosen(a, out).items == 1
    monkeypatch.setitem(os.environ, "VKAMP_TUNE", "on")
    from vkamp.tuning import autotuned

    autotuned.changed()
    assert tuned.chosen(a, out).items == 2


def test_inputs_that_are_changed() -> None:
    """A sort in place is measured on unsorted values each time."""
    view = amp.accelerator("reference").default_view
    seen: list[float] = []

    @amp.kernel
    def shift(idx, a, *, by: amp.constant):  # type: ignore[no-untyped-def]
        a[idx] = a[idx] + 1.0 + 0 * by

    @amp.autotune({"by": (1, 2)}, key=lambda a: 0, restore=("a",))
    def function(a: Any, *, by: int) -> None:
        amp.parallel_for_each(a.accelerator_view, a.extent, shift, a, by=by)

    a, _ = arrays(view, 4)
    amp.tune(function, a, budget=60)
    assert (np.asarray(a) == np.arange(4)).all() and not seen
