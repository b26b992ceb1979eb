import vkamp as amp


@amp.struct
class Body:
    name: str
