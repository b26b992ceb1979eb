"""Reads the report of an instrumented kernel as findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkamp import findings
from vkamp.artifacts import Domain
from vkamp.check.instrument.layout import (
    COUNT,
    EXHAUSTED,
    FIRST_RECORD,
    RECORD_WORDS,
    RECORDS,
    RaceSite,
    ReportLayout,
    Sites,
    ValueSite,
)
from vkamp.errors import Span
from vkamp.findings import AccessKind, Finding, ThreadAt, element_text, member_text, unravel
from vkamp.ir.types import BOOL, FLOAT32, INT32, Array, Scalar, Type


@dataclass(frozen=True)
class Placed:
    """A container in its memory: first element and strides in words, and its extent."""

    offset: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ShadowReader:
    """The shadow of one memory: its start in the report, and the words of a group of entries."""

    at: int
    tables: int


@dataclass(frozen=True)
class Where:
    """The meaning of the numbers of a launch; a word of memory has ``unit`` bytes."""

    domain: Domain
    containers: Mapping[str, Placed]
    shadows: Mapping[str, ShadowReader]
    unit: int = 4

    def thread(self, tile: int, local: int) -> ThreadAt:
        """The indices of a thread."""
        size = self.domain.tile
        if size is None:
            return ThreadAt(unravel(tile, self.domain.shape))
        block, inside = unravel(tile, self.domain.tiles), unravel(local, size)
        place = tuple(t * n + i for t, n, i in zip(block, size, inside, strict=True))
        return ThreadAt(place, block, inside)


@dataclass(frozen=True)
class _Record:
    """A finding as the kernel wrote it."""

    cell: int
    thread: ThreadAt
    other: tuple[int, int]
    a: int
    b: int


def decode(
    words: NDArray[np.uint32], layout: ReportLayout, sites: Sites, where: Where
) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings, each once, and what could not be checked."""
    count = int(words[COUNT])
    not_covered = []
    if count > RECORDS:
        not_covered.append(f"{count - RECORDS} further findings: the report holds {RECORDS}")
    if words[EXHAUSTED]:
        not_covered.append("races after very many barriers: the numbers of the barrier intervals ran out")
    reported: list[tuple[int, Finding]] = []
    raced: set[int] = set()
    for record in _records(words, min(count, RECORDS), where):
        if record.cell < layout.unset:
            reported.append((0, _value(sites.values[record.cell], record, where)))
        elif record.cell < layout.static_pairs:
            reported.append((record.cell - layout.unset, _unset(sites.static, record, layout, where)))
        elif record.cell < layout.global_pairs:
            pair = divmod(record.cell - layout.static_pairs, layout.static + 1)
            raced.update(pair)
            reported.append((0, _race(sites.static, pair, record, where, layout)))
        else:
            pair = divmod(record.cell - layout.global_pairs, layout.global_ + 1)
            reported.append((0, _race(sites.global_, pair, record, where, None)))
    out: dict[object, Finding] = {}
    for unset, found in reported:
        # A racing read may come too early by chance; the race is the error.
        if unset not in raced:
            out.setdefault(_key(found), found)
    return findings.in_order(out.values()), not_covered


def _key(found: Finding) -> object:
    return found.kind, frozenset(found.locations)


def _records(words: NDArray[np.uint32], count: int, where: Where) -> Iterator[_Record]:
    table = words[FIRST_RECORD : FIRST_RECORD + count * RECORD_WORDS].reshape(-1, RECORD_WORDS)
    for cell, tile, local, other_tile, other, a, b, _ in table.tolist():
        yield _Record(cell - 1, where.thread(tile, local), (other_tile, other), a, b)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _number(word: int, kind: Type | None) -> object:
    """A word as a value of a type."""
    if kind == FLOAT32:
        return np.array(word, np.uint32).view(np.float32)[()]
    if kind == BOOL:
        return bool(word)
    return _signed(word) if kind is None or kind == INT32 else word


