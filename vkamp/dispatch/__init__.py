"""``parallel_for_each``: from a launch to work on a device."""

from vkamp.dispatch.inspection import Inspection, inspect_kernel
from vkamp.dispatch.launch import parallel_for_each
from vkamp.dispatch.reference import ReferenceEngine

__all__ = ["Inspection", "ReferenceEngine", "inspect_kernel", "parallel_for_each"]
