"""An accelerator by a name that no device has."""

import numpy as np

import vkamp as amp

gpu = amp.accelerator("nvidia")