def _value(site: ValueSite, record: _Record, where: Where) -> Finding:
    thread, span = record.thread, site.span
    if site.what == "bounds":
        index = _number(record.a, site.type)
        assert isinstance(index, int)
        return findings.bounds(site.variable, index, record.b, site.dim, thread, span, site.text)
    if site.what == "lane":
        return findings.lane(site.text, record.a, record.b, thread, span)
    if site.what == "view_bounds":
        return findings.view_bounds(site.variable, thread, span)
    if site.what == "uninitialised":
        text, index_ = _element(site.variable, site.type, record.a, where.unit)
        return findings.uninitialised(site.variable, text, index_, thread, span)
    if site.what == "division":
        return findings.division(thread, span)
    if site.what == "shift":
        count = _number(record.a, site.type)
        assert isinstance(count, int)
        return findings.shift(count, thread, span)
    if site.what == "conversion":
        assert isinstance(site.type, Scalar)
        return findings.conversion(_number(record.a, FLOAT32), site.type.name, thread, span)
    if site.what == "loop":
        assert site.dim is not None
        return findings.ended_loop(site.dim, thread, span)
    if site.what == "assert":
        return findings.failed_assert(site.text, thread, span)
    return findings.not_uniform(record_first(record, site), (thread, _number(record.b, site.type)), span)


def record_first(record: _Record, site: ValueSite) -> tuple[ThreadAt, object]:
    """The first thread of the tile with its value."""
    at = record.thread
    assert at.tile is not None and at.local is not None
    origin = tuple(g - i for g, i in zip(at.global_, at.local, strict=True))
    return ThreadAt(origin, at.tile, (0,) * len(origin)), _number(record.a, site.type)


def _element(variable: str, kind: Type | None, word: int, unit: int) -> tuple[str, tuple[int, ...]]:
    """Text and index of the element of an array that contains a word."""
    assert isinstance(kind, Array)
    number, rest = divmod(word, kind.element.size // unit)
    index = unravel(number, kind.shape)
    return element_text(variable, index) + member_text(kind.element, rest, unit), index


def _unset(sites: Sequence[RaceSite], record: _Record, layout: ReportLayout, where: Where) -> Finding:
    site = sites[record.cell - layout.unset - 1]
    text, index = _element(site.variable, site.type, record.a - site.first, where.unit)
    return findings.uninitialised(site.variable, text, index, record.thread, site.span)


def _race(
    sites: Sequence[RaceSite], pair: tuple[int, int], record: _Record, where: Where, static: ReportLayout | None
) -> Finding:
    sides = [(pair[0], record.thread), (pair[1], where.thread(*record.other))]
    # The order of the two is random; the later one in the program is reported.
    (before, first), (now, second) = sorted(sides, key=lambda side: (side[0], side[1].global_))
    there, here = sites[before - 1], sites[now - 1]
    name, index = _touched(here, record.a, where, static)
    other_name, _ = _touched(there, record.a, where, static)
    accesses: list[tuple[ThreadAt, AccessKind, str, Span]]
    accesses = [(second, here.access, name, here.span), (first, there.access, other_name, there.span)]
    return findings.race(here.variable, index, *accesses, space="global" if static is None else "tile_static")


def _touched(site: RaceSite, at: int, where: Where, static: ReportLayout | None) -> tuple[str, tuple[int, ...]]:
    """The text and the index of the element that was accessed."""
    if static is not None:
        return _element(site.variable, site.type, at - site.first, where.unit)
    shadow, placed = where.shadows[site.variable], where.containers[site.variable]
    word = (at - shadow.at) // shadow.tables
    found = findings.locate(word - placed.offset, placed.strides, placed.shape, site.type.size // where.unit)
    if found is None:
        return f"an element of {site.variable}", ()
    index, rest = found
    return element_text(site.variable, index) + member_text(site.type, rest, where.unit), index
