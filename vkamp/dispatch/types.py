"""Whether a device computes with the types of a kernel.

C++ AMP's model: docs/conformance.md, sections 4 and 15 (double precision is the accelerator's to have or not).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vkamp.errors import Span, diagnostic, name_at
from vkamp.run.accelerators import accelerator_view

#: The device features that types need, by vkamp's names and Vulkan's.
_NEEDS = {
    "float64": ("float64", "shaderFloat64"),
    "int64": ("int64", "shaderInt64"),
    "uint64": ("int64", "shaderInt64"),
}
_INSTEAD = {"float64": "float32", "int64": "int32", "uint64": "uint32"}


#: What a device can have of the types of 8 and 16 bits: they are emulated where it has not.
_SMALL = {
    "int8": {"int8", "storage8"},
    "uint8": {"int8", "storage8"},
    "int16": {"int16", "storage16"},
    "uint16": {"int16", "storage16"},
    "float16": {"float16", "storage16"},
}


def small_types(types: Iterable[str], view: accelerator_view) -> frozenset[str]:
    """The features of a view's device that matter for a kernel's small types."""
    info = view._info
    assert info is not None
    wanted = frozenset().union(*(_SMALL.get(kind, frozenset()) for kind in types))
    return wanted & info.usable_features


def check_types(types: Mapping[str, Span], view: accelerator_view) -> None:
    """Raises ``UnsupportedFeatureError`` for a type that the view's device has not, or that its engine cannot enable.

    ``types``: those of the kernel, and where it uses them.
    """
    info = view._info
    assert info is not None
    for kind, span in types.items():
        feature, name = _NEEDS.get(kind, ("", ""))
        if not feature or feature in info.usable_features:
            continue
        instead = _INSTEAD[kind]
        advice = f"use {instead}: `.astype(np.{instead})` on the host, `amp.{instead}(...)` in the kernel"
        if feature in info.features:
            why = f"which {info.name} has, but the engine {info.engine!r} does not enable"
            advice = f"run it by the engine that does, VKAMP_ENGINE=vulkan, or {advice}"
        else:
            why = f"which {info.name} lacks"
        named = name_at(span)
        what = f"`{named}` is {kind}, and {kind} needs" if named else f"{kind} needs"
        raise diagnostic("VKA304", span, what=what, feature=name, why=why, advice=advice)


#: Vulkan's names of the features that operations of 64-bit integers need, and what is left without them.
_WIDE = {
    "int64_atomics": ("shaderBufferInt64Atomics", "use elements of 32 bits, as counters in two parts"),
    "shared_int64_atomics": ("shaderSharedInt64Atomics", "use elements of 32 bits, as counters in two parts"),
    "subgroup_extended_types": ("shaderSubgroupExtendedTypes", "exchange the values through tile_static memory"),
}


def check_wide_operations(wide: Mapping[str, tuple[str, Span]], view: accelerator_view) -> None:
    """Raises ``UnsupportedFeatureError`` for an operation of 64-bit integers that the view's device has not."""
    info = view._info
    assert info is not None
    for sort, (text, span) in wide.items():
        if sort not in info.usable_features:
            name, advice = _WIDE[sort]
            why = f"which {info.name} lacks"
            raise diagnostic("VKA304", span, what=f"{text} needs", feature=name, why=why, advice=advice)
