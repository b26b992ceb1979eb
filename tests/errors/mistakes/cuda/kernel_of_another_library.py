"""A decorator that vkamp lacks."""

import numpy as np

import vkamp as amp


@amp.jit
def scale(idx, a):
    a[idx] *= 2.0
