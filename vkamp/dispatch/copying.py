"""Copies between containers as launches: what a capture records for ``copy``."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import numpy as np

from vkamp.lang.arrays import array
from vkamp.lang.container import Container, bindable
from vkamp.lang.index_space import extent
from vkamp.lang.kernel import kernel
from vkamp.lang.region import Layout
from vkamp.lang.views import array_view, view_of
from vkamp.run.accelerators import accelerator_view

_WORD = np.dtype(np.uint32)

#: The source and the target of one launch of :func:`copy_elements`.
Pair = tuple[array_view, array_view]


@kernel
def copy_elements(idx, source, target):
    target[idx] = source[idx]


def pairs(view: accelerator_view, source: Container, target: Container) -> list[Pair]:
    """What to launch on ``view``, one after the other, for a copy of all elements of a container to another of the same
    shape and type.
    """
    if bindable(source).shares(bindable(target)):
        between = array(extent(source.extent), source.dtype, accelerator_view=view)
        return [*pairs(view, source, between), *pairs(view, between, target)]
    one, other = bindable(source).layout, bindable(target).layout
    if one.is_dense and other.is_dense and not one.size * one.dtype.itemsize % _WORD.itemsize:
        words = one.size * one.dtype.itemsize // _WORD.itemsize
        flat = [Layout.dense(each.offset, (words,), _WORD) for each in (one, other)]
        return [(view_of(source, flat[0]), view_of(target, flat[1]))]
    return [(view_of(source, _in_words(one)), view_of(target, _in_words(other)))]


def _in_words(layout: Layout) -> Layout:
    """The elements as words along one more dimension; elements of other sizes as they are."""
    words, rest = divmod(layout.dtype.itemsize, _WORD.itemsize)
    if rest or (words == 1 and layout.dtype == _WORD):
        return layout
    if words == 1:
        return Layout(layout.offset, layout.shape, layout.strides, _WORD)
    return Layout(layout.offset, (*layout.shape, words), (*layout.strides, _WORD.itemsize), _WORD)
