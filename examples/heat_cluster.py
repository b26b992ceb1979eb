"""Heat spreads in a plate over several devices, whose blocks exchange halos.

    python examples/heat_cluster.py [--size 512] [--steps 80] [--blocks 2] [--scheduler tcp://...]

The plate is a Dask array of blocks x blocks, each on a device of the cluster. Before four steps every block gets a halo
of four points from its neighbours; that is all that goes from one worker to another. Within a block each tile does the
four steps in tile_static memory. The plate's border is held at its temperature. On a cluster, the picture also shows
which worker did what when, as the task stream of Dask's dashboard.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import cluster
import dask.array as da
import gallery
import numpy as np
from heat import heated, spread_with_numpy

import vkamp as amp
import vkamp.dask as vd

#: Steps between two exchanges, and the halo that they use up.
STEPS = 4
SIDE = 16
WIDE = SIDE + 2 * STEPS
#: Exchanges after which the results are computed: the graph of tasks stays small.
TOGETHER = 5


@amp.kernel(precise=True)
def spread_block(t_idx, plate, origin, rows, columns, rate, result):
    """Computes STEPS steps of a block; `plate` is the block with its halo, `origin` the block's place in the plate."""
    heat = amp.tile_static((2, WIDE, WIDE), amp.float32)
    top, left = t_idx.tile_origin[0], t_idx.tile_origin[1]
    number = t_idx.local[0] * SIDE + t_idx.local[1]
    for k in range(number, WIDE * WIDE, SIDE * SIDE):
        y = min(top + k // WIDE, plate.extent[0] - 1)
        x = min(left + k % WIDE, plate.extent[1] - 1)
        heat[0, k // WIDE, k % WIDE] = plate[y, x]
    for step in amp.static_range(STEPS):
        now = step % 2
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(number, WIDE * WIDE, SIDE * SIDE):
            r, c = k // WIDE, k % WIDE
            y, x = origin[0] + top + r - STEPS, origin[1] + left + c - STEPS
            own = heat[now, r, c]
            is_held = y <= 0 or y >= rows - 1 or x <= 0 or x >= columns - 1
            if r > 0 and r < WIDE - 1 and c > 0 and c < WIDE - 1 and not is_held:
                around = heat[now, r - 1, c] + heat[now, r + 1, c] + heat[now, r, c - 1] + heat[now, r, c + 1]
                own = own + rate * (around - 4.0 * own)
            heat[1 - now, r, c] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if result.extent.contains(t_idx.global_):
        result[t_idx] = heat[STEPS % 2, t_idx.local[0] + STEPS, t_idx.local[1] + STEPS]


def spread_by_blocks(plate: da.Array, rate: float) -> da.Array:
    """The plate after STEPS steps."""
    rows, columns = plate.shape
    return vd.map_overlap(
        spread_block, plate, vd.block_origin, rows, columns, rate, depth=STEPS, boundary=0.0, tile=(SIDE, SIDE)
    )


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    raw, rate = heated(options.size), 0.2
    exchanges = -(-options.steps // STEPS)
    side = max(-(-options.size // options.blocks), STEPS)
    with cluster.started(options) as client:
        now: Any = vd.to_device(da.from_array(raw, chunks=side)).persist()
        started = time.perf_counter()
        with cluster.recorded(client) as records:
            for exchange in range(1, exchanges + 1):
                now = spread_by_blocks(now, np.float32(rate))
                if exchange % TOGETHER == 0:
                    now = now.persist()
            found = now.compute()
            seconds = time.perf_counter() - started
        workers = 1 if client is None else len(client.scheduler_info(n_workers=-1)["workers"])
        pictures = [gallery.coloured(raw, "inferno", 0, 1), gallery.coloured(found, "inferno", 0, 1)]
        sheet = gallery.side_by_side(pictures, ["start", f"after {exchanges * STEPS} steps"])
        if records:
            stream = cluster.task_stream(client, records, max(sheet.width, 640))
            sheet = gallery.stacked([sheet, stream])
    points = exchanges * STEPS * raw.size
    what = f"{exchanges * STEPS} steps of {options.size} x {options.size} points in {options.blocks**2} blocks"
    print(f"run     {what} by {workers} workers: {seconds:.2f} s, {points / seconds / 1e6:.3g} M points/s")
    expected = spread_with_numpy(raw, rate, exchanges * STEPS)
    checks = [("temperatures", gallery.difference(found, expected), 1e-6)]
    return gallery.Result(checks, [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the cluster's results match numpy's."""
    return gallery.main("heat_cluster", __doc__ or "", run, argv, cluster.add_options, size=512, steps=80, blocks=2)


if __name__ == "__main__":
    sys.exit(main())
