"""Check mode knows what `amp.uniform` assigns."""

from __future__ import annotations

from tools.kernels.claimed import wrong


def test_what_a_claim_assigns_is_new(accelerator_view):
    assert wrong(accelerator_view) == []
