"""Runs the examples on the reference accelerator with small tiles, so that their kernels can be recorded.

``python -m tools.fuzz.real FILE tests/fuzz/small_examples.py`` writes what they launch.
"""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The options of each example, and its constants.
SMALL = {
    "binomial_options": ("--count 3", {"STEPS": 15}),
    "bitonic_sort": ("--size 5", {"TILE": 8, "SPAN": 16}),
    "black_scholes": ("--count 30", {}),
    "cartoon": ("--size 9 --shades 4", {"SIDE": 4}),
    "floyd_warshall": ("--count 7", {"SIDE": 4}),
    "gaussian_blur": ("--size 9 --radius 2", {"TILE": 8}),
    "heat": ("--size 7 --steps 4", {"SIDE": 4}),
    "histogram": ("--size 9", {"TILE": 16, "ROW": 2, "BINS": 16}),
    "k_means": ("--size 9 --colours 3 --iterations 1", {"TILE": 8, "ROW": 2, "MOST": 4}),
    "life": ("--size 9 --frames 1", {"SIDE": 4}),
    "mandelbrot": ("--size 9 --iterations 20", {}),
    "matrix_product": ("--size 7", {"SIDE": 4}),
    "n_body": ("--count 14 --steps 1", {"TILE": 8}),
    "reaction": ("--size 7 --frames 1", {"SIDE": 4, "STEPS": 2}),
    "reduction": ("--count 100", {"TILE": 8, "ROW": 4}),
    "scan": ("--count 60", {"TILE": 8}),
    "transpose": ("--size 7", {"SIDE": 4}),
}


@pytest.mark.parametrize("name", SMALL)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example = importlib.import_module(name)
    options, constants = SMALL[name]
    for constant, value in constants.items():
        monkeypatch.setattr(example, constant, value)
    # What it says about results is for the true sizes.
    with contextlib.suppress(Exception):
        example.main([*options.split(), "--accelerator", "reference", "--output", str(tmp_path / "out.png")])
