"""The results for empty inputs. They are numpy's, and on the host, because containers have at least one element."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import target, value
from vkamp.algorithms._operators import identity_of
from vkamp.algorithms.counted import counted, of_one_count
from vkamp.algorithms.rearrange import concat
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.select import select
from vkamp.algorithms.statistics import floating, returned
from vkamp.algorithms.transform import copy
from vkamp.algorithms.unique import unique


def is_empty(value: Any) -> bool:
    """Whether an input is an array of the host, or a lazy input, without elements."""
    if isinstance(value, lazy.Lazy):
        return 0 in tuple(value.extent)
    if isinstance(value, (amp.array, amp.array_view, type)):
        return False
    return 0 in (getattr(value, "shape", None) or ())


def _counted(dtype: Any, view: amp.accelerator_view | None = None, out: Any = None) -> counted:
    """A ``counted`` without elements. Containers are not empty, so it has room for one."""
    is_made = out is None or out is lazy.discard or is_empty(out)
    values = amp.array(amp.extent(1), dtype, accelerator_view=view) if is_made else out
    if not isinstance(values, (amp.array, amp.array_view)):
        values = amp.array_view(values)
    return counted(values, device_scalar(amp.array(amp.extent(1), np.int32, [0], accelerator_view=view)))


def _everywhere(number: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """The result of a reduction of no elements, in the shape of numpy's."""
    shape = np.sum(np.asarray(a), axis=axis, keepdims=keepdims).shape
    return np.full(shape, number, np.uint8 if isinstance(number, np.bool_) else None) if shape else number


def _always_along(number: Any) -> Callable[..., Any]:
    return lambda a, *_, axis=None, keepdims=False, **__: _everywhere(number, a, axis, keepdims)


def _reduced(
    a: Any, op: Any = functional.plus, init: Any = None, *, axis: Any = None, keepdims: bool = False, **_: Any
) -> Any:
    a = np.asarray(a)
    a = a.astype(lazy.computed_as(a.dtype))
    if init is not None:
        start = init.item() if isinstance(init, device_scalar) else init
        return _everywhere(value(start, a.dtype), a, axis, keepdims)
    try:
        identity = a.dtype.type(identity_of(op, a.dtype))
    except TypeError:
        raise ValueError("a reduction of no elements with this operator needs init=") from None
    return _everywhere(identity, a, axis, keepdims)


def _floating(function: Callable[..., Any], *, of_real: bool = False) -> Callable[..., Any]:
    """A mean or a variance by numpy's function, in the type that the library computes in."""

    def call(a: Any, *, dtype: Any = None, accelerator_view: Any = None, out: Any = None, **named: Any) -> Any:
        a = np.asarray(a)
        if "correction" in named:
            named["ddof"] = named.pop("correction")
        kind = floating(a.dtype, dtype, of_real=of_real)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = function(a.astype(kind), **named)
            stored = returned(a.dtype, dtype)
            return found if stored is None else found.astype(stored)

    return call


def _different_elements(a: Any, *_: Any, accelerator_view: Any = None, out: Any = None, **returns: Any) -> Any:
    """No different elements, and each of the results that ``returns`` names."""
    a = np.asarray(a)
    results: list[Any] = [_counted(a.dtype, accelerator_view, out)]
    if returns.get("return_index"):
        results.append(_counted(np.dtype(np.int32), accelerator_view))
    if returns.get("return_inverse"):
        results.append(np.empty(0, np.int32))
    if returns.get("return_counts"):
        results.append(_counted(np.dtype(np.int32), accelerator_view))
    return results[0] if len(results) == 1 else tuple(results)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, *, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        a = np.asarray(a)
        # Structs have no order of their own.
        return function(a if a.dtype.names is None else np.empty(a.shape, np.uint8), axis=axis, keepdims=keepdims)

    return call


