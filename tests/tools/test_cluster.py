"""``python -m tools.cluster``: its programs, in small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client

import vkamp.dask as vd
from tools import cluster


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """That of a cluster of two workers."""
    workers = ["swiftshader@vulkan", "llvmpipe@vulkan"]
    with vd.LocalCluster(workers, dashboard_address=None) as made, Client(made) as client:
        yield client


@pytest.mark.parametrize("name", cluster.PROGRAMS)
def test_programs_that_are_measured_are_right(client: Any, name: str) -> None:
    """They check their results themselves."""
    sizes = cluster.Sizes(
        plate=128,
        steps=8,
        together=4,
        paths=256,
        days=512,
        blocks=8,
        rows=128,
        inner=64,
        strips=4,
        seconds=0.1,
        timeout=60.0,
    )
    found = cluster.measured(client, name, sizes)
    assert found.seconds > 0
    # Only halos and sums go from worker to worker; the right factor is copied to all of them before.
    assert found.moved < 1 << 20
    assert len(found.lines) == 2 and all(" blocks, " in line for line in found.lines)
