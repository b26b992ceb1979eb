"""Launches that are pending before their programs exist (:mod:`vkamp.run.late_programs`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from vkamp.artifacts import Executable
from vkamp.errors import AmpError
from vkamp.run import late_programs
from vkamp.run.device import DeviceProgram
from vkamp.run.plan import NOTHING, Access, joint
from vkamp.run.queue import BaseQueue
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.commands import DispatchWork, Work
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.memory import MemorySlot
from vkamp.run.vulkan.pipelines import VulkanProgram
from vkamp.run.vulkan.submissions import QueueState


def is_awaited(work: Sequence[Work]) -> bool:
    """Whether the program of any work does not exist yet."""
    return any(isinstance(each, DispatchWork) and each.program.pipeline is None for each in work)


def without(pending: Sequence[Work], program: VulkanProgram) -> list[Work]:
    """The pending work that does not need what the launches of a program write."""
    kept: list[Work] = []
    lost = NOTHING
    for each in pending:
        if (isinstance(each, DispatchWork) and each.program is program) or each.access.conflicts(lost):
            lost = joint([lost, each.access])
        else:
            kept.append(each)
    return kept


class QueueWithLatePrograms(BaseQueue[MemorySlot, DispatchWork]):
    """The part of a queue that makes programs."""

    device: VulkanDevice
    _state: QueueState
    #: Whether there may be pending work whose program does not exist yet.
    _awaits_programs = False

    def program(self, executable: Executable) -> DeviceProgram:
        """The program; where it may be late, a thread makes it."""
        if not late_programs.may_be_late() or self.immediate:
            return super().program(executable)
        self._check()
        with self.device.lock:
            try:
                return self.device.program(executable, later=True)
            except VulkanError as error:
                raise self.device.failed(error) from error

    def _build_or_wait(self, program: VulkanProgram) -> None:
        """Makes a program now, or lets its launch wait for the thread that makes it. The caller has the lock."""
        if program.making is not None and late_programs.may_be_late():
            self._awaits_programs = True
            late_programs.note(self)
        else:
            self._build(program)

    def _build(self, program: VulkanProgram) -> None:
        self.device.pipelines.build(program)
        self._statistics.pipelines += 1

    def _build_programs(self, work: Sequence[Work]) -> None:
        """Waits for the programs of work; what needs the launches of one that cannot be made is dropped."""
        for each in work:
            if isinstance(each, DispatchWork) and each.program.pipeline is None:
                try:
                    self._build(each.program)
                except Exception:
                    state = self._state
                    self._state = state._replace(pending=without(state.pending, each.program))
                    raise

    def finish_programs(self) -> None:
        """Like ``vkamp.run.late_programs.LateQueue``."""
        errors: list[AmpError] = []
        while self._awaits_programs and self.device.is_usable and self.is_open:
            for each in tuple(self._state.pending):
                if isinstance(each, DispatchWork) and each.program.making is not None:
                    each.program.making.wait()
            try:
                with self.device.lock:
                    self._submit()
            except AmpError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    @abstractmethod
    def _submit(self, needed: Access | None = None) -> None:
        """Submits pending work."""
