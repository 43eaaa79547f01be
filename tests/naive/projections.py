"""A net with one hidden layer, learned by Adam in float64."""

import numpy as np


def standardised(x, weight):
    """Return numbers with mean 0 and spread 1 by these weights."""
    mean = np.average(x, axis=0, weights=weight)
    return (x - mean) / np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))


def learned(net, z, target, weight, *, loss, n_epochs, batch_size=128, step_size=0.01, l2=1e-3):
    """Return the net (W, V, b, c) after so many epochs; W is inputs by hidden, V is hidden by outputs."""
    n_steps, t = n_epochs * -(-len(z) // batch_size), 0
    mean, square = [np.zeros_like(p) for p in net], [np.zeros_like(p) for p in net]
    for _ in range(n_epochs):
        for first in range(0, len(z), batch_size):
            rows = slice(first, first + batch_size)
            W, V, b, c = net
            at = b + z[rows] @ W
            hidden = at / np.sqrt(1.0 + at**2)
            output = c + hidden @ V
            if loss == "softmax":
                p = np.exp(output - output.max(axis=1, keepdims=True))
                error = p / p.sum(axis=1, keepdims=True) - np.eye(len(c))[target[rows].astype(int)]
            else:
                p = 1.0 / (1.0 + np.exp(-output)) if loss == "logistic" else output
                error = p - target[rows, None]
            by_output = error * weight[rows, None] / len(error)
            by_hidden = by_output @ V.T * (1.0 + at**2) ** -1.5
            decay = l2 / len(error)
            of_W, of_V = z[rows].T @ by_hidden + decay * W, hidden.T @ by_output + decay * V
            slopes = [of_W, of_V, by_hidden.sum(0), by_output.sum(0)]
            t += 1
            step = step_size * (1.0 - (t - 1) / n_steps) * np.sqrt(1.0 - 0.999**t) / (1.0 - 0.9**t)
            mean = [0.9 * m + 0.1 * g for m, g in zip(mean, slopes, strict=True)]
            square = [0.999 * s + 0.001 * g**2 for s, g in zip(square, slopes, strict=True)]
            net = [p - step * m / (np.sqrt(s) + 1e-8) for p, m, s in zip(net, mean, square, strict=True)]
    return net
