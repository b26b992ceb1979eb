"""Two clusters of stars fall into each other: each body is attracted by all others.

    python examples/n_body.py [--count 2048] [--steps 160] [--accelerator swiftshader]

All threads of a tile need all bodies in the same order: the tile loads them into tile_static memory, one block after
the other.
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

TILE = 128
#: The softening length squared; it keeps the forces between close bodies finite.
SOFT = 0.01


@amp.kernel
def accelerate(t_idx, bodies, velocities, step):
    """Changes each velocity by the pull of all bodies; a body is (x, y, z, mass)."""
    near = amp.tile_static(TILE, amp.float4)
    at, local = t_idx.global_[0], t_idx.local[0]
    count = bodies.extent[0]
    own = bodies[min(at, count - 1)]
    pull = amp.float3(0.0, 0.0, 0.0)
    for start in range(0, count, TILE):
        other = start + local
        near[local] = bodies[other] if other < count else amp.float4(0.0, 0.0, 0.0, 0.0)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(TILE):
            way = near[k].xyz - own.xyz
            squared = way.x * way.x + way.y * way.y + way.z * way.z + SOFT
            inverse = amp.fast_math.rsqrt(squared)
            pull += way * (near[k].w * inverse * inverse * inverse)
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if at < count:
        velocities[at] += pull * step


@amp.kernel
def move(idx, bodies, velocities, step):
    body = bodies[idx]
    body.xyz = body.xyz + velocities[idx] * step
    bodies[idx] = body


def pull_with_numpy(bodies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The acceleration of each body: (count, 3)."""
    way = bodies[None, :, :3] - bodies[:, None, :3]
    squared = (way**2).sum(2) + SOFT
    return np.asarray((way * (bodies[None, :, 3:] / squared[..., None] ** 1.5)).sum(1))


def clusters(count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Bodies and velocities: two stable Plummer spheres that move towards each other."""
    random = np.random.default_rng(8)
    bodies, velocities = np.zeros((count, 4), np.float32), np.zeros((count, 3), np.float32)
    core = 0.25
    for part, side in enumerate((-1, 1)):
        size = len(bodies[part::2])
        radius = core / np.sqrt(random.uniform(0.05, 0.95, size) ** (-2 / 3) - 1)
        way = random.normal(size=(size, 3))
        bodies[part::2, :3] = way / np.linalg.norm(way, axis=1, keepdims=True) * radius[:, None]
        bodies[part::2, :3] += (1.2 * side, 0.35 * side, 0)
        bodies[part::2, 3] = 1 / max(size, 1)
        spread = np.sqrt(1 / (6 * np.hypot(radius, core)))
        velocities[part::2] = random.normal(size=(size, 3)) * spread[:, None] - (0.35 * side, 0, 0)
    return bodies, velocities


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    count, step = options.count, 0.02
    raw, speeds = clusters(count)
    bodies = amp.array(amp.extent(count), amp.float4, raw, accelerator_view=view)
    velocities = amp.array(amp.extent(count), amp.float3, speeds, accelerator_view=view)
    tiles = bodies.extent.tile(TILE).pad()
    still = amp.array(velocities, accelerator_view=view)
    gallery.timed(
        view,
        f"the pull of {count} bodies on each other",
        lambda: amp.parallel_for_each(view, tiles, accelerate, bodies, still, 0.0),
        20.0 * count * count,
        "GFLOP/s",
    )
    amp.parallel_for_each(view, tiles, accelerate, bodies, velocities, step)
    found = (np.asarray(velocities) - speeds) / step
    expected = pull_with_numpy(raw.astype(np.float64))
    checks = [("first pull, of the greatest", gallery.difference(found, expected) / np.abs(expected).max(), 1e-4)]
    places = [raw]
    for number in range(options.steps):
        if number:
            amp.parallel_for_each(view, tiles, accelerate, bodies, velocities, step)
        amp.parallel_for_each(view, bodies.extent, move, bodies, velocities, step)
        if number + 1 in (options.steps // 2, options.steps):
            places.append(np.asarray(bodies))
    pictures = [gallery.chart(lambda axes, p=p: _stars(axes, p), 380, 320) for p in places]
    titles = ["start", *(f"after {n} steps" for n in (options.steps // 2, options.steps))][: len(places)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, titles)])


def _stars(axes: Any, bodies: NDArray[np.float32]) -> None:
    axes.set_facecolor("#101018")
    axes.scatter(bodies[::2, 0], bodies[::2, 1], s=1.5, color="#ffd27f", linewidths=0)
    axes.scatter(bodies[1::2, 0], bodies[1::2, 1], s=1.5, color="#8fc7ff", linewidths=0)
    axes.set(xlim=(-2.5, 2.5), ylim=(-2.1, 2.1), xticks=[], yticks=[])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("n_body", __doc__ or "", run, argv, count=2048, steps=160)


if __name__ == "__main__":
    sys.exit(main())
