import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Settings:
    def gain(self):
        return 2.0


settings = Settings()


@amp.kernel
def scale(idx, a):
    a[idx] *= settings.gain()


scale.inspect(FLOATS.extent, FLOATS)
