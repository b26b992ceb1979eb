"""The length of an invocation's run if functions of the elements have loops of their own.

lavapipe ends an invocation's loops after 65,535 iterations in all, including those of the functions that it calls, and
reports nothing. Runs of such functions are so short that each element has some 800 iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._choose import LONGEST_RUN, ends_loops
from vkamp.dispatch.result_types import has_loops

#: The longest run of elements whose functions have loops. Runs may be rounded up by a few elements.
SHORT_RUN = 64


@amp.func
def _combined(op: Any, a: Any, b: Any) -> Any:
    return op(a, b)


def longest_run(view: amp.accelerator_view, source: lazy.Lazy, op: Any = None, *more: lazy.Lazy) -> int:
    """The largest number of elements in a run, given the functions of sources, and an operator on elements of the
    first one.
    """
    n = source.extent.size()
    if n <= SHORT_RUN or not ends_loops(view):
        return LONGEST_RUN
    given = lazy.computed_type(source)
    in_op = op is not None and has_loops(_combined, (op, given, given))
    return SHORT_RUN if in_op or any(_has_loops(each) for each in (source, *more)) else LONGEST_RUN


def _has_loops(source: lazy.Lazy) -> bool:
    if isinstance(source, lazy.Elements):
        return False
    rank = source.extent.rank
    return has_loops(lazy.value_of, (source, np.int32(0) if rank == 1 else amp.index(*[0] * rank)))
