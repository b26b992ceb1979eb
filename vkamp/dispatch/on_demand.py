"""What comes with the compiler, and is loaded on demand: check mode, ``kernel.inspect`` and ``amp.result_type``."""

from vkamp.dispatch.checking import check as check
from vkamp.dispatch.checking import checked_launch as checked_launch
from vkamp.dispatch.inspection import inspect_kernel as inspect_kernel
from vkamp.dispatch.result_types import result_type as result_type
