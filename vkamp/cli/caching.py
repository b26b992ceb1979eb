"""``vkamp cache``: the compiled shaders on disk."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vkamp.cache import default_cache
from vkamp.cli.console import print_json, print_table, say
from vkamp.errors import AmpError

#: The compiler caches kernels and SPIR-V, the direct engine caches pipelines.
KINDS = ("kernels", "spirv", "pipelines")


def entries(folder: Path | None) -> list[os.DirEntry[str]]:
    """The files of a cache."""
    if folder is None or not folder.is_dir():
        return []
    with os.scandir(folder) as listing:
        return [item for item in listing if item.is_file() and item.name.endswith((".bin", ".tmp"))]


@click.group()
def cache() -> None:
    """The compiled shaders on disk."""


@cache.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache_info(as_json: bool) -> None:
    """Show the location and contents of the cache."""
    rows = []
    for kind in KINDS:
        found = default_cache(kind)
        files = entries(found.folder)
        size = sum(item.stat().st_size for item in files)
        rows.append(
            {"kind": kind, "folder": str(found.folder), "entries": len(files), "bytes": size, "limit": found.limit}
        )
    if as_json:
        print_json(rows)
        return
    print_table(
        ("kind", "entries", "size", "at most", "folder"),
        [(r["kind"], r["entries"], _mib(r["bytes"]), _mib(r["limit"]), r["folder"]) for r in rows],  # type: ignore[misc]
    )


@cache.command("clear")
def cache_clear() -> None:
    """Remove all compiled shaders; they are compiled again when they are needed."""
    removed = 0
    for kind in KINDS:
        for item in entries(default_cache(kind).folder):
            try:
                os.unlink(item.path)
                removed += 1
            except FileNotFoundError:
                # Another process has removed it.
                continue
            except OSError as error:
                raise AmpError(f"{item.path} cannot be removed: {error.strerror}") from error
    say(f"removed {removed} entries")


def _mib(size: object) -> str:
    assert isinstance(size, int)
    return f"{size / (1 << 20):.1f} MiB"
