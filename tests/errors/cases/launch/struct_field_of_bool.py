import vkamp as amp


@amp.struct
class Body:
    alive: amp.bool_
