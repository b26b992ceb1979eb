"""Orders in which the reference accelerator runs tiles and threads.

A correct program gives the same result with each of them. A wrong program may give correct results with only some of
them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

#: A thread yields this, instead of the site of a barrier, where another thread may continue.
SWITCH = -1

#: Where threads are switched in addition to barriers: nowhere, before atomics, or also before plain stores to shared
#: memory.
Switches = Literal["", "atomics", "stores"]

_Name = Literal["in-order", "reversed", "random", "adversarial"]
_CHOICES = "in-order, reversed, random:SEED or adversarial"


@dataclass(frozen=True)
class Schedule:
    """A rule for the order of tiles and threads; only ``random`` uses ``seed``.

    ``in-order`` and ``reversed`` run each thread up to its next barrier; ``random`` also switches threads before
    atomics; ``adversarial`` does so before every store to shared memory as well, so that readers come before writers.
    """

    name: _Name = "in-order"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in get_args(_Name):
            raise ValueError(f"{self.name!r} is not a schedule: give {_CHOICES}")

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The schedule from a text such as ``random:7``; ``ValueError`` if the text is invalid."""
        name, colon, seed = text.strip().partition(":")
        known = name in get_args(_Name) and (not colon or (name == "random" and seed.isascii() and seed.isdecimal()))
        if not known:
            raise ValueError(f"{text!r} is not a schedule: give {_CHOICES}")
        return cls(name, int(seed) if colon else 0)  # type: ignore[arg-type]

    @property
    def switches(self) -> Switches:
        """Where threads are switched in addition to barriers."""
        if self.name == "random":
            return "atomics"
        return "stores" if self.name == "adversarial" else ""

    def __str__(self) -> str:
        return f"{self.name}:{self.seed}" if self.name == "random" else self.name


class Orders:
    """A schedule during one launch."""

    def __init__(self, schedule: Schedule) -> None:
        self.name = schedule.name
        self.random = random.Random(schedule.seed)
        self.interval = 0

    def tiles(self, count: int) -> Sequence[int]:
        """The numbers of all tiles (of an untiled kernel: threads) in their order."""
        if self.name == "adversarial":
            # No tile can rely on its predecessor or its successor.
            return [*range((count - 2) | 1, 0, -2), *range((count - 1) & ~1, -1, -2)]
        return self._plain(count)

    def threads(self, count: int) -> Sequence[int]:
        """The threads of a tile in the order in which they begin the next barrier interval."""
        if self.name != "adversarial":
            return self._plain(count)
        self.interval += 1
        if self.interval % 2:
            return range(count - 1, -1, -1)
        half = count // 2
        return [*range(half, count), *range(half)]

    def _plain(self, count: int) -> Sequence[int]:
        if self.name == "random":
            numbers = list(range(count))
            self.random.shuffle(numbers)
            return numbers
        return range(count) if self.name == "in-order" else range(count - 1, -1, -1)

    def next(self, ready: list[int]) -> int:
        """Selects the next thread among those that can run: at random, or the one that has waited longest."""
        return ready.pop(self.random.randrange(len(ready)) if self.name == "random" else 0)
