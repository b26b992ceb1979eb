"""``kernel.inspect``: what vkamp makes of a kernel, for people."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vkamp import pipeline
from vkamp.artifacts import Binding, Executable
from vkamp.dispatch import launch_arguments
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare
from vkamp.display.page import block, facts, heading, program
from vkamp.edit.saving import save
from vkamp.errors import Span
from vkamp.tracebacks import entry_point


@entry_point
@dataclass(frozen=True)
class Inspection:
    """A kernel compiled for one launch, not run.

    ``glsl``: the shader's text; ``bindings``: its storage buffers; ``ir``: the typed IR as text; ``spirv``: the binary.
    ``lowering``: whether the threads of a tile are ``threads`` of the device or ``loops``, with the reason where loops
    were wanted and cannot be.  ``matrices``: whether cooperative matrices are the ``device``'s own, or distributed over
    ``threads``; empty without any.  ``edited``: the file of the hand-edited shader that is in force and shown here, if
    any.
    """

    name: str
    glsl: str
    bindings: tuple[Binding, ...]
    local_size: tuple[int, int, int]
    shared_bytes: int
    _executable: Executable
    edited: Path | None = None

    @property
    def lowering(self) -> str:
        """How the threads of a tile run: ``loops``, ``threads``, or ``threads: REASON``."""
        return self._executable.lowering

    @property
    def matrices(self) -> str:
        """How cooperative matrices are implemented: ``device`` (by the device), ``threads`` (in private memory), or
        empty.
        """
        if not pipeline.with_matrices(self._executable):
            return ""
        return "device" if "coopmat<" in self.glsl else "threads"

    @property
    def ir(self) -> str:
        """The typed IR as text."""
        return pipeline.ir_text(self._executable)

    @property
    def spirv(self) -> bytes:
        """The SPIR-V binary; compiled, or taken from the cache, when it is first asked for."""
        return self._executable.spirv

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Writes the GLSL (``.comp``, ``.glsl``), the SPIR-V (``.spv``) or the IR (``.ir``), as the suffix of ``path``
        says, or all three into the folder ``path``, named as the kernel; returns the files.

        Replaces files that are there.  AmpError for another suffix, and in a folder of hand-edited shaders, which
        ``vkamp shaders export`` writes to.
        """
        makers = {"glsl": self.glsl.encode, "spirv": lambda: self.spirv, "ir": lambda: self.ir.encode()}
        return save(Path(path), self.name, makers)

    def _repr_html_(self) -> str:
        """For notebooks: the GLSL, coloured where Pygments is installed, with what it needs."""
        edited = () if self.edited is None else (f"edited by hand: {self.edited} is in force",)
        uses = {(True, False): "read", (False, True): "written", (True, True): "read and written"}
        rows = [("threads", f"{self.lowering}; {' x '.join(map(str, self.local_size))} in a group")]
        rows.append(("tile_static", f"{self.shared_bytes} bytes"))
        for binding in self.bindings:
            use = uses.get((binding.reads, binding.writes), "not accessed")
            rows.append((f"binding {binding.number}", f"{', '.join(binding.params)}: {binding.element}, {use}"))
        return block([heading(self.name, *edited), facts(rows), program(self.glsl, "glsl")])

    def __str__(self) -> str:
        return self.glsl

    def __repr__(self) -> str:
        lines = self.glsl.count("\n")
        return f"<the shader of {self.name}, {lines} lines: print() shows it; .ir and .spirv are its other forms>"


def inspect_kernel(kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> Inspection:
    """Implements ``kernel.inspect(*args, **constants)``."""
    view, domain, rest = launch_arguments.parse(f"{kernel.__name__}.inspect", args)
    prepared = prepare(view, domain_of(domain), kernel, rest, constants)
    # Now: later the names that the kernel was compiled with may mean something else.
    prepared.compiled.whole()
    shader, edited, glsl = prepared.executable.shader, None, prepared.executable.shader.glsl
    if prepared.override is not None:
        edited = prepared.override.kept.path
        glsl = f"// Edited by hand: {prepared.override.kept.shown} is in force.\n{glsl}"
    return Inspection(
        shader.name, glsl, shader.bindings, shader.local_size, shader.shared_bytes, prepared.executable, edited
    )


def block_uses(kernel: Any, args: tuple[Any, ...], constants: dict[str, Any], rows: dict[str, int]) -> BlockUses:
    """What a launch does with its containers, if its domain is cut into blocks of rows; see ``vkamp.stream``."""
    view, domain, rest = launch_arguments.parse("stream", args)
    prepared = prepare(view, domain_of(domain), kernel, rest, constants)
    used = {use.name: use for use in prepared.uses if use.name in prepared.arguments.containers}
    return BlockUses(
        frozenset(name for name, use in used.items() if use.reads),
        frozenset(name for name, use in used.items() if use.writes),
        pipeline.writes_everything(prepared.compiled),
        pipeline.outside_of_blocks(prepared.compiled, rows),
        dict(prepared.arguments.containers),
    )


class BlockUses(NamedTuple):
    """The names of the containers that a kernel reads, writes, and writes at each thread's own index; its accesses
    outside of a thread's rows (container, whether it is a write, where); and the containers by name."""

    reads: frozenset[str]
    writes: frozenset[str]
    written_whole: frozenset[str]
    outside: list[tuple[str, bool, Span]]
    containers: dict[str, Any]
