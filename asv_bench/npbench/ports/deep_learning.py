from __future__ import annotations

import jax
import jax.numpy as jnp


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def conv2d(image, weights):
    return jax.lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv2d_bias(image, weights, bias):
    return conv2d(image, weights) + bias


def maxpool2d(x):
    n, h, w, c = x.shape
    return jnp.max(x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c), axis=(2, 4))


def mlp(image, w1, b1, w2, b2, w3, b3):
    x = jax.nn.relu(image @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def lenet(image, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b):
    x = maxpool2d(jax.nn.relu(conv2d(image, conv1) + conv1bias))
    x = maxpool2d(jax.nn.relu(conv2d(x, conv2) + conv2bias))
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ fc1w + fc1b)
    x = jax.nn.relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def batchnorm2d(x):
    return (x - jnp.mean(x, axis=0)) / jnp.sqrt(jnp.var(x, axis=0) + 1e-5)


def resnet(image, conv1, conv2, conv3):
    x = jnp.pad(image @ conv1[0, 0], ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = jax.nn.relu(batchnorm2d(x))
    x = jax.nn.relu(batchnorm2d(conv2d(x, conv2)))
    x = batchnorm2d(x @ conv3[0, 0])
    return jax.nn.relu(x + image)
