"""Clusters with a worker for each accelerator of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distributed import Nanny, Scheduler, SpecCluster
from distributed.system import MEMORY_LIMIT

import vkamp as amp

_PRELOAD = "vkamp.dask"


def _accelerators(names: Iterable[str] | None) -> list[amp.accelerator]:
    """The named accelerators; without names, the machine's devices, or its CPU drivers if it has no device."""
    if names is not None:
        if isinstance(names, str):
            raise TypeError(f"accelerators must be a list of names, not the name {names!r}")
        found = [amp.accelerator(name) for name in names]
    else:
        every = [each for each in amp.accelerator.get_all() if each.device_path not in ("reference", "cpu")]
        found = [each for each in every if not each.is_emulated] or every
    if not found:
        raise amp.AmpError("there is no accelerator for a worker: `vkamp doctor` says what the machine lacks")
    return found


def worker_spec(
    accelerators: Iterable[str] | None = None,
    *,
    device_memory_limit: Any = None,
    threads_per_worker: int = 1,
    memory_limit: Any = "auto",
    **options: Any,
) -> dict[Any, dict[str, Any]]:
    """The workers of this machine as ``distributed.SpecCluster(workers=...)`` takes them, a process for each
    accelerator.

    ``accelerators``: their names, as ``amp.accelerator`` takes them; without them the machine's devices, or its CPU
    drivers if it has no device. A worker is named after its accelerator. ``device_memory_limit``: the device memory
    that results of tasks may use, bytes (``"4 GiB"``) or a fraction of the device's (``0.5``); by default 0.7 of a
    device's memory and, on CPU drivers, a quarter of the worker's limit of main memory. ``memory_limit`` is that limit,
    by default the machine's memory divided by the workers. Other ``options`` are those of ``distributed.Nanny``.

    AmpError if an accelerator is not there.
    """
    found = _accelerators(accelerators)
    limit = MEMORY_LIMIT // len(found) if memory_limit == "auto" else memory_limit
    given = [] if device_memory_limit is None else ["--device-memory-limit", str(device_memory_limit)]
    spec: dict[Any, dict[str, Any]] = {}
    for accelerator in found:
        alike = sum(each.description == accelerator.description for each in found)
        name = accelerator.description if alike == 1 else f"{accelerator.description} {accelerator.device_path}"
        if name in spec:
            raise ValueError(f"{accelerator.device_path} is named twice: an accelerator has one worker")
        environment = {"VKAMP_ACCELERATOR": accelerator.device_path, **options.get("env", {})}
        spec[name] = {
            "cls": Nanny,
            "options": {
                "nthreads": threads_per_worker,
                "memory_limit": limit,
                **options,
                "preload": [*options.get("preload", ()), _PRELOAD],
                "preload_argv": [*([] for _ in options.get("preload", ())), given],
                "env": environment,
            },
        }
    return spec


class LocalCluster(SpecCluster):  # type: ignore[misc]
    """A Dask cluster on this machine with a worker process for each accelerator.

    ``accelerators``, ``device_memory_limit``, ``threads_per_worker`` and ``memory_limit`` are those of
    :func:`worker_spec`. ``host``, ``scheduler_port``, ``dashboard_address`` (None: no dashboard), ``asynchronous``,
    ``security`` and ``silence_logs`` are as in ``distributed.LocalCluster``; other options are those of
    ``distributed.Nanny``. ``scale(n)`` uses the first ``n`` accelerators; ValueError for more than there are.
    """

    def __init__(
        self,
        accelerators: Iterable[str] | None = None,
        *,
        device_memory_limit: Any = None,
        threads_per_worker: int = 1,
        memory_limit: Any = "auto",
        host: str = "127.0.0.1",
        scheduler_port: int = 0,
        dashboard_address: str | None = ":8787",
        asynchronous: bool = False,
        security: Any = None,
        silence_logs: Any = 30,
        name: str | None = None,
        loop: Any = None,
        **options: Any,
    ) -> None:
        shared = {"host": host, "security": security, "protocol": "tcp://" if security is None else "tls://"}
        self._all_workers = worker_spec(
            accelerators,
            device_memory_limit=device_memory_limit,
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            **{**shared, "dashboard": False, "silence_logs": silence_logs, **options},
        )
        scheduler = {
            "cls": Scheduler,
            "options": {
                **shared,
                "port": scheduler_port,
                "dashboard": dashboard_address is not None,
                # Without a dashboard there is still a server for metrics: at any free port.
                "dashboard_address": ":0" if dashboard_address is None else dashboard_address,
            },
        }
        super().__init__(
            workers=dict(self._all_workers),
            scheduler=scheduler,
            asynchronous=asynchronous,
            security=security,
            silence_logs=silence_logs,
            name=name,
            loop=loop,
        )

    def new_worker_spec(self) -> dict[Any, dict[str, Any]]:
        """The worker of the first accelerator that has none."""
        for name, spec in self._all_workers.items():
            if name not in self.worker_spec:
                return {name: spec}
        raise ValueError(f"the cluster has {len(self._all_workers)} accelerators, and one worker for each")
