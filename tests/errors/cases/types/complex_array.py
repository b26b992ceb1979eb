import numpy as np

import vkamp as amp

amp.array_view(np.zeros(5, np.clongdouble))
