"""Multilayer perceptrons of few bits a weight: scikit-learn's, rounded, and trained on with the rounding.

All bytes are counted: weights of 4 or 8 bits, each layer filled up to whole bytes; biases (float16); a scale for each
layer (float32); and what standardises features: a mean (float32) and a scale (float16) for each, or one of both where
all features have about the same range. Activations are floats, and what computes the net is not counted.
"""

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

Sizes = tuple[int, ...]
BATCH = 128
# Of growing: more passes for smaller nets, so that all take about as long.
RATE, WORK, FEWEST_PASSES, MOST_PASSES = 2e-3, 3e9, 60, 150
# Of training on, with the weights rounded.
ROUNDED_RATE, ROUNDED_WORK, FEWEST_ROUNDED, MOST_ROUNDED = 2e-3, 1e9, 15, 60
# What lies outside of these quantiles of a feature says nothing about its scale; and how many scales off it may be.
ENDS, FARTHEST = (0.005, 0.995), 4.0
LEAST_SCALE = 1e-4
# Ranges of features that are alike.
ALIKE = 4.0
SHARES = np.linspace(0.4, 1.0, 13)


class Inputs(NamedTuple):
    """How features are standardised."""

    mean: np.ndarray
    scale: np.ndarray
    nbytes: int

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return rows as the net takes them."""
        return np.clip((X - self.mean) / self.scale, -FARTHEST, FARTHEST).astype(np.float32)


class Net(NamedTuple):
    """Weights and biases, layer by layer, and the classes."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    classes: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return a score for each class, or one for two."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            X = np.maximum(X @ weight + bias, 0.0)
        return X @ self.weights[-1] + self.biases[-1]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes of rows."""
        scores = self.scores(X)
        return self.classes[(scores[:, 0] > 0.0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]


def inputs_for(X: np.ndarray) -> Inputs:
    """Return the standardisation that rows are best given with, as it is stored."""
    low, high = np.quantile(X, ENDS, axis=0)
    kept = np.clip(X, low, high)
    spread = (high - low)[high > low]
    if spread.size and spread.max() <= ALIKE * spread.min():
        mean, scale, nbytes = kept.mean(keepdims=True)[0], kept.std(keepdims=True)[0], 6
    else:
        std = X.std(axis=0)
        inner = kept.std(axis=0)
        # A feature that is nearly always the same.
        mean, scale, nbytes = kept.mean(axis=0), np.where(inner > 0.0, inner, np.where(std > 0.0, std, 1.0)), 0
        nbytes = 6 * X.shape[1]
    scale = np.clip(scale, LEAST_SCALE, np.finfo(np.float16).max).astype(np.float16)  # beyond, it would be infinite
    return Inputs(mean.astype(np.float32), scale.astype(np.float32), nbytes)


def nbytes_of(sizes: Sizes, bits: int, inputs: Inputs) -> int:
    """Return what a net with so many units in each layer takes."""
    layers = sum(-(-below * above * bits // 8) + 2 * above + 4 for below, above in pairwise(sizes))
    return inputs.nbytes + layers


def sizes_for(budget: int, bits: int, n_layers: int, n_outputs: int, inputs: Inputs, n_inputs: int) -> Sizes | None:
    """Return the sizes of the layers of the largest net that fits with so many equal hidden layers."""
    sizes = None
    for hidden in range(1, 1 << 14):
        wider = (n_inputs, *[hidden] * n_layers, n_outputs)
        if nbytes_of(wider, bits, inputs) > budget:
            return sizes
        sizes = wider
    return sizes


def _passes(work: float, fewest: int, most: int, n_rows: int, sizes: Sizes) -> int:
    n_weights = sum(below * above for below, above in pairwise(sizes))
    return int(np.clip(work / (n_rows * n_weights), fewest, most))


def trained(X: np.ndarray, y: np.ndarray, sizes: Sizes) -> Net:
    """Return a net of scikit-learn, in floats."""
    n_passes = _passes(WORK, FEWEST_PASSES, MOST_PASSES, len(X), sizes)
    model = MLPClassifier(
        sizes[1:-1], batch_size=BATCH, learning_rate_init=RATE, max_iter=n_passes, n_iter_no_change=n_passes,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it could go on
        model.fit(X, y)
    weights = [weight.astype(np.float32) for weight in model.coefs_]
    return Net(weights, [bias.astype(np.float32) for bias in model.intercepts_], model.classes_)


def rounded(net: Net, X: np.ndarray, y: np.ndarray, bits: int) -> Net:
    """Return the net with weights of few bits, trained on with the rounding.

    Gradients are those of the rounded weights, and move the weights before rounding (straight through: Bengio,
    Leonard and Courville 2013), by Adam with a rate that falls to nothing along a cosine.
    """
    most = (1 << (bits - 1)) - 1
    weights, biases = [weight.copy() for weight in net.weights], [bias.copy() for bias in net.biases]
    scales = [_scale(weight, most) for weight in weights]
    targets = np.searchsorted(net.classes, y)
    sizes = (X.shape[1], *[bias.size for bias in biases])
    n_passes = _passes(ROUNDED_WORK, FEWEST_ROUNDED, MOST_ROUNDED, len(X), sizes)
    rng = np.random.default_rng(0)
    moving = [*weights, *biases]
    first, second = [np.zeros_like(one) for one in moving], [np.zeros_like(one) for one in moving]
    n_steps = n_passes * -(-len(X) // BATCH)
    for step, some in enumerate(_batches(len(X), n_passes, rng)):
        if step and step % (n_steps // n_passes) == 0:
            scales = [_scale(weight, most) for weight in weights]
        whole = [_on_grid(weight, scale, most) for weight, scale in zip(weights, scales, strict=True)]
        slopes = _slopes(whole, biases, X[some], targets[some])
        rate = ROUNDED_RATE * 0.5 * (1.0 + np.cos(np.pi * step / n_steps))
        for k, slope in enumerate(slopes):
            first[k] += 0.1 * (slope - first[k])
            second[k] += 0.001 * (slope**2 - second[k])
            size = np.sqrt(second[k] / (1.0 - 0.999 ** (step + 1))) + 1e-8
            moving[k] -= (rate / (1.0 - 0.9 ** (step + 1)) * first[k] / size).astype(np.float32)
    whole = [_on_grid(weight, scale, most) for weight, scale in zip(weights, scales, strict=True)]
    return Net(whole, [bias.astype(np.float16).astype(np.float32) for bias in biases], net.classes)


def _scale(weight: np.ndarray, most: int) -> np.float32:
    """Return the step with which weights change least when they are rounded to `most` of them, up and down."""
    largest = float(np.abs(weight).max()) or 1.0
    steps = np.float32(largest / most * SHARES)
    return min(steps, key=lambda step: float(np.square(_on_grid(weight, step, most) - weight).sum()))


def _on_grid(weight: np.ndarray, step: np.float32, most: int) -> np.ndarray:
    return np.clip(np.rint(weight / step), -most, most) * step


def _batches(n_rows: int, n_passes: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for _ in range(n_passes):
        order = rng.permutation(n_rows)
        for begin in range(0, n_rows, BATCH):
            yield order[begin : begin + BATCH]


def _slopes(weights: list, biases: list, X: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    """Return the gradients of cross-entropy by weights, then by biases."""
    layers = [X]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        layers.append(np.maximum(layers[-1] @ weight + bias, 0.0))
    scores = layers[-1] @ weights[-1] + biases[-1]
    if scores.shape[1] == 1:
        error = 1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0))) - targets[:, None]
    else:
        error = np.exp(scores - scores.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(X)), targets] -= 1.0
    error = (error / len(X)).astype(np.float32)
    of_weights, of_biases = [], []
    for k in reversed(range(len(weights))):
        of_weights.append(layers[k].T @ error)
        of_biases.append(error.sum(axis=0))
        if k:
            error = (error @ weights[k].T) * (layers[k] > 0.0)
    return [*reversed(of_weights), *reversed(of_biases)]
