"""What an expert writes for value and gradient of the programs with loops: Numba, one thread, caches made in advance.

Each function takes the program's arguments, then the shadows of the active ones (overwritten), then its caches; it
leaves the arguments as the program does and returns the value. It has the licence that planned_ad has and no more:
sums may be reassociated and multiply-adds contracted, so that a division of the program stays one.

`HANDWRITTEN` are reversals of the programs' own statements. `INSIGHT` go further than a differentiator that keeps
results as they are may go, by mathematics that the program does not state: figures of interest only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .handwritten import compiled_loop, scalar_function
from .handwritten_stencils import gauss_seidel, gauss_seidel_reciprocal, jacobi_2d, weighted_sum
from .loop_programs import SOFTENING, LoopProgram
from .measure import zeros_like

exp, tanh = scalar_function("exp"), scalar_function("tanh")


@dataclass(frozen=True, kw_only=True)
class Handwritten:
    """A compiled adjoint. `caches`: the arrays that it needs besides, of the program's arguments."""

    function: Callable[..., float]
    caches: Callable[..., tuple] = lambda *arguments: ()


@dataclass(frozen=True, kw_only=True)
class Call:
    """What is called: `function(*arguments)` fills `shadows` and returns the value."""

    function: Callable[..., float]
    arguments: tuple
    shadows: tuple


def call_of(program: LoopProgram, size: int, table: dict[str, Handwritten] | None = None) -> Call:
    """The adjoint by hand of a program, on fresh arguments."""
    found = (HANDWRITTEN if table is None else table)[program.name]
    arguments = program.arguments(size)
    shadows = tuple(zeros_like(a) for k, a in enumerate(arguments) if k not in program.inactive)
    return Call(function=found.function, arguments=(*arguments, *shadows, *found.caches(*arguments)), shadows=shadows)


# Thomas: pivots and solution are intact; the factors and the right side after elimination are cached.


@compiled_loop
def thomas(below, diagonal, above, right, weights, da, db, dc, dd, factors, eliminated):
    n = right.shape[0]
    eliminated[0] = right[0]
    for i in range(1, n):
        factor = below[i] / diagonal[i - 1]
        diagonal[i] -= factor * above[i - 1]
        right[i] -= factor * right[i - 1]
        factors[i] = factor
        eliminated[i] = right[i]
    right[n - 1] /= diagonal[n - 1]
    value = weights[n - 1] * right[n - 1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1]) / diagonal[i]
        value += weights[i] * right[i]
    g = pull = 0.0
    for i in range(n - 1):
        g = (weights[i] - pull) * (1.0 / diagonal[i])
        pull = above[i] * g
        dd[i] = g
        db[i] = -g * right[i]
        dc[i] = -g * right[i + 1]
    g = (weights[n - 1] - pull) / diagonal[n - 1]
    diagonal_slope, right_slope = -g * right[n - 1], g
    dc[n - 1] = 0.0
    for i in range(n - 1, 0, -1):
        inverse = 1.0 / diagonal[i - 1]
        slope = -(diagonal_slope * above[i - 1] + right_slope * eliminated[i - 1])
        db[i] = diagonal_slope
        dd[i] = right_slope
        da[i] = slope * inverse
        dc[i - 1] -= factors[i] * diagonal_slope
        diagonal_slope = db[i - 1] - slope * (inverse * factors[i])
        right_slope = dd[i - 1] - factors[i] * right_slope
    da[0] = 0.0
    db[0] = diagonal_slope
    dd[0] = right_slope
    return value


@compiled_loop
def thomas_transposed(below, diagonal, above, right, weights, da, db, dc, dd, factors):
    """The shadow of the right side solves the transposed system, which the same pivots factor; the rest is products."""
    n = right.shape[0]
    for i in range(1, n):
        factor = below[i] / diagonal[i - 1]
        diagonal[i] -= factor * above[i - 1]
        right[i] -= factor * right[i - 1]
        factors[i] = factor
    right[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1]) / diagonal[i]
    pull = 0.0
    for i in range(n):
        g = (weights[i] - pull) * (1.0 / diagonal[i])
        pull = above[i] * g
        dd[i] = g
    for i in range(n - 2, -1, -1):
        g = dd[i] - factors[i + 1] * g
        dd[i] = g
    da[0] = 0.0
    dc[n - 1] = 0.0
    value = weights[0] * right[0]
    db[0] = -dd[0] * right[0]
    for i in range(1, n):
        value += weights[i] * right[i]
        db[i] = -dd[i] * right[i]
        da[i] = -dd[i] * right[i - 1]
        dc[i - 1] = -dd[i - 1] * right[i]
    return value


# Cholesky: every operand that the reverse sweep reads has its final value.


@compiled_loop
def dot_of_rows(a, i, j, count):
    total = 0.0
    for k in range(count):
        total += a[i, k] * a[j, k]
    return total


