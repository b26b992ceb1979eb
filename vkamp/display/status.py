"""A line in the terminal that shows progress, by rich if that is installed.

``VKAMP_PROGRESS=0`` turns it off.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

_VARIABLE = "VKAMP_PROGRESS"
#: The errors of a terminal that was closed.
_GONE = (OSError, ValueError)


class TerminalStatus:
    """Shows ``text()`` on standard error if that is a terminal; see ``vkamp.progress``."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._live: Any = None
        self._modules: Any = None

    def is_wanted(self) -> bool:
        if os.environ.get(_VARIABLE) == "0":
            return False
        try:
            return sys.stderr is not None and sys.stderr.isatty()
        except _GONE:
            return False

    def prepare(self) -> None:
        """Imports rich, which takes long."""
        with contextlib.suppress(ImportError):
            from rich import console, live, spinner, text

            self._modules = console, live, spinner, text

    def show(self) -> None:
        if self._modules is None:
            return
        console, live, spinner, text = self._modules
        terminal = console.Console(stderr=True)
        if not terminal.is_terminal or terminal.is_dumb_terminal:
            return
        turning = spinner.Spinner("dots")

        def line() -> Any:
            turning.update(text=text.Text(self._text(), style="dim", no_wrap=True, overflow="ellipsis"))
            return turning

        # The program's output is not redirected.
        shown = live.Live(
            get_renderable=line,
            console=terminal,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with contextlib.suppress(*_GONE):
            shown.start(refresh=True)
            self._live = shown
            # A thread may be printing when the interpreter exits, and the terminal must get its cursor back.
            atexit.register(self.end)

    def end(self) -> None:
        shown, self._live = self._live, None
        if shown is not None:
            atexit.unregister(self.end)
            with contextlib.suppress(*_GONE):
                shown.stop()
