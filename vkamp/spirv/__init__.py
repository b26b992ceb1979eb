"""GLSL text -> SPIR-V: glslangValidator as a subprocess, with a cache on disk.

``VKAMP_GLSLANG`` names the compiler, ``VKAMP_CACHE_DIR`` the cache's folder and ``VKAMP_CACHE_SIZE`` its bound in MiB
(256; 0 turns it off).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from vkamp import prebuilt
from vkamp.cache import DiskCache, default_cache
from vkamp.errors import AmpError
from vkamp.progress import NOTHING, activity
from vkamp.spirv.glslang import OPTIONS, Compiler, run, within_limits
from vkamp.spirv.glslang import GlslError as GlslError
from vkamp.spirv.glslang import GlslMessage as GlslMessage
from vkamp.spirv.glslang import find_compiler as find_compiler
from vkamp.spirv.resident import resident_of

#: Increase when the same text, compiler and options are to give something else.
_FORMAT = 4


def compile(glsl: str, *, name: str = "kernel", straight: bool = False, limited: bool = False) -> bytes:
    """The SPIR-V 1.3 of a compute shader, little-endian words as bytes.

    ``name`` is what errors call the shader; ``straight``: for drivers that take long for branches
    (:mod:`vkamp.spirv.straighten`); ``limited``: with limited subscripts of buffers, for drivers that do not check
    them (:mod:`vkamp.spirv.bounds`). Compiles with glslangValidator for Vulkan 1.1, or takes the result of an earlier
    compilation of the same text by the same compiler from the cache on disk.

    Raises :class:`GlslError` if the compiler refuses the text, AmpError if there is no compiler, or if it crashes,
    hangs or gives something that is not SPIR-V.
    """
    rewrites = "straight" * straight, "limited" * limited
    artifacts = prebuilt.active()
    if artifacts is None:
        return _compile(glsl, name, straight, limited, rewrites)
    # Of a shader that was compiled ahead, the compiler is not asked for.
    key = _key(glsl, "compiled ahead", *filter(None, rewrites))
    known = artifacts.spirv.get(key)
    if known is None:
        try:
            find_compiler()
        except AmpError as error:
            raise AmpError(f"{artifacts.missing(name)}; and {error}") from error
        known = _compile(glsl, name, straight, limited, rewrites)
        artifacts.spirv.put(key, known)
    return known


def _compile(glsl: str, name: str, straight: bool, limited: bool, rewrites: tuple[str, str]) -> bytes:
    if not straight and not limited:
        return compile_many([glsl], name=name)[0]
    cache = default_cache()
    key = _key(glsl, _version(find_compiler(), cache), *filter(None, rewrites))
    known = cache.get(key)
    if known is None:
        # Imported here: most processes find their shaders in the cache.
        from vkamp.spirv.rewriting import rewritten

        known = compile_many([glsl], name=name)[0]
        known = rewritten(known, straight=straight, limited=limited)
        cache.put(key, known)
    return known


def compile_many(shaders: Sequence[str], *, name: str = "kernel") -> list[bytes]:
    """The SPIR-V of several compute shaders, those that are not cached compiled together.

    A process's first shader by glslangValidator, all others by a process that stays and runs glslang's library, where
    that is installed. What it does not compile, and everything elsewhere, in a process of glslangValidator each, side
    by side: that one links all files of a call into one module, and a module has one ``main``. Raises what
    :func:`compile` raises, for the first shader in order that fails.
    """
    compiler, cache = find_compiler(), default_cache()
    version = _version(compiler, cache)
    keys = {glsl: _key(glsl, version) for glsl in shaders}
    done = {glsl: data for glsl, key in keys.items() if (data := cache.get(key)) is not None}
    missing = [glsl for glsl in keys if glsl not in done]

    def build(glsl: str) -> bytes:
        data = run(compiler, glsl, name)
        cache.put(keys[glsl], data)
        return data

    with activity(f"compiling {name} to SPIR-V") if missing else NOTHING:
        quick = resident_of(compiler)
        if len(missing) > 1 or quick.is_prepared:
            for glsl in missing:
                # glslang's library has the validator's own limits.
                found = quick.compile(glsl) if within_limits(glsl) else None
                if found is not None:
                    cache.put(keys[glsl], found)
                    done[glsl] = found
            missing = [glsl for glsl in missing if glsl not in done]
        elif missing:
            quick.prepare()
        done.update(zip(missing, _side_by_side(build, missing), strict=True))
    return [done[glsl] for glsl in shaders]


def start() -> None:
    """Starts the resident glslang process before the first shader needs it. Raises AmpError without a compiler."""
    compiler = find_compiler()
    resident_of(compiler).prepare()
    _version(compiler, default_cache())


def _side_by_side(build: Callable[[str], bytes], shaders: list[str]) -> list[bytes]:
    if len(shaders) < 2:
        return [build(glsl) for glsl in shaders]
    # Imported here: few processes need it.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(shaders), os.cpu_count() or 1)) as pool:
        return list(pool.map(build, shaders))


def _key(glsl: str, version: str, *more: str) -> str:
    text = "\0".join((str(_FORMAT), version, *OPTIONS, *more, glsl))
    return hashlib.sha256(text.encode()).hexdigest()


def _version(compiler: Compiler, cache: DiskCache) -> str:
    """The compiler's version text; asking it takes longer than a cached compilation, so that is remembered too."""
    key = "version-" + hashlib.sha256("\0".join(compiler.identity()).encode()).hexdigest()
    known = cache.get(key)
    if known is None:
        known = compiler.version().encode()
        cache.put(key, known)
    return known.decode()


#: What generated shaders use beyond GLSL 4.50.
_PROBE = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) restrict buffer numbers_buffer {
    float numbers[];
};
shared float tile[64];
void main() {
    tile[gl_LocalInvocationID.x] = numbers[gl_GlobalInvocationID.x];
    subgroupMemoryBarrierShared(); memoryBarrierShared(); barrier();
    numbers[gl_GlobalInvocationID.x] = tile[63 - gl_LocalInvocationID.x];
}
"""


def try_compiler(compiler: Compiler) -> None:
    """Compiles a small shader, uncached; AmpError if that fails."""
    run(compiler, _PROBE, "a small shader")
