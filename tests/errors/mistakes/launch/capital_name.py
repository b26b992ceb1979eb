"""A name of vkamp in another spelling, on the host."""

import numpy as np

import vkamp as amp

domain = amp.Extent(8)
