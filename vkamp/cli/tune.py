"""``vkamp tune``: searches the parameters of tuned functions for a device, and shows how it goes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import vkamp as amp
from vkamp import linalg
from vkamp.cli.console import OUT, say
from vkamp.cli.kernels import find_value, project_root
from vkamp.cli.signatures import Argument, constants_of, parse_arguments
from vkamp.errors import AmpError
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import info_of
from vkamp.tuning.report import Search, TuningReport, entry_of
from vkamp.tuning.store import entries

#: Sides of the products that are tuned without a FUNCTION.
_SIDES, _CPU_SIDES = (256, 512, 1024, 2048, 4096, 8192), (64, 256, 512)
_POSITIVE = click.FloatRange(0, min_open=True)
_STEPS = {"compile": "compiling", "check": "comparing and checking", "time": "timing"}


@click.command()
@click.argument("function", required=False, metavar="[MODULE:FUNCTION]")
@click.argument("keywords", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--args", "types", default="", help='The arguments: "float32[4096,4096], float32[4096]".')
@click.option("--accelerator", "path", help="The device, as for VKAMP_ACCELERATOR.")
@click.option("--budget", default=30.0, type=_POSITIVE, show_default=True, help="Seconds of each search.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture of the search (SVG).")
@click.option("--export", type=click.Path(dir_okay=False, path_type=Path), help="Add the results to a table (JSON).")
@click.option("--list", "lists", is_flag=True, help="Only list what is stored.")
def tune(
    function: str | None, keywords: tuple[str, ...], types: str, path: str | None, budget: float,
    plot: Path | None, export: Path | None, lists: bool,
) -> None:  # fmt: skip
    """Search the parameters of a function for a device, with random numbers of the types in --args.

    Without a function, those of vkamp's matrix products.  The results are stored for this device and driver; later
    calls take them.
    """
    if lists:
        _list()
        return
    view = amp.accelerator(path).default_view if path else amp.accelerator().default_view
    calls = _products(view) if function is None else [_call(function, types, keywords, view)]
    searches: list[Search] = []
    for call in calls:
        with _shown() as progress:
            found = call(budget, progress)
        searches += found.searches
        for search in found.searches:
            _print(search)
    if plot is not None:
        TuningReport(searches).plot(plot)
        say(f"wrote {plot}")
    if export is not None:
        say(f"{_export(export, searches, view)} entries in {export}")


_Tuning = Callable[[float, Any], TuningReport]


def _products(view: amp.accelerator_view) -> Iterator[_Tuning]:
    for side in _CPU_SIDES if view.accelerator.is_emulated else _SIDES:
        a, b = (_random(amp.extent(side, side), amp.float32, view) for _ in range(2))
        yield lambda budget, progress, a=a, b=b: amp.tune(linalg.matmul, a, b, budget=budget, progress=progress)  # type: ignore[misc]


def _call(name: str, types: str, keywords: Sequence[str], view: amp.accelerator_view) -> _Tuning:
    function = find_value(name, project_root(Path.cwd()))
    if not callable(function):
        raise AmpError(f"{name} is not a function")
    if isinstance(function, KernelFunction):
        raise AmpError(f"{name} is a kernel: name a function with @amp.autotune, or one that calls it")
    arguments = [_argument(each, view) for each in parse_arguments(types)]
    options = constants_of(tuple(keywords))
    return lambda budget, progress: amp.tune(function, *arguments, budget=budget, progress=progress, **options)


def _argument(argument: Argument, view: amp.accelerator_view) -> Any:
    row = argument.row
    if "number" in row:
        return np.dtype(getattr(amp, row["number"])).type(1)
    if "container" not in row or argument.sizes is None or not row["dense"]:
        raise AmpError("tune takes containers with their sizes, and numbers: write float32[1024,1024] or int32")
    return _random(amp.extent(*argument.sizes), getattr(amp, row["container"]), view)


def _random(extent: amp.extent, dtype: Any, view: amp.accelerator_view) -> amp.array:
    made = amp.array(extent, dtype, accelerator_view=view)
    values = np.asarray(made)
    random = np.random.default_rng(1)
    shape, kind = values.shape, values.dtype
    numbers = random.random(shape) - 0.5 if kind.kind in "fc" else random.integers(0, 100, shape)
    amp.copy(numbers.astype(kind), made)
    return made


@contextmanager
def _shown() -> Iterator[Any]:
    """A display of the step, how much of it is done, and the candidate."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}", style="bold"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("{task.fields[text]}", style="cyan", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        tasks: dict[str, Any] = {}

        def show(step: str, done: int, total: int, text: str) -> None:
            if step not in tasks:
                tasks[step] = display.add_task(_STEPS.get(step, step), total=total, text="")
            display.update(tasks[step], completed=done, total=total, text=text)

        yield show


def _print(search: Search) -> None:
    table = Table(title=f"{search.function} {search.key}", title_justify="left", box=None, header_style="bold")
    for name in ("parameters", "time", "speed", ""):
        table.add_column(name, overflow="fold")
    for row in search.rows():
        style = "green" if row[3].startswith("best") else "dim" if row[1] == "-" else ""
        table.add_row(*(Text(cell, style=style) for cell in row))
    OUT.print(table)
    text = f"{search.gain:.2f} times the default's speed, in {search.seconds:.1f} s"
    say(text if search.stored else f"{text}; it could not be stored", "bold")
    if search.untried:
        say(f"{search.untried} candidates were not tried: --budget gives more time")


def _export(path: Path, searches: Sequence[Search], view: amp.accelerator_view) -> int:
    """Adds results to a table; entries for the same function and key are replaced."""
    info = info_of(view)
    table: dict[str, Any] = {"device": "" if info is None else info.name, "entries": []}
    if path.exists():
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise AmpError(f"{path} is not a table: {error}") from error
    run = {
        "date": time.strftime("%Y-%m-%d"), "driver": "" if info is None else info.driver,
        "engine": "" if info is None else info.engine, "vkamp": amp.__version__, "command": "vkamp tune --export",
    }  # fmt: skip
    known = {(each["function"], json.dumps(each["key"])): each for each in table["entries"]}
    for search in searches:
        entry = entry_of(search, run)
        known[entry["function"], json.dumps(entry["key"])] = entry
    table["entries"] = list(known.values())
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return len(known)


def _list() -> None:
    found = entries()
    for each in found:
        say(f"{each['function']} {each['key']} on {each['device']['name']} ({each['device']['engine']})", "bold")
        parameters = each.get("parameters")
        say(f"  {parameters}, {each.get('gain', 1.0):.2f} times the default, {each.get('made', '')}")
    say(f"{len(found)} results")
