"""Programs from statistics, machine learning and finance, with their adjoints by hand."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf


def mlp(w1, b1, w2, b2, x, labels):
    """Cross entropy of a network with two layers and a softmax."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    top = np.max(scores, axis=1, keepdims=True)
    log_total = np.log(np.sum(np.exp(scores - top), axis=1)) + top[:, 0]
    return np.mean(log_total - scores[np.arange(len(labels)), labels])


def mlp_adjoint(w1, b1, w2, b2, x, labels):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    dscores = weights / np.sum(weights, axis=1, keepdims=True)
    dscores[np.arange(len(labels)), labels] -= 1.0
    dscores /= len(labels)
    dinner = (dscores @ w2.T) * (1.0 - hidden**2)
    return x.T @ dinner, dinner.sum(axis=0), hidden.T @ dscores, dscores.sum(axis=0)


def mlp_arguments(n: int) -> tuple:
    """`n` samples of 64 features, 64 hidden units, 10 classes; 5 features, 4 units and 3 classes for n < 32."""
    features, hidden, classes = (64, 64, 10) if n >= 32 else (5, 4, 3)
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(features, hidden)) / math.sqrt(features),
        rng.normal(size=hidden),
        rng.normal(size=(hidden, classes)) / math.sqrt(hidden),
        rng.normal(size=classes),
        rng.normal(size=(n, features)),
        rng.integers(classes, size=n),
    )


RATE = 0.02


def black_scholes(spot, strike, years, volatility):
    """Sum of the prices of European calls."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RATE + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    half = math.sqrt(0.5)
    gain = spot * 0.5 * (1.0 + erf(d1 * half))
    cost = strike * np.exp(-RATE * years) * 0.5 * (1.0 + erf(d2 * half))
    return np.sum(gain - cost)


def black_scholes_adjoint(spot, strike, years, volatility):
    """The Greeks: delta, the strike's, theta and vega."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RATE + 0.5 * volatility**2) * years) / deviation
    first, second = (0.5 * (1.0 + erf(d / math.sqrt(2.0))) for d in (d1, d1 - deviation))
    density = np.exp(-0.5 * d1**2) / math.sqrt(2.0 * math.pi)
    discount = np.exp(-RATE * years)
    return (
        first,
        -discount * second,
        spot * density * volatility / (2.0 * np.sqrt(years)) + RATE * strike * discount * second,
        spot * density * np.sqrt(years),
    )


def black_scholes_arguments(n: int) -> tuple:
    rng = np.random.default_rng(1)
    return rng.uniform(80, 120, n), rng.uniform(80, 120, n), rng.uniform(0.2, 2, n), rng.uniform(0.1, 0.5, n)


GAMMA, DEGREES = 1.0, 0  # ADBench's Wishart prior


def gmm(alphas, means, icf, x):
    """ADBench's log-likelihood of a Gaussian mixture with a Wishart prior.

    `icf`: for each component the logarithms of the diagonal of its inverse Cholesky factor, then the entries below it,
    column by column. ADBench, objective GMM; constants that depend on sizes only are kept, as there.
    """
    n, d = x.shape
    k = len(alphas)
    diagonals = np.exp(icf[:, :d])
    log_determinants = np.sum(icf[:, :d], axis=1)
    below, place = lower_triangle(d)
    factors = np.where(np.eye(d, dtype=bool), diagonals[:, :, None], np.where(below, icf[:, place], 0.0))
    apart = x[:, None, :] - means
    scaled = np.einsum("kij,nkj->nki", factors, apart)
    terms = alphas + log_determinants - 0.5 * np.sum(scaled**2, axis=2)
    top = np.max(terms, axis=1)
    likelihood = np.sum(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))
    most = np.max(alphas)
    normalisation = n * (most + np.log(np.sum(np.exp(alphas - most))))
    squares = np.sum(diagonals**2) + np.sum(icf[:, d:] ** 2)
    prior = 0.5 * GAMMA**2 * squares - DEGREES * np.sum(log_determinants)
    return likelihood - normalisation + prior + gmm_constant(n, d, k)


def lower_triangle(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a d x d matrix is below its diagonal, and the column of `icf` that holds each such entry."""
    rows, columns = np.meshgrid(np.arange(d), np.arange(d), indexing="ij")
    below = rows > columns
    before = columns * d - columns * (columns + 1) // 2  # entries of the columns to the left
    return below, np.where(below, d + before + rows - columns - 1, 0)


def gmm_constant(n: int, d: int, k: int) -> float:
    wishart = d + DEGREES + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * wishart - 0.5 * j) for j in range(d))
    return -n * d * 0.5 * math.log(2 * math.pi) - k * (wishart * d * (math.log(GAMMA) - 0.5 * math.log(2)) - log_gamma)


def gmm_adjoint(alphas, means, icf, x):
    n, d = x.shape
    diagonals = np.exp(icf[:, :d])
    below, place = lower_triangle(d)
    factors = np.where(np.eye(d, dtype=bool), diagonals[:, :, None], np.where(below, icf[:, place], 0.0))
    apart = x[:, None, :] - means
    scaled = np.einsum("kij,nkj->nki", factors, apart, optimize=True)
    terms = alphas + np.sum(icf[:, :d], axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    weights = np.exp(terms - np.max(terms, axis=1, keepdims=True))
    weights /= np.sum(weights, axis=1, keepdims=True)
    share = np.exp(alphas - np.max(alphas))
    dscaled = -weights[:, :, None] * scaled
    dfactors = np.einsum("nki,nkj->kij", dscaled, apart, optimize=True)
    dmeans = -np.einsum("kij,nki->kj", factors, dscaled, optimize=True)
    dicf = GAMMA**2 * icf
    total = np.sum(weights, axis=0)
    dicf[:, :d] = np.einsum("kii->ki", dfactors) * diagonals + total[:, None] + GAMMA**2 * diagonals**2 - DEGREES
    rows, columns = np.nonzero(below)
    dicf[:, place[rows, columns]] += dfactors[:, rows, columns]
    return total - n * share / np.sum(share), dmeans, dicf


def gmm_arguments(n: int) -> tuple:
    """`n` points in 10 dimensions and 25 components; 3 and 2 for n < 32."""
    d, k = (10, 25) if n >= 32 else (3, 2)
    rng = np.random.default_rng(2)
    return rng.normal(size=k), rng.normal(size=(k, d)), rng.normal(size=(k, d * (d + 1) // 2)), rng.normal(size=(n, d))
