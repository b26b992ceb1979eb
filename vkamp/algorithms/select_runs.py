"""The form of selections for CPU drivers: each invocation has a run of the elements.

A first launch stores the flags of a run as bits, and counts them. Where few elements of a run are chosen, the second
launch finds them by the bits, and loads no others. Where many are chosen, it computes all flags again: a loop over the
bits would end for all invocations of a subgroup only when it ends for the one with the most bits.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,attr-defined"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import Heads
from vkamp.algorithms.scan import scan_into

#: The flags in a word.
_WORD = 32
#: Few elements are chosen where these are less than this part of a run (measured on SwiftShader and lavapipe).
_FEW, _OF = 2, 5


class Stored(NamedTuple):
    """What a selection stores.

    ``is_own``: ``out`` is new, and has room for all elements. Where many elements of a run are chosen, the others are
    then all stored at one position after the chosen ones, which saves a branch.
    """

    is_own: bool
    keeps_rest: bool
    has_begins: bool


@amp.kernel
def mark_run(t_idx, flags, marks, counts, n, length, *, heads: amp.constant, keeps_rest: amp.constant):
    """Counts the chosen elements of each run, and stores the flags of 32 elements as the bits of a word.

    With ``heads``, each element is loaded once for its flag and that of the next one.
    """
    run = t_idx.global_[0]
    first = run * length
    if first < n:
        end = first + min(length, n - first)
        last = flags.values.value(max(first - 1, 0)).copy() if heads else 0
        count = 0
        for w in range(first // _WORD, end // _WORD):
            word = amp.uint32(0)
            for j in range(_WORD // 4):
                if heads:
                    p, q, r, s, _, _, _, last = flags.four_after(_WORD // 4 * w + j, last)
                else:
                    p, q, r, s = flags.four(_WORD // 4 * w + j)
                word |= amp.uint32(p + 2 * q + (4 * r + 8 * s)) << amp.uint32(4 * j)
                count += p + q + (r + s)
            if not keeps_rest:
                marks[w] = word
        if end % _WORD != 0:
            word = amp.uint32(0)
            for i in range(end // _WORD * _WORD, end):
                flag = flags.value(i)
                word |= amp.uint32(flag) << amp.uint32(i % _WORD)
                count += flag
            if not keeps_rest:
                marks[end // _WORD] = word
        counts[run] = count


@amp.func
def _put(out: Any, begins: Any, i: Any, flag: Any, x: Any, at: Any, rest: Any, *, form: amp.constant) -> Any:
    """Stores an element at its position, and returns the next positions of the chosen elements and of the others."""
    if form.keeps_rest or form.is_own:
        # Without a branch, which processors predict badly.
        out[at if flag != 0 else rest] = x
    elif flag != 0 and at < out.extent[0]:
        out[at] = x
    if form.has_begins and form.is_own:
        begins[at if flag != 0 else rest] = i
    elif form.has_begins and flag != 0:
        begins[at] = i
    return at + flag, rest + 1 - flag if form.keeps_rest else rest


@amp.func
def _put_marked(
    values: Any, marks: Any, out: Any, begins: Any, first: Any, end: Any, at: Any, *, form: amp.constant
) -> None:
    """Stores the elements of a run whose bits are set."""
    for w in range(first // _WORD, (end + _WORD - 1) // _WORD):
        word = marks[w]
        while word != 0:
            i = _WORD * w + amp.direct3d.firstbitlow(amp.int32(word))
            word &= word - 1
            if form.is_own or at < out.extent[0]:
                out[at] = values.value(i)
            if form.has_begins:
                begins[at] = i
            at += 1


@amp.kernel
def select_run(t_idx, marked, marks, before, out, begins, count, n, length, *, form: amp.constant):
    """Stores the chosen elements of one run, and with ``keeps_rest`` the others after all chosen ones.

    ``before[r]``: how many elements are chosen before run ``r``; its last element is the number of all chosen ones.
    """
    run = t_idx.global_[0]
    if run < before.extent[0] - 1:
        chosen = before[before.extent[0] - 1]
        first = run * length
        end = first + min(length, n - first)
        at = before[run]
        if not form.keeps_rest and _OF * (before[run + 1] - at) < _FEW * (end - first):
            _put_marked(marked.values, marks, out, begins, first, end, at, form=form)
        else:
            rest = chosen + first - at
            last = marked.before(first).copy()
            for k in range(first // 4, end // 4):
                p, q, r, s, a, b, c, d = marked.four_after(k, last)
                at, rest = _put(out, begins, 4 * k, p, a, at, rest, form=form)
                at, rest = _put(out, begins, 4 * k + 1, q, b, at, rest, form=form)
                at, rest = _put(out, begins, 4 * k + 2, r, c, at, rest, form=form)
                at, rest = _put(out, begins, 4 * k + 3, s, d, at, rest, form=form)
                last = d.copy()
            for i in range(end // 4 * 4, end):
                p, a = marked.value(i)
                at, rest = _put(out, begins, i, p, a, at, rest, form=form)
        if run == 0:
            count[0] = chosen


def select_into(
    view: amp.accelerator_view, flags: lazy.Lazy, marked: lazy.Lazy, out: Any, count: Any, *, begins: Any, form: Stored
) -> None:  # fmt: skip
    """Stores the chosen elements in ``out``, their number in ``count``, and their positions in ``begins``.

    ``marked`` has the flags and the elements.
    """
    n = flags.extent[0]
    split = _choose.runs(view, n, longest_run(view, flags, None, marked.values), _WORD)
    domain = _choose.domain_of_runs(view, split)
    marks = amp.array(amp.extent(1 if form.keeps_rest else -(-n // _WORD)), np.uint32, accelerator_view=view)
    before = amp.array(amp.extent(split.pieces + 1), np.int32, accelerator_view=view)
    amp.parallel_for_each(
        view, domain, mark_run, flags, marks, before, n, split.length,
        heads=isinstance(flags, Heads), keeps_rest=form.keeps_rest,
    )  # fmt: skip
    scan_into(view, lazy.Elements(before), before, functional.plus, inclusive=False, init=0)
    amp.parallel_for_each(
        view, domain, select_run, marked, marks, before, out, before if begins is None else begins, count, n,
        split.length, form=form,
    )  # fmt: skip
