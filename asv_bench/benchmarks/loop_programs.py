"""Programs with Python loops over in-place updates, as people write them: what loops are measured on.

`LOOPS[name]` has all that a benchmark needs; `COMPARED` names those that are compared with a hand-written adjoint. The
adjoints are in `handwritten_loops.py`, what a JAX user has to write instead in `jax_loops.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .programs import Program

SOFTENING = 1e-4


@dataclass(frozen=True, kw_only=True)
class LoopProgram(Program):
    """A program whose adjoint by hand is compiled.

    Attributes
    ----------
    written : tuple of int
        Positions of the arguments that the function writes to: a benchmark restores them before each call.
    """

    written: tuple[int, ...] = ()
    adjoint: None = None
    peers: bool = False


def jacobi_2d(steps, a, b, weights):
    """NPBench's jacobi_2d."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(weights * a)


def jacobi_2d_arguments(n: int) -> tuple:
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return 50 if n >= 32 else 3, i * (j + 2.0) / n, i * (j + 3.0) / n, np.cos(i + 2.0 * j)


def gauss_seidel(steps, a, weights):
    """NPBench's seidel_2d: a row at once, then along the row one element after the other."""
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return np.sum(weights * a)


def gauss_seidel_arguments(n: int) -> tuple:
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return 15 if n >= 32 else 3, (i * (j + 2.0) + 2.0) / n, np.cos(i + 2.0 * j)


def thomas(below, diagonal, above, right, weights):
    """A tridiagonal system solved in place: `right` becomes the solution, `diagonal` the pivots."""
    n = len(right)
    for i in range(1, n):
        factor = below[i] / diagonal[i - 1]
        diagonal[i] -= factor * above[i - 1]
        right[i] -= factor * right[i - 1]
    right[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1]) / diagonal[i]
    return np.sum(weights * right)


def thomas_arguments(n: int) -> tuple:
    k = np.arange(n)
    return np.sin(k), 3.0 + 0.5 * np.cos(k), np.cos(2.0 * k), np.sin(3.0 * k), np.cos(k + 1.0)


def cholesky(a, weights):
    """NPBench's cholesky: the lower triangle becomes the factor."""
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(weights * a)


def cholesky_arguments(n: int) -> tuple:
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return np.exp(-np.abs(i - j) / 5.0) + np.eye(n), np.cos(i + 2.0 * j)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(inputs, targets, input_weights, hidden_weights, bias):
    """Squared error of the hidden states of an LSTM cell over a sequence."""
    steps, n = targets.shape
    hidden = np.zeros(n)
    cell = np.zeros(n)
    loss = 0.0
    for t in range(steps):
        gates = inputs[t] @ input_weights + hidden @ hidden_weights + bias
        take = sigmoid(gates[:n])
        keep = sigmoid(gates[n : 2 * n])
        show = sigmoid(gates[2 * n : 3 * n])
        cell = keep * cell + take * np.tanh(gates[3 * n :])
        hidden = show * np.tanh(cell)
        loss += np.sum((hidden - targets[t]) ** 2)
    return loss


def lstm_arguments(steps: int) -> tuple:
    """64 features and 64 hidden units; 3 and 2 for fewer than 32 steps."""
    features, hidden = (64, 64) if steps >= 32 else (3, 2)
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(steps, features)),
        rng.normal(size=(steps, hidden)),
        rng.normal(size=(features, 4 * hidden)) / math.sqrt(features),
        rng.normal(size=(hidden, 4 * hidden)) / math.sqrt(hidden),
        rng.normal(size=4 * hidden),
    )


def n_body(x, v, m):
    """Kinetic and potential energy, pair by pair."""
    energy = 0.0
    for i in range(len(m)):
        energy += 0.5 * m[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        for j in range(i):
            dx = x[i, 0] - x[j, 0]
            dy = x[i, 1] - x[j, 1]
            dz = x[i, 2] - x[j, 2]
            energy -= m[i] * m[j] / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
    return energy


def n_body_arguments(n: int) -> tuple:
    k = np.arange(3 * n)
    x, v = 0.5 * np.sin(k) + 0.01 * k, 0.1 * np.cos(k)
    return x.reshape(n, 3), v.reshape(n, 3), 1.0 + 0.1 * np.sin(np.arange(n))


def iterated_map(steps, parameters):
    """The logistic map from `parameters[0]` with the rate `parameters[1]`."""
    y = parameters[0]
    rate = parameters[1]
    for _ in range(steps):
        y = rate * y * (1.0 - y)
    return y


def iterated_map_arguments(steps: int) -> tuple:
    """At rate 3 the derivative neither grows nor vanishes: no overflow, and no denormal numbers that cost time."""
    return steps, np.array([0.3, 3.0])


def reaction(steps, u, weights):
    """Explicit steps of a nonlinear diffusion on 64 points: each step's state has to be kept, or computed again."""
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) + 0.01 * u[1:-1] * (1.0 - u[1:-1] * u[1:-1])
    return np.sum(weights * u)


def reaction_arguments(steps: int) -> tuple:
    k = np.arange(64 if steps >= 32 else 6)
    return steps, 0.5 * np.sin(k), np.cos(k)


LIST = [
    LoopProgram(
        name="jacobi_2d",
        function=jacobi_2d,
        arguments=jacobi_2d_arguments,
        size=150,
        small=6,
        inactive=(0, 3),
        written=(1, 2),
    ),
    LoopProgram(
        name="gauss_seidel",
        function=gauss_seidel,
        arguments=gauss_seidel_arguments,
        size=100,
        small=6,
        inactive=(0, 2),
        written=(1,),
    ),
    LoopProgram(
        name="thomas",
        function=thomas,
        arguments=thomas_arguments,
        size=10_000,
        small=7,
        inactive=(4,),
        written=(1, 3),
    ),
    LoopProgram(
        name="cholesky",
        function=cholesky,
        arguments=cholesky_arguments,
        size=300,
        small=6,
        inactive=(1,),
        written=(0,),
    ),
    LoopProgram(name="lstm", function=lstm, arguments=lstm_arguments, size=100, small=4, inactive=(0, 1)),
    LoopProgram(name="n_body", function=n_body, arguments=n_body_arguments, size=200, small=5),
    LoopProgram(
        name="iterated_map",
        function=iterated_map,
        arguments=iterated_map_arguments,
        size=10**6,
        small=8,
        inactive=(0,),
    ),
    LoopProgram(
        name="reaction",
        function=reaction,
        arguments=reaction_arguments,
        size=10_000,
        small=6,
        inactive=(0, 2),
        written=(1,),
    ),
]

LOOPS: dict[str, LoopProgram] = {program.name: program for program in LIST}
COMPARED = tuple(name for name in LOOPS if name != "reaction")
