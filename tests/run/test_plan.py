"""Which dispatches share a submission."""

from __future__ import annotations

import itertools
import random

import pytest

from vkamp.run.plan import Access, levels


def access(reads="", writes=""):
    return Access(dict.fromkeys(map(ord, reads)), dict.fromkeys(map(ord, writes)))


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ([], []),
        ([access("a", "b")], [[0]]),
        ([access("a", "b"), access("a", "c")], [[0, 1]]),
        ([access("a", "b"), access("b", "c")], [[0], [1]]),
        ([access("a", "b"), access("c", "a")], [[0], [1]]),
        ([access("a", "c"), access("b", "c")], [[0], [1]]),
        ([access("", "a"), access("", "b")] * 3, [[0, 1], [2, 3], [4, 5]]),
        ([access("a"), access("a"), access("", "a"), access("a"), access()], [[0, 1, 4], [2], [3]]),
    ],
)
def test_levels(work, expected):
    assert levels(work) == expected


def test_conflicting_work_keeps_its_order():
    choose = random.Random(7)
    for _ in range(200):
        work = [
            access(choose.sample("abcdef", choose.randrange(3)), choose.sample("abcdef", 1))
            for _ in range(choose.randrange(2, 12))
        ]
        level_of = {i: n for n, group in enumerate(levels(work)) for i in group}
        assert sorted(level_of) == list(range(len(work)))
        for (i, first), (j, second) in itertools.combinations(enumerate(work), 2):
            if first.conflicts(second):
                assert level_of[i] < level_of[j]
