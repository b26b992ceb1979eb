"""Scheduling on a Kompute device: queues, their buffers, and submissions.

Kompute records no barrier between dispatches, so a dispatch that needs the results of another is submitted after the
host has waited for the other; independent dispatches share a submission. The same holds for uploads to memory that a
dispatch then writes. The host waits for short submissions inside kp, which blocks all other Python threads and Ctrl-C.
It polls long ones through a word that the device writes at the end.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.lang.copying import copy_bytes
from vkamp.lang.region import ByteSet, scatter
from vkamp.run.driver import PAUSE, pause_after
from vkamp.run.engine import DeviceInfo, Dispatch, Sink, Timing
from vkamp.run.kompute_device import Device, TensorSlot, open_devices
from vkamp.run.libraries import load_kp
from vkamp.run.plan import levels
from vkamp.run.queue import BaseQueue, DeviceBuffer, moved, taken
from vkamp.run.submission import KomputeReady, KomputeRecording, KomputeSubmission, Pending, call_noted, touches

_MAX_PENDING = 64
_MAX_RUNNING = 32
#: The launch starts work that is expected to take longer (seconds); shorter work costs less in one piece.
_WORTH_STARTING = 2e-3
#: The driver thread runs short work for at most this long at a time, since it blocks all other threads (seconds).
_SLICE = 2.5e-4
#: Work that is expected to take longer is polled, so that Ctrl-C and other threads work (seconds).
_SHORT = 0.02
#: The same while another device is also in use, whose threads cannot work during a wait inside kp (seconds).
_SHORT_BESIDE = 1e-3
#: The maximum wait inside kp for a submission that is expected to take long (seconds).
_MAX_TRY = 1.0
_FIRST_PAUSE, _MAX_PAUSE = 2e-5, 2e-3
#: The interval between two checks, as a fraction of the time waited so far.
_PART_PAUSED = 0.1
#: A lost device never writes the word that is polled; waiting inside kp then raises an error (seconds).
_POLL_LIMIT = 60.0


def open_queue(info: DeviceInfo, *, mirrored: bool) -> KomputeQueue:
    """A new queue on a device, which is opened with its first queue."""
    return KomputeQueue(open_devices.open((info, mirrored), lambda: Device(load_kp(), info, mirrored=mirrored)))


class KomputeQueue(BaseQueue[TensorSlot, Pending]):
    """One in-order queue of a device."""

    device: Device

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        # Submissions in order, then dispatches that are not in a submission yet. They are one list, so that planning is
        # one assignment.
        self._work: list[KomputeSubmission | Pending] = []
        with device.lock:
            self._flag = device.take_flag()
        weakref.finalize(self, device.give_back_flag, self._flag).atexit = False

    # -- the interface

    def ready(self, dispatch: Dispatch) -> KomputeReady:
        pending = self._bind(dispatch)
        # Memory that both can access needs no copies, and a CPU is never lost.
        if not self.device.needs_canary and not any(slot.mirrored for slot in pending.slots):
            pending.alone = []
        return KomputeReady(self, pending)

    def record(self, dispatches: Sequence[Dispatch]) -> KomputeRecording:
        return KomputeRecording(self, [self._bind(each) for each in dispatches])

    def _bind(self, dispatch: Dispatch) -> Pending:
        """A checked dispatch, compiled and bound."""
        self._check()
        program, slots = self._checked(dispatch)
        with self.device.lock:
            # Made here, so that a program that the driver cannot compile is rejected before it is in the queue.
            pipeline = self.device.pipeline(program, slots, dispatch.groups, self._statistics)
        return Pending(dispatch, program, slots, self._regions(dispatch), pipeline)

    def append(self, pending: Pending) -> None:
        """Enqueues a checked dispatch."""
        self._check()
        with self.device.lock:
            work = self._work
            work.append(pending if self._sink is None else pending.timed())
            count = len(work)
            if self._sink is not None:
                if self.immediate or count >= _MAX_PENDING:
                    self._submit()
            elif self.immediate:
                self._go()
                self._bound(_MAX_PENDING)
            elif count >= _MAX_PENDING:
                self._make_room()
            elif count == 1 and pending.seconds() >= _WORTH_STARTING:
                self._go()
            elif not self._driver.is_awake:
                self._driver.call()

    def replay(self, recording: KomputeRecording) -> None:
        """Appends the submissions of a recording."""
        self._check()
        with self.device.lock:
            self._plan()
            if self._sink is not None:
                self._work += [each.timed() for level in recording.levels for each in level]
                self._submit()
                return
            is_idle = not self._work
            on_their_way = {
                slot.id for each in self._work if isinstance(each, KomputeSubmission) for slot in each.uploads
            }
            made = [s for level in recording.levels for s in self._submissions(level, on_their_way)]
            for each in made:
                each.kept = recording.sequences
            self._work += made
            if self.immediate or (is_idle and made and made[0].seconds() >= max(_WORTH_STARTING, self._cost(made[0]))):
                self._go()
            elif made:
                self._driver.call()
            # Most likely other work holds its memory; two of them keep the device busy.
            self._bound(_MAX_PENDING + 2 * sum(len(each.dispatches) for each in made))

    def _cost(self, submission: KomputeSubmission) -> float:
        """The seconds that it takes to start the operations one by one; for shorter work, waiting is better."""
        return self.device.submission_cost * len(submission.dispatches)

    def _go(self) -> None:
        """Starts work that depends on nothing; the driver thread starts the rest when it can."""
        self._plan()
        self._start_ready()
        if self._work:
            self._driver.call()

    def _make_room(self) -> None:
        """Runs the pending work if it is short, since that costs less in one piece; starts it otherwise."""
        # The next one may need the last one, and share its submission.
        if self._run_one_by_one(left=1):
            return
        self._plan()
        if sum([each.seconds() for each in self._work]) < _SHORT:
            self._settle(lambda _: True)
        else:
            self._go()
            self._bound(_MAX_PENDING)

    def _bound(self, most: int) -> None:
        """Waits for the oldest work if there are more than ``most`` dispatches, since they hold their memory."""
        running = [each for each in self._work if isinstance(each, KomputeSubmission)]
        held = sum(len(each.dispatches) for each in running)
        oldest: list[KomputeSubmission] = []
        for each in running:
            if held <= most:
                break
            oldest.append(each)
            held -= len(each.dispatches)
        self._settle(lambda s: s in oldest)

    def _submit(self) -> None:
        """Submits everything enqueued that does not have to wait; waits for timed work."""
        if self._sink is None:
            self._go()
        else:
            self._plan()
            self._settle(lambda _: True)

    def wait(self) -> None:
        self._check()
        with self.device.lock:
            if self._run_one_by_one():
                return
            self._plan()
            self._settle(lambda _: True)

    def mark(self) -> Callable[[], None]:
        self._check()
        with self.device.lock:
            self._submit()
            before = [each for each in self._work if isinstance(each, KomputeSubmission)]

        def wait() -> None:
            self._check()
            with self.device.lock:
                self._settle(lambda s: s in before)

        return wait

    def profile(self, sink: Sink | None) -> None:
        self.wait()  # Timed work runs alone.
        super().profile(sink)

    def _drop(self) -> None:
        self._work.clear()

    # -- host access

    def upload(
        self, buffer: DeviceBuffer[TensorSlot], offset: int, data: NDArray[np.uint8], where: ByteSet | None
    ) -> None:
        """Writes ``data`` into the host's bytes; they are copied to the device before the next dispatch that uses
        them."""
        self._check()
        slot, whole = buffer.slot, where is None and data.nbytes == buffer.nbytes
        if not data.size:
            return
        with self.device.lock:
            # Repeats if another thread has enqueued more during the wait.
            while any(touches(each, slot) for each in self._work):
                self._plan()
                self._settle(lambda s: touches(s, slot))
            if slot.stale and not whole:
                self._copy_to_host(slot)
            slot.dirty = slot.mirrored
            slot.stale = False
            if where is None:
                copy_bytes(slot.mirror[offset : offset + data.size], data)
            else:
                scatter(slot.mirror[offset : offset + data.size], data, where, 0)
            self._statistics.uploads += 1
            self._statistics.uploaded_bytes += moved(data.size, where)

    def download(
        self,
        buffer: DeviceBuffer[TensorSlot],
        offset: int,
        nbytes: int,
        where: ByteSet | None,
        out: NDArray[np.uint8] | None,
    ) -> NDArray[np.uint8]:
        self._check()
        slot = buffer.slot
        with self.device.lock:
            self._copy_to_host(slot)
            self._statistics.downloads += 1
            self._statistics.downloaded_bytes += moved(nbytes, where)
            return taken(slot.mirror[offset : offset + nbytes], where, out)

    def _copy_to_host(self, slot: TensorSlot) -> None:
        """Makes the host's bytes of ``slot`` the newest."""

        def changing() -> bool:
            return any(
                each.changes(slot) if isinstance(each, KomputeSubmission) else slot.id in each.access.writes
                for each in self._work
            )

        if changing():
            self._run_one_by_one()
        # Repeats if another thread has enqueued more during the wait.
        while slot.stale or changing():
            self._plan(slot)
            self._settle(lambda s: s.changes(slot))

    def _run_one_by_one(self, left: int = 0, short: float = _SHORT, most: float = math.inf) -> bool:
        """Runs each pending dispatch from its own recording, except the last ``left`` ones and those not reached within
        ``most`` seconds.

        ``False`` if the work is not suited: each dispatch must need the one before it, all must be ``short``, and all
        must have run before.
        """
        if self.device.running or self._sink is not None or not self._work:
            return False
        chain: list[Pending] = []
        for each in self._work:
            if not isinstance(each, Pending) or each.alone is None or not self._is_brief(each.seconds(), short):
                return False
            if chain and not chain[-1].access.conflicts(each.access):
                return False
            chain.append(each)
        until = time.perf_counter() + most
        for each in chain[: len(chain) - left]:
            if not self._run_alone(each):
                return False
            if time.perf_counter() >= until:
                break
        return True

    def _run_alone(self, pending: Pending) -> bool:
        """Runs the first dispatch, and returns whether it was as short as expected."""
        work, device = self._work, self.device
        assert pending.alone is not None
        try:
            if not pending.alone:
                sequence = device.manager.sequence()
                for operation in self._dispatching(pending):
                    sequence.record(operation)
                pending.alone.append(sequence)
            started = device.used = time.perf_counter()
            # Run and remove it in one step, so that a KeyboardInterrupt cannot come in between.
            work[:1] = islice(map(device.kp.Sequence.eval, pending.alone), 1, None)
        except RuntimeError as error:
            raise self._failed(error) from error
        seconds = time.perf_counter() - started
        self._statistics.submissions += 1
        self._statistics.dispatches += 1
        pending.program.ran(pending.push)
        if max(seconds, pending.seconds()) >= _SHORT_BESIDE:
            pending.program.seconds_per_tile = seconds / pending.tiles
        return seconds < _SHORT

    # -- planning

    def _plan(self, needed_slot: TensorSlot | None = None) -> None:
        """Puts pending dispatches into submissions; the last one that writes ``needed_slot`` copies it to the host."""
        planned = [each for each in self._work if isinstance(each, KomputeSubmission)]
        pending = [each for each in self._work if isinstance(each, Pending)]
        on_their_way = {slot.id for each in planned for slot in each.uploads}
        made: list[KomputeSubmission] = []
        for level in levels([each.access for each in pending]):
            # Timed dispatches run alone.
            for part in [level] if self._sink is None else [[at] for at in level]:
                made += self._submissions([pending[i] for i in part], on_their_way)
        if needed_slot is not None and needed_slot.mirrored:
            last = next((s for s in reversed(made) if s.changes(needed_slot)), None)
            if last is not None:
                last.downloads.append(needed_slot)
            elif not any(needed_slot in s.downloads for s in planned):
                made.append(KomputeSubmission(self, [], [], [needed_slot]))
        self._work[len(planned) : len(planned) + len(pending)] = made

    def _submissions(self, level: list[Pending], on_their_way: set[int]) -> list[KomputeSubmission]:
        """A level's submission, after a submission of the uploads that cannot be part of it."""
        slots = {slot.id: slot for each in level for slot in each.slots}
        fresh = [s for s in slots.values() if s.dirty and s.id not in on_their_way]
        on_their_way.update(slot.id for slot in fresh)
        written = {i for each in level for i in each.access.writes}
        # The barrier that Kompute records after a copy orders reads only.
        before = [slot for slot in fresh if slot.id in written]
        made = [KomputeSubmission(self, [], before, [])] if before else []
        made.append(KomputeSubmission(self, level, [s for s in fresh if s.id not in written], []))
        return made

    # -- running

    def drive(self) -> float | None:
        """Removes finished work, and starts pending work if the device has room."""
        if self._sink is not None:
            return None
        self._retire()
        work, device = self._work, self.device
        if not work:
            return None
        head = work[0]
        if isinstance(head, Pending):
            # The host may be about to enqueue more.
            if self._seen != self._statistics.dispatches:
                self._seen = self._statistics.dispatches
                return PAUSE
            if self._run_one_by_one(short=PAUSE, most=_SLICE):
                self._seen = self._statistics.dispatches
                return pause_after(0)
        # Planned work holds its memory, so there is at most as much as the host may enqueue.
        if sum([len(each.dispatches) if isinstance(each, KomputeSubmission) else 1 for each in work]) <= _MAX_PENDING:
            self._plan()
        until = time.perf_counter() + _SLICE
        while work and not device.running and isinstance(head := work[0], KomputeSubmission):
            if head.seconds() >= max(PAUSE, min(self._cost(head), _SHORT)):
                break
            self._advance(head)
            if time.perf_counter() > until:
                break
        self._start_ready()
        if not work:
            return PAUSE
        head = work[0]
        started = head.started if isinstance(head, KomputeSubmission) and head.is_started else time.perf_counter()
        return pause_after(time.perf_counter() - started)

    def _start_ready(self) -> None:
        """Starts the submissions that do not depend on those before them."""
        before: list[KomputeSubmission] = []
        while len(before) < min(len(self._work), _MAX_RUNNING):
            each = self._work[len(before)]
            if not isinstance(each, KomputeSubmission):
                return
            if not each.is_started:
                if any(other.access.conflicts(each.access) for other in before):
                    return
                if not each.dispatches and not self.device.running and each.seconds() < _SHORT:
                    self._advance(each)  # a short upload, which the next one needs
                    continue
                self._start(each)
            before.append(each)

    def _retire(self) -> None:
        """Removes the finished submissions at the front."""
        while self._work:
            head = self._work[0]
            if not isinstance(head, KomputeSubmission) or not head.is_started:
                return
            if not head.done:
                self._raise_flag(head)
                if not self._flag.mirror[0]:
                    return
            self._finish(head)

    def settle_running(self) -> None:
        """Waits for all submitted work, and for nothing else."""
        self._settle(lambda s: bool(s.running or s.done))

    def _settle(self, needed: Callable[[KomputeSubmission], bool]) -> None:
        """Runs submissions in order until none is ``needed``."""
        while any(isinstance(each, KomputeSubmission) and needed(each) for each in self._work):
            head = self._work[0]
            assert isinstance(head, KomputeSubmission)
            self._advance(head)

    def _advance(self, head: KomputeSubmission) -> None:
        """Finishes the first submission, or returns when another thread has finished it."""
        short, since = self._is_short(head), time.perf_counter()
        if not head.is_started:
            head.waited = True
            if short and not head.running:
                self._evaluate(head)
            else:
                self._start(head)
        if not head.done and not short and not self._poll(head):
            return
        self._finish(head, since)

    def _is_short(self, submission: KomputeSubmission) -> bool:
        if self._sink is not None:
            return True  # only submissions that run in one piece have times
        others = [s for s in self.device.running.values() if s is not submission]
        limit = max(_SHORT, self._cost(submission))
        if self._is_brief(sum([s.seconds() for s in (*others, submission)]), limit):
            return True
        return not others and not submission.running and submission.is_worth_a_try()

    def _is_brief(self, seconds: float, limit: float) -> bool:
        """Whether the host may wait inside kp for work of this duration; ``limit``: the maximum."""
        return seconds < limit and (seconds < _SHORT_BESIDE or self.device.is_alone)

    def _operations(self, submission: KomputeSubmission) -> list[Any]:
        """The kp operations of a submission, in order."""
        kp = self.device.kp
        operations = []
        if submission.uploads:
            operations.append(kp.OpTensorSyncDevice([s.tensor for s in submission.uploads]))
        for each in submission.dispatches:
            operations += self._dispatching(each)
        if submission.downloads:
            operations.append(kp.OpTensorSyncLocal([s.tensor for s in submission.downloads]))
        return operations

    def _dispatching(self, each: Pending) -> list[Any]:
        """The kp operations of a dispatch."""
        if not each.push:
            return [self.device.kp.OpAlgoDispatch(each.pipeline.algorithm)]
        words = np.frombuffer(each.push, np.uint32).reshape(1, -1)
        return [self.device.kp.OpAlgoDispatch(each.pipeline.algorithm, words)]

    def _evaluate(self, submission: KomputeSubmission) -> None:
        """Runs a submission inside kp: from a recording if the same ran before, with timestamps if it is timed."""
        device = self.device
        canary = self._flag if device.needs_canary else None
        sink = self._sink if submission.dispatches else None
        # Kompute never resets its queries, although Vulkan requires it: drivers accept this, but the validation layers
        # report it.
        has_times = sink is not None and not device.is_validated
        try:
            if sink is None:
                sequence = self._recorded(submission, canary)
            else:
                sequence = self._sequence(submission, canary, has_times=has_times)
            if canary is not None:
                canary.mirror[:] = 0
            device.running[id(submission)] = submission
            submission.started = device.used = time.perf_counter()
            call_noted(submission.done, device.kp.Sequence.eval, sequence)
            ticks = sequence.get_timestamps() if has_times else []
        except RuntimeError as error:
            raise self._failed(error) from error
        self._count(submission, 1)
        if canary is not None and not canary.mirror[0]:
            raise device.lose("a submission did not complete")
        if sink is not None:
            sink(self._timing(submission, ticks))

    def _recorded(self, submission: KomputeSubmission, canary: TensorSlot | None) -> Any:
        """The sequence of a submission, recorded when it runs for the first time."""
        key = (
            tuple(s.id for s in submission.uploads),
            tuple((d.pipeline.serial, d.push) for d in submission.dispatches),
            tuple(s.id for s in submission.downloads),
            canary and canary.id,
        )
        if submission.kept is None:
            touched = submission.access.all | ({canary.id} if canary is not None else set())
            return self.device.recording(key, touched, lambda: self._sequence(submission, canary))
        sequence = submission.kept.get(key)
        if sequence is None:
            sequence = submission.kept[key] = self._sequence(submission, canary)
        return sequence

    def _sequence(self, submission: KomputeSubmission, canary: TensorSlot | None, *, has_times: bool = False) -> Any:
        """A sequence of a submission's operations; with times it has a timestamp after each."""
        device = self.device
        operations = self._operations(submission)
        # One timestamp for the beginning, and one for the canary; kp crashes if there are too few.
        sequence = device.manager.sequence(0, len(operations) + 2) if has_times else device.manager.sequence()
        for operation in operations:
            sequence.record(operation)
        if canary is not None:
            sequence.record(device.kp.OpTensorSyncLocal([canary.tensor]))
        return sequence

    def _timing(self, submission: KomputeSubmission, ticks: list[int]) -> Timing:
        """How long the dispatch of a timed submission took."""
        (each,) = submission.dispatches  # timed dispatches run alone
        seen, begin = time.perf_counter(), submission.started
        if not ticks:
            return Timing(each.program.key, begin, seen - begin, each.dispatch.launch, each.enqueued, begin, seen)
        before = int(bool(submission.uploads))
        return each.timing(self.device.info, ticks[before], ticks[before + 1], begin, seen)

    def _start(self, submission: KomputeSubmission) -> None:
        """Submits every operation without waiting."""
        device = self.device
        try:
            if submission.operations is None:
                submission.operations = self._operations(submission)
                submission.started = device.used = time.perf_counter()
                self._count(submission, len(submission.operations))
            device.running[id(submission)] = submission
            begin = time.perf_counter()
            for operation in submission.operations[len(submission.running) :]:
                sequence = device.manager.sequence()
                call_noted(submission.running, device.kp.Sequence.eval_async, sequence, operation)
            submission.starting += time.perf_counter() - begin
        except RuntimeError as error:
            raise self._failed(error) from error

    def _failed(self, error: RuntimeError) -> RuntimeError:
        """Raises vkamp's errors as they are; an error of kp means that the device no longer works."""
        return error if isinstance(error, AmpError) else self.device.lose(str(error))

    def _poll(self, head: KomputeSubmission) -> bool:
        """Waits without the lock; True when ``head`` has ended, False when another thread has finished it."""
        device = self.device
        flag = self._flag
        self._raise_flag(head)
        pause, begin = _FIRST_PAUSE, time.perf_counter()
        while not flag.mirror[0]:
            device.condition.wait(pause)
            pause = min(pause * 1.5, max(pause, _PART_PAUSED * (time.perf_counter() - begin)), _MAX_PAUSE)
            device.check()
            if not self._work or self._work[0] is not head:
                return False
            if device.needs_canary and time.perf_counter() - begin > _POLL_LIMIT:
                break
        return True

    def _raise_flag(self, head: KomputeSubmission) -> None:
        """Makes the device write the queue's flag when the first submission, which was started, has ended."""
        if head.flag:
            return
        device, flag = self.device, self._flag
        flag.mirror[:] = 0
        operation = device.kp.OpTensorSyncLocal([flag.tensor])
        sequence = device.manager.sequence()
        try:
            call_noted(head.flag, device.kp.Sequence.eval_async, sequence, operation)
        except RuntimeError as error:
            raise self._failed(error) from error
        self._statistics.submissions += 1

    def _finish(self, head: KomputeSubmission, since: float = math.inf) -> None:
        """Finishes the first submission. Every step may be repeated; the last one removes it from the list. ``since``:
        when this thread began to wait for it.
        """
        device = self.device
        for sequence in (*head.running, *head.flag):
            if sequence.is_running():
                sequence.eval_await()
        if head.flag and not self._flag.mirror[0]:
            raise device.lose("a submission did not complete")
        over = time.perf_counter()
        # A thread that waited for part of the time has seen the end.
        head.waited |= over - since > (over - head.started) / 16
        self._learn(head, over - head.started)
        for slot in head.uploads:
            slot.dirty = False
        for each in head.dispatches:
            for slot in each.slots:
                slot.stale |= slot.mirrored and slot.id in each.access.writes
        for slot in head.downloads:
            slot.stale = False
        device.running.pop(id(head), None)
        if self._work and self._work[0] is head:
            del self._work[0]
            if device.needs_canary and self._work and head.dispatches:
                device.waited_between(over - head.started)
        device.condition.notify_all()

    def _learn(self, head: KomputeSubmission, seconds: float) -> None:
        """Records how long the programs took; this is an upper bound if no thread waited from the start."""
        tiles = sum([each.tiles for each in head.dispatches])
        if not tiles:
            return
        if head.done:
            self.device.quickest = min(self.device.quickest, seconds)
        rate = max(seconds - self.device.submission_cost, 1e-6) / tiles
        in_time = seconds < _MAX_TRY and seconds - head.starting < _SHORT
        for each in head.dispatches:
            each.program.ran(each.push)
        for program in {each.program for each in head.dispatches}:
            if head.done:
                program.tiles_at_once = max(program.tiles_at_once, tiles)
            elif in_time:
                program.tiles_in_time = max(program.tiles_in_time, tiles)
            known = program.seconds_per_tile
            # The first run may include the driver's compilation; later runs reduce a long duration slowly.
            if known is None or program.runs == 1 or not head.waited:
                program.seconds_per_tile = rate if known is None else min(rate, known)
            else:
                program.seconds_per_tile = max(rate, known / 4)
            program.runs += 1

    def _count(self, submission: KomputeSubmission, submissions: int) -> None:
        numbers = self._statistics
        numbers.submissions += submissions
        numbers.dispatches += len(submission.dispatches)
        numbers.synced_bytes += sum(s.nbytes for s in submission.uploads if s.mirrored)
        numbers.synced_bytes += sum(s.nbytes for s in submission.downloads if s.mirrored)
