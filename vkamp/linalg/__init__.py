"""Linear algebra on any device, by numpy's names: products, contractions, norms, factorisations,
solutions of equations.

Inputs are ``array``, ``array_view`` with any strides, and numpy arrays.  Results are arrays on the device, and nothing
waits for them.  Leading dimensions are batches.
"""

from vkamp.linalg.cholesky import cholesky, potrf
from vkamp.linalg.contractions import einsum, tensordot
from vkamp.linalg.jacobi import eigh, eigvalsh, svd
from vkamp.linalg.least_squares import cond, lstsq, matrix_rank, pinv, svdvals
from vkamp.linalg.lu import det, getrf, inv, lu_factor, lu_solve, slogdet, solve, solve_triangular
from vkamp.linalg.matrices import (
    cross,
    diagonal,
    kron,
    matrix_power,
    matrix_transpose,
    multi_dot,
    tensorinv,
    tensorsolve,
    trace,
)
from vkamp.linalg.norms import matrix_norm, norm, vector_norm
from vkamp.linalg.products import matmul, outer, vecdot
from vkamp.linalg.qr import geqrf, qr

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "einsum", "geqrf", "getrf", "inv", "kron",
    "lstsq", "lu_factor", "lu_solve", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "multi_dot", "norm", "outer", "pinv", "potrf", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals",
    "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
