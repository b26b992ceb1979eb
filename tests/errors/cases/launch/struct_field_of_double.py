import vkamp as amp


@amp.struct
class Body:
    mass: amp.float64
