"""Scheduling on a Vulkan device: queues and submissions.

Work is collected, recorded with the barriers that it needs, and submitted without waiting; the host waits only for what
it reads. Where the host does not see the memory that kernels use, data go through memory that it sees. These copies are
work like dispatches.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import UnsupportedFeatureError
from vkamp.lang.region import ByteSet
from vkamp.run.cuda import CudaError
from vkamp.run.driver import PAUSE, pause_after
from vkamp.run.engine import Buffer as EngineBuffer
from vkamp.run.engine import Dispatch, Timing
from vkamp.run.late_programs import Build
from vkamp.run.plan import Access
from vkamp.run.queue import DeviceBuffer, moved
from vkamp.run.vulkan import mapped, staging
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.commands import (
    CommandRecorder,
    CopyWork,
    DispatchWork,
    Hazards,
    PlainWork,
    RecordedWork,
    Stamps,
    Work,
    split,
)
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.late_programs import is_awaited
from vkamp.run.vulkan.memory import Kind, MemorySlot
from vkamp.run.vulkan.recording import (
    QueueWithRecordings,
    Recorded,
    Repeats,
    VulkanRecording,
    first_part,
)
from vkamp.run.vulkan.relay import relay
from vkamp.run.vulkan.sharing import SharedBuffer
from vkamp.run.vulkan.submissions import QueueState, Submission, note_runs, touches
from vkamp.run.work import BoundReady

_MAX_PENDING = 64
#: The same for launches that use much memory; for some of them a submission costs 5 % of the device time.
_MAX_HEAVY = 32
#: The maximum number of pieces of submitted work, which keep their memory.
_MAX_RUNNING = 256
#: The maximum number of bytes in transit to or from the device, and of bytes whose copies are collected before they are
#: submitted.
_IN_FLIGHT, _WAITING = 64 << 20, 8 << 20
#: How long a wait polls on a GPU (seconds). A CPU driver needs the processor itself.
_POLL = 1e-4
#: The number of submissions on the device below which the driver thread submits more. The device always has work, and
#: further launches are collected.
_AHEAD = 2
#: A launch this long after the last submission is not part of a sequence of launches (seconds).
_ROW = 1e-4


Buffer = DeviceBuffer[MemorySlot]


class HostBuffer(DeviceBuffer[MemorySlot]):
    """Host memory in which the device works directly; implements ``vkamp.lang.storage.SharedStorage``."""

    queue: VulkanQueue

    def settle(self, *, writes_only: bool) -> None:
        self.queue.settle(self, writes_only=writes_only)

    @property
    def tidy(self) -> Callable[[], None]:
        return self.queue.device.tidy


class VulkanQueue(QueueWithRecordings):
    """One in-order queue of a device."""

    device: VulkanDevice
    takes_sizes = True

    def __init__(self, device: VulkanDevice) -> None:
        super().__init__(device)
        self._state = QueueState([], [], Hazards())
        self._recorder = CommandRecorder(device.api)
        self._repeats = Repeats()
        #: How many pieces may follow before running work is counted; negative where its memory must be, too.
        self._room = -1
        self._poll = 0.0 if device.info.kind == "cpu" else _POLL
        with device.lock:
            self.frames = device.take_frames()
        if self._poll:
            Build(partial(self.frames.make_ahead, device.lock, device.visit))
        weakref.finalize(self, device.give_back_frames, self.frames).atexit = False

    # -- the interface

    def ready(self, dispatch: Dispatch) -> BoundReady[DispatchWork]:
        return BoundReady(self, self._bind(dispatch, again=True))

    def _bind(self, dispatch: Dispatch, *, again: bool = False) -> DispatchWork:
        """A checked dispatch, compiled and bound."""
        self._check()
        program, slots = self._checked(dispatch)
        device = self.device
        with device.lock:
            try:
                if program.pipeline is None:
                    # Made here, so that a program that the driver cannot compile is rejected before it is enqueued.
                    self._build_or_wait(program)
                sets = device.sets.get(slots) if slots else None
            except VulkanError as error:
                raise device.failed(error) from error
            number = device.number() if again else 0
        if isinstance(dispatch.sizes, DeviceBuffer):
            slots = (*slots, dispatch.sizes.slot)
        return DispatchWork(dispatch, program, slots, self._regions(dispatch), sets, number)

    def append(self, work: DispatchWork) -> None:
        """Enqueues checked work."""
        device = self.device
        if device.forked or device.closed or device.removed is not None or not self.is_open or device.is_held():
            self._check()
        oldest = None
        with device.lock:
            pending, running, _ = self._state
            if self._poll and not running and not pending and work.number and self._sink is None:
                # A GPU is idle, and the launch came alone before: the device starts while the host continues.
                recorded = self._repeats.get((work.number,))
                if recorded is not None:
                    self._resubmit(recorded, work, 1, recorded.slots, lone=work)
                    return
            pending.append(work if self._sink is None else work.timed())
            # Another thread may have submitted everything since the launch was bound.
            self._awaits_programs |= work.program.pipeline is None
            if self._awaits_programs and len(pending) < _MAX_PENDING:
                return
            if self._may_wait(work, len(pending)):
                if not self._driver.is_awake:
                    self._driver.call()
            else:
                self._submit()
                oldest = self._excess()
        if oldest is not None:
            self._await(oldest)

    def _may_wait(self, work: DispatchWork, count: int) -> bool:
        """Whether the last of ``count`` pending pieces of work may wait for more work."""
        if self.immediate or count >= _MAX_PENDING or self._is_shared(work.access):
            return False
        if work.is_heavy:
            return count < self._most_heavy() and self._is_busy()
        return work.is_short or self._is_busy()

    def _most_heavy(self) -> int:
        """How many launches may be collected if the newest uses much memory."""
        held = {slot.id: slot.nbytes for each in self._state.pending for slot in each.slots}
        return 1 if sum(held.values()) > self._most_held() // 4 else _MAX_HEAVY

    def _most_held(self) -> int:
        """The maximum number of bytes that submitted work may use."""
        return self.device.memory.capacity(self.device.kind) // 4

    def replay(self, recording: VulkanRecording) -> None:
        """Submits a recording after everything enqueued; while the device is busy, it may wait for more work."""
        device = self.device
        if device.forked or device.closed or device.removed is not None or not self.is_open or device.is_held():
            self._check()
        recorded = recording.recorded
        if recorded is None:
            return
        oldest = None
        with device.lock:
            pending = self._state.pending
            if pending and len(pending) < recording.room and not (self._sink or self.immediate or device.sharing):
                pending.append(recording)  # As before, in less time.
                if not self._driver.is_awake:
                    self._driver.call()
                return
            self._replay(recording, recorded, pending)
            if len(self._state.running) > 1:
                oldest = self._excess()
        if oldest is not None:
            self._await(oldest)

    def _replay(self, recording: VulkanRecording, recorded: Recorded, pending: list[Work]) -> None:
        """As :meth:`replay`; the caller has the lock."""
        is_small = recording.is_small
        long = recording.long() if is_small else ()
        if self._sink is not None:
            # It is recorded again, with timestamps.
            pending.extend([each.timed() for each in recording.work])
            if not is_small or len(pending) >= _MAX_PENDING:
                self._submit()
        elif is_small and (self._poll or not long) and not self.immediate and self._may_gather(recording):
            pending.append(recording)
            if len(pending) > recording.find_room(_MAX_PENDING):
                self._submit()
            elif not self._driver.is_awake:
                self._driver.call()
        else:
            if pending:
                self._submit()
            # It counts as one piece, since most likely other work uses its memory, too.
            self._resubmit(recorded, recording, 1, {}, parts=long, runs=(recorded,))

    def _may_gather(self, recording: VulkanRecording) -> bool:
        """Whether short launches may wait for more, since one submission of several costs less.

        They may not where an idle GPU can start at once, or where they use memory that CUDA uses, too.
        """
        if self._poll and not self._state.pending and not self._is_busy(new=0):
            return False
        return not self._is_shared(recording.access)

    def wait(self) -> None:
        last = self._last_submitted()
        if last is not None:
            self._await(last)

    def mark(self) -> Callable[[], None]:
        last = self._last_submitted()

        def wait() -> None:
            self._check()
            if last is not None:
                self._await(last)

        return wait

    def _last_submitted(self) -> Submission | None:
        """Submits everything enqueued so far, and returns the submission that ends last."""
        self._check()
        with self.device.lock:
            if self._state.pending:
                self._submit()
            running = self._state.running
            return running[-1] if running else None

    def _drop(self) -> None:
        self._repeats.clear()
        self._state = QueueState([], [], Hazards())
        self._awaits_programs = False

    # -- host access

    def upload(self, buffer: Buffer, offset: int, data: NDArray[np.uint8], where: ByteSet | None) -> None:
        self._check()
        if not data.size or (where is not None and not where):
            return
        self._finish_cuda(buffer)
        direct = self.device.direct_copies
        if buffer.slot.mapped is not None:
            mapped.send(self, buffer, offset, data, where)
        elif direct is not None and direct.send(self, buffer, offset, data, where):
            pass  # The copy has ended.
        elif where is not None and staging.has_many(where):
            staging.send_whole(self, buffer, offset, data, where)
        else:
            staging.send(self, buffer, offset, data, where, "upload")
        self._statistics.uploads += 1
        self._statistics.uploaded_bytes += moved(data.size, where)

    def share(self, memory: NDArray[np.uint8]) -> HostBuffer | None:
        self._check()
        with self.device.lock:
            try:
                slot = self.device.lend(memory, self._statistics)
            except VulkanError as error:
                raise self.device.failed(error) from error
            return None if slot is None else HostBuffer(self, slot, slot.nbytes)

    def settle(self, buffer: Buffer, *, writes_only: bool) -> None:
        """Waits until no enqueued work uses a buffer, or until none writes it."""
        while True:
            with self.device.lock:
                is_used = self.is_used(buffer.slot, writes_only=writes_only)
                blocker = self.last_use(buffer.slot, writes_only=writes_only) if is_used else None
            if blocker is None:
                return
            self._await(blocker)

    def download(
        self, buffer: Buffer, offset: int, nbytes: int, where: ByteSet | None, out: NDArray[np.uint8] | None
    ) -> NDArray[np.uint8]:
        self._check()
        self._finish_cuda(buffer)
        direct = self.device.direct_copies
        if out is not None and direct is not None and direct.fetch(self, buffer, offset, out, where):
            found = out
        elif mapped.is_read_by_host(buffer, nbytes):
            found = mapped.fetch(self, buffer, offset, nbytes, where, out)
        else:
            found = staging.fetch(self, buffer, offset, nbytes, where, out)
        self._statistics.downloads += 1
        self._statistics.downloaded_bytes += moved(nbytes, where)
        return found

    def take_from(
        self, target: Buffer, target_offset: int, source: EngineBuffer, source_offset: int, nbytes: int
    ) -> bool:
        """Copies bytes from another buffer of any queue, after everything enqueued in both queues."""
        self._check()
        if not isinstance(source, DeviceBuffer) or not isinstance(source.queue, VulkanQueue):
            return False
        other: VulkanQueue = source.queue
        other._check()
        regions = staging.regions_of(ByteSet.interval(0, nbytes), source_offset, target_offset)
        if other is self:
            self.append_copy(self.copy_work(source, target, regions), now=False)
        elif other.device is self.device and self.device.staged:
            # The queues do not know each other's work, so the host waits for both.
            other.settle(source, writes_only=True)
            self.wait_for(self.copy_now(source, target, regions))
        elif not other.device.staged:
            other.settle(source, writes_only=True)
            with other.device.visit():
                self.upload(target, target_offset, source.slot.seen(source_offset, nbytes), None)
        elif not self.device.staged:
            self.settle(target, writes_only=False)
            with self.device.visit():
                other.download(source, source_offset, nbytes, None, target.slot.seen(target_offset, nbytes))
        else:
            relay(source, source_offset, target, target_offset, nbytes)
        return True

    # -- copies on the device, for transfers

    def take_staging(self, nbytes: int, kind: Kind) -> Buffer:
        """Host-visible memory for a transfer; waits while too much of it is in use."""
        while True:
            with self.device.lock:
                self._check_open()
                blocker = self._staging_in_excess(nbytes)
                if blocker is None:
                    return DeviceBuffer(self, self.device.take(nbytes, kind, self._statistics), nbytes)
            self._await(blocker)

    def _staging_in_excess(self, nbytes: int) -> Submission | None:
        """The submissions that must finish before this many more bytes are in transit."""
        self.retire()
        running = [each for each in self._state.running if each.staged]
        if not running or sum(each.staged for each in running) + nbytes <= _IN_FLIGHT:
            return None
        return running[0]

    def copy_work(self, source: Buffer, target: Buffer, regions: NDArray[np.uint64]) -> CopyWork:
        """A copy between two buffers; see :class:`CopyWork`."""
        return CopyWork(source, target, regions, by_parts=self.device.orders_parts)

    def copy_now(self, source: Buffer, target: Buffer, regions: NDArray[np.uint64]) -> Submission:
        """Submits a copy, and before it the work that must have ended."""
        work = self.copy_work(source, target, regions)
        with self.device.lock:
            self.append_copy(work, now=True)
            return self._state.running[-1]

    def append_copy(self, work: CopyWork, *, now: bool) -> None:
        """Enqueues a copy. With ``now``, submits it, and before it the work that must have ended."""
        with self.device.lock:
            self._check_open()
            pending = self._state.pending
            pending.append(work)
            self._statistics.synced_bytes += work.nbytes
            waiting = sum(each.nbytes for each in pending if isinstance(each, CopyWork))
            if now and work.is_for_host:
                self._submit(work.access)
            elif now or waiting > _WAITING or len(pending) >= _MAX_PENDING or self._is_shared(work.access):
                self._submit()
            else:
                self._driver.call()

    def wait_for(self, submission: Submission) -> None:
        """Waits until a submission has ended."""
        self._await(submission)

    # -- memory that CUDA uses, too

    def external(self, buffer: Buffer) -> SharedBuffer | str:
        """A buffer as CUDA's memory, or the reason why it cannot be that."""
        self._check()
        with self.device.lock:
            try:
                return SharedBuffer(self.device.share_with_cuda(), self._exportable(buffer))
            except (UnsupportedFeatureError, CudaError, VulkanError) as error:
                return str(error)

    def _exportable(self, buffer: Buffer) -> Buffer:
        """The buffer, or another one with its contents if drivers do not export its kind of memory."""
        device = self.device
        if buffer.slot.block.kind != "visible":
            return buffer
        made = DeviceBuffer(self, device.take(buffer.nbytes, device.kind, self._statistics), buffer.nbytes)
        whole = staging.regions_of(ByteSet.interval(0, buffer.nbytes), 0, 0)
        self.append_copy(self.copy_work(buffer, made, whole), now=False)
        return made

    def _is_shared(self, access: Access) -> bool:
        """Whether work must be submitted at once, in order with CUDA's."""
        sharing = self.device.sharing
        return sharing is not None and sharing.concerns(access)

    def _finish_cuda(self, buffer: Buffer) -> None:
        """Waits for CUDA's work on a buffer, which the host is about to read or write."""
        if self.device.sharing is not None:
            self.device.sharing.finish(buffer.slot)

    # -- what is used by what

    def note_written(self, access: Access) -> None:
        """Records what a finished copy outside this queue has written."""
        state = self._state
        self._state = state._replace(hazards=state.hazards.and_then(access, False, True))

    def note_copied(self, nbytes: int) -> None:
        """Counts bytes that were copied outside this queue, between the device's memory and the host's."""
        self._statistics.synced_bytes += nbytes

    def is_used(self, slot: MemorySlot, *, writes_only: bool) -> bool:
        """Whether unfinished work uses or writes a slot."""
        if not self._uses(slot, writes_only):
            return False
        self.retire()
        return self._uses(slot, writes_only)

    def _uses(self, slot: MemorySlot, writes_only: bool) -> bool:
        state = self._state
        return any(touches(each.access, slot, writes_only) for each in (*state.running, *state.pending))

    def last_use(self, slot: MemorySlot, *, writes_only: bool) -> Submission:
        """The last submission that uses a slot; submits pending work that uses it."""
        self._submit(Access({slot.id: None}, {}) if writes_only else Access({}, {slot.id: None}))
        return next(s for s in reversed(self._state.running) if touches(s.access, slot, writes_only))

    def _excess(self) -> Submission | None:
        """The last submission that must end before more is submitted, since running work keeps its memory."""
        running = self._state.running
        if len(running) < 2 or self._room >= 0:
            return None
        most = self._most_held()
        held, slots = 0, {}
        for each in reversed(running):
            held += each.pieces
            slots.update(each.slots)
            if each is not running[-1] and (held > _MAX_RUNNING or sum(slots.values()) > most):
                return each
        self._room = _MAX_RUNNING - held
        return None

    # -- running

    def _is_busy(self, new: int = 1) -> bool:
        """Whether the device has more to do than the ``new`` launches that came last."""
        pending, running, _ = self._state
        if self._sink is not None:
            return True
        before = len(pending) - new
        if before > 0 and (
            not isinstance(pending[before - 1], CopyWork)
            or any(not isinstance(each, CopyWork) for each in pending[: before - 1])
        ):
            return True
        if running and time.perf_counter() - running[-1].submitted > _ROW:
            self.retire()
            running = self._state.running
        return bool(running)

    def drive(self) -> float | None:
        """Submits work that has been pending long enough, if the device has room."""
        if not self._state.pending or self._sink is not None:
            return None
        if self._awaits_programs:
            return PAUSE
        self.retire()
        running = self._state.running
        if self._seen != self._statistics.submissions:
            self._seen = self._statistics.submissions
            return PAUSE
        if len(running) < _AHEAD:
            self._submit()
            return PAUSE
        return pause_after(time.perf_counter() - running[-1].submitted)

    def _submit(self, needed: Access | None = None) -> None:
        """Records pending work and submits it; with ``needed``, only the work that must end before the given access."""
        device = self.device
        device.check()  # it may have been closed during the wait for the lock
        now, later = split(self._state.pending, needed)
        if later:
            self._driver.call()
        try:
            if self._awaits_programs:
                self._build_programs(now)
                self._awaits_programs = is_awaited(later)
            while now:
                count = first_part(now)
                self._record_part(now[:count], [*now[count:], *later])
                now = now[count:]
        except VulkanError as error:
            raise device.failed(error) from error
        self._submit_recorded()

    def _record_part(self, part: list[Work], later: list[Work]) -> None:
        """Records a submission, or submits one that was recorded; ``later`` stays pending."""
        recordings = [each for each in part if isinstance(each, VulkanRecording)]
        if recordings:
            self._gather(recordings, later)
            return
        now = [each for each in part if not isinstance(each, RecordedWork)]
        key = None if self._sink is not None else self._repeats.key(now)
        recorded = None if key is None else self._repeats.get(key)
        if recorded is None and key is not None and self._repeats.is_worth_it(key):
            recorded = self._recorded([each for each in now if isinstance(each, DispatchWork)])
            self._repeats.keep(key, recorded)
        if recorded is not None:
            lone = now[0] if recorded.count == 1 and isinstance(now[0], DispatchWork) else None
            self._resubmit(recorded, now, len(now), recorded.slots, later, lone)
            return
        submission, hazards, barriers = self._record(now)
        self._add(submission, hazards, later, barriers, sum([isinstance(each, DispatchWork) for each in now]))
        self._room = -1

    def _recorded(self, work: list[DispatchWork]) -> Recorded:
        """Work as commands that can be submitted many times."""
        self._build_programs(work)
        commands = self.frames.record()
        after, barriers = self._recorder.record(commands.handle, work, Hazards(), None)
        if not self.device.staged or any(each.is_for_host for each in work):
            self._recorder.show_to_host(commands.handle)
        self.frames.finish(commands)
        return Recorded(commands, work, after, barriers)

    def _resubmit(
        self,
        recorded: Recorded,
        held: object,
        pieces: int,
        slots: dict[int, int],
        later: list[Work] | None = None,
        lone: DispatchWork | None = None,
        parts: Sequence[DispatchWork] = (),
        runs: Sequence[Recorded] = (),
    ) -> None:
        """Submits recorded work; ``later`` stays pending. The other arguments describe the submission."""
        self.device.check()
        if not self.frames.has_spare:
            self.retire()
        pending, running, hazards = self._state
        # The host has waited for this work, so its results are visible.
        behind, after = recorded.behind(hazards, bool(running))
        try:
            frame = self.frames.again(recorded.commands, behind=behind)
        except VulkanError as error:
            raise self.device.failed(error) from error
        submission = Submission(frame, recorded.access, (held, recorded), pieces, slots)
        submission.lone, submission.parts, submission.runs = lone, parts, runs
        self._room = -1 if slots else self._room - pieces
        self._add(submission, after, pending if later is None else later, recorded.barriers + behind, recorded.count)
        self._submit_recorded()

    def _submit_recorded(self) -> None:
        """Submits recorded work. Usually there is none, unless Ctrl-C interrupted its submission."""
        try:
            sharing, running = self.device.sharing, self._state.running
            if sharing is not None:
                for each in running:
                    sharing.submit(self, each)
                return
            first = len(running)
            while first and not running[first - 1].frame.is_submitted:
                first -= 1
            for each in running[first:]:
                self.frames.submit(each.frame)
        except VulkanError as error:
            raise self.device.failed(error) from error

    def _record(self, work: list[PlainWork]) -> tuple[Submission, Hazards, int]:
        if not self.frames.has_spare:
            self.retire()
        frame = self.frames.begin()
        stamps = None
        if self._sink is not None:
            count = 2 * sum(isinstance(each, DispatchWork) for each in work)
            stamps = Stamps(self.device.api, self.frames.queries(frame, count)) if count else None
        hazards, barriers = self._recorder.record(frame.commands, work, self._state.hazards, stamps)
        if not self.device.staged or any(each.is_for_host for each in work):
            self._recorder.show_to_host(frame.commands)
        api = self.device.api
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(frame.commands))
        return Submission.of(work, frame, stamps, self._sink), hazards, barriers

    def _await(self, submission: Submission, until: float | None = None) -> None:
        """Waits until a submission has ended; releases the lock during the wait, unless a caller has it."""
        device, frame = self.device, submission.frame
        with device.lock:
            if submission.is_over:
                return
            device.check()
            if not frame.results:
                self._submit_recorded()
            frame.waiters += 1
        try:
            if self._poll:
                with device.lock:
                    self.frames.prepare(len(self._state.running))
            self.frames.wait(frame, self._poll, device.check, until)
        except VulkanError as error:
            raise device.failed(error) from error
        finally:
            with device.lock:
                frame.waiters -= 1
                if frame.is_over:
                    self.retire(waited=submission)

    def settle_running(self) -> None:
        """Waits for all submitted work, and for nothing else."""
        submitted = [each for each in self._state.running if each.frame.results]
        if submitted:
            self._await(submitted[-1])

    def retire(self, waited: Submission | None = None) -> None:
        """Releases finished work; ``waited``: the submission that a thread has just waited for."""
        if self.device.closed:
            return
        pending, running, hazards = self._state
        done, is_done = 0, self.frames.is_done
        try:
            for each in running:
                if not is_done(each.frame):
                    break
                done += 1
        except VulkanError as error:
            raise self.device.failed(error) from error
        if not done:
            return
        over, now = running[:done], time.perf_counter()
        for each in over:
            each.is_over = True
            if each.lone is not None:
                each.lone.took(now - each.submitted, at_most=each is not waited)
        if any(each.runs for each in over):
            note_runs(over, now)
        self._state = QueueState(pending, running[done:], hazards)
        if done == len(running):
            self.device.busy.pop(id(self), None)
        reports = []
        for each in over:
            if each.stamps is not None:
                reports.append((each.sink, self._times(each, each.stamps)))
            self.frames.give_back(each.frame)
        # Last, since they may call anything.
        for sink, times in reports:
            if sink is not None:
                for timing in times:
                    sink(timing)

    def _times(self, submission: Submission, stamps: Stamps) -> list[Timing]:
        """Reports how long the dispatches of a submission took."""
        info, submitted, seen = self.device.info, submission.submitted, time.perf_counter()
        ticks = self.frames.ticks(submission.frame, stamps.count)
        return [
            work.timing(info, begin, end, submitted, seen)
            for work, begin, end in zip(stamps.work, ticks[::2], ticks[1::2], strict=True)
        ]
