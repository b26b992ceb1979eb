"""Opens the device that a built program will use, before the program does (:mod:`vkamp.run.ahead`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial

from vkamp.errors import AmpError
from vkamp.run import accelerators, ahead, libraries
from vkamp.run.engine import DeviceInfo
from vkamp.run.lifetime import prepare_to_open

if ahead.has_begun():
    # Loaded while the driver creates an instance.
    from vkamp.run.vulkan import engine, opening  # noqa: F401

    with contextlib.suppress(AmpError):
        libraries.load_vulkan()


def open_soon() -> None:
    """Has the thread open the device. Called at the end of ``import vkamp``: until then, a thread that imports a module
    waits."""
    if ahead.has_begun():
        ahead.go_on(partial(_open, opening.open_ahead))


def _open(open_ahead: Callable[[DeviceInfo], None]) -> None:
    """Opens the default device if it is a GPU, and the only one or the one that ``VKAMP_ACCELERATOR`` names; otherwise
    the program may use another one."""
    with contextlib.suppress(AmpError):  # The first use raises it.
        info = accelerators.info_of(accelerators.accelerator())
        if info is None or info.engine != "vulkan" or info.kind == "cpu":
            return
        others = [each for each in accelerators.accelerator.get_all() if not each.is_emulated]
        if len(others) == 1 or os.environ.get("VKAMP_ACCELERATOR", "").strip():
            prepare_to_open()
            open_ahead(info)
