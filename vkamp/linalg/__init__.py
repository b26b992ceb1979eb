"""Linear algebra on any device, by numpy's names: products, contractions, norms.

Inputs are ``array``, ``array_view`` with any strides, and numpy arrays.  Results are arrays on the device, and nothing
waits for them.  Leading dimensions are batches.
"""

from vkamp.linalg.contractions import einsum, tensordot
from vkamp.linalg.norms import norm
from vkamp.linalg.products import matmul, outer, vecdot

__all__ = ["einsum", "matmul", "norm", "outer", "tensordot", "vecdot"]
