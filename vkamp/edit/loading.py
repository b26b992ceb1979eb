"""The checks of a hand-edited shader before it runs.

In this order: it has its base, it has no conflicts of a merge, it was edited for the present kernel, it compiles,
spirv-val accepts it, and its interface is the kernel's.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence

from vkamp import spirv
from vkamp.artifacts import Shader
from vkamp.edit.compare import code_of, conflict_line, generated_line
from vkamp.edit.interface import differences
from vkamp.edit.store import StoredShader
from vkamp.errors import Note, ShaderEditError, Span, edit_diagnostic
from vkamp.records import dataclass
from vkamp.spirv import GlslError, GlslMessage
from vkamp.spirv.reflection import Interface, reflect
from vkamp.spirv.validation import validate


@dataclass(frozen=True)
class Loaded:
    """An edited shader that passed every check: its text and its declarations."""

    text: str
    interface: Interface


def is_stale(kept: StoredShader, generated: str) -> bool:
    """Whether the kernel's present shader differs from the one that the file was edited from."""
    return kept.base_text is not None and code_of(kept.base_text) != code_of(generated)


def check_fresh(kept: StoredShader, generated: Shader | None) -> None:
    """Raises ShaderEditError for a file without its base, with a conflict, or edited for another shader than
    ``generated`` (``None``: not known).
    """
    linecache.checkcache(str(kept.path))
    text = kept.text or ""
    if kept.base_text is None:
        raise edit_diagnostic("VKA705", _span(kept, 1), base=str(kept.base_path))
    conflict = conflict_line(text)
    if conflict is not None:
        raise edit_diagnostic("VKA704", _span(kept, conflict), name=kept.name)
    if generated is not None and is_stale(kept, generated.glsl):
        notes = _changed(kept, generated)
        raise edit_diagnostic("VKA703", _span(kept, 1), notes=notes, kernel=kept.record.kernel, name=kept.name)


def load(kept: StoredShader, shader: Shader | None, shared_limit: int | None = None) -> Loaded:
    """Checks an edited shader against its kernel's generated shader or, if that is not known, against its base.

    Raises ShaderEditError, which points to the file's lines and the Python lines that they come from.
    """
    generated = shader.glsl if shader is not None else kept.base_text or ""
    check_fresh(kept, shader)
    text = kept.text or ""
    try:
        edited_spirv = spirv.compile(text, name=kept.name)
    except GlslError as error:
        raise _refused("VKA701", kept, shader, error.messages) from None
    said = validate(text, name=kept.name)
    if said:
        raise _refused("VKA706", kept, shader, said)
    interface = reflect(edited_spirv)
    found = differences(interface, reflect(spirv.compile(generated, name=kept.name)), shared_limit)
    if found:
        first, *others = found
        notes = [Note(_declaration(kept, each.where), each.text) for each in others]
        raise edit_diagnostic("VKA702", _declaration(kept, first.where), notes=notes, name=kept.name, what=first.text)
    return Loaded(text, interface)


def _refused(code: str, kept: StoredShader, shader: Shader | None, messages: Sequence[GlslMessage]) -> ShaderEditError:
    """The first message at its line, with the Python line; the others as notes."""
    first, *others = (GlslMessage(each.line, " ".join(each.text.split())) for each in messages)
    notes = [*_python_line(kept, shader, first.line)]
    notes += [Note(_span(kept, each.line or 1), each.text) for each in others]
    return edit_diagnostic(code, _span(kept, first.line or 1), notes=notes, said=first.text, name=kept.name)


def _python_line(kept: StoredShader, shader: Shader | None, line: int | None) -> list[Note]:
    """The line of the Python program that a line of the shader comes from."""
    if shader is None or line is None:
        return []
    found = generated_line(kept.text or "", shader.glsl, line)
    if found is None:
        return []
    number, is_exact = found
    for back, span in enumerate(reversed(shader.lines[:number])):
        if span is not None:
            is_exact = is_exact and back == 0
            return [Note(span, "the line comes from here" if is_exact else "the lines before it come from here")]
    return []


def _changed(kept: StoredShader, shader: Shader) -> list[Note]:
    """The Python line of the first line that is generated differently now."""
    before = code_of(kept.base_text or "").splitlines()
    for span, line in zip(shader.lines, shader.glsl.splitlines(), strict=False):
        plain = code_of(line)
        if plain and (not before or plain != before.pop(0)):
            return [] if span is None else [Note(span, "the generated shader of this line has changed")]
    return []


def _declaration(kept: StoredShader, pattern: str) -> Span:
    """The first line that matches a pattern, or else the file's first line."""
    lines = enumerate((kept.text or "").splitlines(), 1)
    return _span(kept, next((number for number, line in lines if re.search(pattern, line)), 1))


def _line(kept: StoredShader, line: int) -> str:
    lines = (kept.text or "").splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _span(kept: StoredShader, line: int) -> Span:
    """A whole line of the edited file."""
    text = _line(kept, line)
    indent = len(text) - len(text.lstrip())
    return Span(str(kept.path), line, indent, line, max(len(text.encode()), indent + 1))
