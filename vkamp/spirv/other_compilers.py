"""What the GLSL compilers of a machine know: for `vkamp doctor`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from vkamp.errors import AmpError
from vkamp.spirv.glslang import PROGRAMS, Compiler, GlslError, run

#: Extensions that not every glslang knows, with what they are for.
EXTENSIONS = {
    "GL_KHR_cooperative_matrix": "cooperative matrices",
    "GL_NV_cooperative_matrix2": "cooperative matrices of tiles",
    "GL_EXT_bfloat16": "cooperative matrices of bfloat16",
}
_SHADER = "#version 450\n#extension {} : require\nlayout(local_size_x = 1) in;\nvoid main() {{}}\n"


def version_of(compiler: Compiler) -> tuple[int, ...] | None:
    """The two first parts of a compiler's version; None if it does not say it as glslang does."""
    found = re.search(r"Glslang Version: (?:\d+:)?(\d+)\.(\d+)", compiler.version())
    return None if found is None else (int(found[1]), int(found[2]))


def known_extensions(compiler: Compiler) -> dict[str, bool]:
    """Which of ``EXTENSIONS`` a compiler knows."""
    known = {}
    for name in EXTENSIONS:
        try:
            run(compiler, _SHADER.format(name), name)
            known[name] = True
        except GlslError:
            known[name] = False
    return known


def newer_than(compiler: Compiler) -> tuple[Compiler, tuple[int, ...]] | None:
    """The newest compiler on the PATH or in the Vulkan SDK that is newer than this one, with its version."""
    own = version_of(compiler)
    best = None
    for other in _others():
        try:
            version = version_of(other)
        except AmpError:
            # A compiler that does not run is not recommended.
            continue
        if own is not None and version is not None and version > max(own, best[1] if best else own):
            best = other, version
    return best


def _others() -> Iterator[Compiler]:
    sdk = os.environ.get("VULKAN_SDK") or ""
    folders = [*(os.environ.get("PATH") or "").split(os.pathsep)]
    folders += [str(Path(sdk, name)) for name in ("bin", "Bin") if sdk]
    seen = set()
    for folder in filter(None, folders):
        for name in PROGRAMS:
            path = shutil.which(name, path=folder)
            if path is not None and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield Compiler(path)
