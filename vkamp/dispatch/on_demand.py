"""What comes with the compiler, and is loaded on demand: check mode and ``kernel.inspect``."""

from vkamp.dispatch.checking import check as check
from vkamp.dispatch.checking import checked_launch as checked_launch
from vkamp.dispatch.checking import report_of as report_of
from vkamp.dispatch.inspection import BlockUses as BlockUses
from vkamp.dispatch.inspection import block_uses as block_uses
from vkamp.dispatch.inspection import inspect_kernel as inspect_kernel
