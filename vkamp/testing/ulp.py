"""Distances between numbers in units of the last place, and assertions on them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vkamp.lang.dtypes import number_kind

#: The number of elements in a message, the worst first.
_SHOWN = 5


def ulp_distance(actual: ArrayLike, expected: ArrayLike) -> NDArray[np.float64]:
    """How many representable numbers ``actual`` is away from ``expected``, element by element.

    ``expected`` is rounded to the type of ``actual``, and the shapes must fit. 0.0 and -0.0 are the same number, and so
    are two NaN; NaN and infinities are infinitely far from all other numbers. For integers it is the difference. Raises
    ``TypeError`` for types other than integers and floats.
    """
    first = np.asarray(actual)
    if number_kind(first.dtype) not in "fiub" or first.dtype.itemsize > 8:
        raise TypeError(f"distances are between integers or floats, not {first.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        second = np.asarray(expected).astype(first.dtype)
    one, other = np.broadcast_arrays(first, second)
    if number_kind(one.dtype) != "f":
        return _apart(one, other)
    found = _apart(_ordered(one), _ordered(other))
    found[(np.isinf(one) | np.isinf(other)) & (one != other)] = math.inf
    found[np.isnan(one) ^ np.isnan(other)] = math.inf
    found[np.isnan(one) & np.isnan(other)] = 0
    return found


def _ordered(values: NDArray[Any]) -> NDArray[Any]:
    """Integers with the same order as the floats."""
    signed: np.dtype[Any] = np.dtype(f"i{values.dtype.itemsize}")
    bits: NDArray[Any] = np.ascontiguousarray(values).view(signed).reshape(values.shape)
    return np.where(bits < 0, np.iinfo(signed).min - bits, bits)


def _apart(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """The distance of integers of one type; exact up to 2**53."""
    unsigned: np.dtype[Any] = np.dtype(f"u{one.dtype.itemsize}")
    with np.errstate(over="ignore"):
        # Differences of unsigned numbers wrap to the correct distance.
        up, down = one.astype(unsigned) - other.astype(unsigned), other.astype(unsigned) - one.astype(unsigned)
    return np.where(one > other, up, down).astype(np.float64)


def assert_allclose_ulp(
    actual: ArrayLike, expected: ArrayLike, *, ulp: float = 0, atol: float = 0.0, name: str = "actual"
) -> None:
    """Raises ``AssertionError`` unless every element is within ``ulp`` units of the last place, or within ``atol``.

    ``actual`` is a numpy array, an ``array`` or an ``array_view``; ``expected`` has its shape, and is rounded to its
    type. Distances are those of :func:`ulp_distance`; integers must be equal, or within ``atol``. Structured elements
    are compared member by member. ``name`` is the name of ``actual`` in the message.

    >>> assert_allclose_ulp(np.float32([0.1, 3.0]), [0.1, 3.0000002], ulp=1)
    >>> assert_allclose_ulp(np.float32([0.1, 3.0]), [0.1, 3.0000005], ulp=1, name="sums")
    Traceback (most recent call last):
    AssertionError: sums: 1 of 2 elements is further off than 1 ulp
      sums[1] is 3.0 instead of 3.0000005, 2 ulp off
    """
    __tracebackhide__ = True
    first, second = np.asarray(actual), np.asarray(expected)
    if first.shape != second.shape:
        raise AssertionError(f"{name} has the shape {first.shape} instead of {second.shape}")
    text = difference(name, first, second, ulp, atol)
    if text:
        raise AssertionError(text)


def difference(name: str, actual: NDArray[Any], expected: NDArray[Any], ulp: float, atol: float) -> str:
    """A message about the elements that differ by more than is allowed, the worst first; empty if there are none."""
    _check_tolerance("ulp", ulp)
    _check_tolerance("atol", atol)
    rows: list[tuple[float, str]] = []
    count = size = 0
    kinds = set()
    for member, one, other in _members(actual, expected):
        distance = ulp_distance(one, other)
        wrong = distance > (ulp if number_kind(one.dtype) == "f" else 0)
        if atol:
            with np.errstate(all="ignore"):
                apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
            wrong &= ~(apart <= atol)
        if number_kind(one.dtype) == "f":
            wrong |= np.isnan(one) ^ np.isnan(other)
        kinds.add(number_kind(one.dtype))
        count += int(np.count_nonzero(wrong))
        size += wrong.size
        rows += _worst(name, member, one, other.astype(one.dtype), distance, wrong)
    if not count:
        return ""
    rows.sort(key=lambda row: -row[0])
    allowed = [f"{ulp:g} ulp"] * ("f" in kinds) + [f"{atol:g}"] * bool(atol)
    verb = ("is" if count == 1 else "are") + " further off than " + " and ".join(allowed)
    if not allowed:
        verb = "differs" if count == 1 else "differ"
    lines = [f"{name}: {count} of {size} elements {verb}"]
    lines += [f"  {text}" for _, text in rows[:_SHOWN]]
    if count > _SHOWN:
        lines.append(f"  and {count - _SHOWN} more")
    return "\n".join(lines)


def _check_tolerance(name: str, value: float) -> None:
    if not value >= 0:
        raise ValueError(f"{name} is {value!r}: it must be 0 or more")


def _members(
    actual: NDArray[Any], expected: NDArray[Any], path: str = ""
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """The arrays of numbers in arrays of structs, each with its path; numbers themselves as they are."""
    names = actual.dtype.names
    if names is None:
        yield path, actual, expected
        return
    for name in names:
        yield from _members(actual[name], expected[name], f"{path}.{name}")


def _worst(
    name: str,
    member: str,
    actual: NDArray[Any],
    expected: NDArray[Any],
    distance: NDArray[np.float64],
    wrong: NDArray[np.bool_],
) -> Iterator[tuple[float, str]]:
    """The elements that are furthest off, with their texts."""
    places = np.flatnonzero(wrong)
    for place in places[np.argsort(-distance.flat[places], kind="stable")][:_SHOWN]:
        where = np.unravel_index(int(place), actual.shape)
        index = ", ".join(str(int(component)) for component in where)
        far = float(distance.flat[place])
        off = ""
        if number_kind(actual.dtype) == "f" and math.isfinite(far):
            off = f", {int(far)} ulp off"
        spelled = f"{name}[{index}]{member}" if where else f"{name}{member}"
        yield far, f"{spelled} is {actual.flat[place]!s} instead of {expected.flat[place]!s}{off}"
