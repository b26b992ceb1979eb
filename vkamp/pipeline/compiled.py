"""The results of compiling a kernel: those for its launches, and the others on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vkamp import spirv
from vkamp.artifacts import ContainerAccess, MatrixShape, Quirk
from vkamp.cache import DiskCache
from vkamp.errors import Span
from vkamp.front.guards import Guard
from vkamp.ir.passes import failure
from vkamp.records import dataclass

if TYPE_CHECKING:
    from vkamp.check.race_prover.report import RaceVerdicts
    from vkamp.check.races import RaceFinding
    from vkamp.errors import CompileError
    from vkamp.ir.nodes import Kernel


class FullKernel:
    """The results that only the compiler can compute. ``judge`` finds what is known of races, when it is asked for."""

    def __init__(self, kernel: Kernel, judge: Callable[[], RaceVerdicts]) -> None:
        self.kernel = kernel
        self._judge = judge

    @cached_property
    def races(self) -> RaceVerdicts:
        """What is known of races."""
        return self._judge()


@dataclass(frozen=True)
class Compiled:
    """A kernel that passed every check, what it does with its containers, and what it was specialised for."""

    name: str
    span: Span
    access: Mapping[str, ContainerAccess]
    #: Containers whose last dimension must have no gaps.
    contiguous: frozenset[str]
    #: Extents of containers that it asserts: which container, which dimension, the least extent, and a message.
    least_extents: tuple[tuple[str, int, int, str], ...]
    guards: tuple[Guard, ...]
    constants: Mapping[str, Any]
    #: Makes the rest, or has it.
    whole: Callable[[], FullKernel] = field(repr=False, compare=False)
    #: The subgroup operations that a device must support: for which function, which, where.
    subgroup_needs: tuple[tuple[str, str, Span], ...] = ()
    #: The scalar types that it uses, and where.
    types: Mapping[str, Span] = field(default_factory=dict)
    #: What it does with integers of 64 bits that a device may lack: its text, and where.
    wide: Mapping[str, tuple[str, Span]] = field(default_factory=dict)
    #: Whether it has atomics of floats, which a device may have.
    float_atomics: bool = False
    #: Whether it multiplies packed integers of 8 bits, for which a device may have an instruction.
    packed_products: bool = False
    #: The products of matrices that it forms, and where; ``None``: it has no matrices.
    matrices: Mapping[MatrixShape, Span] | None = None
    #: The components of containers' extents that decide how often its loops run.
    sizes_in_loops: frozenset[tuple[str, int]] = frozenset()
    #: The elements of the arrays that it declares, by the types' names.
    declared: Mapping[str, str] = field(default_factory=dict)
    #: The tables of constants that its launches bind, by name.
    tables: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)
    #: Whether it, or a function that it calls, has a loop.
    loops: bool = False
    #: The races of a launch of several threads, if the kernel has no tiles: errors, or what to warn of.
    certain_races: tuple[CompileError | RaceFinding, ...] = field(default=(), repr=False, compare=False)
    #: Whether there was something to warn of.
    warned: bool = False
    #: What its programs are kept under, and in which cache; ``None`` if they are not.
    key: str | None = None
    cache: DiskCache | None = field(default=None, repr=False, compare=False)

    @property
    def kernel(self) -> Kernel:
        """The IR."""
        return self.whole().kernel

    @property
    def races(self) -> RaceVerdicts:
        """What is known of races."""
        return self.whole().races


def generated_spirv(glsl: str, *, name: str, quirks: frozenset[Quirk]) -> bytes:
    """The SPIR-V of a shader as it was generated; InternalCompilerError where glslang refuses it."""
    try:
        return spirv.compile(glsl, name=name, straight="counted_paths" in quirks, limited="unchecked_bounds" in quirks)
    except spirv.GlslError as error:
        raise failure("glslang", name, None, error) from error
