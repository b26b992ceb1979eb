"""SPIR-V rewritten for drivers with faults: straight paths, limited subscripts."""

from __future__ import annotations

from vkamp.artifacts import Accesses
from vkamp.spirv.bounds import limit_subscripts
from vkamp.spirv.straighten import straightened


def rewritten(module: bytes, *, straight: bool, limited: Accesses | None) -> bytes:
    """The module with ``straight`` control flow, and with the subscripts of these accesses ``limited``."""
    made = straightened(module) if straight else module
    return made if limited is None else limit_subscripts(made, limited)
