"""The ends of a transform: how its first pass loads numbers, and how its last pass stores them.

Whatever changes numbers or their positions is part of them and needs no separate pass: conversions of real numbers,
padding with zeros, scales, conjugates, and halves of Hermitian rows. ``load(o, p)`` and ``store(o, p, z)`` access
element ``p`` of plane ``o``; there are ``outer`` planes of ``n * inner`` elements.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.fft.lengths import Divisor


class Rows:
    """Lines whose numbers are adjacent."""

    __slots__ = ()

    @amp.func
    def number(self, p):
        """The position of a plane's element ``p`` in its line."""
        return p


class Columns:
    """Lines whose elements are ``inner`` elements apart."""

    __slots__ = ("inner",)

    def __init__(self, inner: int) -> None:
        self.inner = Divisor(inner)

    @amp.func
    def number(self, p):
        """The position of a plane's element ``p`` in its line."""
        return amp.int32(self.inner.quotient(amp.uint32(p)))


def direction(inner: int) -> Rows | Columns:
    """The lines, whose elements are ``inner`` elements apart; adjacent elements need no division."""
    return Rows() if inner == 1 else Columns(inner)


class Later:
    """The planes of another end from ``first`` on."""

    __slots__ = ("end", "first")

    def __init__(self, end: Any, first: int) -> None:
        self.end, self.first = end, first

    @amp.func
    def load(self, o, p):
        """An element."""
        return self.end.load(o + self.first, p)

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.end.store(o + self.first, p, z)


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
    """An input of complex numbers, with zeros from ``width`` on. ``sign`` -1 loads conjugates."""

    __slots__ = ("kind", "sign", "values", "width")

    def __init__(self, values: lazy.Lazy, kind: Any, width: int, sign: Any) -> None:
        self.values, self.kind, self.width, self.sign = values, kind, width, sign

    @amp.func
    def load(self, o, p):
        """An element."""
        is_given = p < self.width
        # All loads of a thread are in flight at once if none of them is conditional.
        z = self.values.value(o * self.width + min(p, self.width - 1))
        return self.kind(z.real if is_given else 0, z.imag * self.sign if is_given else 0)


class Whole(Given):
    """An input that contains all elements of the lines."""

    __slots__ = ()

    @amp.func
    def load(self, o, p):
        """An element."""
        z = self.values.value(o * self.width + p)
        return self.kind(z.real, z.imag * self.sign)


class Plain(Whole):
    """An input that contains all elements of the lines, which are loaded as they are: ``sign`` is 1."""

    __slots__ = ()

    @amp.func
    def load(self, o, p):
        """An element."""
        z = self.values.value(o * self.width + p)
        return self.kind(z.real, z.imag)


class Hermitian:
    """The first half of Hermitian rows, whose other half contains the conjugates in reverse order; it loads conjugates.

    ``width``: the number of elements of a plane in the input. Rows have ``n`` elements, which are ``inner`` apart.
    """

    __slots__ = ("inner", "kind", "line", "n", "sign", "values", "width")

    def __init__(self, values: lazy.Lazy, kind: Any, width: int, n: int, inner: int, sign: Any) -> None:
        self.values, self.kind, self.width = values, kind, width
        self.n, self.inner, self.line, self.sign = n, inner, direction(inner), sign

    @amp.func
    def load(self, o, p):
        """An element."""
        k = self.line.number(p)
        is_mirrored = 2 * k > self.n
        at = p + (self.n - 2 * k) * self.inner if is_mirrored else p
        is_given = at < self.width
        z = self.values.value(o * self.width + min(at, self.width - 1))
        imag = z.imag * (-self.sign if is_mirrored else self.sign)
        # The first number and the middle one are real.
        has_imag = is_given and k > 0 and 2 * k != self.n
        return self.kind(z.real if is_given else 0, imag if has_imag else 0)


class Kept:
    """A result: the first ``width`` elements of each plane, times ``scale``. ``sign`` -1 stores conjugates."""

    __slots__ = ("out", "scale", "scale_imag", "width")

    def __init__(self, out: Any, width: int, scale: Any, sign: Any) -> None:
        self.out, self.width, self.scale, self.scale_imag = out, width, scale, scale * sign

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        if p < self.width:
            self.out[o * self.width + p] = type(z)(z.real * self.scale, z.imag * self.scale_imag)


class ScaledLines(Kept):
    """A result that contains all elements of the lines."""

    __slots__ = ()

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.out[o * self.width + p] = type(z)(z.real * self.scale, z.imag * self.scale_imag)


class UnscaledLines(ScaledLines):
    """A result that contains all elements of the lines, which are stored as they are: both scales are 1."""

    __slots__ = ()

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.out[o * self.width + p] = z


class RealParts:
    """A result of real numbers that contains all elements of the lines."""

    __slots__ = ("out", "scale", "width")

    def __init__(self, out: Any, width: int, scale: Any) -> None:
        self.out, self.width, self.scale = out, width, scale

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.out[o * self.width + p] = z.real * self.scale
