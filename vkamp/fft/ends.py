"""Where the first pass of a transform loads numbers, and where the last one stores them.

Everything that changes numbers or their places happens there, so that it costs no pass of its own: conversions of real
numbers, zeros behind the end of an input, scales, conjugates, and halves of Hermitian rows.  ``load(o, p)`` and
``store(o, p, z)`` are for element ``p`` of plane ``o``: of ``outer`` planes of ``n * inner`` elements.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy


class Planes:
    """A container of complex numbers between two passes."""

    __slots__ = ("values", "width")

    def __init__(self, values: Any, width: int) -> None:
        self.values, self.width = values, width

    @amp.func
    def load(self, o, p):
        """An element."""
        return self.values[o * self.width + p]

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.values[o * self.width + p] = z


class Given:
    """An input: complex numbers, of which ``sign`` -1 gives conjugates; zeros from ``width`` on."""

    __slots__ = ("kind", "sign", "values", "width")

    def __init__(self, values: lazy.Lazy, kind: Any, width: int, sign: Any) -> None:
        self.values, self.kind, self.width, self.sign = values, kind, width, sign

    @amp.func
    def load(self, o, p):
        """An element."""
        z = self.kind(0)
        if p < self.width:
            z = self.values.value(o * self.width + p)
        return self.kind(z.real, z.imag * self.sign)


class Hermitian:
    """The first half of rows whose other half has the conjugates in reverse order; loads conjugates.

    ``width``: elements of a plane that the input has.  Rows of ``n`` elements are ``inner`` apart.
    """

    __slots__ = ("inner", "kind", "n", "sign", "values", "width")

    def __init__(self, values: lazy.Lazy, kind: Any, width: int, n: int, inner: int, sign: Any) -> None:
        self.values, self.kind, self.width = values, kind, width
        self.n, self.inner, self.sign = n, inner, sign

    @amp.func
    def load(self, o, p):
        """An element."""
        k = amp.int32(amp.uint32(p) // amp.uint32(self.inner))
        at = p
        sign = self.sign
        if 2 * k > self.n:
            at = p + (self.n - 2 * k) * self.inner
            sign = -sign
        z = self.kind(0)
        if at < self.width:
            z = self.values.value(o * self.width + at)
        # The first number and the middle one are real.
        return self.kind(z.real, z.imag * sign if k > 0 and 2 * k != self.n else z.real * 0)


class Kept:
    """A result: the first ``width`` elements of each plane, times ``scale``; ``sign`` -1 stores conjugates."""

    __slots__ = ("out", "scale", "scale_imag", "width")

    def __init__(self, out: Any, width: int, scale: Any, sign: Any) -> None:
        self.out, self.width, self.scale, self.scale_imag = out, width, scale, scale * sign

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        if p < self.width:
            self.out[o * self.width + p] = type(z)(z.real * self.scale, z.imag * self.scale_imag)


class RealParts:
    """A result of real numbers."""

    __slots__ = ("out", "scale", "width")

    def __init__(self, out: Any, width: int, scale: Any) -> None:
        self.out, self.width, self.scale = out, width, scale

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        if p < self.width:
            self.out[o * self.width + p] = z.real * self.scale
