import vkamp as amp

FLOATS = amp.array(amp.extent(3, 4), amp.float32)


@amp.kernel
def run(idx, a):
    for i, j in a:
        a[i, j] = 1.0


run.inspect(FLOATS.extent, FLOATS)
