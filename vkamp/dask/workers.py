"""A Dask worker with an accelerator: its resource, its columns in the dashboard, and its budget of device memory."""

from __future__ import annotations

import os
from typing import Any

import click
import dask
from dask.utils import format_bytes, parse_bytes
from distributed.system import MEMORY_LIMIT

import vkamp as amp
from vkamp.dask import sending, spilling

#: The resource of every worker with an accelerator; each has one unit of it.
RESOURCE = "accelerator"
#: The setting of Dask's configuration for the budget.
SETTING = "vkamp.device-memory-limit"

#: The fraction of a device's memory that tasks' results may use; the rest is for running tasks.
_OF_DEVICE = 0.7
#: The same fraction of a worker's limit of main memory, for CPU drivers, which use main memory.
_OF_MAIN_MEMORY = 0.25


@click.command()
@click.option(
    "--accelerator",
    default=None,
    help="The accelerator of the worker, named as in VKAMP_ACCELERATOR. Several names, separated by commas, are those "
    "of the workers that --nworkers starts with a --name.",
)
@click.option(
    "--device-memory-limit",
    default=None,
    help="The device memory that results of tasks may use: bytes ('4 GiB'), or a fraction of the device's memory.",
)
def dask_setup(worker: Any, accelerator: str | None, device_memory_limit: str | None) -> None:
    """Options of ``dask worker --preload vkamp.dask``."""
    setup(worker, accelerator, device_memory_limit)


def setup(worker: Any, name: str | None = None, limit: Any = None) -> None:
    """Assigns an accelerator to a worker that has not started yet: ``name``, by default that of the process."""
    if name is not None:
        os.environ["VKAMP_ACCELERATOR"] = _chosen(worker, name)
    accelerator = amp.accelerator()
    if not accelerator.default_view.runs_kernels:
        raise amp.AmpError(f"the worker {worker.name} has no accelerator that runs kernels")
    buffer = spilling.DeviceResults(_budget(worker, accelerator, limit), worker.data)
    spilling.use(buffer)
    worker.memory_manager.data = worker.state.data = buffer
    sending.attach(worker, buffer)
    resources = {RESOURCE: 1.0, accelerator.description: 1.0}
    worker.state.total_resources.update(resources)
    worker.state.available_resources.update(resources)
    # Numbers and texts are columns of the dashboard's table of workers.
    worker.metrics["accelerator"] = lambda _: accelerator.description
    worker.metrics["device_memory"] = lambda _: buffer.device_memory
    worker.metrics["device_memory_limit"] = lambda _: buffer.budget
    worker.metrics["device_spilled"] = lambda _: buffer.spilled_bytes


def _chosen(worker: Any, names: str) -> str:
    """The name of the worker's accelerator, of one or several."""
    listed = [each.strip() for each in names.split(",")]
    if len(listed) == 1:
        return listed[0]
    number = str(worker.name).rpartition("-")[2]
    if not number.isdigit() or int(number) >= len(listed):
        raise amp.AmpError(
            f"--accelerator {names} lists {len(listed)} accelerators, and the worker's name, {worker.name!r}, has no "
            f"number from 0 to {len(listed) - 1} after a '-': write --nworkers {len(listed)} --name NAME"
        )
    return listed[int(number)]


def _budget(worker: Any, accelerator: amp.accelerator, limit: Any) -> int:
    """The bytes of device memory that results may use."""
    limit = dask.config.get(SETTING, None) if limit is None else limit
    if accelerator.is_emulated:
        memory = int(worker.memory_manager.memory_limit or MEMORY_LIMIT)
        fraction = _OF_MAIN_MEMORY
    else:
        memory, fraction = accelerator.dedicated_memory * 1024, _OF_DEVICE
    return _bytes_of(limit, memory, fraction)


def _bytes_of(limit: Any, memory: int, fraction: float) -> int:
    """A setting as bytes: a number above 1 or a size is bytes, a number up to 1 a fraction of the memory."""
    if limit in (None, "auto"):
        return int(memory * fraction)
    try:
        number = float(limit) if not isinstance(limit, str) or limit.replace(".", "", 1).isdigit() else None
        found = parse_bytes(limit) if number is None else int(number * memory if number <= 1 else number)
    except (TypeError, ValueError):
        found = 0
    if found <= 0:
        raise amp.AmpError(
            f"the device memory limit {limit!r} is neither a size (bytes, '4 GiB'), a fraction (0.5) nor 'auto'"
        )
    return found


def spill(nbytes: int | None = None) -> int:
    """Moves results of this worker's tasks from the device to host memory, the least recently used first.

    A task calls it when it needs much device memory itself: until ``nbytes`` of the device are free of results, or,
    without a number, until all of it is. Returns the bytes moved; 0 outside a worker with an accelerator. Functions of
    ``vkamp.dask`` do the same when the device runs out of memory.
    """
    found = spilling.buffer()
    return 0 if found is None else found.spill(nbytes)


def worker_info() -> dict[str, Any]:
    """The accelerator of this process's worker, and the bytes of results on it, their limit, and the bytes moved to
    host memory so far.

    ``{}`` outside of a worker with an accelerator.
    """
    found = spilling.buffer()
    if found is None:
        return {}
    accelerator = amp.accelerator()
    return {
        "accelerator": accelerator.description,
        "device_path": accelerator.device_path,
        "device_memory": found.device_memory,
        "device_memory_limit": found.budget,
        "spills": found.spills,
        "spilled_bytes": found.spilled_bytes,
        "text": f"{accelerator.description}: {format_bytes(found.device_memory)} of {format_bytes(found.budget)}",
    }
