"""Tests of kernels: comparison with the reference accelerator, tolerances in units of the last place. The pytest plugin
(``pytest_vkamp``) uses this package, which does not need pytest. See docs/testing.md.
"""

from vkamp.testing.comparison import compare
from vkamp.testing.ulp import assert_allclose_ulp, ulp_distance

__all__ = ["assert_allclose_ulp", "compare", "ulp_distance"]
