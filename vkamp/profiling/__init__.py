"""``amp.profile()``: what ran on the devices, what moved, and when."""

from vkamp.profiling.collect import profile
from vkamp.profiling.records import Gap, Profile, ProfiledLaunch, ProfiledTransfer

__all__ = ["Gap", "Profile", "ProfiledLaunch", "ProfiledTransfer", "profile"]
