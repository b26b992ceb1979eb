"""Parameters of kernels and functions that are chosen for the device: ``amp.autotune`` and ``amp.tune``.

``vkamp`` loads this package at the first use of either. The tables that come with vkamp are in ``tables``.
"""

from vkamp.tuning.autotuned import Autotuned, TuningWarning, autotune
from vkamp.tuning.report import TuningReport
from vkamp.tuning.search import tune
from vkamp.tuning.space import Parameters, size_class

__all__ = ["Autotuned", "Parameters", "TuningReport", "TuningWarning", "autotune", "size_class", "tune"]
