"""A program: ``library.py LIBRARIES`` compiles shaders with glslang's library until its input ends.

It reads a size (4 bytes, little-endian) and that number of bytes of GLSL, and writes a size and that number of bytes of
SPIR-V. The size is 0 for a shader with errors, which glslangValidator then reports. Imports nothing of the package, so
that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
from typing import Any

_SOURCE_GLSL, _STAGE_COMPUTE, _CLIENT_VULKAN, _TARGET_SPV = 1, 5, 1, 1
_VULKAN_1_1, _SPV_1_3 = 1 << 22 | 1 << 12, 1 << 16 | 3 << 8
_NO_PROFILE = 1
#: Of glslang_messages_t: the rules of SPIR-V and of Vulkan.
_MESSAGES = 1 << 3 | 1 << 4
#: The first shader of a process takes 0.1 to 0.3 s longer than others, since the library makes its tables of functions.
_FIRST = b"#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n"
#: The process ends after this many seconds without a shader.
_IDLE = 20.0


class _Input(ctypes.Structure):
    """glslang_input_t of glslang 11 to 13."""

    _fields_ = [
        ("language", ctypes.c_int),
        ("stage", ctypes.c_int),
        ("client", ctypes.c_int),
        ("client_version", ctypes.c_int),
        ("target_language", ctypes.c_int),
        ("target_language_version", ctypes.c_int),
        ("code", ctypes.c_char_p),
        ("default_version", ctypes.c_int),
        ("default_profile", ctypes.c_int),
        ("force_default_version_and_profile", ctypes.c_int),
        ("forward_compatible", ctypes.c_int),
        ("messages", ctypes.c_int),
        ("resource", ctypes.c_void_p),
        ("callbacks", ctypes.c_void_p * 3),
        ("callbacks_ctx", ctypes.c_void_p),
    ]


class _Library:
    """The functions of its C interface."""

    def __init__(self, folder: str) -> None:
        limits, main, spirv = (
            ctypes.CDLL(os.path.join(folder, f"{name}.so"), mode=ctypes.RTLD_GLOBAL)
            for name in ("libglslang-default-resource-limits", "libglslang", "libSPIRV")
        )
        pointer = ctypes.c_void_p

        def bind(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
            function = library[f"glslang_{name}"]
            function.restype, function.argtypes = result, arguments
            return function

        self.initialize = bind(main, "initialize_process", ctypes.c_int)
        self.resource = bind(limits, "default_resource", pointer)
        self.shader_create = bind(main, "shader_create", pointer, pointer)
        self.shader_delete = bind(main, "shader_delete", None, pointer)
        self.preprocess = bind(main, "shader_preprocess", ctypes.c_int, pointer, pointer)
        self.parse = bind(main, "shader_parse", ctypes.c_int, pointer, pointer)
        self.program_create = bind(main, "program_create", pointer)
        self.program_delete = bind(main, "program_delete", None, pointer)
        self.add_shader = bind(main, "program_add_shader", None, pointer, pointer)
        self.link = bind(main, "program_link", ctypes.c_int, pointer, ctypes.c_int)
        self.generate = bind(spirv, "program_SPIRV_generate", None, pointer, ctypes.c_int)
        self.size = bind(spirv, "program_SPIRV_get_size", ctypes.c_size_t, pointer)
        self.words = bind(spirv, "program_SPIRV_get", None, pointer, pointer)
        if not self.initialize():
            raise OSError("glslang's library does not start")

    def compile(self, source: bytes) -> bytes | None:
        """The SPIR-V; ``None`` if the shader is refused."""
        text = _Input(
            language=_SOURCE_GLSL,
            stage=_STAGE_COMPUTE,
            client=_CLIENT_VULKAN,
            client_version=_VULKAN_1_1,
            target_language=_TARGET_SPV,
            target_language_version=_SPV_1_3,
            code=source,
            default_version=100,
            default_profile=_NO_PROFILE,
            messages=_MESSAGES,
            resource=self.resource(),
        )
        shader, program = self.shader_create(ctypes.byref(text)), self.program_create()
        try:
            if not self.preprocess(shader, ctypes.byref(text)) or not self.parse(shader, ctypes.byref(text)):
                return None
            self.add_shader(program, shader)
            if not self.link(program, _MESSAGES):
                return None
            self.generate(program, _STAGE_COMPUTE)
            words = (ctypes.c_uint32 * self.size(program))()
            self.words(program, words)
            return bytes(words)
        finally:
            self.program_delete(program)
            self.shader_delete(shader)


def _read(size: int) -> bytes:
    """``size`` bytes of the input, or fewer if it ends."""
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            break
        data += part
    return data


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def main(libraries: str) -> None:
    """Answers one shader after another."""
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the library says things
    library = _Library(libraries)
    library.compile(_FIRST)
    while select.select([0], [], [], _IDLE)[0]:
        head = _read(4)
        size = int.from_bytes(head, "little")
        source = _read(size)
        if len(head) < 4 or len(source) < size:
            break
        data = library.compile(source) or b""
        _write(answers, len(data).to_bytes(4, "little") + data)


if __name__ == "__main__":
    main(*sys.argv[1:])
