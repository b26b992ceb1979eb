"""Linear algebra on any device, by numpy's names: products, contractions, norms, factorisations,
solutions of equations.

Inputs are ``array``, ``array_view`` with any strides, and numpy arrays.  Results are arrays on the device, and nothing
waits for them.  Leading dimensions are batches.
"""

from vkamp.linalg.cholesky import cholesky, potrf
from vkamp.linalg.contractions import einsum, tensordot
from vkamp.linalg.jacobi import eigh, eigvalsh, svd
from vkamp.linalg.lu import det, getrf, inv, lu_factor, lu_solve, slogdet, solve, solve_triangular
from vkamp.linalg.norms import norm
from vkamp.linalg.products import matmul, outer, vecdot
from vkamp.linalg.qr import geqrf, lstsq, qr

__all__ = [
    "cholesky", "det", "eigh", "eigvalsh", "einsum", "geqrf", "getrf", "inv", "lstsq", "lu_factor", "lu_solve",
    "matmul", "norm", "outer", "potrf", "qr", "slogdet", "solve", "solve_triangular", "svd", "tensordot", "vecdot",
]  # fmt: skip
