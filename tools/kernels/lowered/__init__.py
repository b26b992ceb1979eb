"""Tile programs for the lowering to loops; importing the package registers all of them in ``programs.PROGRAMS``."""

from tools.kernels.lowered import copies, kept_values, programs, subgroups, together

__all__ = ["copies", "kept_values", "programs", "subgroups", "together"]
