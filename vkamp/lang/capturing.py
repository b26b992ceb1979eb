"""What containers need to know of ``amp.capture()``: whether this thread records, because the host may not access
elements then."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any, Protocol

from vkamp.errors import AmpError
from vkamp.lang.home import refuse_interruption


class Recorder(Protocol):
    """A capture in progress."""

    @property
    def is_open(self) -> bool:
        """Whether it still records: a task may outlive the block that it was started in."""

    def launch(self, view: Any, domain: Any, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]) -> None:
        """Records a launch."""

    def add(self, prepared: Any) -> None:
        """Records a launch that has been prepared."""

    def copy(self, src: Any, dest: Any) -> None:
        """Records a copy between containers; the copy has been checked."""

    def discard(self, container: Any) -> None:
        """Records ``discard_data()``."""


_current: ContextVar[Recorder | None] = ContextVar("vkamp_capture", default=None)


def begin(new: Recorder) -> Token[Recorder | None]:
    """Makes ``new`` record what this thread (or task) launches."""
    return _current.set(new)


def end(token: Token[Recorder | None]) -> None:
    """Ends the capture that :meth:`begin` started."""
    _current.reset(token)


def recorder() -> Recorder | None:
    """The capture of this thread (or task), if it is in one."""
    found = _current.get()
    return found if found is not None and found.is_open else None


def refuse(what: str, *things: object) -> None:
    """AmpError in a capture: ``what`` (of ``things``) would act now, while the recorded launches have not run yet.
    Also where it interrupts another call."""
    refuse_interruption()
    if recorder() is not None:
        what = " ".join([what, *map(repr, things)])
        raise AmpError(
            f"{what} inside amp.capture(), where launches are recorded and none runs: do it before the capture or "
            "after a replay"
        )
