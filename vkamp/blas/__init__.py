"""Basic linear algebra subprograms (BLAS) on any device, by AMPBLAS' names.

Vectors and matrices are containers or numpy arrays of one type; matrices are row-major, strided views take the place of
increments and leading dimensions, and ``order="F"`` says that the rows of a container are the columns of the matrix.
What a routine writes is changed in place, and returned.  Numbers on the device are ``device_scalar``; nothing waits.
"""

from vkamp.blas.level1 import amax, asum, axpy, copy, dot, iamax, nrm2, rot, rotg, rotm, scal, swap
from vkamp.blas.level2 import gemv, ger, hemv, her, her2, symv, syr, syr2, trmv, trsv
from vkamp.blas.level3 import gemm, hemm, her2k, herk, symm, syr2k, syrk, trmm, trsm

__all__ = [
    "amax", "asum", "axpy", "copy", "dot", "gemm", "gemv", "ger", "hemm", "hemv", "her", "her2", "her2k", "herk",
    "iamax", "nrm2", "rot", "rotg", "rotm", "scal", "swap", "symm", "symv", "syr", "syr2", "syr2k", "syrk", "trmm",
    "trmv", "trsm", "trsv",
]  # fmt: skip
