"""Basic linear algebra subprograms (BLAS) on any device, with AMPBLAS' names.

Vectors and matrices are containers or numpy arrays of one type. Matrices are row-major; ``order="F"`` says that the
rows of a container are the columns of the matrix. Strided views replace increments and leading dimensions. A routine
changes its output in place, and returns it. A single number is returned on the device, as a ``device_scalar``. No
routine waits for its result.
"""

from vkamp.blas.level1 import amax, asum, axpy, copy, dot, iamax, nrm2, rot, rotg, rotm, scal, swap
from vkamp.blas.level2 import gemv, ger, hemv, her, her2, symv, syr, syr2, trmv, trsv
from vkamp.blas.level3 import gemm, hemm, her2k, herk, symm, syr2k, syrk, trmm, trsm

__all__ = [
    "amax", "asum", "axpy", "copy", "dot", "gemm", "gemv", "ger", "hemm", "hemv", "her", "her2", "her2k", "herk",
    "iamax", "nrm2", "rot", "rotg", "rotm", "scal", "swap", "symm", "symv", "syr", "syr2", "syr2k", "syrk", "trmm",
    "trmv", "trsm", "trsv",
]  # fmt: skip
