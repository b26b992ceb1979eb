"""Runs a program on accelerators and compares every container that it writes."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import os
import random
import traceback
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp as amp
from tools.fuzz.inputs import contents
from tools.fuzz.tree import Container, Program, source_of
from vkamp.lang.vectors import vector_class

__all__ = [
    "ORACLES",
    "Failure",
    "Loaded",
    "compare",
    "flat",
    "forget",
    "load",
    "lowered",
    "plain",
    "quietly",
    "run",
    "subgroup_size",
]

#: Where kernels run as they were written, with subgroups of any size.
ORACLES = ("reference", "python")

_numbers = itertools.count()


@dataclass(frozen=True)
class Failure:
    """A failure of a program.

    ``kind``: ``refused`` (the compiler's error; ``detail`` is its code), ``crash`` (any other exception),
    ``finding`` (of an oracle), ``unknown`` (the second oracle lacks a construct), ``differs`` (``detail`` is the
    container).
    """

    kind: str
    accelerator: str
    detail: str
    message: str

    @property
    def signature(self) -> tuple[str, str, str]:
        """The part that a smaller program must share to show the same failure."""
        return self.kind, self.accelerator, "" if self.kind == "differs" else self.detail


@dataclass
class Loaded:
    """A program as a module."""

    program: Program
    source: str
    kernel: Any
    names: dict[str, Any]

    def containers(self, view: amp.accelerator_view) -> list[Any]:
        """Fresh containers for one launch."""
        return [_container(c, self.names, self.program.seed, view) for c in self.program.containers]

    def domain(self) -> Any:
        """The launch's compute domain."""
        extent = amp.extent(*self.program.extent)
        return extent.tile(*self.program.tile) if self.program.tile else extent

    def scalars(self) -> list[Any]:
        """The captured scalars' values."""
        return [bool(v) if t == "bool" else eval(t, self.names)(v) for v, t in self.program.scalars.values()]


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the compiler's warnings: random programs have barriers that order nothing."""
    with warnings.catch_warnings():
        for category in (amp.RaceWarning, amp.BarrierWarning):
            warnings.simplefilter("ignore", category)
        yield


@contextlib.contextmanager
def lowered(accelerator: str) -> Iterator[str]:
    """The name of an accelerator, of one with a lowering behind it (``swiftshader+loops``), which holds meanwhile."""
    name, _, lowering = accelerator.partition("+")
    before = os.environ.get("VKAMP_LOWERING")
    if lowering:
        os.environ["VKAMP_LOWERING"] = lowering
    try:
        yield name
    finally:
        if before is not None:
            os.environ["VKAMP_LOWERING"] = before
        elif lowering:
            del os.environ["VKAMP_LOWERING"]


def load(program: Program) -> Loaded:
    """Compiles the program's text as a module."""
    source = source_of(program)
    file = f"<kernel {program.seed}-{next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "kernels"}
    exec(compile(source, file, "exec"), names)
    return Loaded(program, source, names["k"], names)


def forget(loaded: Loaded) -> None:
    """Frees the memory of the text."""
    linecache.cache.pop(loaded.kernel.function.__code__.co_filename, None)


def _data(made: Container, names: dict[str, Any], seed: int) -> Any:
    return contents(made.contents, eval(made.dtype, names), made.shape, seed + zlib.crc32(made.name.encode()))


def _container(made: Container, names: dict[str, Any], seed: int, view: amp.accelerator_view) -> Any:
    dtype, data = eval(made.dtype, names), _data(made, names, seed)
    if made.as_array and view is not None:
        return amp.array(amp.extent(*made.shape), dtype, data, accelerator_view=view)
    return amp.array_view(data, readonly=not made.written)


def subgroup_size(loaded: Loaded, accelerator: str) -> int | None:
    """The size of a subgroup there, which the oracles must have, too; ``None`` if the program has no subgroups."""
    if accelerator in ORACLES or "subgroup" not in loaded.source:
        return None
    with lowered(accelerator) as name:
        limits = amp.accelerator(name).limits
    assert limits is not None
    return limits.subgroup_size


def run(loaded: Loaded, accelerator: str, subgroup: int | None = None) -> dict[str, Any] | Failure:
    """The written containers after a launch; ``python`` is the second oracle.

    ``subgroup`` is the size of a subgroup on an oracle, 32 if it is not given.
    """
    program = loaded.program
    if accelerator == "python":
        return plain(loaded, subgroup=subgroup)
    try:
        with quietly(), lowered(accelerator) as name, amp.reference_subgroups(subgroup or 32):
            view = amp.accelerator(name).default_view
            containers = loaded.containers(view)
            amp.parallel_for_each(
                view, loaded.domain(), loaded.kernel, *containers, *loaded.scalars(), **program.constants
            )
        return {c.name: np.array(a) for c, a in zip(program.containers, containers, strict=True) if c.written}
    except (amp.CompileError, amp.UnsupportedFeatureError) as error:
        return Failure("refused", accelerator, str(getattr(error, "error_code", "")), str(error))
    except amp.AmpError as error:
        kind = "finding" if accelerator == "reference" else "crash"
        return Failure(kind, accelerator, type(error).__name__, str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__} in {where.filename.rsplit('/', 1)[-1]}:{where.name}"
        return Failure("crash", accelerator, detail, "".join(traceback.format_exception(error)[-8:]))


def plain(loaded: Loaded, noise: random.Random | None = None, subgroup: int | None = None) -> dict[str, Any] | Failure:
    """The written containers after a launch in plain Python; ``noise`` changes results that devices may round
    differently."""
    from tools.fuzz.plain.run import launch
    from tools.fuzz.plain.values import UndefinedError, UnknownError

    program = loaded.program
    data = [_data(c, loaded.names, program.seed) for c in program.containers]
    try:
        args = launch(
            loaded.source, "k", program.extent, program.tile, [*data, *loaded.scalars()], dict(program.constants),
            noise, subgroup or 32,
        )  # fmt: skip
    except UndefinedError as error:
        return Failure("finding", "python", "Undefined", str(error))
    except UnknownError as error:
        return Failure("unknown", "python", str(error), str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__} in {where.filename.rsplit('/', 1)[-1]}:{where.name}"
        return Failure("crash", "python", detail, "".join(traceback.format_exception(error)[-8:]))
    return {c.name: _unpacked(a) for c, a in zip(program.containers, args, strict=False) if c.written}


def _unpacked(data: Any) -> Any:
    """An array of short vectors with its components in a dimension more, as those of vkamp have it."""
    if vector_class(data.dtype) is None:
        return data
    part = data.dtype["x"]
    return np.ascontiguousarray(data).view(part).reshape(*data.shape, -1)


def flat(data: Any, path: str = "") -> list[tuple[str, Any]]:
    """The plain arrays of a structured array."""
    if data.dtype.names:
        return [pair for name in data.dtype.names for pair in flat(data[name], f"{path}.{name}")]
    return [(path, np.ascontiguousarray(data))]


def compare(program: Program, expected: dict[str, Any], actual: dict[str, Any], accelerator: str) -> Failure | None:
    """The first container that differs, and where."""
    for container in program.containers:
        if not container.written:
            continue
        parts = zip(flat(expected[container.name]), flat(actual[container.name]), strict=True)
        for (path, wanted), (_, found) in parts:
            wrong = _wrong(container, wanted, found)
            if wrong.any():
                where = [tuple(int(n) for n in w) for w in np.argwhere(wrong)]
                lines = [f"  {container.name}{list(w)}{path}: {found[w]!r}, not {wanted[w]!r}" for w in where[:8]]
                text = "\n".join([f"{len(where)} elements of {container.name} differ on {accelerator}:", *lines])
                return Failure("differs", accelerator, container.name, text)
    return None


def _wrong(container: Container, wanted: Any, found: Any) -> Any:
    if wanted.dtype.kind != "f":
        return wanted != found
    base = container.contents.removeprefix("old ")
    if base == "raw":
        return wanted.view(np.uint32) != found.view(np.uint32)
    same = (wanted == found) | (np.isnan(wanted) & np.isnan(found))
    if base != "rough":
        return ~same
    limits = np.array(container.tolerances, np.float64).reshape(-1, *(1,) * (wanted.ndim - 1))
    with np.errstate(invalid="ignore"):
        near = np.abs(wanted.astype(np.float64) - found) <= limits + 1e-6 * np.abs(wanted)
    return ~(same | near)
