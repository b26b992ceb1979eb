"""What all functions of a shader share: names of globals, the launch words and helpers that are used."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from vkamp.artifacts import PushWord, Quirk
from vkamp.emit.helpers import COUNT_NAME, Helpers
from vkamp.emit.text import Text
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import uses_subgroups
from vkamp.ir.types import Scalar, Struct, Type, int_range

#: No subgroup has more lanes.
_MAX_LANES = 128
_COUNT = """\
// Some drivers do not count a partly filled subgroup.
int subgroup_count() {{
    return int(max(gl_NumSubgroups, ({threads}u + gl_SubgroupSize - 1u) / gl_SubgroupSize));
}}
"""


@dataclass
class Globals:
    """What all functions of a shader share: names of globals, the words and helpers that are used."""

    kernel: ir.Kernel
    #: By parameter and the type that its memory is accessed as.
    buffer_names: dict[tuple[str, Type], str]
    #: Of tile_static arrays and thread variables.
    variable_names: dict[str, str]
    function_names: dict[str, str]
    struct_names: dict[Struct, str]
    field_names: dict[Struct, dict[str, str]]
    word_names: dict[PushWord, str]
    #: The features of the device.
    features: frozenset[str] = frozenset()
    #: Whether each thread has a piece of several elements.
    in_pieces: bool = False
    #: Bytes of the kernel's smallest type, at most 4.
    unit: int = 4
    helpers: Helpers = field(default_factory=Helpers)
    #: The faults of the driver to print around.
    quirks: frozenset[Quirk] = frozenset()
    #: What is true in the lanes of the driver's vectors that have a thread; ``None`` where all have one.
    has_thread: Text | None = None
    words: set[PushWord] = field(default_factory=set)

    @cached_property
    def in_a_row(self) -> bool:
        """Whether a tile of rank 2 or 3 has all threads in dimension x: only then do drivers agree on its subgroups."""
        tile = self.kernel.tile or ()
        return any(n > 1 for n in tile[:-1]) and uses_subgroups(self.kernel)

    @cached_property
    def has_quotients_of_the_least(self) -> bool:
        """Whether a kernel that divides names the integer that has no opposite.

        spirv-opt, which SwiftShader runs, takes ``-(c / x)`` for ``-c / x``, and ``-(x / c)`` for ``x / -c``.
        """
        nodes = [n for statement in self.kernel.statements() for n in ir.own_nodes(statement)]
        return any(isinstance(n, ir.Binary) and n.op in ("tdiv", "floordiv") for n in nodes) and any(
            isinstance(n, ir.Const) and n.value == least(n) for n in nodes
        )

    def subgroup_count(self) -> str | None:
        """The function that counts a tile's subgroups, where drivers may count wrongly; the shader has it then."""
        threads = math.prod(self.kernel.tile or ())
        if threads % _MAX_LANES == 0:
            return None
        self.helpers.add(COUNT_NAME, _COUNT.format(threads=threads))
        return COUNT_NAME

    def word(self, word: PushWord) -> str:
        """Adds ``word`` to the launch words, and returns the member that holds it."""
        self.words.add(word)
        return self.word_names[word]


def least(constant: ir.Const) -> float:
    """The value of an integer type that has no opposite; below every float."""
    kind = constant.type
    return int_range(kind)[0] if isinstance(kind, Scalar) and kind.is_integer else -math.inf


def word_type(kind: Scalar) -> str:
    """The type of the launch word that holds a scalar."""
    return "uint32" if kind.kind == "bool" else "float32" if kind.is_narrow_float else kind.name
