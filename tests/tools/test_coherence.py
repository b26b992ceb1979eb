"""Random sequences of uses of overlapping views, on several devices at once; ``tools/coherence`` runs more of them."""

from __future__ import annotations

import pytest

from tools import coherence


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_sequences_on_two_devices(seed):
    places = coherence.places_of("swiftshader,llvmpipe")
    for each in range(seed, seed + 20):
        coherence.run(each, places, 100)


def test_sequences_on_the_reference():
    coherence.run(0, coherence.places_of("reference,swiftshader"), 100)


def test_a_difference_is_found(monkeypatch):
    # A model that forgets to bring device writes home must not pass.
    from vkamp.lang.home import Home

    monkeypatch.setattr(Home, "publish", lambda *_, **__: None)
    places, found = coherence.places_of("reference,swiftshader"), 0
    for seed in range(5):
        try:
            coherence.run(seed, places, 30)
        except AssertionError:
            found += 1
    assert found == 5
