"""The programs of `c_programs/models.c` in NumPy, each in several natural ways."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import logsumexp

import planned_ad

from .models import gmm as gmm_einsum
from .models import gmm_constant, lower_triangle

# Gaussian mixture with a Wishart prior.


def posterior(terms, alphas, icf, d):
    """Of what each point is told by each component."""
    n, k = terms.shape
    squares = np.sum(np.exp(icf[:, :d]) ** 2) + np.sum(icf[:, d:] ** 2)
    likelihood = np.sum(logsumexp(terms, axis=1)) - n * logsumexp(alphas)
    return likelihood + 0.5 * squares + gmm_constant(n, d, k)


def gmm_matmul(alphas, means, icf, x):
    """Stacks of matrices."""
    (k, d), below = means.shape, np.tril_indices(x.shape[1], -1)
    factors = np.zeros((k, d, d))
    factors[:, below[0], below[1]] = icf[:, lower_triangle(d)[1][below]]
    factors[:, np.arange(d), np.arange(d)] = np.exp(icf[:, :d])
    scaled = (x - means[:, None, :]) @ factors.transpose(0, 2, 1)
    terms = alphas + np.sum(icf[:, :d], axis=1) - 0.5 * np.sum(scaled**2, axis=2).T
    return posterior(terms, alphas, icf, d)


def gmm_components(alphas, means, icf, x):
    """One component after the other."""
    (n, d), k = x.shape, len(alphas)
    below, place = lower_triangle(d)
    terms = np.empty((n, k))
    for c in range(k):
        factor = np.where(below, icf[c, place], 0.0) + np.diag(np.exp(icf[c, :d]))
        scaled = (x - means[c]) @ factor.T
        terms[:, c] = alphas[c] + np.sum(icf[c, :d]) - 0.5 * np.sum(scaled**2, axis=1)
    return posterior(terms, alphas, icf, d)


def gmm_points(alphas, means, icf, x):
    """One point after the other."""
    (n, d), k = x.shape, len(alphas)
    below, place = lower_triangle(d)
    factors = np.where(below, icf[:, place], 0.0)
    diagonals, sums = np.exp(icf[:, :d]), np.sum(icf[:, :d], axis=1)
    total = 0.0
    for i in range(n):
        apart = x[i] - means
        scaled = diagonals * apart + np.einsum("kij,kj->ki", factors, apart)
        terms = alphas + sums - 0.5 * np.sum(scaled**2, axis=1)
        total += logsumexp(terms)
    squares = np.sum(diagonals**2) + np.sum(icf[:, d:] ** 2)
    return total - n * logsumexp(alphas) + 0.5 * squares + gmm_constant(n, d, k)


def gmm_loops(alphas, means, icf, x):
    """Loops over numbers, as in C."""
    (n, d), k = x.shape, len(alphas)
    diagonals = np.exp(icf[:, :d])
    terms, scaled = np.empty((n, k)), np.empty(d)
    for p in range(n):
        for c in range(k):
            for i in range(d):
                scaled[i] = diagonals[c, i] * (x[p, i] - means[c, i])
            place = d
            for i in range(d):
                for j in range(i + 1, d):
                    scaled[j] += icf[c, place] * (x[p, i] - means[c, i])
                    place += 1
            square = total = 0.0
            for i in range(d):
                square += scaled[i] ** 2
                total += icf[c, i]
            terms[p, c] = alphas[c] + total - 0.5 * square
    return posterior(terms, alphas, icf, d)


GMM = {
    "einsum": gmm_einsum,
    "matmul": gmm_matmul,
    "components": gmm_components,
    "points": gmm_points,
    "loops": gmm_loops,
}

# LSTM. `main`: for each layer weights and biases of four gates; `state`: hidden and cell of each layer.


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gates(weight, bias, x, hidden, cell):
    """Hidden and cell after a step; forget, in, out and change lie side by side in `weight` and `bias`."""
    n = len(cell)
    forget = sigmoid(x * weight[:n] + bias[:n])
    ingate = sigmoid(hidden * weight[n : 2 * n] + bias[n : 2 * n])
    outgate = sigmoid(x * weight[2 * n : 3 * n] + bias[2 * n : 3 * n])
    change = np.tanh(hidden * weight[3 * n :] + bias[3 * n :])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def lstm_rows(main, extra, state, sequence):
    """The state is an array that is written to."""
    state, total = state.copy(), 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for k in range(0, len(main), 2):
            state[k], state[k + 1] = gates(main[k], main[k + 1], x, state[k], state[k + 1])
            x = state[k]
        y = x * extra[1] + extra[2]
        total += np.sum(sequence[t + 1] * (y - np.log(2.0 + np.sum(np.exp(y)))))
    return -total / sequence[1:].size


def lstm_lists(main, extra, state, sequence):
    """The state is a list of arrays; all predictions are judged together."""
    hidden, cell = list(state[::2]), list(state[1::2])
    found = []
    for x in sequence[:-1]:
        x = x * extra[0]
        for k in range(len(hidden)):
            x, cell[k] = gates(main[2 * k], main[2 * k + 1], x, hidden[k], cell[k])
            hidden[k] = x
        found.append(x)
    y = np.array(found) * extra[1] + extra[2]
    y = y - np.log(2.0 + np.sum(np.exp(y), axis=1, keepdims=True))
    return -np.mean(sequence[1:] * y)


def lstm_stacked(main, extra, state, sequence):
    """The four gates are rows of one array."""
    layers, b = len(main) // 2, state.shape[1]
    weights, biases = main[::2].reshape(layers, 4, b), main[1::2].reshape(layers, 4, b)
    hidden, cell, total = state[::2].copy(), state[1::2].copy(), 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for k in range(layers):
            inner = np.stack([x, hidden[k], x, hidden[k]]) * weights[k] + biases[k]
            forget, ingate, outgate = sigmoid(inner[:3])
            cell[k] = cell[k] * forget + ingate * np.tanh(inner[3])
            hidden[k] = x = outgate * np.tanh(cell[k])
        y = x * extra[1] + extra[2]
        total += sequence[t + 1] @ (y - np.log(2.0 + np.sum(np.exp(y))))
    return -total / sequence[1:].size


def lstm_loops(main, extra, state, sequence):
    """Loops over numbers, as in C."""
    (count, b), layers, state, total = sequence.shape, len(main) // 2, state.copy(), 0.0
    y = np.zeros(b)
    for t in range(count - 1):
        for i in range(b):
            x = sequence[t, i] * extra[0, i]
            for k in range(layers):
                weight, bias, hidden = main[2 * k], main[2 * k + 1], state[2 * k, i]
                forget = sigmoid(x * weight[i] + bias[i])
                ingate = sigmoid(hidden * weight[b + i] + bias[b + i])
                outgate = sigmoid(x * weight[2 * b + i] + bias[2 * b + i])
                change = np.tanh(hidden * weight[3 * b + i] + bias[3 * b + i])
                state[2 * k + 1, i] = state[2 * k + 1, i] * forget + ingate * change
                x = outgate * np.tanh(state[2 * k + 1, i])
                state[2 * k, i] = x
            y[i] = x * extra[1, i] + extra[2, i]
        powers = 2.0
        for i in range(b):
            powers += np.exp(y[i])
        for i in range(b):
            total += sequence[t + 1, i] * (y[i] - np.log(powers))
    return -total / (b * (count - 1))


LSTM = {"rows": lstm_rows, "lists": lstm_lists, "stacked": lstm_stacked, "loops": lstm_loops}

# Bundle adjustment: cameras (rotation 3, centre 3, focal length, principal point 2, distortion 2) and points, both of
# each observation side by side.


def pixels(cameras, local):
    """Where points appear that lie at `local` before their cameras."""
    flat = local[:, :2] / local[:, 2:]
    square = np.sum(flat**2, axis=1, keepdims=True)
    stretch = 1.0 + cameras[:, 9:10] * square + cameras[:, 10:] * square**2
    return flat * stretch * cameras[:, 6:7] + cameras[:, 7:9]


def reprojection_cross(cameras, points, weights, features):
    """Rodrigues' formula with a cross product."""
    rotation, x = cameras[:, :3], points - cameras[:, 3:6]
    angle = np.linalg.norm(rotation, axis=1, keepdims=True)
    axis = rotation / angle
    along = np.sum(axis * x, axis=1, keepdims=True)
    local = x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * along * (1.0 - np.cos(angle))
    return weights[:, None] * (pixels(cameras, local) - features)


