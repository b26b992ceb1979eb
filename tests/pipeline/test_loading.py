"""The garbage collector while kernels are compiled."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from vkamp.pipeline.loading import without_collector


def test_compilations_of_several_threads_need_no_collector():
    assert gc.isenabled()
    inside, leave = threading.Event(), threading.Event()

    def compile_elsewhere():
        with without_collector:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=compile_elsewhere)
    with without_collector:
        thread.start()
        assert inside.wait(60)
        with without_collector:
            assert not gc.isenabled()
    # The other thread still compiles.
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_collector_that_is_disabled_stays_so():
    gc.disable()
    try:
        with without_collector:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_enables_it_again():
    with pytest.raises(KeyError), without_collector:
        raise KeyError
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_collector():
    with without_collector:
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()
