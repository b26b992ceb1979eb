"""Runs a kernel's threads, a tile at a time, switched at barriers, in the order of a seed.

C++ AMP's model: docs/conformance.md, sections 3, 9 and 12.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, CheckError, InvalidComputeDomainError, RaceError, UnsupportedFeatureError
from vkamp.ir.nodes import Function, Kernel, Local, walk
from vkamp.ir.types import FLOAT32, Scalar, int_range
from vkamp.sim.claims import Claims
from vkamp.sim.faults import Grid, Judge, Site, Thread
from vkamp.sim.memory import Clock, FencedShadow, KernelArray, Layout, TileShadow, bind, words_of
from vkamp.sim.program import Program
from vkamp.sim.translate import translate

__all__ = ["run"]

#: Translated kernels; held by identity, for equal kernels may stand at different lines.
_programs: OrderedDict[tuple[int, bool], Program] = OrderedDict()
_KEPT = 64


def run(
    kernel: Kernel,
    domain: tuple[int, ...],
    buffers: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, int | float | bool],
    *,
    seed: int | None = None,
    races: bool = True,
) -> None:
    """Runs every thread of a launch on the calling thread and returns when all have ended.

    ``domain``: the extent, in elements; of a tiled kernel a multiple of its tile.  ``buffers``:
    for each captured container a numpy array of its element type whose shape is its extent,
    possibly strided; they may overlap.  They are changed in place.  ``scalars``: the captured
    values.  ``seed`` shuffles the order of tiles, and of threads between barriers; ``None`` runs
    them in order.  ``races=False`` looks for no data races, at twice the speed.

    Raises :class:`~vkamp.errors.RaceError` for a data race, and :class:`~vkamp.errors.CheckError`
    for an index out of bounds, a read of memory that nothing wrote, a divergent barrier, an
    integer division by zero, a shift out of range, an undefined conversion or a failed assertion;
    ``error_code`` is the kind, ``findings`` the facts.  The buffers then hold what was written so
    far.  Raises ``InvalidComputeDomainError`` for a domain that does not fit the kernel, and
    ``AmpError`` for buffers or scalars that don't, before anything runs.
    """
    _check_domain(kernel, domain)
    program = _program(kernel, races)
    judge = Judge(kernel, Grid(domain, kernel.tile), program.sites)
    clock = Clock()
    claims = Claims(judge)
    launch = _Launch(program, judge, clock, claims, seed)
    names: dict[str, Any] = {"__name__": f"vkamp kernel {kernel.name}", **program.constants}
    names.update(_helpers(judge, clock, claims))
    names.update(_scalars(kernel, scalars))
    launch.bind_buffers(names, buffers, races)
    launch.bind_tile_statics(names, races)
    main = launch.load(names)
    # Overflow and division by zero of floats have a result, which is what the kernel asked for.
    with np.errstate(all="ignore"):
        try:
            launch.run(main)
        except UnboundLocalError as error:
            found = _unassigned(error, program)
            if found is None:
                raise
        else:
            return
    judge.unassigned(*found)


def _program(kernel: Kernel, races: bool) -> Program:
    key = (id(kernel), races)
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = translate(kernel, races)
        while len(_programs) > _KEPT:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(key)
    return program


def _check_domain(kernel: Kernel, domain: tuple[int, ...]) -> None:
    if len(domain) != kernel.rank:
        raise InvalidComputeDomainError(f"{kernel.name} runs over a domain of rank {kernel.rank}, not {len(domain)}")
    for dim, size in enumerate(domain):
        if size <= 0:
            raise InvalidComputeDomainError(f"dimension {dim} of the domain is {size}")
    if math.prod(domain) > 0xFFFFFFFF:
        raise InvalidComputeDomainError(f"the domain has {math.prod(domain)} threads, over 2**32 - 1")
    for dim, (size, tile) in enumerate(zip(domain, kernel.tile or domain, strict=True)):
        if size % tile:
            raise InvalidComputeDomainError(
                f"dimension {dim} of the domain is {size}, no multiple of the tile's {tile}"
            )


# -- what the generated code calls -----------------------------------------------------------------


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


def _part(words: list[Any], word: int, count: int) -> list[Any]:
    return words[word : word + count]


def _put(words: list[Any], word: int, value: list[Any]) -> None:
    words[word : word + len(value)] = value


def _pick(words: list[Any], word: int, layout: Layout) -> list[Any]:
    return [words[word + offset] for offset, _ in layout]


def _place_parts(words: list[Any], word: int, layout: Layout, value: list[Any]) -> None:
    for (offset, _), part in zip(layout, value, strict=True):
        words[word + offset] = part


def _all_set(judge: Judge, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> list[Any]:
    """The components of a vector, all of which something wrote."""
    for (offset, _), part in zip(layout, value, strict=True):
        if part is None:
            judge.unset(thread, site, word + offset)
    return value


def _same(left: list[Any], right: list[Any]) -> bool:
    """Whether two vectors are equal; NaN is not, not even the very same."""
    return all(bool(a == b) for a, b in zip(left, right, strict=True))


def _truncated(judge: Judge, target: Scalar, thread: Thread, site: int, value: np.float32) -> int:
    """A float as an integer; one that has no value there is undefined in C, and an error here."""
    low, high = int_range(target)
    # As Python floats, for which the limits are exact.
    if not low - 1 < float(value) < high + 1:
        judge.conversion(thread, site, value, target.name)
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


def _helpers(judge: Judge, clock: Clock, claims: Claims) -> dict[str, Any]:
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
        "_part": _part,
        "_put": _put,
        "_pick": _pick,
        "_place": _place_parts,
        "_set": partial(_all_set, judge),
        "_same": _same,
        "_private": KernelArray,
        "_range": range,
        "_int": int,
        "_bool": bool,
        "_float32": np.float32,
    }


def _scalars(kernel: Kernel, scalars: Mapping[str, int | float | bool]) -> dict[str, Any]:
    """The captured values as the generated code names them."""
    names: dict[str, Any] = {}
    for param in kernel.scalars:
        if param.name not in scalars:
            raise AmpError(f"no value is given for {param.name}")
        value = scalars[param.name]
        if param.type == FLOAT32:
            names[f"_s_{param.name}"] = np.float32(value)
        elif param.type.kind == "bool":
            names[f"_s_{param.name}"] = bool(value)
        elif param.type.bits == 32:
            low, high = int_range(param.type)
            if value != int(value) or not low <= value <= high:
                raise AmpError(f"{param.name} is {value}, which {param.type} cannot hold")
            names[f"_s_{param.name}"] = int(value)
        else:
            raise UnsupportedFeatureError(f"the reference accelerator has no {param.type}")
    return names


def _unassigned(error: UnboundLocalError, program: Program) -> tuple[Thread, Site] | None:
    """The thread and the read that an unbound variable of the generated code stands for."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    function = program.function_of(trace.tb_frame.f_code)
    if function is None:
        return None
    site = _unassigned_site(function, str(error).split("'")[1::2], trace.tb_lineno)
    return trace.tb_frame.f_locals["_t"], site


