"""Calls that come again, of all rows of the table: what ``test_repeated_calls.py`` and ``--again`` share."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.algorithms.table import compare, inputs
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.dispatch import call_cache

#: Functions that wait for a number, of which the size of the result depends, without these arguments.
WAITING = {"histogram": "range", "bincount": "bins", "run_length_decode": "total", "repeat": "total"}


def change(container, values):
    amp.copy(np.ascontiguousarray(values), container)


def containers_of(value, view, made):
    """Arguments with arrays of a device in place of numpy's; ``made``: pairs of both."""
    if isinstance(value, np.ndarray) and value.ndim and value.size and value.dtype.kind in "iuf":
        made.append((value, amp.array(np.ascontiguousarray(value), accelerator_view=view)))
        return made[-1][1]
    if type(value) in (list, tuple):
        return type(value)(containers_of(each, view, made) for each in value)
    return value


def contents(value):
    """The numbers of a result, or of arguments."""
    if isinstance(value, (list, tuple)):
        return [contents(each) for each in value]
    if isinstance(value, alg.counted) and int(value.count) > len(value.values):
        return int(value.count)
    is_known = isinstance(value, (amp.array, amp.array_view, alg.device_scalar, alg.counted, np.ndarray))
    return np.asarray(value).tolist() if is_known else value


def called_again(function, view):
    """Calls a function several times with the same containers, and compares the results."""

    def call(*args, **named):
        made = []
        args = containers_of(args, view, made)
        if isinstance(named.get("out"), np.ndarray):
            # One of the arguments.
            named["out"] = next(container for raw, container in made if raw is named["out"])
        before = repr(contents(args))
        results = [function(*args, **named)]
        expected = repr(contents(results[0]))
        if repr(contents(args)) != before:
            return changed_again(function, args, named, made, expected)
        waits = function.__name__ in WAITING and WAITING[function.__name__] not in named
        if not waits:
            with amp.capture() as graph:
                results.append(function(*args, **named))
            for _ in range(2):
                graph.replay()
                assert repr(contents(results[-1])) == expected, function.__name__
        for _ in range(3):
            results.append(function(*args, **named))
            assert [repr(contents(each)) for each in results] == [expected] * len(results), function.__name__
        return results[-1]

    return call


def changed_again(function, args, named, made, expected):
    """Calls a function that changes its arguments several times, each time with the elements of the first call."""
    after = repr(contents(args))
    for _ in range(3):
        for raw, container in made:
            change(container, raw)
        result = function(*args, **named)
        assert repr(contents(args)) == after, function.__name__
        assert repr(contents(result)) == expected, function.__name__
    for raw, container in made:
        if raw.flags.writeable:
            raw[...] = np.asarray(container)
    return result


def every_function(view, tested, monkeypatch):
    """Compares results of repeated calls with those of the first, and shows that they stay what they are; the names of
    the rows whose calls were repeated."""
    run, runs = call_cache._CallCopy.run, []
    monkeypatch.setattr(call_cache._CallCopy, "run", lambda self, moving: runs.append(self) or run(self, moving))
    for name in alg.__all__:
        function = getattr(alg, name)
        if callable(function) and not isinstance(function, type) and name != "trim":
            monkeypatch.setattr(alg, name, called_again(function, view))
    repeated = []
    for position, row in enumerate(tested):
        runs.clear()
        with forced("runs" if position % 2 else "tiles"):
            compare(row, list(inputs(row, position))[-1], {"accelerator_view": view})
        if runs:
            repeated.append(row.name)
    return repeated
