"""What a program does with a container, for those who launch it and never see its IR."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """What the program does with the elements of one container.

    ``reads`` and ``writes`` are plain ones (a whole element or a member of it); ``atomics`` read and write besides.
    Asking for a container's extent is no access.
    """

    reads: bool = False
    writes: bool = False
    atomics: bool = False

    @property
    def changes(self) -> bool:
        """Whether elements may change."""
        return self.writes or self.atomics

    def __or__(self, other: Access) -> Access:
        return Access(self.reads or other.reads, self.writes or other.writes, self.atomics or other.atomics)

    def __bool__(self) -> bool:
        return self.reads or self.writes or self.atomics
