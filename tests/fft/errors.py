"""Errors of `vkamp.fft` and of another library in single precision, by lengths, against numpy in double precision."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from tests.fft.compare import error, numbers, wide
from vkamp import fft


class Peer(NamedTuple):
    """Transforms of complex64 in single precision, and whose they are."""

    name: str
    fft: Callable[[Any], Any]
    ifft: Callable[[Any], Any]


class Errors(NamedTuple):
    """A length, vkamp's larger error, and the peer's."""

    length: int
    ours: float
    peers: float

    @property
    def ratio(self) -> float:
        """Our error in multiples of the peer's; lengths 1 and 2 are exact."""
        return self.ours / self.peers if self.peers > 0 else 0.0


def peer_of(name: str) -> Peer:
    """The peer; ImportError if it is not installed, TypeError if it computes in double precision."""
    if name == "torch":
        torch = importlib.import_module("torch")

        def on_device(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda x: f(torch.from_numpy(x).cuda()).cpu().numpy()

        return Peer("cuFFT", on_device(torch.fft.fft), on_device(torch.fft.ifft))
    module = importlib.import_module(f"{name}.fft")
    if module.fft(np.ones(2, np.complex64)).dtype != np.complex64:
        raise TypeError(f"{name} {importlib.import_module(name).__version__} transforms complex64 in double precision")
    return Peer("pocketfft", module.fft, module.ifft)


def measured(view: amp.accelerator_view, n: int, peer: Peer) -> Errors:
    """The errors of a length."""
    x = numbers(n) if n > 4096 else numbers(2, n)
    expected = np.fft.fft(wide(x))
    ours = error(fft.fft(x, accelerator_view=view), expected)
    narrow = expected.astype(np.complex64)
    back = error(fft.ifft(narrow, accelerator_view=view), wide(x))
    theirs = max(error(peer.fft(x), expected), error(peer.ifft(narrow), wide(x)))
    return Errors(n, float(max(ours, back)), float(theirs))


def all_measured(name: str, peer: str, lengths: list[int]) -> list[Errors]:
    """The errors of some lengths on an accelerator."""
    view, of_peer = amp.accelerator(name).default_view, peer_of(peer)
    return [measured(view, n, of_peer) for n in lengths]
