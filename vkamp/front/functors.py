"""Objects that a kernel can use: instances of Python classes with device methods (AMP: functors).

C++ AMP's model: docs/conformance.md, section 9 (a functor's members follow the table of captures).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from vkamp.lang.kernel import DeviceFunction, KernelFunction

#: Whose methods are not programs.
_LIBRARIES = frozenset((*sys.stdlib_module_names, "numpy", "vkamp"))


#: Objects of these have device methods, or parts with such methods, and are known by other rules.
_NO_FUNCTORS = (type, ModuleType, np.generic, np.ndarray, DeviceFunction, KernelFunction)


@lru_cache(maxsize=1024)
def _has_device_methods(cls: type) -> bool:
    for base in cls.__mro__:
        for value in vars(base).values():
            if isinstance(value, staticmethod):
                value = value.__func__
            elif isinstance(value, property):
                value = value.fget
            if isinstance(value, (DeviceFunction, KernelFunction)):
                return True
    return False


def is_functor(value: Any) -> bool:
    """Whether a value is an object with ``@amp.func`` or ``@amp.kernel`` methods, or a method with its object.

    A method that is passed on its own needs no decorator, as functions do not.
    """
    if isinstance(value, MethodType):
        is_function = isinstance(value.__func__, DeviceFunction)
        return is_functor(value.__self__) if is_function else _is_plain_method(value)
    if isinstance(value, _NO_FUNCTORS):
        return False
    cls: Any = type(value)
    return _has_device_methods(cls)


@lru_cache(maxsize=1024)
def slots_of_functor(cls: Any) -> tuple[str, ...] | None:
    """The names of the members of a class's objects if these are functors and have no others; else ``None``."""
    if issubclass(cls, _NO_FUNCTORS) or cls.__dictoffset__ or not _has_device_methods(cls):
        return None
    return _slots_of(cls)


def _is_plain_method(value: MethodType) -> bool:
    """Whether a value is a method without a decorator of an object of a program's own class."""
    module = type(value.__self__).__module__.partition(".")[0]
    is_object = not isinstance(value.__self__, (type, ModuleType, np.generic, np.ndarray))
    return type(value.__func__) is FunctionType and is_object and module not in _LIBRARIES


def function_of(method: MethodType) -> Any:
    """The ``@amp.func`` of a method with its object."""
    function: Any = method.__func__
    return function if isinstance(function, DeviceFunction) else _device_function(function)


@lru_cache(maxsize=1024)
def _device_function(function: FunctionType) -> Any:
    """A function of a class as an ``@amp.func``, always the same one, so that it is one program."""
    return DeviceFunction(function)


def members_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values of an object's own members."""
    cls: Any = type(value)
    names = _slots_of(cls)
    if hasattr(value, "__dict__"):
        names = tuple(dict.fromkeys((*names, *value.__dict__)))
    for name in names:
        if hasattr(value, name):
            yield name, getattr(value, name)


@lru_cache(maxsize=1024)
def _slots_of(cls: type) -> tuple[str, ...]:
    """The names of the slots of a class and its bases."""
    # By the descriptors: the names in `__slots__` lack the class's name before private ones.
    members = [vars(base).items() for base in cls.__mro__]
    names = [name for each in members for name, member in each if type(member) is MemberDescriptorType]
    return tuple(dict.fromkeys(names))
