"""Faults of drivers: one row each, asked for by name.

``tests/run/test_workarounds.py`` has a program for every row that names no other test: it is right with the workaround
and wrong without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from vkamp.artifacts import Quirk
from vkamp.run.engine import DeviceInfo

_LAVAPIPE, _SWIFTSHADER, _NVIDIA = "llvmpipe", "swiftshader", "nvidia"


@dataclass(frozen=True)
class Workaround:
    """``drivers``: parts, in lower case, of the names of the devices that have the fault, separated by spaces.
    ``fault``: what they do. ``remedy``: what vkamp does instead; empty: kernels see the fault. ``ability``: what the
    mark ``vkamp_requires`` calls what they lack. ``mended``: the first major version of Mesa without the fault.
    ``engine``: the engine that cannot avoid the fault; ``None``: none can. ``test``: what shows it.
    """

    name: str
    drivers: str
    fault: str
    remedy: str
    ability: str = ""
    mended: int | None = None
    engine: str | None = None
    test: str = ""

    def concerns(self, info: DeviceInfo) -> bool:
        """Whether a device has the fault, as its name and its driver's version say."""
        if not any(driver in info.name.lower() for driver in self.drivers.split()):
            return False
        version = re.search(r"Mesa (\d+)", info.driver)
        is_mended = self.mended is not None and version is not None and int(version[1]) >= self.mended
        return not is_mended and self.engine in (None, info.engine)


WORKAROUNDS = (
    Workaround(
        "fences_wait",
        _LAVAPIPE,
        "makes a barrier() of every memory barrier that reaches beyond a subgroup",
        "fences that do not wait have a subgroup's scope",
        mended=24,
    ),
    Workaround(
        "ends_loops",
        _LAVAPIPE,
        "ends all loops of a thread after 65,535 iterations in all",
        "threads run as loops only where the iterations are known to be fewer",
        ability="long_loops",
    ),
    Workaround(
        "absent_lanes",
        _LAVAPIPE,
        "runs loops in lanes without a thread, where a tile's rows do not fill its vectors: they wait at barriers "
        "alone, and use up iterations",
        "the conditions of loops are false in such lanes",
    ),
    Workaround(
        "broadcast_floats",
        _LAVAPIPE,
        "ends the process where subgroupBroadcastFirst of a float becomes an integer",
        "lane 0 is broadcast, by its number",
    ),
    Workaround(
        "unsigned_to_float",
        _SWIFTSHADER,
        "rounds a uint32 from 2^31 on wrongly when it becomes a float32",
        "the conversion goes through int32",
    ),
    Workaround(
        "counted_paths",
        _SWIFTSHADER,
        "takes twice as long to compile a loop for each if with an else in it",
        "the SPIR-V has one side after the other, or computes both and chooses",
    ),
    Workaround(
        "unchecked_bounds",
        _SWIFTSHADER,
        "ends the process at an access far out of bounds: Kompute cannot switch on the driver's checks",
        "the SPIR-V limits subscripts of buffers",
        engine="kompute",
    ),
    Workaround(
        "unchecked_atomics",
        _SWIFTSHADER,
        "ends the process at an atomic operation far out of bounds, which its checks leave out",
        "the SPIR-V limits subscripts of atomic operations on buffers",
        engine="vulkan",
    ),
    Workaround(
        "loops_in_a_row",
        _LAVAPIPE,
        "takes long to compile many loops one after the other, and long ones that it takes apart",
        "groups of five are in a loop that runs once, and long loops have an end that the driver does not know",
    ),
    Workaround(
        "early_exits",
        _LAVAPIPE,
        "leaves a loop too early where a condition of break or return would hold before the first iteration's changes",
        "such conditions are compared with a value that the compiler does not know",
    ),
    Workaround(
        "merged_branches",
        _LAVAPIPE,
        "makes one branch of two on one condition with only a barrier of a subgroup between them",
        "a barrier of the tile is between branches",
    ),
    Workaround(
        "widened_comparisons",
        _LAVAPIPE,
        "gets < and >= of an int32 that was widened to int64 and a constant wrong",
        "the int64 is put together of two words",
    ),
    Workaround(
        "halved_magnitudes",
        _LAVAPIPE,
        "takes abs(abs(x) >> n) for abs(x) >> n, which is negative for the least number",
        "abs of an integer is a comparison and a negation",
    ),
    Workaround(
        "float_round_trips",
        _LAVAPIPE,
        "takes int(float(n)) for n, and float(int(x)) for trunc(x), in precise shaders, too",
        "conversions of floats to integers hide their operand and result from the compiler",
    ),
    Workaround(
        "zero_constants",
        _LAVAPIPE,
        "takes x + 0.0 for x, 0.0 - x for -x and x * 0.0 for 0.0, in precise shaders, too",
        "precise kernels have zeros that the compiler does not know",
    ),
    Workaround(
        "private_arrays",
        _SWIFTSHADER,
        "keeps private arrays on the stack, four threads side by side, and ends the process at 512 KiB",
        "kernels with more than 120,000 bytes of them are refused",
        test="tests/kernel_language/test_large_private.py",
    ),
    Workaround(
        "unlisted_imports",
        _SWIFTSHADER,
        "does not say that it imports the host's memory, although it does",
        "the import is tried",
        engine="vulkan",
        test="tests/run/test_host_memory.py",
    ),
    Workaround(
        "nested_choices",
        _LAVAPIPE,
        "loses choices that are nested more than 80 deep",
        "long chains of choices are trees, on all devices",
        test="tests/conformance/test_section_01_index_space.py",
    ),
    Workaround(
        "negated_quotients",
        _SWIFTSHADER,
        "takes -(c / x) for -c / x, and -(x / c) for x / -c",
        "kernels that divide and name the least integer hide it, on all devices",
        test="tests/fuzz/test_found.py",
    ),
    Workaround(
        "remainders_of_one",
        _SWIFTSHADER,
        "gives 0 for ivec2(5) | (x % 1)",
        "divisions by 1 are left out, on all devices",
        test="tests/fuzz/test_found.py",
    ),
    Workaround(
        "halves_and_back",
        _NVIDIA,
        "leaves out the conversion of a float to float16 and back",
        "the conversion goes through bits, on all devices",
        test="tests/kernel_language/test_pieces.py",
    ),
    Workaround(
        "denormals",
        f"{_SWIFTSHADER} {_NVIDIA}",
        "flushes denormal numbers to 0",
        "",
        ability="denormals",
        test="tests/testing/test_traps.py",
    ),
    Workaround(
        "zero_products",
        f"{_LAVAPIPE} {_SWIFTSHADER} {_NVIDIA}",
        "takes x * 0.0 for 0.0 if x is negative, infinite or NaN, too",
        "",
        ability="zero_products",
        test="tests/testing/test_traps.py",
    ),
)
#: The names that the compiler asks for.
_COMPILER = frozenset(get_args(Quirk))


