"""The compute domain of a launch, as its caller may write it.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkamp.artifacts import Domain
from vkamp.lang.container import Container
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.lang.indirect import indirect
from vkamp.lang.kernel import BoundKernel, KernelFunction


def as_domain(value: Any) -> Any:
    """The extent of an int, of a tuple or list of ints, or of an ndarray's shape; any other value unchanged."""
    if type(value) is extent or type(value) is tiled_extent or isinstance(value, bool):
        return value
    if isinstance(value, (int, np.integer)):
        return extent(int(value))
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        value = value.tolist()
    is_shape = isinstance(value, (tuple, list)) and bool(value)
    if is_shape and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in value):
        return extent([int(n) for n in value])
    return value


def domain_of(value: Any) -> Domain:
    """Returns the domain of a launch; for an ``indirect``, its largest domain.

    Raises ``TypeError`` for other types than ``extent``, ``tiled_extent`` and ``indirect``, and
    ``InvalidComputeDomainError`` for a component below 1, more than 2**32 - 1 threads, or an extent that its tile does
    not divide, in this order.
    """
    if isinstance(value, indirect):
        return exact_domain(value, value.at_most)
    if not isinstance(value, extent):
        raise TypeError(
            f"the domain of a launch must be an amp.extent, tiled or not, not {_what(value)}: {_instead(value)}"
        )
    domain = Domain(tuple(value), tuple(value.tile_extent) if isinstance(value, tiled_extent) else None)
    domain.check()
    return domain


def exact_domain(value: indirect, count: int) -> Domain:
    """The domain of an indirect launch of ``count`` threads, rounded up to whole tiles."""
    tile = value.tile_size
    domain = Domain((count,)) if tile is None else Domain((-(-count // tile) * tile,), (tile,))
    domain.check()
    return domain


def _what(value: Any) -> str:
    if isinstance(value, (KernelFunction, BoundKernel)):
        return f"the kernel {value.__name__}"
    return repr(value) if isinstance(value, (int, float, str, tuple, list, range)) else type(value).__name__


def _instead(value: Any) -> str:
    """What to write for something that is not a domain."""
    if isinstance(value, (KernelFunction, BoundKernel)):
        return f"write parallel_for_each(domain, {value.__name__}, ...)"
    if isinstance(value, Container):
        return "write view.extent"
    if isinstance(value, str):
        return f"pass amp.accelerator({value!r}) before the domain to choose a device"
    shape = getattr(value, "shape", value)
    if isinstance(shape, range):
        shape = (len(shape),)
    if isinstance(shape, (list, tuple)) and shape and all(isinstance(n, int) for n in shape):
        return f"write amp.extent({', '.join(map(str, shape))})"
    return "write amp.extent(n) with the number of threads, or view.extent"
