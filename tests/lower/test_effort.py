"""The guess at what a driver takes to compile a kernel: what counts, which form it chooses, and what it warns of."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import linecache
import warnings

import numpy as np
import pytest

import vkamp as amp
from vkamp import lower, pipeline
from vkamp.lower.effort import Effort

VIEW = amp.accelerator("reference").default_view


def written(name, lines, head=""):
    """A tiled kernel of such lines, and a launch's domain and containers."""
    text = "".join(f"    {line}\n" for line in lines)
    source = f"import vkamp as amp\n{head}@amp.kernel\ndef {name}(t, a, out):\n    x = a[t]\n{text}    out[t] = x\n"
    file = f"<{name}, {len(lines)} lines>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, object] = {}
    exec(compile(source, file, "exec"), names)
    views = amp.array_view(np.arange(96, dtype=np.int32)), amp.array_view(np.zeros(96, np.int32))
    return names[name], views[0].extent.tile(32), *views


def effort_of(*launch) -> Effort:
    kernel, *rest = launch
    return lower.effort(kernel.inspect(VIEW, *rest)._executable.module)


def test_functions_count_at_each_call():
    head = "@amp.func\ndef pick(x: int) -> int:\n    for k in range(x):\n        x += x // 3\n    return x\n"
    one, three = (effort_of(*written("calls", ["x = pick(x)"] * n, head)) for n in (1, 3))
    assert (one.loops, one.divisions, three.loops, three.divisions) == (1, 1, 3, 3)
    assert three.expressions > one.expressions and three.seconds > one.seconds


def test_branches_and_accesses_count():
    found = effort_of(*written("all_of_them", ["if x > 3 and x < 9:", "    out[t] = a[x]", "x = 1 if x > 4 else x"]))
    assert (found.branches, found.accesses, found.loops) == (3, 4, 0)


def phases(count):
    lines = ["s = amp.tile_static(32, amp.int32)"]
    for k in range(count):
        lines += [f"s[t.local[0]] = x * {k + 3}", "t.barrier.wait()", "x += s[31 - t.local[0]]", "t.barrier.wait()"]
    return written("phases", lines)


def by_numpy(count):
    x = np.arange(96, dtype=np.int32).reshape(3, 32)
    for k in range(count):
        x = x + (x * np.int32(k + 3))[:, ::-1]
    return x.ravel()


@pytest.mark.parametrize(("count", "expected"), [(4, "loops"), (80, "threads: it has so many phases that the driver")])
def test_a_form_is_left_where_it_takes_long_and_the_other_does_not(accelerator, count, expected):
    kernel, domain, a, out = phases(count)
    view = accelerator.default_view
    if not accelerator.is_emulated or accelerator.device_path == "reference":
        expected = "threads"
    assert kernel.inspect(view, domain, a, out).lowering.startswith(expected)
    amp.parallel_for_each(view, domain, kernel, a, out)
    assert np.array_equal(out, by_numpy(count))


def test_a_kernel_that_takes_long_in_any_form_warns_once(accelerator, monkeypatch):
    monkeypatch.setattr(pipeline, "_PATIENCE", 0.02)
    monkeypatch.setattr(pipeline, "_warned", set())
    kernel, domain, a, out = written("divisions", [f"x = (x + {n}) // (a[{n}] + 1)" for n in range(12)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for form in ("loops", "threads", "auto"):
            amp.kernel(lowering=form)(kernel.function).inspect(accelerator.default_view, domain, a, out)
    found = [w for w in caught if w.category is amp.CompileTimeWarning]
    if not accelerator.is_emulated or accelerator.device_path == "reference":
        assert not found
        return
    (only,) = found
    assert str(only.message) == (
        "divisions: the driver of this CPU device will take about 0 s to compile this kernel, in each process that "
        "launches it, because its text is long after functions are inlined. Make a loop of what repeats, "
        "launch parts of it one after the other, or run it on a GPU."
    )
    assert only.filename == "<divisions, 12 lines>"


def test_short_kernels_do_not_warn(accelerator, monkeypatch):
    monkeypatch.setattr(pipeline, "_warned", set())
    kernel, domain, a, out = written("short", ["x = x // 3"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", amp.CompileTimeWarning)
        kernel.inspect(accelerator.default_view, domain, a, out)
