"""Leaves out a part of the corpus: drivers compile instrumented shaders slowly, so that check mode runs a few there.

``VKAMP_TEST_ALL=1`` leaves out nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Of so many pairs, a driver checks one. The reference accelerator checks all.
PARTS = {"llvmpipe": 10, "swiftshader": 2}
FOLDER = Path(__file__).resolve().parent


def _left_out(item: pytest.Item) -> bool:
    # The hook is asked about the items of all folders.
    callspec = getattr(item, "callspec", None) if FOLDER in item.path.parents else None
    part = PARTS.get(callspec.params.get("accelerator")) if callspec is not None else None
    if part is None or "check_mode" not in item.name:
        return False
    from tools.kernels.corpus.registry import PAIRS

    return bool(PAIRS.index(callspec.params["pair"]) % part)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = set() if os.environ.get("VKAMP_TEST_ALL") else {item for item in items if _left_out(item)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