def _positions(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis, keepdims: function(a, axis=axis, keepdims=keepdims).astype(np.int32)


def _alike(a: Any, *_: Any, dtype: Any = None, **__: Any) -> Any:
    return np.array(a, dtype)


def _row(a: Any, *_: Any, **__: Any) -> Any:
    return np.ravel(a)


def _computed(a: Any, *_: Any, axis: Any = None, **__: Any) -> Any:
    """Results of the type in which kernels compute, in a row unless there is an axis."""
    a = np.asarray(a)
    return np.empty(a.size if axis is None else a.shape, lazy.computed_as(a.dtype))


def _transformed(f: Any, *inputs: Any, dtype: Any = None, **_: Any) -> Any:
    shapes = [getattr(each, "shape", None) for each in inputs]
    if any(shape != shapes[0] for shape in shapes):
        raise amp.AmpError(f"the inputs have different shapes: {', '.join(map(str, shapes))}")
    if dtype is None:
        dtype = amp.result_type(f, *(np.asarray(each).dtype for each in inputs))
    kind = np.dtype(dtype)
    return np.zeros(shapes[0] or 0, np.uint8 if kind == np.bool_ else kind)


def _top(a: Any, k: int, *, axis: int | None = -1, out: Any = None, **_: Any) -> Any:
    shape = [0] if axis is None else list(np.shape(a))
    axis = -1 if axis is None else axis
    if not 0 <= k <= shape[axis]:
        raise ValueError(f"cannot find the {k} largest of {shape[axis]} elements")
    shape[axis] = k
    return np.empty(shape, np.asarray(a).dtype), np.empty(shape, np.int32)


def _searched(ordered: Any, values: Any, *_: Any, **__: Any) -> Any:
    return np.zeros(_shape_of(values), np.int32)


def _shape_of(a: Any) -> tuple[int, ...]:
    return tuple(np.shape(a)) if is_empty(a) else tuple(lazy.of(a).extent)


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _lengths(*inputs: Any) -> list[int]:
    return [0 if is_empty(each) else 1 for each in inputs]


def _none(dtype: Any = None) -> Callable[..., Any]:
    """A ``counted`` without elements, of the first input's type."""

    def call(a: Any, *_: Any, out: Any = None, accelerator_view: Any = None, **__: Any) -> counted:
        return _counted(_dtype_of(a) if dtype is None else dtype, accelerator_view, out)

    return call


def _dtype_of(a: Any) -> np.dtype[Any]:
    """The type of an input's elements; the input may be empty."""
    return np.asarray(a).dtype if is_empty(a) else lazy.dtype_of(lazy.of(a))


def _same_length(value: Any) -> Callable[..., Any]:
    """The result of a function of pairs if both inputs are empty; AmpError if only one is."""

    def call(a: Any, b: Any, *_: Any, **__: Any) -> Any:
        if any(_lengths(a, b)):
            raise amp.AmpError(f"the inputs have different extents: {_shape_of(a)} and {_shape_of(b)} elements")
        return value

    return call


def _whole(a: Any, **named: Any) -> Any:
    """All elements of an input, as ``counted``."""
    source = lazy.of(a).flat()
    return select(source, flags=lazy.constant(1, source.extent), **named)


def _of_sets(first: bool, second: bool, whole: Callable[..., Any]) -> Callable[..., Any]:
    """The result of a set operation with an empty input: all elements of the other one, or none."""

    def call(a: Any, b: Any, *_: Any, **named: Any) -> Any:
        if is_empty(b) and not is_empty(a) and first:
            return whole(a, **named)
        if is_empty(a) and not is_empty(b) and second:
            return whole(b, **named)
        return _none()(a, **named)

    return call


def _different(a: Any, **named: Any) -> Any:
    return unique(a, **named)


def _merged(a: Any, b: Any, *_: Any, **named: Any) -> Any:
    other = b if is_empty(a) else a
    return _row(other) if is_empty(other) else copy(lazy.of(other).flat(), **named)


def _merged_by_key(
    keys_a: Any, keys_b: Any, values_a: Any, values_b: Any, *_: Any, out: Any = None, **named: Any
) -> Any:
    if _lengths(keys_a, keys_b) != _lengths(values_a, values_b):
        raise amp.AmpError("the keys and the values have different extents")
    for_keys, for_values = out or (None, None)
    return _merged(keys_a, keys_b, out=for_keys, **named), _merged(values_a, values_b, out=for_values, **named)


def _stacked(*inputs: Any, axis: int = 0, **_: Any) -> Any:
    return np.stack([np.asarray(each) for each in inputs], axis)


def _joined(*inputs: Any, axis: int = 0, **named: Any) -> Any:
    shapes = [_shape_of(each) for each in inputs]
    rest = {tuple(np.delete(shape, axis)) for shape in shapes}
    if len(rest) > 1:
        raise amp.AmpError(f"the inputs have the shapes {shapes}, which differ in more than axis {axis}")
    filled = [each for each in inputs if not is_empty(each)]
    if filled:
        return concat(*filled, axis=axis, **named)
    return np.concatenate([np.asarray(each) for each in inputs], axis)


def _cumulative(op: Any, of_numpy: Any) -> Callable[..., Any]:
    def call(a: Any, *, axis: Any = None, include_initial: bool = False, dtype: Any = None, **_: Any) -> Any:
        a = np.asarray(a)
        kind = of_numpy(a[:0], dtype=dtype).dtype if of_numpy else a.dtype
        shape = list(a.shape) if axis is not None else [a.size]
        shape[0 if axis is None else axis] += include_initial
        return np.full(shape, identity_of(op, kind) if include_initial else 0, kind)

    return call


def _counts(n: int, weights: Any) -> Any:
    return np.zeros(n, np.int32 if weights is None else lazy.computed_as(_dtype_of(weights)))


def _histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, **_: Any) -> Any:
    edges = np.histogram_bin_edges(np.asarray(a), bins, range)
    return _counts(len(edges) - 1, weights), edges


