"""Algorithms over containers: reductions, scans, selection, sorting, and the like, on any device.

Names and rules are numpy's and the array API's; :mod:`vkamp.algorithms.stl` has those of C++ AMP's algorithm library.
Inputs are ``array``, ``array_view``, numpy arrays and what has memory by a protocol, and lazy inputs
(:mod:`vkamp.algorithms.lazy`).  Results are arrays on the device, and nothing waits for them.  Operators and predicates
are functions that kernels can call.
"""

from vkamp.algorithms import functional, lazy
from vkamp.algorithms.reduce import count_if, reduce, transform_reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan
from vkamp.algorithms.sums import max, min, sum

__all__ = [
    "count_if", "device_scalar", "functional", "lazy", "max", "min", "reduce", "scan", "sum", "transform_reduce",
]  # fmt: skip
