"""Kernels whose faults check mode finds only if it knows that `amp.uniform` gives its variable a new value."""

from __future__ import annotations

import sys

import numpy as np
import vkamp as amp

NUMBERS = np.array([9, 4, 1, 7, 2], np.int32)


@amp.kernel
def index_in_a_branch(t, numbers, out):
    own = amp.private(4, amp.int32)
    for k in range(4):
        own[k] = k
    x = 1
    if numbers[0] > 2:
        x = amp.uniform(numbers[0])
    out[t] = own[x]


@amp.kernel
def index_in_a_loop(t, numbers, out):
    own = amp.private(4, amp.int32)
    for k in range(4):
        own[k] = k
    x = 1
    for _ in range(3):
        out[t] += own[x]
        x = amp.uniform(x + numbers[1])


@amp.kernel
def divisor(t, numbers, out):
    x = 3
    if numbers[0] > 2:
        x = amp.uniform(numbers[0] - 9)
    out[t] = 7 // x


#: The kinds of findings of each kernel.
EXPECTED = {index_in_a_branch: "bounds", index_in_a_loop: "bounds", divisor: "division"}


def wrong(view: amp.accelerator_view) -> list[str]:
    """The kernels of which check mode reports something else on a device."""
    found = []
    for kernel, kind in EXPECTED.items():
        out = amp.array_view(np.zeros(8, np.int32))
        report = amp.check(view, out.extent.tile(4), kernel, amp.array_view(NUMBERS), out)
        kinds = {finding.kind for finding in report.findings}
        if kinds != {kind}:
            found.append(f"{kernel.__name__}: {sorted(kinds)} instead of {kind}")
    return found


if __name__ == "__main__":
    wrong_here = wrong(amp.accelerator(sys.argv[1]).default_view)
    print("\n".join(wrong_here))
    sys.exit(1 if wrong_here else 0)
