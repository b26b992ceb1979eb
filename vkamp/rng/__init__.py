"""Random numbers on any device, with numpy's names: ``Generator(Philox4x32(seed)).normal(size=n)``.

Bit generators are streams of words; a :class:`Generator` turns them into numbers of a distribution. Each element is
computed from its position alone, so results do not depend on the device.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

from vkamp.algorithms import _names
from vkamp.rng._rounds import philox4x32
from vkamp.rng.bit_generator import BitGenerator
from vkamp.rng.generator import Generator, default_rng
from vkamp.rng.pcg import PCG32
from vkamp.rng.philox import Philox4x32, Philox4x64, philox4x64
from vkamp.rng.sobol import Sobol, sobol_rng_collection
from vkamp.rng.streams import philox, philox_stream
from vkamp.rng.threefry import Threefry2x32, Threefry4x32, threefry2x32, threefry4x32
from vkamp.rng.tinymt import tinymt, tinymt_collection, tinymt_of, tinymt_of_two

#: The default bit generator.
Philox = Philox4x32

__all__ = [
    "PCG32", "BitGenerator", "Generator", "Philox", "Philox4x32", "Philox4x64", "Sobol", "Threefry2x32",
    "Threefry4x32", "default_rng", "philox", "philox4x32", "philox4x64", "philox_stream", "sobol_rng_collection",
    "threefry2x32", "threefry4x32", "tinymt", "tinymt_collection", "tinymt_of", "tinymt_of_two",
]  # fmt: skip

#: Names of numpy's and PyTorch's modules.
_ELSEWHERE = {
    **{name: f"default_rng(seed).{name}(...)" for name in dir(Generator) if not name.startswith("_")},
    **dict.fromkeys(("rand", "random_sample", "ranf"), "default_rng(seed).random(size)"),
    **dict.fromkeys(("randn", "standard_gauss"), "default_rng(seed).standard_normal(size)"),
    **dict.fromkeys(("randint", "random_integers"), "default_rng(seed).integers(low, high, size)"),
    **dict.fromkeys(("seed", "RandomState", "manual_seed"), "default_rng(seed), and use that generator"),
    **dict.fromkeys(("PCG64", "PCG64DXSM", "MT19937", "SFC64"), "Philox(seed), PCG32(seed), or Threefry4x32(seed)"),
}

if not _TYPE_CHECKING:  # for type checkers alone: they would otherwise accept every name
    __getattr__ = _names.refusal(__name__, __all__, _ELSEWHERE, _np.random)
