"""Selections: ``select``, ``nonzero``, ``partition``, ``partition3``.

A scan of the elements' flags gives each chosen element its position; a second pass stores it there (G. Blelloch,
*Prefix Sums and Their Applications*, 1990).  The order of the elements is kept.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,attr-defined"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy, select_runs, select_tiles
from vkamp.algorithms._arguments import dtype_of, in_words, output, place, refuse_overlap, refuse_type, target
from vkamp.algorithms._counted_parts import given, up_to
from vkamp.algorithms._operators import Flag, Heads
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan_into


class _Marked(lazy.Lazy):
    """Elements with their flags."""

    __slots__ = ("flags", "values")

    def __init__(self, flags: lazy.Lazy, values: lazy.Lazy) -> None:
        super().__init__(values.extent)
        self.flags, self.values = flags, values

    @amp.func
    def value(self, i: Any) -> Any:
        """A flag and the element."""
        return self.flags.value(i), self.values.value(i)

    @amp.func
    def four(self, k: Any) -> Any:
        """Four flags and the elements."""
        p, q, r, s = self.flags.four(k)
        a, b, c, d = self.values.four(k)
        return p, q, r, s, a, b, c, d

    @amp.func
    def before(self, i: Any) -> Any:
        """What ``four_after`` needs of the elements before a position: any element."""
        return self.values.value(i)

    @amp.func
    def four_after(self, k: Any, last: Any) -> Any:
        """As ``four``; ``last`` is the element before them, if ``before`` gives it."""
        return self.four(k)


class _Chosen(_Marked):
    """Elements with flags that say whether they meet a condition; one load serves both."""

    __slots__ = ("pred",)

    def __init__(self, flags: lazy.Lazy, values: lazy.Lazy, pred: Any) -> None:
        super().__init__(flags, values)
        self.pred = pred

    @amp.func
    def value(self, i: Any) -> Any:
        """A flag and the element."""
        x = self.values.value(i)
        return self.pred(x), x

    @amp.func
    def four(self, k: Any) -> Any:
        """Four flags and the elements."""
        a, b, c, d = self.values.four(k)
        return self.pred(a), self.pred(b), self.pred(c), self.pred(d), a, b, c, d


class _Firsts(_Marked):
    """Elements, and whether they differ from the one before them, with one load for both."""

    __slots__ = ("eq",)

    def __init__(self, heads: Heads) -> None:
        super().__init__(heads, heads.values)
        self.eq = heads.eq

    @amp.func
    def four(self, k: Any) -> Any:
        """Four flags and the elements. GPUs take a tenth longer if the element before these is loaded first."""
        a, b, c, d = self.values.four(k)
        is_head = k == 0 or not self.eq(self.values.value(max(4 * k - 1, 0)), a)
        eq = self.eq
        return 1 if is_head else 0, 0 if eq(a, b) else 1, 0 if eq(b, c) else 1, 0 if eq(c, d) else 1, a, b, c, d

    @amp.func
    def before(self, i: Any) -> Any:
        """The element before a position."""
        return self.values.value(max(i - 1, 0))

    @amp.func
    def four_after(self, k: Any, last: Any) -> Any:
        """Four flags and the elements."""
        return self.flags.four_after(k, last)


def _marked(flags: lazy.Lazy, pred: Any, source: lazy.Lazy) -> _Marked:
    """The elements of a source with their flags, which ``pred`` computes unless it is None."""
    if pred is not None:
        return _Chosen(flags, source, Flag(pred))
    return _Firsts(flags) if isinstance(flags, Heads) and flags.values is source else _Marked(flags, source)


def _select_into(
    view: amp.accelerator_view, flags: lazy.Lazy, pred: Any, source: lazy.Lazy, out: Any, count: Any, *,
    begins: Any = None, keeps_rest: bool = False, is_own: bool = False,
) -> None:  # fmt: skip
    """Stores the chosen elements in ``out``, their number in ``count``, and their positions in ``begins``."""
    marked = _marked(flags, pred, source)
    if _choose.form_of(view) == "tiles":
        select_tiles.select_into(view, flags, marked, out, count, begins=begins, keeps_rest=keeps_rest)
        return
    form = select_runs.Stored(is_own, keeps_rest, begins is not None)
    select_runs.select_into(view, flags, marked, out, count, begins=begins, form=form)


def target_of(out: Any, source: lazy.Lazy, dtype: np.dtype[Any], view: amp.accelerator_view, *others: lazy.Lazy) -> Any:
    """The container for the results of a selection: ``out``, which must not overlap its inputs, or a new array."""
    if out is lazy.discard:
        # Elements after its end are not stored.
        out = amp.array(amp.extent(1), dtype, accelerator_view=view)
    elif out is None:
        out = amp.array(source.extent, dtype, accelerator_view=view)
    else:
        out = target(out)
        refuse_type(out, dtype)
    refuse_overlap(out, source, *others)
    return out


def selected(
    flags: lazy.Lazy, source: lazy.Lazy, out: Any, view: amp.accelerator_view, pred: Any = None, *,
    keeps_rest: bool = False, dtype: np.dtype[Any] | None = None, begins: Any = None,
) -> counted:  # fmt: skip
    """The elements whose flags are 1, in ``out`` or a new array, of the source's type unless ``dtype`` is given.

    ``begins`` receives their positions. ``pred`` computes the flags from the elements, which saves loads.
    """
    is_own = out is None
    out = target_of(out, source, dtype_of(source) if dtype is None else dtype, view, flags)
    count = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    values, target = in_words(source, out)
    # Elements may be moved as words, but the condition needs the numbers.
    condition = pred if values is source else None
    _select_into(view, flags, condition, values, target, count, begins=begins, keeps_rest=keeps_rest, is_own=is_own)
    return counted(out, device_scalar(count), flags.extent[0])


def _condition(source: lazy.Lazy, pred: Any, flags: Any) -> lazy.Lazy:
    if (pred is None) == (flags is None):
        raise TypeError("give a predicate or flags=")
    if flags is None:
        return lazy.map(Flag(pred), source)
    given = lazy.of(flags).flat()
    if given.extent != source.extent:
        raise amp.AmpError(f"there are {source.extent!r} elements, but {given.extent!r} flags")
    return lazy.map(Flag(functional.truth), given)


def select(
    a: Any,
    pred: Any = None,
    *,
    flags: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements that meet a condition, or whose flags are not zero, in their order (C++: ``copy_if``).

    If ``out`` is too small, or ``lazy.discard``, the count is right, nothing is stored after the end of ``out``, and
    reading the result raises AmpError. Algorithms take the result only if ``out`` has room for all elements. ``out``
    must not overlap the input.
    """
    source = lazy.of(a).flat()
    condition = _condition(source, pred, flags)
    view = place(accelerator_view, source, condition, out)
    return selected(condition, source, out, view, pred)


