"""Known traps of drivers: what they get wrong although Vulkan allows no such thing, or leaves it open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trap:
    """``ability`` is what a device with the trap lacks, as the mark ``vkamp_requires`` names it; ``what`` is what it
    does instead, and ``drivers`` are parts of the descriptions of such devices.
    """

    ability: str
    what: str
    drivers: tuple[str, ...]


TRAPS = (
    Trap("long_loops", "ends all loops of a thread after 65,535 iterations in all", ("llvmpipe",)),
    Trap("denormals", "flushes denormal numbers to 0", ("swiftshader", "nvidia")),
    Trap(
        "zero_products",
        "takes x * 0.0 for 0.0 if x is negative, infinite or NaN, too",
        ("llvmpipe", "swiftshader", "nvidia"),
    ),
)


def traps_of(description: str) -> list[Trap]:
    """The traps of the device with this description."""
    name = description.lower()
    return [trap for trap in TRAPS if any(driver in name for driver in trap.drivers)]