def _segment_results(a: Any, segments: Any, op: Any = functional.plus, init: Any = None, **named: Any) -> Any:
    a = _computed(a)
    if isinstance(segments, (int, np.integer)):
        return a
    offsets = np.asarray(segments)
    if offsets.dtype.itemsize == 1:
        return _none()(a, **named)
    try:
        empty = identity_of(op, a.dtype) if init is None else init
    except TypeError:
        empty = 0
    return np.full(max(offsets.size - 1, 0), empty, a.dtype)


def _of_keys(computes: bool) -> Callable[..., Any]:
    """No keys and no values, of the type of the values or the one in which kernels compute with them."""

    def call(keys: Any, values: Any, *_: Any, out: Any = None, accelerator_view: Any = None, **__: Any) -> Any:
        _same_length(None)(keys, values)
        for_keys, for_values = out or (None, None)
        dtype = np.asarray(values).dtype
        kind = lazy.computed_as(dtype) if computes else dtype
        found = _counted(np.asarray(keys).dtype, accelerator_view, for_keys)
        return of_one_count(found, _counted(kind, accelerator_view, for_values))

    return call


def _taken(values: Any, at: Any, axis: int | None = None, **_: Any) -> Any:
    if not is_empty(at) and (axis is None or _shape_of(values)[axis] == 0):
        raise IndexError("positions of an empty input do not exist")
    shape, positions = _shape_of(values), np.zeros(_shape_of(at), np.int32)
    return np.empty(
        positions.shape if axis is None else np.take(np.empty(shape), positions, axis).shape, _dtype_of(values)
    )


def _scattered(out: Any, at: Any, a: Any, *_: Any, **__: Any) -> Any:
    return _same_length(out)(at, a)


def _chosen(condition: Any, x: Any, y: Any, **_: Any) -> Any:
    if any(_lengths(condition, x, y)):
        raise amp.AmpError("the inputs have different extents")
    return np.where(np.asarray(condition), np.asarray(x), np.asarray(y))


