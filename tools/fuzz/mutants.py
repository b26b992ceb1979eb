"""Checks changed kernels: either the compiler rejects them, or all accelerators and both oracles agree. The result of a
changed program may be undefined: a race, an index out of bounds, an endless loop, sums in an order that the device
chooses. The oracles report this, and such programs count as dropped.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from tools.fuzz.plain.values import STATE
from tools.fuzz.run import Failure, Loaded, compare, flat, plain, run, subgroup_size

__all__ = ["judge"]

#: The number of runs with noise, which show what depends on the rounding of a device.
_NOISY = 3


def judge(loaded: Loaded, drivers: list[str], said: Callable[[str], None]) -> tuple[str, Failure | None]:
    """The outcome in a word, and the fault. ``said`` is called before each run. Devices have subgroups of several
    sizes; each device is compared with the oracles of its size.
    """
    by_size: dict[int | None, list[str]] = {}
    for name in drivers:
        by_size.setdefault(subgroup_size(loaded, name), []).append(name)
    word = "judged"
    for size, names in (by_size or {None: []}).items():
        word, failure = _judged(loaded, names, size, said)
        if failure is not None:
            return word, failure
    return word, None


def _judged(
    loaded: Loaded, drivers: list[str], size: int | None, said: Callable[[str], None]
) -> tuple[str, Failure | None]:
    """The judgement on devices that have subgroups of one size."""
    said("python")
    known = plain(loaded, subgroup=size)
    special, inexact = STATE.special, STATE.inexact
    if isinstance(known, Failure) and known.kind == "finding":
        return "undefined", None
    said("reference")
    wanted = run(loaded, "reference", size)
    if isinstance(wanted, Failure):
        return (wanted.kind, wanted if wanted.kind == "crash" else None)
    if _depends_on_order(loaded, wanted, size):
        return "order", None
    if isinstance(known, Failure):
        # This oracle lacks the construct, but results without floats are the same everywhere.
        special = any(word in loaded.source for word in ("float", "/", "."))
    else:
        failure = compare(loaded.program, wanted, known, "python")
        if failure is not None:
            return "judged", failure
    masks = _unsteady(loaded, wanted, size) if inexact and not special else {}
    for name in drivers:
        said(name)
        found = run(loaded, name)
        if isinstance(found, Failure):
            return "judged", found
        if not special:
            failure = compare(loaded.program, wanted, _masked(wanted, found, masks), name)
            if failure is not None:
                return "judged", failure
    return ("unknown to Python" if isinstance(known, Failure) else "special" if special else "judged"), None


def _depends_on_order(loaded: Loaded, wanted: dict[str, Any], size: int | None) -> bool:
    """Whether another order of the threads gives other results; without atomics this would be a race."""
    if "atomic" not in loaded.source:
        return False
    for name in ("reversed", "random", "adversarial"):
        with amp.reference_schedule(name, seed=loaded.program.seed):
            again = run(loaded, "reference", size)
        if isinstance(again, Failure) or compare(loaded.program, wanted, again, "reference") is not None:
            return True
    return False


def _unsteady(loaded: Loaded, wanted: dict[str, Any], size: int | None) -> dict[str, list[Any]]:
    """By container and part: where results may differ because of rounding, and by how much."""
    masks = {name: [np.zeros(part.shape) for _, part in flat(value)] for name, value in wanted.items()}
    for n in range(_NOISY):
        noisy = plain(loaded, random.Random(n), size)
        if isinstance(noisy, Failure):
            return {name: [np.full(part.shape, np.inf) for _, part in flat(value)] for name, value in wanted.items()}
        for name, value in wanted.items():
            for mask, (_, right), (_, moved) in zip(masks[name], flat(value), flat(noisy[name]), strict=True):
                with np.errstate(all="ignore"):
                    far = np.abs(right.astype(np.float64) - moved)
                if right.dtype.kind != "f":
                    far = np.where(far > 0, np.inf, 0.0)
                np.maximum(mask, far, out=mask)
    return masks


def _masked(wanted: dict[str, Any], found: dict[str, Any], masks: dict[str, list[Any]]) -> dict[str, Any]:
    """The results, in which those that are close enough are replaced by the expected ones."""
    if not masks:
        return found
    out = {}
    for name, value in found.items():
        made = value.copy()
        parts = zip(flat(wanted[name]), flat(value), masks[name], strict=True)
        for (path, right), (_, actual), mask in parts:
            with np.errstate(all="ignore"):
                far = np.abs(right.astype(np.float64) - actual)
            near = (far <= 8 * mask) | np.isinf(mask)
            _part(made, path)[near] = right[near]
        out[name] = made
    return out


def _part(data: Any, path: str) -> Any:
    for name in path.split(".")[1:]:
        data = data[name]
    return data
