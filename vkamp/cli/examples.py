"""A wrong and a right program for each error's code, as ``vkamp explain`` shows them; the suite compiles all."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True)
class Example:
    """Two kernels: one that has the error, one that has not."""

    wrong: str
    right: str


EXAMPLES: dict[str, Example] = {
    "VKA601": Example(
        """
@amp.kernel
def kernel(t_idx, a):
    tile = amp.tile_static(16, amp.float32)
    if t_idx.local[0] < 8:
        tile[t_idx.local] = a[t_idx]
        t_idx.barrier.wait()
    a[t_idx] = tile[0]
""",
        """
@amp.kernel
def kernel(t_idx, a):
    tile = amp.tile_static(16, amp.float32)
    if t_idx.local[0] < 8:
        tile[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = tile[0]
""",
    ),
}
