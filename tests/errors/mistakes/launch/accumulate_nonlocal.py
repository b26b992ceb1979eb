"""The same in a function."""

import numpy as np

import vkamp as amp


def main():
    total = 0.0
    a = amp.array_view(np.ones(8, np.float32))

    @amp.parallel_for_each(a.extent)
    def add_up(idx):
        nonlocal total
        total += a[idx]


main()
