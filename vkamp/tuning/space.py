"""The space of a search: the names of the parameters, their values, and which combinations are allowed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vkamp.errors import AmpError

#: A space of at most this many candidates is searched completely.
ALL = 64


class Parameters:
    """One candidate: values by name, ``p["tile"]`` or ``p.tile``.

    It has no other attributes. Iterating yields the names.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name == "_values":
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no parameter {name!r}: the parameters are {', '.join(self)}") from None

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, Parameters) else other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return ", ".join(f"{name}={label(value)}" for name, value in self._values.items())

    def __repr__(self) -> str:
        return f"<{self}>"


def values_of(given: Parameters) -> dict[str, Any]:
    """The values of a candidate by name."""
    return {name: given[name] for name in given}


def label(value: Any) -> Any:
    """A value as tables and files show it: kernels and functions by name, other values as in JSON."""
    name = getattr(value, "__qualname__", None)
    if name is not None:
        return name
    return list(map(label, value)) if isinstance(value, (tuple, list)) else value


class Space:
    """The parameters of a tuned function.

    ``where(p, limits)`` says whether a candidate may run on a device with these limits. ``default``: the values without
    a search. ValueError or TypeError for a space that cannot be searched.
    """

    def __init__(
        self,
        parameters: Mapping[str, Sequence[Any]],
        where: Callable[[Parameters, Any], bool] | None,
        default: Mapping[str, Any] | None,
    ) -> None:
        if not parameters:
            raise ValueError("autotune needs parameters: a dict of names and their values")
        for name, values in parameters.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
                raise TypeError(f"the values of the parameter {name} must be a tuple or list, not {values!r}")
        self.values = {name: tuple(values) for name, values in parameters.items()}
        self.where = where
        first = {name: values[0] for name, values in self.values.items()} if default is None else default
        self.default = self.checked(first, "default")

    def checked(self, given: Any, what: str) -> Parameters:
        """A candidate of the space; ValueError if it lacks a parameter or has an unknown value."""
        reason = self.refusal(given)
        if reason:
            raise ValueError(f"autotune: {what}: {reason}")
        return Parameters({name: given[name] for name in self.values})

    def refusal(self, given: Any) -> str:
        """Why a candidate does not belong to the space, by its names and values; empty if it belongs to it."""
        if isinstance(given, Parameters):
            given = values_of(given)
        if not isinstance(given, Mapping):
            return f"parameters are a dict, not {given!r}"
        if given.keys() != self.values.keys():
            return f"the parameters are {', '.join(self.values)}, not {', '.join(map(str, given)) or 'none'}"
        for name, values in self.values.items():
            if not any(same(given[name], value) for value in values):
                known = ", ".join(str(label(value)) for value in values)
                return f"{name} must be one of {known}, not {label(given[name])}"
        return ""

    def is_allowed(self, given: Parameters, limits: Any) -> bool:
        """Whether ``where`` allows a candidate on a device. Its errors are those of the user."""
        return self.where is None or bool(self.where(given, limits))

    def read(self, stored: Any) -> Parameters:
        """A candidate from a file; ValueError with the reason if it does not belong to the space."""
        if isinstance(stored, Mapping):
            stored = {name: self._read(name, value) for name, value in stored.items()}
        reason = self.refusal(stored)
        if reason:
            raise ValueError(reason)
        return Parameters({name: stored[name] for name in self.values})

    def _read(self, name: str, value: Any) -> Any:
        return next((each for each in self.values.get(name, ()) if same(label(each), value)), value)

    @property
    def size(self) -> int:
        """The number of candidates, allowed or not."""
        return math.prod(map(len, self.values.values()))

    def candidates(self) -> Iterator[Parameters]:
        """All candidates."""
        for chosen in itertools.product(*self.values.values()):
            yield Parameters(dict(zip(self.values, chosen, strict=True)))

    def neighbours(self, given: Parameters) -> Iterator[Parameters]:
        """The candidates that differ by one step of one parameter."""
        for name, values in self.values.items():
            at = next(k for k, value in enumerate(values) if same(value, given[name]))
            for k in (at - 1, at + 1):
                if 0 <= k < len(values):
                    yield Parameters({**values_of(given), name: values[k]})

    @property
    def description(self) -> str:
        """The space as text, which is part of the identity of the results that were found in it."""
        return json.dumps({name: list(map(label, values)) for name, values in self.values.items()}, default=str)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: True is not 1."""
    return type(one) is type(other) and bool(one == other)


def size_class(a: Any) -> int:
    """The number of bits of a container's number of elements: sizes within a factor of two share a class.

    Also of an array of the host, and of a number.
    """
    extent = getattr(a, "extent", None)
    if extent is not None:
        return int(math.prod(tuple(extent))).bit_length()
    size = getattr(a, "size", a)
    if not isinstance(size, int):
        raise AmpError(f"size_class takes a container, an array or a number, not {type(a).__name__}")
    return size.bit_length()


def shape_of(a: Any) -> tuple[int, ...]:
    """The extent of a container, or the shape of an array of the host."""
    return tuple(a.extent) if hasattr(a, "extent") else tuple(a.shape)
