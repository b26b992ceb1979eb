"""Shared code of the examples with Dask: where the tasks run."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import dask
from dask.diagnostics import ProgressBar
from distributed import Client, progress

import vkamp as amp
import vkamp.dask as vd


def add_options(parser: argparse.ArgumentParser) -> None:
    """The option that chooses the cluster."""
    parser.add_argument(
        "--scheduler",
        help="the address of a Dask scheduler, or 'here' for the chosen device without a cluster "
        "(default: a cluster of the chosen device, or of all devices of this machine)",
    )


@contextlib.contextmanager
def started(options: argparse.Namespace) -> Iterator[Any]:
    """The client of the chosen cluster; None without one."""
    if options.scheduler == "here":
        before = os.environ.get("VKAMP_ACCELERATOR")
        os.environ["VKAMP_ACCELERATOR"] = amp.accelerator(options.accelerator).device_path
        try:
            # One thread: the device has one queue.
            with dask.config.set(scheduler="synchronous"):
                yield None
        finally:
            os.environ.pop("VKAMP_ACCELERATOR")
            if before is not None:
                os.environ["VKAMP_ACCELERATOR"] = before
    elif options.scheduler:
        with Client(options.scheduler) as client:
            yield client
    else:
        chosen = None if options.accelerator == "default" else [options.accelerator]
        with vd.LocalCluster(chosen, dashboard_address=":0") as cluster, Client(cluster) as client:
            print(f"cluster {', '.join(str(name) for name in cluster.workers)}; dashboard {cluster.dashboard_link}")
            yield client


def with_progress(client: Any, *collections: Any) -> tuple[Any, ...]:
    """The results of Dask collections, under a progress bar."""
    if client is None:
        with ProgressBar():
            return tuple(dask.compute(*collections))
    futures = client.compute(collections)
    progress(futures, notebook=False)
    print()
    return tuple(client.gather(futures))
