"""Work as commands: dispatches, copies, and the barriers between those whose order matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.region import Footprint
from vkamp.run.driver import PAUSE
from vkamp.run.engine import Dispatch
from vkamp.run.plan import NOTHING, Access, Regions, access_of, joint, levels
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan.api import Api
from vkamp.run.vulkan.memory import MemorySlot
from vkamp.run.vulkan.pipelines import DescriptorSet, VulkanProgram
from vkamp.run.work import BoundDispatch

#: The maximum number of regions of one copy command.
_REGIONS = 1 << 16
_new = object.__new__
#: A launch that uses more bytes does not wait for many others before it is submitted.
_HEAVY = 256 << 20


class DispatchWork(BoundDispatch[VulkanProgram, MemorySlot]):
    """A dispatch with its descriptor set. ``number`` is unique if it may be enqueued more than once."""

    __slots__ = ("is_heavy", "number", "sets")

    def __init__(
        self,
        dispatch: Dispatch,
        program: VulkanProgram,
        slots: tuple[MemorySlot, ...],
        regions: tuple[Regions, ...],
        sets: DescriptorSet | None,
        number: int = 0,
    ) -> None:
        super().__init__(dispatch, program, slots, regions)
        self.is_heavy = sum([slot.nbytes for slot in slots]) > _HEAVY
        self.sets = sets
        self.number = number

    @property
    def is_for_host(self) -> bool:
        """Whether it uses memory of a graphics card that the host may read without a copy."""
        return any(slot.block.kind == "visible" for slot in self.slots)

    @property
    def is_short(self) -> bool:
        """Whether it is known to take less time than the time for which work may wait for more work."""
        rate = self.program.seconds_per_tile
        return rate is not None and self.dispatch.sizes is None and rate * self.tiles < PAUSE

    def took(self, seconds: float, *, at_most: bool) -> None:
        """Records how long it ran alone; ``at_most``: the duration is an upper bound."""
        if self.dispatch.sizes is not None:
            return
        rate, known = seconds / self.tiles, self.program.seconds_per_tile
        self.program.seconds_per_tile = min(rate, known) if at_most and known is not None else rate

    def pushing(self, push: bytes) -> DispatchWork:
        # As in the base class, but without calls, since programs enqueue it repeatedly.
        made = _new(DispatchWork)
        made.dispatch = self.dispatch
        made.push = push
        made.program = self.program
        made.slots = self.slots
        made.access = self.access
        made.tiles = self.tiles
        made.enqueued = 0.0
        made.is_heavy = self.is_heavy
        made.sets = self.sets
        made.number = 0
        return made

    def _again(self) -> DispatchWork:
        return self.pushing(self.push)


class CopyWork:
    """A copy between two buffers, which it keeps alive. ``regions``: rows of the positions in source and target, and
    the size, all in bytes. Without ``by_parts``, it counts as an access to the whole buffers.
    """

    __slots__ = ("access", "buffers", "nbytes", "regions", "slots")

    def __init__(
        self,
        source: DeviceBuffer[MemorySlot],
        target: DeviceBuffer[MemorySlot],
        regions: NDArray[np.uint64],
        *,
        by_parts: bool = False,
    ) -> None:
        self.buffers = (source, target)
        self.slots = (source.slot, target.slot)
        parts = [_bounds(regions[:, side], regions[:, 2]) if by_parts else None for side in (0, 1)]
        self.access = access_of((source.slot.id, target.slot.id), (False, True), parts)
        self.nbytes = int(regions[:, 2].sum())
        self.regions = regions + np.array([source.slot.offset, target.slot.offset, 0], np.uint64)

    @property
    def is_for_host(self) -> bool:
        """Whether the host may read the target without another copy."""
        return self.slots[1].block.kind in ("readback", "host", "visible")


def _bounds(starts: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> Regions:
    """The whole words from the first to the last byte of some ranges."""
    start, stop = int(starts.min()) // 4 * 4, -(-int((starts + sizes).max()) // 4) * 4
    return (Footprint(start, stop, 0, stop - start),)


PlainWork = DispatchWork | CopyWork


class RecordedWork:
    """Dispatches in one recorded command buffer, with what they access. It keeps their memory."""

    access: Access
    work: Sequence[DispatchWork]

    @property
    def slots(self) -> list[MemorySlot]:
        """The memory that it uses."""
        return [slot for each in self.work for slot in each.slots]


Work = PlainWork | RecordedWork


class Hazards(NamedTuple):
    """What has been accessed since the last barrier, and by which stages of the pipeline."""

    access: Access = NOTHING
    computes: bool = False
    copies: bool = False

    def and_then(self, access: Access, computes: bool, copies: bool) -> Hazards:
        """These hazards with more accesses."""
        access = access if self.access is NOTHING else joint([self.access, access])
        return Hazards(access, self.computes or computes, self.copies or copies)


def joint_access(work: Sequence[Work]) -> Access:
    """What several pieces of work read and write together."""
    if len(work) == 1:
        return work[0].access
    return joint(each.access for each in work)


def split(pending: list[Work], needed: Access | None) -> tuple[list[Work], list[Work]]:
    """The pending work that must run before an access ``needed``, and the other work, which may run later."""
    if needed is None:
        return list(pending), []
    now: list[Work] = []
    later: list[Work] = []
    for each in reversed(pending):
        if each.access.conflicts(needed):
            now.append(each)
            needed = joint([needed, each.access])
        else:
            later.append(each)
    return now[::-1], later[::-1]


class CommandRecorder:
    """Writes work into command buffers.

    Independent work runs concurrently: a barrier is recorded only before work that accesses what was written since the
    last barrier, or writes what was accessed since then. A queue runs its command buffers in order, so the rule also
    holds across them; the caller stores the :class:`Hazards`.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        vk = api.vk
        self._compute = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        self._stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        self._writes = vk.VK_ACCESS_SHADER_WRITE_BIT, vk.VK_ACCESS_TRANSFER_WRITE_BIT
        any_access = vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT | sum(self._writes)
        self._barriers = {
            (computes, copies): self._memory_barrier(computes, copies, any_access)
            for computes in (False, True)
            for copies in (False, True)
        }
        self._to_sizes = self._memory_barrier(True, False, vk.VK_ACCESS_INDIRECT_COMMAND_READ_BIT)
        self._to_host = self._memory_barrier(True, True, vk.VK_ACCESS_HOST_READ_BIT)

    def _memory_barrier(self, computes: bool, copies: bool, access: int) -> Any:
        made = self._api.struct("VkMemoryBarrier")
        made.srcAccessMask = computes * self._writes[0] | copies * self._writes[1]
        made.dstAccessMask = access
        return made

    def record(
        self, commands: Any, work: Sequence[PlainWork], hazards: Hazards, stamp: Stamps | None
    ) -> tuple[Hazards, int]:
        """Records ``work`` so that it has the effect of running in order. Returns the hazards after it, and the number
        of barriers. With ``stamp``, dispatches do not overlap, and each is between two timestamps.
        """
        bound = _Bound()
        barriers = 0
        for group in levels([each.access for each in work]):
            for part in [group] if stamp is None else [[at] for at in group]:
                these = [work[at] for at in part]
                access = joint_access(these)
                if hazards.access.conflicts(access) or (stamp is not None and (hazards.computes or hazards.copies)):
                    self._barrier(commands, hazards)
                    barriers += 1
                    hazards = Hazards()
                for each in these:
                    if isinstance(each, CopyWork):
                        self._copy(commands, each)
                    else:
                        self._dispatch(commands, each, bound, stamp)
                copies = sum(isinstance(each, CopyWork) for each in these)
                hazards = hazards.and_then(access, copies < len(these), copies > 0)
        return hazards, barriers

    def _barrier(self, commands: Any, hazards: Hazards) -> None:
        compute, transfer = self._stages
        before = hazards.computes * compute | hazards.copies * transfer
        barrier = self._barriers[hazards.computes, hazards.copies]
        self._api.CmdPipelineBarrier(
            commands, before, compute | transfer, 0, 1, barrier, 0, self._api.null, 0, self._api.null
        )

    def show_to_host(self, commands: Any) -> None:
        """Makes what was written visible to the host after it has waited for the fence."""
        before = self._stages[0] | self._stages[1]
        host = self._api.vk.VK_PIPELINE_STAGE_HOST_BIT
        null = self._api.null
        self._api.CmdPipelineBarrier(commands, before, host, 0, 1, self._to_host, 0, null, 0, null)

    def _copy(self, commands: Any, work: CopyWork) -> None:
        api = self._api
        source, target = (buffer.slot.block.buffer for buffer in work.buffers)
        for first in range(0, len(work.regions), _REGIONS):
            rows = np.ascontiguousarray(work.regions[first : first + _REGIONS])
            regions = api.ffi.from_buffer("VkBufferCopy[]", rows)
            api.CmdCopyBuffer(commands, source, target, len(rows), regions)

    def _dispatch(self, commands: Any, work: DispatchWork, bound: _Bound, stamp: Stamps | None) -> None:
        api, program, push = self._api, work.program, work.push
        layout = program.layout
        assert layout is not None
        if program is not bound.program:
            api.CmdBindPipeline(commands, self._compute, program.pipeline)
            bound.program = program
        if layout is not bound.layout:
            # Sets and push constants of another layout may be invalid for this one.
            bound.layout, bound.sets, bound.push = layout, None, None
        if work.sets is not None and work.sets is not bound.sets:
            api.CmdBindDescriptorSets(commands, self._compute, layout.handle, 0, 1, work.sets.handles, 0, api.null)
            bound.sets = work.sets
        if push and push != bound.push:
            words = api.ffi.from_buffer(push)
            api.CmdPushConstants(commands, layout.handle, api.vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, len(push), words)
            bound.push = push
        if stamp is not None:
            stamp.write(commands, work)
        if work.dispatch.sizes is None:
            api.CmdDispatch(commands, *work.dispatch.groups)
        else:
            self._dispatch_sized(commands, work.slots[-1])
        if stamp is not None:
            stamp.write(commands)

    def _dispatch_sized(self, commands: Any, sizes: MemorySlot) -> None:
        """A dispatch with a grid in memory, which no other barrier makes visible to the stage that reads it."""
        api, vk = self._api, self._api.vk
        stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, vk.VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT
        api.CmdPipelineBarrier(commands, *stages, 0, 1, self._to_sizes, 0, api.null, 0, api.null)
        api.CmdDispatchIndirect(commands, sizes.block.buffer, sizes.offset)


class _Bound:
    """What is bound in a command buffer."""

    __slots__ = ("layout", "program", "push", "sets")

    def __init__(self) -> None:
        self.program: VulkanProgram | None = None
        self.layout: object = None
        self.sets: DescriptorSet | None = None
        self.push: bytes | None = None


class Stamps:
    """Timestamps around dispatches, in a pool of queries."""

    def __init__(self, api: Api, pool: Any) -> None:
        self._api = api
        self._pool = pool
        self.count = 0
        self.work: list[DispatchWork] = []

    def write(self, commands: Any, work: DispatchWork | None = None) -> None:
        """Writes a timestamp when everything before has ended; ``work``: the work that begins now."""
        if work is not None:
            self.work.append(work)
        stage = self._api.vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
        self._api.CmdWriteTimestamp(commands, stage, self._pool, self.count)
        self.count += 1
