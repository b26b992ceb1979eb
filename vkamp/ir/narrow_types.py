"""The types that devices may lack, those of 8 and 16 bits: what a device has of them, and what follows for memory."""

from __future__ import annotations

from dataclasses import dataclass

from vkamp.ir.types import Array, Scalar, Struct, Type, Vector, scalars_in


@dataclass(frozen=True)
class DeviceTypes:
    """What a device has of the types of 8 and 16 bits: ``types`` are names of its features."""

    types: frozenset[str] = frozenset()

    @staticmethod
    def feature(kind: Scalar) -> str:
        """The name of the feature that a device with variables of a type of 8 or 16 bits has."""
        return kind.name if kind.is_narrow_float else f"int{kind.bits}"

    def computes(self, kind: Scalar) -> bool:
        """Whether the device has variables of a scalar type."""
        return kind.bits >= 32 or self.feature(kind) in self.types

    def packs(self, kind: Type) -> bool:
        """Whether elements of a type are parts of words in buffers."""
        return isinstance(kind, Scalar) and kind.bits < 32 and f"storage{kind.bits}" not in self.types

    def splits(self, kind: Type) -> bool:
        """Whether a struct or short vector has another layout in buffers than in variables: the device lacks types of
        its parts."""
        if isinstance(kind, Vector):
            return not self.computes(kind.element) or self.packs(kind.element)
        return isinstance(kind, Struct) and not all(self.computes(scalar) for scalar in scalars_in(kind))

    def size(self, kind: Type) -> int:
        """The bytes of a type in arrays of the kernel. Three components may take as many bytes as four."""
        if isinstance(kind, Array):
            return kind.count * self.size(kind.element)
        if isinstance(kind, Struct):
            return sum(self.size(member.type) for member in kind.fields) if self.splits(kind) else kind.size
        if isinstance(kind, Scalar):
            return kind.size if self.computes(kind) else 4
        return self.size(kind.element) * (4 if kind.count == 3 else kind.count)
