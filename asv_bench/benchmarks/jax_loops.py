"""The programs with loops as a user of JAX has to write them: scans, functional updates, whole rows where they can be.

`JAX[name]` lists every way that was worth a try; a comparison takes the fastest. Arguments and results are those of
`loop_programs`. Only a process that measures JAX calls these functions: importing this module does not import JAX.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .loop_programs import SOFTENING, LoopProgram


def jacobi_2d(steps, a, b, weights):
    from jax import lax

    def smooth(old, new):
        mean = 0.2 * (old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1])
        return new.at[1:-1, 1:-1].set(mean)

    def step(_, state):
        a, b = state
        b = smooth(a, b)
        return smooth(b, a), b

    a, b = lax.fori_loop(0, steps, step, (a, b))
    return (weights * a).sum()


def jacobi_2d_padded(steps, a, b, weights):
    """The edges are put around the new inner part, in place of an update."""
    from jax import lax
    from jax import numpy as jnp

    def smooth(old, new):
        mean = 0.2 * (old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1])
        middle = jnp.concatenate([new[1:-1, :1], mean, new[1:-1, -1:]], axis=1)
        return jnp.concatenate([new[:1], middle, new[-1:]])

    def step(_, state):
        a, b = state
        b = smooth(a, b)
        return smooth(b, a), b

    a, b = lax.fori_loop(0, steps, step, (a, b))
    return (weights * a).sum()


def gauss_seidel_with(along_row: Callable) -> Callable:
    """`along_row(first, line)`: x[j] = (line[j] + x[j - 1]) / 9 with x[-1] = first."""

    def gauss_seidel(steps, a, weights):
        from jax import lax
        from jax import numpy as jnp

        def row(above, rows):
            here, below = rows
            line = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:] + below[:-2] + below[1:-1] + below[2:]
            here = jnp.concatenate([here[:1], along_row(here[0], line), here[-1:]])
            return here, here

        def step(_, a):
            _, inner = lax.scan(row, a[0], (a[1:-1], a[2:]))
            return jnp.concatenate([a[:1], inner, a[-1:]])

        return (weights * lax.fori_loop(0, steps, step, a)).sum()

    return gauss_seidel


def along_row_in_turn(first, line):
    from jax import lax

    def element(last, t):
        last = (t + last) / 9.0
        return last, last

    return lax.scan(element, first, line)[1]


def along_row_by_halves(first, line):
    """An associative scan of the maps x -> factor x + shift."""
    from jax import lax
    from jax import numpy as jnp

    def after(one, other):
        return one[0] * other[0], one[1] * other[0] + other[1]

    factors, shifts = lax.associative_scan(after, (jnp.full_like(line, 1.0 / 9.0), line / 9.0))
    return factors * first + shifts


def along_row_by_product(first, line):
    """The triangular matrix of powers of 1/9."""
    from jax import numpy as jnp

    k = np.arange(line.shape[0])
    apart = k[:, None] - k[None, :]
    powers = np.where(apart >= 0, 9.0 ** -(np.maximum(apart, 0) + 1.0), 0.0)
    return jnp.asarray(powers) @ line + first * jnp.asarray(powers[:, 0])


def thomas(below, diagonal, above, right, weights):
    from jax import lax
    from jax import numpy as jnp

    def eliminate(last, row):
        a, b, c, d = row
        pivot, shift, c_before = last
        factor = a / pivot
        pivot, shift = b - factor * c_before, d - factor * shift
        return (pivot, shift, c), (pivot, shift)

    def substitute(x, row):
        pivot, c, d = row
        x = (d - c * x) / pivot
        return x, x

    first = diagonal[0], right[0], above[0]
    _, (pivots, shifts) = lax.scan(eliminate, first, (below[1:], diagonal[1:], above[1:], right[1:]))
    pivots = jnp.concatenate([diagonal[:1], pivots])
    shifts = jnp.concatenate([right[:1], shifts])
    last = shifts[-1] / pivots[-1]
    _, x = lax.scan(substitute, last, (pivots[:-1], above[:-1], shifts[:-1]), reverse=True)
    return (weights[:-1] * x).sum() + weights[-1] * last


def thomas_library(below, diagonal, above, right, weights):
    """LAPACK's solver, with pivoting; the lower and upper diagonals need zeros at their ends."""
    from jax import lax

    x = lax.linalg.tridiagonal_solve(below.at[0].set(0.0), diagonal, above.at[-1].set(0.0), right[:, None])
    return (weights * x[:, 0]).sum()


def cholesky(a, weights):
    """Column by column: what is left gets a masked outer product."""
    from jax import lax
    from jax import numpy as jnp

    n = a.shape[0]
    rows = jnp.arange(n)

    def column(rest, k):
        line = jnp.where(rows >= k, rest[:, k] / jnp.sqrt(rest[k, k]), 0.0)
        return rest - line[:, None] * line[None, :], line

    _, lines = lax.scan(column, jnp.tril(a) + jnp.tril(a, -1).T, rows)
    return (weights * (lines.T + jnp.triu(a, 1))).sum()


