"""The integers that an operation leaves its other operand as it is with, by the operation's name."""

from __future__ import annotations

#: As the right operand.
NEUTRAL_RIGHT = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "tdiv": 1, "shl": 0, "shr": 0, "bitor": 0, "bitxor": 0}
#: As the left operand.
NEUTRAL_LEFT = {"add": 0, "mul": 1, "bitor": 0, "bitxor": 0}
