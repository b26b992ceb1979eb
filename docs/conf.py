"""Builds the documentation: python -m sphinx -W -n docs docs/_build."""

from __future__ import annotations

import re
from importlib import metadata

project = "vkamp"
author = "the vkamp developers"
release = metadata.version("vkamp")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_enable_extensions = ["fieldlist"]
# Programs print messages and shaders in blocks of these languages.
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
# Modules of the package are an inner matter: what is public is documented as vkamp's.
nitpick_ignore_regex = [("py:.*", r".*")]

html_theme = "furo"
html_title = "vkamp"

#: Pages are read in the repository too, where they link to files that the built documentation has not.
_REPOSITORY_LINKS = re.compile(r"\[([^\]]+)\]\(\.\./[\w./-]+\)")


def _without_repository_links(app: object, docname: str, source: list[str]) -> None:
    source[0] = _REPOSITORY_LINKS.sub(r"`\1`", source[0])


def setup(app: object) -> None:
    app.connect("source-read", _without_repository_links)  # type: ignore[attr-defined]
