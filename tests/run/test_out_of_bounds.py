"""Stores and loads out of bounds leave other containers alone, and the process ends as it should."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import sys, warnings
    import numpy as np
    import vkamp as amp

    warnings.simplefilter("ignore")
    name = sys.argv[1]
    view = amp.accelerator(name).default_view

    @amp.kernel
    def touch(i, a):
        a[i] = a[i]

    @amp.kernel
    def store(i, a, at):
        a[at] = 77

    @amp.kernel
    def load(i, a, out, at):
        out[i] = a[at]

    @amp.kernel
    def add(i, a, at):
        amp.atomic_fetch_add(a[at], 1)

    n, features = 1000, view.accelerator._info.usable_features
    kinds = ["int32", "uint32", "float32", "int8", "uint16", "float16"]
    kinds += [kind for kind in ("int64", "float64") if kind in features]
    places = [-1, -2, n, n + 1, -n, 5000, -5000, 10**6, -(10**8), 10**8]
    held = []
    for kind in kinds:
        raws = [(np.arange(n) % 100).astype(kind) for _ in range(3)]
        views = [amp.array_view(raw) for raw in raws]
        for each in views:
            amp.parallel_for_each(view, each.extent, touch, each)
        for at in places:
            out = amp.array_view(np.zeros(1, kind))
            amp.parallel_for_each(view, amp.extent(1), store, views[1], at)
            amp.parallel_for_each(view, out.extent, load, views[1], out, at)
            np.asarray(out)
            if kind in ("int32", "uint32"):
                amp.parallel_for_each(view, amp.extent(1), add, views[1], at)
        for each in views:
            assert np.array_equal(np.asarray(each), (np.arange(n) % 100).astype(kind)), kind
        held.append(views)
    print("unchanged")
    """


@pytest.mark.parametrize("name", ["swiftshader", "llvmpipe", "swiftshader@kompute", "llvmpipe@kompute"])
def test_other_containers_stay_and_the_process_ends(name, tmp_path):
    program = tmp_path / "program.py"  # a kernel's source is read from its file
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, str(program), name], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "unchanged\n"), done.stderr
