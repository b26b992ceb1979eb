"""The types that devices may lack, those of 8 and 16 bits: what a device has of them, and what follows for memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from vkamp.artifacts import MATRICES
from vkamp.ir.types import (
    FLOAT32,
    INT32,
    Array,
    Field,
    Fragments,
    Scalar,
    Struct,
    Type,
    Vector,
    alignment_of,
    scalars_in,
)


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
        return not kind.is_narrow or self.feature(kind) in self.types

    def packs(self, kind: Type) -> bool:
        """Whether elements of a type are parts of words in buffers."""
        return isinstance(kind, Scalar) and kind.is_narrow and f"storage{kind.bits}" not in self.types

    def splits(self, kind: Type) -> bool:
        """Whether a struct or short vector has another layout in buffers than in variables: the device lacks types of
        its parts."""
        if isinstance(kind, Vector):
            return not self.computes(kind.element) or self.packs(kind.element)
        return isinstance(kind, Struct) and not all(self.computes(scalar) for scalar in scalars_in(kind))

    def value(self, kind: Type) -> Type:
        """The type in which shaders for the device have the values of a type, and variables of it."""
        if not isinstance(kind, Scalar):
            return self.kept(kind)
        if kind.bits >= 32 or (kind.is_narrow_float and self.computes(kind)):
            return kind
        return INT32 if kind.is_integer else FLOAT32

    def kept(self, kind: Type) -> Type:
        """The type of elements of arrays, and of members of structs, that the shader has for a type."""
        if isinstance(kind, Struct):
            return self._struct(kind)
        if isinstance(kind, Scalar):
            return kind if self.computes(kind) else self.value(kind)
        if isinstance(kind, Fragments) and MATRICES in self.types:
            return kind
        element = self.kept(kind.element)
        return kind if element == kind.element else dataclasses.replace(kind, element=element)  # type: ignore[arg-type]

    def _struct(self, kind: Struct) -> Struct:
        if not self.splits(kind):
            return kind
        fields: list[Field] = []
        end = 0
        for member in sorted(kind.fields, key=lambda field: field.offset):
            made = self.kept(member.type)
            start = -(-end // alignment_of(made)) * alignment_of(made)
            fields.append(Field(member.name, made, start))
            end = start + made.size
        most = max(alignment_of(field.type) for field in fields)
        return dataclasses.replace(kind, fields=tuple(fields), size=-(-end // most) * most)

    def size(self, kind: Type) -> int:
        """The bytes of a type in arrays of the kernel. Three components may take as many bytes as four."""
        made = self.kept(kind)
        if isinstance(made, Array):
            return made.count * self.size(made.element)
        return made.size * 4 // 3 if isinstance(made, Vector) and made.count == 3 else made.size
