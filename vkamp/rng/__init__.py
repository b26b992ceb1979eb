"""Random numbers on any device, by numpy's names: ``Generator(Philox4x32(seed)).normal(size=n)``.

Bit generators are streams of words; a :class:`Generator` makes distributions of them.  Each element is computed from
its position alone, so results do not depend on the device.
"""

from vkamp.rng.bit_generator import BitGenerator
from vkamp.rng.generator import Generator, default_rng
from vkamp.rng.pcg import PCG32
from vkamp.rng.philox import Philox4x32, Philox4x64, philox4x32, philox4x64
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
