"""Starts the compilation of a slow program before the launches that precede its own are prepared."""

from __future__ import annotations

from typing import Any

from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare
from vkamp.dispatch.running import is_checked
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.late_programs import may_be_late


def begin(view: accelerator_view, domain: Any, kernel: KernelFunction, *args: Any, **constants: Any) -> None:
    """Has a thread make the program of a launch that follows later in the same call of a library.

    It does nothing if the kernel was launched before, or if programs are not made in threads.  Raises what the launch
    would raise before it runs.
    """
    if kernel.plans or not may_be_late() or is_checked():
        return
    prepared = prepare(view, domain_of(domain), kernel, args, constants)
    if not prepared.target.reference:
        queue_of(view).program(prepared.executable)
