"""Settings in a dataclass."""

from dataclasses import dataclass

import numpy as np

import vkamp as amp


@dataclass
class Settings:
    gain: float = 2.0


a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, settings):
    a[idx] *= settings.gain


amp.parallel_for_each(a.extent, scale, a, Settings())
