"""A family of small shaders."""

SHADER = """\
#version 450
layout(local_size_x = 7) in;
layout(std430, set = 0, binding = 0) buffer a_buffer { uint a[]; };
void main() {
    a[gl_GlobalInvocationID.x] += NUMBERu;
}
"""


def shader(number: int) -> str:
    return SHADER.replace("NUMBER", str(number))
