"""A function's first lines: which thread it runs as, in the index space's terms, from the grid's numbers.

Dimension 0 is the most significant, the last one is x.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vkamp.artifacts import PushWord, Target
from vkamp.emit.globals import Globals
from vkamp.emit.names import Namer

#: Names of the lines below, kept free of others.
LAUNCH_NAMES = ("tile_number", "group_number", "thread_number")

_FOLDED_NUMBER = "gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z)"
_TILE_KINDS = ("tile", "global", "tile_origin")


def grid_word(kind: str, dim: int) -> PushWord:
    """The launch word with a component of the domain's extent, or with a number of tiles."""
    assert kind in ("domain", "tiles")
    return PushWord(kind, "", dim, "uint32")  # type: ignore[arg-type]


def thread_lines(
    shared: Globals, threads: dict[tuple[str, int], str], names: Namer, target: Target, is_main: bool
) -> list[str]:
    """Declarations of the thread indices ``threads``; in ``main`` threads beyond the domain end first."""
    if shared.kernel.tile is None:
        return _Untiled(shared, threads, target).lines(is_main)
    return _tiled(shared, threads, names, target, is_main)


def _axis(rank: int, dim: int) -> str:
    return "xyz"[rank - 1 - dim]


def _times(number: str, count: int) -> str:
    return number if count == 1 else f"{number} * {count}"


def _leave_if(condition: str) -> list[str]:
    return [f"if ({condition}) {{", "    return;", "}"]


def _tiled(
    shared: Globals, threads: dict[tuple[str, int], str], names: Namer, target: Target, is_main: bool
) -> list[str]:
    tile = shared.kernel.tile
    assert tile is not None
    rank = len(tile)
    lines: list[str] = []
    locals_ = {d: _local(shared, tile, d) for d in range(rank)}
    tiles = {d: f"int(gl_WorkGroupID.{_axis(rank, d)})" for d in range(rank)}
    if target.folded:
        dims = sorted({dim for kind, dim in threads if kind in _TILE_KINDS})
        lines, coordinates = _folded_tiles(shared, rank, is_main, dims)
        for dim in dims:
            name = threads.get(("tile", dim)) or names.give(f"{shared.kernel.index_name}_tile_{dim}")
            lines.append(f"const int {name} = int({coordinates[dim]});")
            tiles[dim] = name
    for (kind, dim), name in threads.items():
        axis = _axis(rank, dim)
        if kind == "lane":
            lines.append(f"const int {name} = {_lane(shared.kernel.lanes or (), dim)};")
        elif kind == "local":
            lines.append(f"const int {name} = {locals_[dim]};")
        elif kind == "tile" and not target.folded:
            lines.append(f"const int {name} = {tiles[dim]};")
            tiles[dim] = name
        elif kind == "tile_origin":
            lines.append(f"const int {name} = {_times(tiles[dim], tile[dim])};")
        elif kind == "global":
            value = f"int(gl_GlobalInvocationID.{axis})"
            if target.folded or shared.in_a_row:
                local = threads.get(("local", dim), locals_[dim])
                value = f"{_times(tiles[dim], tile[dim])} + {local}"
            lines.append(f"const int {name} = {value};")
    return lines


def _local(shared: Globals, tile: tuple[int, ...], dim: int) -> str:
    """Component ``dim`` of a thread's local index; threads in a row are numbered in row-major order."""
    if not shared.in_a_row:
        return f"int(gl_LocalInvocationID.{_axis(len(tile), dim)})"
    text, below = "gl_LocalInvocationID.x", math.prod(tile[dim + 1 :])
    if below > 1:
        text = f"{text} / {below}u"
    if math.prod(tile[:dim]) > 1:
        text = f"{text} % {tile[dim]}u"
    return f"int({text})"


def _lane(lanes: tuple[int, ...], dim: int) -> str:
    """Component ``dim`` of a lane. The lanes are in dimension x, because some drivers form subgroups within one row
    only.
    """
    text, below = "int(gl_LocalInvocationID.x)", math.prod(lanes[dim + 1 :])
    if below > 1:
        text = f"{text} >> {below.bit_length() - 1}"
    if math.prod(lanes[:dim]) > 1:
        text = f"({text}) & {lanes[dim] - 1}" if below > 1 else f"{text} & {lanes[dim] - 1}"
    return text


