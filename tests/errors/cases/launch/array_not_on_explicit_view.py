import vkamp as amp


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


device = amp.accelerator("reference")
a = amp.array(amp.extent(12), amp.float32, accelerator_view=device.create_view())
amp.parallel_for_each(device.create_view(), a.extent, clear, a)
