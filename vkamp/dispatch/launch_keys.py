"""The key of a repeated launch, and what it leaves open: numbers, also those of functions and objects."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from vkamp import pipeline
from vkamp.lang.container import Container
from vkamp.lang.device_elements import element_of
from vkamp.lang.index_space import components_of, extent, index, tiled_components_of, tiled_extent
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.vectors import ShortVector
from vkamp.run.accelerators import accelerator_view, identity_of

NUMBERS = frozenset([bool, int, float, np.bool_, np.float32, np.int32, np.uint32, np.float64, np.int64, np.uint64])

#: Beyond these a captured number has another type.
_LARGEST: dict[Any, float] = dict.fromkeys(NUMBERS, np.inf) | {
    int: (1 << 31) - 1, np.int64: (1 << 31) - 1, float: float(np.finfo(np.float32).max),
    np.float64: float(np.finfo(np.float32).max),
}  # fmt: skip

_LEAST_INT32 = -(1 << 31)

#: Functions in functions, and objects in objects.
MAX_DEPTH = 8


#: What a repeated launch has in common with the first; its values, the arguments first; and the paths of those that are
#: components, members of objects or captured by functions: the position of the argument, or the name of the constant,
#: and the rest of the name.
LaunchKey = tuple[tuple[Any, ...], Sequence[Any], Sequence[tuple[int | str, str]]]


def key_of(
    view: accelerator_view | None, domain: Any, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> LaunchKey | None:
    """What a repeated launch has in common with the first, or ``None`` for one that is never remembered."""
    if type(kernel) is not KernelFunction:
        return None
    kind = type(domain)
    if kind is extent:
        shape: Any = components_of(domain)
    elif kind is tiled_extent:
        shape = tiled_components_of(domain)
    else:
        return None
    # A remembered launch keeps its view, so that the number stays the view's.
    parts: list[Any] = [None if view is None else identity_of(view), kind, shape]
    functions: list[tuple[int | str, Any, int]] = []
    values: Sequence[Any] = args
    for position, value in enumerate(args):
        if isinstance(value, Container):
            parts.append(id(value))
        elif (kind := type(value)) in NUMBERS:
            # An int64 is passed as an int32 if that can hold it.
            is_wide = kind is np.int64 and not _LEAST_INT32 <= value <= _LARGEST[np.int64]
            parts.append((kind, "wide") if is_wide else kind)
        elif (element := element_of(value)) is not None:
            parts += (kind, value.dtype.char, id(element))
            values = list(values)
            values[position] = element
        else:
            functions.append((position, value, len(parts)))
    for name, value in constants.items():
        if (kind := type(value)) in NUMBERS:
            # As text, which distinguishes 0.0 from -0.0.
            parts += (name, kind, repr(value))
        else:
            parts.append(name)
            functions.append((name, value, len(parts)))
    if not functions:
        return tuple(parts), values, ()
    found = ValueKey(parts, list(values), [])
    if not all(found.add_argument(head, value) for head, value, _ in functions):
        return None
    return (*parts, *(at for _, _, at in functions)), found.values, found.captured


@dataclass(slots=True)
class ValueKey:
    """Functions and objects among the arguments of a launch: what is added to its key, and their values and paths."""

    parts: list[Any]
    values: list[Any]
    captured: list[tuple[int | str, str]]

    def add_argument(self, head: int | str, value: Any) -> bool:
        """Adds an argument that is part of the program; False if a launch with it is never remembered."""
        if isinstance(value, ShortVector):
            return self._add_vector(head, "", value)
        kind = type(value)
        if (kind is index or kind is extent) and isinstance(head, int):
            numbers = components_of(value)
            self.parts.append((kind, len(numbers)))
            self.values += numbers
            self.captured += [(head, pipeline.part_of("", k)) for k in range(len(numbers))]
            return True
        if kind is not MethodType and pipeline.is_functor(value):
            return self._add_object(head, "", value, 0)
        known = callable(value) or isinstance(value, np.dtype) or (isinstance(head, str) and pipeline.parts_of(value))
        return bool(known) and self._add_program(head, "", value, 0)

    def _add_object(self, head: int | str, tail: str, value: Any, depth: int) -> bool:
        self.parts.append(type(value))
        path = f"{tail}."
        for name, member in pipeline.members_of(value):
            self.parts.append(name)
            kind = type(member)
            if kind is extent or kind is index:
                self.parts += (kind, tuple(member))
            elif kind is not MethodType and pipeline.is_functor(member):
                if depth >= MAX_DEPTH or not self._add_object(head, path + name, member, depth + 1):
                    return False
            elif not self._add_captured(head, path + name, member, depth + 1):
                return False
        return True

    def _add_vector(self, head: int | str, tail: str, value: Any) -> bool:
        self.parts.append(type(value))
        for letter, number in zip("xyzw", value, strict=False):
            if type(number) not in NUMBERS:
                return False
            self.values.append(number)
            self.captured.append((head, pipeline.part_of(tail, letter)))
        return True

    def _add_program(self, head: int | str, tail: str, value: Any, depth: int) -> bool:
        plain = pipeline.plain_of(value)
        if plain is not None:
            return depth < MAX_DEPTH and self._add_function(head, tail, plain, value, depth)
        if isinstance(value, (type, np.dtype, DeviceFunction)) or pipeline.is_of_library(value):
            self.parts.append(value)
            return True
        parts = pipeline.parts_of(value)
        if parts is None:
            return False
        self.parts += (parts.names, len(parts.items))
        return all(self._add_item(head, f"{tail}[{k}]", item, depth) for k, item in enumerate(parts.items))

    def _add_item(self, head: int | str, tail: str, value: Any, depth: int) -> bool:
        """An item of a tuple, whose numbers are constants."""
        kind = type(value)
        if kind in NUMBERS or value is None or kind is str:
            self.parts += (kind, repr(value))
            return True
        return depth < MAX_DEPTH and self._add_program(head, tail, value, depth + 1)

    def _add_function(self, head: int | str, tail: str, plain: FunctionType, value: Any, depth: int) -> bool:
        self.parts += (pipeline.CodeKey(plain.__code__), id(plain.__globals__), type(value))
        if isinstance(value, functools.partial):
            self.parts += (type(value.func), len(value.args), *value.keywords)
        path = f"{tail}."
        for origin, name, item in pipeline.captured(value):
            if origin in ("global", "builtin") and not pipeline.is_handed_over(origin, item):
                # The guards of the kernel look at it.
                self.parts.append(None)
            elif not self._add_captured(head, path + name, item, depth + 1):
                return False
        return True

    def _add_captured(self, head: int | str, tail: str, value: Any, depth: int) -> bool:
        kind = type(value)
        if isinstance(value, Container):
            self.parts.append(id(value))
        elif kind in NUMBERS and kind is not bool:
            if not -_LARGEST[kind] <= value <= _LARGEST[kind]:
                return False
            self.parts.append(kind)
        elif value is None or kind in (bool, str):
            self.parts.append(value)
            return True
        elif isinstance(value, ShortVector):
            return self._add_vector(head, tail, value)
        elif (element := element_of(value)) is not None:
            self.parts += (kind, value.dtype.char, id(element))
            value = element
        else:
            return self._add_program(head, tail, value, depth)
        self.values.append(value)
        self.captured.append((head, tail))
        return True
