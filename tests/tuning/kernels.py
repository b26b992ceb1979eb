"""Kernels for the tests of tuning: a right one, and wrong ones that are as fast."""

import vkamp as amp


@amp.kernel
def doubled(t_idx, a, out, *, items: amp.constant):
    for k in amp.static_range(items):
        i = t_idx.global_[0] * items + k
        if i < a.extent[0]:
            out[i] = 2 * a[i]


@amp.kernel
def out_of_bounds(t_idx, a, out, *, items: amp.constant):
    """Right wherever the tiles fill the extent."""
    for k in amp.static_range(items):
        i = t_idx.global_[0] * items + k
        out[i] = 2 * a[i]


@amp.kernel
def wrong_at_the_end(t_idx, a, out, *, items: amp.constant):
    """Leaves out the last element unless the extent is a multiple of 32."""
    for k in amp.static_range(items):
        i = t_idx.global_[0] * items + k
        if i < a.extent[0] - (1 if a.extent[0] % 32 != 0 else 0):
            out[i] = 2 * a[i]


@amp.kernel
def racing(t_idx, a, out, *, items: amp.constant):
    """A thread reads what another one writes, with no barrier in between; only for values that tests have not."""
    shared = amp.tile_static(32, amp.float32)
    here = t_idx.local[0]
    for k in amp.static_range(items):
        i = t_idx.global_[0] * items + k
        if i < a.extent[0]:
            shared[here] = a[i]
            other = here if a[i] < 4000.0 else (here + 1) % 32
            out[i] = 2 * a[i] + 0.0 * shared[other]


def launch(a, out, *, tile, items, kernel):
    """The launch that all of them share."""
    n = -(-a.extent[0] // items)
    amp.parallel_for_each(a.accelerator_view, amp.extent(n).tile(tile).pad(), kernel, a, out, items=items)