def reprojection_matrices(cameras, points, weights, features):
    """A matrix for each rotation: I + sin K + (1 - cos) K K."""
    angle = np.sqrt(np.sum(cameras[:, :3] ** 2, axis=1))
    turn = np.zeros((len(cameras), 3, 3))
    for i, j, k in (0, 1, 2), (1, 2, 0), (2, 0, 1):
        turn[:, i, j] = -cameras[:, k] / angle
        turn[:, j, i] = cameras[:, k] / angle
    sin, rest = np.sin(angle)[:, None, None], 1.0 - np.cos(angle)[:, None, None]
    matrices = np.eye(3) + sin * turn + rest * (turn @ turn)
    local = np.einsum("nij,nj->ni", matrices, points - cameras[:, 3:6])
    return weights[:, None] * (pixels(cameras, local) - features)


def reprojection_columns(cameras, points, weights, features):
    """One array for each coordinate."""
    r0, r1, r2, c0, c1, c2, focal, p0, p1, k1, k2 = cameras.T
    angle = np.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
    a, b, c = r0 / angle, r1 / angle, r2 / angle
    x, y, z = points[:, 0] - c0, points[:, 1] - c1, points[:, 2] - c2
    cos, sin = np.cos(angle), np.sin(angle)
    along = (a * x + b * y + c * z) * (1.0 - cos)
    depth = z * cos + (a * y - b * x) * sin + c * along
    u = (x * cos + (b * z - c * y) * sin + a * along) / depth
    v = (y * cos + (c * x - a * z) * sin + b * along) / depth
    square = u * u + v * v
    stretch = focal * (1.0 + k1 * square + k2 * square * square)
    return np.stack(
        [weights * (u * stretch + p0 - features[:, 0]), weights * (v * stretch + p1 - features[:, 1])], axis=1
    )


