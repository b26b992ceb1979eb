"""What of the corpus runs by itself: on lavapipe, which compiles instrumented shaders slowly, check mode sees a part.

``VKAMP_TEST_CORPUS=all`` leaves out nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Of this many pairs, lavapipe checks one.
PART = 10
FOLDER = Path(__file__).resolve().parent


def _left_out(item: pytest.Item) -> bool:
    # The hook is asked about the items of all folders.
    callspec = getattr(item, "callspec", None) if FOLDER in item.path.parents else None
    if callspec is None or "check_mode" not in item.name or callspec.params.get("accelerator") != "llvmpipe":
        return False
    from tools.kernels.corpus.registry import PAIRS

    return bool(PAIRS.index(callspec.params["pair"]) % PART)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    choice = os.environ.get("VKAMP_TEST_CORPUS", "")
    if choice not in ("", "all"):
        raise pytest.UsageError(f"VKAMP_TEST_CORPUS is {choice!r}: 'all' leaves out nothing")
    left_out = set() if choice else {item for item in items if _left_out(item)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
