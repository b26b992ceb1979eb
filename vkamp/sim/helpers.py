"""What the generated code calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from vkamp.ir.types import Scalar, int_range
from vkamp.sim.claims import Claims
from vkamp.sim.faults import NOWHERE, Judge, Thread
from vkamp.sim.memory import KernelArray, Layout, nothing
from vkamp.sim.output import Output, debugger
from vkamp.sim.shadow import Clock

__all__ = ["helpers"]


def _tdiv(left: int, right: int) -> int:
    """Integer division as C does it."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _trem(left: int, right: int) -> int:
    """The remainder as C does it: signed as the dividend."""
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _steps(start: int, stop: int, step: int) -> Iterable[int]:
    """``range`` in which a step of 0 gives no iteration."""
    return range(start, stop, step) if step else ()


def _store(value: Any, words: list[Any], word: int) -> None:
    words[word] = value


def _part(words: list[Any], word: int, count: int, layout: Layout) -> list[Any]:
    return words[word : word + count]


def _put(words: list[Any], word: int, value: list[Any]) -> None:
    words[word : word + len(value)] = value


def _pick(words: list[Any], word: int, layout: Layout) -> list[Any]:
    return [words[word + offset] for offset, _ in layout]


def _place_parts(words: list[Any], word: int, layout: Layout, value: list[Any]) -> None:
    for (offset, _), part in zip(layout, value, strict=True):
        words[word + offset] = part


def _all_set(
    judge: Judge,
    thread: Thread,
    site: int,
    word: int,
    layout: Layout,
    value: list[Any],
    array: KernelArray | None = None,
) -> list[Any]:
    """The components of a vector, all of which something wrote."""
    for (offset, _), part in zip(layout, value, strict=True):
        if part is None:
            judge.unset(thread, site, word + offset, array)
    return value


def _same(left: list[Any], right: list[Any]) -> bool:
    """Whether two vectors are equal; NaN is not, not even the very same."""
    return all(bool(a == b) for a, b in zip(left, right, strict=True))


def _truncated(judge: Judge, target: Scalar, thread: Thread, site: int, value: np.float32) -> int:
    """A float as an integer; one that has no value there is undefined in C, and an error here."""
    low, high = int_range(target)
    # As Python floats, for which the limits are exact.
    if not low - 1 < float(value) < high + 1:
        return judge.conversion(thread, site, value, target.name)
    return int(value)


def _float_bits(value: Any) -> np.float32:
    """The bits of a scalar as a float."""
    return value if isinstance(value, np.float32) else np.float32(np.uint32(value & 0xFFFFFFFF).view(np.float32))


def _uint_bits(value: Any) -> int:
    """The bits of a scalar as an unsigned integer."""
    return int(value.view(np.uint32)) if isinstance(value, np.float32) else value & 0xFFFFFFFF


def _int_bits(value: Any) -> int:
    """The bits of a scalar as a signed integer."""
    return (_uint_bits(value) + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def helpers(judge: Judge, clock: Clock, claims: Claims, output: Output) -> dict[str, Any]:
    """The helpers by the names that the generated code has for them."""
    signed, unsigned = Scalar("int32", "int", 32), Scalar("uint32", "uint", 32)
    return {
        "_bad": judge.index,
        "_unset": judge.unset,
        "_div0": judge.division,
        "_shift": judge.shift,
        "_claim": judge.claim,
        "_uniform": claims.judge,
        "_fell": judge.fell,
        "_fence": clock.fence,
        "_to_int": partial(_truncated, judge, signed),
        "_to_uint": partial(_truncated, judge, unsigned),
        "_bits_f": _float_bits,
        "_bits_u": _uint_bits,
        "_bits_i": _int_bits,
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
        "_private": KernelArray,
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
        "_float32": np.float32,
    }
