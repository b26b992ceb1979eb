"""Calls that interrupt a call of vkamp in their own thread, as signal handlers and destructors do."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.lang.container import bindable
from vkamp.run.accelerators import queue_of

MESSAGE = "a signal handler or a destructor has interrupted a call of vkamp"


@amp.kernel
def add(idx, a, k):
    a[idx] += k


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("engine", ["kompute", "vulkan"])
def test_a_call_inside_another_one_is_refused(accelerator: amp.accelerator, engine: str) -> None:
    view = amp.accelerator(accelerator, engine=engine).default_view
    mine = amp.array(np.zeros(70, np.int32), accelerator_view=view)
    numbers = np.zeros(700, np.int32)
    theirs = amp.array_view(numbers)
    for each in (mine, theirs):
        for _ in range(3):
            amp.parallel_for_each(view, each.extent, add, each, 1)
    other = amp.array_view(np.zeros(7, np.int32))
    calls = [
        lambda: amp.parallel_for_each(view, mine.extent, add, mine, 1),
        lambda: amp.parallel_for_each(view, other.extent, add, other, 1),
        lambda: np.asarray(mine),
        lambda: theirs.synchronize(),
        view.wait,
        view.flush,
    ]
    for call in calls:
        with queue_of(view).device.lock, pytest.raises(amp.AmpError, match=MESSAGE):
            call()
    for call in (lambda: np.asarray(mine), lambda: theirs.synchronize(), theirs.refresh, calls[1]):
        with bindable(theirs).lease, pytest.raises(amp.AmpError, match=MESSAGE):
            call()
    other[0] = amp.array_view(np.asarray(mine))[0]  # a value that is computed while the view is written
    other[1] = alg.max(mine)
    assert np.asarray(other)[:2].tolist() == [3, 3]
    theirs.synchronize()
    assert set(np.asarray(mine).tolist()) == set(numbers.tolist()) == {3}


PROGRAM = """
import signal
import numpy as np
import vkamp as amp

@amp.kernel
def add(idx, a, k):
    a[idx] += k

view = amp.accelerator().default_view
own, shared = amp.array(np.zeros(99, np.int32), accelerator_view=view), amp.array_view(np.zeros(500, np.int32))
counts = {own: 0, shared: 0}
messages, calls, torn = set(), 0, 0

def launch(a, k):
    amp.parallel_for_each(view, a.extent, add, a, k)
    counts[a] += k

def handler(*_):
    global calls, torn
    calls += 1
    try:
        launch(own, 2)
        torn += len(set(np.asarray(shared).tolist())) != 1
    except amp.AmpError as error:
        messages.add(str(error))
    signal.setitimer(signal.ITIMER_REAL, 0.0005)

for _ in range(3):
    launch(own, 1), launch(shared, 1)
    np.asarray(own), np.asarray(shared)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005)
while calls < 400:
    launch(shared, 1)
    if counts[shared] % 7 == 0:
        shared.synchronize()
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, lambda *_: None)
print(all(set(np.asarray(a).tolist()) == {n} for a, n in counts.items()), torn, *sorted(messages))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("engine", ["kompute", "vulkan"])
def test_a_signal_handler_changes_no_results(script, engine: str) -> None:
    done = script(PROGRAM, VKAMP_ACCELERATOR=f"llvmpipe@{engine}")
    assert done.stderr == ""
    assert done.stdout.startswith(f"True 0 {MESSAGE}")
    assert len(done.stdout.splitlines()) == 1


SUBINTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
own = interpreters.create("legacy") if hasattr(interpreters, "incref") else interpreters.create(isolated=False)
interpreters.run_string(own, f'''
import sys, warnings
sys.path[:] = {sys.path!r}
warnings.simplefilter("ignore")
import vkamp as amp
try:
    amp.accelerator("llvmpipe")
except amp.AmpError as error:
    print(error, flush=True)
''')
"""


@pytest.mark.accelerators("llvmpipe")
def test_a_subinterpreter_is_refused(script) -> None:
    assert "can be used only in the main interpreter" in script(SUBINTERPRETER).stdout


AT_EXIT = """
import atexit
import numpy as np
import vkamp as amp

@atexit.register
def late():
    try:
        print(np.asarray(amp.array(np.zeros(3, np.float32), accelerator_view=amp.accelerator("llvmpipe").default_view)))
    except amp.AmpError as error:
        print(error)
"""


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("engine", ["kompute", "vulkan"])
def test_no_device_is_opened_at_the_end_of_a_process(script, engine: str) -> None:
    done = script(AT_EXIT, VKAMP_ENGINE=engine)
    assert done.stdout == "the interpreter is shutting down, and it is too late to open a device\n"
    assert done.stderr == ""
