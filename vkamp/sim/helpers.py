"""The functions that the generated code calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from vkamp.ir.types import NUMBERS, SCALARS, Scalar, int_range
from vkamp.sim.faults import NOWHERE, FaultReporter, Thread
from vkamp.sim.matrices import mul_add
from vkamp.sim.memory import LETTERS, ZEROS, KernelArray, Layout, nothing
from vkamp.sim.output import LaunchOutput, debugger
from vkamp.sim.shadow import Clock
from vkamp.sim.uniform_asserts import UniformAsserts


def _tdiv(left: int, right: int) -> int:
    """Integer division as in C."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _trem(left: int, right: int) -> int:
    """The remainder as in C, with the sign of the dividend."""
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _steps(start: int, stop: int, step: int) -> Iterable[int]:
    """``range``, but a step of 0 gives no iterations."""
    return range(start, stop, step) if step else ()


# An address out of bounds is NOWHERE: a load from it gives zeros, and a store to it is omitted.


def _store(value: Any, words: list[Any], word: int) -> None:
    if word is not NOWHERE:
        words[word] = value


def _part(words: list[Any], word: int, count: int, layout: Layout) -> list[Any]:
    return nothing(layout, count) if word is NOWHERE else words[word : word + count]


def _put(words: list[Any], word: int, value: list[Any]) -> None:
    if word is not NOWHERE:
        words[word : word + len(value)] = value


def _pick(words: list[Any], word: int, layout: Layout) -> list[Any]:
    if word is NOWHERE:
        return [ZEROS[letter] for _, letter in layout]
    return [words[word + offset] for offset, _ in layout]


def _place_parts(words: list[Any], word: int, layout: Layout, value: list[Any]) -> None:
    if word is not NOWHERE:
        for (offset, _), part in zip(layout, value, strict=True):
            words[word + offset] = part


def _all_set(
    judge: FaultReporter,
    thread: Thread,
    site: int,
    word: int,
    layout: Layout,
    value: list[Any],
    array: KernelArray | None = None,
) -> list[Any]:
    """The components of a vector; components that were not written are reported, and are zero."""
    for k, (offset, letter) in enumerate(layout):
        if value[k] is None:
            judge.unset(thread, site, word + offset, array)
            value[k] = ZEROS[letter]
    return value


def _same(left: list[Any], right: list[Any]) -> bool:
    """Whether two vectors are equal; NaN is not equal to itself."""
    return all(bool(a == b) for a, b in zip(left, right, strict=True))


def _each(judge: Callable[[Thread, int, int], int], thread: Thread, site: int, word: int, count: int) -> int:
    """The first word of a scalar of several words, all of which are checked."""
    for more in range(1, count):
        judge(thread, site, word + more)
    return judge(thread, site, word)


def _truncated(judge: FaultReporter, target: Scalar, thread: Thread, site: int, value: Any) -> int:
    """A float as an integer; if the integer type cannot hold it, the result is undefined in C, and an error here."""
    low, high = int_range(target)
    # This is exact, since Python compares floats with integers exactly.
    number = float(value)
    if not low - 1 < number < high + 1:
        return judge.conversion(thread, site, value, target.name)
    return int(number)


def _bits(target: Scalar, value: Any) -> Any:
    """The bits of a scalar as another type of the same size."""
    unsigned = np.dtype(f"uint{target.bits}").type
    mask = (1 << target.bits) - 1
    number = int(value.view(unsigned)) if isinstance(value, np.generic) else value & mask
    if target.kind == "float":
        return unsigned(number).view(target.dtype)
    return number - (mask + 1) if target.kind == "int" and number >> (target.bits - 1) else number


def _rounded(source: Scalar, target: Scalar, value: int) -> Any:
    """A 64-bit integer as a float, rounded once."""
    return source.dtype.type(value).astype(target.dtype)


def _in_memory(target: Scalar, value: Any) -> Any:
    """A number as a float that only memory has."""
    return target.dtype.type(value)


def _conversions(judge: FaultReporter) -> dict[str, Any]:
    """Conversions between scalar types, and the bits of one as another."""
    numbers = NUMBERS.values()
    out: dict[str, Any] = {f"_bits_{LETTERS[kind.name]}": partial(_bits, kind) for kind in numbers}
    integers = [kind for kind in numbers if kind.is_integer]
    out |= {f"_to_{kind.name}": partial(_truncated, judge, kind) for kind in integers}
    for target in (kind for kind in numbers if kind.kind == "float"):
        # A type that only memory has may need a package that is not installed.
        out[f"_{target.name}"] = target.dtype.type if target.name in SCALARS else partial(_in_memory, target)
        out |= {f"_{target.name}_of_{k.name}": partial(_rounded, k, target) for k in integers if k.bits == 64}
    return out


def helpers(judge: FaultReporter, clock: Clock, uniform: UniformAsserts, output: LaunchOutput) -> dict[str, Any]:
    """The helpers by their names in the generated code."""
    return {
        **_conversions(judge),
        "_bad": judge.index,
        "_unset": judge.unset,
        "_div0": judge.division,
        "_shift": judge.shift,
        "_failed": judge.assertion_failed,
        "_uniform": uniform.judge,
        "_fell": judge.fell,
        "_fence": clock.fence,
        "_each": _each,
        "_tdiv": _tdiv,
        "_trem": _trem,
        "_steps": _steps,
        "_nowhere": NOWHERE,
        "_nothing": nothing,
        "_store": _store,
        "_part": _part,
        "_put": _put,
        "_pick": _pick,
        "_place": _place_parts,
        "_set": partial(_all_set, judge),
        "_same": _same,
        "_private": partial(KernelArray, unit=judge.unit),
        "_mul_add": partial(mul_add, judge.unit),
        "_print": output.print,
        "_stop": debugger(),
        "_acts": output.acts,
        "_at": output.at,
        "_show": output.value,
        "_kept": output.kept,
        "_pending": output.pending_value,
        "_stored": output.stored,
        "_range": range,
        "_int": int,
        "_bool": bool,
    }
