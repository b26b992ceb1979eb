import vkamp as amp


@amp.struct
class Body:
    mass = 1.0
