import numpy as np

import vkamp as amp

amp.array_view(np.array(["a", "bc"]))