def _refused(what: str) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise ValueError(f"{what} is not defined for 0 elements")

    return call


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Computes the result with a function of numpy, on the host."""

    def call(a: Any, *args: Any, accelerator_view: Any = None, out: Any = None, **named: Any) -> Any:
        return function(np.asarray(a), *args, **named)

    return call


#: Functions whose results for conditions have other types than those for small integers.
_OF_CONDITIONS = frozenset(("cumulative_prod", "cumulative_sum", "prod", "sum"))

_RESULTS: dict[str, Callable[..., Any]] = {
    "sum": lambda a, *, axis=None, keepdims=False, dtype=None, **_: np.sum(a, axis, dtype, keepdims=keepdims),
    "prod": lambda a, *, axis=None, keepdims=False, dtype=None, **_: np.prod(a, axis, dtype, keepdims=keepdims),
    "min": _extreme(np.min),
    "max": _extreme(np.max),
    "mean": _floating(np.mean),
    "var": _floating(np.var),
    "std": _floating(np.std),
    "argmin": _extreme(_positions(np.argmin)),
    "argmax": _extreme(_positions(np.argmax)),
    "reduce": _reduced,
    "transform_reduce": lambda f, op, a, *more, init=None, axis=None, keepdims=False, **_: _reduced(
        _transformed(f, a, *more), op, init, axis=axis, keepdims=keepdims
    ),
    "vdot": lambda a, b, **_: np.sum(np.empty(0, np.result_type(_computed(a), _computed(b)))),
    "count": _always(np.int32(0)),
    "count_if": _always_along(np.int32(0)),
    "count_nonzero": _always_along(np.int32(0)),
    "all_of": _always(np.True_),
    "any_of": _always(np.False_),
    "none_of": _always(np.True_),
    "all": lambda a, *, axis=None, keepdims=False, **_: _everywhere(np.True_, a, axis, keepdims),
    "any": lambda a, *, axis=None, keepdims=False, **_: _everywhere(np.False_, a, axis, keepdims),
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
    "adjacent_difference": lambda a, *_, **__: np.empty(np.shape(a), lazy.computed_as(_dtype_of(a))),
    "sort": lambda a, *, axis=-1, **_: _row(a) if axis is None else _alike(a),
    "scan": _computed,
    "argsort": lambda a, *, axis=-1, **_: np.empty(np.shape(a) if axis is not None else 0, np.int32),
    "sort_by_key": lambda *arrays, **_: tuple(np.empty_like(each) for each in arrays),
    "topk": _top,
    "select": lambda a, *_, out=None, accelerator_view=None, **__: _counted(np.asarray(a).dtype, accelerator_view, out),
    "unique": _different_elements,
    "unique_consecutive": _different_elements,
    "nonzero": lambda a, *, out=None, accelerator_view=None: _counted(np.int32, accelerator_view, out),
    "partition": lambda a, *_, **__: (_row(a), np.int32(0)),
    "run_length_encode": lambda a, *_, **named: _different_elements(a, return_counts=True, **named),
    "bincount": lambda a, weights=None, minlength=0, *, bins=None, **_: _counts(
        minlength if bins is None else bins, weights
    ),
    "clip": _alike,
    "concat": _joined,
    "stack": _stacked,
    "cummax": _cumulative(functional.max, None),
    "cummin": _cumulative(functional.min, None),
    "cumulative_prod": _cumulative(functional.multiplies, np.cumprod),
    "cumulative_sum": _cumulative(functional.plus, np.cumsum),
    "diff": _of_numpy(np.diff),
    "digitize": lambda a, *_, **__: np.zeros(_shape_of(a), np.int32),
    "equal": _same_length(np.True_),
    "find_end": _always(np.int32(-1)),
    "find_first_of": _always(np.int32(-1)),
    "histogram": _histogram,
    "histogram_range": lambda a, edges, weights=None, **_: _counts(len(edges) - 1, weights),
    "includes": lambda a, b, *_, **__: np.bool_(is_empty(b)),
    "intersect1d": _of_sets(False, False, _different),
    "is_partitioned": _always(np.True_),
    "isin": lambda a, among, **_: np.zeros(_shape_of(a), np.uint8),
    "lexicographical_compare": lambda a, b, *_, **__: np.bool_(is_empty(a) and not is_empty(b)),
    "logsumexp": _floating(np.max, of_real=True),
    "merge": _merged,
    "merge_by_key": _merged_by_key,
    "minmax": lambda a, **named: (_extreme(np.min)(a, **named), _extreme(np.max)(a, **named)),
    "mismatch": _same_length(np.int32(-1)),
    "nth_element": _refused("a position"),
    "partition3": lambda a, *_, **__: (_row(a), np.int32(0), np.int32(0)),
    "partition_point": _always(np.int32(0)),
    "permute_dims": _of_numpy(np.transpose),
    "quantile": _refused("a quantile"),
    "reduce_by_key": _of_keys(True),
    "repeat": lambda a, count, *, axis=None, **_: np.repeat(np.asarray(a), count, axis),
    "rotate": _alike,
    "run_length_decode": lambda values, lengths, **_: _same_length(_alike(values))(values, lengths),
    "scan_by_key": lambda keys, values, *_, **__: _same_length(_computed(values))(keys, values),
    "scatter": _scattered,
    "scatter_reduce": _scattered,
    "search": lambda a, b, *_, **__: np.int32(0 if is_empty(b) else -1),
    "search_n": lambda a, count, *_, **__: np.int32(0 if count < 1 else -1),
    "segmented_reduce": _segment_results,
    "segmented_scan": lambda a, *_, **__: _computed(a),
    "segmented_sort": _row,
    "set_difference": _of_sets(True, False, _whole),
    "set_intersection": _of_sets(False, False, _whole),
    "set_symmetric_difference": _of_sets(True, True, _whole),
    "set_union": _of_sets(True, True, _whole),
    "setdiff1d": _of_sets(True, False, _different),
    "shuffle": _alike,
    "swap": _same_length(None),
    "take": _taken,
    "tile_repeat": _of_numpy(np.tile),
    "transpose": _of_numpy(np.transpose),
    "union1d": _of_sets(True, True, _different),
    "unique_by_key": _of_keys(False),
    "where": _chosen,
}


def result(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a function for empty inputs; AmpError if it has none."""
    known = _RESULTS.get(name)
    if known is None:
        raise amp.AmpError(f"{name} of an empty array: containers have at least one element")
    keeps_bool = name in _OF_CONDITIONS
    args = tuple([_on_the_host(each, keeps_bool) for each in args])
    named = {param: _on_the_host(each, keeps_bool) for param, each in named.items()}
    return _stored(known(*args, **named), named.get("out"))


