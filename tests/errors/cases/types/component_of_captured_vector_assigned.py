import vkamp as amp

OUT = amp.array_view(amp.extent(3), amp.float3)
SHIFT = amp.float3(1, 2, 3)


@amp.kernel
def moved(idx, out):
    SHIFT.x = 5
    out[idx] = SHIFT


moved.inspect(OUT.extent, OUT)
