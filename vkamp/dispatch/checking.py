"""Check mode: runs an instrumented launch once, and waits for it.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from vkamp.artifacts import Executable
from vkamp.dispatch import launch_arguments, watching
from vkamp.dispatch.bound_launch import SingleLaunch, launch_words, make_dispatch
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.indirect_launches import domain_now
from vkamp.dispatch.preparing import PreparedLaunch, prepare
from vkamp.dispatch.reference_controls import collecting
from vkamp.dispatch.requirements import check_program
from vkamp.errors import CheckWarning, OutOfMemoryError, Span, edit_diagnostic
from vkamp.findings import Report, error_of
from vkamp.lang.capturing import refuse
from vkamp.lang.indirect import indirect
from vkamp.lang.storage import Descriptor, Storage
from vkamp.pipeline import Compiled, checked
from vkamp.pipeline.compiler import executable
from vkamp.progress import activity
from vkamp.run.accelerators import default_view, queue_of
from vkamp.run.workarounds import max_iterations, quirks_of

#: The most memory that a check takes for its notes, and the part of the device's memory.
_MAX_BYTES = 1 << 30
_MAX_PART = 4
#: A smaller budget counts as none.
_MIN_WORDS = 1 << 16


def check(args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """Implements the public function."""
    view, domain, rest = launch_arguments.parse("check", args)
    refuse("amp.check()")
    tiling = domain_now(domain) if isinstance(domain, indirect) else domain_of(domain)

    def report(*rest: Any) -> Report:
        kernel, args, bound = launch_arguments.with_bound(rest, constants)
        if tiling is None:
            # An indirect launch without threads.
            return Report(kernel.__name__, (view or default_view()).accelerator.description, (), ())
        return report_of(prepare(view, tiling, kernel, args, bound))

    return report(*rest) if rest else launch_arguments.decorator("check", "checks", "check", report)


def checked_launch(prepared: PreparedLaunch) -> None:
    """Runs a launch checked; raises what it found, when all of it has run, or else warns of what it could not see.

    Raises ShaderEditError, and runs nothing, for a launch whose shader is edited by hand: its results would be others.
    """
    if prepared.override is not None:
        kept = prepared.override.kept
        span = Span(str(kept.path), 1, 0, 1, 1 << 20)
        raise edit_diagnostic("VKA708", span, kernel=kept.record.kernel, name=kept.name)
    report = report_of(prepared)
    if not report.ok:
        lines = [*map(str, report.findings), *(f"not covered: {text}" for text in report.not_covered)]
        raise error_of(report.findings, "\n\n".join(lines))
    for text in report.not_covered:
        # Told once for each kernel and reason.
        warnings.warn_explicit(
            f"{report.kernel}: not covered: {text}",
            CheckWarning,
            prepared.compiled.span.file,
            max(prepared.compiled.span.line, 1),
            registry=prepared.programs.warned,
        )


def report_of(prepared: PreparedLaunch, *, proofs: bool = True) -> Report:
    """Runs a launch once with instrumentation and waits for it.

    ``proofs=False`` looks for races also where the compiler has proved that there are none.
    """
    device = prepared.view.accelerator.description
    found = watching.stale_views(prepared)
    if prepared.target.reference:
        # The reference accelerator looks at every launch; here it goes on after what it finds.
        with collecting() as reports:
            SingleLaunch(prepared, apart=True).submit()
        report = dataclasses.replace(reports[0], accelerator=device)
    else:
        with activity(f"checking {prepared.compiled.name} on {device}"):
            launch = _CheckedLaunch(prepared, proofs)
            launch.submit()
            report = launch.report()
    watching.look_until_the_end(prepared)
    return dataclasses.replace(report, findings=(*found, *report.findings))


class _CheckedLaunch(SingleLaunch):
    """One checked launch on a device."""

    made: checked.Instrumented
    storage: Storage
    shadows: checked.Shadows

    def __init__(self, prepared: PreparedLaunch, proofs: bool) -> None:
        super().__init__(prepared, apart=True)
        self.prepared = prepared
        self.proofs = proofs and max(prepared.domain.tiles) <= prepared.compiled.races.most_tiles
        self.kernel = prepared.compiled.kernel
        info = queue_of(prepared.view).info
        budget = min(info.limits.buffer_bytes, info.memory_bytes // _MAX_PART, _MAX_BYTES) // 4
        storages = {buffer.name: buffer.storage for buffer in self.kernel.buffers}
        self.plan = checked.ShadowPlan(prepared.domain, storages, budget)

    def _make(self, prepared: PreparedLaunch, descriptors: Mapping[str, Descriptor]) -> None:
        """Compiles the instrumented kernel for where the containers are, with memory for its report."""
        compiled = self._allocate(descriptors)
        executable = self._executable(compiled)
        check_program(compiled, executable, prepared.view, checked=True)
        size = self.shadows.size
        self.storage.upload(0, np.zeros(4 * size, np.uint8))
        report = Descriptor(self.storage, np.dtype(np.uint32), 0, (size,), (1,), 0)
        descriptors = {**descriptors, checked.REPORT: report}
        scalars = {**prepared.arguments.scalars, **self.shadows.words}
        self.layout, self.words = launch_words(prepared, executable, descriptors, scalars)
        self.dispatch = make_dispatch(prepared, executable, descriptors, self.layout.pack(*self.words))

    def report(self) -> Report:
        """Waits for the launch; what it found."""
        made, prepared, override = self.made, self.prepared, self.prepared.override
        read = self.storage.download(0, 4 * min(self.shadows.size, made.layout.cells)).view(np.uint32)
        where = checked.Where(prepared.domain, self.shadows.containers, self.shadows.shadows, made.layout.unit)
        found, not_covered = checked.read_report(read, made, where)
        not_covered[:0] = self.plan.not_covered
        if override is not None:
            shown = override.kept.shown
            not_covered.insert(0, f"the hand-edited shader {shown}: the check ran the generated code")
        return Report(self.kernel.name, prepared.view.accelerator.description, found, tuple(not_covered))

    def _allocate(self, descriptors: Mapping[str, Descriptor]) -> Compiled:
        """The instrumented kernel and memory for its report; with fewer shadows if there is no memory for all."""
        while True:
            regions = self._regions(descriptors, self._instrumented(frozenset())[0])
            self.made = self.plan.fitting(regions, lambda left_out: self._instrumented(left_out)[0])
            self.shadows = self.plan.place(self.made, self._regions(descriptors, self.made))
            try:
                self.storage = self.view.allocate(4 * self.shadows.size)
                break
            except OutOfMemoryError:
                if not self.plan.budget:
                    raise
                self.plan.budget = self.plan.budget // 8 if self.plan.budget > _MIN_WORDS else 0
                self.plan.not_covered.clear()
        known = tuple(self.prepared.programs.checked.values())  # other threads may add to them
        return next(compiled for made, compiled in known if made is self.made)

    @staticmethod
    def _regions(descriptors: Mapping[str, Descriptor], made: checked.Instrumented) -> dict[str, checked.ShadowRegion]:
        return {
            name: checked.region_of(
                each.offset_elements, each.strides_elements, each.shape, each.dtype.itemsize // made.layout.unit
            )
            for name, each in descriptors.items()
        }

    def _instrumented(self, left_out: frozenset[str]) -> tuple[checked.Instrumented, Compiled]:
        longest = max_iterations(queue_of(self.view).info)
        known, key = self.prepared.programs.checked, (left_out, self.proofs, longest)
        found = known.get(key)
        if found is None:
            # Of the threads that check a kernel for the first time, all use what one of them has made.
            made = checked.instrument(self.prepared.compiled, left_out, proofs=self.proofs, longest=longest)
            found = known.setdefault(key, made)
        return found

    def _executable(self, compiled: Compiled) -> Executable:
        target = self.prepared.target
        key = target, id(self.made)
        known = self.prepared.programs.checked_executables
        if key not in known:
            # What is checked are the threads as the program has them.
            info = queue_of(self.view).info
            target = dataclasses.replace(
                target, lowering="threads", quirks=quirks_of(info), vector=info.limits.subgroup_size
            )
            known[key] = executable(compiled.kernel, target)
        return known[key]
