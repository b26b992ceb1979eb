"""A profile as a table, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vkamp.display import page

if TYPE_CHECKING:
    from vkamp.profiling.records import Profile, ProfiledLaunch, ProfiledTransfer


_HEADER = ("", "launches", "total", "mean", "least", "greatest", "share")


def table(profile: Profile) -> str:
    """For each accelerator_view its kernels, the longest first, its copies and its gaps."""
    lines = [_summary(profile)]
    for number, name in _views(profile):
        rows = _rows(name, [each for each in profile.launches if each.view == number], indent="  ")
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        cells = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
        lines += ["", *("  ".join(line).rstrip() for line in cells)]
        lines += [f"  {note}" for note in _notes(profile, number)]
    lines += [f"not covered: {text}" for text in profile.not_covered]
    return "\n".join(lines)


def html(profile: Profile) -> str:
    """The same for a notebook."""
    parts = [page.note(_summary(profile))]
    for number, name in _views(profile):
        header, *rows = _rows(name, [each for each in profile.launches if each.view == number])
        parts.append(page.table(header, rows))
        parts += map(page.note, _notes(profile, number))
    parts += [page.note(f"not covered: {text}") for text in profile.not_covered]
    return page.block(parts)


def _summary(profile: Profile) -> str:
    launches, transfers = _count(len(profile.launches), "launch"), _count(len(profile.transfers), "transfer")
    return f"{launches} and {transfers} in {_time(profile.seconds)}"


def _views(profile: Profile) -> list[tuple[int, str]]:
    """The accelerator_views by number, with names that differ."""
    views = profile.accelerators
    if len(set(views.values())) == len(views):
        return list(views.items())
    return [(number, f"{accelerator}, view {number}") for number, accelerator in views.items()]


def _notes(profile: Profile, number: int) -> list[str]:
    """The copies of a view, and its gaps."""
    return _moved([each for each in profile.transfers if each.view == number]) + _idle(profile, number)


def _rows(name: str, launches: Sequence[ProfiledLaunch], indent: str = "") -> list[tuple[str, ...]]:
    """A header, and a row for each kernel and domain."""
    groups: dict[tuple[str, str], list[float]] = {}
    for each in launches:
        groups.setdefault((each.kernel, each.shape), []).append(each.seconds)
    whole = sum(each.seconds for each in launches)
    rows: list[tuple[str, ...]] = [(name, *(_HEADER[1:] if launches else [""] * len(_HEADER[1:])))]
    for (kernel, shape), seconds in sorted(groups.items(), key=lambda item: -sum(item[1])):
        total = sum(seconds)
        times = [_time(value) for value in (total, total / len(seconds), min(seconds), max(seconds))]
        share = f"{100 * total / whole:.0f} %" if whole else ""
        rows.append((f"{indent}{kernel}  {shape}".rstrip(), str(len(seconds)), *times, share))
    return rows


def _moved(transfers: Iterable[ProfiledTransfer]) -> list[str]:
    lines = []
    for direction, text in (("up", "to the device"), ("down", "from the device")):
        these = [each for each in transfers if each.direction == direction]
        if these:
            nbytes, seconds = sum(each.nbytes for each in these), sum(each.seconds for each in these)
            waits = ", waits for launches included" if direction == "down" else ""
            lines.append(f"{_size(nbytes)} {text} in {_count(len(these), 'call')}: {_time(seconds)}{waits}")
    return lines


def _idle(profile: Profile, number: int) -> list[str]:
    gaps = [gap for gap in profile.gaps if gap.before.view == number]
    if not gaps:
        return []
    longest = max(gaps, key=lambda gap: gap.seconds)
    late = sum(gap.host_was_late for gap in gaps)
    return [
        f"{_time(sum(gap.seconds for gap in gaps))} between launches in {_count(len(gaps), 'gap')}, in {late} of "
        f"which the host was late; the longest: {_time(longest.seconds)} before {longest.after.kernel}"
    ]


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def _time(seconds: float) -> str:
    """A time in the unit that leaves one to three digits before the decimal point."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def _size(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"