@compiled_loop
def factorise(a):
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] = (a[i, j] - dot_of_rows(a, i, j, j)) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - dot_of_rows(a, i, i, i))


@compiled_loop
def pull_element(a, da, i, j):
    """Through the division of a[i, j], which has its final value, by the diagonal; the shadow of the quotient's top."""
    g = da[i, j] / a[j, j]
    da[i, j] = g
    da[j, j] -= g * a[i, j]
    return g


@compiled_loop
def factorise_adjoint(a, da):
    """Two columns at a time, so that the row's shadow is loaded and stored half as often."""
    for i in range(a.shape[0] - 1, 0, -1):
        row, drow = a[i], da[i]
        g = drow[i] / (2.0 * row[i])
        drow[i] = g
        for k in range(i):
            drow[k] -= 2.0 * g * row[k]
        for j in range(i - 1, 0, -2):
            g = pull_element(a, da, i, j)
            drow[j - 1] -= g * a[j, j - 1]
            da[j, j - 1] -= g * row[j - 1]
            h = pull_element(a, da, i, j - 1)
            first, second, dfirst, dsecond = a[j], a[j - 1], da[j], da[j - 1]
            for k in range(j - 1):
                drow[k] -= g * first[k] + h * second[k]
                dfirst[k] -= g * row[k]
                dsecond[k] -= h * row[k]
        if i % 2 == 1:
            pull_element(a, da, i, 0)
    da[0, 0] /= 2.0 * a[0, 0]


@compiled_loop
def cholesky(a, weights, da):
    factorise(a)
    da[:, :] = weights
    factorise_adjoint(a, da)
    return weighted_sum(weights, a)


# LSTM: activations are cached, from which tanh and the sigmoid have their derivatives.


@compiled_loop
def add_outer(target, first, second):
    for k in range(first.size):
        for j in range(second.size):
            target[k, j] += first[k] * second[j]


@compiled_loop
def lstm_step(gates, cell, hidden, squashed, before):
    """Activate `gates` in place; the cell and hidden states; `squashed`: tanh of the cell."""
    n = cell.size
    for k in range(3 * n):
        gates[k] = 1.0 / (1.0 + exp(-gates[k]))
    for k in range(3 * n, 4 * n):
        gates[k] = tanh(gates[k])
    for k in range(n):
        cell[k] = gates[n + k] * before[k] + gates[k] * gates[3 * n + k]
    for k in range(n):
        squashed[k] = tanh(cell[k])
        hidden[k] = gates[2 * n + k] * squashed[k]


@compiled_loop
def lstm_step_adjoint(gates, squashed, before, dhidden, dcell, dgates):
    """`dcell` becomes that of the step before; `dgates` is that of the gates before activation."""
    n = before.size
    for k in range(n):
        take, keep, show, fresh = gates[k], gates[n + k], gates[2 * n + k], gates[3 * n + k]
        dc = dcell[k] + dhidden[k] * show * (1.0 - squashed[k] * squashed[k])
        dgates[k] = dc * fresh * take * (1.0 - take)
        dgates[n + k] = dc * before[k] * keep * (1.0 - keep)
        dgates[2 * n + k] = dhidden[k] * squashed[k] * show * (1.0 - show)
        dgates[3 * n + k] = dc * take * (1.0 - fresh * fresh)
        dcell[k] = dc * keep


@compiled_loop
def lstm(inputs, targets, wx, wh, bias, dwx, dwh, dbias, gates, cells, hiddens, squashed, dgates, dhidden, dcell):
    """States have one row more than there are steps: row 0 is the state at the beginning, zero."""
    steps, n = targets.shape
    now = dgates[0]
    loss = 0.0
    for t in range(steps):
        np.dot(inputs[t], wx, gates[t])
        np.dot(hiddens[t], wh, now)
        for k in range(4 * n):
            gates[t, k] += now[k] + bias[k]
        lstm_step(gates[t], cells[t + 1], hiddens[t + 1], squashed[t], cells[t])
        for k in range(n):
            loss += (hiddens[t + 1, k] - targets[t, k]) ** 2
    dwx[:] = 0.0
    dwh[:] = 0.0
    dbias[:] = 0.0
    dhidden[:] = 0.0
    dcell[:] = 0.0
    for t in range(steps - 1, -1, -1):
        for k in range(n):
            dhidden[k] += 2.0 * (hiddens[t + 1, k] - targets[t, k])
        lstm_step_adjoint(gates[t], squashed[t], cells[t], dhidden, dcell, now)
        np.dot(wh, now, dhidden)
        add_outer(dwx, inputs[t], now)
        add_outer(dwh, hiddens[t], now)
        for k in range(4 * n):
            dbias[k] += now[k]
    return loss


