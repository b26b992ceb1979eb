"""All inputs of all rows of the table, in each form, on the accelerators named: ``python -m tests.algorithms NAME...``.

``--only WORD`` keeps the rows whose names contain the word, ``--part 2/5`` every fifth row, ``--forms runs`` one form.
``--cases`` runs the case lists of ``cases.py`` instead, on all their inputs; the reference accelerator runs small ones.
``--again`` repeats each row's calls and compares the results, and prints the functions that were never repeated.
``--check`` runs each row on two small inputs of its first type, in check mode.  It prints the calls that fail, and
returns 1 if any does.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

import pytest

import vkamp as amp
from tests.algorithms import cases_amp, cases_complex, cases_cub, rows  # noqa: F401
from tests.algorithms.cases import CASES, SMALL, inputs, run
from tests.algorithms.repeated import every_function
from tests.algorithms.table import ROWS, Row, all_inputs, checked_inputs, compare
from vkamp.algorithms import _choose
from vkamp.dispatch import call_cache


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.algorithms", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["swiftshader", "llvmpipe", "reference"])
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--forms", default="runs,tiles")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    chosen = [each for each in ROWS if arguments.only in each.name][part::parts]
    if arguments.check:
        os.environ["VKAMP_CHECK"] = "1"
    if arguments.cases:
        return run_cases(arguments, part, parts)
    if arguments.again:
        return run_again(arguments, chosen)
    calls = failures = 0
    begin = time.perf_counter()
    for name in arguments.accelerators:
        view = amp.accelerator(name).default_view
        is_small = name == "reference"
        for form in arguments.forms.split(","):
            for row in chosen:
                small = is_small or (form == "tiles" and name.startswith("swiftshader"))
                for a in checked_inputs(row) if arguments.check else all_inputs(row, small=small):
                    calls += 1
                    try:
                        with _choose.forced(form):
                            compare(row, a, {"accelerator_view": view})
                    except Exception as error:
                        failures += 1
                        what = f"{type(error).__name__}: {str(error)[:300]}"
                        print(f"{name}, {form}: {row.name} of {a.dtype}, {a.shape}: {what}", flush=True)
            print(f"{name}, {form}: {calls} calls, {failures} failed, {time.perf_counter() - begin:.0f} s", flush=True)
    return 1 if failures else 0


def run_again(arguments: argparse.Namespace, chosen: list[Row]) -> int:
    failures = 0
    for name in arguments.accelerators:
        repeated: set[str] = set()
        for row in chosen:
            call_cache.trim()
            try:
                with pytest.MonkeyPatch.context() as monkeypatch:
                    repeated |= set(every_function(amp.accelerator(name).default_view, [row], monkeypatch))
            except Exception as error:
                failures += 1
                print(f"{name}: {row.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        never = sorted({row.name for row in chosen} - repeated)
        failures += len(never)
        print(f"{name}: {len(chosen)} rows, {failures} failed, never repeated: {', '.join(never)}", flush=True)
    return 1 if failures else 0


def run_cases(arguments: argparse.Namespace, part: int, parts: int) -> int:
    chosen = [each for each in CASES if arguments.only in each.name][part::parts]
    failures = 0
    for name in arguments.accelerators:
        view = amp.accelerator(name).default_view
        for form in arguments.forms.split(","):
            counts, begin = Counter[str](), time.perf_counter()
            most = SMALL if name == "reference" or (form == "tiles" and name.startswith("swiftshader")) else None
            for each in chosen:
                for a in inputs(each, most):
                    try:
                        counts["right" if run(each, a, view, form) else "unsupported"] += 1
                    except Exception as error:
                        counts["failed"] += 1
                        what = f"{type(error).__name__}: {str(error)[:300]}"
                        print(f"{name}, {form}: {each.name} of {a.dtype}, {a.shape}: {what}", flush=True)
            failures += counts["failed"]
            print(
                f"{name}, {form}: {len(chosen)} cases, {counts.total()} calls, {counts['failed']} failed, "
                f"{counts['unsupported']} of types that the device lacks, {time.perf_counter() - begin:.0f} s",
                flush=True,
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