def cholesky_library(a, weights):
    """LAPACK's factor of the matrix that the lower triangle stands for."""
    from jax import numpy as jnp

    symmetric = jnp.tril(a) + jnp.tril(a, -1).T
    return (weights * (jnp.linalg.cholesky(symmetric) + jnp.triu(a, 1))).sum()


def lstm(inputs, targets, input_weights, hidden_weights, bias):
    from jax import lax, nn
    from jax import numpy as jnp

    n = targets.shape[1]

    def step(state, row):
        hidden, cell, loss = state
        x, target = row
        gates = x @ input_weights + hidden @ hidden_weights + bias
        take, keep, show = nn.sigmoid(gates[:n]), nn.sigmoid(gates[n : 2 * n]), nn.sigmoid(gates[2 * n : 3 * n])
        cell = keep * cell + take * jnp.tanh(gates[3 * n :])
        hidden = show * jnp.tanh(cell)
        return (hidden, cell, loss + ((hidden - target) ** 2).sum()), None

    return lax.scan(step, (jnp.zeros(n), jnp.zeros(n), 0.0), (inputs, targets))[0][2]


def lstm_batched(inputs, targets, input_weights, hidden_weights, bias):
    """What does not depend on the state leaves the scan."""
    from jax import lax, nn
    from jax import numpy as jnp

    n = targets.shape[1]

    def step(state, from_input):
        hidden, cell = state
        gates = from_input + hidden @ hidden_weights
        take, keep, show = nn.sigmoid(gates[:n]), nn.sigmoid(gates[n : 2 * n]), nn.sigmoid(gates[2 * n : 3 * n])
        cell = keep * cell + take * jnp.tanh(gates[3 * n :])
        hidden = show * jnp.tanh(cell)
        return (hidden, cell), hidden

    _, hidden = lax.scan(step, (jnp.zeros(n), jnp.zeros(n)), inputs @ input_weights + bias)
    return ((hidden - targets) ** 2).sum()


def n_body(x, v, m):
    """All pairs as a masked matrix."""
    from jax import numpy as jnp

    apart = x[:, None, :] - x[None, :, :]
    inverse = 1.0 / jnp.sqrt((apart**2).sum(axis=2) + SOFTENING)
    potential = (jnp.tril(m[:, None] * m[None, :], -1) * inverse).sum()
    return 0.5 * (m * (v**2).sum(axis=1)).sum() - potential


def n_body_by_coordinate(x, v, m):
    """Without an axis of length three inside."""
    from jax import numpy as jnp

    squared = sum((x[:, c][:, None] - x[:, c][None, :]) ** 2 for c in range(3)) + SOFTENING
    weighted = jnp.tril(m[:, None] * m[None, :], -1) / jnp.sqrt(squared)
    return 0.5 * (m * (v**2).sum(axis=1)).sum() - weighted.sum()


def iterated_map_with(unroll: int) -> Callable:
    def iterated_map(steps, parameters):
        from jax import lax

        rate = parameters[1]

        def step(y, _):
            return rate * y * (1.0 - y), None

        return lax.scan(step, parameters[0], None, length=steps, unroll=unroll)[0]

    return iterated_map


JAX: dict[str, tuple[Callable, ...]] = {
    "jacobi_2d": (jacobi_2d, jacobi_2d_padded),
    "gauss_seidel": tuple(
        gauss_seidel_with(along_row) for along_row in (along_row_in_turn, along_row_by_halves, along_row_by_product)
    ),
    "thomas": (thomas, thomas_library),
    "cholesky": (cholesky, cholesky_library),
    "lstm": (lstm, lstm_batched),
    "n_body": (n_body, n_body_by_coordinate),
    "iterated_map": (iterated_map_with(1), iterated_map_with(8)),
}


def value_and_gradient(program: LoopProgram, function: Callable) -> Callable:
    """Jitted, of the program's arguments; an argument that is an integer is static."""
    import jax

    arguments = program.arguments(program.small)
    active = tuple(k for k in range(len(arguments)) if k not in program.inactive)
    static = tuple(k for k, a in enumerate(arguments) if isinstance(a, int))
    return jax.jit(jax.value_and_grad(function, argnums=active), static_argnums=static)


def calls(program: LoopProgram, size: int) -> list[Callable[[], tuple]]:
    """Every way, on arrays that are JAX's own already; each call waits for its result."""
    import jax

    arguments = tuple(a if isinstance(a, int) else jax.device_put(a) for a in program.arguments(size))

    def waiting(derivative: Callable) -> Callable[[], tuple]:
        return lambda: jax.block_until_ready(derivative(*arguments))

    return [waiting(value_and_gradient(program, function)) for function in JAX[program.name]]
