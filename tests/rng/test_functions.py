"""The functions by which words become numbers, against numpy's in double precision."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from vkamp.rng import _functions
from vkamp.rng.distributions import normal_pair


@amp.kernel(precise=True)
def _of_words(idx, words, logs, normals):
    logs[idx[0]] = _functions.minus_log(words[idx[0], 0])
    x, y = normal_pair(words[idx[0], 0], words[idx[0], 1])
    normals[idx[0], 0], normals[idx[0], 1] = x, y


def _words(count):
    """Random pairs of words, and those whose uniform number is small, near 1, or between powers of two."""
    words = np.random.default_rng(1).integers(0, 1 << 32, (count, 2), dtype=np.uint32)
    few = count // 8
    words[:few, 0] = np.arange(few)
    words[few : 2 * few, 0] = 0xFFFFFFFF - np.arange(few, dtype=np.uint32) * 5
    at = (2.0 ** np.arange(1, 32)[:, None] * 2**-0.5 + np.arange(-2, 3)).astype(np.uint32).reshape(-1)[:few]
    words[2 * few : 2 * few + at.size, 0] = at
    words[3 * few : 3 * few + 8, 1] = np.arange(8, dtype=np.uint32) << 29
    words[4 * few : 4 * few + 8, 1] = (np.arange(8, dtype=np.uint32) << 29) - 1
    return words


def test_normal_numbers_are_those_of_box_and_muller(accelerator_view):
    """Logarithms, and normal numbers, with errors of a few units in the last place."""
    words = _words(400 if accelerator_view.accelerator.device_path == "reference" else 40_000)
    logs = amp.array_view(np.zeros(len(words), np.float32))
    normals = amp.array_view(np.zeros(words.shape, np.float32))
    amp.parallel_for_each(
        accelerator_view, logs.extent, _of_words, amp.array_view(words, readonly=True), logs, normals
    )  # fmt: skip
    expected = -np.log((words[:, 0] | 1).astype(np.float32).astype(np.float64) * 2.0**-32)
    np.testing.assert_allclose(np.asarray(logs, np.float64), expected, rtol=2e-7)
    angle = (words[:, 1] << np.uint32(2)).view(np.int32) * (np.pi * 2.0**-33)
    cosine, sine = np.cos(angle) * np.where(words[:, 1] >> 31 == 1, -1, 1), np.sin(angle)
    exchanged = (words[:, 1] >> 30 & 1) == 1
    unit = np.stack([np.where(exchanged, sine, cosine), np.where(exchanged, cosine, sine)], axis=1)
    np.testing.assert_allclose(
        np.asarray(normals, np.float64), np.sqrt(2 * expected)[:, None] * unit, rtol=5e-7
    )  # fmt: skip
