import numpy as np

import vkamp as amp

PARTICLES = amp.array_view(np.zeros(12, [("position", "f4"), ("velocity", "f4")]))


@amp.kernel
def move(idx, particles):
    particles[idx][0] = 1.0


move.inspect(PARTICLES.extent, PARTICLES)
