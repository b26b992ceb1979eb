import numpy as np

import vkamp as amp

amp.array(np.float32, amp.extent(4, 3))
