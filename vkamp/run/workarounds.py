"""Faults of drivers: one row each, found by name.

``tests/run/test_workarounds.py`` has a program for every row that names no other test. The program is right with the
workaround and wrong without it.
"""

from __future__ import annotations

import functools
import re
from typing import get_args

from vkamp.artifacts import Quirk
from vkamp.records import dataclass
from vkamp.run.engine import DeviceInfo

_LAVAPIPE, _SWIFTSHADER, _NVIDIA = "llvmpipe", "swiftshader", "nvidia"


@dataclass(frozen=True)
class Workaround:
    """``drivers``: lower-case parts, separated by spaces, of the names of the devices that have the fault. ``fault``:
    what these devices do wrong. ``remedy``: what vkamp does instead; if it is empty, kernels see the fault.
    ``ability``: what they lack, by its name for the mark ``vkamp_requires``. ``mended``: the first major version of
    Mesa without the fault. ``test``: the test that demonstrates it.
    """

    name: str
    drivers: str
    fault: str
    remedy: str
    ability: str = ""
    mended: int | None = None
    test: str = ""

    def concerns(self, name: str, driver: str) -> bool:
        """Whether a device of this name has the fault with a version of its driver."""
        if not any(known in name.lower() for known in self.drivers.split()):
            return False
        version = re.search(r"Mesa (\d+)", driver)
        is_mended = self.mended is not None and version is not None and int(version[1]) >= self.mended
        return not is_mended


WORKAROUNDS = (
    Workaround(
        "fences_wait",
        _LAVAPIPE,
        "compiles every memory barrier whose scope exceeds a subgroup as a barrier()",
        "fences that do not wait get subgroup scope",
        mended=24,
    ),
    Workaround(
        "ends_loops",
        _LAVAPIPE,
        "terminates all loops of a thread after 65,535 iterations in total",
        "threads run as loops only where the number of iterations is known to be lower; check mode reports loops that "
        "were terminated",
        ability="long_loops",
    ),
    Workaround(
        "absent_lanes",
        _LAVAPIPE,
        "runs loops in lanes without a thread if a tile's rows do not fill its vectors: these lanes wait alone at "
        "barriers and use up iterations",
        "loop conditions are false in such lanes",
    ),
    Workaround(
        "broadcast_floats",
        _LAVAPIPE,
        "crashes if the result of subgroupBroadcastFirst of a float is converted to an integer",
        "subgroupBroadcast of lane 0 is used",
    ),
    Workaround(
        "distant_lanes",
        _LAVAPIPE,
        "reads 64-bit values of lanes below 0 in subgroupShuffleUp, and crashes with GALLIVM_PERF=nopt on processors "
        "without AVX-512",
        "the distance is at most the number of the lane",
        test="tests/types/test_wide_operations.py",
    ),
    Workaround(
        "truncated_doubles",
        _LAVAPIPE,
        "leaves float64 from 2^24 on unchanged in trunc, and gives 0.0 for -0.5, on processors without AVX-512",
        "floor and ceil compute trunc, on all devices",
        test="tests/types/test_double.py",
    ),
    Workaround(
        "unsigned_to_float",
        _SWIFTSHADER,
        "rounds a uint32 of at least 2^31 wrongly when it converts it to float32",
        "the value is converted through int32",
    ),
    Workaround(
        "counted_paths",
        _SWIFTSHADER,
        "doubles the compile time of a loop for each if with an else in it",
        "the SPIR-V runs one side after the other, or computes both and selects",
    ),
    Workaround(
        "slow_exchanges",
        _SWIFTSHADER,
        "compares the numbers of all lanes in subgroupShuffleXor, by constants, too",
        "a constant distance of 1 to 3 is a subgroupQuadSwap: a product of matrices is 1.5 times as fast",
    ),
    Workaround(
        "unchecked_bounds",
        _SWIFTSHADER,
        "crashes at an access far out of bounds; its checks, which Kompute cannot enable, omit atomic operations",
        "the SPIR-V clamps subscripts of buffers",
    ),
    Workaround(
        "loops_in_a_row",
        _LAVAPIPE,
        "takes long to compile many consecutive loops, and long loops that it unrolls",
        "groups of five loops go into a loop that runs once, and the end of long loops is hidden from the driver",
    ),
    Workaround(
        "early_exits",
        _LAVAPIPE,
        "leaves a loop too early if the condition of a break or return would hold before the first iteration's changes",
        "such conditions are compared with a value that the driver does not know",
    ),
    Workaround(
        "endless_loops",
        f"{_LAVAPIPE} {_SWIFTSHADER}",
        "loses a value that the last iteration of `while True` loads: threads that left the loop load 0 in its place",
        "such loops get a condition that the driver does not know",
    ),
    Workaround(
        "merged_branches",
        _LAVAPIPE,
        "merges two branches on the same condition if only a subgroup barrier separates them",
        "a barrier of the tile separates the branches",
    ),
    Workaround(
        "widened_comparisons",
        _LAVAPIPE,
        "compares an int32 that was widened to int64 wrongly with a constant",
        "the int64 is built from two words",
    ),
    Workaround(
        "wide_factors",
        _NVIDIA,
        "multiplies an int32 that was widened to 64 bits by 2^31 as by -2^31",
        "the 64 bits are built from two words",
        test="tests/sweep/test_operators.py",
    ),
    Workaround(
        "integer_reductions",
        _NVIDIA,
        "reduces int32 and uint32 of a subgroup wrongly (subgroup.max gives -1 although lanes have larger numbers) in "
        "a kernel with loops and shuffles",
        "these reductions are formed by shuffles",
        test="tests/algorithms/test_scan_chained.py",
    ),
    Workaround(
        "nan_extremes",
        _NVIDIA,
        "gives NaN as subgroup.min and subgroup.max of floats, and as their scans, although lanes have numbers",
        "these extremes are formed by shuffles",
        test="tests/kernel_language/test_subgroups.py",
    ),
    Workaround(
        "assumed_finite",
        _NVIDIA,
        "assumes that floats are finite and that zeros have no sign: x if x < y else y becomes a minimum",
        "programs on GPUs declare that these values must be kept (VK_KHR_shader_float_controls)",
        test="tests/types/test_special_values.py",
    ),
    Workaround(
        "large_divisors",
        _NVIDIA,
        "divides float32 by numbers above 2^126 as if they were infinite",
        "",
        ability="large_divisors",
        test="tests/types/test_special_values.py",
    ),
    Workaround(
        "halved_magnitudes",
        _LAVAPIPE,
        "replaces abs(abs(x) >> n) by abs(x) >> n, which is negative for the lowest number",
        "abs of an integer becomes a comparison and a negation",
    ),
    Workaround(
        "float_round_trips",
        _LAVAPIPE,
        "replaces int(float(n)) by n and float(int(x)) by trunc(x), even in precise shaders",
        "conversions of floats to integers hide their operand and result from the driver",
    ),
    Workaround(
        "zero_constants",
        _LAVAPIPE,
        "replaces x + 0.0 by x, 0.0 - x by -x and x * 0.0 by 0.0, even in precise shaders",
        "zeros in precise kernels are values that the driver does not know",
    ),
    Workaround(
        "private_arrays",
        _SWIFTSHADER,
        "stores private arrays on the stack, for four threads at once, and crashes at 512 KiB",
        "kernels with more than 120,000 bytes of private arrays are rejected",
        test="tests/kernel_language/test_large_private.py",
    ),
    Workaround(
        "unlisted_imports",
        _SWIFTSHADER,
        "does not report that it can import the host's memory",
        "vkamp tries the import",
        test="tests/run/test_host_memory.py",
    ),
    Workaround(
        "nested_choices",
        _LAVAPIPE,
        "miscompiles conditional expressions that are nested more than 80 deep",
        "long chains of conditional expressions become trees, on all devices",
        test="tests/conformance/test_section_01_index_space.py",
    ),
    Workaround(
        "negated_quotients",
        _SWIFTSHADER,
        "replaces -(c / x) by -c / x and -(x / c) by x / -c, which is wrong for the lowest integer",
        "kernels that divide and contain the lowest integer hide it from the driver, on all devices",
        test="tests/fuzz/test_found.py",
    ),
    Workaround(
        "remainders_of_one",
        _SWIFTSHADER,
        "gives 0 for ivec2(5) | (x % 1)",
        "divisions by 1 are omitted, on all devices",
        test="tests/fuzz/test_found.py",
    ),
    Workaround(
        "halves_and_back",
        _NVIDIA,
        "omits the conversion of a float to float16 and back",
        "integer operations on the bits convert the value, on all devices",
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
        f"{_LAVAPIPE} {_SWIFTSHADER}",
        "replaces x * 0.0 by 0.0 even if x is negative, infinite or NaN",
        "",
        ability="zero_products",
        test="tests/testing/test_traps.py",
    ),
)
#: The names that the compiler looks up.
_COMPILER = frozenset(get_args(Quirk))


