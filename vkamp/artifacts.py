"""Plain records that rooms hand on: from the printer to the compiler, from the compiler to the engines.

Sizes of an index space are in AMP's order (dimension 0 first), sizes of a device's grid in Vulkan's (x, y, z).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Literal

from vkamp.errors import InvalidComputeDomainError, Span
from vkamp.records import dataclass

Lowering = Literal["threads", "auto", "loops"]
#: Names of the faults of drivers that shaders are printed around (``vkamp.run.workarounds``).
Quirk = Literal[
    "absent_lanes",
    "broadcast_floats",
    "counted_paths",
    "distant_lanes",
    "early_exits",
    "endless_loops",
    "ends_loops",
    "fences_wait",
    "float_round_trips",
    "halved_magnitudes",
    "integer_reductions",
    "loops_in_a_row",
    "merged_branches",
    "nan_extremes",
    "slow_exchanges",
    "unchecked_bounds",
    "unsigned_to_float",
    "wide_factors",
    "widened_comparisons",
    "zero_constants",
]

#: Bytes behind each buffer, where accesses out of bounds go on drivers that do not check them.
GUARD = 4096

_MAX_THREADS = 2**32 - 1
#: Threads of a group of an untiled kernel, in all and in x, and what every device supports in y.
_GROUP_THREADS, _GROUP_WIDTH, _GROUP_HEIGHT = 256, 32, 128


@dataclass(frozen=True)
class Domain:
    """The compute domain of a launch.

    ``shape``: threads per dimension; ``tile``: threads of a tile per dimension, or ``None``.
    """

    shape: tuple[int, ...]
    tile: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_single(self) -> bool:
        """Whether it has one thread."""
        return all(size == 1 for size in self.shape)

    @property
    def tiles(self) -> tuple[int, ...]:
        """Tiles per dimension; without a tile, threads."""
        if self.tile is None:
            return self.shape
        return tuple([size // part for size, part in zip(self.shape, self.tile, strict=True)])

    def check(self) -> None:
        """Raises InvalidComputeDomainError for a component below 1, more than 2**32 - 1 threads, or an extent that is
        not a multiple of its tile, in this order.
        """
        for dim, size in enumerate(self.shape):
            if size <= 0:
                raise InvalidComputeDomainError(
                    f"{self}: component {dim} is {size}, and a launch needs at least one thread in every dimension"
                )
        total = math.prod(self.shape)
        if total > _MAX_THREADS:
            raise InvalidComputeDomainError(f"{self} has {total} threads; a launch takes at most {_MAX_THREADS}")
        for dim, (size, part) in enumerate(zip(self.shape, self.tile or (), strict=self.tile is not None)):
            if size % part:
                raise InvalidComputeDomainError(
                    f"{self}: dimension {dim}, {size}, is not a multiple of the tile's {part}; "
                    f"write .tile({', '.join(map(str, self.tile or ()))}).pad() and test the bounds in the kernel, "
                    "or .truncate()"
                )

    def __str__(self) -> str:
        text = f"extent({', '.join(map(str, self.shape))})"
        return text if self.tile is None else f"{text}.tile({', '.join(map(str, self.tile))})"


@dataclass(frozen=True)
class ContainerAccess:
    """What a program does with the elements of one container.

    ``reads`` and ``writes`` are plain ones (a whole element or a member of it); ``atomics`` read and write besides.
    Asking for a container's extent is not an access.
    """

    reads: bool = False
    writes: bool = False
    atomics: bool = False

    @property
    def changes(self) -> bool:
        """Whether elements may change."""
        return self.writes or self.atomics

    def __or__(self, other: ContainerAccess) -> ContainerAccess:
        return ContainerAccess(self.reads or other.reads, self.writes or other.writes, self.atomics or other.atomics)

    def __bool__(self) -> bool:
        return self.reads or self.writes or self.atomics


@dataclass(frozen=True)
class Target:
    """What the printer must know of a device; part of a shader's identity.

    ``push_words``: 32-bit words of push constants.  ``folded``: the tiles do not fit the device's grid as they are.
    ``group``: threads of a group for untiled kernels, x y z.  ``reference``: it is the reference accelerator, which
    runs the IR; its shader is for people.  ``lowering``: whether each thread of a tile is an
    invocation, or loops over them are run by at most ``lanes`` invocations, which are one subgroup; ``auto``: loops
    where they gain something.  ``max_iterations``: the iterations after which the driver ends a shader's loops.
    ``types``: what the device has of the types of 8 and 16 bits, by the names of its features.
    ``quirks``: the faults of the driver that its shaders are printed around, as ``vkamp.run.workarounds`` names them.
    ``vector``: with the quirk ``absent_lanes``, the lanes that the driver runs threads of one row in, else 1.
    ``private_bytes``: those that a thread's private arrays may have, ``None``: any number.
    ``max_unrolled_statements``: the maximum number of statements after unrolling, for a driver that compiles more of
    them slowly and does not unroll loops around others that it cannot unroll; ``None``: no limit. ``pieces``: the
    maximum number of adjacent elements that a thread of an untiled kernel processes; 0: only one.  With them,
    ``whole``: the containers with an element for each thread and without gaps in the last dimension, where that is not
    short; ``flat``: those of the domain's extent that are dense; ``together``: groups of containers whose pieces begin
    at the same elements, as far as the launch can tell. ``aligned``: for loops, the containers whose last dimension is
    a multiple of four elements; ``sizes``: with ``max_iterations``, what is known of extents.
    """

    push_words: int = 32
    folded: bool = False
    group: tuple[int, int, int] = (64, 1, 1)
    reference: bool = False
    lowering: Lowering = "threads"
    lanes: int = 1
    max_iterations: int | None = None
    types: frozenset[str] = frozenset()
    quirks: frozenset[Quirk] = frozenset()
    vector: int = 1
    max_unrolled_statements: int | None = None
    private_bytes: int | None = None
    aligned: frozenset[str] = frozenset()
    sizes: tuple[tuple[str, int, int], ...] = ()
    pieces: int = 0
    whole: frozenset[str] = frozenset()
    flat: frozenset[str] = frozenset()
    together: tuple[tuple[str, ...], ...] = ()

    def fitted(self, domain: Domain, max_groups: tuple[int, int, int], tile_threads: int) -> Target:
        """The target with ``group`` and ``folded`` for a domain, on a device with at most ``max_groups`` tiles in x, y
        and z, and ``tile_threads`` threads in a tile.

        Launches of one kernel that differ only in size mostly share a target.
        """
        group = _group(domain, tile_threads) if domain.tile is None else self.group
        folded = any(n > most for n, most in zip(_counts(domain, group), max_groups, strict=True))
        if folded and domain.tile is None:
            group = math.prod(group), 1, 1
        return replace(self, folded=folded, group=group)

    def tile_counts(self, domain: Domain) -> tuple[int, ...]:
        """The values of the ``tiles`` words: tiles per dimension, or the number of all groups of an untiled domain."""
        if domain.tile is not None:
            return domain.tiles
        if self.folded:
            return (-(-math.prod(domain.shape) // math.prod(self.group)),)
        return (math.prod(_counts(domain, self.group)),)

    def grid(
        self, domain: Domain, max_groups: tuple[int, int, int], shader: Shader | None = None
    ) -> tuple[int, int, int]:
        """The groups to dispatch in x, y and z, each within ``max_groups``; ``shader``: what they run.

        A folded grid may hold a few more tiles than there are; the shader ends those.  InvalidComputeDomainError if
        the tiles do not fit at all.
        """
        if shader is not None and shader.pieces is not None:
            x, y, z = _counts(Domain(shader.pieces.threads(domain.shape)), shader.local_size)
        elif not self.folded:
            x, y, z = _counts(domain, self.group)
        else:
            tiles = math.prod(self.tile_counts(domain))
            z = -(-tiles // (max_groups[0] * max_groups[1]))
            y = -(-tiles // (max_groups[0] * z))
            x = -(-tiles // (y * z))
        if x > max_groups[0] or y > max_groups[1] or z > max_groups[2]:
            raise InvalidComputeDomainError(
                f"{math.prod((x, y, z))} tiles do not fit the device's grid of {' x '.join(map(str, max_groups))}"
            )
        return x, y, z


def _group(domain: Domain, tile_threads: int) -> tuple[int, int, int]:
    """Threads of a group for an untiled domain: wide in x, where neighbours in memory are."""
    threads = 1 << (min(_GROUP_THREADS, tile_threads).bit_length() - 1)
    if domain.rank == 1:
        return threads, 1, 1
    width = 1
    while width < min(_GROUP_WIDTH, threads, domain.shape[-1]):
        width *= 2
    return width, min(threads // width, _GROUP_HEIGHT), 1


def _counts(domain: Domain, group: tuple[int, int, int]) -> tuple[int, int, int]:
    """Tiles, or groups of an untiled domain, in x, y and z."""
    if domain.tile is not None:
        counts = [*domain.tiles[::-1]]
    else:
        *rows, last = domain.shape
        axes = [last, rows[-1], math.prod(rows[:-1])] if rows else [last]
        counts = [-(-size // width) for size, width in zip(axes, group, strict=False)]
    x, y, z = (*counts, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Pieces:
    """Which elements the threads of an untiled shader have: each ``count`` neighbours in the last dimension.

    ``flat``: the domain is treated as one row of all its elements.  ``shifted``: a row's first piece may begin before
    it.
    """

    count: int
    flat: bool
    shifted: bool

    def domain(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The domain's extent as the shader has it."""
        return (math.prod(shape),) if self.flat else shape

    def threads(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The threads per dimension for a domain's extent."""
        *rows, last = self.domain(shape)
        most = last + (self.count - 1 if self.shifted else 0)
        return (*rows, -(-most // self.count))


@dataclass(frozen=True)
class PushWord:
    """A word, of 32 or 64 bits, that a launch hands to the shader.

    ``kind``: ``extent``, ``stride`` (elements) and ``offset`` (elements) of the container ``name``; ``scalar``: the
    captured value ``name``; ``domain``: a component of the domain's extent; ``tiles``: the tiles
    in a dimension.
    """

    kind: Literal["extent", "stride", "offset", "scalar", "domain", "tiles"]
    name: str
    dim: int
    type: Literal["int32", "uint32", "float32", "int64", "uint64", "float64"]

    @property
    def size(self) -> int:
        """Bytes."""
        return 8 if self.type.endswith("64") else 4


@dataclass(frozen=True)
class Binding:
    """A storage buffer, with the container parameters that share it and the shader's accesses to it."""

    number: int
    name: str
    params: tuple[str, ...]
    element: str
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Shader:
    """A generated compute shader.

    ``push`` is the layout of the launch words: push constants, or, where they would not fit, the storage buffer at
    ``push_binding``.  ``pieces``: its threads have several elements each.  ``subgroup_size``: the size of the full
    subgroups that it requires; ``None``: any subgroups.  ``lines[i]`` is the Python span that GLSL line ``i + 1`` comes
    from.
    """

    glsl: str
    name: str
    bindings: tuple[Binding, ...]
    push: tuple[PushWord, ...]
    push_binding: int | None
    local_size: tuple[int, int, int]
    folded: bool
    shared_bytes: int
    lines: tuple[Span | None, ...] = ()
    pieces: Pieces | None = None
    subgroup_size: int | None = None


#: The name of the feature of cooperative matrices.
MATRICES = "cooperative_matrix"


@dataclass(frozen=True)
class MatrixShape:
    """A product of matrices that a device has: ``rows`` x ``inner`` by ``inner`` x ``columns``.

    The names of the types of the operands ``a`` and ``b`` and of the ``accumulator``.
    """

    rows: int
    columns: int
    inner: int
    a: str
    b: str
    accumulator: str

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns} x {self.inner} of {self.a} and {self.b} to {self.accumulator}"


@dataclass(frozen=True)
class Executable:
    """The ways to a shader, to its IR (an ``ir.nodes.Kernel``) and to its SPIR-V, each taken at first use.

    ``lowering`` says how the threads of a tile run, and why, where another way was asked for.  ``driver_seconds``: how
    long a CPU driver compiles the shader, as guessed, where the target limits unrolling.  ``identity``: a text that
    identifies the program, where its shader is for people only.
    """

    make_shader: Callable[[], Shader]
    make_module: Callable[[], object]
    compile: Callable[[str], bytes]
    lowering: str = "threads"
    driver_seconds: float = 0.0
    identity: Callable[[], str] | None = None

    @cached_property
    def shader(self) -> Shader:
        """The shader."""
        return self.make_shader()

    @cached_property
    def module(self) -> object:
        """The program's IR."""
        return self.make_module()

    @cached_property
    def spirv(self) -> bytes:
        """The SPIR-V words as bytes."""
        return self.compile(self.shader.glsl)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.shader.name

    @cached_property
    def key(self) -> str:
        """Identity of the program: a hash of its text."""
        if self.identity is not None:
            return hashlib.sha256(self.identity().encode()).hexdigest()
        full = "" if self.subgroup_size is None else f"\nsubgroups of {self.subgroup_size}"
        return hashlib.sha256(f"{self.shader.glsl}{full}".encode()).hexdigest()

    @property
    def buffers(self) -> int:
        """Number of storage buffers, bound at 0, 1, ..."""
        return len(self.shader.bindings) + (self.shader.push_binding is not None)

    @property
    def push_bytes(self) -> int:
        """Size of the push constants in bytes."""
        return 0 if self.shader.push_binding is not None else sum(word.size for word in self.shader.push)

    @property
    def subgroup_size(self) -> int | None:
        """The lanes of the full subgroups that it requires, if it does."""
        return self.shader.subgroup_size

    @property
    def local_size(self) -> tuple[int, int, int]:
        """Threads of a tile, x y z."""
        return self.shader.local_size
