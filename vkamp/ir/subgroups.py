"""The table of subgroup functions: one row per function, read by every room.

A subgroup is a part of a tile whose threads run together on the device and can exchange values without memory.  C++
AMP has no such thing; the rows are those of GLSL's ``GL_KHR_shader_subgroup_*``, with the meaning that
docs/subgroups.md states: all threads of a subgroup call a function together, so that none of them is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from vkamp.records import dataclass

Operation = Literal["basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative"]
#: What a device may support, in the order of the bits of VkSubgroupFeatureFlags; each has an extension of GLSL.
OPERATIONS: tuple[Operation, ...] = ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative")

#: Who gets the same: all threads of a tile, of a subgroup, those who give the same arguments; or each thread its own.
Uniform = Literal["tile", "subgroup", "arguments", "thread"]

#: A parameter: the value (of one of the row's types), a predicate, a lane, a lane that is the same for the whole
#: subgroup, a number (of lanes, or a mask of their bits) that is, too, a ballot (uint4).
Param = Literal["value", "predicate", "lane", "common lane", "distance", "ballot"]
#: Those that are the same for all threads of a subgroup.
COMMON: tuple[Param, ...] = ("common lane", "distance")

_NUMBERS = ("int32", "uint32", "float32", "int64", "uint64", "float64")
_ANY = (*_NUMBERS, "bool")

IndexKind = Literal["size", "count", "id", "lane"]


@dataclass(frozen=True)
class IndexRow:
    """A property of its subgroup that a thread knows without the other threads; an int32."""

    name: IndexKind
    glsl: str
    uniform: Uniform
    doc: str


#: By name.
INDICES: dict[str, IndexRow] = {
    row.name: row
    for row in (
        IndexRow("size", "int(gl_SubgroupSize)", "tile", "The lanes of a subgroup on this device."),
        IndexRow("count", "int(gl_NumSubgroups)", "tile", "The number of subgroups in the tile."),
        IndexRow("id", "int(gl_SubgroupID)", "subgroup", "Which of the tile's subgroups the thread is in, from 0."),
        IndexRow("lane", "int(gl_SubgroupInvocationID)", "thread", "The thread's lane in its subgroup, from 0."),
    )
}


@dataclass(frozen=True)
class SubgroupRow:
    """A function that the threads of a subgroup call together.

    ``types``: of the value; ``result``: a type's name, or ``value`` for the value's.  ``glsl``: a format string over
    the arguments.  ``needs``: the operations that the device must support.  ``reference``: what the threads get for
    what they give (the arguments of each, in the order of the lanes; the value's type; the size of a subgroup); of a
    shuffle instead ``source``: the lane whose value a thread gets, of its own lane, its operand and the size.
    ``samples``: the second operands of the test that compares each row on a device with its reference.
    ``for_constant``: the GLSL and the operations that are enough where the last argument is a constant.
    """

    name: str
    params: tuple[Param, ...]
    types: tuple[str, ...]
    result: str
    glsl: str
    needs: tuple[Operation, ...]
    uniform: Uniform
    doc: str
    reference: Callable[[Sequence[tuple[Any, ...]], str, int], Sequence[Any]] | None = None
    source: Callable[[int, int, int], int] | None = None
    samples: tuple[int, ...] = ()
    helper: str = ""
    for_constant: tuple[str, tuple[Operation, ...]] | None = None

    @property
    def moves(self) -> bool:
        """Whether it computes nothing: threads get a value that another one gives."""
        return self.result == "value" and self.types == _ANY

    @property
    def is_sum(self) -> bool:
        """Whether the result is a sum, which is formed by parts of a complex number."""
        return self.name.endswith("add")

    def form(self, *, is_constant: bool) -> tuple[str, tuple[Operation, ...]]:
        """The GLSL and the operations of a call; ``is_constant``: its last argument is one."""
        if is_constant and self.for_constant is not None:
            return self.for_constant
        return self.glsl, self.needs


# -- reductions and scans ------------------------------------------------------------------------------------------

_UNSIGNED_MAX = {"uint32": 2**32 - 1, "uint64": 2**64 - 1}
_FLOATS: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
_NO_BITS = {"int32": 0, "uint32": 0, "int64": 0, "uint64": 0}
_ALL_BITS = {"int32": -1, "int64": -1, **_UNSIGNED_MAX}
_ZERO = {**_NO_BITS, **dict.fromkeys(_FLOATS, 0.0)}
_ONE = {**dict.fromkeys(_NO_BITS, 1), **dict.fromkeys(_FLOATS, 1.0)}
_LARGEST = {"int32": 2**31 - 1, "int64": 2**63 - 1, **_UNSIGNED_MAX, **dict.fromkeys(_FLOATS, np.inf)}
_SMALLEST = {"int32": -(2**31), "int64": -(2**63), "uint32": 0, "uint64": 0, **dict.fromkeys(_FLOATS, -np.inf)}


def _scanned(given: Sequence[tuple[Any, ...]], combine: Callable[[Any, Any], Any]) -> list[Any]:
    results = [given[0][0]]
    for (value,) in given[1:]:
        results.append(combine(results[-1], value))
    return results


def _combination(
    name: str,
    glsl: str,
    combine: Callable[[Any, Any], Any],
    neutral: dict[str, Any],
    what: str,
    first: str,
) -> list[SubgroupRow]:
    """The reduction and the two scans of an operation; ``neutral`` is the value that changes no other."""

    def reduction(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
        return [_scanned(given, combine)[-1]] * len(given)

    def inclusive(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
        return _scanned(given, combine)

    def exclusive(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
        start = _FLOATS[kind](neutral[kind]) if kind in _FLOATS else neutral[kind]
        return [start, *_scanned(given, combine)[:-1]]

    def row(prefix: str, title: str, uniform: Uniform, doc: str, reference: Any) -> SubgroupRow:
        text = f"subgroup{title}{glsl}({{0}})"
        kinds = tuple(neutral)
        return SubgroupRow(
            f"{prefix}{name}", ("value",), kinds, "value", text, ("arithmetic",), uniform, doc, reference
        )

    return [
        row("", "", "subgroup", f"{what} of the subgroup's values.", reduction),
        row("inclusive_", "Inclusive", "thread", f"{what} of the values up to this lane's own.", inclusive),
        row(
            "exclusive_",
            "Exclusive",
            "thread",
            f"{what} of the values before this lane's; {first} in lane 0.",
            exclusive,
        ),
    ]


def _number_wins(
    of_floats: Callable[[Any, Any], Any], of_integers: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """``np.fmin`` and ``np.fmax`` of floats, which would compare large integers as floats."""
    return lambda a, b: of_floats(a, b) if isinstance(a, np.floating) else of_integers(a, b)


# -- shuffles ------------------------------------------------------------------------------------------------------

#: Beyond the subgroup's ends a thread keeps its own value; all threads call the shuffle, so that none is missing there.
#: The distance is ``delta``, or what the driver needs instead.
_UP = """\
{kind} shuffle_up({kind} value, uint delta) {{
    {kind} moved = subgroupShuffleUp(value, {distance});
    return gl_SubgroupInvocationID >= delta ? moved : value;
}}
"""
_DOWN = """\
{kind} shuffle_down({kind} value, uint delta) {{
    {kind} moved = subgroupShuffleDown(value, delta);
    return delta < gl_SubgroupSize - gl_SubgroupInvocationID ? moved : value;
}}
"""


def _shuffle(
    name: str,
    param: Param,
    glsl: str,
    needs: tuple[Operation, ...],
    source: Callable[[int, int, int], int],
    doc: str,
    samples: tuple[int, ...],
    helper: str = "",
    for_constant: tuple[str, tuple[Operation, ...]] | None = None,
) -> SubgroupRow:
    uniform: Uniform = "subgroup" if param == "common lane" else "thread"
    params: tuple[Param, ...] = ("value", param)
    return SubgroupRow(
        name, params, _ANY, "value", glsl, needs, uniform, doc, source=source, samples=samples, helper=helper,
        for_constant=for_constant,
    )  # fmt: skip


# -- votes and ballots ---------------------------------------------------------------------------------------------


def _every(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
    return [all(p for (p,) in given)] * len(given)


def _some(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
    return [any(p for (p,) in given)] * len(given)


def _elected(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
    return [lane == 0 for lane in range(len(given))]


def _first(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
    return [given[0][0]] * len(given)


def _ballot(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
    bits = sum(bool(p) << lane for lane, (p,) in enumerate(given))
    return [[bits >> 32 * k & 0xFFFFFFFF for k in range(4)] for _ in given]


def _bit_count(up_to: Callable[[int, int], int]) -> Callable[[Sequence[tuple[Any, ...]], str, int], Sequence[Any]]:
    """The bits of a ballot that are set on the lanes below ``up_to(lane, size)``."""

    def reference(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
        wholes = [sum(int(word) << 32 * k for k, word in enumerate(ballot)) for (ballot,) in given]
        return [bin(bits & (1 << up_to(lane, size)) - 1).count("1") for lane, bits in enumerate(wholes)]

    return reference


def _position(of: Callable[[int], int]) -> Callable[[Sequence[tuple[Any, ...]], str, int], Sequence[Any]]:
    """The lane that ``of`` picks in a ballot, as an integer of its bits."""

    def reference(given: Sequence[tuple[Any, ...]], kind: str, size: int) -> Sequence[Any]:
        return [of(sum(int(word) << 32 * k for k, word in enumerate(ballot))) for (ballot,) in given]

    return reference


_FIND_LSB = """\
{kind} ballot_find_lsb(uvec4 bits) {{
    return bits == uvec4(0u) ? -1 : int(subgroupBallotFindLSB(bits));
}}
"""
_FIND_MSB = """\
{kind} ballot_find_msb(uvec4 bits) {{
    return bits == uvec4(0u) ? -1 : int(subgroupBallotFindMSB(bits));
}}
"""


def _finds(name: str, doc: str, of: Callable[[int], int], helper: str) -> SubgroupRow:
    return SubgroupRow(
        name, ("ballot",), (), "int32", f"{name}({{0}})", ("ballot",), "arguments", doc, _position(of), helper=helper
    )


def _counts(name: str, title: str, uniform: Uniform, doc: str, up_to: Callable[[int, int], int]) -> SubgroupRow:
    text = f"int(subgroupBallot{title}({{0}}))"
    return SubgroupRow(name, ("ballot",), (), "int32", text, ("ballot",), uniform, doc, _bit_count(up_to))


_P: tuple[Param, ...] = ("predicate",)

_ROWS = (
    *_combination("add", "Add", lambda a, b: a + b, _ZERO, "The sum", "0"),
    *_combination("mul", "Mul", lambda a, b: a * b, _ONE, "The product", "1"),
    *_combination("min", "Min", _number_wins(np.fmin, min), _LARGEST, "The smallest", "the type's largest"),
    *_combination("max", "Max", _number_wins(np.fmax, max), _SMALLEST, "The largest", "the type's smallest"),
    *_combination("bitwise_and", "And", lambda a, b: a & b, _ALL_BITS, "The bitwise and", "all bits"),
    *_combination("bitwise_or", "Or", lambda a, b: a | b, _NO_BITS, "The bitwise or", "0"),
    *_combination("bitwise_xor", "Xor", lambda a, b: a ^ b, _NO_BITS, "The bitwise exclusive or", "0"),
    SubgroupRow("all", _P, (), "bool", "subgroupAll({0})", ("vote",), "subgroup",
                "Whether the predicate holds in every thread.", _every),
    SubgroupRow("any", _P, (), "bool", "subgroupAny({0})", ("vote",), "subgroup",
                "Whether the predicate holds in some thread.", _some),
    SubgroupRow("elect", (), (), "bool", "subgroupElect()", ("basic",), "thread",
                "True in one thread of the subgroup: that of lane 0.", _elected),
    SubgroupRow("ballot", _P, (), "uint4", "subgroupBallot({0})", ("ballot",), "subgroup",
                "A bit for each lane, set where the predicate holds: lane i is bit i % 32 of component i // 32.",
                _ballot),
    _counts("ballot_bit_count", "BitCount", "arguments", "The number of bits set in a ballot.",
            lambda lane, size: size),
    _counts("ballot_inclusive_bit_count", "InclusiveBitCount", "thread",
            "The number of bits set in a ballot up to this lane's own.", lambda lane, size: lane + 1),
    _counts("ballot_exclusive_bit_count", "ExclusiveBitCount", "thread",
            "The number of bits set in a ballot before this lane's.", lambda lane, size: lane),
    _finds("ballot_find_lsb", "The lowest lane whose bit is set in a ballot; -1 if none is.",
           lambda bits: (bits & -bits).bit_length() - 1, _FIND_LSB),
    _finds("ballot_find_msb", "The highest lane whose bit is set in a ballot; -1 if none is.",
           lambda bits: bits.bit_length() - 1, _FIND_MSB),
    SubgroupRow("broadcast_first", ("value",), _ANY, "value", "subgroupBroadcastFirst({0})", ("ballot",), "subgroup",
                "The value of lane 0.", _first),
    _shuffle("broadcast", "common lane", "subgroupShuffle({0}, {1})", ("shuffle",), lambda lane, of, size: of,
             "The value of a lane that is the same for the whole subgroup.", (0, 1),
             for_constant=("subgroupBroadcast({0}, {1})", ("ballot",))),
    _shuffle("shuffle", "lane", "subgroupShuffle({0}, {1})", ("shuffle",),
             lambda lane, of, size: of, "The value of a lane that each thread chooses.", (0, 2)),
    _shuffle("shuffle_xor", "distance", "subgroupShuffleXor({0}, {1})", ("shuffle",),
             lambda lane, mask, size: lane ^ mask, "The value of the lane whose number is this lane's xor a mask.",
             (1, 2, 3)),
    _shuffle("shuffle_up", "distance", "shuffle_up({0}, {1})", ("basic", "shuffle_relative"),
             lambda lane, delta, size: lane - delta if lane >= delta else lane,
             "The value of the lane delta below; the lane's own value where there is none.", (1, 3, 100), _UP),
    _shuffle("shuffle_down", "distance", "shuffle_down({0}, {1})", ("basic", "shuffle_relative"),
             lambda lane, delta, size: lane + delta if lane + delta < size else lane,
             "The value of the lane delta above; the lane's own value where there is none.",
             (1, 3, 100), _DOWN),
)  # fmt: skip

#: By name.
SUBGROUPS: dict[str, SubgroupRow] = {row.name: row for row in _ROWS}