def faults_of(info: DeviceInfo) -> tuple[Workaround, ...]:
    """The faults that a device has."""
    return _faults(info.name, info.driver)


@functools.cache
def _faults(name: str, driver: str) -> tuple[Workaround, ...]:
    """Every prepared launch calls this."""
    return tuple(row for row in WORKAROUNDS if row.concerns(name, driver))


def traps_of(info: DeviceInfo) -> dict[str, str]:
    """The abilities that a device lacks because of its faults, and what it does instead."""
    return {row.ability: row.fault for row in faults_of(info) if row.ability}


def quirks_of(info: DeviceInfo) -> frozenset[Quirk]:
    """The names of the faults that a device has and the compiler works around."""
    return _quirks(faults_of(info))


@functools.cache
def _quirks(faults: tuple[Workaround, ...]) -> frozenset[Quirk]:
    return frozenset(row.name for row in faults if row.name in _COMPILER)  # type: ignore[misc]


def has_quirk(info: DeviceInfo, name: str) -> bool:
    """Whether a device has the fault of this name."""
    return any(row.name == name for row in faults_of(info))


def max_iterations(info: DeviceInfo) -> int | None:
    """The total number of iterations after which the driver terminates an invocation's loops; ``None``: no limit."""
    return 65535 if has_quirk(info, "ends_loops") else None


def max_unrolled(info: DeviceInfo) -> int | None:
    """The maximum number of statements that loops may unroll to; ``None``: no limit.

    The CPU drivers do not unroll loops that contain loops, and lavapipe then counts their iterations. SwiftShader
    compiles this many statements in 0.3 s and eight times as many in 3 s. It compiles the copies in a tenth of that.
    """
    if info.kind != "cpu":
        return None
    return 1 << 14 if has_quirk(info, "ends_loops") else 128


def max_private_bytes(info: DeviceInfo) -> int | None:
    """The maximum size of a thread's private arrays in bytes; ``None``: no limit."""
    return 120_000 if has_quirk(info, "private_arrays") else None


def max_in_piece(info: DeviceInfo) -> int:
    """The maximum number of adjacent elements that one thread of an untiled kernel processes.

    On the CPU drivers, more than four take longer to compile than they save.
    """
    return 4 if info.kind == "cpu" else 16
