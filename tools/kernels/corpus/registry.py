"""The corpus: faulty kernels, each with its corrected twin, and which part of vkamp must report the fault.

A pair is two kernels one after the other: ``@faulty(...)`` on the first says what is wrong, ``@mended`` stands on the
second, which has the same name without ``_wrong``.  The comments ``# fault`` and ``# and here`` mark the lines that a
message has to point at; ``# and then`` marks where something else goes wrong in consequence, which a report of all
findings tells too.  Functions that only the faulty kernel calls stand before it, marks in them count too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import vkamp as amp
from numpy.typing import NDArray

__all__ = [
    "CATEGORIES",
    "PAIRS",
    "Expected",
    "Launch",
    "Pair",
    "bounds",
    "divergence",
    "division",
    "failed_assert",
    "faulty",
    "launch",
    "mended",
    "numbers",
    "race",
    "random_floats",
    "random_numbers",
    "shift",
    "uniformity",
    "uninitialised",
    "vain_barrier",
    "zeros",
]

F32, I32, U32 = np.float32, np.int32, np.uint32

CATEGORIES = (
    "write-write",
    "read-write",
    "atomic-plain",
    "same value",
    "between tiles",
    "between threads without tiles",
    "flag between tiles",
    "overlapping views",
    "neighbours in global memory",
    "stencil",
    "missing first barrier",
    "missing second barrier",
    "wrong fence",
    "barrier in vain",
    "reused memory",
    "divergent control flow",
    "divergent value",
    "false claim",
    "out of bounds",
    "uninitialised",
    "division by zero",
    "shift",
    "failed assert",
    "reduction",
    "scan",
    "transpose",
    "sorting",
    "histogram",
    "queue",
    "double buffering",
    "matrix product",
    "convolution",
    "normalisation",
    "compaction",
)

Kind = Literal["race", "bounds", "divergence", "uninitialised", "division", "shift", "assert", "uniformity", "barrier"]


# -- what has to be found, and by whom -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """The finding: its kind, the variable's name, and the code of the compiler's message, if it is the compiler's.

    ``variable`` may be ``"a or b"``: views of one memory, memory and a copy of it, or two of which the order decides.
    ``code`` may be the beginning of one; ``""``: found at run time, by the reference accelerator and by check mode.
    ``on_devices``: whether check mode finds it on every device; else it says there that it cannot look at this.
    """

    kind: Kind
    variable: str
    code: str
    on_devices: bool = True

    @property
    def layer(self) -> Literal["compile", "warning", "check"]:
        """Which part of vkamp must report it."""
        if not self.code:
            return "check"
        return "warning" if self.code in ("VKA620", "VKA640") else "compile"


def race(variable: str, code: str = "") -> Expected:
    """Two threads access an element of ``variable``, and nothing orders them."""
    return Expected("race", variable, code)


def bounds(variable: str, code: str = "") -> Expected:
    """An index outside of ``variable``."""
    return Expected("bounds", variable, code)


def divergence(code: str) -> Expected:
    """A barrier that some threads of the tile miss."""
    return Expected("divergence", "", code)


def uninitialised(variable: str, code: str = "", *, on_devices: bool = True) -> Expected:
    """A read of memory that was not written."""
    return Expected("uninitialised", variable, code, on_devices)


def division(code: str = "") -> Expected:
    """An integer division by zero."""
    return Expected("division", "", code)


def shift(code: str = "") -> Expected:
    """A shift by a negative count, or by 32 or more."""
    return Expected("shift", "", code)


def failed_assert() -> Expected:
    """An assertion that does not hold."""
    return Expected("assert", "", "")


def uniformity() -> Expected:
    """A claim of ``amp.uniform`` that does not hold."""
    return Expected("uniformity", "", "")


def vain_barrier() -> Expected:
    """A barrier that orders nothing: a warning, for the results are right."""
    return Expected("barrier", "", "VKA640")


# -- launches ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Launch:
    """The arguments of both twins, created for each run; ``expect``: results by the position of the argument."""

    domain: Any
    args: tuple[Any, ...]
    expect: Mapping[int, NDArray[Any]]
    constants: Mapping[str, Any]


def launch(domain: Any, *args: Any, expect: Any, **constants: Any) -> Launch:
    """A launch: arrays become views, ``expect`` alone is what the last argument that is a container has to hold."""
    made = tuple(amp.array_view(a) if isinstance(a, np.ndarray) else a for a in args)
    if not isinstance(expect, Mapping):
        last = max(n for n, a in enumerate(made) if isinstance(a, amp.array_view))
        expect = {last: expect}
    return Launch(domain, made, {n: np.asarray(a) for n, a in expect.items()}, constants)


def numbers(*shape: int, dtype: Any = I32) -> NDArray[Any]:
    """0, 1, 2, ... in this shape."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def zeros(*shape: int, dtype: Any = I32) -> NDArray[Any]:
    """Zeros in this shape."""
    return np.zeros(shape, dtype)


