"""``extent.tile(...)`` in a notebook."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from click.testing import CliRunner

import vkamp as amp
from tests.display.markup import page_of
from vkamp.cli.app import command


def picture(tiled: Any) -> Any:
    html = tiled._repr_html_()
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_each_thread_with_both_indices() -> None:
    page = page_of(amp.extent(4, 6).tile(2, 3))
    assert page.texts["p"] == [
        "extent(4, 6).tile(2, 3)",
        "extent 4 x 6, tiles of 2 x 3: 2 x 2 = 4 tiles of 6 threads",
        "each square is a thread, with its global index, and its local index below",
    ]
    expected = [text for row in range(4) for col in range(6) for text in (f"{row},{col}", f"{row % 2},{col % 3}")]
    assert page.texts["text"] == expected
    fills = [each.get("fill") for each in picture(amp.extent(4, 6).tile(2, 3)).iter("{http://www.w3.org/2000/svg}rect")]
    assert len(fills) == 24 and len(set(fills)) == 4


def test_it_is_the_picture_of_the_command(tmp_path: Any) -> None:
    path = tmp_path / "tiles.svg"
    done = CliRunner().invoke(command, ["tile", "4x6", "2x3", "--svg", str(path)])
    assert done.exit_code == 0
    texts = [each.text for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1:] == page_of(amp.extent(4, 6).tile(2, 3)).texts["text"]


def test_what_a_launch_refuses_is_drawn_padded() -> None:
    page = page_of(amp.extent(5, 6).tile(2, 3))
    assert page.texts["p"][1].endswith("padded to 6 x 6: .pad() or .truncate() before a launch")
    dashed = [each for each in picture(amp.extent(5, 6).tile(2, 3)).iter() if each.get("stroke-dasharray")]
    assert len(dashed) == 6
    assert "pad" not in amp.extent(5, 6).tile(2, 3).pad()._repr_html_()


def test_one_slice_of_three_dimensions() -> None:
    page = page_of(amp.extent(6, 4, 4).tile(2, 2, 2))
    assert page.texts["p"][2] == "one of 6 equal slices along dimension 0 is drawn"
    assert len(page.texts["rect"]) == 16


def test_large_tiles_are_drawn_whole() -> None:
    page = page_of(amp.extent(1000).tile(256))
    assert page.texts["text"] == ["0", "0", "1", "256", "2", "512", "3", "768"]
    assert page.texts["p"][2] == "each square is a tile, with its index, and its origin below"
    dashed = [each for each in picture(amp.extent(1000).tile(256)).iter() if each.get("stroke-dasharray")]
    assert len(dashed) == 1


@pytest.mark.parametrize(
    ("tiled", "said", "drawn"),
    [
        (amp.extent(640, 480).tile(16, 16), "; the first 16 x 16 of them", 256),
        (amp.extent(10000).tile(7), "; the first 21 of them", 21),
        (amp.extent(2**31 - 1, 3).tile(1, 64), "; the first 12 x 1 of them", 12),
    ],
)
def test_of_many_the_first_are_drawn(tiled: Any, said: str, drawn: int) -> None:
    page = page_of(tiled)
    assert page.texts["p"][-1].endswith(said)
    assert len(page.texts["rect"]) == drawn


@pytest.mark.parametrize("sizes", [(0,), (4, 0), (-3, 4)])
def test_without_threads(sizes: tuple[int, ...]) -> None:
    tiled = amp.extent(*sizes).tile(*[2] * len(sizes))
    assert page_of(tiled).texts == {
        "div": [f"\n{tiled!r}, which has no tiles\n"],
        "p": [f"{tiled!r}, which has no tiles"],
        "code": [repr(tiled)],
    }
