"""Algorithms over containers, such as reductions, scans, selections and searches, on any device.

Names and rules are those of numpy, the array API and C++. Inputs are ``array``, ``array_view``, numpy arrays, objects
that export their memory by a protocol, and lazy inputs (:mod:`vkamp.algorithms.lazy`). Results are arrays on the
device. No function waits for its result.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy as _np

from vkamp.algorithms import _edges, _names, functional, lazy
from vkamp.algorithms.by_key import reduce_by_key, scan_by_key, unique_by_key
from vkamp.algorithms.counted import counted
from vkamp.algorithms.cumulative import cummax, cummin, cumulative_prod, cumulative_sum
from vkamp.algorithms.determinism import deterministic
from vkamp.algorithms.differences import adjacent_difference, diff
from vkamp.algorithms.extremes import argmax, argmin
from vkamp.algorithms.histogram import bincount, digitize, histogram, histogram_range
from vkamp.algorithms.merge import merge, merge_by_key
from vkamp.algorithms.order import is_partitioned, nth_element, partition_point, quantile
from vkamp.algorithms.rearrange import concat, repeat, rotate, stack, swap, tile_repeat
from vkamp.algorithms.reduce import count_if, reduce, transform_reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan
from vkamp.algorithms.scatter import scatter_reduce
from vkamp.algorithms.search import (
    adjacent_find,
    all,
    all_of,
    any,
    any_of,
    equal,
    find,
    find_if,
    find_if_not,
    is_sorted,
    is_sorted_until,
    mismatch,
    none_of,
    searchsorted,
)
from vkamp.algorithms.segments import segmented_reduce, segmented_scan, segmented_sort
from vkamp.algorithms.select import nonzero, partition, partition3, select
from vkamp.algorithms.sequences import find_end, find_first_of, lexicographical_compare, search, search_n
from vkamp.algorithms.sets import (
    includes,
    intersect1d,
    isin,
    set_difference,
    set_intersection,
    set_symmetric_difference,
    set_union,
    setdiff1d,
    union1d,
)
from vkamp.algorithms.shuffle import shuffle
from vkamp.algorithms.sort import argsort, sort, sort_by_key
from vkamp.algorithms.statistics import logsumexp, mean, minmax, std, var
from vkamp.algorithms.sums import count, count_nonzero, max, min, prod, sum, vdot
from vkamp.algorithms.topk import topk
from vkamp.algorithms.transform import (
    arange,
    clip,
    copy,
    fill,
    flip,
    for_each,
    generate,
    replace,
    replace_if,
    roll,
    scatter,
    take,
    transform,
    where,
)
from vkamp.algorithms.transpose import permute_dims, transpose
from vkamp.algorithms.unique import run_length_decode, run_length_encode, unique, unique_consecutive
from vkamp.dispatch.call_cache import trim

__all__ = [
    "adjacent_difference", "adjacent_find", "all", "all_of", "any", "any_of", "arange", "argmax", "argmin",
    "argsort", "bincount", "clip", "concat", "copy", "count", "count_if", "count_nonzero", "counted", "cummax",
    "cummin", "cumulative_prod", "cumulative_sum", "deterministic", "device_scalar", "diff", "digitize", "equal",
    "fill", "find", "find_end", "find_first_of", "find_if", "find_if_not", "flip", "for_each", "functional", "generate",
    "histogram", "histogram_range", "includes", "intersect1d", "is_partitioned", "is_sorted", "is_sorted_until",
    "isin", "lazy", "lexicographical_compare", "logsumexp", "max", "mean", "merge", "merge_by_key", "min", "minmax",
    "mismatch", "none_of", "nonzero", "nth_element", "partition", "partition3", "partition_point", "permute_dims",
    "prod", "quantile", "reduce", "reduce_by_key", "repeat", "replace", "replace_if", "roll", "rotate",
    "run_length_decode", "run_length_encode", "scan", "scan_by_key", "scatter", "scatter_reduce", "search",
    "search_n", "searchsorted", "segmented_reduce", "segmented_scan", "segmented_sort", "select", "set_difference",
    "set_intersection", "set_symmetric_difference", "set_union", "setdiff1d", "shuffle", "sort", "sort_by_key",
    "stack", "std", "sum", "swap", "take", "tile_repeat", "topk", "transform", "transform_reduce", "transpose", "trim",
    "union1d", "unique", "unique_by_key", "unique_consecutive", "var", "vdot", "where",
]  # fmt: skip

#: These functions take no containers.
_PLAIN = ("deterministic", "trim")

for _name in __all__:
    if callable(globals()[_name]) and not isinstance(globals()[_name], type) and _name not in _PLAIN:
        globals()[_name] = _edges.with_edges(globals()[_name])

#: Names of numpy, C++, CUB, Thrust and PyTorch, and what to use instead.
_ELSEWHERE = {
    **dict.fromkeys(("cumsum", "inclusive_sum"), "cumulative_sum(a), or scan(a)"),
    "cumprod": "cumulative_prod(a)",
    **dict.fromkeys(("inclusive_scan", "partial_sum"), "scan(a, op)"),
    **dict.fromkeys(("exclusive_scan", "exclusive_sum", "prefix_sum"), "scan(a, op, inclusive=False)"),
    **dict.fromkeys(("inclusive_scan_by_key", "exclusive_scan_by_key"), "scan_by_key(keys, a)"),
    **dict.fromkeys(("amax", "max_element"), "max(a), or argmax(a)"),
    **dict.fromkeys(("amin", "min_element"), "min(a), or argmin(a)"),
    **dict.fromkeys(("ptp", "minmax_element"), "minmax(a)"),
    **dict.fromkeys(("average",), "mean(a)"),
    "median": "quantile(a, 0.5)",
    "percentile": "quantile(a, percentage / 100)",
    **dict.fromkeys(("argwhere", "flatnonzero"), "nonzero(a)"),
    **dict.fromkeys(("compress", "extract", "copy_if", "compact", "filter", "masked_select"), "select(a, pred)"),
    **dict.fromkeys(("remove_if",), "select(a, pred) with the opposite predicate"),
    **dict.fromkeys(("sort_pairs", "stable_sort_by_key"), "sort_by_key(keys, values)"),
    **dict.fromkeys(("stable_sort", "msort"), "sort(a), which is stable"),
    **dict.fromkeys(("lower_bound", "bisect_left"), "searchsorted(ordered, values)"),
    **dict.fromkeys(("upper_bound", "bisect_right"), 'searchsorted(ordered, values, "right")'),
    **dict.fromkeys(("gather", "permute", "index_select"), "take(a, indices)"),
    **dict.fromkeys(("scatter_add", "index_add", "add_at"), "scatter_reduce(out, indices, a)"),
    "reverse": "flip(a)",
    "fliplr": "flip(a, 1)",
    "flipud": "flip(a, 0)",
    **dict.fromkeys(("iota", "sequence", "linspace"), "arange(n)"),
    **dict.fromkeys(("inner_product", "dot"), "vdot(a, b)"),
    **dict.fromkeys(("inplace_merge",), "merge(a, b)"),
    **dict.fromkeys(("top_k", "largest", "argpartition"), "topk(a, k)"),
    **dict.fromkeys(("concatenate", "hstack"), "concat(a, b)"),
    **dict.fromkeys(("vstack", "column_stack", "dstack"), "concat(a, b), or stack(a, b, axis=...)"),
    "clamp": "clip(a, low, high)",
    **dict.fromkeys(("tile",), "tile_repeat(a, counts)"),
    **dict.fromkeys(("in1d",), "isin(a, values)"),
    **dict.fromkeys(("histogram_even", "histc"), "histogram(a, bins)"),
    **dict.fromkeys(("map", "apply", "elementwise"), "transform(function, a)"),
    **dict.fromkeys(("fold", "accumulate"), "reduce(a, op)"),
}

if not _TYPE_CHECKING:  # for type checkers alone: they would otherwise accept every name
    _refuse = _names.refusal(__name__, __all__, _ELSEWHERE, _np)

    def __getattr__(name: str) -> _Any:
        """``stl``, which is loaded at its first use; all other names are errors."""
        return _importlib.import_module(f"{__name__}.{name}") if name == "stl" else _refuse(name)
