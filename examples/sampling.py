"""The second program of C++ AMP's page 'Using Tiles': the averages of the tiles of an 8 x 8 matrix.

    python examples/sampling.py [SAMPLESIZE]        (2, the default, or 4, 8, 1)

It runs on the default accelerator; VKAMP_ACCELERATOR selects another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

MATRIXSIZE = 8


def sampling_example(samplesize: int) -> NDArray[np.float32]:
    """The average of every samplesize x samplesize tile."""
    # Create data and array_view for the matrix.
    raw_data = np.empty(MATRIXSIZE * MATRIXSIZE, np.float32)
    for i in range(MATRIXSIZE * MATRIXSIZE):
        raw_data[i] = i
    data_extent = amp.extent(MATRIXSIZE, MATRIXSIZE)
    matrix = amp.array_view(raw_data, data_extent)

    # Create the array for the averages.
    # There is one element in the output for each tile in the data.
    output_size = MATRIXSIZE // samplesize
    output_data = np.zeros(output_size * output_size, np.float32)
    output_extent = amp.extent(output_size, output_size)
    averages = amp.array(output_extent, amp.float32, output_data)

    # Use tiles that are samplesize x samplesize.
    # Find the average of the values in each tile.
    # The containers are captured by reference, samplesize by value.
    @amp.parallel_for_each(matrix.extent.tile(samplesize, samplesize))
    def _(t_idx):
        # Copy the values of the tile into a tile-sized array.
        tile_values = amp.tile_static((samplesize, samplesize), amp.float32)
        tile_values[t_idx.local[0], t_idx.local[1]] = matrix[t_idx]

        # Wait for the tile-sized array to load before you calculate the average.
        t_idx.barrier.wait()

        # If you remove the if statement, then the calculation executes for every
        # thread in the tile, and makes the same assignment to averages each time.
        if t_idx.local[0] == 0 and t_idx.local[1] == 0:
            for trow in range(samplesize):
                for tcol in range(samplesize):
                    averages[t_idx.tile[0], t_idx.tile[1]] += tile_values[trow, tcol]
            averages[t_idx.tile[0], t_idx.tile[1]] /= float(samplesize * samplesize)

    # You cannot access the values in averages directly. You must copy them
    # back to a CPU variable.
    return np.asarray(averages)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the averages, a row of tiles on each line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("samplesize", nargs="?", type=int, default=2, choices=(1, 2, 4, 8), help="(default: 2)")
    output_data = sampling_example(parser.parse_args(argv).samplesize)

    # Print out the results.
    for row in output_data:
        for average in row:
            print(average, end=" ")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
