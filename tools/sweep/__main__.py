"""``python -m tools.sweep operators``, ``barriers``, ``pieces``: tables and random kernels, on several accelerators.

Prints what is wrong, and for each accelerator how many cases were run and how many of them differ. Status 1 if any
does.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import vkamp as amp
from tools.sweep import barriers, operators, pieces
from vkamp.testing.devices import lacking


def _operators(name: str, view: amp.accelerator_view) -> Iterator[Callable[[], list[str]]]:
    usable = view.accelerator._info.usable_features  # type: ignore[union-attr]
    denormals = not lacking(name, ["denormals"])
    for case in operators.cases():
        if not operators.needs(case) - usable:
            yield functools.partial(operators.check, case, view, denormals=denormals)


def _barriers(ranks: str, view: amp.accelerator_view) -> Iterator[Callable[[], list[str]]]:
    shapes = [shape for shape in barriers.shapes() if str(len(shape)) in ranks]
    rows = itertools.product(shapes, barriers.CONSTRUCTS, ("threads", "loops"))
    for shape, construct, lowering in rows:
        yield functools.partial(_texts, construct, shape, lowering, view)


def _pieces(count: int, view: amp.accelerator_view) -> Iterator[Callable[[], list[str]]]:
    for seed in itertools.islice(pieces.cases(), count):
        yield functools.partial(pieces.check, seed, view)


def _texts(*case: Any) -> list[str]:
    text = barriers.check(*case)
    return [text] if text else []


def main() -> int:
    """The number of accelerators on which something differs, as the status of the process."""
    parser = argparse.ArgumentParser(prog="python -m tools.sweep", description=__doc__.partition("\n")[0])
    parser.add_argument("table", choices=("operators", "barriers", "pieces"))
    parser.add_argument("--accelerators", default="swiftshader,llvmpipe@vulkan,reference")
    parser.add_argument("--ranks", default="1,2,3", help="barriers: the tiles' numbers of dimensions")
    parser.add_argument("--count", type=int, default=1000, help="pieces: the kernels (default: %(default)s)")
    parser.add_argument("--part", default="0/1", help="I/N: of each N cases the one with number I")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    part, parts = map(int, options.part.split("/"))
    failed = 0
    for name in options.accelerators.split(","):
        view = amp.accelerator(name).default_view
        rows = {
            "operators": lambda: _operators(name, view),  # noqa: B023
            "barriers": lambda: _barriers(options.ranks, view),  # noqa: B023
            "pieces": lambda: _pieces(options.count, view),  # noqa: B023
        }[options.table]()
        started, count, wrong = time.monotonic(), 0, 0
        for check in itertools.islice(rows, part, None, parts):
            try:
                texts = check()
            except Exception:
                texts = [traceback.format_exc()]
            count += 1
            wrong += bool(texts)
            for text in texts:
                print(f"{name}: {text}", flush=True)
        print(f"{name}: {count} cases, {wrong} differ, {time.monotonic() - started:.0f} s", flush=True)
        failed += bool(wrong)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
