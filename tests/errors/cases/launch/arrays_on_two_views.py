import vkamp as amp


@amp.kernel
def add(idx, a, b):
    a[idx] += b[idx]


device = amp.accelerator("reference")
a = amp.array(amp.extent(12), amp.float32, accelerator_view=device.create_view())
b = amp.array(amp.extent(12), amp.float32, accelerator_view=device.create_view())
add.inspect(a.extent, a, b)
