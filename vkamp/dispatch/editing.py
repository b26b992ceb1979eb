"""What every launch asks of hand-edited shaders: whether there are any, and whether shaders are written to a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vkamp import pipeline
from vkamp.artifacts import Target
from vkamp.edit.active import active_folder, generation

if TYPE_CHECKING:
    from vkamp.dispatch.domain import Domain
    from vkamp.dispatch.edits import Chosen
    from vkamp.dispatch.launch import Entry
    from vkamp.edit.store import Store
    from vkamp.run.accelerators import accelerator_view


_export: Store | None = None


def export_folder() -> Store | None:
    """The folder that the shaders of launches are written to, if they are."""
    return _export


def set_export_folder(store: Store | None) -> None:
    """For :mod:`vkamp.dispatch.edits`, which writes them."""
    global _export
    _export = store


def looked_for() -> int:
    """The generation of the folder in force, which is looked for where none is yet."""
    active_folder()
    return generation()


def choose(
    entry: Entry, request: pipeline.Request, form: Target, domain: Domain, view: accelerator_view
) -> Chosen | None:
    """The edited shader for a launch, checked; ``None`` where the generated one runs.

    Raises ShaderEditError for one that must not run.
    """
    # While a program's shaders are exported, it runs as it is written.
    store = None if _export is not None else active_folder()
    if store is None:
        return None
    info = view._queue.info
    key = (form, domain.shape if form.folded else None, info.uuid, info.index, info.engine)
    known = entry.edited.get(key)
    now = generation()
    if known is not None and known[0] == now:
        return known[1]
    # Imported here: most programs have no such folder.
    from vkamp.dispatch import edits

    found = edits.choose(store, entry, request, form, domain, view)
    entry.edited[key] = (now, found)
    return found
