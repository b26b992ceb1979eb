"""A profile as a file in Chrome's trace event format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.profiling.records import Profile


#: The rows of a view, in their order.
_DEVICE, _HOST = 1, 2


def write(profile: Profile, path: str | PathLike[str]) -> None:
    """Writes the file."""
    content = {"traceEvents": list(events(profile)), "displayTimeUnit": "ms"}
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(content, stream)


def events(profile: Profile) -> Iterator[dict[str, Any]]:
    """Every view is a process with two rows: launches on the device, and the host's transfers. An arrow connects the
    call that launched a kernel with its start on the device. Times are in microseconds.
    """
    for number, accelerator in profile.accelerators.items():
        yield _named("process_name", number, 0, f"{accelerator}, view {number}")
        yield _named("thread_name", number, _DEVICE, "launches on the device")
        yield _named("thread_name", number, _HOST, "host: launching, transfers")
    for serial, launch in enumerate(profile.launches, 1):
        where = {"pid": launch.view, "tid": _DEVICE}
        details = {
            "domain": list(launch.domain),
            "tile": None if launch.tile is None else list(launch.tile),
            "queued_us": launch.queued * 1e6,
            "submitted_us": launch.submitted * 1e6,
        }
        yield _lasting(launch.kernel, "launch", launch.started, launch.seconds, where, details)
        arrow = {"name": "launched", "cat": "queue", "id": serial}
        yield {**arrow, "ph": "s", "ts": launch.queued * 1e6, "pid": launch.view, "tid": _HOST}
        yield {**arrow, "ph": "f", "bp": "e", "ts": launch.started * 1e6, **where}
    for transfer in profile.transfers:
        where = {"pid": transfer.view, "tid": _HOST}
        name = "upload" if transfer.direction == "up" else "download"
        yield _lasting(name, "transfer", transfer.started, transfer.seconds, where, {"bytes": transfer.nbytes})
    for gap in profile.gaps:
        where = {"pid": gap.before.view, "tid": _DEVICE}
        yield _lasting("gap", "gap", gap.started, gap.seconds, where, {"host_was_late": gap.host_was_late})


def _lasting(
    name: str, category: str, started: float, seconds: float, where: dict[str, int], details: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": started * 1e6,
        "dur": seconds * 1e6,
        **where,
        "args": details,
    }


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
