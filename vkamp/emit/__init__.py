"""IR -> GLSL: a kernel as a compute shader that a person can read, edit by hand and merge."""

from vkamp.emit.shader import emit

__all__ = ["emit"]
