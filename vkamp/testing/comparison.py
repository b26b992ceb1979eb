"""Compares a launch on a device with the same launch on the reference accelerator."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp import lower
from vkamp.dispatch import checking, launch_arguments, reference_schedule
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import PreparedLaunch, prepare, prepare_on
from vkamp.dispatch.running import is_checked, run
from vkamp.dispatch.targets import is_reference
from vkamp.lang.capturing import refuse
from vkamp.lang.container import Container, bindable
from vkamp.lang.home import Home
from vkamp.lang.host_memory import Lease
from vkamp.lang.kernel import KernelFunction
from vkamp.lang.region import Layout
from vkamp.run.accelerators import accelerator, queue_of
from vkamp.run.workarounds import traps_of
from vkamp.testing.ulp import difference
from vkamp.tracebacks import entry_point

_TOLERANCES = ("ulp", "atol")
#: Lavapipe ends a thread's loops after this many iterations.
_MAX_ITERATIONS = 65535


@entry_point
def compare(
    *args: Any,
    ulp: float | Mapping[str, float] = 0,
    atol: float | Mapping[str, float] = 0.0,
    **constants: Any,
) -> None:
    """Runs a launch on its device and on the reference accelerator, from equal contents, and compares what it wrote.

    ``compare([accelerator_view,] domain, kernel, *args, **constants)``, as for ``parallel_for_each``. It waits for the
    launch, and the containers have the device's results afterwards.

    Floats may differ by ``ulp`` units of the last place, or by ``atol`` (one number for all containers, or a mapping by
    the names of the kernel's parameters, 0 for those not named); integers must be equal or within ``atol``. Raises
    ``AssertionError``, which lists the elements with the largest differences. Raises what ``parallel_for_each`` raises,
    and before it what the reference accelerator finds: indices out of bounds, races, reads of unwritten memory
    (``CheckError``).

    If the launch runs on the reference accelerator, it runs there in two orders of its threads.
    """
    __tracebackhide__ = True
    refuse("vkamp.testing.compare()")
    view, domain, rest = launch_arguments.parse("compare", args)
    if not rest:
        raise TypeError("compare takes a kernel after the domain: compare(domain, kernel, *args)")
    kernel, arguments, constants = launch_arguments.with_bound(rest, constants)
    _refuse_hidden(kernel)
    prepared = prepare(view, domain_of(domain), kernel, arguments, constants)
    written = [name for name, use in prepared.compiled.access.items() if use.changes]
    tolerances = [_tolerances("ulp", ulp, prepared, written), _tolerances("atol", atol, prepared, written)]
    expected = _run_reference(prepared, kernel, _copies(prepared.arguments.containers))
    if is_checked():
        checking.checked_launch(prepared)
    else:
        run(prepared)
    texts = []
    for name in written:
        found, wanted = _elements(prepared.arguments.containers[name]), _elements(expected[name])
        texts.append(difference(name, found, wanted, *(of[name] for of in tolerances)))
    if any(texts):
        raise AssertionError("\n".join([_headline(prepared), *filter(None, texts), *_advice(prepared)]))


def _refuse_hidden(kernel: Any) -> None:
    """A constant of the kernel with the name of a tolerance would never receive its value."""
    function = kernel.function if isinstance(kernel, KernelFunction) else kernel
    taken = set(getattr(function, "__kwdefaults__", None) or ())
    code = getattr(function, "__code__", None)
    if code is not None:
        taken.update(code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount])
    for name in _TOLERANCES:
        if name in taken:
            raise TypeError(f"compare itself has a parameter {name!r}: rename the one of {kernel.__name__}")


def _tolerances(
    what: str, value: float | Mapping[str, float], prepared: PreparedLaunch, written: list[str]
) -> dict[str, float]:
    """The tolerance of each container that the launch writes."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(written, value)
    unknown = [name for name in value if name not in written]
    if unknown:
        wrote = ", ".join(written) or "nothing"
        raise ValueError(f"{what} names {', '.join(unknown)}; {prepared.compiled.name} writes {wrote}")
    return {name: value.get(name, 0.0) for name in written}


# -- the reference's run -------------------------------------------------------------------------------------------


def _copies(containers: Mapping[str, Container]) -> dict[str, Container]:
    """Containers with equal contents that share memory with each other as these do, and with nothing else."""
    leases: dict[int, Lease] = {}
    made = {}
    for name, container in containers.items():
        elements = bindable(container)
        with elements.lease as home:
            if home.id not in leases:
                leases[home.id] = Lease(_copy_of(home))
            made[name] = Container(leases[home.id], elements.layout, container.readonly)
    return made


def _elements(container: Container) -> NDArray[Any]:
    """The newest elements; the home memory does not change."""
    elements = bindable(container)
    with elements.lease as home:
        return home.read(elements.layout)


def _copy_of(home: Home) -> Home:
    """A separate home with the newest bytes of another."""
    memory: NDArray[np.uint8] = home.read(Layout.dense(home.start, (home.stop - home.start,), np.dtype(np.uint8)))
    return Home(home.start, home.stop, memory=lambda: memory, defined=True)


def _run_reference(prepared: PreparedLaunch, kernel: Any, containers: dict[str, Container]) -> dict[str, Container]:
    """Runs the launch over these containers on the reference accelerator."""
    arguments = dataclasses.replace(prepared.arguments, containers=containers)
    again = prepare_on(accelerator("reference").default_view, prepared.domain, kernel, arguments)
    if is_reference(prepared.view):
        with reference_schedule("adversarial"):
            run(again)
    else:
        run(again)
    return containers


# -- the message ---------------------------------------------------------------------------------------------------


def _headline(prepared: PreparedLaunch) -> str:
    name = prepared.compiled.name
    if is_reference(prepared.view):
        return f"{name} gives different results in two orders of its threads"
    return f"{name} on {prepared.view.accelerator.description} differs from the reference accelerator"


def _advice(prepared: PreparedLaunch) -> list[str]:
    """Possible causes of a difference other than the kernel: a hand-edited shader, a fault of the driver."""
    edited = (
        [f"note: the device ran the hand-edited shader {prepared.override.kept.shown}"] if prepared.override else []
    )
    return edited + _met_traps(prepared)


def _met_traps(prepared: PreparedLaunch) -> list[str]:
    trap = traps_of(queue_of(prepared.view).info).get("long_loops")
    if trap is None:
        return []
    count = lower.max_iterations(prepared.compiled.kernel)
    if count is not None and count <= _MAX_ITERATIONS:
        return []
    many = "this kernel may have more" if count is None else f"this kernel may have {count:,}"
    return [f"note: this device {trap}, and {many}"]
