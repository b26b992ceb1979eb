import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

namespace = {"amp": amp}
exec("@amp.kernel\ndef hidden(idx, a):\n    a[idx] = 0.0\n", namespace)

namespace["hidden"].inspect(FLOATS.extent, FLOATS)
