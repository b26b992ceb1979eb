"""A wrong and a right program for each error's code, as ``vkamp explain`` shows them; the suite compiles all."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True)
class Example:
    """Two kernels: one that has the error, one that has not."""

    wrong: str
    right: str


EXAMPLES: dict[str, Example] = {}
