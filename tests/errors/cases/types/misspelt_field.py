import numpy as np

import vkamp as amp

PARTICLES = amp.array_view(np.zeros(12, [("position", "f4"), ("velocity", "f4")]))


@amp.kernel
def move(idx, particles):
    particles[idx].position += particles[idx].velocty


move.inspect(PARTICLES.extent, PARTICLES)
