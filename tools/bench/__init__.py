"""The measurements behind the claims about vkamp's speed. Each is compared with its peer in the same run.

tools/env python -m tools.bench [--groups startup,compile] [--accelerators swiftshader] [--json FILE]
"""
