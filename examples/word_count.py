"""Counts the words of a text: a sort of their numbers, and the lengths of the runs of equal ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp
from vkamp import algorithms as alg

TEXT = """
It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was
the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of Darkness, it was
the spring of hope, it was the winter of despair.
"""


def count(view: amp.accelerator_view, numbers: Any) -> tuple[Any, Any]:
    """The numbers of the words that occur, sorted, and how often each does; nothing waits for the device."""
    return alg.run_length_encode(alg.sort(numbers, accelerator_view=view))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    words = TEXT.lower().replace(",", "").replace(".", "").split()
    different, numbers = np.unique(words, return_inverse=True)
    text = np.random.default_rng(1).choice(numbers, options.count).astype(np.int32)
    gallery.timed(view, "words", lambda: count(view, text), options.count, "G words/s")
    found, times = (np.asarray(each) for each in count(view, text))
    expected = np.unique(text, return_counts=True)

    def draw(axes: Any) -> None:
        axes.bar(different[found], times, color="#4060d0")
        axes.tick_params(axis="x", rotation=90)

    checks = [
        ("words", gallery.difference(found, expected[0]), 0.0),
        ("counts", gallery.difference(times, expected[1]), 0.0),
    ]
    return gallery.Result(checks, [gallery.chart(draw, 560, 420)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("word_count", __doc__ or "", run, argv, count=100_000)


if __name__ == "__main__":
    sys.exit(main())
