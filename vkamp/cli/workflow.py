"""What the commands of ``vkamp shaders`` do, without output to the terminal."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

from vkamp.artifacts import Shader, Target
from vkamp.cli.kernels import KernelPlace, kernel_of, load_module, places
from vkamp.dispatch import override_files
from vkamp.edit.compare import code_of, conflict_line
from vkamp.edit.loading import is_stale, load
from vkamp.edit.merging import Merged, merge
from vkamp.edit.store import Record, ShaderFolder, ShaderForm, StoredShader
from vkamp.errors import AmpError, ShaderEditError
from vkamp.lang.kernel import KernelFunction
from vkamp.pipeline import compiler, request_of

#: The similarity of two shaders from which the kernel of one counts as the renamed kernel of the other.
_ALIKE = 0.6


@dataclass(frozen=True)
class State:
    """The state of a stored shader: ``word`` is ``unedited``, ``edited``, ``stale``, ``conflict``, ``moved``, ``gone``,
    ``removed``, ``no base`` or ``unknown``; ``is_edited``: the file differs from what was generated.

    ``shader`` is the newly generated shader, and ``record`` its source (for a kernel that moved: its new place).
    """

    kept: StoredShader
    word: str
    is_edited: bool
    text: str = ""
    shader: Shader | None = None
    record: Record | None = None

    @property
    def needs_attention(self) -> bool:
        """Whether the user must act before the edit runs, or runs under its kernel's name."""
        return self.word in ("conflict", "no base") or (self.is_edited and self.word in ("stale", "moved", "gone"))


@dataclass(frozen=True)
class Outcome:
    """The result for one shader: its new name, a word, and the number of conflicts in it."""

    name: str
    word: str
    conflicts: int = 0


# -- what is generated now ---------------------------------------------------------------------------------------


def generate(function: FunctionType, record: Record) -> Shader:
    """The shader of a kernel now, for a record's signature and form. AmpError if it has none."""
    request, captured = request_of(function, record.signature)
    compiled = compiler.compile_kernel(request, captured)
    return compiler.executable(compiled.kernel, _target(record.form)).shader


def _target(form: ShaderForm) -> Target:
    lowering = "loops" if form.lowering == "loops" else "threads"
    return Target(form.push_words, form.folded, form.group, lowering=lowering, lanes=form.lanes)  # type: ignore[arg-type]


def look(kept: StoredShader) -> State:
    """The state of a stored shader, with the shader that its kernel has now; imports the kernel's module, and needs no
    device."""
    edited = kept.is_touched
    if kept.base_text is None:
        return State(kept, "no base", edited, "its generated shader is missing")
    if kept.text is None:
        return State(kept, "removed", False, "the generated shader runs")
    if conflict_line(kept.text) is not None:
        return State(kept, "conflict", edited, f"line {conflict_line(kept.text)}: an unresolved merge conflict")
    try:
        return _compared(kept, edited)
    except AmpError as error:
        return State(kept, "unknown", edited, str(error).splitlines()[0])


def _compared(kept: StoredShader, edited: bool) -> State:
    root, record = kept.store.folder.parent, kept.record
    noted = kept.store.noted(kept.name)
    # A kernel's captures are known only while its program runs.
    if "<locals>" in record.kernel or {"owner", "captures"} & record.signature.keys():
        if override_files.is_gone(kept):
            return State(kept, "gone", edited, f"{record.file} no longer has {record.kernel}")
        if noted is None:
            word = "edited" if edited else "unedited"
            return State(kept, word, edited, "it captures variables: `vkamp run --export` says whether it is current")
        word = "stale" if code_of(noted) != code_of(kept.base_text or "") else "edited"
        return State(kept, word, edited, "according to its program's last run", _noted_shader(kept, noted), record)
    kernel = kernel_of(record, root)
    if kernel is None:
        return _moved(kept, edited, root)
    shader = generate(kernel.function, record)
    if is_stale(kept, shader.glsl):
        text = "the kernel, or vkamp, has changed" + ("" if edited else "; the generated shader runs")
        return State(kept, "stale", edited, text, shader, record)
    return State(kept, "edited" if kept.is_edited else "unedited", edited, "", shader, record)


def _noted_shader(kept: StoredShader, glsl: str) -> Shader:
    return Shader(glsl, kept.record.kernel, (), (), None, (1, 1, 1), kept.record.form.folded, 0)


def _moved(kept: StoredShader, edited: bool, root: Path) -> State:
    """Searches for the kernel under another name in its file, and under its name in other files."""
    record = kept.record
    base = code_of(kept.base_text or "")
    best: tuple[float, KernelPlace, Shader, Record] | None = None
    for place in places(root):
        if (place.file == record.file) == (place.kernel == record.kernel):
            continue
        found = _candidate(place, root, record)
        if found is None:
            continue
        shader, now = found
        alike = difflib.SequenceMatcher(None, base, code_of(shader.glsl), autojunk=False).ratio()
        if alike >= _ALIKE and (best is None or alike > best[0]):
            best = alike, place, shader, now
    if best is None:
        return State(kept, "gone", edited, f"the kernel {record.kernel_path} no longer exists")
    alike, place, shader, now = best
    text = f"the kernel is {place.module}:{place.kernel} now" + ("" if alike == 1 else ", and has changed")
    return State(kept, "moved", edited, text, shader, now)


