"""Profiles: what ran, what moved, and when, on every accelerator; the table and the trace."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import vkamp as amp
from tests.display.markup import page_of
from vkamp.profiling.records import Profile, ProfiledLaunch, ProfiledTransfer


@amp.kernel
def scale(idx, values, factor):
    values[idx] = values[idx] * factor


@amp.kernel
def spin(t_idx, values, rounds):
    x = values[t_idx]
    for k in range(rounds):
        x = x * 1664525 + 1013904223 + (x >> 7) + k
    values[t_idx] = x


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """A checked launch is a separate one, with separate memory."""
    monkeypatch.setenv("VKAMP_CHECK", "0")


def on(view, values):
    data = np.asarray(values, np.int32)
    return amp.array(amp.extent(*data.shape), amp.int32, data, accelerator_view=view)


def test_launches_and_transfers(accelerator_view):
    a = on(accelerator_view, range(12))
    view = amp.array_view(np.arange(6, dtype=np.int32))
    amp.parallel_for_each(accelerator_view, a.extent, scale, a, 2)  # before the profile
    began = time.perf_counter()
    with amp.profile() as p:
        for k in range(3):
            amp.parallel_for_each(accelerator_view, a.extent, scale, a, k + 1)
        amp.parallel_for_each(accelerator_view, view.extent.tile(3), spin, view, 500)
        np.asarray(a)
    elapsed = time.perf_counter() - began
    assert np.asarray(a).tolist() == [12 * i for i in range(12)]
    # Independent launches may change places.
    scales, (spun,) = ([each for each in p.launches if each.kernel == name] for name in ("scale", "spin"))
    assert [(each.domain, each.tile) for each in scales] == [((12,), None)] * 3
    assert (spun.domain, spun.tile, spun.shape) == ((6,), (3,), "6 in tiles of 3")
    assert {each.accelerator.partition(" @ ")[0] for each in p.launches} == {accelerator_view.accelerator.description}
    assert {each.view for each in (*p.launches, *p.transfers)} == {1}
    assert [(each.direction, each.nbytes) for each in p.transfers] == [("up", 24), ("down", 48)]
    assert 0 < p.seconds <= elapsed
    assert 0 <= p.uncertainty < p.seconds
    for each in p.launches:
        assert 0 <= each.queued <= each.submitted
        assert each.submitted - 1e-6 <= each.started <= each.finished <= p.seconds + 1e-6
        assert each.seconds == pytest.approx(each.finished - each.started, abs=1e-6)
    starts = [each.started for each in p.launches]
    assert starts == sorted(starts)
    for before, after in zip(p.launches, p.launches[1:], strict=False):
        assert before.finished <= after.started + 1e-9  # they do not overlap
    assert p.not_covered == ()


def test_the_longer_launch_takes_longer(accelerator_view):
    a = on(accelerator_view, range(2))
    # lavapipe ends loops after 65,535 iterations.
    long_one = 20_000 if accelerator_view.accelerator.device_path == "reference" else 60_000
    for rounds in (1, long_one):
        amp.parallel_for_each(accelerator_view, a.extent.tile(2), spin, a, rounds)
    accelerator_view.wait()
    with amp.profile() as p:
        for _ in range(8):
            for rounds in (1, long_one):
                amp.parallel_for_each(accelerator_view, a.extent.tile(2), spin, a, rounds)
    seconds = [each.seconds for each in p.launches]
    # The machine may be busy with something else now and then.
    assert len(seconds) == 16 and min(seconds[::2]) < min(seconds[1::2]), seconds


def test_gaps(accelerator_view):
    a = on(accelerator_view, range(8))
    amp.parallel_for_each(accelerator_view, a.extent, scale, a, 1)
    accelerator_view.wait()
    with amp.profile() as p:
        amp.parallel_for_each(accelerator_view, a.extent, scale, a, 1)
        accelerator_view.wait()
        time.sleep(0.05)
        amp.parallel_for_each(accelerator_view, a.extent, scale, a, 1)
    longest = max(p.gaps, key=lambda gap: gap.seconds)
    assert longest.host_was_late
    assert longest.seconds >= 0.03
    assert (longest.before, longest.after) == p.launches
    assert longest.started == longest.before.finished


def test_replays(accelerator_view):
    a = on(accelerator_view, [1] * 5)
    with amp.capture() as graph:
        for _ in range(5):
            amp.parallel_for_each(a.extent, scale, a, 2)
    graph.replay()
    with amp.profile() as p:
        graph.replay()
        graph.replay()
    graph.replay()
    assert len(p.launches) == 10
    assert np.asarray(a).tolist() == [2**20] * 5


def test_several_views(accelerator):
    one, other = accelerator.create_view(), accelerator.create_view()
    a, b = on(one, range(5)), on(other, range(5))
    with amp.profile() as p:
        third = accelerator.create_view()  # seen, too
        c = on(third, range(5))
        for view, array in ((one, a), (other, b), (third, c), (one, a)):
            amp.parallel_for_each(view, array.extent, scale, array, 3)
    # By first use: the upload to c.
    assert sorted(each.view for each in p.launches) == [1, 2, 2, 3]
    text = str(p)
    for number in (1, 2, 3):
        assert f", view {number}" in text
    with amp.profile() as p:
        amp.parallel_for_each(other, b.extent, scale, b, 3)
    assert [each.view for each in p.launches] == [1]


def test_other_threads_are_seen(accelerator_view):
    a = on(accelerator_view, range(5))
    with amp.profile() as p:
        thread = threading.Thread(target=lambda: amp.parallel_for_each(accelerator_view, a.extent, scale, a, 3))
        thread.start()
        thread.join()
    assert len(p.launches) == 1


def test_profiles_do_not_nest_and_end_well(accelerator_view):
    a = on(accelerator_view, range(5))
    with amp.profile() as p:
        with pytest.raises(amp.AmpError, match=r"amp.profile\(\) inside amp.profile\(\)"), amp.profile():
            pass
        for look in (lambda: p.launches, lambda: p.gaps, lambda: str(p), lambda: p.save("trace.json")):
            with pytest.raises(amp.AmpError, match="the profile has not ended"):
                look()
        assert repr(p) == "<Profile: not over>"
        amp.parallel_for_each(accelerator_view, a.extent, scale, a, 3)
    assert len(p.launches) == 1
    profiles = []

    def fails():
        with amp.profile() as made:
            profiles.append(made)
            amp.parallel_for_each(accelerator_view, a.extent, scale, a, 3)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert len(profiles[0].launches) == 1  # what ran until then
    with amp.profile() as p:
        pass
    assert (p.launches, p.transfers, p.gaps) == ((), (), ())
    assert str(p).startswith("0 launches and 0 transfers in ")


def test_what_cannot_be_timed_is_said(accelerator, monkeypatch):
    view = accelerator.create_view()
    a = on(view, range(5))

    def profile(sink):
        if sink is not None:
            raise amp.UnsupportedFeatureError(f"{view.accelerator.description} has no timestamps")

    monkeypatch.setattr(view._queue, "profile", profile)
    with amp.profile() as p:
        amp.parallel_for_each(view, a.extent, scale, a, 3)
    assert p.launches == ()
    assert p.not_covered == (f"{view.accelerator.description} has no timestamps",)
    assert str(p).endswith(f"not covered: {view.accelerator.description} has no timestamps")


def test_the_trace(accelerator_view, tmp_path):
    a = on(accelerator_view, range(12))
    with amp.profile() as p:
        amp.parallel_for_each(accelerator_view, a.extent, scale, a, 3)
        amp.parallel_for_each(accelerator_view, a.extent.tile(4), spin, a, 3)
        np.asarray(a)
    path = tmp_path / "trace.json"
    p.save(path)
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    launches = [each for each in events if each.get("cat") == "launch"]
    assert [each["name"] for each in launches] == ["scale", "spin"]
    for event, launch in zip(launches, p.launches, strict=True):
        assert event["ph"] == "X"
        assert event["ts"] == pytest.approx(launch.started * 1e6)
        assert event["dur"] == pytest.approx(launch.seconds * 1e6)
    assert launches[1]["args"]["tile"] == [4]
    (down,) = [each for each in events if each.get("cat") == "transfer"]
    assert (down["name"], down["args"]["bytes"]) == ("download", 48)
    names = {each["args"]["name"] for each in events if each["ph"] == "M"}
    assert f"{p.launches[0].accelerator}, view 1" in names
    arrows = [(each["ph"], each["id"]) for each in events if each.get("cat") == "queue"]
    assert arrows == [("s", 1), ("f", 1), ("s", 2), ("f", 2)]


# -- the table, of a profile made up ------------------------------------------------------------

TABLE = """\
5 launches and 3 transfers in 1.50 s

