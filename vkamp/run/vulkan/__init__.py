"""The direct engine: Vulkan by its own C functions, through the package ``vulkan``.

It does what Kompute can't: device features, barriers between dependent dispatches instead of waits for them, reused
fences, memory in large blocks, and copies of parts of buffers.
"""
