import vkamp as amp

amp.parallel_for_each()
