"""Check mode: a launch that looks at itself, run once and waited for.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch import launch, launch_arguments, watching
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.reference_controls import collecting
from vkamp.errors import CheckWarning, OutOfMemoryError, Span, edit_diagnostic
from vkamp.findings import Report, error_of
from vkamp.lang.capturing import refuse
from vkamp.lang.container import Descriptor
from vkamp.lang.storage import Storage
from vkamp.pipeline import checked
from vkamp.pipeline.compiler import executable
from vkamp.progress import activity
from vkamp.run.workarounds import quirks_of

if TYPE_CHECKING:
    from vkamp.dispatch.launch import Prepared


#: The most memory that a check takes for its notes, and the part of the device's memory.
_MAX_BYTES = 1 << 30
_MAX_PART = 4
#: A smaller budget is none.
_MIN_WORDS = 1 << 16

#: The launch words, the shadows, the containers in them, and the words of the whole report.
_Placement = tuple[dict[str, int], dict[str, checked.Shadow], dict[str, checked.Placed], int]


def check(args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """What stands behind the public function."""
    view, domain, rest = launch_arguments.parse("check", args)
    refuse("amp.check()")
    tiling = domain_of(domain)
    if rest:
        return run(launch.prepare(view, tiling, rest[0], rest[1:], constants))

    def check_closure(function: Any) -> Report:
        return run(launch.prepare(view, tiling, function, (), constants))

    return launch_arguments.decorator("check", "checks", "check", check_closure)


def checked_launch(prepared: Prepared) -> None:
    """Runs a launch checked; raises what it found, when all of it has run, or else warns of what it could not see.

    Raises ShaderEditError, and runs nothing, for a launch whose shader is edited by hand: its results would be others.
    """
    if prepared.edit is not None:
        kept = prepared.edit.kept
        span = Span(str(kept.path), 1, 0, 1, 1 << 20)
        raise edit_diagnostic("VKA708", span, kernel=kept.record.kernel, name=kept.name)
    report = run(prepared)
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
            registry=prepared.entry.told,
        )


def run(prepared: Prepared, *, proofs: bool = True) -> Report:
    """Runs a launch once with instrumentation and waits for it.

    ``proofs=False`` looks for races also where the compiler has proved that there are none.
    """
    device = prepared.view.accelerator
    found = watching.stale_views(prepared.view, watching.used_views(prepared))
    if device.is_emulated and prepared.view._queue.info.kind == "reference":
        report = _run_reference(prepared)
    else:
        with activity(f"checking {prepared.compiled.name} on {device.description}"):
            report = _Check(prepared, proofs).run()
    watching.look_until_the_end(prepared)
    return dataclasses.replace(report, findings=(*found, *report.findings))


def _run_reference(prepared: Prepared) -> Report:
    """The reference accelerator looks at every launch; here it goes on after what it finds."""
    with collecting() as reports:
        launch.enqueue(prepared, launch.bind(prepared, apart=True))
    (report,) = reports
    return dataclasses.replace(report, accelerator=prepared.view.accelerator.description)


def _wrapped(number: int) -> int:
    """A launch word: uint32."""
    return number & 0xFFFFFFFF


class _Check:
    """One checked launch on a device."""

    def __init__(self, prepared: Prepared, proofs: bool) -> None:
        self.prepared = prepared
        self.proofs = proofs
        self.domain = prepared.domain
        self.kernel = prepared.compiled.kernel
        self.tiles = math.prod(self.domain.shape)
        if self.domain.tile is not None:
            self.tiles //= math.prod(self.domain.tile)
        info = prepared.view._queue.info
        self.budget = min(info.limits.buffer_bytes, info.memory_bytes // _MAX_PART, _MAX_BYTES) // 4
        self.not_covered: list[str] = []
        if prepared.edit is not None:
            self.not_covered.append(
                f"the hand-edited shader {prepared.edit.kept.shown}: the check ran the generated code"
            )

    def run(self) -> Report:
        """Compiles, runs, reads the report."""
        descriptors = launch.bind(self.prepared, apart=True)
        made, compiled, storage, placement = self._allocated(descriptors)
        words, shadows, placed, size = placement
        limits = self.prepared.view.accelerator.limits
        assert limits is not None
        executable = self._executable(made, compiled)
        launch.check_limits(executable, limits, f"{self.kernel.name} under check mode", self.prepared.view)
        launch.check_subgroups(compiled, limits, self.prepared.view)
        storage.upload(0, np.zeros(4 * size, np.uint8))
        report = Descriptor(storage, np.dtype(np.uint32), 0, (size,), (1,), True, 0)
        arguments = dataclasses.replace(self.prepared.arguments, scalars={**self.prepared.arguments.scalars, **words})
        prepared = dataclasses.replace(self.prepared, compiled=compiled, executable=executable, arguments=arguments)
        launch.enqueue(prepared, {**descriptors, checked.REPORT: report})
        length = 4 * min(size, made.layout.cells)
        read = storage.download(0, length).view(np.uint32)
        where = checked.Where(self.domain.shape, self.domain.tile, placed, shadows, made.layout.unit)
        found, not_covered = checked.read_report(read, made, where)
        name, device = self.kernel.name, self.prepared.view.accelerator.description
        return Report(name, device, found, (*self.not_covered, *not_covered))

    def _allocated(
        self, descriptors: Mapping[str, Descriptor]
    ) -> tuple[checked.Instrumented, pipeline.Compiled, Storage, _Placement]:
        """The instrumented kernel and memory for its report; with fewer shadows if there is no memory for all."""
        while True:
            made, compiled = self._fitting(descriptors)
            placement = self._placed(made, descriptors)
            try:
                return made, compiled, self.prepared.view.allocate(4 * placement[-1]), placement
            except OutOfMemoryError:
                if not self.budget:
                    raise
                self.budget = self.budget // 8 if self.budget > _MIN_WORDS else 0
                self.not_covered.clear()

    def _instrumented(self, left_out: frozenset[str]) -> tuple[checked.Instrumented, pipeline.Compiled]:
        known, key = self.prepared.entry.checked, (left_out, self.proofs)
        if key not in known:
            known[key] = checked.instrument(self.prepared.compiled, left_out, proofs=self.proofs)
        return known[key]

    def _executable(self, made: checked.Instrumented, compiled: pipeline.Compiled) -> Any:
        key = self.prepared.target, id(made)
        known = self.prepared.entry.checked_executables
        if key not in known:
            # What is checked are the threads as the program has them.
            info = self.prepared.view._queue.info
            target = dataclasses.replace(
                self.prepared.target, lowering="threads", quirks=quirks_of(info), vector=info.limits.subgroup_size
            )
            known[key] = executable(compiled.kernel, target)
        return known[key]

    def _fitting(self, descriptors: Mapping[str, Descriptor]) -> tuple[checked.Instrumented, pipeline.Compiled]:
        """The instrumented kernel whose shadows of containers fit; says which do not."""
        made, compiled = self._instrumented(frozenset())
        left_out: set[str] = set()
        bits = made.layout.thread_bits + made.layout.global_bits
        if made.shadows and (self.tiles << bits) > 1 << 32:
            left_out = set(made.shadows)
            self._missing(left_out, f"{self.domain} has too many threads to number them")
        else:
            free = self.budget - made.layout.fixed_words - self.tiles
            groups = self._groups(made, descriptors)
            for names, low, high in sorted(groups, key=lambda group: group[2] - group[1]):
                size = (high - low) * made.shadows[names[0]]
                if size <= free:
                    free -= size
                else:
                    left_out.update(names)
                    self._missing(set(names), "they are too large for this device's memory")
        return self._instrumented(frozenset(left_out)) if left_out else (made, compiled)

    def _missing(self, names: set[str], why: str) -> None:
        self.not_covered.append(f"races on {', '.join(sorted(names))}: {why}")

    @staticmethod
    def _words(found: Descriptor, unit: int) -> checked.Placed:
        """A container's place in words of its storage."""
        size = found.dtype.itemsize // unit
        strides = tuple(stride * size for stride in found.strides_elements)
        return checked.Placed(found.offset_elements * size, strides, found.shape)

    def _span(self, found: Descriptor, unit: int) -> tuple[int, int]:
        """The words from the first to after the last."""
        at = self._words(found, unit)
        steps = [s * (n - 1) for s, n in zip(at.strides, at.shape, strict=True)]
        low = at.offset + sum(min(step, 0) for step in steps)
        high = at.offset + sum(max(step, 0) for step in steps) + found.dtype.itemsize // unit
        return low, high

    def _groups(
        self, made: checked.Instrumented, descriptors: Mapping[str, Descriptor]
    ) -> list[tuple[list[str], int, int]]:
        """The judged containers by the memory that they share, and its first word and the word after the last."""
        groups: dict[int, list[str]] = {}
        for name in made.shadows:
            groups.setdefault(self.kernel.buffer(name).storage, []).append(name)
        out = []
        for names in groups.values():
            spans = [self._span(descriptors[name], made.layout.unit) for name in names]
            out.append((names, min(low for low, _ in spans), max(high for _, high in spans)))
        return out

    def _placed(self, made: checked.Instrumented, descriptors: Mapping[str, Descriptor]) -> _Placement:
        """The launch words, the shadows, the containers in them, and the words of the whole report."""
        words: dict[str, int] = {}
        shadows: dict[str, checked.Shadow] = {}
        placed: dict[str, checked.Placed] = {}
        end = made.layout.fixed_words
        words["claim cells"] = end
        if "claim cells" in made.words:
            end += self.tiles
        starts = dict.fromkeys(descriptors, 0)
        for names, low, high in self._groups(made, descriptors):
            tables = made.shadows[names[0]]
            for name in names:
                shadows[name] = checked.Shadow(end, tables)
                words[checked.buffer_word("shadow", name)] = end
                starts[name] = low
            end += (high - low) * tables
        for name, found in descriptors.items():
            unit = made.layout.unit
            at, (low, high) = self._words(found, unit), self._span(found, unit)
            offset = at.offset - starts[name]
            placed[name] = checked.Placed(offset, at.strides, at.shape)
            words[checked.buffer_word("at", name)] = _wrapped(offset)
            words[checked.buffer_word("low", name)] = _wrapped(low - starts[name])
            words[checked.buffer_word("words", name)] = high - low
            for dim, stride in enumerate(at.strides):
                words[checked.buffer_word("stride", name, dim)] = _wrapped(stride)
        words["tile_static shadows"] = end
        words["checked tiles"] = self._checked_tiles(made, end)
        end += words["checked tiles"] * made.layout.tile_words
        for dim, size in enumerate(self.domain.shape):
            tile = self.domain.tile
            words[f"tiles {dim}"] = size if tile is None else size // tile[dim]
        return {name: words[name] for name in made.words}, shadows, placed, end

    def _checked_tiles(self, made: checked.Instrumented, end: int) -> int:
        """The tiles whose tile_static memory has a shadow; says how many have none."""
        if not made.sites.static:
            return 0
        most = max(self.budget - end, 0) // made.layout.tile_words
        if most >= self.tiles:
            return self.tiles
        self.not_covered.append(
            f"tile_static memory of {self.tiles - most} of {self.tiles} tiles: there is not enough memory to record it"
        )
        return most
