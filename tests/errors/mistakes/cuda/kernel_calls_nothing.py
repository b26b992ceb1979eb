"""The parentheses of @amp.kernel() with a number."""

import numpy as np

import vkamp as amp


@amp.kernel(256)
def scale(idx, a):
    a[idx] *= 2.0
