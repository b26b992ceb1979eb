"""The first code on C++ AMP's page 'Using Tiles': each number is replaced by the average of its 2 x 2 tile.

    python examples/averages.py

It runs on the default accelerator; VKAMP_ACCELERATOR selects another.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import vkamp as amp

# Sample data:
sample_data = np.array(
    [
        [2, 2, 9, 7, 1, 4],
        [4, 4, 8, 8, 3, 4],
        [1, 5, 1, 2, 5, 2],
        [6, 8, 3, 2, 7, 2],
    ],
    np.int32,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example, which takes no arguments."""
    if sys.argv[1:] if argv is None else argv:
        sys.exit("averages takes no arguments")

    # Averages:
    average_data = np.zeros((4, 6), np.int32)

    sample = amp.array_view(sample_data)
    average = amp.array_view(average_data)

    # Create threads for sample.extent and divide the extent into 2 x 2 tiles.
    @amp.parallel_for_each(sample.extent.tile(2, 2))
    def _(idx):
        # Create a 2 x 2 array to hold the values in this tile.
        nums = amp.tile_static((2, 2), amp.int32)
        # Copy the values for the tile into the 2 x 2 array.
        nums[idx.local[1], idx.local[0]] = sample[idx.global_]
        # When all the threads have executed and the 2 x 2 array is complete, find the average.
        idx.barrier.wait()
        total = nums[0, 0] + nums[0, 1] + nums[1, 0] + nums[1, 1]
        # Copy the average into the array_view.
        average[idx.global_] = amp.tdiv(total, 4)

    for row in range(4):
        for col in range(6):
            print(average[row, col], end=" ")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