def random_numbers(*shape: int, below: int = 100, seed: int = 7) -> NDArray[Any]:
    """Whole numbers from 0, the same in each run."""
    return np.random.default_rng(seed).integers(0, below, shape).astype(I32)


def random_floats(*shape: int, seed: int = 7) -> NDArray[Any]:
    """Small floats of either sign, the same in each run."""
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(F32)


# -- pairs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A faulty kernel and its mended twin.

    ``wrong`` says in a sentence what is wrong.  ``marks`` maps the marked lines of ``file`` to their comments.
    """

    name: str
    category: str
    wrong: str
    expected: Expected
    launch: Callable[[], Launch]
    faulty: Any
    mended: Any
    file: str
    marks: Mapping[int, str]

    def lines(self, *marks: str) -> set[int]:
        """The lines with these marks."""
        return {line for line, text in self.marks.items() if text in marks}


PAIRS: list[Pair] = []

_MARK = re.compile(r"#\s*(fault|and here|and then)\b")
_open: list[tuple[str, str, Expected, Callable[[], Launch], Any]] = []


def faulty(category: str, wrong: str, expected: Expected, make: Callable[[], Launch]) -> Callable[[Any], Any]:
    """Begins a pair: the fault of this kernel, which part of vkamp must report it, and the launch."""

    def begin(kernel: Any) -> Any:
        assert category in CATEGORIES, category
        assert not _open, f"{_open[0][4].__name__} has no mended twin"
        assert kernel.__name__.endswith("_wrong"), kernel.__name__
        _open.append((category, wrong, expected, make, kernel))
        return kernel

    return begin


def mended(kernel: Any) -> Any:
    """Ends a pair: the corrected kernel."""
    category, wrong, expected, make, before = _open.pop()
    name = kernel.__name__
    assert before.__name__ == f"{name}_wrong", f"{name} follows {before.__name__}"
    file = kernel.function.__code__.co_filename
    begin, end = _end_of_last(file), kernel.function.__code__.co_firstlineno
    _, last = _source(before)
    with open(file, encoding="utf-8") as source:
        lines = source.read().splitlines()
    marks = {n: m.group(1) for n in range(begin + 1, end) if (m := _MARK.search(lines[n - 1]))}
    assert begin < last < end and "fault" in marks.values(), f"{before.__name__} has no mark"
    PAIRS.append(Pair(name, category, wrong, expected, make, before, kernel, file, marks))
    return kernel


def _source(kernel: Any) -> tuple[int, int]:
    """The first and last line of a kernel."""
    lines, first = inspect.getsourcelines(kernel.function)
    return first, first + len(lines) - 1


def _end_of_last(file: str) -> int:
    """The line at which the last pair of a file ends."""
    return max((_source(pair.mended)[1] for pair in PAIRS if pair.file == file), default=0)