def _candidate(place: KernelPlace, root: Path, record: Record) -> tuple[Shader, Record] | None:
    """The shader of another kernel for a record's signature, and its record; ``None`` if it has none."""
    try:
        kernel = vars(load_module(place.module, root, place.file)).get(place.kernel)
        if not isinstance(kernel, KernelFunction):
            return None
        shader = generate(kernel.function, record)
    except AmpError:
        # Another kernel of that name, with other parameters.
        return None
    return shader, dataclasses.replace(record, module=place.module, kernel=place.kernel, file=place.file)


# -- the commands ------------------------------------------------------------------------------------------------


def export_kernel(
    store: ShaderFolder, kernel: KernelFunction, signature: dict[str, object], form: ShaderForm
) -> StoredShader:
    """Writes the shader of a kernel for a signature (``front.describe_request``)."""
    request, captured = request_of(kernel.function, signature)
    compiled = compiler.compile_kernel(request, captured)
    record = override_files.record_of(kernel.function, request, compiled.constants, form, store.folder)
    return store.export(record, compiler.executable(compiled.kernel, _target(form)).shader.glsl)


def merge_one(kept: StoredShader, onto: StoredShader | None = None) -> Outcome:
    """Brings an edited shader up to date with its kernel, or applies its edit to another shader of the folder.

    Keeps the previous files for ``ShaderFolder.undo``. AmpError if the newly generated shader is not known, or a
    conflict is left.
    """
    state = look(kept)
    if onto is not None:
        return _merge_onto(kept, state, onto)
    if state.word in ("no base", "gone", "unknown", "conflict"):
        raise AmpError(f"{kept.shown} cannot be merged: {state.word}, {state.text}")
    if state.shader is None or state.record is None:
        return Outcome(kept.name, state.word)
    if state.word != "moved" and kept.base_text == state.shader.glsl:
        return Outcome(kept.name, "current")
    text, base = kept.text, kept.base_text
    if text is None or base is None:
        return Outcome(kept.name, state.word)
    done = merge(base, text, state.shader.glsl, name=kept.name)
    store, name = kept.store, state.record.path.as_posix()
    if name != kept.name and any(each.name == name for each in store.kept):
        raise AmpError(
            f"{kept.shown} would become {name}, which already exists: remove one of them, or merge --onto {name}"
        )
    store.keep_before(kept, name)
    made = store.write(state.record, done.text, state.shader.glsl)
    if name != kept.name:
        store.remove(kept.name)
    return Outcome(made.name, _word(kept, done), done.conflicts)


def _merge_onto(kept: StoredShader, state: State, onto: StoredShader) -> Outcome:
    """Applies the edit of one shader to another one, which must be unedited."""
    if onto.is_touched:
        raise AmpError(f"{onto.shown} is edited, too: a shader can be merged onto an unedited one only")
    if kept.text is None or kept.base_text is None or onto.base_text is None or state.word == "conflict":
        raise AmpError(f"{kept.shown} cannot be merged: {state.word}, {state.text}")
    done = merge(kept.base_text, kept.text, onto.base_text, name=kept.name)
    kept.store.keep_before(onto, onto.name)
    kept.store.write(onto.record, done.text, onto.base_text)
    return Outcome(onto.name, _word(kept, done), done.conflicts)


def _word(kept: StoredShader, done: Merged) -> str:
    if done.conflicts:
        return "conflict"
    return "merged" if kept.is_touched else "updated"


def revert_one(kept: StoredShader, *, remove: bool = False) -> Outcome:
    """Restores the generated shader; with ``remove`` it deletes the file. The edited file is kept for ``undo``."""
    if kept.base_text is None and not remove:
        raise AmpError(f"{kept.shown} cannot be reverted: {kept.base_path} is missing")
    if kept.text is not None and kept.base_text is not None:
        kept.store.keep_before(kept, kept.name)
    if remove:
        kept.store.remove(kept.name)
        return Outcome(kept.name, "removed")
    assert kept.base_text is not None
    kept.store.write(kept.record, kept.base_text, kept.base_text)
    return Outcome(kept.name, "reverted")


def check_one(kept: StoredShader) -> tuple[str, AmpError | None]:
    """Whether a shader would run, as a word, and the error that a launch would raise."""
    state = look(kept)
    if state.word in ("unknown", "gone", "removed"):
        if not state.is_edited:
            return state.word, None
        return _loaded(kept, None, state.word)
    if state.word == "moved":
        return "moved", AmpError(f"{kept.shown}: {state.text}; `vkamp shaders merge` renames the file")
    if state.word == "stale" and not state.is_edited:
        return "stale", None
    return _loaded(kept, state.shader, state.word)


def _loaded(kept: StoredShader, shader: Shader | None, word: str) -> tuple[str, AmpError | None]:
    try:
        load(kept, shader)
    except ShaderEditError as error:
        return "wrong", error
    return word, None
