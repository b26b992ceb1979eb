"""Legalization, IR -> IR: what GLSL or a device lacks in terms of what they have, so that the printer only prints.

Each module is a pass, or two; :mod:`vkamp.pipeline.passes` lists them in their order.
"""
