"""completion_future."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import datetime, timedelta

import pytest

from vkamp import completion_future
from vkamp.errors import AmpError


class Gate:
    """Work that ends on demand, or fails."""

    def __init__(self, error=None):
        self.event = threading.Event()
        self.error = error

    def __call__(self):
        assert self.event.wait(30)
        if self.error:
            raise self.error


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.event.set()


def test_no_operation(refused):
    future = completion_future()
    assert not future.valid()
    assert repr(future) == "<completion_future: no operation>"
    for use in (future.get, future.wait, lambda: future.wait_for(0), lambda: future.then(print)):
        with refused(AmpError, "this completion_future belongs to no operation"):
            use()


def test_waiting(gate):
    future = completion_future._run(gate)
    assert future.valid()
    assert repr(future) == "<completion_future: pending>"
    assert not future.wait_for(0.01)
    assert not future.wait_until(time.time() + 0.01)
    assert not future.wait_until(datetime.now() - timedelta(seconds=1))
    gate.event.set()
    assert future.wait_for(30)
    assert future.wait_until(datetime.now() + timedelta(seconds=30))
    future.wait()
    assert future.get() is None
    assert repr(future) == "<completion_future: ready>"


def test_errors_rethrown():
    gate = Gate(AmpError("lost"))
    gate.event.set()
    future = completion_future._run(gate)
    future.wait()
    assert future.wait_for(1)
    for _ in range(2):
        with pytest.raises(AmpError, match="lost"):
            future.get()


def test_then(gate):
    future = completion_future._run(gate)
    called = [threading.Event() for _ in range(3)]

    def first():
        called[0].set()
        assert called[1].wait(30)  # blocks until the second callback runs

    future.then(first)
    future.then(called[1].set)
    assert not called[0].is_set()
    gate.event.set()
    assert called[0].wait(30)
    future.then(called[2].set)
    assert called[2].wait(30)


def test_then_is_not_called_after_a_failure():
    gate = Gate(AmpError("lost"))
    future = completion_future._run(gate)
    called = []
    future.then(lambda: called.append(1))
    gate.event.set()
    future.wait()
    assert not called


def test_awaitable(gate):
    async def main():
        future = completion_future._run(gate)
        asyncio.get_running_loop().call_later(0.02, gate.event.set)
        assert await future is None
        failing = Gate(AmpError("lost"))
        failing.event.set()
        with pytest.raises(AmpError, match="lost"):
            await completion_future._run(failing)

    asyncio.run(main())


def test_then_takes_a_function(gate):
    with pytest.raises(TypeError, match="then calls a function without arguments, not int"):
        completion_future._run(gate).then(5)
    gate.event.set()
