"""Collectives of a tile: device functions that all threads of a tile call together.

The first argument is the thread's ``tiled_index``.  Tiles may have any rank and size.  ``x`` is a value of each thread,
or a private array of items.
"""

from vkamp.tile import exchange
from vkamp.tile.carry import carry, carry_words, ticket
from vkamp.tile.exchange import broadcast, shift
from vkamp.tile.histogram import histogram
from vkamp.tile.load import load, store
from vkamp.tile.matmul import matmul
from vkamp.tile.merge_sort import merge_sort
from vkamp.tile.neighbours import adjacent_difference, discontinuity
from vkamp.tile.rank import radix_rank
from vkamp.tile.reduce import reduce
from vkamp.tile.runs import run_length_decode
from vkamp.tile.scan import exclusive_scan, inclusive_scan, scan_of
from vkamp.tile.sort import sort, topk
from vkamp.tile.votes import all, any, count

__all__ = [
    "adjacent_difference", "all", "any", "broadcast", "carry", "carry_words", "count", "discontinuity", "exchange",
    "exclusive_scan", "histogram", "inclusive_scan", "load", "matmul", "merge_sort", "radix_rank", "reduce",
    "run_length_decode", "scan_of", "shift", "sort", "store", "ticket", "topk",
]  # fmt: skip
