"""vkamp: C++ AMP's tile programming model in Python, on any Vulkan device.

``import vkamp as amp``.  A tile program is a Python function; vkamp compiles it to a readable GLSL compute shader and
runs it on a GPU of any vendor, or on a CPU driver.
"""

import importlib as _importlib
from collections.abc import Callable as _Callable
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from numpy import bool_ as bool_
from numpy import complex64 as complex64
from numpy import complex128 as complex128
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import int8 as int8
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import uint8 as uint8
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64

# The room of that name is imported first: later imports from it leave the function `check` in its place.
from vkamp import check as _check_room  # noqa: F401
from vkamp import dispatch as _dispatch
from vkamp.dispatch import Graph as Graph
from vkamp.dispatch import capture as capture
from vkamp.dispatch import check as check
from vkamp.dispatch import follow as follow
from vkamp.dispatch import parallel_for_each as parallel_for_each
from vkamp.dispatch import reference_schedule as reference_schedule
from vkamp.dispatch import reference_subgroups as reference_subgroups
from vkamp.dispatch import result_type as result_type
from vkamp.dispatch import use_shaders as use_shaders
from vkamp.display.status import TerminalStatus as _TerminalStatus
from vkamp.errors import AcceleratorRemovedError as AcceleratorRemovedError
from vkamp.errors import AmpError as AmpError
from vkamp.errors import BarrierWarning as BarrierWarning
from vkamp.errors import CheckError as CheckError
from vkamp.errors import CheckWarning as CheckWarning
from vkamp.errors import CompileError as CompileError
from vkamp.errors import CompileTimeWarning as CompileTimeWarning
from vkamp.errors import EngineWarning as EngineWarning
from vkamp.errors import InternalCompilerError as InternalCompilerError
from vkamp.errors import InternalCompilerWarning as InternalCompilerWarning
from vkamp.errors import InvalidComputeDomainError as InvalidComputeDomainError
from vkamp.errors import OutOfMemoryError as OutOfMemoryError
from vkamp.errors import RaceError as RaceError
from vkamp.errors import RaceWarning as RaceWarning
from vkamp.errors import ShaderEditError as ShaderEditError
from vkamp.errors import ShaderEditWarning as ShaderEditWarning
from vkamp.errors import UnsupportedFeatureError as UnsupportedFeatureError
from vkamp.findings import Finding as Finding
from vkamp.findings import Report as Report
from vkamp.ir.types import BFLOAT16 as _BFLOAT16
from vkamp.lang.access import access_type as access_type
from vkamp.lang.access import access_type_auto as access_type_auto
from vkamp.lang.access import access_type_none as access_type_none
from vkamp.lang.access import access_type_read as access_type_read
from vkamp.lang.access import access_type_read_write as access_type_read_write
from vkamp.lang.access import access_type_write as access_type_write
from vkamp.lang.arrays import array as array
from vkamp.lang.completion import completion_future as completion_future
from vkamp.lang.container import set_product as _set_product
from vkamp.lang.device import add_carry as add_carry
from vkamp.lang.device import all_memory_fence as all_memory_fence
from vkamp.lang.device import asfloat as asfloat
from vkamp.lang.device import asint as asint
from vkamp.lang.device import asuint as asuint
from vkamp.lang.device import atomic_compare_exchange as atomic_compare_exchange
from vkamp.lang.device import atomic_exchange as atomic_exchange
from vkamp.lang.device import atomic_fetch_add as atomic_fetch_add
from vkamp.lang.device import atomic_fetch_and as atomic_fetch_and
from vkamp.lang.device import atomic_fetch_dec as atomic_fetch_dec
from vkamp.lang.device import atomic_fetch_inc as atomic_fetch_inc
from vkamp.lang.device import atomic_fetch_max as atomic_fetch_max
from vkamp.lang.device import atomic_fetch_min as atomic_fetch_min
from vkamp.lang.device import atomic_fetch_or as atomic_fetch_or
from vkamp.lang.device import atomic_fetch_sub as atomic_fetch_sub
from vkamp.lang.device import atomic_fetch_xor as atomic_fetch_xor
from vkamp.lang.device import atomic_load as atomic_load
from vkamp.lang.device import atomic_store as atomic_store
from vkamp.lang.device import constant as constant
from vkamp.lang.device import direct3d as direct3d
from vkamp.lang.device import dot4_signed as dot4_signed
from vkamp.lang.device import dot4_signed_sat as dot4_signed_sat
from vkamp.lang.device import dot4_unsigned as dot4_unsigned
from vkamp.lang.device import dot4_unsigned_sat as dot4_unsigned_sat
from vkamp.lang.device import fast_math as fast_math
from vkamp.lang.device import global_memory_fence as global_memory_fence
from vkamp.lang.device import mul_extended as mul_extended
from vkamp.lang.device import mulhi as mulhi
from vkamp.lang.device import precise_math as precise_math
from vkamp.lang.device import private as private
from vkamp.lang.device import static_range as static_range
from vkamp.lang.device import sub_borrow as sub_borrow
from vkamp.lang.device import tdiv as tdiv
from vkamp.lang.device import tile_scope as tile_scope
from vkamp.lang.device import tile_static as tile_static
from vkamp.lang.device import tile_static_memory_fence as tile_static_memory_fence
from vkamp.lang.device import trem as trem
from vkamp.lang.device import uniform as uniform
from vkamp.lang.exchange import from_dlpack as from_dlpack
from vkamp.lang.index_space import extent as extent
from vkamp.lang.index_space import index as index
from vkamp.lang.index_space import tiled_extent as tiled_extent
from vkamp.lang.index_space import tiled_index as tiled_index
from vkamp.lang.indirect import indirect as indirect
from vkamp.lang.kernel import func as func
from vkamp.lang.kernel import kernel as kernel
from vkamp.lang.kernel import set_inspector as _set_inspector
from vkamp.lang.matrices import matrix as matrix
from vkamp.lang.matrices import matrix_convert as matrix_convert
from vkamp.lang.matrices import matrix_load as matrix_load
from vkamp.lang.matrices import matrix_map as matrix_map
from vkamp.lang.matrices import matrix_mul_add as matrix_mul_add
from vkamp.lang.matrices import matrix_store as matrix_store
from vkamp.lang.structs import struct as struct
from vkamp.lang.subgroup_functions import subgroup as subgroup
from vkamp.lang.target import target as target
from vkamp.lang.transfer import copy as copy
from vkamp.lang.transfer import copy_async as copy_async
from vkamp.lang.vectors import double2 as double2
from vkamp.lang.vectors import double3 as double3
from vkamp.lang.vectors import double4 as double4
from vkamp.lang.vectors import double_2 as double_2
from vkamp.lang.vectors import double_3 as double_3
from vkamp.lang.vectors import double_4 as double_4
from vkamp.lang.vectors import float2 as float2
from vkamp.lang.vectors import float3 as float3
from vkamp.lang.vectors import float4 as float4
from vkamp.lang.vectors import float_2 as float_2
from vkamp.lang.vectors import float_3 as float_3
from vkamp.lang.vectors import float_4 as float_4
from vkamp.lang.vectors import half2 as half2
from vkamp.lang.vectors import half3 as half3
from vkamp.lang.vectors import half4 as half4
from vkamp.lang.vectors import int2 as int2
from vkamp.lang.vectors import int3 as int3
from vkamp.lang.vectors import int4 as int4
from vkamp.lang.vectors import int_2 as int_2
from vkamp.lang.vectors import int_3 as int_3
from vkamp.lang.vectors import int_4 as int_4
from vkamp.lang.vectors import short_vector as short_vector
from vkamp.lang.vectors import short_vector_traits as short_vector_traits
from vkamp.lang.vectors import uint2 as uint2
from vkamp.lang.vectors import uint3 as uint3
from vkamp.lang.vectors import uint4 as uint4
from vkamp.lang.vectors import uint_2 as uint_2
from vkamp.lang.vectors import uint_3 as uint_3
from vkamp.lang.vectors import uint_4 as uint_4
from vkamp.lang.views import array_view as array_view
from vkamp.lang.words import from_words as from_words
from vkamp.lang.words import to_words as to_words
from vkamp.prebuilt import VERSION as _VERSION
from vkamp.prebuilt import use_artifacts as use_artifacts
from vkamp.progress import current as _current_activity
from vkamp.progress import set_reporter as _set_reporter
from vkamp.run import accelerators as _accelerators
from vkamp.run.accelerators import accelerator as accelerator
from vkamp.run.accelerators import accelerator_view as accelerator_view
from vkamp.run.queuing import queuing_mode as queuing_mode
from vkamp.run.queuing import queuing_mode_automatic as queuing_mode_automatic
from vkamp.run.queuing import queuing_mode_immediate as queuing_mode_immediate
from vkamp.tracebacks import entry_point as _entry_point

