import numpy as np

from vkamp import algorithms

numbers = np.arange(5, dtype=np.int32)
algorithms.sort(numbers, less=lambda a: a)
