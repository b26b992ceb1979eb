"""The picture of a search, as SVG: a row of points for each search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vkamp.tuning.report import Search, Trial

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 900, 300, 90, 40, 46
_STYLE = """<style>
text { font: 12px sans-serif; fill: #333 } .title { font-size: 14px; font-weight: bold } .axis { stroke: #999 }
.grid { stroke: #ddd } .point { fill: #4477aa } .default { fill: #ee8866 } .best { fill: #228833 }
.range { stroke: #4477aa; stroke-width: 2; opacity: .5 } .rejected { stroke: #cc3311; stroke-width: 2 }
.line { fill: none; stroke: #228833; stroke-dasharray: 4 3 }
</style>"""


def svg(searches: Sequence[Search]) -> str:
    """All searches, one below the other. The tooltip of a point is the candidate, or the reason of its rejection."""
    height = _HEIGHT * len(searches)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">', _STYLE]
    parts.append(f'<rect width="{_WIDTH}" height="{height}" fill="white"/>')
    for number, search in enumerate(searches):
        parts += [f'<g transform="translate(0 {number * _HEIGHT})">', *_panel(search), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _panel(search: Search) -> list[str]:
    timed = [each for each in search.trials if each.seconds and not each.reason]
    times = [value for each in timed for value in each.seconds] or [1e-6, 1e-5]
    low, high = min(times) / 1.15, max(times) * 1.15
    span = math.log(high / low)

    def y(seconds: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * math.log(high / seconds) / span

    step = (_WIDTH - _LEFT - 20) / max(len(search.trials), 1)
    floor = _HEIGHT - _BOTTOM
    parts = [f'<text class="title" x="{_LEFT}" y="20">{escape(str(search))}</text>']
    for k in range(5):
        value = low * math.exp(span * k / 4)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value * 1e6:.4g} us</text>')
    best: list[tuple[float, float]] = []
    for number, trial in enumerate(search.trials):
        x = _LEFT + step * (number + 0.5)
        parts += _mark(search, trial, x, y, floor)
        if trial.seconds and not trial.reason:
            best.append((x, min(trial.median, best[-1][1] if best else math.inf)))
    path = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in best)
    parts.append(f'<polyline class="line" points="{path}"/>')
    rejected = len(search.rejected)
    parts.append(
        f'<text x="{_LEFT}" y="{_HEIGHT - 10}">{len(timed)} candidates timed, {rejected} rejected (crosses); orange: '
        "the default; green: the best, and the best so far; bars: all rounds</text>"
    )
    return parts


def _mark(search: Search, trial: Trial, x: float, y: object, floor: float) -> list[str]:
    assert callable(y)
    tip = f"<title>{escape(str(trial.parameters))}: {escape(trial.reason or f'{trial.median * 1e6:.4g} us')}</title>"
    if trial.reason or not trial.seconds:
        d = 4
        return [
            f'<g class="rejected">{tip}<line x1="{x - d:.1f}" y1="{floor - d}" x2="{x + d:.1f}" y2="{floor + d}"/>'
            f'<line x1="{x - d:.1f}" y1="{floor + d}" x2="{x + d:.1f}" y2="{floor - d}"/></g>'
        ]
    kind = "best" if trial.parameters == search.best else "default" if trial.parameters == search.default else "point"
    ends = y(max(trial.seconds)), y(min(trial.seconds))
    return [
        f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>',
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y(trial.median):.1f}" r="5">{tip}</circle>',
    ]
