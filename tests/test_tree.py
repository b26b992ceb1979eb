"""What no text file of the tree may contain."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each is written so that it does not find itself here.
FORBIDDEN = {
    "a path of one person's machine": r"(?<![\w.~}$])/(?:root|home/\w+|Users/\w+|work)" + r"/\w",
    "a merge conflict": r"^(?:<{7}|>{7}) " + r"\S",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE" + r" KEY-----",
    "a carriage return": "\r",
    "an unfinished place": r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
}


def tree_files() -> list[Path]:
    """The files under version control; of a tree without it (an unpacked release), all files."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "ls-files", "-z"]
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = listing.stdout.split("\0")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    ]


def text_files() -> list[tuple[Path, str]]:
    """The files that are not binary, as git decides it: by a zero byte near the start."""
    contents = [(path, path.read_bytes()) for path in tree_files()]
    return [(path, data.decode("utf-8")) for path, data in contents if b"\0" not in data[:8000]]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_tree_holds_no(name: str) -> None:
    pattern = re.compile(FORBIDDEN[name], re.MULTILINE)
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}"
        for path, text in text_files()
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_text_files_end_with_a_newline() -> None:
    assert [str(path) for path, text in text_files() if text and not text.endswith("\n")] == []
