"""How the tests of the libraries run: the engine, the forms, and the share of the cases for each accelerator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

import vkamp as amp
from vkamp.algorithms import _choose

_T = TypeVar("_T")


def name_of(view: amp.accelerator_view) -> str:
    """``reference``, ``swiftshader``, ``llvmpipe``, or another device's description."""
    accelerator = view.accelerator
    what = f"{accelerator.device_path} {accelerator.description}".lower()
    return next((name for name in ("reference", "swiftshader", "llvmpipe") if name in what), what)


def direct_view(accelerator: amp.accelerator) -> amp.accelerator_view:
    """The default view through the direct engine, which creates one pipeline for all containers and sizes."""
    if accelerator.engine == "kompute":
        return amp.accelerator(accelerator.device_path.partition("@")[0], engine="vulkan").default_view
    return accelerator.default_view


def share(view: amp.accelerator_view, cases: Sequence[_T]) -> Sequence[_T]:
    """The cases that an accelerator runs: SwiftShader and lavapipe one half each, any other accelerator all."""
    first = {"swiftshader": 0, "llvmpipe": 1}.get(name_of(view))
    return cases if first is None else cases[first::2]


@contextmanager
def forced(form: Any) -> Iterator[None]:
    """One form for every device.  The threads of ``tiles`` run as threads, as on a GPU, and not as loops.

    The lowering to loops takes most of the time to compile such a kernel, and no device uses it for this form.
    """
    with _choose.forced(form), pytest.MonkeyPatch.context() as patch:
        if form == "tiles" and "VKAMP_LOWERING" not in os.environ:
            patch.setenv("VKAMP_LOWERING", "threads")
        yield
