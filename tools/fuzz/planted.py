"""Plants faults in the compiler, one at a time, and counts the random kernels until one of them shows it.

    python -m tools.fuzz.planted                  every fault; 1 if one is not caught
    python -m tools.fuzz.planted --only NAME      one of them
    python -m tools.fuzz.planted --most 400       kernels for each

Each fault is a replacement of text in a copy of the project. Random kernels run there, on the accelerators that are
named, until one fails. A fault that changes no kernel's result has a module of the tests that fails instead.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAULTS", "Fault", "kernels_until_caught"]

ROOT = Path(__file__).resolve().parents[2]
_BATCH = 24


@dataclass(frozen=True)
class Fault:
    """``old`` in a file becomes ``new``."""

    name: str
    what: str
    path: str
    old: str
    new: str
    accelerators: str = "reference,python,swiftshader+loops|llvmpipe+threads"
    #: A module of the tests with its arguments, which fails, for a fault that changes no kernel's result.
    module: tuple[str, ...] = ()


FAULTS: tuple[Fault, ...] = (
    Fault("floor", "the remainder is C's, for all devices: only Python knows", "vkamp/front/expressions.py",
          'name = OPERATION[type(op)]', 'name = OPERATION[type(op)].replace("floormod", "trem")', "reference,python"),
    Fault("literal", "a literal beside a uint32 makes an int32 of it", "vkamp/front/convert.py",
          "        return strong\n    return common_type(a, b)", "        return weak\n    return common_type(a, b)",
          "reference,python"),
    Fault("conversion", "operands meet in the smaller type", "vkamp/ir/types.py",
          "winner = left if _RANK[left.name] >= _RANK[right.name] else right",
          "winner = left if _RANK[left.name] <= _RANK[right.name] else right", "reference,python"),
    Fault("short circuit", "`or` does not stop", "vkamp/sim/expressions.py",
          'op = "L and R" if node.op == "and" else "L or R"', 'op = "L and R" if node.op == "and" else "R"',
          "reference,python"),
    Fault("shift", "a shift to the right of an int32 brings in zeros", "vkamp/sim/expressions.py",
          '"shl": "L << R", "shr": "L >> R"', '"shl": "L << R", "shr": "(L & 4294967295) >> R"', "reference,python"),
    Fault("parentheses", "the printer takes << for an operator that binds best", "vkamp/emit/text.py",
          '"shl": SHIFT', '"shl": POSTFIX', "reference,swiftshader"),
    Fault("definition", "nobody knows that a function of subgroups defines its result", "vkamp/ir/traversal.py",
          "fields) if v is not None])", 'fields) if v and type(statement).__name__ != "Subgroup"])',
          "reference,swiftshader"),
    Fault("comparison", "comparisons of 64 bits look at the lower 32", "vkamp/sim/expressions.py",
          '"lt": "L < R"', '"lt": "(L % 4294967296) < (R % 4294967296)"', "reference,python"),
    Fault("copy", "a name of an element of structs is a copy of it", "vkamp/front/references.py",
          "        place = stable(ctx, place, name)\n        root",
          "        own = own_object(ctx, name, place.type, span)\n"
          "        _copy_object(ctx, own, place, span, is_shared=False)\n        place = own\n        root",
          "reference,python"),
    Fault("deciding", "`and` and `or` give a truth value, not the operand that decides", "vkamp/front/expressions.py",
          "return _deciding(ctx, name, node.values, node)", "return _logical(ctx, name, node.values, node)",
          "reference,python"),
    Fault("small", "private arrays of small integers do not wrap what is stored", "vkamp/legalize/narrow_types.py",
          "if kept == self.types.value(kind):", "if kept == self.types.value(kind) and not kind.is_integer:",
          "reference,swiftshader"),
    Fault("claim", "nobody knows that amp.uniform defines a variable: check mode omits checks", "vkamp/ir/traversal.py",
          "fields) if v is not None])",
          'fields) if v and (type(statement).__name__, v.name) != ("UniformAssert", "x")])',
          module=("tools.kernels.claimed", "swiftshader")),
)  # fmt: skip


def kernels_until_caught(fault: Fault, most: int, seed: int = 0) -> tuple[int, str]:
    """The number of kernels until it was found, and the first line of the failure; 0 kernels: none of them showed
    it."""
    with tempfile.TemporaryDirectory(prefix="vkamp-planted-") as folder:
        place = Path(folder)
        for name in ("vkamp", "tools"):
            shutil.copytree(
                ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "real_kernels.json")
            )
        target = place / fault.path
        text = target.read_text(encoding="utf-8")
        if fault.old not in text:
            raise ValueError(f"{fault.name}: {fault.path} lacks the text that the fault replaces")
        target.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(place), "VKAMP_CACHE_DIR": str(place / "cache")}
        if fault.module:
            command = [sys.executable, "-m", *fault.module]
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
            return (1, (done.stdout or done.stderr).strip().splitlines()[-1]) if done.returncode else (0, "")
        for first in range(seed, seed + most, _BATCH):
            command = [sys.executable, "-m", "tools.fuzz", "--count", str(_BATCH), "--seed", str(first), "--no-shrink",
                       "--accelerators", fault.accelerators]  # fmt: skip
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
            failed = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
            if failed:
                number = min(int(line.split()[1].rstrip(":")) for line in failed)
                return number - seed + 1, failed[0]
            if done.returncode:
                return first - seed + 1, (done.stderr.strip().splitlines() or ["the command failed"])[-1]
    return 0, ""


def main(given: list[str] | None = None) -> int:
    """Plants every fault; 1 if one is not caught."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.planted", description=__doc__)
    parser.add_argument("--only", action="append", choices=[f.name for f in FAULTS], help="this fault")
    parser.add_argument("--most", type=int, default=480, help="kernels for each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first kernel's seed")
    options = parser.parse_args(given)
    missed = 0
    for fault in FAULTS:
        if options.only and fault.name not in options.only:
            continue
        start = time.monotonic()
        number, shown = kernels_until_caught(fault, options.most, options.seed)
        missed += not number
        seconds = time.monotonic() - start
        print(f"{'caught by kernel ' + str(number) if number else 'NOT CAUGHT':22} {fault.name}: {fault.what} "
              f"({seconds:.0f} s) {shown[:120]}", flush=True)  # fmt: skip
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
