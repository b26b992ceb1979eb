"""``stream``: a launch over data that are larger than the device's memory, by blocks of rows.

While the device runs one block, threads upload the next ones, and others download the results of the previous ones.
There are two threads for each direction, each with its own block, so that the copies of a block begin before those of
the previous one end. Otherwise the host's threads or the bus would wait at the end of each block.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from vkamp.dispatch import block_uses, parallel_for_each
from vkamp.errors import AmpError, InvalidComputeDomainError
from vkamp.lang.arrays import array
from vkamp.lang.capturing import refuse
from vkamp.lang.container import Container, is_integer
from vkamp.lang.device_elements import element_of
from vkamp.lang.dtypes import element_dtype
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.lang.kernel import KernelFunction
from vkamp.lang.overloads import own_signature
from vkamp.lang.sources import has_memory, memory_of
from vkamp.lang.storage import Location, default_location
from vkamp.lang.transfer import copy
from vkamp.lang.views import array_view
from vkamp.progress import activity
from vkamp.tracebacks import entry_point

#: The bytes of all rows of a block, unless the caller says otherwise: on GPUs, where each block costs the host
#: milliseconds, and on CPU drivers, whose buffers are small.
_BLOCK, _BLOCK_ON_CPU = 512 << 20, 64 << 20
#: The part of a GPU's memory that a block has at most.
_BLOCK_PART = 1 / 32
#: The threads of each direction.
_THREADS = 2
#: The blocks that are on the device at a time: in each direction one for each thread, and one that runs.
_DEPTH = 2 * _THREADS + 1

_Shape = tuple[int, ...]


@entry_point
def stream(
    kernel: KernelFunction,
    domain: Any,
    views: Sequence[Any],
    *,
    block: int | None = None,
    halo: int = 0,
    whole: Iterable[str] = (),
    start: str | None = None,
    accelerator_view: Location | None = None,
    **constants: Any,
) -> None:
    """Runs a kernel over a domain whose data need not fit into the device's memory, by blocks of the domain's rows (its
    first dimension).

    ``views`` are the kernel's arguments in order: ndarrays, among them ``np.memmap``, containers, other objects with
    memory, and numbers. Those with as many rows as the domain are cut into blocks of ``block`` rows (by default of
    512 MiB, on CPU drivers 64), which are copied to the device and back while the device works on other blocks.
    ``whole`` names the parameters of the others, which stay on the device as a whole: tables, or results that all
    blocks add to. When the call returns, the results are in host memory.

    In the kernel the index counts from the block's first row, and cut containers have the block's extent. ``start`` is
    the name of a kernel parameter that gets the domain's row where the block begins; ``views`` has no value for it.
    Containers that are not cut are indexed by that (``table[first + idx[0]]``) or by anything but the index.

    A thread may access only its own row of a container that is cut: ``a[idx]``, ``a[idx[0], j]``. With ``halo``,
    containers of ``halo`` more rows than the domain are cut, too: a thread may read, not write, ``a[idx[0] + k]`` for
    ``k`` from 0 to ``halo``. Containers that each thread certainly writes at its own index are not uploaded.

    A tiled domain is cut at multiples of its tile; its extent must be divisible by the tile. ``constants`` are the
    kernel's keyword-only parameters.

    AmpError for a kernel that accesses other rows, or whose accesses the compiler cannot follow; for a container that
    has neither the domain's rows nor a name in ``whole``; for memory that is both written and read with a halo; what
    ``parallel_for_each`` raises.

    An extension of C++ AMP, whose samples divide large data by hand.
    """
    if not isinstance(kernel, KernelFunction):
        raise TypeError(f"stream takes a kernel first, got {type(kernel).__name__}: stream(kernel, domain, views)")
    refuse("amp.stream()")
    location = default_location() if accelerator_view is None else accelerator_view
    cut = _Cut.of(domain, halo)
    values, at = _arguments(kernel, views, start)
    rows = _Rows.all_of(values, cut, frozenset(whole), kernel)
    step = cut.block(block, [each.row_bytes for each in rows.values()], _most(location))
    _Streaming(kernel, cut, step, values, rows, at, location, constants).run()


def _most(location: Location) -> int:
    """The bytes of a block on an accelerator, unless the caller says otherwise."""
    accelerator = getattr(location, "accelerator", None)
    if getattr(accelerator, "is_emulated", True):
        return _BLOCK_ON_CPU
    return min(_BLOCK, int(_BLOCK_PART * 1024 * accelerator.dedicated_memory))  # type: ignore[union-attr]


@dataclass(frozen=True)
class _Cut:
    """How a domain is cut: its shape, its tile, and how many rows after its own a thread may read."""

    shape: _Shape
    tile: _Shape | None
    halo: int

    @classmethod
    def of(cls, domain: Any, halo: int) -> _Cut:
        if not is_integer(halo) or halo < 0:
            raise AmpError(f"halo must be a number of rows, 0 or more, not {halo!r}")
        tile = tuple(domain.tile_extent) if isinstance(domain, tiled_extent) else None
        shape = tuple(domain) if isinstance(domain, (extent, tiled_extent)) else tuple(extent(domain))
        if min(shape) < 1:
            raise InvalidComputeDomainError(f"the domain {shape} has no elements: skip the call")
        if tile is not None and any(n % t for n, t in zip(shape, tile, strict=True)):
            raise AmpError(f"the tile {tile} does not divide the domain {shape}: stream pads no domain")
        return cls(shape, tile, int(halo))

    def block(self, rows: int | None, row_bytes: Sequence[int], most: int) -> int:
        """The rows of a block."""
        unit = self.tile[0] if self.tile else 1
        if rows is None:
            rows = max(1, most // max(1, sum(row_bytes)) // unit) * unit
        elif not is_integer(rows) or rows < 1 or rows % unit:
            multiple = f", a multiple of the tile's {unit}" if unit > 1 else ""
            raise AmpError(f"block must be a number of rows, 1 or more{multiple}, not {rows!r}")
        return min(int(rows), self.shape[0])

    def domain(self, rows: int) -> Any:
        """The domain of a block."""
        made = extent((rows, *self.shape[1:]))
        return made if self.tile is None else made.tile(*self.tile)


def _arguments(kernel: KernelFunction, views: Sequence[Any], start: str | None) -> tuple[dict[str, Any], str | None]:
    """The kernel's arguments by name; what is memory is a container or an ndarray."""
    parameters = list(own_signature(kernel.function).parameters.values())[1:]
    names = [each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    if start is not None and start not in names:
        raise AmpError(f"start={start!r}: {kernel.__name__} has the parameters {', '.join(names)}")
    wanted = [name for name in names if name != start]
    given = list(views) if isinstance(views, (list, tuple)) else [views]
    if len(given) != len(wanted):
        raise TypeError(f"{kernel.__name__} takes the arguments ({', '.join(wanted)}), but {len(given)} were given")
    found = dict(zip(wanted, given, strict=True))
    for name, value in found.items():
        if isinstance(value, list):
            raise TypeError(f"`{name}` of {kernel.__name__} is a list: pass a numpy array of its values")
        if not isinstance(value, (Container, np.ndarray)) and element_of(value) is None and has_memory(value):
            found[name] = memory_of(value, readonly=False)
    return {name: found.get(name) for name in names}, start


@dataclass(frozen=True)
class _Rows:
    """A container or ndarray that is cut: ``after``: the rows after its own that a thread may read."""

    name: str
    values: Any
    shape: _Shape
    dtype: np.dtype[Any]
    after: int

    @classmethod
    def all_of(
        cls, values: dict[str, Any], cut: _Cut, whole: frozenset[str], kernel: KernelFunction
    ) -> dict[str, _Rows]:
        unknown = whole - values.keys()
        if unknown:
            raise AmpError(f"whole={min(unknown)!r}: {kernel.__name__} has the parameters {', '.join(values)}")
        found = {}
        for name, value in values.items():
            if isinstance(value, (Container, np.ndarray)) and name not in whole:
                shape = tuple(value.extent) if isinstance(value, Container) else value.shape
                after = (shape[0] if shape else 0) - cut.shape[0]
                if after not in (0, cut.halo):
                    has, wanted = after + cut.shape[0], cut.shape[0]
                    raise AmpError(
                        f"`{name}` of {kernel.__name__} has {has} rows, and the domain {wanted}: "
                        f"pass whole=[{name!r}] to keep all of it on the device, or halo= for rows after the thread's"
                    )
                found[name] = cls(name, value, shape, element_dtype(value.dtype), after)
        if not found:
            raise AmpError(f"no argument of {kernel.__name__} is cut into blocks: whole= names all of them")
        return found

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return prod(self.shape[1:]) * self.dtype.itemsize

    def part(self, first: int, rows: int) -> Any:
        """The rows of a block: a view, or an ndarray, of the memory."""
        if isinstance(self.values, Container):
            return array_view(self.values, readonly=self.values.readonly)[first : first + rows + self.after]
        return self.values[first : first + rows + self.after]

    @property
    def is_readonly(self) -> bool:
        return self.values.readonly if isinstance(self.values, Container) else not self.values.flags.writeable

    def shares(self, other: _Rows) -> bool:
        """Whether the two have memory in common."""
        if isinstance(self.values, Container) and isinstance(other.values, Container):
            return self.values.overlaps(other.values)
        if isinstance(self.values, Container) or isinstance(other.values, Container):
            return False
        return np.may_share_memory(self.values, other.values)


class _Block:
    """Arrays on the device for the rows of one block, used again for later blocks."""

    def __init__(self, rows: dict[str, _Rows], step: int, location: Location) -> None:
        self.arrays = {
            name: array_view(array(extent((step + each.after, *each.shape[1:])), each.dtype, accelerator_view=location))
            for name, each in rows.items()
        }
        #: Parts by name and number of rows: launches with the same containers repeat.
        self._parts: dict[tuple[str, int], array_view] = {}

    def part(self, each: _Rows, rows: int) -> array_view:
        """The part that a block with this many rows uses."""
        found = self._parts.get((each.name, rows))
        if found is None:
            # Several threads may come first: all of them get the same view.
            found = self._parts.setdefault((each.name, rows), self.arrays[each.name][0 : rows + each.after])
        return found


class _Streaming:
    """One call of :func:`stream`."""

    def __init__(
        self,
        kernel: KernelFunction,
        cut: _Cut,
        step: int,
        values: dict[str, Any],
        rows: dict[str, _Rows],
        start: str | None,
        location: Location,
        constants: dict[str, Any],
    ) -> None:
        self.kernel, self.cut, self.step, self.rows = kernel, cut, step, rows
        self.start, self.location, self.constants = start, location, constants
        self.values = {name: value if name in rows else _as_view(value) for name, value in values.items()}
        self.count = -(-cut.shape[0] // step)
        self.blocks = [_Block(rows, step, location) for _ in range(min(_DEPTH, self.count))]
        uses = block_uses(kernel, (location, cut.domain(step), *self._of(0)), constants, self._allowed())
        self._check(uses.outside)
        self.downloads = [each for each in rows.values() if each.name in uses.writes]
        self._check_writes()
        kept = {name for name in uses.written_whole if name in rows and rows[name].shape == cut.shape}
        used = uses.reads | uses.writes
        self.uploads = [each for each in rows.values() if each.name in used - kept]
        self.results = [self.values[name] for name in uses.writes if name not in rows]
        self.failures: list[BaseException] = []

    def _allowed(self) -> dict[str, int]:
        return {name: each.after for name, each in self.rows.items()}

    def _check(self, outside: list[tuple[str, bool, Any]]) -> None:
        """Raises AmpError for a kernel that accesses rows of other blocks, or may."""
        for name, is_write, span in outside:
            if name not in self.rows:
                raise AmpError(
                    f"{self.kernel.__name__} accesses `{name}`, which is not cut into blocks, at {span} by the "
                    "thread's row in its block: add the block's first row, the parameter that start= names"
                )
            does, after = "writes" if is_write else "reads", self.rows[name].after
            allowed = "its own row" if is_write or not after else f"its own row and the {after} after it"
            raise AmpError(
                f"{self.kernel.__name__} {does} `{name}` at {span} at an index that is not known to be in {allowed}, "
                f"which is all that a block has: write {name}[idx] or {name}[idx[0]{' + k' if after else ''}, ...], "
                f"give halo= for rows after it, or pass whole=[{name!r}]"
            )

    def _check_writes(self) -> None:
        for each in self.downloads:
            if each.is_readonly:
                raise TypeError(f"{self.kernel.__name__} writes `{each.name}`, which is read-only")
            for other in self.rows.values():
                if other.after and other.shares(each):
                    raise AmpError(
                        f"`{each.name}` is written, and `{other.name}` is read with a halo in the same memory: a block "
                        "would read what another one has written"
                    )

    def _of(self, number: int) -> list[Any]:
        """The arguments of the launch of a block."""
        first, rows = self._place(number)
        block = self.blocks[number % len(self.blocks)]
        found: list[Any] = []
        for name, value in self.values.items():
            if name == self.start:
                found.append(np.int32(first))
            else:
                found.append(block.part(self.rows[name], rows) if name in self.rows else value)
        return found

    def _place(self, number: int) -> tuple[int, int]:
        """The first row of a block, and the number of its rows."""
        first = number * self.step
        return first, min(self.step, self.cut.shape[0] - first)

    # -- running

    def run(self) -> None:
        """Runs all blocks."""
        lines = _Lines()
        threads = [
            threading.Thread(target=self._guarded, args=(work, first, lines), name=name)
            for first in range(_THREADS)
            for name, work in (("vkamp-upload", self._upload), ("vkamp-download", self._download))
        ]
        for each in threads:
            each.start()
        try:
            with activity(f"streaming {self.kernel.__name__}") as progress:
                for number in progress.counted(range(self.count)):
                    if not lines.uploaded.wait(number):
                        break
                    _, rows = self._place(number)
                    parallel_for_each(
                        self.location, self.cut.domain(rows), self.kernel, *self._of(number), **self.constants
                    )
                    lines.launched.say(number)
                for each in threads:
                    each.join()
        except BaseException as error:
            self._fail(error, lines)
            for each in threads:
                each.join()
            raise
        if self.failures:
            raise self.failures[0]
        for result in self.results:
            result.synchronize()

    def _fail(self, error: BaseException, lines: _Lines) -> None:
        """Makes all threads end."""
        self.failures.append(error)
        lines.end()

    def _guarded(self, work: Callable[[int, _Lines], None], first: int, lines: _Lines) -> None:
        """Does every block of one of the threads of a direction."""
        try:
            for number in range(first, self.count, _THREADS):
                if self.failures:
                    return
                work(number, lines)
        except BaseException as error:
            self._fail(error, lines)

    def _upload(self, number: int, lines: _Lines) -> None:
        # The block's arrays are those of an earlier block.
        if lines.downloaded.wait(number - len(self.blocks)):
            first, rows = self._place(number)
            block = self.blocks[number % len(self.blocks)]
            for each in self.uploads:
                copy(each.part(first, rows), block.part(each, rows))
            lines.uploaded.say(number)

    def _download(self, number: int, lines: _Lines) -> None:
        if lines.launched.wait(number):
            first, rows = self._place(number)
            block = self.blocks[number % len(self.blocks)]
            for each in self.downloads:
                copy(block.part(each, rows), each.part(first, rows))
            lines.downloaded.say(number)


class _Line:
    """What has been done with which block; any number of threads waits for it.

    The numbers of blocks come in any order.
    """

    def __init__(self) -> None:
        self._done: set[int] = set()
        self._has_ended = False
        self._changed = threading.Condition()

    def say(self, number: int) -> None:
        """The block is done."""
        with self._changed:
            self._done.add(number)
            self._changed.notify_all()

    def wait(self, number: int) -> bool:
        """Waits until the block is done; False if the stream has failed."""
        with self._changed:
            self._changed.wait_for(lambda: number < 0 or number in self._done or self._has_ended)
            return not self._has_ended

    def end(self) -> None:
        """Ends all waiting."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


class _Lines:
    """What threads of a stream wait for."""

    def __init__(self) -> None:
        self.uploaded, self.launched, self.downloaded = _Line(), _Line(), _Line()

    def end(self) -> None:
        """Ends all waiting."""
        for each in (self.uploaded, self.launched, self.downloaded):
            each.end()


def _as_view(value: Any) -> Any:
    """A container of all elements of an ndarray; anything else as it is."""
    if isinstance(value, np.ndarray):
        return array_view(value, readonly=not value.flags.writeable)
    return value
