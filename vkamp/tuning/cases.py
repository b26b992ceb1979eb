"""Arguments for trying candidates: copies of those of a call, and small ones of awkward sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.lang.container import Container
from vkamp.tuning.space import Parameters, shape_of, values_of

#: The largest number of elements in the containers of an awkward case, and how many cases there are.
_MOST, _CASES = 1 << 16, 10
#: The allowed relative differences of floats, as a fraction of the largest result, by the number of bits.
_TOLERANCES = {16: 1e-2, 32: 1e-4, 64: 1e-10}


class TunedArguments(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    named: dict[str, Any]

    @property
    def nbytes(self) -> int:
        """The number of bytes in the containers."""
        return sum(_count(each) * np.dtype(each.dtype).itemsize for each in containers_of(self))


def containers_of(given: Any) -> list[Any]:
    """The containers and arrays of the host among arguments or in a result, each once."""
    found: dict[int, Any] = {}

    def look(value: Any) -> None:
        if isinstance(value, (Container, np.ndarray)):
            found.setdefault(id(value), value)
        elif isinstance(value, (tuple, list)):
            for each in value:
                look(each)
        elif isinstance(value, dict):
            for each in value.values():
                look(each)
        else:
            for name in getattr(type(value), "_vkamp_members", None) or ():
                look(getattr(value, name))

    look(given)
    return list(found.values())


def _count(a: Any) -> int:
    return math.prod(shape_of(a))


def replaced(given: TunedArguments, make: Callable[[Any], Any]) -> TunedArguments:
    """The arguments with other containers; a container that occurs twice is replaced by one."""
    made = {id(each): make(each) for each in containers_of(given)}

    def swap(value: Any) -> Any:
        if id(value) in made:
            return made[id(value)]
        if type(value) in (tuple, list):
            return type(value)(map(swap, value))
        return value

    return TunedArguments(tuple(map(swap, given.args)), {name: swap(value) for name, value in given.named.items()})


def copied(given: TunedArguments, view: amp.accelerator_view) -> TunedArguments:
    """The arguments with copies of the containers on the device."""

    def copy(a: Any) -> Any:
        if isinstance(a, np.ndarray):
            return a.copy()
        made = amp.array(a.extent, a.dtype, accelerator_view=view)
        amp.copy(a, made)
        return made

    return replaced(given, copy)


def outcome(result: Any, given: TunedArguments) -> list[np.ndarray[Any, Any]]:
    """The effect of a call: the elements of its result and of its arguments, on the host."""
    scalars = [result] if np.isscalar(result) or type(result).__name__ == "device_scalar" else []
    return [np.array(each) for each in (*scalars, *containers_of(result), *containers_of(given))]


def difference(
    expected: Sequence[np.ndarray[Any, Any]], found: Sequence[np.ndarray[Any, Any]], tolerance: float | None
) -> str:
    """A description of the differences; empty if there are none."""
    if [each.shape for each in expected] != [each.shape for each in found]:
        return f"results of shapes {[e.shape for e in found]}, not {[e.shape for e in expected]}"
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one.dtype.kind not in "fc":
            wrong = one != other
        else:
            bits = one.dtype.itemsize * 8 // (2 if one.dtype.kind == "c" else 1)
            finite = np.abs(one[np.isfinite(one)])
            allowed = (_TOLERANCES.get(bits, 1e-2) if tolerance is None else tolerance) * float(finite.max(initial=0))
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(one - other) <= allowed
            wrong = ~(near | (one == other) | (np.isnan(one) & np.isnan(other)))
        if wrong.any():
            at = tuple(map(int, np.argwhere(wrong)[0])) if wrong.ndim else ()
            place = f"[{', '.join(map(str, at))}]" if at else ""
            return f"{int(wrong.sum())} wrong elements in container {number}: {place} is {other[at]}, not {one[at]}"
    return ""


def awkward(
    given: TunedArguments, parameters: Parameters, view: amp.accelerator_view
) -> Iterator[tuple[str, TunedArguments]]:
    """Small cases, each with a text that describes it: one element, and one less and one more than the parameters'
    numbers.

    Sizes that are equal in the call stay equal, also in numbers and extents, and different ones stay different.
    """
    sizes = sorted({size for each in containers_of(given) for size in shape_of(each)})
    if not sizes:
        return
    rank = max(len(shape_of(each)) for each in containers_of(given))
    numbers = [n for value in values_of(parameters).values() for n in (value if isinstance(value, tuple) else (value,))]
    edges = sorted({n for n in numbers if type(n) is int and n > 1})
    if 1 < math.prod(edges) <= _MOST:
        edges.append(math.prod(edges))
    wanted = dict.fromkeys([1, *(n + d for n in reversed(edges) for d in (1, -1, 0))])
    largest = int(_MOST ** (1 / rank))
    for size in itertools.islice((n for n in wanted if 0 < n <= largest), _CASES):
        new = {old: size + k for k, old in enumerate(sizes)}
        yield f"sizes of {size}", _resized(given, new, view, strided=False)
    last = min(max(edges, default=1) + 1, largest)
    yield f"sizes of {last}, strided", _resized(given, {n: last + k for k, n in enumerate(sizes)}, view, strided=True)


def _resized(
    given: TunedArguments, sizes: dict[int, int], view: amp.accelerator_view, *, strided: bool
) -> TunedArguments:
    def resize(a: Any) -> Any:
        shape = tuple(sizes[n] for n in shape_of(a))
        data = np.resize(np.asarray(a).reshape(-1)[: math.prod(shape)], shape)
        if isinstance(a, np.ndarray):
            return data
        if not strided:
            return amp.array(amp.extent(*shape), a.dtype, data, accelerator_view=view)
        wide = amp.array(amp.extent(*shape[:-1], 2 * shape[-1]), a.dtype, accelerator_view=view)
        amp.copy(np.repeat(data, 2, -1), wide)
        return amp.array_view(wide)[tuple([slice(None)] * (len(shape) - 1) + [slice(None, None, 2)])]

    made = replaced(given, resize)

    def other(value: Any) -> Any:
        if type(value) is int:
            return sizes.get(value, value)
        if type(value) is amp.extent:
            return amp.extent(*(sizes.get(n, n) for n in value))
        return value

    return TunedArguments(tuple(map(other, made.args)), {name: other(value) for name, value in made.named.items()})
