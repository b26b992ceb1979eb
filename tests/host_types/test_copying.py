"""Copies by several threads give the results of one thread, with any other work in between."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from vkamp.lang import copying

KIB = 1 << 10


@pytest.fixture(params=[1, 2, 3, 4])
def threads(request, monkeypatch):
    monkeypatch.setattr(copying, "_threads", request.param)
    monkeypatch.setattr(copying, "_MIN", 64 * KIB)
    return request.param


@pytest.mark.parametrize("size", [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 200_003, 5 << 20])
def test_every_byte_and_no_other(threads, size):
    generator = np.random.default_rng(size)
    source = generator.integers(0, 256, size + 2, np.uint8)
    target = np.full(size + 2, 7, np.uint8)
    copying.copy_bytes(target[1:-1], source[1:-1])
    assert (target[0], target[-1]) == (7, 7)
    np.testing.assert_array_equal(target[1:-1], source[1:-1])


def test_a_copy_does_not_wait_for_threads_of_other_copies(monkeypatch):
    monkeypatch.setattr(copying, "_pools", {})
    pool, go_on, calls = copying._executor(), threading.Event(), []
    for _ in range(4 * copying._MAX):
        pool.submit(go_on.wait, 60)
    try:
        copying.in_threads(lambda: calls.append(threading.current_thread()), 4, "any")
        assert calls == [threading.current_thread()]
    finally:
        go_on.set()
        pool.shutdown()
    assert calls == [threading.current_thread()]


def test_ctrl_c_leaves_no_thread_copying(monkeypatch):
    monkeypatch.setattr(copying, "_threads", 4)
    monkeypatch.setattr(copying, "_MIN", 64 * KIB)
    running = []

    class Interrupted:
        def __init__(self, future):
            self.future, self.times = future, 0

        def result(self):
            self.times += 1
            if self.times == 1:
                raise KeyboardInterrupt
            self.future.result()
            running.append(self.future.done())

    pool = copying._executor()
    monkeypatch.setattr(
        copying, "_executor", lambda: type("", (), {"submit": lambda _, *a: Interrupted(pool.submit(*a))})()
    )
    source, target = np.arange(1 << 20, dtype=np.uint32).view(np.uint8), np.zeros(1 << 22, np.uint8)
    with pytest.raises(KeyboardInterrupt):
        copying.copy_bytes(target, source)
    assert running == [True] * 3
    np.testing.assert_array_equal(target, source)


def test_while_the_interpreter_ends_and_in_a_forked_child():
    text = """
import atexit, os, sys, numpy as np
from vkamp.lang import copying
copying._threads = 4
source, target = np.arange(1 << 20, dtype=np.uint32).view(np.uint8), np.zeros(1 << 22, np.uint8)
def copy(where):
    target[:] = 0
    copying.copy_bytes(target, source)
    print(where, bool((target == source).all()), flush=True)
copy("here")
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        copy("child")
        os._exit(0)
    os.waitpid(child, 0)
atexit.register(copy, "end")
"""
    # Python 3.12 and later warn of a fork beside threads, which is what this is about.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    expected = ["here True", *(["child True"] if hasattr(os, "fork") else []), "end True"]
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")
