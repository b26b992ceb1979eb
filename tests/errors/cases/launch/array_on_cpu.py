import vkamp as amp


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


a = amp.array(amp.extent(12), amp.float32, accelerator_view=amp.accelerator("cpu").default_view)
amp.parallel_for_each(a.extent, clear, a)
