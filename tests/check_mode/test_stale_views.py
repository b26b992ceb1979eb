"""Host memory that changes behind its views, results that never come home: what check mode and the reference say."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp

SHAPE = (3, 5)
BEFORE = object()


@amp.kernel
def add_one(idx, values, out):
    out[idx] = values[idx] + 1.0


@pytest.fixture(autouse=True)
def check_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_CHECK", "1")


def views() -> tuple[Any, ...]:
    """An array and a view of it, twice: what `add_one` reads and writes."""
    raw = np.arange(15, dtype=np.float32).reshape(SHAPE)
    result = np.zeros(SHAPE, np.float32)
    return raw, result, amp.array_view(raw), amp.array_view(result)


def launch(view: amp.accelerator_view, source: Any, target: Any) -> None:
    amp.parallel_for_each(view, source.extent, add_one, source, target)


def finding(view: amp.accelerator_view, source: Any, target: Any) -> Any:
    with pytest.raises(amp.CheckError) as caught:
        launch(view, source, target)
    (found,) = caught.value.findings
    assert found.kind == "stale"
    assert found.locations[0].file == __file__
    return found


def test_an_array_that_changes_after_its_upload(accelerator_view: amp.accelerator_view) -> None:
    raw, _, source, target = views()
    launch(accelerator_view, source, target)
    raw[1, 3] = 50
    found = finding(accelerator_view, source, target)
    assert (found.variable, found.index) == ("values", (1, 3))
    device = accelerator_view.accelerator.description
    first, *_, last = str(found).splitlines()
    assert first == (
        "the host changed the memory of the view `source` (parameter `values`), and the launch does not see it: "
        f"source[1, 3] is 50.0 in memory, and 8.0 on {device}"
    )
    assert "call source.refresh() after changing the array" in last
    source.refresh()
    launch(accelerator_view, source, target)
    assert target[1, 3] == 51


def test_an_array_that_changes_while_the_device_has_newer_elements(accelerator_view: amp.accelerator_view) -> None:
    _, result, source, target = views()
    launch(accelerator_view, source, target)
    result[2, :] = 7
    found = finding(accelerator_view, source, target)
    assert (found.variable, found.index) == ("out", (2, 0))
    assert "target[2, 0] was 0.0 in memory and is 7.0 now, and 11.0 on" in str(found)
    assert "call target.synchronize() before" in str(found)


@pytest.mark.parametrize(
    "announce",
    [
        lambda view: view.refresh(),
        lambda view: view.discard_data(),
        lambda view: amp.array_view(view).refresh(),
        BEFORE,
    ],
    ids=["refresh", "discard_data", "refresh another view", "synchronize to write"],
)
@pytest.mark.parametrize("behind", [2, 3], ids=["read", "written"])
def test_a_change_that_is_announced(accelerator_view: amp.accelerator_view, announce: Any, behind: int) -> None:
    given = views()
    launch(accelerator_view, *given[2:])
    given[behind].synchronize()
    if announce is BEFORE:
        given[behind].synchronize(amp.access_type_read_write)
    given[behind - 2][:] = 3
    if announce is not BEFORE:
        announce(given[behind])
    launch(accelerator_view, *given[2:])


def test_what_the_runtime_writes_itself(accelerator_view: amp.accelerator_view) -> None:
    _, result, source, target = views()
    for step in range(3):
        launch(accelerator_view, source, target)
        source[0, step] = 40 + step
        amp.copy(np.full(5, step, np.float32), source[2])
        target.synchronize()
        np.asarray(target)
        amp.copy(target, source)
    assert np.array_equal(np.asarray(source), result)


def test_memory_that_the_program_has_announced_may_change_until_the_next_launch(
    accelerator_view: amp.accelerator_view,
) -> None:
    raw = np.zeros(8, np.float32)
    result = np.zeros(8, np.float32)
    source, target = amp.array_view(raw), amp.array_view(result)
    raw[:] = 1
    launch(accelerator_view, source, target)
    data = source.data()
    data[:] = 4
    data[2] = 5
    launch(accelerator_view, source, target)
    assert target[2] == 6
    data[3] = 9
    assert finding(accelerator_view, source, target).index == (3,)


def test_parts_of_an_array(accelerator_view: amp.accelerator_view) -> None:
    raw, _, source, target = views()
    part, to = source[1:3, 1:4], target[1:3, 1:4]
    launch(accelerator_view, part, to)
    # Beside the part, nobody has a copy.
    raw[0, :] = raw[:, 0] = 60
    launch(accelerator_view, part, to)
    raw[2, 2] = 60
    assert finding(accelerator_view, part, to).index == (1, 1)
    assert finding(accelerator_view, source.section(2, 0, 1, 5), target.section(2, 0, 1, 5)).index == (0, 2)


def test_elements_of_several_numbers(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def move(idx, points, records, columns):
        points[idx] += amp.float3(1.0, 1.0, 1.0)
        records[idx].count += 1
        columns[idx] += 1

    points = np.zeros((6, 3), np.float32)
    records = np.zeros(6, [("weight", np.float32), ("count", np.int32)])
    table = np.zeros((6, 4), np.int32)
    given = (
        amp.array_view(points, dtype=amp.float3),
        amp.array_view(records),
        amp.array_view(table[:, 2]),
    )

    def run() -> None:
        amp.parallel_for_each(accelerator_view, amp.extent(6), move, *given)

    run()
    for view in given:
        view.synchronize()
    table[:, 1] = 9  # between the elements
    run()
    for view in given:
        view.synchronize()
    points[4, 1] = records["count"][2] = table[5, 2] = 70
    with pytest.raises(amp.CheckError) as caught:
        run()
    assert [(f.variable, f.index) for f in caught.value.findings] == [
        ("points", (4,)),
        ("records", (2,)),
        ("columns", (5,)),
    ]


def test_a_closure_and_a_graph(accelerator_view: amp.accelerator_view) -> None:
    raw, _, source, target = views()

    def once() -> None:
        @amp.parallel_for_each(accelerator_view, source.extent)
        def _(idx):
            target[idx] = source[idx] * 2.0

    once()
    raw[0, 0] = 5
    with pytest.raises(amp.CheckError, match=r"the view `source`.*: source\[0, 0\] is 5.0"):
        once()
    source.refresh()
    target.synchronize()
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, source.extent, add_one, source, target)
    graph.replay()
    graph.replay()
    raw[2, 4] = 5
    with pytest.raises(amp.CheckError, match=r"source\[2, 4\] is 5.0 in memory, and 14.0"):
        graph.replay()


def test_a_report_has_it_among_the_others(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def beyond(idx, values, out):
        out[idx] = values[idx[0] + 1]

    raw = np.arange(4, dtype=np.float32)
    source, target = amp.array_view(raw), amp.array_view(np.zeros(4, np.float32))
    amp.check(accelerator_view, source.extent, beyond, source, target)
    raw[3] = 30
    report = amp.check(accelerator_view, source.extent, beyond, source, target)
    assert [each.kind for each in report.findings] == ["stale", "bounds"]
    assert "2 findings" in str(report)


def test_a_change_of_one_of_two_views_of_one_array(accelerator_view: amp.accelerator_view) -> None:
    raw, _, source, target = views()
    launch(accelerator_view, source, target)
    raw[0, 1] = 9
    again = amp.array_view(raw)
    assert "source[0, 1] is 9.0 in memory, and 1.0" in str(finding(accelerator_view, again, target))
    # When the last view has gone, nobody holds a copy.
    del source, again
    gc.collect()  # The error's frames held them.
    fresh = amp.array_view(raw)
    launch(accelerator_view, fresh, target)
    assert target[0, 1] == 10


@pytest.mark.accelerators("reference")
def test_the_reference_accelerator_looks_always(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VKAMP_CHECK")
    raw, result, source, target = views()
    for _ in range(3):
        launch(accelerator_view, source, target)
    raw[1, 1] = 0
    for _ in range(2):
        assert finding(accelerator_view, source, target).index == (1, 1)
    source.refresh()
    launch(accelerator_view, source, target)
    target.synchronize()
    assert result[1, 1] == 1
    with amp.capture(accelerator_view) as graph:
        launch(accelerator_view, source, target)
    graph.replay()
    raw[1, 1] = 3
    with pytest.raises(amp.CheckError, match="source"):
        graph.replay()


@pytest.mark.accelerators("drivers")
def test_nothing_is_kept_without_check_mode(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VKAMP_CHECK")
    _, _, source, target = views()
    launch(accelerator_view, source, target)
    assert source._lease.home.seen is None


PROGRAM = """
    import numpy as np
    import vkamp as amp

    @amp.kernel
    def fill(idx, out):
        out[idx] = 5.0

    result = np.zeros(6, np.float32)
    numbers = amp.array_view(result)
    amp.parallel_for_each(amp.accelerator(DEVICE).default_view, numbers.extent, fill, numbers)
    print(result[0], SYNCHRONIZE)
"""


@pytest.mark.parametrize("device", ["swiftshader", "reference"])
@pytest.mark.parametrize("synchronize", ["numbers.rank", "numbers.synchronize()", "np.asarray(numbers)[0]"])
def test_results_that_never_come_home(device: str, synchronize: str, tmp_path: Path) -> None:
    program = textwrap.dedent(PROGRAM).replace("DEVICE", repr(device)).replace("SYNCHRONIZE", synchronize)
    environment = {**os.environ, "VKAMP_CHECK": "1", "VKAMP_PROGRESS": "0"}
    file = tmp_path / "program.py"
    file.write_text(program.lstrip())
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.startswith("0.0 ")
    warning = (
        "CheckWarning: the program ends, and 24 bytes that launches wrote to the view `numbers` were not copied back"
    )
    if synchronize == "numbers.rank":
        assert f"{file}:10: {warning}" in done.stderr
        assert "call numbers.synchronize() before" in done.stderr
    else:
        assert "CheckWarning" not in done.stderr
