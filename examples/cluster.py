"""Shared code of the examples with Dask: where the tasks run."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import dask
import gallery
from dask.diagnostics import ProgressBar
from dask.utils import key_split
from distributed import Client, get_task_stream, progress
from PIL import Image

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


@contextlib.contextmanager
def recorded(client: Any) -> Iterator[list[dict[str, Any]]]:
    """A list that has Dask's records of the tasks when the block has ended; empty without a cluster."""
    found: list[dict[str, Any]] = []
    if client is None:
        yield found
        return
    with get_task_stream(client) as stream:
        yield found
    found += stream.data


def task_stream(client: Any, records: list[dict[str, Any]], width: int) -> Image.Image:
    """What the dashboard shows as the task stream: which worker did what when, coloured by the names that Dask gives
    tasks, several of which it may fuse; transfers from other workers are red."""
    workers = {at: info["name"] for at, info in client.scheduler_info(n_workers=-1)["workers"].items()}
    first = min(span["start"] for each in records for span in each["startstops"])
    names = sorted({key_split(each["key"]) for each in records})
    colours = {name: f"C{(0, 1, 2, 4, 5, 6, 7, 8, 9)[k % 9]}" for k, name in enumerate(names)} | {"transfer": "red"}

    def draw(axes: Any) -> None:
        rows = list(workers)
        for each in records:
            for span in each["startstops"]:
                is_transfer = span["action"] == "transfer"
                colour = colours["transfer" if is_transfer else key_split(each["key"])]
                start, length = span["start"] - first, span["stop"] - span["start"]
                place = {"left": start, "height": 0.8, "zorder": 3 if is_transfer else 2}
                axes.barh(rows.index(each["worker"]), length, color=colour, edgecolor=colour, linewidth=0.5, **place)
        axes.set_yticks(range(len(rows)), [str(workers[at]).partition(" (")[0] for at in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set(xlabel="seconds")
        for name, colour in colours.items():
            axes.bar(0, 0, color=colour, label=name)
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=4, frameon=False, fontsize="x-small")

    return gallery.chart(draw, width=width, height=180 + 50 * len(workers))


def with_progress(client: Any, *collections: Any) -> tuple[Any, ...]:
    """The results of Dask collections, under a progress bar."""
    if client is None:
        with ProgressBar():
            return tuple(dask.compute(*collections))
    futures = client.compute(collections)
    progress(futures, notebook=False)
    print()
    return tuple(client.gather(futures))
