import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))

amp.atomic_fetch_add(INTS[0], 1)