def nonzero(a: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> counted:
    """The row-major positions of the elements that are not zero, as int32."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    return selected(lazy.map(Flag(functional.truth), source), lazy.arange(source.extent[0]), out, view)


def partition(
    a: Any,
    pred: Any = None,
    *,
    flags: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, device_scalar]:
    """The elements that meet a condition, or whose flags are not zero, then the others, and how many meet the
    condition.

    Both parts keep their order (C++: ``stable_partition_copy``; CUB: ``DevicePartition``). ``out`` must not overlap the
    input.
    """
    source = lazy.of(a).flat()
    condition = _condition(source, pred, flags)
    view = place(accelerator_view, source, condition, out)
    found = selected(condition, source, out, view, pred, keeps_rest=True)
    return found.values, found.count


class _Third:
    """0 for an element that meets the first condition, 1 for one that meets only the second one, else 2."""

    __slots__ = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    @amp.func
    def __call__(self, x: Any) -> Any:
        return 0 if self.first(x) else 1 if self.second(x) else 2


class _Counts:
    """For ``lazy.At`` on classes from 0 to 2: a vector with a 1 in the component of the class."""

    __slots__ = ()

    @amp.func
    def __call__(self, x: Any) -> Any:
        return amp.int3(1 if x == 0 else 0, 1 if x == 1 else 0, 1 if x == 2 else 0)


@amp.kernel
def _split3(idx, classes, upto, source, out, counts):
    """Stores the elements of each class after those of the lower classes."""
    i = idx[0]
    last = upto[upto.extent[0] - 1].copy()
    own = upto[i].copy()
    each = classes.value(i)
    at = own.x - 1
    if each == 1:
        at = last.x + own.y - 1
    if each == 2:
        at = last.x + last.y + own.z - 1
    out[at] = source.value(i)
    if i == 0:
        counts[0] = last.x
        counts[1] = last.y


def partition3(
    a: Any, first: Any, second: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> tuple[Any, device_scalar, device_scalar]:
    """The elements that meet a first condition, then those that meet only a second one, then the others, each in
    their order.

    Also returns how many elements meet the first condition, and how many only the second one (CUB:
    ``DevicePartition::If`` with two conditions).
    """
    source, count = given(a)
    source = source.flat()
    view = place(accelerator_view, source, out)
    result = output(out, source.extent, dtype_of(source), view, source)
    # Elements after the count are the last ones of their class.
    classes = up_to(lazy.map(_Third(first, second), source), count, 2)
    upto = amp.array(source.extent, amp.int3, accelerator_view=view)
    scan_into(view, lazy.map(_Counts(), classes), upto, functional.plus, inclusive=True)
    counts = amp.array(amp.extent(2), np.int32, accelerator_view=view)
    values, target = in_words(source, result)
    amp.parallel_for_each(view, source.extent, _split3, classes, upto, values, target, counts)
    of_both = amp.array_view(counts)
    found = result if count is None else counted(result, count)
    return found, device_scalar(of_both[:1]), device_scalar(of_both[1:])
