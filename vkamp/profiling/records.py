"""A profile and its records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from typing import Literal

from vkamp.errors import AmpError
from vkamp.profiling.table import html, table
from vkamp.profiling.trace import write
from vkamp.tracebacks import entry_point


@dataclass(frozen=True)
class ProfiledLaunch:
    """A launch in a profile.

    ``kernel``: its name. ``domain``: threads per dimension. ``tile``: threads of a tile per dimension, or None.
    ``accelerator``: the device's description, followed by "@ kompute" if that is the engine. ``view``: the number
    of the accelerator_view in the profile, from 1.

    Times are in seconds since the profile began. ``seconds`` is the duration on the device, by the device's clock (the
    host's, on the reference accelerator). ``queued``: when it was launched; ``submitted``: when it was passed to the
    driver. ``started`` and ``finished`` are the device's times converted to the host's clock, with an error of up to
    :attr:`Profile.uncertainty`.
    """

    kernel: str
    domain: tuple[int, ...]
    tile: tuple[int, ...] | None
    accelerator: str
    view: int
    queued: float
    submitted: float
    started: float
    finished: float
    seconds: float

    @property
    def shape(self) -> str:
        """Domain and tile as text: ``"512 x 600 in tiles of 16 x 16"``."""
        text = " x ".join(map(str, self.domain))
        return text if self.tile is None else f"{text} in tiles of {' x '.join(map(str, self.tile))}"


@dataclass(frozen=True)
class ProfiledTransfer:
    """Bytes that the host copied to a device (``"up"``) or from it (``"down"``).

    ``started`` and ``finished``: when the call began and returned, in seconds since the profile began. An upload may
    return before the device has the bytes; a download includes the wait for the launches that it depends on.
    """

    direction: Literal["up", "down"]
    nbytes: int
    accelerator: str
    view: int
    started: float
    finished: float

    @property
    def seconds(self) -> float:
        """How long the call took."""
        return self.finished - self.started


@dataclass(frozen=True)
class Gap:
    """An interval between two launches in which an accelerator_view was idle.

    ``before`` and ``after`` are the launches around it. ``host_was_late``: the later launch had not been launched when
    the gap began; otherwise it waited in a queue, for memory, or for the driver.
    """

    before: ProfiledLaunch
    after: ProfiledLaunch

    @property
    def accelerator(self) -> str:
        """The device's description."""
        return self.before.accelerator

    @property
    def started(self) -> float:
        """When it began, in seconds since the profile began."""
        return self.before.finished

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.after.started - self.before.finished

    @property
    def host_was_late(self) -> bool:
        """Whether the later launch was launched after the gap began."""
        return self.after.queued > self.before.finished


@entry_point
class Profile:
    """The launches and copies during ``amp.profile()``; ``print(p)`` shows them as a table.

    ``launches`` (:class:`ProfiledLaunch`, in the order in which they began), ``transfers`` (:class:`ProfiledTransfer`),
    ``gaps`` (:class:`Gap`), ``seconds`` (how long the profile took). ``not_covered``: in words, what could not be
    recorded. All of these are available when the ``with`` block has ended; before that they raise ``AmpError``.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._seconds = 0.0
        self._launches: tuple[ProfiledLaunch, ...] = ()
        self._transfers: tuple[ProfiledTransfer, ...] = ()
        self._uncertainty = 0.0
        self._not_covered: tuple[str, ...] = ()

    def _end(
        self,
        seconds: float,
        launches: tuple[ProfiledLaunch, ...],
        transfers: tuple[ProfiledTransfer, ...],
        uncertainty: float,
        not_covered: tuple[str, ...],
    ) -> None:
        self._seconds, self._launches, self._transfers = seconds, launches, transfers
        self._uncertainty, self._not_covered = uncertainty, not_covered
        self._is_over = True

    def _check(self) -> None:
        if not self._is_over:
            raise AmpError("the profile has not ended: read it after its with block")

    @property
    def launches(self) -> tuple[ProfiledLaunch, ...]:
        """The launches, in the order in which they began on their devices."""
        self._check()
        return self._launches

    @property
    def transfers(self) -> tuple[ProfiledTransfer, ...]:
        """The copies by the host, in the order of the calls."""
        self._check()
        return self._transfers

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The intervals between launches in which a view was idle, in order."""
        self._check()
        return tuple(sorted(self._find_gaps(), key=lambda gap: gap.started))

    @property
    def seconds(self) -> float:
        """How long the profile took, by the host's clock."""
        self._check()
        return self._seconds

    @property
    def uncertainty(self) -> float:
        """The seconds by which ``started`` and ``finished`` of launches may be too early on the host's clock. A launch
        begins at some time between its submission and the detection of its end; the earliest possible time is used. The
        durations of launches, and the gaps between launches of one view, are not affected.
        """
        self._check()
        return self._uncertainty

    @property
    def not_covered(self) -> tuple[str, ...]:
        """In words, what could not be recorded."""
        self._check()
        return self._not_covered

    @property
    def accelerators(self) -> dict[int, str]:
        """The accelerators by the numbers of their views."""
        self._check()
        found = {each.view: each.accelerator for each in self._launches}
        return dict(sorted((found | {each.view: each.accelerator for each in self._transfers}).items()))

    def _find_gaps(self) -> Iterator[Gap]:
        for _, group in groupby(sorted(self._launches, key=lambda each: each.view), key=lambda each: each.view):
            last: ProfiledLaunch | None = None
            for each in group:
                if last is not None and each.started > last.finished:
                    yield Gap(last, each)
                if last is None or each.finished > last.finished:
                    last = each

    def __str__(self) -> str:
        return table(self)

    def _repr_html_(self) -> str | None:
        """For notebooks: the table; nothing before the ``with`` block has ended."""
        return html(self) if self._is_over else None

    def __repr__(self) -> str:
        if not self._is_over:
            return "<Profile: not over>"
        return f"<Profile: {len(self._launches)} launches, {len(self._transfers)} transfers, {self._seconds:.6f} s>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a trace in Chrome's format (JSON): open it in Perfetto (ui.perfetto.dev) or ``chrome://tracing``."""
        self._check()
        write(self, path)
