"""Copies of many bytes, by several threads: one alone gets a fifth of what the memory of a larger machine gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


#: Fewer bytes are copied before other threads are awake.
_MIN = 2 << 20
#: More threads get no more out of the memory.
_MAX = 8
_PAGE = 4096


def _count() -> int:
    """How many threads copy: half of the processors, so that a driver's own threads go on."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MAX, usable // 2)


_threads = _count()
_pool: ThreadPoolExecutor | None = None


def copy_bytes(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    """``target[:] = source``; both have as many bytes, and share none."""
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
    except RuntimeError:  # the interpreter is ending: no more threads
        target[at:] = source[at:]
    try:
        np.copyto(target[:step], source[:step])
    finally:
        _finish(others)


def copying_threads() -> int:
    """How many copies :func:`copy_soon` does at a time; 1 if it does each at once."""
    return _threads


def copy_soon(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> Callable[[], None] | None:
    """Begins ``target[:] = source`` in another thread; what it returns waits for the end. None if it is over already,
    since another thread is not worth it.

    Both are as long and share no byte. The caller must wait in any case: until then the memory is in use.
    """
    copying = _begin(target, source) if _threads >= 2 and target.size >= _MIN // 2 else None
    if copying is not None:
        return partial(_finish, [copying])
    target[:] = source
    return None


def _begin(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> Future[None] | None:
    """A copy in another thread; None when the interpreter ends, and starts no more threads."""
    try:
        return _executor().submit(np.copyto, target, source)
    except RuntimeError:
        return None


def _finish(others: Sequence[Future[None]]) -> None:
    """Waits until nobody copies any more, Ctrl-C or not."""
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


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor  # when it is needed: it takes long to load

        _pool = ThreadPoolExecutor(_MAX, "vkamp-copy")
    return _pool


def _forget() -> None:
    """A forked child has none of the threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
