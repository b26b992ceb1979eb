import vkamp as amp

amp.parallel_for_each(amp.extent(12), 5)
