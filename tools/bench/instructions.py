"""The instructions of vkamp's shaders beside those of hand-written ones of the same algorithm; needs no device.

Both are optimised by spirv-opt, which unrolls loops that ask for it, and counted: the whole shader, and its longest
loop without another in it. `python -m tools.bench.instructions` prints the counts of the kernels of the group
`throughput`, generated / by hand.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import vkamp as amp
from tools.bench import throughput
from vkamp import spirv
from vkamp.spirv.glslang import cmeel_prefixes

__all__ = ["KINDS", "PAIRS", "counted", "generated", "written"]

#: The categories, and the instructions of each.
KINDS = {
    "loads": r"Load",
    "stores": r"Store",
    "integers": r"(I(Add|Sub|Mul)|[SU](Div|Mod|Rem)|Shift\w+|Bitwise\w+|Not|[SU]Convert|SNegate)",
    "floats": r"(F(Add|Sub|Mul|Div|Negate)|VectorTimesScalar|ExtInst|ConvertSToF|ConvertUToF)",
    "addresses": r"AccessChain",
    "branches": r"BranchConditional",
    "barriers": r"ControlBarrier",
    "fences": r"MemoryBarrier",
}


def _views(**shapes: tuple[tuple[int, ...], Any]) -> list[Any]:
    return [amp.array_view(amp.extent(*shape), kind) for shape, kind in shapes.values()]


def _pairs() -> dict[str, tuple[Any, Any, list[Any], str]]:
    """Kernel, domain, containers, and the hand-written shader's name."""
    n = 512
    vectors, floats = ((n, n // 4), amp.float4), ((n, n), amp.float32)
    long = ((n * n,), amp.float4)
    tile, tiles = throughput.TILE, throughput.TILES
    sums = ((tiles,), amp.float32)
    return {
        "copy": (throughput.copy, amp.extent(n * n).tile(256), _views(source=long, target=long), "copy"),
        "sum": (throughput.partial_sums, amp.extent(tiles * tile).tile(tile), _views(values=long, sums=sums), "reduce"),
        "transpose": (throughput.transpose, amp.extent(n // 4, n).tile(8, 32), _views(a=floats, b=floats), "transpose"),
        "product": (
            throughput.product,
            amp.extent(n // 8, n // 8).tile(16, 16),
            _views(a=vectors, b=vectors, c=vectors),
            "sgemm",
        ),
    }


PAIRS = _pairs()


def generated(name: str) -> str:
    """The shader of vkamp in a pair, as for GPUs."""
    kernel, domain, containers, _ = PAIRS[name]
    return str(kernel.inspect(amp.accelerator("reference").default_view, domain, *containers).glsl)


def written(name: str) -> str:
    """The hand-written shader of a pair."""
    return (throughput.PROBES / f"{PAIRS[name][3]}.comp").read_text(encoding="utf-8")


def counted(glsl: str) -> tuple[Counter[str], Counter[str]]:
    """The number of instructions of each category in a shader, and in its longest loop."""
    lines = _disassembled(spirv.compile(glsl, name="shader"))
    return _kinds(lines), _kinds(_longest_loop(lines))


def _disassembled(binary: bytes) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shader.spv")
        path.write_bytes(binary)
        _tool("spirv-opt", "-O", str(path), "-o", str(path))
        return _tool("spirv-dis", "--no-color", str(path)).splitlines()


def _tool(name: str, *arguments: str) -> str:
    """Runs a program of SPIRV-Tools: pip's, or the system's."""
    environment, program = dict(os.environ), name
    for prefix in cmeel_prefixes():
        if (prefix / "bin" / name).is_file():
            environment["LD_LIBRARY_PATH"] = str(prefix / "lib")
            program = str(prefix / "bin" / name)
            break
    command = [program, *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=300).stdout


def _longest_loop(lines: list[str]) -> list[str]:
    """The instructions of the longest loop that has no other in it."""
    best: list[str] = []
    for number, line in enumerate(lines):
        merge = re.search(r"OpLoopMerge (%\w+)", line)
        if merge is None:
            continue
        end = next(n for n, other in enumerate(lines) if re.match(rf"\s*{re.escape(merge[1])} = OpLabel", other))
        loop = lines[number + 1 : end]
        if len(loop) > len(best) and not any("OpLoopMerge" in other for other in loop):
            best = loop
    return best


def _kinds(lines: list[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in lines:
        operation = re.search(r"\bOp(\w+)", line)
        for kind, pattern in KINDS.items():
            if operation is not None and re.fullmatch(pattern, operation[1]):
                found[kind] += 1
    return found


def main() -> int:
    """Prints the table."""
    rows = [("", *KINDS)]
    for name in PAIRS:
        mine, hand = counted(generated(name)), counted(written(name))
        for part, a, b in (("whole", mine[0], hand[0]), ("loop", mine[1], hand[1])):
            if a or b:
                rows.append((f"{name}, {part}", *(f"{a[kind]} / {b[kind]}" for kind in KINDS)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
