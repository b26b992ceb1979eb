"""The documentation: it builds without a warning, its links lead somewhere, and it names everything public."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import vkamp as amp

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    built = {path.stem for path in tmp_path.glob("*.html")}
    assert {page.stem for page in PAGES} <= built


def test_every_link_leads_to_a_file() -> None:
    missing = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if not link.startswith("http") and not (page.parent / link).exists():
                missing.append((page.name, link))
    assert missing == []


def test_every_page_is_in_the_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES if page.stem != "index" and f"\n{page.stem}\n" not in index] == []


def test_everything_public_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r":: vkamp\.(\w+)", text)) | set(re.findall(r"`(\w+)`", text))
    kinds = re.compile(r"(float|int|uint|double|half)_?[234]")
    assert [name for name in amp.__all__ if name not in listed and not kinds.fullmatch(name)] == []
