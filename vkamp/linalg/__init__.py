"""Linear algebra on any device, with numpy's names: products, contractions, norms, factorisations, solutions of
equations.

Inputs are ``array``, ``array_view`` with any strides, and numpy arrays. Results are arrays on the device, and no
function waits for them. Leading dimensions are batches.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

from vkamp.algorithms import _names
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

_ELSEWHERE = {
    **dict.fromkeys(("dot", "inner"), "matmul(a, b), or vecdot(a, b)"),
    **dict.fromkeys(("eig", "eigvals"), "eigh(a) for symmetric matrices; numpy.linalg.eig accepts np.asarray(a)"),
    "cho_factor": "cholesky(a)",
}

if not _TYPE_CHECKING:  # for type checkers alone: they would otherwise accept every name
    __getattr__ = _names.refusal(__name__, __all__, _ELSEWHERE, _np.linalg)
