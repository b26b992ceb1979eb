"""A slice of the case lists; ``python -m tests.algorithms --cases`` runs all of them."""

from __future__ import annotations

from tests.algorithms import cases_amp, cases_cub  # noqa: F401
from tests.algorithms.cases import CASES, one_input, run
from tests.library_views import name_of

LISTS = [each for each in CASES if each.suite != "complex"]
#: Each device runs one case of so many, beginning with another one.
PART = {"reference": (32, 0), "llvmpipe": (48, 5), "swiftshader": (96, 11)}


def test_against_numpy(accelerator_view):
    name = name_of(accelerator_view)
    parts, part = PART.get(name, (1, 0))
    for number, case in enumerate(LISTS[part::parts]):
        run(
            case,
            one_input(case, number),
            accelerator_view,
            "tiles" if name == "llvmpipe" and number % 3 == 0 else "runs",
        )
