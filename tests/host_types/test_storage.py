"""Where containers go by default."""

from __future__ import annotations

from vkamp.errors import AmpError
from vkamp.lang import storage


def test_providers(location, cpu, refused, monkeypatch):
    assert storage.default_location() is location
    assert storage.host_location() is cpu
    monkeypatch.setattr(storage, "_default_provider", None)
    monkeypatch.setattr(storage, "_host_provider", None)
    with refused(AmpError, "there is no default accelerator_view, because no accelerator was found"):
        storage.default_location()
    with refused(AmpError, 'no accelerators: nothing provides the view of accelerator("cpu")'):
        storage.host_location()
