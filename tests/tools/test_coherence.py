"""Random sequences of uses of overlapping views, on several devices at once; ``tools/coherence`` runs more of them."""

from __future__ import annotations

import pytest

import vkamp as amp
from tools import coherence


@pytest.fixture
def places():
    """Views of the first Vulkan devices of this machine."""
    found = [each.device_path for each in amp.accelerator.get_all() if each.device_path.startswith("vulkan")]
    return coherence.places_of(",".join(found[:3]))


def test_sequences_on_several_devices(places):
    for seed in range(6):
        coherence.run(seed, places, 100)


def test_sequences_by_the_direct_engine():
    """Which copies from device to device."""
    found = [each.device_path for each in amp.accelerator.get_all() if each.device_path.startswith("vulkan")]
    places = coherence.places_of(",".join(f"{path.partition('@')[0]}@vulkan" for path in found[:3]))
    for seed in range(1000, 1006):
        coherence.run(seed, places, 100)


def test_sequences_on_the_reference():
    coherence.run(0, coherence.places_of("reference"), 100)


def test_a_difference_is_found(monkeypatch):
    # A model that forgets to bring device writes home must not pass.
    from vkamp.lang.home import Home

    monkeypatch.setattr(Home, "publish", lambda *_, **__: None)
    places, found = coherence.places_of("reference"), 0
    for seed in range(5):
        try:
            coherence.run(seed, places, 30)
        except AssertionError:
            found += 1
    assert found == 5
