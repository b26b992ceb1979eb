"""Analyses of the IR: which barriers all threads of a tile reach, which stores certainly race."""

from vkamp.check.races import RaceFinding, check_certain_races
from vkamp.check.uniformity import Uniformity, check_uniformity

__all__ = ["RaceFinding", "Uniformity", "check_certain_races", "check_uniformity"]
