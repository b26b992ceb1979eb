"""What happens around the engine: threads, Ctrl-C, fork, the interpreter's end, the validation layers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.run.conftest import ENGINES
from vkamp.errors import AcceleratorRemovedError, EngineWarning
from vkamp.run import kompute_device
from vkamp.run.engine import Dispatch
from vkamp.run.kompute import KomputeEngine

N = 777
BOTH = ["KomputeEngine()", "VulkanEngine()"]
HERE = Path(__file__).parent


def _in_threads(count, work):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)


def _work_of_a_thread(runner, number):
    values = np.arange(N) + number
    a, b = runner.buffer(values), runner.queue.allocate(4 * N)
    for step in range(20):
        runner.launch("add", [a], [1])
        runner.launch("scale", [a, b], [2])
        if step % 6 == number % 6:
            runner.queue.flush()
        if step % 5 == 0:
            np.testing.assert_array_equal(runner.read(b), 2 * (values + step + 1))
        temporary = runner.buffer([step] * 50)
        runner.launch("scale", [temporary, temporary], [3])
        assert set(runner.read(temporary).tolist()) == {3 * step}
    np.testing.assert_array_equal(runner.read(a), values + 20)


def test_eight_threads_on_one_queue(runner):
    _in_threads(8, lambda number: _work_of_a_thread(runner, number))


def test_eight_threads_on_eight_queues(runner, engine, info):
    runners = [type(runner)(engine.open(info)) for _ in range(8)]
    _in_threads(8, lambda number: _work_of_a_thread(runners[number], number))


def test_other_threads_run_during_a_long_kernel(runner, info):
    assert any(_ticks_during_a_long_kernel(runner, info) > 10 for _ in range(5))


def _ticks_during_a_long_kernel(runner, info):
    """How often another thread ran; a wait that holds the interpreter lets it run at most once.

    On a busy machine the kernel may end before the thread has started.
    """
    lavapipe = "llvmpipe" in info.name
    a = runner.buffer([1])
    runner.launch("long", [a], [100, 50_000], groups=(200, 1, 1) if lavapipe else (1, 1, 1))
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    runner.queue.wait()
    during = len(ticks)
    stop.set()
    thread.join()
    return during


def test_work_on_another_queue_during_a_long_kernel(runner, engine, info):
    other = type(runner)(engine.open(info))
    a, b = runner.buffer([1]), other.buffer(np.arange(N))
    runner.launch("long", [a], [60, 50_000], groups=(1, 1, 1))
    waiting = threading.Thread(target=runner.queue.wait)
    waiting.start()
    other.launch("add", [b], [5])
    np.testing.assert_array_equal(other.read(b), np.arange(N) + 5)
    waiting.join()


INTERRUPTED = """
    import time
    from conftest import *

    runner = runner_on({expression}, {name!r})
    a, b = runner.buffer([1, 2, 3]), runner.buffer([4, 5, 6])
    for _ in range({before}):
        runner.launch("long", [a], [1, 1], groups=({tiles}, 1, 1))
        runner.read(a)
    runner.launch("add", [b], [1])
    runner.launch("long", [a], [{outer}, 50_000], groups=({tiles}, 1, 1))
    print("started", flush=True)
    try:
        runner.read(a)
    except KeyboardInterrupt:
        interrupted = time.perf_counter()
    print(runner.read(b).tolist(), flush=True)
    print(runner.read(a).tolist()[1:], flush=True)
    print("early" if time.perf_counter() - interrupted > 0.05 else "late")
    """


@pytest.mark.parametrize(
    ("name", "outer", "tiles", "before"),
    [
        pytest.param("swiftshader", 100, 1, 0, marks=pytest.mark.accelerators("swiftshader")),
        pytest.param("swiftshader", 100, 1, 4, marks=pytest.mark.accelerators("swiftshader"), id="after short runs"),
        pytest.param("llvmpipe", 1, 600, 0, marks=pytest.mark.accelerators("llvmpipe")),
    ],
)
def test_ctrl_c_during_a_long_kernel(name, outer, tiles, before, expression, tmp_path):
    settings = {"name": name, "outer": outer, "tiles": tiles, "before": before, "expression": expression}
    text = textwrap.dedent(INTERRUPTED.format(**settings))
    path = tmp_path / "interrupted.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(HERE)!r})\n{text}", encoding="utf-8")
    child = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "started\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        rest, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (rest, child.returncode) == ("[5, 6, 7]\n[2, 3]\nearly\n", 0), errors


@pytest.mark.parametrize("engine", [*list(ENGINES.values())[:2], "VulkanEngine(staged=True)"])
@pytest.mark.parametrize(
    "ending",
    [
        "",
        "runner.queue.flush()",
        "del a, b; runner.queue.flush(); del runner",
        "raise SystemExit(0)",
        "sys.modules['keep'] = [a, b, runner]; del a, b, runner",
        "a.me = a; b.me = a; del a, b",
        "import gc; gc.disable(); runner.queue.flush(); del runner.queue",
    ],
)
@pytest.mark.spread(2)
def test_exit_with_work_pending(script, driver, engine, ending):
    done = script(
        f"""
        import sys
        from conftest import *
        runner = runner_on({engine}, {driver!r})
        a, b = runner.buffer([1] * 999), runner.buffer([2] * 999)
        runner.launch("long", [a], [20, 50_000], groups=(1, 1, 1))
        runner.launch("scale", [a, b], [1])
        print("end", flush=True)
        {ending}
        """
    )
    assert (done.stdout, done.stderr) == ("end\n", "")


@pytest.mark.parametrize("engine", BOTH)
def test_second_ctrl_c_at_the_end_ends_at_once(engine, tmp_path):
    text = f"""
        from conftest import *
        runner = runner_on({engine}, "swiftshader")
        a = runner.buffer([1])
        runner.launch("long", [a], [60_000, 60_000], groups=(1, 1, 1))
        runner.queue.flush()
        print("started", flush=True)
        runner.queue.wait()
        """
    path = tmp_path / "twice.py"
    header = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
    path.write_text(header + textwrap.dedent(text), encoding="utf-8")
    child = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "started\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert child.returncode == 130
    assert "KeyboardInterrupt" in errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("use", ["runner.read(a)", "runner.queue.wait()", "KomputeEngine().devices()"])
@pytest.mark.spread(2)
def test_a_forked_child_is_refused_and_ends_well(script, driver, engine, use):
    done = script(
        f"""
        import os, gc, warnings
        from conftest import *
        from vkamp.errors import AmpError
        runner = runner_on({engine}, {driver!r})
        runner_is_on_cpu = runner.queue.info.kind == "cpu"
        a, b = runner.buffer([1] * 999), runner.buffer([1] * 999)
        runner.launch("scale", [a, b], [4])
        runner.launch("long", [a], [60, 50_000], groups=(1, 1, 1))
        runner.queue.flush()
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own advice against fork
        child = os.fork()
        if child == 0:
            try:
                {use}
            except AmpError as error:
                print("spawn" in str(error), flush=True)
            del a, b, runner
            gc.collect()
            # A GPU's driver takes the parent's work with it when a child runs its exit handlers.
            if runner_is_on_cpu:
                raise SystemExit(7)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), runner.read(b)[0])
        """
    )
    assert done.stdout == "True\n7 4\n"
    assert done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("engine", BOTH)
def test_a_fork_before_the_first_use_is_fine(script, driver, engine):
    done = script(
        f"""
        import os, warnings
        from conftest import *
        info = device({driver!r}, {engine})
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own advice against fork
        child = os.fork()
        runner = Runner({engine}.open(info))
        a = runner.buffer([1, 2])
        runner.launch("add", [a], [4])
        assert runner.read(a).tolist() == [5, 6]
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.accelerators("llvmpipe")
def test_logging_is_left_alone(script):
    done = script(
        """
        import logging
        from conftest import *
        runner = Runner(KomputeEngine().open(device("llvmpipe")))
        runner.launch("add", [runner.buffer([1])], [4])
        runner.queue.wait()
        print(logging.getLogger().handlers)
        """
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


HAZARD = """
    import kp
    from conftest import *
    manager = kp.Manager(device("llvmpipe").index)
    zeros, push = np.zeros(64, np.uint32), np.ones((1, 2), np.uint32)
    a, b = manager.tensor_t(zeros), manager.tensor_t(zeros)
    sequence = manager.sequence()
    for tensors in ([a, b], [b, a]):
        algorithm = manager.algorithm(
            tensors, executable("scale").spirv, (1, 1, 1), np.zeros((1, 0), np.uint32), push
        )
        sequence.record(kp.OpAlgoDispatch(algorithm, push))
    sequence.eval()
    print("end")
    """
DEPENDENT = """
    from conftest import *
    for engine in ENGINES.values():
        runner = runner_on(eval(engine), "llvmpipe")
        queue = runner.queue
        for mode in (False, True):
            a, b, c = runner.buffer(range(1003)), runner.buffer([7] * 1003), queue.allocate(4012)
            for step in range(4):
                runner.launch("add", [a], [1])
                runner.launch("scale", [a, b], [3])
                runner.launch("scale", [b, c], [3])
                runner.launch("scale", [a, c], [2])
                runner.launch("add", [b], [2])
                if step == 1:
                    queue.flush()
                if step == 2:
                    a.upload(8, np.zeros(12, np.uint8))
            runner.launch("nothing", [], groups=(3, 2, 1))
            print(runner.read(a)[5], runner.read(b)[5], runner.read(c)[5])
            queue.immediate = mode
        d = runner.buffer([1, 2, 3])
        for _ in range(3):
            runner.launch("long", [d], [20, 60_000], groups=(1, 1, 1))
            runner.launch("add", [a], [1])
            queue.flush()
            runner.launch("add", [d], [1])
            runner.read(d)
    print("end")
    """


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_see_a_missing_barrier(validated):
    assert "SYNC-HAZARD" in validated(HAZARD)


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_are_silent(validated):
    output = validated(DEPENDENT)
    assert "VUID" not in output
    assert "SYNC-HAZARD" not in output
    assert "alidation" not in output
    assert len(output.splitlines()) == 11


def test_closing_an_engine_twice_and_opening_again(engine, info):
    queue = engine.open(info)
    queue.close()
    queue.close()
    assert engine.open(info).allocate(5).nbytes == 5


def test_a_card_works_and_its_memory_is_its_own(card):
    device = card.queue.device
    if card.queue.info.engine == "kompute":
        assert device.mirrored
        assert device.needs_canary
    else:
        assert device.staged
    for number in range(3):
        _work_of_a_thread(card, number)


def _launch_and_wait(card, a):
    card.launch("add", [a], [1])
    card.queue.wait()


@pytest.mark.parametrize("card", [KomputeEngine], indirect=True)
@pytest.mark.parametrize("known", [False, True], ids=["polled", "evaluated"])
def test_a_lost_device_is_noticed(card, known):
    """A word that does not come home says that the device was lost: here it never was 1."""
    queue, device = card.queue, card.queue.device
    a = card.buffer([1, 2])
    for _ in range(2 * known):
        card.launch("add", [a], [1])
        card.read(a)
    program = queue.program(card.executable("add"))
    program.seconds_per_tile = 1e-6 if known else None
    queue._flag.mirror[:] = 0
    upload = device.kp.OpTensorSyncDevice([queue._flag.tensor])
    device.manager.sequence().record(upload).eval()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vkamp.run.kompute_queue._POLL_LIMIT", 0.2)
        with pytest.raises(AcceleratorRemovedError, match="was lost") as caught:
            _launch_and_wait(card, a)
    assert caught.value.reason
    for use in (
        lambda: card.read(a),
        lambda: queue.allocate(4),
        lambda: queue.enqueue(Dispatch(program, (a,), b"", (1, 1, 1), (True,))),
        queue.flush,
    ):
        with pytest.raises(AcceleratorRemovedError, match="its data are lost"):
            use()
    key = next(k for k, d in kompute_device.open_devices.devices.items() if d is device)
    del kompute_device.open_devices.devices[key]
    device.close()


@pytest.mark.parametrize("card", [KomputeEngine], indirect=True)
def test_a_program_that_kompute_keeps_waiting_is_warned_once(card, monkeypatch):
    monkeypatch.setattr(kompute_device, "_MUCH", 1e-3)
    monkeypatch.setattr(kompute_device.Device, "has_warned", False)
    a = card.buffer(np.arange(N))

    def chain():
        for _ in range(40):
            card.launch("add", [a], [1])
        card.read(a)

    with pytest.warns(EngineWarning, match="VKAMP_ENGINE=vulkan, or auto, avoids this"):
        chain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain()
