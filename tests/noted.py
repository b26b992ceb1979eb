"""What tests note or refuse while they run: kernels that are compiled, numbers that the host reads."""

from __future__ import annotations

from typing import Any

import pytest

from vkamp import algorithms as alg
from vkamp.dispatch import preparing


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which the name of each kernel that is compiled from now on is added."""
    seen: list[str] = []
    compile_kernel = preparing.pipeline.compile_kernel

    def noted(request: Any, *rest: Any, **named: Any) -> Any:
        seen.append(request.function.__name__)
        return compile_kernel(request, *rest, **named)

    monkeypatch.setattr(preparing.pipeline, "compile_kernel", noted)
    return seen


def refuse_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, the host fails where it reads a number from a device."""

    def read(*_: Any) -> Any:
        raise AssertionError("the host waits for a number")

    monkeypatch.setattr(alg.device_scalar, "item", read)
    monkeypatch.setattr(alg.device_scalar, "__array__", read)
