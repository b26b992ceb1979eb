"""Whether vkamp's own kernels are checked as others are.

The checks take a quarter of the front end's time, so the project's tests make them, and programs do not.
"""

from __future__ import annotations

are_checked = False
