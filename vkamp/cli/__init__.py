"""The command ``vkamp``: devices, set-up, programs, hand-edited shaders, error codes, tilings."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_INSTALL = 'vkamp: the command needs {name}, which is not installed; its packages come with\n  pip install "vkamp[cli]"'


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status: 0, 1 for an error or a problem that was found, 2 for a wrong command
    line."""
    try:
        # The packages of the extra are imported here, because importing vkamp does not need them.
        from vkamp.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        print(_INSTALL.format(name=error.name), file=sys.stderr)
        return 2
    return run(sys.argv[1:] if argv is None else list(argv))
