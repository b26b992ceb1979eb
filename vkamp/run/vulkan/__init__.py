"""The direct engine: calls Vulkan's C functions through the package ``vulkan``. In contrast to Kompute it enables
device features, records barriers between dependent dispatches instead of waiting for them, reuses fences, allocates
memory in large blocks, and copies parts of buffers.
"""
