"""Values of any type as words of 32 bits, on the host as in kernels: ``to_words``, ``from_words``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkamp.ir.types import FLOAT16, FLOAT32, Scalar, from_dtype, promoted, scalar_fields
from vkamp.lang.device import MARK
from vkamp.lang.dtypes import element_dtype
from vkamp.lang.vectors import ShortVector, vector_class
from vkamp.tracebacks import entry_point

_PYTHON: dict[Any, type[np.generic]] = {int: np.int32, float: np.float32, complex: np.complex64}


def computed(scalar: Scalar) -> Scalar:
    """The type of 32 or 64 bits whose bits are the words of a number."""
    return FLOAT32 if scalar == FLOAT16 else promoted(scalar)


@entry_point
def to_words(x: Any) -> tuple[Any, ...]:
    """The bits of all numbers of a value, as a tuple of uint32, in the order of the numbers.

    A number of 64 bits gives two words, the lower half first. Any other number gives one: int8, uint8, int16 and uint16
    as int32, float16 and bfloat16 as float32, and bool as 0 or 1. Complex numbers and short vectors give the words of
    their parts, and structs those of their fields, without padding. :func:`from_words` is the inverse: with both,
    kernels exchange values of any type through atomics of words.
    """
    if isinstance(x, (bool, np.bool_)):
        return (np.uint32(x),)
    if isinstance(x, ShortVector):
        dtype, raw = x.dtype, np.asarray(x._values).tobytes()
    else:
        value = np.asarray(x, _PYTHON.get(type(x)))
        if value.ndim:
            raise TypeError("to_words takes one value, not an array")
        dtype, raw = element_dtype(value.dtype), value.tobytes()
    words: list[np.uint32] = []
    for _, scalar, offset in scalar_fields(from_dtype(dtype)):
        words.extend(np.frombuffer(raw, scalar.dtype, 1, offset).astype(computed(scalar).dtype).view(np.uint32))
    return tuple(words)


@entry_point
def from_words(dtype: Any, words: Sequence[Any]) -> Any:
    """The value of a type that has these words, a tuple or an array of uint32: the inverse of :func:`to_words`.

    ``dtype`` is a type of numbers, short vectors or structs, such as ``type(x)``.
    """
    given = np.array([int(word) for word in words], np.uint32)
    kind = np.dtype(np.uint32) if dtype in (bool, np.bool_) else element_dtype(_PYTHON.get(dtype, dtype))
    fields = scalar_fields(from_dtype(kind))
    expected = sum(computed(scalar).size // 4 for _, scalar, _ in fields)
    if len(given) != expected:
        raise TypeError(f"from_words takes {expected} words of 32 bits for this type, not {len(given)}")
    raw, at = bytearray(kind.itemsize), 0
    for _, scalar, offset in fields:
        used = computed(scalar).size // 4
        number = given[at : at + used].view(computed(scalar).dtype).astype(scalar.dtype)
        raw[offset : offset + scalar.size] = number.tobytes()
        at += used
    if dtype in (bool, np.bool_):
        return np.bool_(given[0] != 0)
    made = np.frombuffer(bytes(raw), kind)[0]
    vector = vector_class(kind)
    return made if vector is None else vector(*made)


setattr(to_words, MARK, "to_words")
setattr(from_words, MARK, "from_words")
