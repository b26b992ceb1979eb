"""Hand-edited shaders at launches: which one a launch uses, and writing those of a program's launches to a folder.

Loaded where there is a folder: :mod:`vkamp.dispatch.shader_overrides` is what every launch runs.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from vkamp import pipeline
from vkamp.artifacts import Domain, Executable, Target
from vkamp.edit.active import export_folder, set_export_folder
from vkamp.edit.compare import code_of
from vkamp.edit.loading import is_stale, load
from vkamp.edit.store import OUTSIDE, Record, ShaderFolder, ShaderForm, StoredShader
from vkamp.errors import InvalidComputeDomainError, ShaderEditWarning, Span, edit_diagnostic
from vkamp.records import dataclass
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.module import read_module

if TYPE_CHECKING:
    from vkamp.dispatch.preparing import KernelPrograms


@dataclass(frozen=True)
class Override:
    """The edited shader that a launch uses, and the target whose form it is."""

    kept: StoredShader
    target: Target
    executable: Executable


@dataclass
class _Export:
    """In which form the shaders of the program's launches are written, and which were."""

    lowering: str = "threads"
    names: dict[str, str] = dataclasses.field(default_factory=dict)


_export = _Export()


# -- whose shader ------------------------------------------------------------------------------------------------


def record_of(
    function: FunctionType, request: pipeline.Request, constants: Mapping[str, Any], form: ShaderForm, folder: Path
) -> Record:
    """The record beside a kernel's shader in a folder."""
    file = _file_of(function, folder)
    module = function.__module__
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if spec is not None and "." in spec.name:
        module = spec.name
    else:
        # A script, or a module of a folder that happens to be on the path: both are found by their place.
        module = ".".join(Path(file.removeprefix(OUTSIDE)).with_suffix("").parts)
    signature = pipeline.describe_request(request, constants)
    return Record(module, function.__qualname__, file, signature, form)


def _file_of(function: FunctionType, folder: Path) -> str:
    """The kernel's file relative to the folder's project; its name if it is outside the project."""
    path = Path(function.__code__.co_filename)
    try:
        return path.absolute().relative_to(folder.parent).as_posix()
    except ValueError:
        return f"{OUTSIDE}{path.name}"


def _form_of(target: Target) -> ShaderForm:
    return ShaderForm(target.lowering, target.lanes, target.folded, target.group, target.push_words)


def _target_of(form: ShaderForm) -> Target:
    lowering: Any = form.lowering
    return Target(form.push_words, form.folded, form.group, lowering=lowering, lanes=form.lanes)


def _portable(target: Target, lowering: str) -> Target:
    """The target that an exported shader is for: threads, as every device runs them, unless loops are asked for."""
    words = min(target.push_words, Target().push_words)
    lanes = target.lanes if lowering == "loops" else 1
    kind: Any = lowering
    return Target(words, target.folded, target.group, lowering=kind, lanes=lanes)


# -- at a launch -------------------------------------------------------------------------------------------------


def choose(
    store: ShaderFolder,
    programs: KernelPrograms,
    request: pipeline.Request,
    form: Target,
    domain: Domain,
    view: accelerator_view,
) -> Override | None:
    """The edited shader of a folder for a launch, checked; ``None`` where the generated one runs.

    Raises ShaderEditError for one that must not run.
    """
    function, compiled = request.function, programs.compiled
    record = record_of(function, request, compiled.constants, _form_of(form), store.folder)
    _refuse_stray(store, record, form)
    mine = [
        kept
        for kept in store.by_kernel.get(record.kernel, ())
        if kept.record.is_of(record.module, record.kernel, record.file)
    ]
    edited = [kept for kept in mine if kept.is_edited]
    same = [kept for kept in edited if kept.record.identity == record.identity]
    if not edited:
        same = _moved(store, programs, record)
    if not same:
        if edited:
            _warn(
                programs,
                function,
                f"of {edited[0].shown}: it is for other arguments ({edited[0].record.signature_text})",
            )
        return None
    if form.reference:
        _warn(programs, function, f"of {same[0].shown}: the reference accelerator runs the Python program")
        return None
    usable = [kept for kept in same if _is_usable(kept.record.form, form, domain, view)]
    if not usable:
        _warn(programs, function, f"of {same[0].shown}: this launch needs another form of the shader")
        return None
    # The form that the device would choose, else threads, which every device runs.
    usable.sort(key=lambda kept: kept.record.form.lowering == "threads")
    kept = usable[0]
    return Override(kept, _target_of(kept.record.form), _executable(kept, programs, form, view))


def _is_usable(kept: ShaderForm, form: Target, domain: Domain, view: accelerator_view) -> bool:
    limits = queue_of(view).info.limits
    if kept.folded != form.folded or kept.push_words > form.push_words:
        return False
    if kept.lowering == "loops" and (form.lowering == "threads" or kept.lanes != form.lanes):
        return False
    if domain.tile is None:
        x, y, z = kept.group
        if x * y * z > limits.tile_threads:
            return False
    try:
        _target_of(kept).grid(domain, limits.tile_count)
    except InvalidComputeDomainError:
        return False
    return True


