"""C++ AMP's class ``fft``: a transform of one extent, with the scales of both directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.dispatch.call_cache import repeats
from vkamp.fft._arguments import axis_of, complex_of, real_of
from vkamp.fft.axes import Kind, transform_axes
from vkamp.tracebacks import entry_point

_Steps = tuple[tuple[int, int], ...]


def _transform_of(
    extent: amp.extent, dtype: np.dtype[Any], steps: _Steps, scale: float, kind: Kind, *, inverse: bool
) -> Any:
    """One direction of a plan; repeated calls are recognised by their containers alone."""

    @repeats(_choose.forced_form, at_once=True)
    def run(a: Any, out: Any, *, accelerator_view: Any) -> Any:
        if not isinstance(a, (amp.array, amp.array_view)):
            a = amp.array_view(a, readonly=True)
        if a.extent != extent or a.dtype != dtype:
            raise amp.AmpError(f"the input has {a.extent!r} of {a.dtype}, and the plan takes {extent!r} of {dtype}")
        return transform_axes(a, steps, scale, out, accelerator_view, kind, inverse=inverse)

    return run


@entry_point
class plan:
    """Transforms of containers of one extent and type (AMP: ``fft<T, rank>`` of ``amp_fft.h``).

    ``extent``: that of the elements. ``dtype``: their type, float32 or complex64, or with double precision float64 or
    complex128. The transform of real numbers has the first half of the last axis, ``n // 2 + 1``
    complex numbers, as :func:`vkamp.fft.rfftn`. ``axes``: the axes to transform, all by default.
    ``forward_scale`` and ``inverse_scale`` are factors of the results, by default 1 and one over the number of
    elements; both can be assigned.
    """

    def __init__(
        self,
        extent: Any,
        dtype: Any = np.complex64,
        axes: Sequence[int] | None = None,
        *,
        forward_scale: float = 1.0,
        inverse_scale: float | None = None,
        accelerator_view: amp.accelerator_view | None = None,
    ) -> None:
        self.extent, self.dtype = amp.extent(extent), np.dtype(dtype)
        if self.dtype not in (complex_of(self.dtype), real_of(complex_of(self.dtype))):
            raise TypeError(f"a plan is for float32, float64, complex64 or complex128, not {self.dtype}")
        rank = self.extent.rank
        self.axes = tuple(axis_of(rank, axis) for axis in (range(rank) if axes is None else axes))
        if not self.axes or len(set(self.axes)) != len(self.axes):
            raise ValueError(f"axes {self.axes}: a plan needs one axis or more, each of them once")
        lengths = [self.extent[axis] for axis in self.axes]
        #: The transforms of both directions; each is set at its first use.
        self._forward: Any = None
        self._inverse: Any = None
        self.forward_scale = float(forward_scale)
        self.inverse_scale = 1 / math.prod(lengths) if inverse_scale is None else float(inverse_scale)
        self.accelerator_view = accelerator_view
        shape = list(self.extent)
        steps = tuple(zip(self.axes, lengths, strict=True))
        #: The kinds and steps of both directions.
        self._steps: tuple[tuple[Kind, _Steps], ...] = ("complex", steps), ("complex", steps)
        if self.dtype.kind == "f":
            shape[self.axes[-1]] = shape[self.axes[-1]] // 2 + 1
            self._steps = ("half", (steps[-1], *steps[:-1])), ("real", steps)
        self._transformed_extent = amp.extent(shape)

    def __repr__(self) -> str:
        return f"plan({self.extent!r}, {self.dtype}, axes={self.axes})"

    @property
    def transformed_extent(self) -> amp.extent:
        """The extent of the transform; for real numbers, it has half of the last of the axes."""
        return amp.extent(self._transformed_extent)

    @property
    def forward_scale(self) -> float:
        """The factor of the forward transform's results."""
        return self._forward_scale

    @forward_scale.setter
    def forward_scale(self, scale: float) -> None:
        self._forward_scale, self._forward = float(scale), None

    @property
    def inverse_scale(self) -> float:
        """The factor of the inverse transform's results."""
        return self._inverse_scale

    @inverse_scale.setter
    def inverse_scale(self, scale: float) -> None:
        self._inverse_scale, self._inverse = float(scale), None

    def forward_transform(self, input: Any, output: Any = None) -> Any:
        """Transforms ``input`` into ``output``, or into a new array, and returns it.

        Complex transforms may be in place.
        """
        if self._forward is None:
            kind, steps = self._steps[0]
            self._forward = _transform_of(self.extent, self.dtype, steps, self.forward_scale, kind, inverse=False)
        return self._forward(input, output, accelerator_view=self.accelerator_view)

    def inverse_transform(self, input: Any, output: Any = None) -> Any:
        """Transforms ``input``, which has the transform's extent and type, back into ``output``, or into a new
        array.
        """
        if self._inverse is None:
            kind, steps = self._steps[1]
            extent, dtype = self._transformed_extent, complex_of(self.dtype)
            self._inverse = _transform_of(extent, dtype, steps, self.inverse_scale, kind, inverse=True)
        return self._inverse(input, output, accelerator_view=self.accelerator_view)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_forward": None, "_inverse": None}
