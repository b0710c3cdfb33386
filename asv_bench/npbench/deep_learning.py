"""Layers of neural networks, with the channels last."""

from __future__ import annotations

import itertools

import numpy as np

from .kernel import Kernel


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    largest = np.max(x, axis=-1, keepdims=True)
    shifted = np.exp(x - largest)
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def conv2d(image, weights):
    """Without padding: images N H W C, weights K K C D."""
    K = weights.shape[0]
    H, W = image.shape[1] - K + 1, image.shape[2] - K + 1
    output = np.empty((image.shape[0], H, W, weights.shape[3]))
    for i in range(H):
        for j in range(W):
            output[:, i, j, :] = np.sum(
                image[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output


def conv2d_bias(image, weights, bias):
    return conv2d(image, weights) + bias


def maxpool2d(x):
    output = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]))
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def mlp(image, w1, b1, w2, b2, w3, b3):
    x = relu(image @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def lenet(image, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b):
    x = relu(conv2d(image, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = np.reshape(x, (x.shape[0], fc1w.shape[0]))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def batchnorm2d(x):
    """Over the batch."""
    mean, variance = np.mean(x, axis=0, keepdims=True), np.var(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def resnet(image, conv1, conv2, conv3):
    """A block with a bottleneck: 1x1, 3x3 and 1x1."""
    padded = np.zeros((image.shape[0], image.shape[1] + 2, image.shape[2] + 2, conv1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = conv2d(image, conv1)
    x = relu(batchnorm2d(padded))
    x = relu(batchnorm2d(conv2d(x, conv2)))
    x = batchnorm2d(conv2d(x, conv3))
    return relu(x + image)


def layers(r, n, *widths):
    """A batch, and for each layer weights, of the size that keeps numbers as they are, and biases."""
    found = [r(n, widths[0])]
    for a, b in itertools.pairwise(widths):
        found += [(r(a, b) - 0.5) / np.sqrt(a), r(b) - 0.5]
    return tuple(found)


def lenet_arguments(r, n, h, wide):
    """`wide` and 60 as in the original: 120 and 84 nodes."""
    inside = (((h - 4) // 2) - 4) // 2
    _, *dense = layers(r, 1, inside * inside * 16, wide, wide * 7 // 10, 10)
    return (r(n, h, h, 1), r(5, 5, 1, 6) - 0.5, r(6), (r(5, 5, 6, 16) - 0.5) / 5, r(16), *dense)


KERNELS = {
    "softmax": Kernel(
        function=softmax,
        arguments=lambda r, n, h, m: (r(n, h, m, m),),
        tiny=(2, 2, 4),
        S=(4, 8, 128),
        M=(16, 16, 128),
    ),
    "mlp": Kernel(
        function=mlp,
        arguments=layers,
        tiny=(2, 3, 5, 4, 3),
        S=(8, 3, 3000, 1000, 1000),
        M=(8, 3, 10000, 2000, 1000),
    ),
    "conv2d_bias": Kernel(
        function=conv2d_bias,
        arguments=lambda r, n, h, c, d, k: (r(n, h, h, c), r(k, k, c, d), r(d)),
        tiny=(2, 5, 2, 3, 2),
        S=(8, 32, 3, 16, 2),
        M=(8, 64, 3, 16, 5),
    ),
    "lenet": Kernel(
        function=lenet,
        arguments=lenet_arguments,
        tiny=(2, 16, 10),
        S=(4, 28, 120),
        M=(16, 28, 120),
    ),
    "resnet": Kernel(
        function=resnet,
        arguments=lambda r, n, w, c, d: (r(n, w, w, c), r(1, 1, c, d) - 0.5, r(3, 3, d, d) - 0.5, r(1, 1, d, c) - 0.5),
        tiny=(3, 3, 2, 2),
        S=(8, 14, 32, 8),
        M=(8, 28, 64, 16),
    ),
}
