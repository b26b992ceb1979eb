"""IR -> GLSL: a kernel as a compute shader that a person can read, edit by hand and merge."""

from vkamp.emit.launch import choose_target, grid, tile_counts
from vkamp.emit.shader import emit

__all__ = ["choose_target", "emit", "grid", "tile_counts"]