def reprojection_loop(cameras, points, weights, features):
    """One observation after the other."""
    found = np.empty((len(weights), 2))
    for i in range(len(weights)):
        rotation, centre = cameras[i, :3], cameras[i, 3:6]
        angle = math.sqrt(rotation @ rotation)
        axis, x = rotation / angle, points[i] - centre
        turned = x * math.cos(angle) + np.cross(axis, x) * math.sin(angle)
        local = turned + axis * (axis @ x) * (1.0 - math.cos(angle))
        flat = local[:2] / local[2]
        square = flat @ flat
        stretch = 1.0 + cameras[i, 9] * square + cameras[i, 10] * square**2
        found[i] = weights[i] * (flat * stretch * cameras[i, 6] + cameras[i, 7:9] - features[i])
    return found


REPROJECTIONS = {
    "np.cross": reprojection_cross,
    "matrices": reprojection_matrices,
    "columns": reprojection_columns,
    "loop": reprojection_loop,
}


def ba_loss(cameras, points, weights, observations, features, *, reprojection):
    """Half the sum of the squares of all residuals."""
    first = reprojection(cameras[observations[:, 0]], points[observations[:, 1]], weights, features)
    return 0.5 * (np.sum(first**2) + np.sum((1.0 - weights**2) ** 2))


def ba_jacobian(cameras, points, weights, observations, features, *, reprojection):
    """Residuals, both rows of each observation's Jacobian, and the derivative of the residual of its weight."""
    residuals, pullback = planned_ad.vjp(lambda c, x, w: reprojection(c, x, w, features), (0, 1, 2))(
        cameras[observations[:, 0]], points[observations[:, 1]], weights
    )
    found = np.empty((len(weights), 2, 15))
    for k in range(2):
        which = np.zeros((len(weights), 2))
        which[:, k] = 1.0
        found[:, k, :11], found[:, k, 11:14], found[:, k, 14] = pullback(which)
    return residuals, 1.0 - weights**2, found, -2.0 * weights


BA = {name: functools.partial(ba_loss, reprojection=one) for name, one in REPROJECTIONS.items()}
BA_JACOBIANS = {name: functools.partial(ba_jacobian, reprojection=one) for name, one in REPROJECTIONS.items()}
