"""How merges and set operations take a ``counted``: they order the positions of the elements.

Positions after the counts come last in the order, so no function waits for a count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms._counted_parts import ByPosition, Has, UpToCount, elements_of, positions_in
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.merge import two_of_one_type
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.select import selected
from vkamp.algorithms.sort import taken
from vkamp.algorithms.transform import transform

_Function = Callable[..., Any]


def _of_positions(function: _Function, a: Any, b: Any, less: Any, out: Any, accelerator_view: Any) -> Any:
    """The order of the positions in two sorted inputs, where the call runs, and the function's result of the positions.

    Raises TypeError if the inputs differ in type.
    """
    two_of_one_type(*map(elements_of, (a, b)))
    order = ByPosition(a, b, less)
    view = place(accelerator_view, order.both, out)
    return order, view, function(positions_in(a), positions_in(b, order.size), order, accelerator_view=view)


def _merged(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, view, found = _of_positions(function, a, b, less, out, accelerator_view)
    count = device_scalar(transform(functional.plus, order.n, order.m, accelerator_view=view))
    return counted(taken(view, order.both, found, out), count)


def _set_operation(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, view, found = _of_positions(function, a, b, less, out, accelerator_view)
    there = UpToCount(lazy.map(Has(order), found.values), found.count, 0)
    at = UpToCount(lazy.of(found.values), found.count, 0)
    return selected(there, lazy.take(order.both, at), out, view, dtype=lazy.dtype_of(order.both))


#: How each function handles a counted input.
SETS: dict[str, Callable[..., Any]] = {
    "merge": _merged,
    **dict.fromkeys(("set_difference", "set_intersection", "set_symmetric_difference", "set_union"), _set_operation),
}
