"""Reading HTML back: what a browser would show of it, if it is well formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

#: What the pages are made of; any other element has come out of a text.
ELEMENTS = {
    *("div", "p", "code", "pre", "span", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "title", "rect", "text"),
}
ATTRIBUTES = {
    *("class", "style", "open", "xmlns", "width", "height", "viewbox", "x", "y", "fill", "stroke"),
    *("font-family", "font-size", "text-anchor", "stroke-dasharray"),
}


@dataclass
class Page(HTMLParser):
    """The texts of each kind of element, in order; AssertionError for what is not well formed."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    #: Where rows are: the cells of each, heads and all.
    rows: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES, attrs
        self.open.append((tag, len(self.texts.setdefault(tag, []))))
        self.texts[tag].append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1][0] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for tag, number in self.open:
            self.texts[tag][number] += data
            if tag in ("th", "td"):
                self.rows[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def page_of(thing: Any) -> Page:
    """What a notebook shows of a thing."""
    page = Page()
    page.feed(thing if isinstance(thing, str) else thing._repr_html_())
    page.close()
    assert page.open == []
    assert page.rawdata == ""
    return page