Card                                   launches     total     mean    least  greatest  share
  blur  512 x 600 in tiles of 16 x 16         2    3.0 ms   1.5 ms   1.0 ms    2.0 ms    97 %
  sum  1000                                   2  100.0 us  50.0 us  50.0 us   50.0 us     3 %
  3.0 KiB to the device in 2 calls: 5.0 us
  4.0 MiB from the device in 1 call: 1.0 ms, waits for launches included
  997.9 ms between launches in 2 gaps, in 1 of which the host was late; the longest: 997.0 ms before sum

Chip @ vulkan     launches   total    mean   least  greatest  share
  sum  7 in tiles of 7       1  1.5 us  1.5 us  1.5 us    1.5 us  100 %
not covered: Old chip has no timestamps"""


def profile_of_two_views() -> Profile:
    def launch(kernel, shape, tile, started, seconds, queued=0.0, view=1, accelerator="Card"):
        finished = started + seconds
        return ProfiledLaunch(kernel, shape, tile, accelerator, view, queued, queued, started, finished, seconds)

    launches = (
        launch("blur", (512, 600), (16, 16), 0.0, 1e-3),
        launch("sum", (7,), (7,), 0.0, 1.5e-6, 0.0, 2, "Chip @ vulkan"),
        launch("blur", (512, 600), (16, 16), 1e-3, 2e-3),
        launch("sum", (1000,), None, 1.0, 5e-5, 0.5),
        launch("sum", (1000,), None, 1.001, 5e-5, 0.5),
    )
    transfers = (
        ProfiledTransfer("up", 1024, "Card", 1, 0.0, 2e-6),
        ProfiledTransfer("up", 2048, "Card", 1, 0.1, 0.1 + 3e-6),
        ProfiledTransfer("down", 4 << 20, "Card", 1, 1.2, 1.201),
    )
    made = Profile()
    made._end(1.5, launches, transfers, 0.0, ("Old chip has no timestamps",))
    return made


def test_the_table():
    made = profile_of_two_views()
    found = [line.split() for line in str(made).splitlines()]
    assert found == [line.split() for line in TABLE.splitlines()]
    columns = [line.index("%") for line in str(made).splitlines() if line.endswith("%")]
    assert columns[0] == columns[1]


def test_the_table_in_a_notebook():
    page = page_of(profile_of_two_views())
    head = ["launches", "total", "mean", "least", "greatest", "share"]
    assert page.rows == [
        ["Card", *head],
        ["blur  512 x 600 in tiles of 16 x 16", "2", "3.0 ms", "1.5 ms", "1.0 ms", "2.0 ms", "97 %"],
        ["sum  1000", "2", "100.0 us", "50.0 us", "50.0 us", "50.0 us", "3 %"],
        ["Chip @ vulkan", *head],
        ["sum  7 in tiles of 7", "1", "1.5 us", "1.5 us", "1.5 us", "1.5 us", "100 %"],
    ]
    notes = page.texts["p"]
    assert notes[0] == "5 launches and 3 transfers in 1.50 s"
    assert (
        "3.0 KiB to the device in 2 calls: 5.0 us" in notes and notes[-1] == "not covered: Old chip has no timestamps"
    )
    assert Profile()._repr_html_() is None
