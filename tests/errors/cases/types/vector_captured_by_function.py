import vkamp as amp

OUT = amp.array_view(amp.extent(3), amp.float3)
SHIFT = amp.float3(1, 2, 3)


@amp.func
def shifted(p):
    return p + SHIFT


@amp.kernel
def moved(idx, out):
    out[idx] = shifted(out[idx])


moved.inspect(OUT.extent, OUT)
