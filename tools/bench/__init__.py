"""What vkamp's speed is claimed by: measurements that anyone can run, each beside its peer in one run.

tools/env python -m tools.bench [--groups startup,compile] [--accelerators swiftshader] [--json FILE]
"""
