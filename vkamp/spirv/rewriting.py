"""SPIR-V rewritten for drivers with faults: straight paths, limited subscripts."""

from __future__ import annotations

from vkamp.spirv.bounds import limit_subscripts
from vkamp.spirv.straighten import straightened


def rewritten(module: bytes, *, straight: bool, limited: bool) -> bytes:
    """The module with ``straight`` control flow, and with ``limited`` subscripts of buffers."""
    made = straightened(module) if straight else module
    return limit_subscripts(made) if limited else made
