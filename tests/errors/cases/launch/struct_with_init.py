import vkamp as amp


@amp.struct
class Body:
    mass: amp.float32

    def __init__(self, mass):
        self.mass = mass
