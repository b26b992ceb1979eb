"""What others take for the work of the group `throughput`: CuPy, PyTorch and numba-cuda, each if it is installed."""

# The peers are no dependencies: mypy may not find them, nor know their types.
# mypy: ignore-errors

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.bench.measure import alternately, check

__all__ = ["rows"]

#: Floats of the copy and the sum: 1 GiB; the sides of the matrices.
_COUNT, _TRANSPOSED, _MULTIPLIED = 1 << 28, 8192, 4096
_WORKS = {
    "copy of 1024 MiB": ("GB/s", 8 * _COUNT / 1e9),
    "sum of 1024 MiB": ("GB/s", 4 * _COUNT / 1e9),
    f"transpose of {_TRANSPOSED} x {_TRANSPOSED}": ("GB/s", 8 * _TRANSPOSED**2 / 1e9),
    f"product of {_MULTIPLIED} x {_MULTIPLIED}": ("GFLOP/s", 2 * _MULTIPLIED**3 / 1e9),
}

#: One piece of work, and whether its result was right when it ran.
_Work = tuple[Callable[[], Any], Callable[[], bool]]


def rows(runs: int) -> list[dict[str, Any]]:
    """A row for each work and peer; one that is not installed has no times."""
    made = []
    for peer, module, works in (
        ("CuPy", "cupy", _cupy),
        ("PyTorch", "torch", _torch),
        ("numba-cuda", "numba.cuda", _numba),
    ):
        try:
            importlib.import_module(module)
        except ImportError:
            made.append(
                {"name": f"all of these, {peer}", "values": [], "target": None, "notes": {"missing": "not installed"}}
            )
            continue
        try:
            made += _rows_of(peer, works, runs)
        except Exception as error:  # whatever a peer fails by here, it shall not end the others' measuring
            missing = f"fails here: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            made.append({"name": f"all of these, {peer}", "values": [], "target": None, "notes": {"missing": missing}})
    return made


def _rows_of(peer: str, works: Callable[[], Any], runs: int) -> list[dict[str, Any]]:
    made = []
    finish, found = works()
    for name, (work, right) in found.items():
        unit, amount = _WORKS[name]
        values = _timed(work, finish, runs)
        check(right(), f"{name} by {peer}")
        notes = {unit: round(amount / statistics.median(values), 1)}
        made.append({"name": f"{name}, {peer}", "values": values, "target": None, "notes": notes})
    return made


def _timed(work: Callable[[], Any], finish: Callable[[], Any], runs: int) -> tuple[float, ...]:
    """Seconds of one, by the slope between one and many."""

    def times(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        finish()
        return time.perf_counter() - started

    times(2)
    many = max(1, min(200, round(0.2 / max(times(2) / 2, 1e-6))))
    (values,) = alternately(runs, lambda: (times(1 + many) - times(1)) / many)
    return values


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return (
        rng.random(_COUNT, np.float32),
        rng.random((_TRANSPOSED, _TRANSPOSED), np.float32),
        rng.random((_MULTIPLIED, _MULTIPLIED), np.float32),
    )


def _near(found: float, values: np.ndarray) -> bool:
    wanted = float(values.sum(dtype=np.float64))
    return abs(found - wanted) < 1e-4 * wanted


def _is_square(found: np.ndarray, factor: np.ndarray) -> bool:
    return bool(np.allclose(found[:40], factor[:40].astype(np.float64) @ factor, rtol=1e-4))


def _cupy() -> tuple[Callable[[], Any], dict[str, _Work]]:
    import cupy as cp

    values, matrix, factor = _inputs()
    a, m, f = cp.asarray(values), cp.asarray(matrix), cp.asarray(factor)
    b, t, p = cp.empty_like(a), cp.empty_like(m), cp.empty_like(f)
    total = cp.zeros((), cp.float32)
    works = (
        (lambda: cp.copyto(b, a), lambda: bool((a == b).all())),
        (lambda: cp.sum(a, out=total), lambda: _near(float(total), values)),
        (lambda: cp.copyto(t, m.T), lambda: bool((t == m.T).all())),
        (lambda: cp.matmul(f, f, out=p), lambda: _is_square(p.get(), factor)),
    )
    return cp.cuda.Device().synchronize, dict(zip(_WORKS, works, strict=True))


def _torch() -> tuple[Callable[[], Any], dict[str, _Work]]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    values, matrix, factor = _inputs()
    a, m, f = (torch.from_numpy(v).cuda() for v in (values, matrix, factor))
    b, t, p = torch.empty_like(a), torch.empty_like(m), torch.empty_like(f)
    total = torch.zeros((), device="cuda")
    works = (
        (lambda: b.copy_(a), lambda: torch.equal(a, b)),
        (lambda: torch.sum(a, dim=0, out=total), lambda: _near(float(total), values)),
        (lambda: t.copy_(m.T), lambda: torch.equal(t, m.T)),
        (lambda: torch.mm(f, f, out=p), lambda: _is_square(p.cpu().numpy(), factor)),
    )
    return torch.cuda.synchronize, dict(zip(_WORKS, works, strict=True))


def _numba() -> tuple[Callable[[], Any], dict[str, _Work]]:
    from numba import cuda

    @cuda.jit
    def copy(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = source[i]

    add = cuda.reduce(lambda x, y: x + y)
    values, _, _ = _inputs()
    a = cuda.to_device(values)
    b, total = cuda.device_array_like(a), cuda.device_array(1, np.float32)
    launch = copy[(_COUNT + 255) // 256, 256]
    works = (
        (lambda: launch(a, b), lambda: bool((b.copy_to_host() == values).all())),
        (lambda: add(a, res=total), lambda: _near(float(total.copy_to_host()[0]), values)),
    )
    return cuda.synchronize, dict(zip(_WORKS, works, strict=False))