def faults_of(info: DeviceInfo) -> list[Workaround]:
    """The faults that a device has."""
    return [row for row in WORKAROUNDS if row.concerns(info)]


def traps_of(info: DeviceInfo) -> dict[str, str]:
    """The abilities that a device lacks by its faults, and what it does instead."""
    return {row.ability: row.fault for row in faults_of(info) if row.ability}


def quirks_of(info: DeviceInfo) -> frozenset[Quirk]:
    """The names of the faults that a device has and the compiler works around."""
    return frozenset(row.name for row in faults_of(info) if row.name in _COMPILER)  # type: ignore[misc]


def has_quirk(info: DeviceInfo, name: str) -> bool:
    """Whether a device has the fault of this name."""
    return any(row.name == name for row in faults_of(info))


def max_iterations(info: DeviceInfo) -> int | None:
    """The iterations of all loops of an invocation after which the driver ends them; ``None``: it does not."""
    return 65535 if has_quirk(info, "ends_loops") else None


def max_unrolled(info: DeviceInfo) -> int | None:
    """The statements that the driver may be asked to unroll loops to; ``None``: as many as a program has.

    The CPU drivers leave loops around other loops as they are, and lavapipe counts their iterations then. SwiftShader
    takes 0.3 s for so many statements, 3 s for eight times as many, and a tenth of that for the copies.
    """
    if info.kind != "cpu":
        return None
    return 1 << 14 if has_quirk(info, "ends_loops") else 128


def max_private_bytes(info: DeviceInfo) -> int | None:
    """The bytes of private arrays that a thread may have; ``None``: as many as a program has."""
    return 120_000 if has_quirk(info, "private_arrays") else None


def max_in_piece(info: DeviceInfo) -> int:
    """The neighbouring elements that a thread of a plain kernel may have at most.

    On the CPU drivers more than four take longer to compile than they save.
    """
    return 4 if info.kind == "cpu" else 16
