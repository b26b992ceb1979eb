"""When launches on a view are submitted (AMP: ``queuing_mode``)."""

from __future__ import annotations

import enum


class queuing_mode(enum.Enum):
    """When launches on a view are submitted (AMP: ``queuing_mode``)."""

    immediate = "immediate"
    automatic = "automatic"


#: Every launch is submitted before the call returns.
queuing_mode_immediate = queuing_mode.immediate
#: A launch is submitted immediately if the device is idle. While the device is busy, launches are collected and
#: submitted together.
queuing_mode_automatic = queuing_mode.automatic