def _unassigned_site(function: Function, names: Sequence[str], line: int) -> Site:
    """The read of a variable on a line."""
    for statement in function.body:
        for node in walk(statement):
            if isinstance(node, Local) and node.span.line == line and node.variable.name in names:
                return Site(node.span, node.variable.name)
    return Site(function.span, names[0] if names else "a variable")


# -- the scheduler ---------------------------------------------------------------------------------


class _Launch:
    """One launch: its memory, its threads, and the order they run in."""

    def __init__(self, program: Program, judge: Judge, clock: Clock, claims: Claims, seed: int | None) -> None:
        self.program = program
        self.judge = judge
        self.grid = judge.grid
        self.clock = clock
        self.claims = claims
        self.random = None if seed is None else random.Random(seed)
        self.arrays: list[KernelArray] = []
        self.global_shadows: list[TileShadow] = []
        self.tile_shadows: list[TileShadow] = []

    def bind_buffers(self, names: dict[str, Any], buffers: Mapping[str, NDArray[Any]], races: bool) -> None:
        """Gives the generated code its containers."""
        program = self.program
        clock = self.clock if program.split[0] else None
        bound, self.global_shadows = bind(program.kernel, buffers, program.written, self.judge, clock, races)
        for name, buffer in bound.items():
            names[f"_mem_{name}"] = buffer
            for letter, words in (("f", buffer.f), ("i", buffer.i), ("u", buffer.u)):
                names[f"_{letter}_{name}"] = words
            for letter, judged in (("r", buffer.read), ("w", buffer.write), ("x", buffer.atomic)):
                names[f"_{letter}_{name}"] = judged
            names[f"_o_{name}"] = buffer.layout.offset
            for dim, extent in enumerate(buffer.layout.shape):
                names[f"_n{dim}_{name}"] = extent
                names[f"_p{dim}_{name}"] = buffer.layout.strides[dim]

    def bind_tile_statics(self, names: dict[str, Any], races: bool) -> None:
        """Gives the generated code its tile_static arrays."""
        for variable in self.program.kernel.tile_statics:
            shadow: TileShadow | None = None
            if races and self.program.split[1]:
                shadow = FencedShadow(self.judge, None, self.clock, 1)
            elif races:
                shadow = TileShadow(self.judge, None)
            if shadow is not None:
                self.tile_shadows.append(shadow)
            array = KernelArray(words_of(variable.type), shadow)
            self.arrays.append(array)
            names[f"_ts_{variable.name}"] = array

    def load(self, names: dict[str, Any]) -> Callable[[Thread], Any]:
        """Defines the functions over these names; returns the kernel's."""
        for name, code in self.program.codes:
            defined: dict[str, Any] = {}
            exec(code, names, defined)
            (names[name],) = defined.values()
        main: Callable[[Thread], Any] = names["_kernel"]
        return main

    def order(self, count: int) -> Sequence[int]:
        """The numbers 0, 1, ... in the order of this run."""
        if self.random is None:
            return range(count)
        numbers = list(range(count))
        self.random.shuffle(numbers)
        return numbers

    def run(self, main: Callable[[Thread], Any]) -> None:
        """Runs every thread."""
        if self.grid.tile is None:
            self._run_untiled(main)
            return
        threads = [Thread() for _ in range(self.grid.threads)]
        locals_ = list(itertools.product(*map(range, self.grid.tile)))
        for number in self.order(self.grid.count):
            self._enter_tile(number, threads, locals_)
            if self.program.waits:
                self._run_waiting(main, threads)
            else:
                self._turn([partial(main, thread) for thread in threads])

    def _run_untiled(self, main: Callable[[Thread], Any]) -> None:
        """Every thread alone: nothing orders two of them."""
        thread = Thread()
        sites = len(self.judge.sites)
        indices: Iterable[tuple[int, tuple[int, ...]]]
        if self.random is None:
            indices = enumerate(itertools.product(*map(range, self.grid.domain)))
        else:
            indices = ((n, self.grid.thread(n).global_) for n in self.order(self.grid.count))
        for number, index in indices:
            thread.number = thread.tile_number = number
            thread.base = number * sites
            thread.global_ = index
            main(thread)

    def _enter_tile(self, number: int, threads: list[Thread], locals_: list[tuple[int, ...]]) -> None:
        assert self.grid.tile is not None
        first = self.grid.thread(number * len(threads))
        origin, tile = first.global_, first.tile or ()
        for i, (thread, local) in enumerate(zip(threads, locals_, strict=True)):
            thread.number = number * len(threads) + i
            thread.base = thread.number * len(self.judge.sites)
            thread.tile_number = number
            thread.tile, thread.origin, thread.local = tile, origin, local
            thread.global_ = tuple(map(sum, zip(origin, local, strict=True)))
        self.clock.restart(threads)
        self.claims.forget()
        for array in self.arrays:
            array.forget()
        for shadow in (*self.global_shadows, *self.tile_shadows):
            shadow.clear()

    def _turn(self, steps: Sequence[Callable[[], int | None]]) -> dict[int, int]:
        """Runs each thread of a tile up to its next barrier; returns the sites that threads wait at.

        A thread that reads what nothing wrote may be ahead of the one that writes it: the others run on, and the
        race between the two is what is reported.
        """
        waiting: dict[int, int] = {}
        unset: CheckError | None = None
        for i in self.order(len(steps)):
            try:
                site = steps[i]()
            except CheckError as error:
                if isinstance(error, RaceError) or (unset is None and error.error_code != "uninitialised"):
                    raise
                unset = unset or error
                continue
            if site is not None:
                waiting[i] = site
        if unset is not None:
            raise unset
        return waiting

    def _run_waiting(self, main: Callable[[Thread], Generator[int, None, None]], threads: list[Thread]) -> None:
        """Runs the threads of a tile from barrier to barrier."""
        running = [main(thread) for thread in threads]
        while True:
            waiting = self._turn([partial(next, thread, None) for thread in running])
            if not waiting:
                return
            self._pass_barrier(threads, waiting)

    def _pass_barrier(self, threads: list[Thread], waiting: dict[int, int]) -> None:
        first = min(waiting)
        site = waiting[first]
        here = (threads[first].number, site)
        ended = next((i for i in range(len(threads)) if i not in waiting), None)
        if ended is not None:
            self.judge.divergence(here, (threads[ended].number, None))
        other = next((i for i in sorted(waiting) if waiting[i] != site), None)
        if other is not None:
            self.judge.divergence(here, (threads[other].number, waiting[other]))
        self.clock.barrier()
        self.claims.forget()
        fence = self.program.fences[site]
        for orders, shadows in (
            (fence.orders_global, self.global_shadows),
            (fence.orders_tile_static, self.tile_shadows),
        ):
            for shadow in shadows if orders else ():
                shadow.clear()
