"""``amp.target``: the properties of its device that a kernel can use at compile time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NoReturn

from vkamp.errors import AmpError
from vkamp.ir.subgroups import OPERATIONS
from vkamp.tracebacks import entry_point

#: The arguments of ``has``: vkamp's names of optional features, and the groups of subgroup operations.
FEATURES: tuple[str, ...] = (
    "float16", "float64", "int8", "int16", "int64", "storage8", "storage16", "float_atomics", "float64_atomics",
    "shared_float_atomics",
    "int64_atomics", "shared_int64_atomics", "subgroup_extended_types", "subgroup_size_control", "memory_model",
    "integer_dot_product", "cooperative_matrix", "subgroup_uniform_control_flow",
    *(f"subgroup_{operation}" for operation in OPERATIONS),
)  # fmt: skip

#: How the names of the traits begin among a kernel's constants.
PREFIX = "amp.target."
SUBGROUP_SIZE = f"{PREFIX}subgroup_size"
LOWERED = f"{PREFIX}lowered"


def has_name(feature: str) -> str:
    """The name of the trait that a device has a feature."""
    return f"{PREFIX}has({feature!r})"


@lru_cache(maxsize=64)
def traits_of(
    *, is_cpu: bool, subgroup_size: int, features: frozenset[str], lowered: bool = False
) -> Mapping[str, bool | int]:
    """The traits of a device by name; ``features``: those of :data:`FEATURES` that it has."""
    traits: dict[str, bool | int] = {f"{PREFIX}cpu": is_cpu, SUBGROUP_SIZE: subgroup_size, LOWERED: lowered}
    traits.update((has_name(feature), feature in features) for feature in FEATURES)
    return MappingProxyType(traits)


#: The traits for compiling without a device: a GPU that has everything.
ASSUMED = traits_of(is_cpu=False, subgroup_size=32, features=frozenset(FEATURES))


def _refuse(name: str, instead: str) -> NoReturn:
    raise AmpError(
        f"amp.target.{name} is known in kernels and @amp.func functions only, while they are compiled for a device: "
        f"on the host read {instead}"
    )


@entry_point
class TargetFeature:
    """``amp.target.has``."""

    __name__ = "has"

    def __call__(self, feature: Any) -> bool:
        _refuse("has", "amp.accelerator(...).features")

    def __repr__(self) -> str:
        return "<vkamp function target.has>"


@entry_point
class TargetTraits:
    """``amp.target``: compile-time constants that describe the device for which a kernel is compiled.

    - ``amp.target.cpu``: whether it is the driver of a CPU (SwiftShader, lavapipe).  The reference accelerator is none.
    - ``amp.target.subgroup_size``: the lanes of a subgroup, as ``amp.subgroup.size()`` gives them.
    - ``amp.target.lowered``: whether the threads of a tile run as loops between its barriers (``lowering="loops"``).
    - ``amp.target.has(feature)``: whether kernels can use an optional feature there: the device has it, and the engine
      enables it.  ``feature`` is a name, such as ``"int64"``, ``"float16"`` or ``"subgroup_shuffle"``, or a type.
      Small types work everywhere; for these, ``has`` tells whether the device has their arithmetic.

    ``if amp.target.cpu:`` chooses one branch at compile time.  The other branch is not compiled: it may use types and
    functions that the device lacks.  A kernel is compiled once for each combination of the traits that it reads.
    AmpError in plain Python.  AMP has no equivalent.
    """

    has = TargetFeature()

    @property
    def cpu(self) -> bool:
        """Whether the device is the driver of a CPU."""
        _refuse("cpu", "amp.accelerator(...).is_emulated")

    @property
    def subgroup_size(self) -> int:
        """The lanes of a subgroup."""
        _refuse("subgroup_size", "amp.accelerator(...).limits.subgroup_size")

    @property
    def lowered(self) -> bool:
        """Whether the threads of a tile are loops."""
        _refuse("lowered", "kernel.inspect(...).lowering")

    def __repr__(self) -> str:
        return "<vkamp target>"


#: The properties of its device that a kernel can use at compile time.
target = TargetTraits()
