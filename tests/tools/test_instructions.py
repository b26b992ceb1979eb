"""Generated shaders beside hand-written ones of the same algorithm: what they come to after spirv-opt."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.bench import instructions

#: By how much a whole shader may have more than the one by hand: launch words are members of a block, for one.
SLACK = {"loads": 4, "stores": 0, "integers": 2, "addresses": 5, "branches": 0, "barriers": 0}


def within(mine: Counter[str], hand: Counter[str], slack: dict[str, int]) -> dict[str, tuple[int, int]]:
    """The counts that are too high."""
    return {kind: (mine[kind], hand[kind]) for kind in SLACK if mine[kind] > hand[kind] + slack.get(kind, 0)}


@pytest.mark.parametrize("name", instructions.PAIRS)
def test_a_shader_has_no_more_instructions_than_one_by_hand(name: str) -> None:
    mine, _ = instructions.counted(instructions.generated(name))
    hand, _ = instructions.counted(instructions.written(name))
    assert mine["stores"] == hand["stores"] > 0
    assert within(mine, hand, SLACK) == {}


@pytest.mark.parametrize("name", ["sum", "product"])
def test_its_longest_loop_has_no_more(name: str) -> None:
    mine = instructions.counted(instructions.generated(name))[1]
    hand = instructions.counted(instructions.written(name))[1]
    assert mine["loads"] == hand["loads"] > 0
    assert within(mine, hand, {}) == {}


def test_more_instructions_are_seen() -> None:
    glsl = instructions.generated("copy")
    doubled = glsl.replace(
        "target[idx_global_0] = source[idx_global_0];", "target[idx_global_0] = source[idx_global_0 / 3];"
    )
    assert doubled != glsl
    mine, hand = instructions.counted(doubled)[0], instructions.counted(glsl)[0]
    assert "integers" in within(mine, hand, {})
