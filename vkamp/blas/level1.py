"""Level 1: vectors. Strided views replace BLAS' increments."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import value
from vkamp.blas._routine import agree, apart, routine, target, vector, where

_View = amp.accelerator_view | None


@amp.kernel
def add_multiple(idx, alpha, x, y):
    """``y += alpha * x``."""
    y[idx] = alpha * x[idx] + y[idx]


@amp.kernel
def multiple(idx, alpha, x):
    """``x *= alpha``."""
    x[idx] = alpha * x[idx]


@amp.kernel
def rotate(idx, x, y, a, b, c, d):
    """``x, y = a * x + b * y, c * x + d * y``."""
    first = x[idx]
    second = y[idx]
    x[idx] = a * first + b * second
    y[idx] = c * first + d * second


@amp.kernel
def exchange(idx, x, y):
    """``x, y = y, x``."""
    first = x[idx]
    x[idx] = y[idx]
    y[idx] = first


@amp.func
def _one_norm(x: Any) -> Any:
    return abs(x)


@amp.func
def _one_norm_of_complex(x: Any) -> Any:
    return abs(x.real) + abs(x.imag)


@amp.func
def _largest_part(x: Any) -> Any:
    return max(abs(x.real), abs(x.imag))


class _Scaled(lazy.Lazy):
    """The squares of a vector's elements, divided by a number on the device."""

    __slots__ = ("scale", "values")

    def __init__(self, values: Any, scale: Any) -> None:
        super().__init__(values.extent)
        self.values, self.scale = values, scale

    @amp.func
    def value(self, i: Any) -> Any:
        """The square of an element."""
        scale = self.scale[0]
        x = self.values[i]
        if hasattr(x, "imag"):
            p = x.real / scale if scale != 0 else scale
            q = x.imag / scale if scale != 0 else scale
            return p * p + q * q
        r = x / scale if scale != 0 else scale
        return r * r


@amp.func
def _scaled_root(total: Any, scale: Any) -> Any:
    # 0 and infinity, for which the quotients are NaN.
    return scale if scale * 0.5 == scale else scale * amp.precise_math.sqrt(total)


@routine
def axpy(alpha: Any, x: Any, y: Any, *, accelerator_view: _View = None) -> Any:
    """``y += alpha * x``; returns ``y`` (BLAS: ``saxpy`` and the like)."""
    out = target(y)
    first = vector(x, "x")
    vector(out, "y", first.extent[0])
    agree(first, out)
    view = where(accelerator_view, first, out)
    if not out.has_elements_of(first):
        apart(out, first)
    amp.parallel_for_each(view, out.extent, add_multiple, value(alpha, out.dtype), first, out)
    return out


@routine
def scal(alpha: Any, x: Any, *, accelerator_view: _View = None) -> Any:
    """``x *= alpha``; returns ``x`` (BLAS: ``sscal``)."""
    out = vector(target(x), "x")
    view = where(accelerator_view, out)
    amp.parallel_for_each(view, out.extent, multiple, value(alpha, out.dtype), out)
    return out


@routine
def copy(x: Any, y: Any, *, accelerator_view: _View = None) -> Any:
    """``y = x``; returns ``y`` (BLAS: ``scopy``)."""
    out = target(y)
    first = vector(x, "x")
    vector(out, "y", first.extent[0])
    agree(first, out)
    alg.copy(first, out=out, accelerator_view=where(accelerator_view, first, out))
    return out


@routine
def swap(x: Any, y: Any, *, accelerator_view: _View = None) -> Any:
    """Exchanges the elements of two vectors; returns both (BLAS: ``sswap``)."""
    first, second, view = _pair(x, y, accelerator_view)
    amp.parallel_for_each(view, first.extent, exchange, first, second)
    return first, second


@routine
def rot(x: Any, y: Any, c: float, s: Any, *, accelerator_view: _View = None) -> Any:
    """``x, y = c * x + s * y, c * y - conj(s) * x``: a plane rotation; returns both (BLAS: ``srot``)."""
    return _rotated(x, y, (c, s, -np.conj(s), c), accelerator_view)


