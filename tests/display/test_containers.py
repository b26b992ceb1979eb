"""``array`` and ``array_view`` in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.display.markup import page_of

GAP = "\N{HORIZONTAL ELLIPSIS}"


@amp.kernel
def increase(idx, values):
    values[idx] += 1.0


def test_rank_1() -> None:
    page = page_of(amp.array_view(np.array([0.5, 1 / 3, np.nan, -np.inf, 1e20], np.float32)))
    assert page.texts["p"] == ["array_view(extent(5), float32), in host memory"]
    assert page.rows == [["", ""], ["0", "0.5"], ["1", "0.333333"], ["2", "nan"], ["3", "-inf"], ["4", "1e+20"]]


@pytest.mark.parametrize(("count", "rows"), [(10, 10), (11, 11), (1000, 11)])
def test_of_many_the_first_and_the_last_are_shown(count: int, rows: int) -> None:
    page = page_of(amp.array_view(np.arange(count, dtype=np.int32)))
    assert len(page.rows) == 1 + rows
    assert page.rows[1] == ["0", "0"] and page.rows[-1] == [f"{count - 1}", f"{count - 1}"]
    assert page.rows.count([GAP, GAP]) == (count > 10)


def test_rank_2_and_a_view_with_strides() -> None:
    numbers = np.arange(24 * 36, dtype=np.uint32).reshape(24, 36)
    page = page_of(amp.array_view(numbers[::-2, 3::4], readonly=True))
    assert page.texts["code"] == ["array_view(extent(12, 9), uint32, readonly=True)"]
    assert page.rows[0] == ["", *map(str, range(9))]
    assert page.rows[1] == ["0", *map(str, numbers[23, 3::4])]
    assert page.rows[6] == [GAP] * 10
    assert page.rows[-1] == ["11", *map(str, numbers[1, 3::4])]
    wide = page_of(amp.array_view(numbers))
    assert [len(row) for row in wide.rows] == [12] * 12
    assert wide.rows[-1] == ["23", "828", "829", "830", "831", "832", GAP, "859", "860", "861", "862", "863"]


def test_of_a_higher_rank_the_first_slice() -> None:
    page = page_of(amp.array_view(np.arange(2 * 3 * 4 * 5, dtype=np.int32).reshape(2, 3, 4, 5)))
    assert page.rows[-1] == ["3", "15", "16", "17", "18", "19"]
    assert page.texts["p"][1] == "[0, 0, :, :], the first of 6 slices"
    assert len(page_of(amp.array_view(np.zeros((1, 4, 5), np.int32))).texts["p"]) == 1


def test_short_vectors_and_structs() -> None:
    points = amp.array_view(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=amp.float3)
    assert page_of(points).rows == [["", ""], ["0", "(0, 1, 2)"], ["1", "(3, 4, 5)"]]
    inner = [("low", "i4"), ("high", "f4", (2, 2))]
    records = np.zeros(2, [("place", amp.float2), ("range", inner), ("long", "i4", (40,))])
    records["place"]["y"] = 1.5
    page = page_of(amp.array_view(records))
    assert page.rows[0] == ["", "place", "range", "long"]
    assert page.rows[1][:3] == ["0", "(0, 1.5)", "{low: 0, high: [[0, 0], [0, 0]]}"]
    assert page.rows[1][3].startswith("[0, 0, 0") and page.rows[1][3].endswith(GAP) and len(page.rows[1][3]) == 60


def test_names_break_out_of_nothing() -> None:
    records = np.zeros(1, [("<b>&amp;", "f4"), ("</td><script>alert(1)</script>", "i4")])
    view = amp.array_view(records)
    page = page_of(view)
    assert page.rows[0] == ["", "<b>&amp;", "</td><script>alert(1)</script>"]
    assert page.texts["code"] == [repr(view)]


def test_a_look_fetches_nothing(accelerator_view: amp.accelerator_view) -> None:
    values = np.arange(30, dtype=np.float32).reshape(5, 6)
    view = amp.array_view(values)
    amp.parallel_for_each(accelerator_view, view.extent, increase, view)
    accelerator_view.wait()
    before, known = vars(accelerator_view.statistics), view.explain()
    device = accelerator_view.accelerator.description
    page = page_of(view)
    assert page.texts["p"] == [f"array_view(extent(5, 6), float32), on {device}, not fetched"]
    assert page.rows == []
    # A part that the launch did not write is no other matter: all of it was written.
    assert "not fetched" in view[1:3]._repr_html_()
    assert vars(accelerator_view.statistics) == before
    assert view.explain() == known
    view.synchronize()
    assert page_of(view).rows[1] == ["0", "1", "2", "3", "4", "5", "6"]
    assert np.array_equal(values, np.arange(1, 31, dtype=np.float32).reshape(5, 6))


def test_a_part_that_no_device_has_written_is_shown(accelerator_view: amp.accelerator_view) -> None:
    view = amp.array_view(np.zeros((4, 3), np.float32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), increase, view[1])
    assert "not fetched" in view._repr_html_() and "not fetched" in view[1]._repr_html_()
    assert page_of(view[2:4]).rows == [["", "0", "1", "2"], ["0", "0", "0", "0"], ["1", "0", "0", "0"]]


def test_arrays(accelerator_view: amp.accelerator_view) -> None:
    device = accelerator_view.accelerator.description
    made = amp.array(amp.extent(3), amp.float32, accelerator_view=accelerator_view)
    assert page_of(made).texts["p"] == ["array(extent(3), float32), not written yet"]
    amp.copy(np.arange(3, dtype=np.float32), made)
    before = vars(accelerator_view.statistics)
    assert page_of(made).texts["p"] == [f"array(extent(3), float32), on {device}, not fetched"]
    assert page_of(amp.array_view(made)).texts["p"] == [f"array_view(extent(3), float32), on {device}, not fetched"]
    assert vars(accelerator_view.statistics) == before
    np.asarray(made)
    assert "not fetched" in made._repr_html_()


def test_memory_of_its_own_is_shown_when_all_of_it_is_written() -> None:
    view = amp.array_view(amp.extent(4), amp.int32)
    assert page_of(view).texts["p"] == ["array_view(extent(4), int32), not written yet"]
    amp.copy(np.arange(2, dtype=np.int32), view.section(0, 2))
    assert page_of(view).texts["p"] == ["array_view(extent(4), int32), not all of it written yet"]
    assert page_of(view.section(0, 2)).rows[1:] == [["0", "0"], ["1", "1"]]


def test_what_lies_on_the_cpu_accelerator_is_shown() -> None:
    values: Any = np.arange(12, dtype=np.float32).reshape(3, 4)
    cpu = amp.accelerator("cpu").default_view
    made = amp.array(amp.extent(3, 4), amp.float32, values, accelerator_view=cpu)
    page = page_of(made.section(amp.index(1, 2), amp.extent(2, 2)))
    assert page.texts["p"] == ["array_view(extent(2, 2), float32), on CPU accelerator"]
    assert page.rows[1:] == [["0", "6", "7"], ["1", "10", "11"]]
    assert page_of(made).rows[-1] == ["2", "8", "9", "10", "11"]
    large = amp.array(amp.extent(5_000_000), amp.float32, np.zeros(5_000_000, np.float32), accelerator_view=cpu)
    assert page_of(large).texts["p"] == ["array(extent(5000000), float32), on CPU accelerator, not fetched"]


def test_while_launches_are_recorded() -> None:
    view = amp.array_view(np.zeros(3, np.float32))
    with amp.capture():
        amp.parallel_for_each(amp.accelerator("reference").default_view, view.extent, increase, view)
        assert page_of(view).texts["p"] == ["array_view(extent(3), float32), not shown while launches are recorded"]
    assert len(page_of(view).rows) == 4
