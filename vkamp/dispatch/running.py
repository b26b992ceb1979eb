"""Prepared launches run: once, or under check mode, where the environment asks for it."""

from __future__ import annotations

from typing import Any

from vkamp.dispatch import watching
from vkamp.dispatch.bound_launch import SingleLaunch
from vkamp.dispatch.preparing import PreparedLaunch
from vkamp.errors import AmpError
from vkamp.run.environment import EnvironmentVariable


def run(prepared: PreparedLaunch) -> SingleLaunch:
    """Binds the containers and enqueues the launch; on the reference accelerator, looks at the host's memory, too."""
    bound = SingleLaunch(prepared)
    if prepared.target.reference:
        watching.refuse_stale([prepared])
    bound.submit()
    if prepared.target.reference:
        watching.look([prepared])
    return bound


def run_checked(prepared: PreparedLaunch) -> None:
    """Runs the launch under check mode."""
    on_demand().checked_launch(prepared)


def on_demand() -> Any:
    """Check mode and ``kernel.inspect``, imported when they are first used, because they import the compiler."""
    from vkamp.dispatch import on_demand

    return on_demand


_check = EnvironmentVariable("VKAMP_CHECK")


def is_checked() -> bool:
    """Whether the environment asks for every launch to be checked (``VKAMP_CHECK=1``)."""
    value = _check.value()
    if value is None:
        return False
    if value not in ("", "0", "1"):
        raise AmpError(f"VKAMP_CHECK is {value!r}: 1 checks every launch, 0 none")
    return value == "1"
