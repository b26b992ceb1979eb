"""Every public name is documented and typed, and the examples in docstrings give what they show."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import vkamp as amp

LIBRARIES = ("algorithms", "algorithms.stl", "blas", "fft", "linalg", "rng", "tile")
MODULES = sorted(module.name for module in pkgutil.walk_packages(amp.__path__, "vkamp."))


def public() -> Iterator[tuple[str, Any]]:
    """The package's public names, and the public members of its classes."""
    for name in amp.__all__:
        thing = getattr(amp, name)
        if not getattr(thing, "__module__", "vkamp").startswith("vkamp"):
            continue  # numpy's types
        yield name, thing
        for owner in inspect.getmro(thing) if inspect.isclass(thing) else ():
            if owner.__module__.startswith("vkamp"):
                yield from ((f"{name}.{m}", v) for m, v in vars(owner).items() if not m.startswith("_"))


def own_functions() -> Iterator[tuple[str, Any]]:
    """The functions, methods and properties among them."""
    for name, thing in public():
        thing = thing.fget if isinstance(thing, property) else inspect.unwrap(getattr(thing, "__func__", thing))
        if inspect.isfunction(thing):
            yield name, thing


def test_every_public_name_is_there():
    assert [name for name in amp.__all__ if not hasattr(amp, name)] == []


def test_everything_public_has_a_docstring():
    documented = [(name, thing) for name, thing in public() if callable(thing) or isinstance(thing, property)]
    assert len(documented) > 200
    assert [name for name, thing in documented if not inspect.getdoc(thing)] == []


def test_everything_public_has_type_hints():
    missing = []
    for name, function in own_functions():
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        bare = [p.name for p in parameters if p.annotation is p.empty]
        if bare or signature.return_annotation is signature.empty:
            missing.append(f"{name}({', '.join(bare)})")
    assert missing == []


def test_signatures_and_sources_are_found():
    """As ``help`` and editors do it, through all wrappers."""
    libraries = [importlib.import_module(f"vkamp.{name}") for name in LIBRARIES]
    functions = [thing for each in libraries for name, thing in vars(each).items() if inspect.isfunction(thing)]
    assert len(functions) > 200
    for function in functions:
        assert not {"args", "named", "given"} & inspect.signature(function).parameters.keys(), function
        assert "def " in inspect.getsource(function)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0