@routine
def rotm(x: Any, y: Any, param: Any, *, accelerator_view: _View = None) -> Any:
    """A modified plane rotation of real vectors; returns both (BLAS: ``srotm``).

    ``param``: five numbers, as of :func:`rotmg`: the flag -2, -1, 0 or 1, then h11, h21, h12, h22.
    """
    flag, h11, h21, h12, h22 = (float(each) for each in param)
    known = {-1: (h11, h12, h21, h22), 0: (1, h12, h21, 1), 1: (h11, 1, -1, h22)}
    if flag == -2:
        return _pair(x, y, accelerator_view)[:2]
    if flag not in known:
        raise ValueError(f"the flag of rotm, param[0], must be -2, -1, 0 or 1, not {flag}")
    return _rotated(x, y, known[int(flag)], accelerator_view)


def _pair(x: Any, y: Any, accelerator_view: _View) -> tuple[Any, Any, amp.accelerator_view]:
    """Two vectors that are written, and the accelerator_view to run on."""
    first, second = target(x), target(y)
    vector(second, "y", vector(first, "x").extent[0])
    agree(first, second)
    apart(first, second)
    return first, second, where(accelerator_view, first, second)


def _rotated(x: Any, y: Any, factors: tuple[Any, ...], accelerator_view: _View) -> Any:
    first, second, view = _pair(x, y, accelerator_view)
    numbers = (value(each, first.dtype) for each in factors)
    amp.parallel_for_each(view, first.extent, rotate, first, second, *numbers)
    return first, second


@routine
def dot(x: Any, y: Any, *, conjugate: bool = False, accelerator_view: _View = None) -> Any:
    """The sum of ``x * y`` as a ``device_scalar`` (BLAS: ``sdot``, ``cdotu``).

    ``conjugate``: of the conjugates of ``x`` (``cdotc``).
    """
    first = vector(x, "x")
    second = vector(y, "y", first.extent[0])
    agree(first, second)
    view = where(accelerator_view, first, second)
    if conjugate and first.dtype.kind == "c":
        return alg.vdot(first, second, accelerator_view=view)
    products = lazy.map(functional.multiplies, first, second)
    return alg.reduce(products, functional.plus, accelerator_view=view)


@routine
def asum(x: Any, *, accelerator_view: _View = None) -> Any:
    """The sum of the absolute values as a ``device_scalar``; for complex numbers, of both parts (BLAS: ``sasum``)."""
    return alg.reduce(_sizes(vector(x, "x")), functional.plus, accelerator_view=where(accelerator_view, vector(x, "x")))


@routine
def amax(x: Any, *, accelerator_view: _View = None) -> Any:
    """The position of the first element with the largest absolute value, as a ``device_scalar`` of int32, from 0 on.

    For complex numbers, the sum of the parts' absolute values counts (BLAS: ``isamax``, which counts from 1 on).
    """
    return alg.argmax(_sizes(vector(x, "x")), accelerator_view=where(accelerator_view, vector(x, "x")))


def _sizes(x: Any) -> Any:
    return lazy.map(_one_norm_of_complex if x.dtype.kind == "c" else _one_norm, x)


@routine
def nrm2(x: Any, *, accelerator_view: _View = None) -> Any:
    """The Euclidean norm as a ``device_scalar`` (BLAS: ``snrm2``); it does not overflow if the result does not.

    The elements are divided by the largest one first, as in J. Blue, *A Portable Fortran Program to Find the Euclidean
    Norm of a Vector* (1978).  TypeError for integers.
    """
    given = vector(x, "x")
    if given.dtype.kind not in "fc":
        raise TypeError(f"nrm2 takes floats and complex numbers, not {given.dtype}")
    view = where(accelerator_view, given)
    sizes = lazy.map(_largest_part if given.dtype.kind == "c" else _one_norm, given)
    largest = alg.max(sizes, accelerator_view=view)
    total = alg.reduce(_Scaled(given, largest.view), functional.plus, accelerator_view=view)
    return alg.device_scalar(alg.transform(_scaled_root, total.view, largest.view, accelerator_view=view))


def rotg(a: float, b: float) -> tuple[float, float, float, float]:
    """The plane rotation that turns ``(a, b)`` to ``(r, 0)``, on the host: ``(r, z, c, s)`` (BLAS: ``srotg``).

    ``z`` is ``s`` if abs(a) > abs(b), else 1 / c, or 1 if c is 0.
    """
    if a == 0 and b == 0:
        return 0.0, 0.0, 1.0, 0.0
    r = math.copysign(math.hypot(a, b), a if abs(a) > abs(b) else b)
    c, s = a / r, b / r
    if abs(a) > abs(b):
        return r, s, c, s
    return r, 1 / c if c != 0 else 1.0, c, s


iamax = amax
