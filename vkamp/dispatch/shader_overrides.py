"""What every launch asks of hand-edited shaders: whether there are any, and whether shaders are written to a folder."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from vkamp import pipeline
from vkamp.artifacts import Domain, Target
from vkamp.edit.active import active_folder, export_folder, generation
from vkamp.run.accelerators import accelerator_view, queue_of

if TYPE_CHECKING:
    from vkamp.dispatch.override_files import Override
    from vkamp.dispatch.preparing import KernelPrograms


def _files() -> ModuleType:
    """Loaded where there is a folder of shaders, which most programs lack."""
    from vkamp.dispatch import override_files

    return override_files


def export(programs: KernelPrograms, request: pipeline.Request, target: Target) -> None:
    """Writes a launch's shader, where the program's shaders are exported."""
    if export_folder() is not None:
        _files().export(programs, request, target)


def choose(
    programs: KernelPrograms, request: pipeline.Request, target: Target, domain: Domain, view: accelerator_view
) -> tuple[int, Override | None]:
    """The generation of the folder in force, and its edited shader for a launch, checked; ``None`` where the generated
    one runs.

    Raises ShaderEditError for one that must not run.
    """
    store = active_folder()
    now = generation()
    # While a program's shaders are exported, it runs as it is written.
    if store is None or export_folder() is not None:
        return now, None
    info = queue_of(view).info
    key = (target, domain.shape if target.folded else None, info.uuid, info.index, info.engine)
    known = programs.overrides.get(key)
    if known is None or known[0] != now:
        known = programs.overrides[key] = now, _files().choose(store, programs, request, target, domain, view)
    return known
