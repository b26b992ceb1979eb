import vkamp as amp

amp.extent(6, 10).tile(2, 0)
