"""Launches: preparing, binding, submitting and repeating them.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from vkamp.artifacts import Domain
from vkamp.dispatch import launch_arguments, launch_cache
from vkamp.dispatch.call_cache import repeats
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.indirect_launches import now, steps_of
from vkamp.dispatch.launch_keys import key_of
from vkamp.dispatch.preparing import prepare
from vkamp.dispatch.result_types import result_type as result_type
from vkamp.dispatch.running import is_checked, run, run_checked
from vkamp.dispatch.running import on_demand as on_demand
from vkamp.edit.active import use_folder as use_folder
from vkamp.lang.capturing import recorder
from vkamp.lang.indirect import indirect
from vkamp.pipeline import load_early as load_early
from vkamp.run.accelerators import accelerator_view


def parallel_for_each(args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """Implements the public function."""
    view, domain, rest = launch_arguments.parse("parallel_for_each", args)
    if not rest:
        tiling = domain if isinstance(domain, indirect) else domain_of(domain)
        return launch_arguments.decorator(
            "parallel_for_each", "runs", "launch", lambda function: _launch(view, tiling, function, (), constants)
        )
    kernel, arguments = rest[0], rest[1:]
    if type(kernel) is partial:
        kernel, arguments, constants = launch_arguments.with_bound(rest, constants)
    if isinstance(domain, indirect):
        _launch_indirect(view, domain, kernel, *arguments, **constants)
        return None
    capture = recorder()
    if capture is not None:
        launched = key_of(view, domain, kernel, arguments, constants)
        alike = launch_cache.prepared_alike(launched, kernel, arguments, constants)
        if alike is not None:
            capture.add(alike)
            return None
    if capture is not None or is_checked():
        _launch(view, domain_of(domain), kernel, arguments, constants)
        return None
    launched = key_of(view, domain, kernel, arguments, constants)
    if launched is None:
        run(prepare(view, domain_of(domain), kernel, arguments, constants))
    elif not (launch_cache.repeat(launched, kernel) or launch_cache.launch_alike(launched, kernel)):
        prepared = prepare(view, domain_of(domain), kernel, arguments, constants)
        launch_cache.remember(launched, kernel, len(arguments), prepared, run(prepared))
    return None


def _launch(
    view: accelerator_view | None,
    domain: Domain | indirect,
    kernel: Any,
    args: tuple[Any, ...],
    constants: dict[str, Any],
) -> None:
    """A launch that is recorded, checked, or run once."""
    capture = recorder()
    if capture is not None:
        capture.launch(view, domain, kernel, args, constants)
    elif isinstance(domain, indirect):
        for step in steps_of(view, domain, kernel, args, constants):
            found = now(step) if step.waits or (step.indirect is not None and is_checked()) else step
            if found is not None:
                (run_checked if is_checked() else run)(found)
    else:
        (run_checked if is_checked() else run)(prepare(view, domain, kernel, args, constants))


@repeats(lambda: None)
def _launch_indirect(
    view: accelerator_view | None, domain: indirect, kernel: Any, /, *args: Any, **constants: Any
) -> None:
    _launch(view, domain, kernel, args, constants)
