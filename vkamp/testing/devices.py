"""The accelerators of a test session, and what they lack."""

from __future__ import annotations

from collections.abc import Iterable

from vkamp.errors import AmpError
from vkamp.run.accelerators import accelerator, info_of
from vkamp.run.engine import SUBGROUP_OPERATIONS, DeviceInfo
from vkamp.run.features import FEATURES
from vkamp.run.workarounds import WORKAROUNDS, traps_of

_SUBGROUPS = {f"subgroup_{operation}": operation for operation in SUBGROUP_OPERATIONS}

#: What a test may require: a feature of the device, subgroup operations, or a driver without a certain fault.
ABILITIES = FEATURES | _SUBGROUPS.keys() | {row.ability for row in WORKAROUNDS if row.ability}

#: CPU drivers by their common names.
_SHORT = ("swiftshader", "llvmpipe")


def short_name(found: accelerator) -> str:
    """A name for an accelerator of this machine that finds it again."""
    description = found.description.lower()
    return next((name for name in _SHORT if name in description), found.description)


def further(names: Iterable[str]) -> list[str]:
    """Names for the Vulkan devices of this machine that ``names`` does not include."""
    known = [name.partition("@")[0].lower() for name in names]
    out: list[str] = []
    for found in accelerator.get_all():
        if found.limits is None or found.device_path == "reference":
            continue
        name = short_name(found)
        if any(one in (found.device_path.lower(), name.lower()) or one in found.description.lower() for one in known):
            continue
        if name in out:
            if found.is_emulated:
                continue  # the same driver, installed twice
            name = found.device_path
        out.append(name)
    return out


def lookup(name: str) -> DeviceInfo:
    """The device of this name; ``AmpError`` if there is none, or if it runs no kernels."""
    found = info_of(accelerator(name))
    if found is None:
        raise AmpError(f"{name!r} stores data but runs no kernels")
    return found


def is_called(name: str, word: str) -> bool:
    """Whether ``word`` is part of the description of the accelerator with this name; False if there is none."""
    try:
        return word.lower() in lookup(name).name.lower()
    except AmpError:
        return False


def features(name: str) -> list[str]:
    """The features that programs may use on the accelerator with this name."""
    return sorted(lookup(name).usable_features)


def traps(name: str) -> list[str]:
    """The faults of the accelerator with this name that kernels see."""
    return list(traps_of(lookup(name)).values())


def absent(names: Iterable[str]) -> list[str]:
    """The names without an accelerator on this machine, each with the reason."""
    out = []
    for name in names:
        try:
            lookup(name)
        except AmpError as error:
            out.append(f"- {name}: {error}")
    return out


def described(name: str) -> str:
    """A description of an accelerator: its device, driver and engine."""
    info = lookup(name)
    if info.kind == "reference":
        return "the IR run in Python, no driver"
    return f"{info.name}, driver {info.driver}, engine {info.engine}"


def lacking(name: str, abilities: Iterable[str]) -> str:
    """Why an accelerator cannot run a test that needs these abilities, in words; empty if it can."""
    info = lookup(name)
    known = traps_of(info)
    reasons = []
    for ability in abilities:
        if ability in known:
            reasons.append(known[ability])
        elif ability in _SUBGROUPS:
            if _SUBGROUPS[ability] not in info.limits.subgroup_operations:
                reasons.append(f"has no {_SUBGROUPS[ability]} of subgroups")
        elif ability not in FEATURES:
            continue
        elif ability not in info.features:
            reasons.append(f"has no {ability}")
        elif ability not in info.engine_features:
            reasons.append(f"has {ability}, but not through the engine {info.engine}")
    return "; ".join(reasons)
