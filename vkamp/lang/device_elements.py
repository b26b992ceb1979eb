"""Library objects for one element in device memory, such as ``device_scalar``, which kernels take as scalars."""

from __future__ import annotations

from typing import Any

from vkamp.lang.container import Container


def element_of(value: Any) -> Container | None:
    """The container of the element that a kernel reads where it takes ``value`` as a scalar; None for anything else.

    The class of such an object names the member that has the container in ``_vkamp_element``.  Its ``dtype`` is the
    type of the scalar: bool for conditions, which memory stores as other integers.
    """
    name = getattr(type(value), "_vkamp_element", None)
    return None if name is None else getattr(value, name)
