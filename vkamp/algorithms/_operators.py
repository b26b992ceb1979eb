"""Properties of operators, and operators that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._convert import add_wide, multiply_wide
from vkamp.algorithms.scalars import device_scalar


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind in "fV" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind in "fV" else np.iinfo(dtype).max


_IDENTITIES: dict[Any, Callable[[np.dtype[Any]], Any]] = {
    functional.plus: lambda dtype: 0,
    functional.multiplies: lambda dtype: 1,
    functional.max: _lowest,
    functional.min: _highest,
    functional.bit_and: lambda dtype: -1 if dtype.kind == "i" else np.iinfo(dtype).max,
    functional.bit_or: lambda dtype: 0,
    functional.bit_xor: lambda dtype: 0,
}


#: Operators that compare.
_ORDERING = (functional.max, functional.min, functional.fmax, functional.fmin)


def refuse_order(op: Any, dtype: np.dtype[Any]) -> None:
    """Raises TypeError if an operator compares and the elements are complex."""
    if dtype.kind == "c" and op in _ORDERING:
        raise TypeError("complex numbers have no order: give real numbers, such as lazy.map(lambda z: abs(z), a)")


def identity_of(op: Any, dtype: np.dtype[Any]) -> Any:
    """The identity of an operator of this package: combined with it, every number stays the same.

    TypeError for other operators.
    """
    found = _IDENTITIES.get(op)
    if found is None or dtype.names is not None:
        raise TypeError("an exclusive scan with this operator needs init=, the value before the first element")
    return found(dtype)


def commutes(op: Any) -> bool:
    """Whether an operator is known to commute."""
    return op in _IDENTITIES or op in (add_wide, multiply_wide)


@amp.func
def _combined(op: Any, a: Any, b: Any) -> Any:
    return op(a, b)


class _Copying:
    """An operator of structs whose result is a copy, even where the operator returns one of its operands."""

    __slots__ = ("op",)

    def __init__(self, op: Any) -> None:
        self.op = op

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return self.op(a, b).copy()


def closed(source: lazy.Lazy, op: Any) -> tuple[np.dtype[Any], Any]:
    """The type of an operator's results, which must be that of its operands, and the operator in the form for
    kernels.
    """
    given = lazy.computed_type(source)
    refuse_order(op, given)
    found = amp.result_type(_combined, op, given, given)
    if found != given and not (found.kind == given.kind and found.itemsize == given.itemsize):
        raise TypeError(f"op returns {found} of two {given}: map the elements to one type first (lazy.map)")
    return given, op if given.names is None or commutes(op) else _Copying(op)


@amp.func
def sorts_before(a: Any, b: Any) -> Any:
    """The order in which ``sort`` arranges numbers: NaN comes after all others."""
    return a < b or (a == a and b != b)


class Is:
    """Whether an element is equal to a number."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    @amp.func
    def __call__(self, x: Any) -> Any:
        return x == self.number


def like(number: Any, source: lazy.Lazy) -> Any:
    """A number to compare elements with, in their type if they are complex, or if it or they are integers.

    Python's own would become a complex64 or an int32. A number that the type cannot hold becomes NaN, which equals no
    element either. A float that is compared with floats adapts to their type.
    """
    kind = lazy.computed_type(source)
    if isinstance(number, device_scalar) and lazy.reads_as(number, kind):
        return number
    given = np.asarray(number)
    if kind.kind not in "iufc" or given.dtype.kind not in "iufcO" or (kind.kind in "fc" and given.dtype.kind in "fc"):
        return kind.type(number) if kind.kind == "c" else number
    exact = given.item()
    if not isinstance(exact, (int, float, complex)):
        raise TypeError(f"{number!r} is not a number")
    if isinstance(exact, complex) and exact.imag == 0:
        exact = exact.real
    nothing = np.float32(np.nan)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        fits = not isinstance(exact, complex) and limits.min <= exact <= limits.max and exact == int(exact)
        return kind.type(int(exact)) if fits else nothing
    with np.errstate(over="ignore"):
        try:
            found = kind.type(exact)
        except OverflowError:
            return nothing
    return found if found.item() == exact else nothing


class Flag:
    """1 for an element that meets a condition, else 0."""

    __slots__ = ("pred",)

    def __init__(self, pred: Any) -> None:
        self.pred = pred

    @amp.func
    def __call__(self, x: Any) -> Any:
        return 1 if self.pred(x) else 0


class Swapped:
    """A comparison with its arguments exchanged."""

    __slots__ = ("less",)

    def __init__(self, less: Any) -> None:
        self.less = less

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return self.less(b, a)


#: The position that stands for "no element": after all others.
NOWHERE = (1 << 31) - 1


class PositionsWhere:
    """For ``lazy.At``: the position of each element that meets a condition; ``NOWHERE`` for the others."""

    __slots__ = ("pred",)

    def __init__(self, pred: Any) -> None:
        self.pred = pred

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return amp.int32(i) if self.pred(values.value(i)) else NOWHERE


class PairPositions:
    """For ``lazy.At``: the position of each element that meets a condition together with the one before it."""

    __slots__ = ("pred",)

    def __init__(self, pred: Any) -> None:
        self.pred = pred

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return amp.int32(i) if i > 0 and self.pred(values.value(i - 1), values.value(i)) else NOWHERE


class Heads(lazy.Lazy):
    """1 for the first element, and for each element that differs from the one before it; else 0."""

    __slots__ = ("eq", "values")

    def __init__(self, values: lazy.Lazy, eq: Any) -> None:
        super().__init__(values.extent)
        self.values, self.eq = values, eq

    @amp.func
    def value(self, i: Any) -> Any:
        """The flag of an element."""
        return 0 if i > 0 and self.eq(self.values.value(i - 1), self.values.value(i)) else 1

    @amp.func
    def four(self, k: Any) -> Any:
        """The flags of four elements."""
        a, b, c, d = self.values.four(k)
        is_head = k == 0 or not self.eq(self.values.value(max(4 * k - 1, 0)), a)
        eq = self.eq
        return 1 if is_head else 0, 0 if eq(a, b) else 1, 0 if eq(b, c) else 1, 0 if eq(c, d) else 1

    @amp.func
    def four_after(self, k: Any, last: Any) -> Any:
        """The flags of four elements, and the elements; ``last`` is the element before them."""
        eq = self.eq
        a, b, c, d = self.values.four(k)
        is_head = k == 0 or not eq(last, a)
        return 1 if is_head else 0, 0 if eq(a, b) else 1, 0 if eq(b, c) else 1, 0 if eq(c, d) else 1, a, b, c, d