def _on_the_host(given: Any, keeps_bool: bool) -> Any:
    """An empty lazy input as an array without elements, and an array of bool as one of uint8, as memory has them."""
    if isinstance(given, lazy.Lazy) and is_empty(given):
        return np.empty(tuple(given.extent), lazy.dtype_of(given))
    is_bool = isinstance(given, np.ndarray) and given.dtype == np.bool_ and given.size == 0
    return given.view(np.uint8) if is_bool and not keeps_bool else given


def _stored(found: Any, out: Any) -> Any:
    """A result of the host in ``out``, which functions of this module do not store to."""
    if isinstance(found, tuple) and isinstance(out, tuple):
        return tuple([_stored(each, own) for each, own in zip(found, out, strict=True)])
    if isinstance(found, tuple) and isinstance(found[0], np.ndarray):
        return _stored(found[0], out), *found[1:]
    if isinstance(found, np.generic) and out is not None:
        # A device_scalar has a target of one element.
        _stored(found.reshape(1), out)
        return found
    if out is None or out is lazy.discard or found is out or not isinstance(found, np.ndarray):
        return found
    shape = tuple(out.extent) if isinstance(out, (amp.array, amp.array_view)) else np.shape(out)
    if shape != found.shape:
        raise amp.AmpError(f"out has the shape {shape}, but the result has {found.shape}")
    if found.size:
        container = target(out)
        amp.copy(found.astype(container.dtype), container)
    return out
