import vkamp as amp

amp.tile_static(4, amp.float32)
