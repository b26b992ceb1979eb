"""Algorithms over containers: reductions, scans, selections, searches, and the like, on any device.

Names and rules are numpy's, the array API's and C++'s.  Inputs are ``array``, ``array_view``, numpy arrays and what has
memory by a protocol, and lazy inputs (:mod:`vkamp.algorithms.lazy`).  Results are arrays on the device, and nothing
waits for them.  Operators and predicates are functions that kernels can call, lambdas among them.
"""

from vkamp.algorithms import functional, lazy
from vkamp.algorithms.counted import counted
from vkamp.algorithms.reduce import count_if, reduce, transform_reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan
from vkamp.algorithms.search import (
    adjacent_find,
    all_of,
    any_of,
    argmax,
    argmin,
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
from vkamp.algorithms.select import nonzero, partition, run_length_encode, select, unique_consecutive
from vkamp.algorithms.sort import argsort, sort, sort_by_key, topk
from vkamp.algorithms.sums import count, count_nonzero, max, mean, min, prod, sum, var, vdot
from vkamp.algorithms.transform import (
    adjacent_difference,
    arange,
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

__all__ = [
    "adjacent_difference", "adjacent_find", "all_of", "any_of", "arange", "argmax", "argmin", "argsort", "copy",
    "count", "count_if", "count_nonzero", "counted", "device_scalar", "equal", "fill", "find", "find_if",
    "find_if_not", "flip", "for_each", "functional", "generate", "is_sorted", "is_sorted_until", "lazy", "max",
    "mean", "min", "mismatch", "none_of", "nonzero", "partition", "prod", "reduce", "replace", "replace_if",
    "roll", "run_length_encode", "scan", "scatter", "searchsorted", "select", "sort", "sort_by_key", "sum", "take",
    "topk", "transform", "transform_reduce", "unique_consecutive", "var", "vdot", "where",
]  # fmt: skip