@compiled_loop
def lstm_batched(
    inputs, targets, wx, wh, bias, dwx, dwh, dbias, gates, cells, hiddens, squashed, dgates, dhidden, dcell
):
    """The products that do not depend on the state, over all steps at once."""
    steps, n = targets.shape
    loss = 0.0
    np.dot(inputs, wx, gates)
    for t in range(steps):
        np.dot(hiddens[t], wh, dgates[0])
        for k in range(4 * n):
            gates[t, k] += dgates[0, k] + bias[k]
        lstm_step(gates[t], cells[t + 1], hiddens[t + 1], squashed[t], cells[t])
        for k in range(n):
            loss += (hiddens[t + 1, k] - targets[t, k]) ** 2
    dbias[:] = 0.0
    dhidden[:] = 0.0
    dcell[:] = 0.0
    for t in range(steps - 1, -1, -1):
        for k in range(n):
            dhidden[k] += 2.0 * (hiddens[t + 1, k] - targets[t, k])
        lstm_step_adjoint(gates[t], squashed[t], cells[t], dhidden, dcell, dgates[t])
        np.dot(wh, dgates[t], dhidden)
        for k in range(4 * n):
            dbias[k] += dgates[t, k]
    np.dot(inputs.T, dgates, dwx)
    np.dot(hiddens[:steps].T, dgates, dwh)
    return loss


def lstm_caches(inputs, targets, *weights) -> tuple:
    steps, n = targets.shape
    return (
        np.zeros((steps, 4 * n)),
        np.zeros((steps + 1, n)),
        np.zeros((steps + 1, n)),
        np.zeros((steps, n)),
        np.zeros((steps, 4 * n)),
        np.zeros(n),
        np.zeros(n),
    )


# n-body: forward and reverse of a pair in one go, over coordinates that lie one after the other.


@compiled_loop
def n_body(x, v, m, dx, dv, dm, places, pulls):
    n = m.size
    energy = 0.0
    for i in range(n):
        for c in range(3):
            places[c, i] = x[i, c]
            pulls[c, i] = 0.0
        dm[i] = 0.0
    px, py, pz = places[0], places[1], places[2]
    gx, gy, gz = pulls[0], pulls[1], pulls[2]
    for i in range(n):
        square = v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2
        for c in range(3):
            dv[i, c] = m[i] * v[i, c]
        energy += 0.5 * m[i] * square
        xi, yi, zi, mi = px[i], py[i], pz[i], m[i]
        sum_x = sum_y = sum_z = potential = 0.0
        for j in range(i):
            ax, ay, az = xi - px[j], yi - py[j], zi - pz[j]
            inverse = 1.0 / np.sqrt(ax * ax + ay * ay + az * az + SOFTENING)
            potential += m[j] * inverse
            dm[j] -= mi * inverse
            pull = mi * m[j] * inverse * inverse * inverse
            sum_x += pull * ax
            sum_y += pull * ay
            sum_z += pull * az
            gx[j] -= pull * ax
            gy[j] -= pull * ay
            gz[j] -= pull * az
        energy -= mi * potential
        dm[i] += 0.5 * square - potential
        gx[i] += sum_x
        gy[i] += sum_y
        gz[i] += sum_z
    for i in range(n):
        for c in range(3):
            dx[i, c] = pulls[c, i]
    return energy


# The iterated map: one scalar is cached per step.


@compiled_loop
def iterated_map(steps, parameters, dparameters, states):
    y, rate = parameters[0], parameters[1]
    for k in range(steps):
        states[k] = y
        y = rate * y * (1.0 - y)
    g, drate = 1.0, 0.0
    for k in range(steps - 1, -1, -1):
        y_before = states[k]
        drate += g * (y_before * (1.0 - y_before))
        g *= rate * (1.0 - 2.0 * y_before)
    dparameters[0] = g
    dparameters[1] = drate
    return y


HANDWRITTEN: dict[str, Handwritten] = {
    "jacobi_2d": Handwritten(
        function=jacobi_2d, caches=lambda steps, a, b, weights: (np.zeros_like(a), np.zeros_like(a))
    ),
    "gauss_seidel": Handwritten(function=gauss_seidel, caches=lambda steps, a, weights: (np.zeros(a.shape[1] + 2),)),
    "thomas": Handwritten(
        function=thomas, caches=lambda *arguments: (np.zeros_like(arguments[0]), np.zeros_like(arguments[0]))
    ),
    "cholesky": Handwritten(function=cholesky),
    "lstm": Handwritten(function=lstm, caches=lstm_caches),
    "n_body": Handwritten(function=n_body, caches=lambda x, v, m: (np.zeros((3, len(m))), np.zeros((3, len(m))))),
    "iterated_map": Handwritten(function=iterated_map, caches=lambda steps, parameters: (np.zeros(steps),)),
}

INSIGHT: dict[str, Handwritten] = {
    "gauss_seidel": Handwritten(function=gauss_seidel_reciprocal, caches=HANDWRITTEN["gauss_seidel"].caches),
    "thomas": Handwritten(function=thomas_transposed, caches=lambda *arguments: (np.zeros_like(arguments[0]),)),
    "lstm": Handwritten(function=lstm_batched, caches=lstm_caches),
}
