"""The output of a running kernel: its prints, its stops for the debugger, and the steps of a thread that is
followed."""

from __future__ import annotations

import linecache
import os
import pdb
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vkamp.findings import ThreadAt
from vkamp.ir.nodes import Print
from vkamp.ir.types import Scalar
from vkamp.sim.faults import NOWHERE, FaultReporter, Grid, Thread
from vkamp.sim.text import value_text


@dataclass(frozen=True)
class Follow:
    """One thread of a launch, by its global index, or by its tile and its index in it.

    With ``trace`` every statement that it runs is shown with the values that it assigns.
    """

    global_: tuple[int, ...] | None = None
    tile: tuple[int, ...] | None = None
    local: tuple[int, ...] | None = None
    trace: bool = False

    def thread(self, grid: Grid) -> ThreadAt | None:
        """Finds the thread in a launch."""
        if self.global_ is not None:
            inside = len(self.global_) == len(grid.domain) and _inside(self.global_, grid.domain)
            return grid.thread(grid.number(self.global_)) if inside else None
        if grid.tile is None or self.tile is None or self.local is None:
            return None
        if not (len(self.tile) == len(self.local) == len(grid.tile)):
            return None
        if not (_inside(self.tile, grid.tiles) and _inside(self.local, grid.tile)):
            return None
        place = tuple(t * n + i for t, n, i in zip(self.tile, grid.tile, self.local, strict=True))
        return ThreadAt(place, self.tile, self.local)


def _inside(index: Sequence[int], shape: Sequence[int]) -> bool:
    return all(0 <= i < n for i, n in zip(index, shape, strict=True))


# -- prints --------------------------------------------------------------------------------------------------------


class PrintedText:
    """A ``print`` statement without its values."""

    def __init__(self, node: Print, unit: int) -> None:
        self.unit = unit
        self.first = node.texts[0]
        self.parts = tuple(zip((v.type for v in node.values), node.formats, node.texts[1:], strict=True))

    def text(self, values: Sequence[Any]) -> str:
        """The printed text."""
        out = self.first
        for value, (kind, spec, after) in zip(values, self.parts, strict=True):
            if spec:
                plain = bool(value) if isinstance(kind, Scalar) and kind.kind == "bool" else value
                out += format(plain, spec) + after
            else:
                out += value_text(kind, value, self.unit) + after
        return out


def debugger() -> Callable[[], None]:
    """Runs ``breakpoint()``: pdb by default, in which ``step`` stays in the kernel."""
    if sys.breakpointhook is not sys.__breakpointhook__ or os.environ.get("PYTHONBREAKPOINT"):
        return breakpoint

    def stop() -> None:
        pdb.Pdb(skip=["vkamp.*"]).set_trace(sys._getframe(1))

    return stop


# -- output --------------------------------------------------------------------------------------------------------


class LaunchOutput:
    """The standard output of one launch.

    Each line of a print begins with its thread, unless one thread is followed.
    """

    def __init__(self, judge: FaultReporter, name: str, follow: Follow | None) -> None:
        self.judge = judge
        self.name = name
        self.follow = follow
        self.followed = follow.thread(judge.grid) if follow is not None else None
        #: The thread that printed last without ending its line.
        self.open: int | None = None
        #: The source line that was shown last, and the value that is about to be stored.
        self.line: tuple[str, int] | None = None
        self.pending: Any = None

    def __enter__(self) -> None:
        """The launch begins."""
        if self.follow is not None and self.follow.trace and self.followed is not None:
            self._show(f"{self.name}: {self.followed}")

    def __exit__(self, *_: object) -> None:
        """The launch ends: later output begins a new line."""
        if self.open is not None:
            print()

    def acts(self, thread: Thread) -> bool:
        """Whether a thread prints and stops."""
        return self.follow is None or (self.followed is not None and self.followed.global_ == thread.global_)

    def print(self, thread: Thread, text: PrintedText, values: Sequence[Any]) -> None:
        """Runs a ``print``."""
        if not self.acts(thread):
            return
        shown = text.text(values)
        if self.follow is None and shown:
            prefix = f"thread {_index(thread.global_)}: "
            if self.open is not None and self.open != thread.number:
                sys.stdout.write("\n")
                self.open = None
            start = "" if self.open == thread.number else prefix
            ended = shown.endswith("\n")
            body = shown[:-1] if ended else shown
            shown = start + body.replace("\n", f"\n{prefix}") + ("\n" if ended else "")
        if shown:
            self.open = None if shown.endswith("\n") else thread.number
        sys.stdout.write(shown)

    def _show(self, text: str) -> None:
        """A line that no ``print`` of the kernel writes."""
        if self.open is not None:
            sys.stdout.write("\n")
            self.open = None
        sys.stdout.write(f"{text}\n")

    # -- the steps of a thread

    def at(self, thread: Thread, number: int) -> None:
        """A statement begins; shows its source line unless that was shown last."""
        if not self.acts(thread):
            return
        span = self.judge.sites[number].span
        if self.line != (span.file, span.line):
            self.line = (span.file, span.line)
            self._show(f"{span.line:>5} | {linecache.getline(span.file, span.line).strip()}")

    def value(self, thread: Thread, number: int, value: Any) -> Any:
        """The value of an assignment or of a condition."""
        if self.acts(thread):
            site = self.judge.sites[number]
            assert site.value is not None
            text = value_text(site.value, value, self.judge.unit)
            self._show(f"      |     {f'{site.text} = ' if site.text else ''}{text}")
        return value

    def kept(self, thread: Thread, value: Any) -> Any:
        """The value of a store; its address follows."""
        self.pending = value
        return value

    def pending_value(self) -> Any:
        """The value that was passed to :meth:`kept`."""
        return self.pending

    def stored(self, thread: Thread, number: int, word: int) -> int:
        """The address of a store."""
        if self.acts(thread):
            site = self.judge.sites[number]
            assert site.value is not None
            text = value_text(site.value, self.pending, self.judge.unit)
            if word is NOWHERE:
                self._show(f"      |     {text} is not stored")
            else:
                self._show(f"      |     {self.judge.element(site, word)[0]} = {text}")
        return word


def _index(index: Sequence[int]) -> str:
    return f"({', '.join(map(str, index))})"