__version__ = _VERSION

if _TYPE_CHECKING:
    from vkamp.dispatch.streaming import stream as stream
    from vkamp.profiling import Profile as Profile
    from vkamp.profiling import profile as profile

    autotune: _Callable[..., _Any]
    tune: _Callable[..., _Any]

_accelerators.register_engine(_dispatch.ReferenceEngine())
_set_inspector(_dispatch.inspect_kernel)
# Loaded when it is needed.
_set_product(lambda a, b: _importlib.import_module("vkamp.linalg").matmul(a, b))
_set_reporter(_TerminalStatus(_current_activity))


class _RefusedNameError(UnsupportedFeatureError, AttributeError):
    """A name of AMP's that vkamp refuses; an AttributeError as well, as ``hasattr`` and ``dir`` tools expect."""


def _elsewhere(name: str) -> str:
    """Advice for a name of CUDA's or numba's."""
    from vkamp.front.habits import elsewhere

    found = elsewhere(name)
    return "" if found is None else f": {found.format(index='idx', amp='amp', text='a')}"


#: Packages that are imported at their first use: ``amp.fft.fft(a)`` needs no separate import.
_LIBRARIES = ("algorithms", "blas", "fft", "linalg", "rng", "tile", "tuning")
#: Names that are loaded at their first use, with their modules.
_LATER = {
    "Profile": "vkamp.profiling",
    "autotune": "vkamp.tuning",
    "profile": "vkamp.profiling",
    "stream": "vkamp.dispatch.streaming",
    "tune": "vkamp.tuning",
}

