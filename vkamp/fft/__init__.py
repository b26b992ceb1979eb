"""Fourier transforms on any device, with numpy's names: ``fft.rfft(a, axis=0)``.

Inputs are those of :mod:`vkamp.algorithms`: ``array``, ``array_view``, numpy arrays, and lazy inputs. Results are
arrays on the device, and no function waits for them. Any length is possible, along any axis.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

from vkamp.algorithms import _names
from vkamp.fft.convolution import convolve, correlate, oaconvolve
from vkamp.fft.cosine import dct, dst, idct, idst
from vkamp.fft.helper import fftfreq, fftshift, ifftshift, rfftfreq
from vkamp.fft.plan import plan
from vkamp.fft.several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from vkamp.fft.transforms import fft, hfft, ifft, ihfft, irfft, rfft

__all__ = [
    "convolve", "correlate", "dct", "dst", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idst", "ifft",
    "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "oaconvolve", "plan", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip

_ELSEWHERE = {
    **dict.fromkeys(("fftconvolve", "convolve1d"), "convolve(a, b)"),
    **dict.fromkeys(("dctn", "dct2"), "dct(a, axis=...) for each axis"),
}

if not _TYPE_CHECKING:  # for type checkers alone: they would otherwise accept every name
    __getattr__ = _names.refusal(__name__, __all__, _ELSEWHERE, _np.fft)
