import vkamp as amp


@amp.kernel
@amp.func
def clear(idx, a):
    a[idx] = 0.0
