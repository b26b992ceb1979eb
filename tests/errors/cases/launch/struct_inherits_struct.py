import vkamp as amp


@amp.struct
class Body:
    mass: amp.float32


@amp.struct
class Ball(Body):
    radius: amp.float32
