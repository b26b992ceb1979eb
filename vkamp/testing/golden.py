"""Golden shaders: generated text that a test compares with a file, and rewrites with ``--vkamp-accept``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

#: The folder beside the test files; it contains a folder for each test file.
FOLDER = "golden"
_SUFFIX = ".comp"
_OTHER = re.compile(r"[^\w.\-]+")


def file_name(test: str) -> str:
    """The name of a test as the name of a file, without characters that file systems reject."""
    return _OTHER.sub("-", test).strip("-")


class GoldenShaders:
    """The golden shaders of one test: call it with a shader; see the fixture ``golden_shader``.

    ``tell`` is called with each file that is used, and whether it was rewritten.
    """

    def __init__(self, test_file: Path, test: str, accept: bool, tell: Callable[[Path, bool], None]) -> None:
        self._folder = test_file.parent / FOLDER / test_file.stem
        self._test = file_name(test)
        self._accept = accept
        self._tell = tell
        self._texts: dict[Path, str] = {}

    def __call__(self, shader: Any, name: str = "") -> None:
        """Compares ``shader``, an inspection or its text, with the file of this test, or of this test and ``name``.

        Raises ``AssertionError``, which shows the difference; with ``--vkamp-accept``, rewrites the file instead.
        """
        __tracebackhide__ = True
        text = shader if isinstance(shader, str) else getattr(shader, "glsl", None)
        if not isinstance(text, str):
            raise TypeError(
                f"golden_shader takes what kernel.inspect(...) gives, or a text, not {type(shader).__name__}"
            )
        path = self._folder / (self._test + (f"-{file_name(name)}" if name else "") + _SUFFIX)
        if self._texts.setdefault(path, text) != text:
            raise AssertionError(f"{self._relative(path)} is used for two shaders: give each a name")
        if self._accept:
            self._rewrite(path, text)
            return
        self._tell(path, False)
        try:
            expected = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise AssertionError(
                f"there is no golden file {self._relative(path)} yet; --vkamp-accept writes it:\n{text}"
            ) from None
        if text != expected:
            raise AssertionError(self._difference(path, expected, text))

    def _rewrite(self, path: Path, text: str) -> None:
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        if changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._tell(path, changed)

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._folder.parent.parent).as_posix()

    def _difference(self, path: Path, expected: str, text: str) -> str:
        name = self._relative(path)
        lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), name, "generated", lineterm="", n=2)
        return "\n".join([f"the shader differs from {name}; --vkamp-accept rewrites it:", *lines])


def unused(test_file: Path, used: Iterable[Path], others: Iterable[str]) -> list[Path]:
    """The golden files of a test file that no test used; those of the tests ``others`` are ignored."""
    beginnings = tuple(f"{file_name(name)}-" for name in others)
    known = set(used)
    found = sorted((test_file.parent / FOLDER / test_file.stem).glob(f"*{_SUFFIX}"))
    return [path for path in found if path not in known and not path.name.startswith(beginnings)]
