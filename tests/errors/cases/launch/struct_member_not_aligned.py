import numpy as np

import vkamp as amp

amp.array(amp.extent(5), np.dtype([("count", "i4"), ("places", "f8", (3,))]))
