"""Parameters, spaces, keys, and the choice of a winner by a noisy clock."""

from __future__ import annotations

import random

import numpy as np
import pytest

import vkamp as amp
from tests.tuning.kernels import doubled, launch
from vkamp.tuning import timing
from vkamp.tuning.identity import identity_of, key_text
from vkamp.tuning.space import Parameters, Space, size_class, values_of


def test_import_loads_nothing() -> None:
    import subprocess
    import sys

    code = "import sys, vkamp; assert 'vkamp.tuning' not in sys.modules; vkamp.autotune; import vkamp.tuning"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters() -> None:
    p = Parameters({"tile": 64, "kernel": doubled})
    assert p.tile == 64 and p == {"tile": 64, "kernel": doubled} and str(p) == "tile=64, kernel=doubled"
    assert Parameters({"items": 1}).items == 1 and values_of(Parameters({"items": 1})) == {"items": 1}
    with pytest.raises(AttributeError, match=r"^there is no parameter 'vecs': the parameters are tile, kernel$"):
        _ = p.vecs


@pytest.mark.parametrize(
    ("parameters", "default", "message"),
    [
        ({}, None, "autotune needs parameters: a dict of names and their values"),
        ({"tile": 64}, None, "the values of the parameter tile must be a tuple or list, not 64"),
        ({"tile": (64,)}, {"tile": 32}, "autotune: default: tile must be one of 64, not 32"),
        ({"tile": (64,)}, {"side": 64}, "autotune: default: the parameters are tile, not side"),
        ({"on": (True,)}, {"on": 1}, "autotune: default: on must be one of True, not 1"),
    ],
)
def test_spaces_that_are_refused(parameters: object, default: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Space(parameters, None, default)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_candidates_and_neighbours() -> None:
    space = Space({"tile": (32, 64, 128), "items": (1, 2)}, None, {"tile": 64, "items": 1})
    assert space.size == len(list(space.candidates())) == 6
    near = list(space.neighbours(space.default))
    assert near == [{"tile": 32, "items": 1}, {"tile": 128, "items": 1}, {"tile": 64, "items": 2}]
    shapes = Space({"tile": ((8, 8), (16, 16)), "kernel": (doubled,)}, None, None)
    assert shapes.read({"tile": [16, 16], "kernel": "doubled"}) == {"tile": (16, 16), "kernel": doubled}


def test_keys() -> None:
    assert key_text((np.dtype(np.float32), np.int32, np.int64(3), (1, "a", None))) == (
        '["float32", "int32", 3, [1, "a", null]]'
    )
    assert [size_class(n) for n in (1, 1023, 1024, 2047, 2048)] == [1, 10, 11, 11, 12]
    assert size_class(np.zeros((32, 32))) == size_class(1024)
    with pytest.raises(TypeError, match=r"^autotune: key gave {} \(dict\): a key consists of numbers, strings, dtypes"):
        key_text({})


def test_identity_changes_with_the_kernel() -> None:
    def with_kernel(kernel: object) -> object:
        def function() -> object:
            return kernel

        return function

    @amp.kernel
    def other(t_idx, a, out, *, items: amp.constant):  # type: ignore[no-untyped-def]
        out[t_idx.global_] = 3 * a[t_idx.global_]

    one, same, another = (identity_of(with_kernel(k), "") for k in (doubled, doubled, other))
    assert one == same != another
    assert identity_of(launch, "a") != identity_of(launch, "b")


def clock(seed: int, noise: float, seconds: dict[str, float]) -> object:
    """A clock whose times are off by a factor, and sometimes by much."""
    source = random.Random(seed)

    def measure(candidate: str) -> float:
        disturbed = 1 + source.random() * 3 if source.random() < 0.05 else 1.0
        return seconds[candidate] * source.lognormvariate(0, noise) * disturbed

    return measure


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05, 0.2])
def test_a_noisy_clock_never_flips_one_percent(noise: float) -> None:
    names = [f"c{k}" for k in range(20)]
    seconds = {"default": 1.0, **dict.fromkeys(names, 0.99)}
    for seed in range(200):
        best, _ = timing.contest("default", names, clock(seed, noise, seconds))  # type: ignore[arg-type]
        assert best == "default", seed


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_a_clear_gain_is_found(noise: float) -> None:
    seconds = {"default": 1.0, "slow": 1.2, "fast": 0.7, "hopeless": 5.0}
    found = [
        timing.contest("default", ["slow", "fast", "hopeless"], clock(seed, noise, seconds))  # type: ignore[arg-type]
        for seed in range(50)
    ]
    # A disturbed measurement costs the gain of a search, not its truth.
    assert all(best in ("default", "fast") for best, _ in found)
    assert sum(best == "fast" for best, _ in found) >= 15
    assert all(len(times["hopeless"]) == 2 for _, times in found if min(times["fast"]) < 1.0)


def test_few_rounds_decide_nothing() -> None:
    best, times = timing.contest("default", ["fast"], lambda c: 0.1 if c == "fast" else 1.0, is_over=lambda: True)
    assert len(times["default"]) == 3 and best == "fast"
