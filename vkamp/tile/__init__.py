"""Collectives of a tile: device functions that all threads of a tile call together.

The first argument is the thread's ``tiled_index``.  Tiles may have any rank and size.
"""

from vkamp.tile.reduce import reduce
from vkamp.tile.scan import exclusive_scan, inclusive_scan, scan_of

__all__ = ["exclusive_scan", "inclusive_scan", "reduce", "scan_of"]
