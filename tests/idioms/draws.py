"""Random numbers from seeds inside, and NumPy's own iterators."""

from __future__ import annotations

import random

import numpy as np
from planned_ad.errors import TraceError

from .program import Kind, matrix, number, vector, vectors, with_number

DRAWS = Kind("draws")
OUTSIDE = np.random.default_rng(5)
OUTSIDE_RANDOM = random.Random(5)


@DRAWS.add()
def default_rng_in_a_loop(x):
    rng, total = np.random.default_rng(0), 0.0
    for v in x:
        total += v * rng.standard_normal()
    return total


@DRAWS.add(with_number(4))
def stochastic_gradient_descent(w, rate):
    rng = np.random.default_rng(1)
    for _ in range(30):
        a = rng.normal(size=4)
        w = w - 0.1 * rate * (a @ w - 1.0) * a
    return np.sum(w**2)


@DRAWS.add()
def permutation_of_each_epoch(x):
    rng, total = np.random.default_rng(2), 0.0
    for _ in range(3):
        for i in rng.permutation(24):
            total = 0.9 * total + x[i]
    return total


@DRAWS.add()
def integers_as_indices(x):
    rng, total = np.random.default_rng(3), 0.0
    for k in range(40):
        i = rng.integers(24)
        total += x[i] * k
    return total


@DRAWS.add()
def shuffle_of_a_list(x):
    rng, order = random.Random(4), list(range(24))
    total = 0.0
    for _ in range(4):
        rng.shuffle(order)
        for w, i in enumerate(order):
            total += w * np.sin(x[i])
    return total


@DRAWS.add()
def random_choice_of_a_gain(x):
    rng, total = random.Random(6), 0.0
    for v in x:
        total += v * rng.choice([0.1, 0.5, 2.0])
    return total


@DRAWS.add()
def random_state_legacy(x):
    rng, total = np.random.RandomState(7), 0.0
    for v in x:
        total += v * rng.randn()
    return total


@DRAWS.add(number())
def euler_maruyama(s):
    rng, y = np.random.default_rng(8), s
    for _ in range(50):
        y = y - 0.1 * y + 0.2 * np.sqrt(0.1) * rng.normal() * y
    return y


@DRAWS.add(vector(5))
def metropolis_with_seeded_draws(x):
    rng = np.random.default_rng(9)
    total, k = 0.0, 0
    for _ in range(25):
        j = (k + rng.choice([-1, 1])) % 5
        if rng.random() < 0.7:
            k = j
        total += x[k]
    return total**2


@DRAWS.add()
def dropout_masks(x):
    rng, h = np.random.default_rng(10), x
    for _ in range(20):
        mask = rng.random(24) < 0.8
        h = np.sin(h * mask / 0.8) + 0.1 * x
    return np.sum(h)


@DRAWS.add()
def minibatches_by_choice(x):
    rng, w = np.random.default_rng(11), 0.0
    for _ in range(20):
        batch = x[rng.choice(24, 4, replace=False)]
        w -= 0.2 * np.mean(w - batch)
    return w


@DRAWS.add()
def draws_in_a_helper_object(x):
    class Noise:
        def __init__(self, seed):
            self.rng = np.random.default_rng(seed)

        def __call__(self):
            return self.rng.uniform(-1, 1)

    noise = Noise(12)
    return sum([v * noise() for v in x])


@DRAWS.add()
def draws_in_a_default(x):
    total = 0.0

    def jitter(v, rng=np.random.default_rng(13)):
        return v + 0.1 * rng.normal()

    for v in x:
        total += jitter(v) ** 2
    return total


@DRAWS.add()
def generator_made_in_each_iteration(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * np.random.default_rng(i).normal()
    return total


@DRAWS.add()
def same_seed_in_each_iteration(x):
    total = 0.0
    for v in x:
        total += v * np.random.default_rng(14).normal()
    return total


@DRAWS.add()
def all_draws_beforehand(x):
    z = np.random.default_rng(15).normal(size=24)
    total = 0.0
    for v, w in zip(x, z):
        total += v * w
    return total


@DRAWS.add()
def spawned_streams(x):
    streams = np.random.default_rng(16).spawn(3)
    total = 0.0
    for i, v in enumerate(x):
        total += v * streams[i % 3].random()
    return total


@DRAWS.add(refused=TraceError)
def generator_from_outside(x):
    total = 0.0
    for v in x:
        total += v * OUTSIDE.normal()
    return total


@DRAWS.add(refused=TraceError)
def random_module_from_outside(x):
    return sum([v * OUTSIDE_RANDOM.random() for v in x])


@DRAWS.add(refused=TraceError)
def numpy_global_state(x):
    total = 0.0
    for v in x:
        total += v * np.random.normal()
    return total


@DRAWS.add(refused=TraceError)
def random_module_global_state(x):
    total = 0.0
    for v in x:
        total += v * random.random()
    return total


@DRAWS.add()
def ndenumerate_of_an_array(x):
    total = 0.0
    for (i,), v in np.ndenumerate(x):
        total += v * np.cos(i)
    return total


@DRAWS.add(matrix(6, 5))
def ndenumerate_of_a_matrix(x):
    total = 0.0
    for (i, j), v in np.ndenumerate(x):
        total = 0.9 * total + v * (i - j)
    return total


@DRAWS.add(matrix(6, 5))
def ndindex_of_a_shape(x):
    total = 0.0
    for i, j in np.ndindex(*x.shape):
        total += x[i, j] * np.sin(i + 2 * j)
    return total


@DRAWS.add()
def nditer_of_a_plain_array(x):
    total = 0.0
    for v, w in zip(x, np.nditer(np.linspace(0, 1, 24))):
        total += v * float(w)
    return total


@DRAWS.add()
def nditer_of_a_traced_array(x):
    total = 0.0
    for v in np.nditer(x):
        total += v * v
    return total


@DRAWS.add()
def flat_of_an_array(x):
    total = 0.0
    for k, v in enumerate(x.reshape(4, 6).flat):
        total += k * v
    return total


@DRAWS.add()
def ndenumerate_of_a_plain_table(x):
    table, total = np.arange(24.0).reshape(4, 6), 0.0
    for (i, j), w in np.ndenumerate(table):
        total += w * x[i * 6 + j]
    return total


@DRAWS.add(vectors(24, 24))
def antithetic_pairs(x, y):
    rng, total = random.Random(17), 0.0
    for a, b in zip(x, y):
        u = rng.gauss(0, 1)
        total += np.exp(0.1 * a * u) + np.exp(-0.1 * b * u)
    return total / 48


@DRAWS.add()
def reseeded_midway(x):
    rng, total = random.Random(18), 0.0
    for i, v in enumerate(x):
        if i == 20:
            rng.seed(1)
        total += v * rng.uniform(0, 1)
    return total


@DRAWS.add()
def linear_congruential(x):
    seed, total = 12345, 0.0
    for v in x:
        seed = (1103515245 * seed + 12345) % 2**31
        total += v * seed / 2**31
    return total
