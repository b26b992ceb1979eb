"""vkamp: C++ AMP's tile programming model in Python, on any Vulkan device.

``import vkamp as amp``.  A tile program is a Python function; vkamp compiles it to a readable GLSL compute shader and
runs it on a GPU of any vendor, or on a CPU driver.
"""

import importlib as _importlib
from collections.abc import Callable as _Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# Loaded first: they have a thread start the driver of a built program.
from vkamp.run import ahead as _ahead  # noqa: F401

# isort: split
from vkamp.run import default_device as _default_device

# isort: split
from numpy import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

# The room of that name is imported first: later imports from it leave the function `check` in its place.
from vkamp import check as _check_room  # noqa: F401
from vkamp import dispatch as _dispatch
from vkamp.dispatch import (
    Graph,
    capture,
    check,
    follow,
    parallel_for_each,
    reference_schedule,
    reference_subgroups,
    result_type,
    use_shaders,
)
from vkamp.display.status import TerminalStatus as _TerminalStatus
from vkamp.errors import (
    AcceleratorRemovedError,
    AmpError,
    BarrierWarning,
    CheckError,
    CheckWarning,
    CompileError,
    CompileTimeWarning,
    EngineWarning,
    InternalCompilerError,
    InternalCompilerWarning,
    InvalidComputeDomainError,
    OutOfMemoryError,
    RaceError,
    RaceWarning,
    ShaderEditError,
    ShaderEditWarning,
    UnsupportedFeatureError,
)
from vkamp.findings import Finding, Report
from vkamp.ir.types import BFLOAT16 as _BFLOAT16
from vkamp.lang.access import (
    access_type,
    access_type_auto,
    access_type_none,
    access_type_read,
    access_type_read_write,
    access_type_write,
)
from vkamp.lang.arrays import array
from vkamp.lang.completion import completion_future
from vkamp.lang.container import set_product as _set_product
from vkamp.lang.device import (
    add_carry,
    all_memory_fence,
    asfloat,
    asint,
    asuint,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_fetch_add,
    atomic_fetch_and,
    atomic_fetch_dec,
    atomic_fetch_inc,
    atomic_fetch_max,
    atomic_fetch_min,
    atomic_fetch_or,
    atomic_fetch_sub,
    atomic_fetch_xor,
    atomic_load,
    atomic_store,
    constant,
    direct3d,
    dot4_signed,
    dot4_signed_sat,
    dot4_unsigned,
    dot4_unsigned_sat,
    fast_math,
    global_memory_fence,
    mul_extended,
    mulhi,
    precise_math,
    private,
    static_range,
    sub_borrow,
    tdiv,
    tile_scope,
    tile_static,
    tile_static_memory_fence,
    trem,
    uniform,
)
from vkamp.lang.exchange import from_dlpack
from vkamp.lang.index_space import extent, index, tiled_extent, tiled_index
from vkamp.lang.indirect import indirect
from vkamp.lang.kernel import func, kernel, set_inspector
from vkamp.lang.matrices import (
    matrix,
    matrix_convert,
    matrix_load,
    matrix_map,
    matrix_mul_add,
    matrix_store,
)
from vkamp.lang.structs import struct
from vkamp.lang.subgroup_functions import subgroup
from vkamp.lang.target import target
from vkamp.lang.transfer import copy, copy_async
from vkamp.lang.vectors import (
    double2,
    double3,
    double4,
    double_2,
    double_3,
    double_4,
    float2,
    float3,
    float4,
    float_2,
    float_3,
    float_4,
    half2,
    half3,
    half4,
    int2,
    int3,
    int4,
    int_2,
    int_3,
    int_4,
    short_vector,
    short_vector_traits,
    uint2,
    uint3,
    uint4,
    uint_2,
    uint_3,
    uint_4,
)
from vkamp.lang.views import array_view
from vkamp.prebuilt import VERSION as _VERSION
from vkamp.prebuilt import use_artifacts
from vkamp.progress import current as _current_activity
from vkamp.progress import set_reporter as _set_reporter
from vkamp.run import accelerators as _accelerators
from vkamp.run.accelerators import (
    accelerator,
    accelerator_view,
    queuing_mode,
    queuing_mode_automatic,
    queuing_mode_immediate,
)
from vkamp.tracebacks import entry_point as _entry_point

__version__ = _VERSION

__all__ = [
    "AcceleratorRemovedError",
    "AmpError",
    "BarrierWarning",
    "CheckError",
    "CheckWarning",
    "CompileError",
    "CompileTimeWarning",
    "EngineWarning",
    "Finding",
    "Graph",
    "InternalCompilerError",
    "InternalCompilerWarning",
    "InvalidComputeDomainError",
    "OutOfMemoryError",
    "Profile",
    "RaceError",
    "RaceWarning",
    "Report",
    "ShaderEditError",
    "ShaderEditWarning",
    "UnsupportedFeatureError",
    "accelerator",
    "accelerator_view",
    "access_type",
    "access_type_auto",
    "access_type_none",
    "access_type_read",
    "access_type_read_write",
    "access_type_write",
    "add_carry",
    "all_memory_fence",
    "array",
    "array_view",
    "asfloat",
    "asint",
    "asuint",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_dec",
    "atomic_fetch_inc",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_or",
    "atomic_fetch_sub",
    "atomic_fetch_xor",
    "atomic_load",
    "atomic_store",
    "autotune",
    "bool_",
    "capture",
    "check",
    "completion_future",
    "complex64",
    "complex128",
    "constant",
    "copy",
    "copy_async",
    "direct3d",
    "dot4_signed",
    "dot4_signed_sat",
    "dot4_unsigned",
    "dot4_unsigned_sat",
    "double2",
    "double3",
    "double4",
    "double_2",
    "double_3",
    "double_4",
    "extent",
    "fast_math",
    "float2",
    "float3",
    "float4",
    "float16",
    "float32",
    "float64",
    "float_2",
    "float_3",
    "float_4",
    "follow",
    "from_dlpack",
    "func",
    "global_memory_fence",
    "half2",
    "half3",
    "half4",
    "index",
    "indirect",
    "int2",
    "int3",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_2",
    "int_3",
    "int_4",
    "kernel",
    "matrix",
    "matrix_convert",
    "matrix_load",
    "matrix_map",
    "matrix_mul_add",
    "matrix_store",
    "mul_extended",
    "mulhi",
    "parallel_for_each",
    "precise_math",
    "private",
    "profile",
    "queuing_mode",
    "queuing_mode_automatic",
    "queuing_mode_immediate",
    "reference_schedule",
    "reference_subgroups",
    "result_type",
    "short_vector",
    "short_vector_traits",
    "static_range",
    "stream",
    "struct",
    "sub_borrow",
    "subgroup",
    "target",
    "tdiv",
    "tile_scope",
    "tile_static",
    "tile_static_memory_fence",
    "tiled_extent",
    "tiled_index",
    "trem",
    "tune",
    "uint2",
    "uint3",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_2",
    "uint_3",
    "uint_4",
    "uniform",
    "use_artifacts",
    "use_shaders",
]

if _TYPE_CHECKING:
    from vkamp.dispatch.streaming import stream
    from vkamp.profiling import Profile, profile

    autotune: _Callable[..., _Any]
    tune: _Callable[..., _Any]

_accelerators.register_engine(_dispatch.ReferenceEngine())
set_inspector(_dispatch.inspect_kernel)
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

    close = [] if name.startswith("_") else _difflib.get_close_matches(name.lower(), __all__, 1, 0.7)
    hint = f": did you mean {close[0]!r}?" if close else _elsewhere(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


_default_device.open_soon()