def _executable(kept: StoredShader, programs: KernelPrograms, form: Target, view: accelerator_view) -> Executable:
    """The edited shader as a program, in the place of the generated one for a target."""
    target = _target_of(kept.record.form)
    generated = pipeline.executable(programs.compiled, target)
    info = queue_of(view).info
    loaded = load(kept, generated.shader, info.limits.shared_bytes)
    shader = dataclasses.replace(generated.shader, glsl=loaded.text, shared_bytes=loaded.interface.shared_bytes)
    lowering = f"{target.lowering}: edited by hand in {kept.shown}"
    to_spirv = functools.partial(
        pipeline.generated_spirv, name=generated.name, quirks=form.quirks & {"unchecked_bounds"}
    )
    made = dataclasses.replace(generated, make_shader=lambda: shader, compile=to_spirv, lowering=lowering)
    missing = sorted(read_module(made.spirv).features - info.usable_features)
    if missing:
        who = f"the {info.engine.capitalize()} engine cannot enable" if missing[0] in info.features else ""
        span = Span(str(kept.path), 1, 0, 1, 1 << 20)
        who = who or f"{info.name} lacks"
        raise edit_diagnostic("VKA707", span, features=", ".join(missing), who=who, name=kept.name)
    return made


def _moved(store: ShaderFolder, programs: KernelPrograms, record: Record) -> list[StoredShader]:
    """Edited shaders of a kernel that is gone, and that this one is under another name or in another file: those whose
    generated shader is this kernel's.
    """
    found = []
    texts: dict[ShaderForm, str] = {}
    for kept in store.kept:
        if kept.record.signature["args"] != record.signature["args"] or not kept.is_edited:
            continue
        if kept.record.identity != record.identity or not is_gone(kept):
            continue
        form = kept.record.form
        if form not in texts:
            texts[form] = code_of(pipeline.executable(programs.compiled, _target_of(form)).shader.glsl)
        if kept.base_text is not None and code_of(kept.base_text) == texts[form]:
            found.append(kept)
    return found


def is_gone(kept: StoredShader) -> bool:
    """Whether the function that a shader was generated from is no longer in its file."""
    if kept.record.file.startswith(OUTSIDE):
        return False
    path = kept.store.folder.parent / kept.record.file
    try:
        tree = ast.parse(path.read_bytes())
    except FileNotFoundError:
        return True
    except (OSError, SyntaxError):
        return False
    name = kept.record.kernel.rpartition(".")[2]
    return all(getattr(node, "name", None) != name for node in ast.walk(tree))


def _refuse_stray(store: ShaderFolder, record: Record, form: Target) -> None:
    """A file where an edit of this kernel would be, whose base is gone: it is not passed over in silence."""
    if not store.strays or form.reference:
        return
    for text in ("threads", form.lowering):
        name = dataclasses.replace(record, form=dataclasses.replace(record.form, lowering=text)).path.as_posix()
        if name in store.strays:
            stray = StoredShader(store, name, record)
            span = Span(str(stray.path), 1, 0, 1, 1 << 20)
            raise edit_diagnostic("VKA705", span, base=str(stray.base_path), name=name)


def _warn(programs: KernelPrograms, function: FunctionType, text: str) -> None:
    """Told once for each kernel and reason."""
    warnings.warn_explicit(
        f"{function.__name__} runs as generated, without the edit {text}",
        ShaderEditWarning,
        function.__code__.co_filename,
        function.__code__.co_firstlineno,
        registry=programs.warned,
    )


# -- writing -----------------------------------------------------------------------------------------------------


def export_launches(folder: Path | None, lowering: str = "threads") -> None:
    """From now on the shader of every launch is written to a folder (``None``: no longer), unless it is there."""
    set_export_folder(None if folder is None else ShaderFolder(folder))
    _export.lowering = lowering
    _export.names.clear()


def exported() -> dict[str, str]:
    """What was written since, or was there: name, and ``written``, ``current``, ``edited`` or ``stale``."""
    return dict(_export.names)


def export(programs: KernelPrograms, request: pipeline.Request, form: Target) -> None:
    """Writes a launch's shader; an edited one stays as it is."""
    store = export_folder()
    assert store is not None
    target = _portable(form, _export.lowering)
    record = record_of(request.function, request, programs.compiled.constants, _form_of(target), store.folder)
    name = record.path.as_posix()
    if name in _export.names:
        return
    known = next((kept for kept in store.kept if kept.name == name), None)
    glsl = pipeline.executable(programs.compiled, target).shader.glsl
    if known is not None and known.is_touched:
        # The generated shader is recorded for a later merge: for a closure, this is the only record.
        store.note(name, glsl)
        _export.names[name] = "stale" if is_stale(known, glsl) else "edited"
        return
    store.write(record, glsl, glsl)
    _export.names[name] = "written" if known is None or known.text != glsl else "current"