def _folded_tiles(shared: Globals, rank: int, is_main: bool, dims: list[int]) -> tuple[list[str], dict[int, str]]:
    """The tile's number from a grid with the wrong shape, and its coordinates."""
    counts: dict[int, str] = {}

    def count(dim: int) -> str:
        return counts.setdefault(dim, shared.word(grid_word("tiles", dim)))

    lines = []
    if dims or is_main:
        lines.append("// There may be more tiles than the device allows in one dimension: the grid spreads them.")
        lines.append(f"const uint tile_number = {_FOLDED_NUMBER};")
    if is_main:
        lines += _leave_if(f"tile_number >= {' * '.join(count(d) for d in range(rank))}")
    return lines, {d: _coordinate("tile_number", d, list(range(rank)), count) for d in dims}


def _coordinate(number: str, dim: int, dims: list[int], count: Callable[[int], str]) -> str:
    """Component ``dim`` of a row-major number over ``dims``."""
    below = [count(d) for d in dims if d > dim]
    text = number
    if len(below) == 1:
        text = f"{number} / {below[0]}"
    elif below:
        text = f"{number} / ({' * '.join(below)})"
    return text if dim == dims[0] else f"{text} % {count(dim)}"


class _Untiled:
    """An untiled domain over groups: x and y are the last two dimensions, z all before them."""

    def __init__(self, shared: Globals, threads: dict[tuple[str, int], str], target: Target) -> None:
        self.shared = shared
        self.threads = threads
        self.target = target
        self.rank = shared.kernel.rank
        self.leading = list(range(max(self.rank - 2, 0)))

    def domain(self, dim: int) -> str:
        return self.shared.word(grid_word("domain", dim))

    def size(self, dims: list[int]) -> str:
        """The number of threads over some dimensions."""
        return " * ".join(self.domain(d) for d in dims)

    def lines(self, is_main: bool) -> list[str]:
        if not self.threads and not is_main:
            return []
        out = self._folded(is_main) if self.target.folded else self._test() if is_main else []
        for (_, dim), name in self.threads.items():
            out.append(f"const int {name} = int({self._component(dim)});")
        return out

    def _test(self) -> list[str]:
        """Ends the threads beyond the domain; where a group is one thread wide, there are none."""
        tests = []
        axes: list[tuple[str, list[int]]] = [("z", self.leading)]
        axes += [(_axis(self.rank, d), [d]) for d in range(max(self.rank - 2, 0), self.rank)]
        for axis, dims in axes:
            if self.shared.in_pieces and axis == "x":
                # The function itself sees how many elements a piece has.
                continue
            if dims and self.target.group["xyz".index(axis)] > 1:
                tests.append(f"gl_GlobalInvocationID.{axis} >= {self.size(dims)}")
        return _leave_if(" || ".join(tests)) if tests else []

    def _folded(self, is_main: bool) -> list[str]:
        threads = math.prod(self.target.group)
        lines = [
            "// There may be more groups than the device allows in one dimension: the grid spreads them.",
            f"const uint group_number = {_FOLDED_NUMBER};",
            f"const uint thread_number = group_number * {threads}u + gl_LocalInvocationIndex;",
        ]
        if is_main:
            # The first test alone is exact where the thread's number has wrapped.
            groups = self.shared.word(grid_word("tiles", 0))
            size = self.size(list(range(self.rank)))
            lines += _leave_if(f"group_number >= {groups} || thread_number >= {size}")
        return lines

    def _component(self, dim: int) -> str:
        if self.target.folded:
            return _coordinate("thread_number", dim, list(range(self.rank)), self.domain)
        if dim in self.leading:
            return _coordinate("gl_GlobalInvocationID.z", dim, self.leading, self.domain)
        return f"gl_GlobalInvocationID.{_axis(self.rank, dim)}"
