"""The door to the compiler."""

from __future__ import annotations

from typing import Any


def compiler_module() -> Any:
    """:mod:`vkamp.pipeline.compiler`, loaded by the first kernel that is compiled: a process whose kernels are all kept
    on disk starts without it.
    """
    from vkamp.pipeline import compiler

    return compiler
