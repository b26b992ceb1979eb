"""Learns to read handwritten digits: a network of two layers, with products of float16.

    python examples/digits_network.py [--epochs 15] [--hidden 64] [--accelerator nvidia]

Weights are float32; each step rounds them to float16 for its products (P. Micikevicius et al., *Mixed Precision
Training*, 2018). The products are summed in float32, by matrix units where the device has them. The launches of a whole
epoch are captured once and replayed; the host waits for nothing but the results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import linalg

CLASSES, BATCH, RATE, MOMENTUM = 10, 64, 0.05, 0.9
#: Gradients are larger by this factor, so that small ones are not rounded to 0 in float16.
SCALE = 128.0


@amp.kernel
def activate(idx, sums, bias, out):
    """out = max(sums + bias, 0)"""
    out[idx] = amp.float16(max(sums[idx] + bias[idx[1]], 0.0))


@amp.kernel
def blame(idx, sums, bias, labels, out, losses):
    """The gradient of the cross entropy of one image by the sums of the last layer, and its loss."""
    image = idx[0]
    largest = sums[image, 0] + bias[0]
    for k in range(1, CLASSES):
        largest = max(largest, sums[image, k] + bias[k])
    total = 0.0
    for k in range(CLASSES):
        total += amp.precise_math.exp(sums[image, k] + bias[k] - largest)
    for k in range(CLASSES):
        part = amp.precise_math.exp(sums[image, k] + bias[k] - largest) / total
        if k == labels[image]:
            losses[image] = -amp.precise_math.log(part)
            part -= 1.0
        out[image, k] = amp.float16(part * SCALE / BATCH)


@amp.kernel
def return_through(idx, gradient, hidden, out):
    """The gradient by the sums of the hidden layer, through its activation."""
    out[idx] = amp.float16(gradient[idx]) if hidden[idx] > amp.float16(0) else amp.float16(0)


@amp.kernel
def learn(idx, weights, speed, gradient, rounded):
    """A step of gradient descent with momentum."""
    speed[idx] = MOMENTUM * speed[idx] - RATE / SCALE * gradient[idx]
    weights[idx] += speed[idx]
    rounded[idx] = amp.float16(weights[idx])


@amp.kernel
def learn_bias(idx, bias, speed, gradient):
    """The same for the number that is added for each column of ``gradient``."""
    total = 0.0
    for image in range(gradient.extent[0]):
        total += amp.float32(gradient[image, idx[0]])
    speed[idx] = MOMENTUM * speed[idx] - RATE / SCALE * total
    bias[idx] += speed[idx]


class Layer:
    """Weights and biases with their speeds; weights rounded for products."""

    def __init__(self, view: amp.accelerator_view, weights: NDArray[np.float32]) -> None:
        inputs, outputs = weights.shape
        self.view = view
        self.weights = amp.array(weights, accelerator_view=view)
        self.rounded = amp.array(weights.astype(np.float16), accelerator_view=view)
        self.bias, self.bias_speed, self.speed, self.gradient = (
            amp.array(np.zeros(shape, np.float32), accelerator_view=view)
            for shape in (outputs, outputs, (inputs, outputs), (inputs, outputs))
        )

    def learn(self, inputs: Any, blamed: Any) -> None:
        """A step by the gradients of the layer's sums."""
        linalg.matmul(transposed(inputs), blamed, out=self.gradient, accelerator_view=self.view)
        amp.parallel_for_each(
            self.view, self.weights.extent, learn, self.weights, self.speed, self.gradient, self.rounded
        )
        amp.parallel_for_each(self.view, self.bias.extent, learn_bias, self.bias, self.bias_speed, blamed)


def transposed(a: Any) -> Any:
    return linalg.matrix_transpose(a)


class Network:
    """Both layers, and memory for what a step computes."""

    def __init__(self, view: amp.accelerator_view, weights: Sequence[NDArray[np.float32]], images: int) -> None:
        self.view = view
        self.first, self.second = (Layer(view, each) for each in weights)
        hidden = weights[0].shape[1]
        extents = {"hidden": (BATCH, hidden), "blamed": (BATCH, CLASSES), "returned": (BATCH, hidden)}
        self.half = {name: amp.array(amp.extent(*e), np.float16, accelerator_view=view) for name, e in extents.items()}
        self.sums = [
            amp.array(amp.extent(BATCH, n), np.float32, accelerator_view=view) for n in (hidden, CLASSES, hidden)
        ]
        self.losses = amp.array(amp.extent(images), np.float32, accelerator_view=view)

    def step(self, images: Any, labels: Any, losses: Any) -> None:
        """Learns from one batch."""
        view, (hidden, blamed, returned) = self.view, self.half.values()
        linalg.matmul(images, self.first.rounded, out=self.sums[0])
        amp.parallel_for_each(view, hidden.extent, activate, self.sums[0], self.first.bias, hidden)
        linalg.matmul(hidden, self.second.rounded, out=self.sums[1])
        amp.parallel_for_each(view, amp.extent(BATCH), blame, self.sums[1], self.second.bias, labels, blamed, losses)
        linalg.matmul(blamed, transposed(self.second.rounded), out=self.sums[2])
        amp.parallel_for_each(view, returned.extent, return_through, self.sums[2], hidden, returned)
        self.second.learn(hidden, blamed)
        self.first.learn(images, returned)