# ``__all__`` lists the public names, which the imports above define. It is set through ``globals()``, because type
# checkers treat a computed ``__all__`` as empty. Without one, they use the imports, too.
globals()["__all__"] = sorted(
    {*_LATER, *(name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType))}
)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIBRARIES, *_LATER})


@_entry_point
def __getattr__(name: str) -> _Any:
    """The libraries, ``bfloat16`` (a class of the package ml_dtypes), and AMP's normalised types, which are refused."""
    if name in _LIBRARIES:
        return _importlib.import_module(f"vkamp.{name}")
    if name in _LATER:
        return getattr(_importlib.import_module(_LATER[name]), name)
    if name == "bfloat16":
        try:
            return _BFLOAT16.dtype.type
        except UnsupportedFeatureError as error:
            raise _RefusedNameError(str(error)) from None
    kind, size = name.rstrip("234").rstrip("_"), name[-1:]
    if kind in ("norm", "unorm") and name in (kind, *(f"{kind}{mark}{n}" for mark in ("", "_") for n in "234")):
        instead = f"float{size}" if size.isdigit() else "float32"
        raise _RefusedNameError(f"{name} is not supported: use {instead}, and clamp where it matters")
    import difflib as _difflib  # 2 ms that programs without such names need not spend

    close = [] if name.startswith("_") else _difflib.get_close_matches(name.lower(), globals()["__all__"], 1, 0.7)
    hint = f": did you mean {close[0]!r}?" if close else _elsewhere(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
