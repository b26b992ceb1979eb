import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

amp.parallel_for_each(FLOATS.extent, lambda idx: None)
