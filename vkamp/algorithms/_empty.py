"""The results of empty inputs, which are numpy's, on the host: containers have at least one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._operators import identity_of
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar


def is_empty(value: Any) -> bool:
    """Whether an input is an array of the host without elements."""
    if isinstance(value, (amp.array, amp.array_view, type)):
        return False
    return 0 in (getattr(value, "shape", None) or ())


def _counted(dtype: Any, view: amp.accelerator_view | None = None, out: Any = None) -> counted:
    """Nothing found; containers are not empty, so there is room for one element."""
    values = amp.array(amp.extent(1), dtype, accelerator_view=view) if out is None or out is lazy.discard else out
    if not isinstance(values, (amp.array, amp.array_view)):
        values = amp.array_view(values)
    return counted(values, device_scalar(amp.array(amp.extent(1), np.int32, [0], accelerator_view=view)))


def _reduced(a: Any, op: Any = functional.plus, init: Any = None, **_: Any) -> Any:
    a = np.asarray(a)
    if init is not None:
        return np.asarray(init, a.dtype)[()]
    try:
        return a.dtype.type(identity_of(op, a.dtype))
    except TypeError:
        raise ValueError("a reduction of no elements with this operator needs init=") from None


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, *, axis=None, keepdims=False, **_: function(np.asarray(a), axis=axis, keepdims=keepdims)


def _alike(a: Any, *_: Any, dtype: Any = None, out: Any = None, **__: Any) -> Any:
    return np.empty_like(np.asarray(a), dtype=dtype) if out is None else out


def _transformed(f: Any, *inputs: Any, dtype: Any = None, out: Any = None, **_: Any) -> Any:
    shapes = [getattr(each, "shape", None) for each in inputs]
    if any(shape != shapes[0] for shape in shapes):
        raise amp.AmpError(f"the inputs have different shapes: {', '.join(map(str, shapes))}")
    if dtype is None:
        dtype = amp.result_type(f, *(np.asarray(each).dtype for each in inputs))
    kind = np.dtype(dtype)
    return np.zeros(shapes[0] or 0, np.uint8 if kind == np.bool_ else kind) if out is None else out


def _top(a: Any, k: int, **_: Any) -> Any:
    raise ValueError(f"the {k} largest of 0 elements")


def _searched(ordered: Any, values: Any, *_: Any, out: Any = None, **__: Any) -> Any:
    return np.zeros(np.asarray(values).shape, np.int32) if out is None else out


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


_RESULTS: dict[str, Callable[..., Any]] = {
    "sum": lambda a, *, axis=None, keepdims=False, dtype=None, **_: np.sum(a, axis, dtype, keepdims=keepdims),
    "prod": lambda a, *, axis=None, keepdims=False, dtype=None, **_: np.prod(
        a, axis, np.asarray(a).dtype if dtype is None else dtype, keepdims=keepdims
    ),
    "min": _extreme(np.min),
    "max": _extreme(np.max),
    "mean": _extreme(np.mean),
    "var": lambda a, *, ddof=0, **_: np.var(a, ddof=ddof),
    "std": lambda a, *, ddof=0, **_: np.std(a, ddof=ddof),
    "argmin": lambda a, **_: np.argmin(a),
    "argmax": lambda a, **_: np.argmax(a),
    "reduce": _reduced,
    "transform_reduce": lambda f, op, a, *_, init=None, **__: _reduced(a, op, init),
    "vdot": lambda a, b, **_: np.sum(np.asarray(a)),
    "count": _always(np.int32(0)),
    "count_if": _always(np.int32(0)),
    "count_nonzero": _always(np.int32(0)),
    "all_of": _always(np.True_),
    "any_of": _always(np.False_),
    "none_of": _always(np.True_),
    "all": lambda a, *, axis=None, keepdims=False, **_: np.all(a, axis=axis, keepdims=keepdims),
    "any": lambda a, *, axis=None, keepdims=False, **_: np.any(a, axis=axis, keepdims=keepdims),
    "is_sorted": _always(np.True_),
    "is_sorted_until": _always(np.int32(0)),
    "find": _always(np.int32(-1)),
    "find_if": _always(np.int32(-1)),
    "find_if_not": _always(np.int32(-1)),
    "adjacent_find": _always(np.int32(-1)),
    "searchsorted": _searched,
    "transform": _transformed,
    "for_each": _always(None),
    "fill": lambda out, *_, **__: out,
    "copy": _alike,
    "flip": _alike,
    "roll": _alike,
    "replace": _alike,
    "replace_if": _alike,
    "adjacent_difference": _alike,
    "sort": _alike,
    "scan": _alike,
    "argsort": lambda a, **_: np.empty(0, np.int32),
    "sort_by_key": lambda *arrays, **_: tuple(np.empty_like(each) for each in arrays),
    "topk": _top,
    "select": lambda a, *_, out=None, accelerator_view=None, **__: _counted(np.asarray(a).dtype, accelerator_view, out),
    "unique": lambda a, *_, out=None, accelerator_view=None, **__: _counted(np.asarray(a).dtype, accelerator_view, out),
    "unique_consecutive": lambda a, *_, out=None, accelerator_view=None, **__: _counted(
        np.asarray(a).dtype, accelerator_view, out
    ),
    "nonzero": lambda a, *, out=None, accelerator_view=None: _counted(np.int32, accelerator_view, out),
    "partition": lambda a, *_, out=None, **__: (_alike(a, out=out), np.int32(0)),
    "run_length_encode": lambda a, *_, accelerator_view=None, **__: (
        _counted(np.asarray(a).dtype, accelerator_view),
        _counted(np.int32, accelerator_view),
    ),
}


def result(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a function gives for empty inputs; AmpError where there is no such result."""
    known = _RESULTS.get(name)
    if known is None:
        raise amp.AmpError(f"{name} of an empty array: containers have at least one element")
    return known(*args, **named)
