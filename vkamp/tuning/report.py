"""The result of a search, as text and as a picture."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkamp.tracebacks import entry_point
from vkamp.tuning.picture import svg
from vkamp.tuning.space import Parameters, label, values_of


@dataclass
class Trial:
    """A candidate: the seconds of a call in each round, or the reason why it was rejected."""

    parameters: Parameters
    reason: str = ""
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the times; infinite if there are none."""
        return statistics.median(self.seconds) if self.seconds else float("inf")


@dataclass
class Search:
    """The search for one call of one function. ``untried``: candidates for which no time was left."""

    function: str
    accelerator: str
    key: str
    default: Parameters
    best: Parameters
    trials: list[Trial]
    seconds: float
    untried: int = 0
    stored: bool = False

    def seconds_of(self, parameters: Parameters) -> float:
        """The median time of a call with a candidate."""
        return next((each.median for each in self.trials if each.parameters == parameters), float("inf"))

    @property
    def gain(self) -> float:
        """How many times faster the best candidate is than the default."""
        return 1.0 if self.best == self.default else self.seconds_of(self.default) / self.seconds_of(self.best)

    @property
    def rejected(self) -> list[Trial]:
        """The candidates that were rejected, with their reasons."""
        return [each for each in self.trials if each.reason]

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each candidate, the fastest first: parameters, time, factor over the default, remark."""
        base = self.seconds_of(self.default)
        rows: list[tuple[str, ...]] = []
        for each in sorted(self.trials, key=lambda trial: trial.median):
            marks = [name for name in ("best", "default") if getattr(self, name) == each.parameters]
            timed = bool(each.seconds) and not each.reason
            rows.append(
                (
                    str(each.parameters),
                    shown(each.median) if timed else "-",
                    f"{base / each.median:.2f}" if timed else "-",
                    each.reason or ", ".join(marks),
                )
            )
        return rows

    def __str__(self) -> str:
        return f"{self.function} {self.key} on {self.accelerator}: {self.best}, {self.gain:.2f} times the default"


@entry_point
class TuningReport:
    """The result of ``amp.tune``; ``searches`` has one entry for each tuned function and key."""

    def __init__(self, searches: Sequence[Search]) -> None:
        self.searches = tuple(searches)

    @property
    def best(self) -> Parameters:
        """The parameters that were found, by the first search."""
        return self.searches[0].best

    @property
    def default(self) -> Parameters:
        """The parameters without a search, of the first search."""
        return self.searches[0].default

    @property
    def gain(self) -> float:
        """How many times faster the first search made its function."""
        return self.searches[0].gain

    @property
    def rejected(self) -> list[Trial]:
        """The candidates that were rejected; each has ``parameters`` and ``reason``."""
        return [each for search in self.searches for each in search.rejected]

    def table(self) -> str:
        """All candidates with their times, as text."""
        lines = []
        for search in self.searches:
            rows = [("parameters", "time", "speed", ""), *search.rows()]
            widths = [max(len(row[k]) for row in rows) for k in range(3)]
            lines.append(str(search))
            lines += ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
            if search.untried:
                lines.append(f"{search.untried} candidates were not tried: a larger budget has time for them")
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Writes a picture of the search (SVG): the times of all candidates in the order in which they were tried."""
        Path(path).write_text(svg(self.searches), encoding="utf-8")

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<TuningReport: {'; '.join(map(str, self.searches))}>"


def shown(seconds: float) -> str:
    """A time as text."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def entry_of(search: Search, run: dict[str, Any]) -> dict[str, Any]:
    """A search as an entry of a table, with the run that made it."""
    return {
        "function": search.function,
        "key": json.loads(search.key),
        "parameters": {name: label(value) for name, value in values_of(search.best).items()},
        "run": {
            **run,
            "accelerator": search.accelerator,
            "seconds": search.seconds_of(search.best),
            "default_seconds": search.seconds_of(search.default),
            "timed": sum(bool(each.seconds) for each in search.trials),
            "untried": search.untried,
        },
    }