def epoch_in_numpy(weights: list[Any], images: Any, labels: Any, state: list[Any]) -> float:
    """The same in float32; changes weights and state, returns the mean loss."""
    losses = []
    (w1, w2), (b1, b2, *speeds) = weights, state
    for at in range(0, len(images), BATCH):
        x, y = images[at : at + BATCH], labels[at : at + BATCH]
        h = np.maximum(x @ w1 + b1, 0)
        sums = h @ w2 + b2
        parts = np.exp(sums - sums.max(1, keepdims=True))
        parts /= parts.sum(1, keepdims=True)
        losses.append(-np.log(parts[np.arange(BATCH), y]).mean())
        parts[np.arange(BATCH), y] -= 1
        blamed = parts / BATCH
        returned = (blamed @ w2.T) * (h > 0)
        for value, speed, gradient in zip(
            (w1, w2, b1, b2), speeds, (x.T @ returned, h.T @ blamed, returned.sum(0), blamed.sum(0)), strict=True
        ):
            speed *= MOMENTUM
            speed -= RATE * gradient
            value += speed
    return float(np.mean(losses))


def read_with(network: Network, images: NDArray[np.float32]) -> NDArray[np.int64]:
    """What the network takes the images for."""
    weights, biases = (
        [np.asarray(getattr(x, n)) for x in (network.first, network.second)] for n in ("weights", "bias")
    )
    return (np.maximum(images @ weights[0] + biases[0], 0) @ weights[1] + biases[1]).argmax(1)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    images, labels = gallery.digits()
    random = np.random.default_rng(5)
    order = random.permutation(len(images))
    images, labels = images[order], labels[order]
    count = len(images) * 4 // 5 // BATCH * BATCH
    sizes = ((64, options.hidden), (options.hidden, CLASSES))
    weights = [(random.standard_normal(s) * np.sqrt(2 / s[0])).astype(np.float32) for s in sizes]
    network = Network(view, weights, count)
    x = amp.array_view(amp.array(images[:count].astype(np.float16), accelerator_view=view))
    y = amp.array_view(amp.array(labels[:count], accelerator_view=view))
    losses = amp.array_view(network.losses)

    def epoch() -> None:
        for at in range(0, count, BATCH):
            batch = slice(at, at + BATCH)
            network.step(x[batch], y[batch], losses[batch])

    with amp.capture(view) as graph:
        epoch()
    state = [np.zeros(options.hidden, np.float32), np.zeros(CLASSES, np.float32)]
    state += [np.zeros_like(each) for each in (*weights, *state)]
    curves: dict[str, list[float]] = {"float16 products": [], "numpy, float32": []}
    for _ in range(options.epochs):
        graph.replay()
        curves["float16 products"].append(float(np.asarray(network.losses).mean()))
        curves["numpy, float32"].append(epoch_in_numpy(weights, images[:count], labels[:count], state))
    tested, read = images[count:], read_with(network, images[count:])
    hidden = np.maximum(tested @ weights[0] + state[0], 0)
    expected = (hidden @ weights[1] + state[1]).argmax(1)
    shares = [float((each == labels[count:]).mean()) for each in (read, expected)]
    print(f"read    {shares[0]:.1%} of {len(tested)} other images right, numpy's network {shares[1]:.1%}")
    ends = [each[-1] for each in curves.values()]
    checks = [
        ("loss of the last epoch", abs(ends[0] - ends[1]), 0.02 + 0.2 * ends[1]),
        ("share of images read right", abs(shares[0] - shares[1]), 0.03),
    ]
    gallery.timed(view, f"an epoch of {count} images", graph.replay)
    return gallery.Result(checks, [_sheet(curves, tested, read, labels[count:])])


def _sheet(curves: Any, images: Any, read: Any, labels: Any) -> Any:
    """The losses, and images with what they were taken for: wrong ones first."""

    def draw_losses(axes: Any) -> None:
        for (name, values), style in zip(curves.items(), ("-", "--"), strict=True):
            axes.semilogy(range(1, len(values) + 1), values, style, label=name)
        axes.set(xlabel="epoch", ylabel="mean loss")
        axes.legend()

    order = np.argsort(read == labels, kind="stable")[:40]
    rows = [
        np.hstack([np.pad(images[k].reshape(8, 8), ((1, 1), (4, 1))) for k in order[at : at + 8]])
        for at in range(0, 40, 8)
    ]

    def draw_digits(axes: Any) -> None:
        axes.imshow(np.vstack(rows), cmap="gray_r", vmin=0, vmax=1)
        for place, k in enumerate(order):
            colour = "tab:blue" if read[k] == labels[k] else "tab:red"
            axes.text(place % 8 * 13 + 1, place // 8 * 10 + 4, str(read[k]), color=colour, fontsize=13, weight="bold")
        axes.set_axis_off()

    titles = ("loss", "read as (red: wrong)")
    return gallery.side_by_side([gallery.chart(draw_losses), gallery.chart(draw_digits)], titles)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the network learns as numpy's."""
    return gallery.main("digits_network", __doc__ or "", run, argv, epochs=15, hidden=64)


if __name__ == "__main__":
    sys.exit(main())
