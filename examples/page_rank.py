"""Which pages of a web are important: PageRank, by the power iteration.

    python examples/page_rank.py [--pages 100000] [--accelerator nvidia]

A page passes its rank on in equal parts to the pages it links to (L. Page and S. Brin, 1998). The links that lead to
each page lie side by side, as in the CSR format of sparse matrices, and one thread adds up what a page receives. The
web is made up: new pages link to pages that many others link to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import algorithms as alg

DAMPING, LINKS, TOLERANCE = 0.85, 6, 1e-6
#: Iterations between two looks of the host at the change, and at most.
ROUND, MOST = 5, 200


@amp.kernel
def share(idx, ranks, links, shares):
    """What each page passes on to each page it links to."""
    count = links[idx]
    shares[idx] = ranks[idx] / amp.float32(count) if count > 0 else 0.0


@amp.kernel
def receive(idx, shares, ranks, starts, sources, links, lost, changes):
    """The new rank of a page: what its links bring, and an equal part of the rest."""
    page = idx[0]
    total = 0.0
    for k in range(starts[page], starts[page + 1]):
        total += shares[sources[k]]
    pages = amp.float32(ranks.extent[0])
    new = (1.0 - DAMPING) / pages + DAMPING * (total + lost / pages)
    changes[page] = abs(new - ranks[page])
    ranks[page] = new


@amp.func
def of_dead_ends(rank: Any, links: Any) -> Any:
    """The rank of a page without links, which belongs to all."""
    return rank if links == 0 else 0.0


def made_up_web(pages: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The source and the target of each link: most lead to what an earlier link led to, some anywhere."""
    random = np.random.default_rng(4)
    sources = np.repeat(np.arange(1, pages), random.integers(0, 2 * LINKS, pages - 1))
    earlier = random.random(len(sources))
    anywhere = (random.random(len(sources)) * sources).astype(np.int64)
    targets = anywhere.copy()
    is_copied = random.random(len(sources)) < 0.7
    for k in np.flatnonzero(is_copied):
        targets[k] = min(targets[int(earlier[k] * k)], sources[k] - 1)
    both = np.unique(np.stack([targets, sources], 1), axis=0)
    return both[:, 1].astype(np.int32), both[:, 0].astype(np.int32)


class Web:
    """The links on a device: those of target ``t`` are ``sources[starts[t]:starts[t + 1]]``."""

    def __init__(self, view: amp.accelerator_view, pages: int, sources: Any, targets: Any) -> None:
        self.view, self.pages = view, pages
        starts = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=pages))]).astype(np.int32)
        given = (starts, sources, np.bincount(sources, minlength=pages).astype(np.int32))
        self.starts, self.sources, self.links = (amp.array(each, accelerator_view=view) for each in given)
        self.ranks, self.shares, self.changes = (
            amp.array(amp.extent(pages), np.float32, accelerator_view=view) for _ in range(3)
        )

    def ranked(self) -> tuple[Any, list[float]]:
        """The ranks of all pages, and how much each round's last iteration changed."""
        alg.fill(self.ranks, 1.0 / self.pages)
        changes = []
        for _ in range(0, MOST, ROUND):
            for _ in range(ROUND):
                lost = alg.transform_reduce(of_dead_ends, alg.functional.plus, self.ranks, self.links)
                amp.parallel_for_each(self.view, self.ranks.extent, share, self.ranks, self.links, self.shares)
                amp.parallel_for_each(
                    self.view, self.ranks.extent, receive, self.shares, self.ranks, self.starts, self.sources,
                    self.links, lost, self.changes,
                )  # fmt: skip
            changes.append(float(alg.sum(self.changes)))
            if changes[-1] < TOLERANCE:
                break
        return self.ranks, changes


def ranked_with_numpy(pages: int, sources: Any, targets: Any, iterations: int) -> NDArray[np.float64]:
    """The ranks in double precision."""
    links = np.bincount(sources, minlength=pages)
    ranks = np.full(pages, 1 / pages)
    for _ in range(iterations):
        shares = np.divide(ranks, links, out=np.zeros(pages), where=links > 0)
        received = np.bincount(targets, weights=shares[sources], minlength=pages)
        ranks = (1 - DAMPING) / pages + DAMPING * (received + ranks[links == 0].sum() / pages)
    return ranks


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    pages = options.pages
    sources, targets = made_up_web(pages)
    web = Web(view, pages, sources, targets)
    found, changes = web.ranked()
    ranks, iterations = np.asarray(found), ROUND * len(changes)
    print(f"ranked  {pages:,} pages with {len(sources):,} links in {iterations} iterations")
    expected = ranked_with_numpy(pages, sources, targets, iterations)
    checks = [
        ("ranks, relative", float((abs(ranks - expected) / expected).max()), 1e-4),
        ("sum of the ranks", abs(float(ranks.sum(dtype=np.float64)) - 1), 1e-4),
    ]
    gallery.timed(view, "ranking", web.ranked, iterations * len(sources), "G links/s")
    return gallery.Result(checks, [_sheet(ranks, sources, targets)])


def _sheet(ranks: Any, sources: Any, targets: Any) -> Any:
    """The most important pages with their links, and the ranks of all pages by the number of links to them."""
    best = np.argsort(-ranks)[:40]
    angles = np.arange(len(best)) * np.pi * (3 - np.sqrt(5))
    places = np.sqrt(np.arange(len(best)) + 0.5)[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)
    where = {int(page): k for k, page in enumerate(best)}

    def draw_web(axes: Any) -> None:
        for source, target in zip(sources, targets, strict=True):
            if source in where and target in where:
                pair = places[[where[int(source)], where[int(target)]]]
                axes.plot(pair[:, 0], pair[:, 1], color="0.7", linewidth=0.6, zorder=1)
        sizes = 900 * ranks[best] / ranks[best[0]]
        axes.scatter(*places.T, s=sizes, c=np.log(ranks[best]), cmap="viridis", zorder=2, edgecolors="white")
        axes.set_aspect("equal")
        axes.set_axis_off()

    def draw_ranks(axes: Any) -> None:
        count = np.bincount(targets, minlength=len(ranks))
        axes.loglog(count + 1, ranks, ".", markersize=2, alpha=0.4)
        axes.set(xlabel="links to a page, and 1", ylabel="rank")

    titles = ("the 40 highest ranks", f"all {len(ranks):,} pages")
    return gallery.side_by_side([gallery.chart(draw_web), gallery.chart(draw_ranks)], titles)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the ranks match numpy's."""
    return gallery.main("page_rank", __doc__ or "", run, argv, pages=30_000)


if __name__ == "__main__":
    sys.exit(main())
