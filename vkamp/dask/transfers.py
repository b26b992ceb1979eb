"""Copies of containers between workers."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.dask.blocks import Block, chunk_of
from vkamp.tracebacks import entry_point


@entry_point
def copy(source: Any, worker: str, *, client: Any = None) -> Any:
    """A future of a copy of a container on another worker's device (AMP: ``copy`` between accelerators).

    ``source``: a future of an ``array``, an ``array_view`` or a chunk, or a container of this process. ``worker``: the
    worker's name, which is that of its accelerator in a :class:`LocalCluster`, or its address. Dask's comms carry the
    elements from worker to worker. ``client``: by default the current one of ``distributed``.

    ValueError if there is no such worker. TypeError, where the copy is made, if the source is something else.
    """
    from distributed import Future, get_client

    client = get_client() if client is None else client
    known = client.scheduler_info(n_workers=-1)["workers"]
    address = next((at for at, info in known.items() if worker in (at, info["name"], info["id"])), None)
    if address is None:
        names = ", ".join(repr(info["name"]) for info in known.values())
        raise ValueError(f"there is no worker {worker!r}; the workers are {names}")
    if not isinstance(source, Future):
        _check(source)
    return client.submit(_copied, source, workers=[address], allow_other_workers=False, pure=False)


def _check(source: Any) -> None:
    if not isinstance(source, (amp.array, amp.array_view, Block)):
        raise TypeError(f"copy takes a container or a future of one, got {type(source).__name__}")


@entry_point
def _copied(source: Any) -> Any:
    """Runs on the other worker, to which Dask has brought the elements."""
    _check(source)
    if isinstance(source, Block):
        return chunk_of(amp.array(source.container))
    return amp.array(source)
