"""The three-way merge: git's, line by line, with conflict markers that show the base."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from vkamp.errors import AmpError

__all__ = ["MergeError", "Merged", "merge"]

_TIME_LIMIT = 60.0
#: ``git merge-file`` ends with the number of conflicts, at most this; more is an error.
_MOST_CONFLICTS = 127


class MergeError(AmpError):
    """A merge could not be made; nothing was changed."""


@dataclass(frozen=True)
class Merged:
    """The merged text, and how many conflicts are marked in it."""

    text: str
    conflicts: int


def merge(base: str, edited: str, generated: str, *, name: str = "shader") -> Merged:
    """Puts the edits of ``edited`` over ``base`` onto ``generated``.

    Needs ``git``, whose merge it is; no repository.  Raises :class:`MergeError` if git is missing or fails.
    """
    if edited in (base, generated):
        return Merged(generated, 0)
    git = shutil.which("git")
    if git is None:
        raise MergeError("`git`, whose three-way merge this is, is not installed: apt install git, or git-scm.com")
    labels = (f"{name} (edited)", "generated before", f"{name} (generated now)")
    with tempfile.TemporaryDirectory(prefix="vkamp-merge-") as folder:
        files = [Path(folder, kind) for kind in ("edited", "base", "generated")]
        for path, text in zip(files, (edited, base, generated), strict=True):
            path.write_bytes(text.encode())
        named = [word for label in labels for word in ("-L", label)]
        command = [git, "merge-file", "-p", "--diff3", *named, *map(str, files)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIME_LIMIT, check=False, cwd=folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MergeError(f"{git} merge-file failed: {error}") from error
    if not 0 <= done.returncode <= _MOST_CONFLICTS:
        said = done.stderr.decode(errors="replace").strip()
        raise MergeError(f"{git} merge-file ended with {done.returncode}: {said}")
    return Merged(done.stdout.decode(), done.returncode)
