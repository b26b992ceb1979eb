import vkamp as amp


@amp.kernel
class Clear:
    pass
