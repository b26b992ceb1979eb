"""Results that other workers request: threads copy them from the device while the worker's event loop runs.

Dask serializes results of up to 10 MiB in the event loop. A result on the device that is not complete yet would keep
the loop waiting, and with it the tasks that the scheduler sends meanwhile: the device would run out of work.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import vkamp as amp
from vkamp.dask import containers
from vkamp.dask.spilling import DeviceResults

#: How many copies a worker makes at a time.
_THREADS = 4


def attach(worker: Any, results: DeviceResults) -> None:
    """Replaces the handler of requests for results by one that copies in threads, before the worker starts."""
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="vkamp-send")
    plain = worker.handlers["get_data"]

    async def get_data(comm: Any, keys: Collection[Any], **options: Any) -> Any:
        copy = functools.partial(_copy, results, keys)
        await asyncio.get_running_loop().run_in_executor(pool, copy)
        return await plain(comm, keys=keys, **options)

    worker.handlers["get_data"] = get_data


def _copy(results: DeviceResults, keys: Collection[Any]) -> None:
    """Copies the results to host memory, where they stay until they are serialized."""
    containers.copy_early([*_arrays([results.on_device(key) for key in keys])])


def _arrays(value: Any) -> Iterator[amp.array]:
    """The arrays in a task's result, also in tuples, lists and dicts."""
    if isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _arrays(each)
    elif isinstance(value, dict):
        yield from _arrays([*value.values()])
    else:
        held = getattr(value, "__vkamp_container__", value)
        if isinstance(held, amp.array):
            yield held
