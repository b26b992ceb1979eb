"""A cluster of two workers: one on SwiftShader, one on lavapipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client

import vkamp.dask as vd

WORKERS = ["swiftshader@vulkan", "llvmpipe@vulkan"]
#: So small that some tests fill it.
LIMIT = 256 << 10


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with vd.LocalCluster(WORKERS, device_memory_limit=LIMIT, dashboard_address=None) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with Client(cluster) as made:
        yield made
