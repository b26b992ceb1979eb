"""From a request to an executable: by the compiler's passes, or from what another process has kept.

:mod:`vkamp.pipeline.compiler` has the passes.  It is loaded where something is compiled: a process whose kernels are
all kept on disk (:mod:`vkamp.pipeline.kept`) starts without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from vkamp.artifacts import Executable, Target
from vkamp.errors import Span
from vkamp.front import Arguments, Request, collect, make_request
from vkamp.front.description import describe_request, request_of
from vkamp.front.guards import Guard
from vkamp.front.source import CodeKey
from vkamp.ir.containers import Access
from vkamp.pipeline.domains import choose_target, grid, tile_counts

if TYPE_CHECKING:
    from vkamp.check.conflicts import RaceVerdicts
    from vkamp.ir.nodes import Kernel

__all__ = [
    "Arguments",
    "CodeKey",
    "Compiled",
    "Guard",
    "Request",
    "Whole",
    "choose_target",
    "collect",
    "compile_kernel",
    "describe_request",
    "executable",
    "grid",
    "ir_text",
    "make_request",
    "renew",
    "request_of",
    "tile_counts",
]


class Whole(NamedTuple):
    """What only the compiler knows of a kernel."""

    kernel: Kernel
    races: RaceVerdicts


@dataclass(frozen=True)
class Compiled:
    """A kernel that passed every check, what it does with its containers, and what it was specialised for."""

    name: str
    span: Span
    access: Mapping[str, Access]
    #: Containers whose last dimension must have no gaps.
    contiguous: frozenset[str]
    guards: tuple[Guard, ...]
    constants: Mapping[str, Any]
    #: Makes the rest, or has it.
    whole: Callable[[], Whole] = field(repr=False, compare=False)
    #: The operations of subgroups that a device must support: for which function, which, where.
    subgroup_needs: tuple[tuple[str, str, Span], ...] = ()
    #: The scalar types that it uses, and where.
    types: Mapping[str, Span] = field(default_factory=dict)
    #: What it does with integers of 64 bits that a device may lack: its text, and where.
    wide: Mapping[str, tuple[str, Span]] = field(default_factory=dict)
    #: The components of containers' extents that decide how often its loops run.
    sizes_in_loops: frozenset[tuple[str, int]] = frozenset()
    #: Whether there was something to warn of.
    warned: bool = False
    #: What its programs are kept under; ``None`` if they are not.
    key: str | None = None

    @property
    def kernel(self) -> Kernel:
        """The IR."""
        return self.whole().kernel

    @property
    def races(self) -> RaceVerdicts:
        """What is known of races."""
        return self.whole().races


def compile_kernel(request: Request, captured: Mapping[str, Any], *, keep: bool) -> Compiled:
    """A request's kernel, with every error and warning of the compiler; from disk, where nothing has changed.

    ``keep``: whether the disk is looked at, and written to.
    """
    from vkamp.pipeline import kept

    place = kept.place_of(request) if keep else None
    found = kept.kernel(place, request, captured) if place is not None else None
    if found is not None:
        return found
    # Imported here, as below: not every process compiles.
    from vkamp.pipeline import compiler

    compiled = compiler.compile_kernel(request, captured)
    return compiled if place is None else kept.keep_kernel(place, request, compiled)


def executable(compiled: Compiled, target: Target) -> Executable:
    """The program for a kind of device; its SPIR-V is made when an engine asks for it."""
    from vkamp.pipeline import kept

    found = kept.program(compiled, target)
    if found is not None:
        return found
    from vkamp.pipeline import compiler

    made = compiler.executable(compiled.kernel, target)
    kept.keep_program(compiled, target, made)
    return made


def renew(compiled: Compiled, function: FunctionType) -> None:
    """Notes that a kernel is launched by another function with its code."""
    from vkamp.pipeline import kept

    kept.renew(compiled, function)


def ir_text(program: Executable) -> str:
    """The IR of a program, as text for people."""
    from vkamp.pipeline import compiler

    return compiler.ir_text(program)
