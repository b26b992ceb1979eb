"""The launch itself: prepared, bound, submitted, or repeated.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import os
from typing import Any

from vkamp.artifacts import Domain
from vkamp.dispatch import launch_arguments, launch_cache, watching
from vkamp.dispatch.bound_launch import SingleLaunch
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.launch_keys import key_of
from vkamp.dispatch.preparing import PreparedLaunch, prepare
from vkamp.edit.active import use_folder as use_folder
from vkamp.errors import AmpError
from vkamp.lang.capturing import recorder
from vkamp.run.accelerators import accelerator_view


def parallel_for_each(args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """What stands behind the public function."""
    view, domain, rest = launch_arguments.parse("parallel_for_each", args)
    if not rest:
        tiling = domain_of(domain)
        return launch_arguments.decorator(
            "parallel_for_each", "runs", "launch", lambda function: _launch(view, tiling, function, (), constants)
        )
    kernel, arguments = rest[0], rest[1:]
    if recorder() is not None or is_checked():
        _launch(view, domain_of(domain), kernel, arguments, constants)
        return None
    launched = key_of(view, domain, kernel, arguments, constants)
    if launched is None:
        run(prepare(view, domain_of(domain), kernel, arguments, constants))
    elif not launch_cache.repeat(launched, kernel):
        prepared = prepare(view, domain_of(domain), kernel, arguments, constants)
        launch_cache.remember(launched, kernel, len(arguments), prepared, run(prepared))
    return None


def _launch(
    view: accelerator_view | None, domain: Domain, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> None:
    """A launch that is recorded, checked, or run once."""
    capture = recorder()
    if capture is not None:
        capture.launch(view, domain, kernel, args, constants)
        return
    prepared = prepare(view, domain, kernel, args, constants)
    if is_checked():
        run_checked(prepared)
    else:
        run(prepared)


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
    """Check mode and ``kernel.inspect``, loaded where they are asked for: they come with the compiler."""
    from vkamp.dispatch import on_demand

    return on_demand


#: The environment as CPython keeps it.  A look into it takes 0.05 us; `in os.environ`, which encodes the name first,
#: 0.5 us, a fifth of a repeated launch.
_variables: Any = getattr(os.environ, "_data", os.environ)
_CHECK: Any = os.environ.encodekey("VKAMP_CHECK") if hasattr(os.environ, "_data") else "VKAMP_CHECK"


def is_checked() -> bool:
    """Whether the environment asks for every launch to be checked (``VKAMP_CHECK=1``)."""
    if _CHECK not in _variables:
        return False
    value = os.environ.get("VKAMP_CHECK", "")
    if value not in ("", "0", "1"):
        raise AmpError(f"VKAMP_CHECK is {value!r}: 1 checks every launch, 0 none")
    return value == "1"
