"""What spirv-val says against shaders that a person has changed; generated shaders are not validated."""

from __future__ import annotations

import hashlib

from vkamp.cache import default_cache
from vkamp.spirv import GlslMessage, compile
from vkamp.spirv.glslang import find_compiler, run
from vkamp.spirv.reflection import source_line
from vkamp.spirv.validator import find_validator, validator_messages


def validate(glsl: str, *, name: str = "kernel") -> list[GlslMessage]:
    """What spirv-val says against a shader that glslang accepts; ``[]`` if nothing, or if it is not installed.

    Generated shaders need none: it is for those that a person has changed.
    """
    validator = find_validator()
    if validator is None:
        return []
    data, cache = compile(glsl, name=name), default_cache()
    key = "valid-" + hashlib.sha256("\0".join(validator.identity()).encode() + data).hexdigest()
    if cache.get(key) is not None:
        return []
    if not validator_messages(validator, data):
        cache.put(key, b"valid")
        return []
    # Once more, with the lines of the shader in the module.
    lined = run(find_compiler(), glsl, name, ("-g",))
    found = validator_messages(validator, lined)
    return [GlslMessage(None if at is None else source_line(lined, at), text) for at, text in found]
