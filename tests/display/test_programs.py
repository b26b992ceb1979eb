"""What ``kernel.inspect(...)`` and ``amp.check`` give, in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.display.markup import page_of
from tests.edit.support import edit, exported


@amp.kernel
def halves(t_idx, values, out):  # </pre><script>alert("&amp;")</script>
    tile = amp.tile_static((4,), amp.float32)
    tile[t_idx.local] = values[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = tile[3 - t_idx.local[0]] * 0.5  # </pre><b> & <!-- not </code>


@amp.kernel
def beyond(idx, values):
    values[idx[0] + 1] = 1.0 if idx[0] < 100 and values[idx] > 0.0 else 2.0  # <i>&lt;</i>


@pytest.fixture(autouse=True)
def no_shaders_left() -> Iterator[None]:
    amp.use_shaders(None)
    yield
    amp.use_shaders(None)


def arguments() -> tuple[Any, Any]:
    return amp.array_view(np.ones(24, np.float32)), amp.array_view(np.zeros(24, np.float32))


@pytest.fixture(params=["with Pygments", "without"])
def pygments(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "pygments", None)
    return bool(request.param != "without")


def test_inspection(accelerator_view: amp.accelerator_view, pygments: bool) -> None:
    shown = halves.inspect(accelerator_view, amp.extent(24).tile(4), *arguments())
    assert "</pre><b> & <!-- not </code>" in shown.glsl
    page = page_of(shown)
    assert page.texts["code"] == ["halves"]
    assert page.texts["p"] == ["halves"]
    assert page.texts["pre"][0].strip("\n") == shown.glsl.strip("\n")
    assert ("span" in page.texts) == pygments
    size = " x ".join(map(str, shown.local_size))
    assert page.rows[0] == ["threads", f"{shown.lowering}; {size} in a group"]
    assert page.rows[1] == ["tile_static", f"{shown.shared_bytes} bytes"]
    assert page.rows[2:] == [["binding 0", "values: float32, read"], ["binding 1", "out: float32, written"]]


@pytest.mark.accelerators("swiftshader")
def test_an_edit_in_force_is_said(accelerator_view: amp.accelerator_view, tmp_path: Path, pygments: bool) -> None:
    folder = tmp_path / "a<b>&c"
    domain = amp.extent(24).tile(4)
    (shader,) = exported(folder, lambda: amp.parallel_for_each(accelerator_view, domain, halves, *arguments()))
    edit(shader, (" * 0.5;", " * 0.25;"))
    page = page_of(halves.inspect(accelerator_view, domain, *arguments()))
    assert page.texts["p"] == [f"halves, edited by hand: {shader} is in force"]
    assert "* 0.25;" in page.texts["pre"][0]
    assert page.texts["pre"][0].startswith("// Edited by hand: a<b>&c/")


def test_report(accelerator_view: amp.accelerator_view) -> None:
    (values, _), device = arguments(), accelerator_view.accelerator.description
    report = amp.check(accelerator_view, values.extent, beyond, values)
    page = page_of(report)
    count = len(report.findings)
    assert count >= 2
    assert page.texts["p"][0] == f"beyond, checked on {device}: {count} findings"
    assert page.texts["p"][1:] == [f"not covered: {text}" for text in report.not_covered]
    assert [f"{head}\n{lines}" for head, lines in zip(page.texts["summary"], page.texts["pre"], strict=True)] == [
        str(finding) for finding in report.findings
    ]
    assert any("values[idx[0] + 1] = 1.0 if idx[0] < 100" in text for text in page.texts["pre"])
    one = page_of(report.findings[0])
    assert (one.texts["summary"], one.texts["pre"]) == (page.texts["summary"][:1], page.texts["pre"][:1])


def test_a_report_without_findings() -> None:
    view = amp.accelerator("reference").default_view
    report = amp.check(view, amp.extent(24).tile(4), halves, *arguments())
    assert page_of(report).texts["p"] == ["halves, checked on reference: nothing wrong"]


def test_names_break_out_of_nothing() -> None:
    report = amp.Report("<k>&", "<d>\"'", (amp.Finding("race", "v", (), (), (), "a <b> & c\n<pre>"),), ("<x>",))
    page = page_of(report)
    assert page.texts["p"] == ["<k>&, checked on <d>\"': 1 finding", "not covered: <x>"]
    assert (page.texts["summary"], page.texts["pre"]) == (["a <b> & c"], ["<pre>"])


def test_errors_keep_their_carets_in_place(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def wrong(idx, values):
        values[idx] = missing < 1  # noqa: F821

    values, _ = arguments()
    with pytest.raises(amp.CompileError) as caught:
        amp.parallel_for_each(accelerator_view, values.extent, wrong, values)
    (text,) = page_of(caught.value).texts["pre"]
    assert text == f"CompileError: {caught.value}"
    assert " | values[idx] = missing < 1" in text and " |               ^^^^^^^\n" in text
    # The font is named in place: a notebook's style sheet does not change it.
    report = amp.check(accelerator_view, values.extent, beyond, values)
    inspection = halves.inspect(accelerator_view, values.extent.tile(4), *arguments())
    for html in (caught.value._repr_html_(), report._repr_html_(), report.findings[0]._repr_html_()):
        assert html.count(", monospace;") == html.count("white-space: pre") == html.count("<pre ") > 0
    assert "monospace" in inspection._repr_html_()
    count = inspection.glsl.count("\n")
    shown = f"<the shader of {inspection.name}, {count} lines: print() shows it; .ir and .spirv are its other forms>"
    assert repr(inspection) == shown
