"""Helpers of the tests of types: run a kernel in every form, and compare."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

#: Bits of a type, as another tells them apart; NaN are all one.
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def identical(found: NDArray[Any], expected: NDArray[Any], what: str = "", *, off: int = 0) -> None:
    """Equal bit by bit, but for what kind of NaN it is; floats may be ``off`` by so many units in the last place."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype.kind == "f":
        bits = UNSIGNED[found.dtype.itemsize]
        nan = np.isnan(found) & np.isnan(expected)
        same = (found.view(bits) == expected.view(bits)) | nan
        if off:
            with np.errstate(invalid="ignore"):
                same |= np.abs(found - expected) <= off * np.spacing(np.abs(expected))
    else:
        same = found == expected
    at = np.argwhere(~same)
    assert not len(at), f"{what}: {len(at)} of {same.size} differ, first at {at[0]}: {found[tuple(at[0])]!r} for " + (
        f"{expected[tuple(at[0])]!r}"
    )


def launched(
    view: amp.accelerator_view, domain: Any, kernel: Any, *args: Any, lowering: str = "threads", **constants: Any
) -> list[Any]:
    """The arrays among the arguments as a launch leaves them."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    given = [amp.array_view(c) if isinstance(c, np.ndarray) else c for c in copies]
    function = getattr(kernel, "function", kernel)
    precise = getattr(kernel, "precise", False)
    form = amp.kernel(lowering=lowering, precise=precise)(function)
    amp.parallel_for_each(view, domain, form, *given, **constants)
    for view_ in given:
        if isinstance(view_, amp.array_view):
            view_.synchronize()
    return [c for c in copies if isinstance(c, np.ndarray)]


def in_every_form(
    view: amp.accelerator_view, domain: Any, kernel: Any, *args: Any, checked: bool = True, **constants: Any
) -> list[Any]:
    """The results of a launch, after each form of the kernel gave the same ones and check mode found nothing."""
    first = launched(view, domain, kernel, *args, **constants)
    # A GPU's compiler contracts sums of products in one form and not in another.
    off = 0 if view.accelerator.is_emulated or getattr(kernel, "precise", False) else 4
    for lowering in ("loops",):
        for one, other in zip(
            first, launched(view, domain, kernel, *args, lowering=lowering, **constants), strict=True
        ):
            identical(other, one, lowering, off=off)
    if checked:
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        given = [amp.array_view(c) if isinstance(c, np.ndarray) else c for c in copies]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = amp.check(view, domain, kernel, *given, **constants)
        assert report.ok, "\n".join(map(str, report.findings))
        for each in given:
            if isinstance(each, amp.array_view):
                each.synchronize()
        results = [c for c in copies if isinstance(c, np.ndarray)]
        for one, other in zip(first, results, strict=True):
            identical(other, one, "check mode", off=off)
    return first
