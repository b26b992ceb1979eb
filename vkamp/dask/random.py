"""Random numbers as Dask arrays: each block is a separate stream of vkamp.rng, computed on the workers' devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph

from vkamp import rng
from vkamp.dask.blocks import chunk_of
from vkamp.dask.spilling import with_room
from vkamp.tracebacks import entry_point


@entry_point
class Generator:
    """Distributions with numpy's names, each as a Dask array: ``default_rng(seed).normal(size=(n, m), chunks=1000)``.

    The numbers depend on the seed, on the draws before, and on the chunks, but not on the devices and workers. Each
    block has a Philox4x32 generator whose key comes from numpy's ``SeedSequence``.
    """

    def __init__(self, seed: Any = None) -> None:
        self._seed = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)

    def random(self, size: Any, *, dtype: Any = np.float32, chunks: Any = "auto") -> da.Array:
        """Uniform floats in [0, 1)."""
        return self._drawn("random", (), {"dtype": np.dtype(dtype)}, size, np.dtype(dtype), chunks)

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: Any = (1,), *, dtype: Any = np.float32, chunks: Any = "auto"
    ) -> da.Array:
        """Uniform floats in [low, high)."""
        return self._drawn("uniform", (low, high), {"dtype": np.dtype(dtype)}, size, np.dtype(dtype), chunks)

    def normal(
        self, loc: float = 0.0, scale: float = 1.0, size: Any = (1,), *, dtype: Any = np.float32, chunks: Any = "auto"
    ) -> da.Array:
        """Normal floats of a mean and a deviation."""
        return self._drawn("normal", (loc, scale), {"dtype": np.dtype(dtype)}, size, np.dtype(dtype), chunks)

    def exponential(
        self, scale: float = 1.0, size: Any = (1,), *, dtype: Any = np.float32, chunks: Any = "auto"
    ) -> da.Array:
        """Exponential floats of mean ``scale``."""
        return self._drawn("exponential", (scale,), {"dtype": np.dtype(dtype)}, size, np.dtype(dtype), chunks)

    def gamma(self, shape: float, scale: float = 1.0, size: Any = (1,), *, chunks: Any = "auto") -> da.Array:
        """Gamma float32 of a shape and a scale."""
        return self._drawn("gamma", (shape, scale), {}, size, np.dtype(np.float32), chunks)

    def poisson(self, lam: float = 1.0, size: Any = (1,), *, chunks: Any = "auto") -> da.Array:
        """Poisson numbers of a mean up to 2^24, as int32."""
        return self._drawn("poisson", (lam,), {}, size, np.dtype(np.int32), chunks)

    def integers(
        self, low: int, high: int | None = None, size: Any = (1,), *, dtype: Any = np.int32, chunks: Any = "auto"
    ) -> da.Array:
        """Integers in [low, high), or in [0, low)."""
        return self._drawn("integers", (low, high), {"dtype": np.dtype(dtype)}, size, np.dtype(dtype), chunks)

    def _drawn(
        self, method: str, numbers: tuple[Any, ...], named: dict[str, Any], size: Any, dtype: np.dtype[Any], chunks: Any
    ) -> da.Array:
        shape = (int(size),) if isinstance(size, (int, np.integer)) else tuple(int(n) for n in size)
        if not shape:
            raise ValueError("size must be a number of elements, or one for each dimension")
        blocks = da.core.normalize_chunks(chunks, shape, dtype=dtype)
        places = list(np.ndindex(*(len(each) for each in blocks)))
        seeds = self._seed.spawn(len(places))
        entropy, keys = self._seed.entropy, [child.spawn_key for child in seeds]
        name = f"vkamp-{method}-{dask.base.tokenize(method, numbers, named, blocks, entropy, keys)}"
        graph = {
            (name, *place): (
                _draw, method, numbers, named, tuple(blocks[k][n] for k, n in enumerate(place)), entropy, key,
            )
            for place, key in zip(places, keys, strict=True)
        }  # fmt: skip
        layers = HighLevelGraph.from_collections(name, graph, dependencies=[])
        return da.Array(layers, name, blocks, dtype, meta=np.empty((0,) * len(shape), dtype))


@entry_point
def _draw(
    method: str,
    numbers: tuple[Any, ...],
    named: dict[str, Any],
    shape: tuple[int, ...],
    entropy: Any,
    key: tuple[int, ...],
) -> Any:
    seed = np.random.SeedSequence(entropy, spawn_key=key)
    draw: Callable[..., Any] = getattr(rng.Generator(rng.Philox4x32(seed)), method)
    return with_room(lambda: chunk_of(draw(*numbers, size=shape, **named)))


@entry_point
def default_rng(seed: Any = None) -> Generator:
    """A :class:`Generator`; without a seed, one from the operating system's."""
    return Generator(seed)
