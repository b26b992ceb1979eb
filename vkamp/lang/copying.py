"""Large copies by several threads: one thread reaches only a fifth of the memory bandwidth of a larger machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


#: Copies of fewer bytes finish before other threads wake up.
_MIN = 2 << 20
#: More threads do not increase the bandwidth.
_MAX = 8
_PAGE = 4096


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count() -> int:
    """The number of threads that copy: half of the processors, so that a driver's threads keep running."""
    return min(_MAX, processors() // 2)


def _transfer_count() -> int:
    """The number of threads of a transfer: all processors but one of each eight, which drivers need."""
    usable = processors()
    return max(1, min(2 * _MAX, usable - max(1, usable // 8)))


_threads = _count()
_transfer_threads = _transfer_count()
#: The threads that copy, by what they are for: one kind never waits for another.
_pools: dict[str, ThreadPoolExecutor] = {}


def copy_bytes(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    """``target[:] = source``; both have the same size and do not overlap."""
    if target.size < _MIN or _threads < 2:
        target[:] = source
        return
    step = max(_MIN // 2, -(-target.size // _threads // _PAGE) * _PAGE)
    others: list[Future[None]] = []
    at = step
    try:
        while at < target.size:
            others.append(_executor().submit(np.copyto, target[at : at + step], source[at : at + step]))
            at += step
    except RuntimeError:  # The interpreter is shutting down: no more threads.
        target[at:] = source[at:]
    try:
        np.copyto(target[:step], source[:step])
    finally:
        _finish(others)


def transfer_threads() -> int:
    """How many threads copy between memory and what a device's copy engine uses meanwhile."""
    return _transfer_threads


def copying_threads() -> int:
    """How many copies :func:`copy_soon` does at a time; 1 if it does each one immediately."""
    return _threads


def copy_soon(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> Callable[[], None] | None:
    """Starts ``target[:] = source`` in another thread and returns a function that waits for the end.

    Returns None if the copy is already done, because another thread was not worth it. Both have the same length and
    share no byte. The caller must always wait: until then the memory is in use.
    """
    copying = _begin(target, source) if _threads >= 2 and target.size >= _MIN // 2 else None
    if copying is not None:
        return partial(_finish, [copying])
    target[:] = source
    return None


def in_threads(work: Callable[[], None], count: int, purpose: str) -> None:
    """Calls ``work`` in this thread, and at the same time in up to ``count - 1`` others; waits for all, even after
    Ctrl-C. Raises what one of the calls raises. Calls that have not begun when this thread's ends are left out: the
    other threads may be busy with other copies for the same purpose, which has :func:`transfer_threads`."""
    others: list[Future[None]] = []
    try:
        for _ in range(count - 1):
            others.append(_executor(purpose).submit(work))
    except RuntimeError:
        pass  # The interpreter is shutting down: this thread alone does the work.
    failures: list[BaseException] = []
    try:
        work()
    finally:
        for each in others:
            if each.cancel():
                continue
            try:
                _finish([each])
            except BaseException as error:
                failures.append(error)
    if failures:
        raise failures[0]


def _begin(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> Future[None] | None:
    """A copy in another thread; None if the interpreter is shutting down and starts no more threads."""
    try:
        return _executor().submit(np.copyto, target, source)
    except RuntimeError:
        return None


def _finish(others: Sequence[Future[None]]) -> None:
    """Waits until all copies have ended, even after Ctrl-C."""
    interrupt: KeyboardInterrupt | None = None
    for each in others:
        while True:
            try:
                each.result()
                break
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def _executor(purpose: str = "any") -> ThreadPoolExecutor:
    found = _pools.get(purpose)
    if found is None:
        from concurrent.futures import ThreadPoolExecutor  # Imported when needed: it takes long to load.

        # As many as four copies use: streams have two in each direction.
        count = 4 * _MAX if purpose == "any" else _transfer_threads
        found = _pools.setdefault(purpose, ThreadPoolExecutor(count, f"vkamp-copy-{purpose}"))
    return found


def _forget() -> None:
    """A forked child does not have the threads."""
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
