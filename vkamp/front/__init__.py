"""Python functions to typed IR.

What a launch needs of it, to know what it asks for: :mod:`vkamp.front.lower` makes the IR, where that is not known.
"""

from vkamp.front.arguments import Arguments as Arguments
from vkamp.front.arguments import collect as collect
from vkamp.front.arguments import make_request as make_request
from vkamp.front.signature import ArgType as ArgType
from vkamp.front.signature import BufferType as BufferType
from vkamp.front.signature import ElementType as ElementType
from vkamp.front.signature import IndexType as IndexType
from vkamp.front.signature import ObjectType as ObjectType
from vkamp.front.signature import Request as Request
from vkamp.front.signature import ScalarType as ScalarType
from vkamp.front.signature import StructType as StructType
from vkamp.front.signature import VectorType as VectorType
from vkamp.front.signature import free_names as free_names
from vkamp.front.signature import is_number as is_number
from vkamp.front.signature import read_name as read_name
from vkamp.front.signature import struct_name as struct_name
