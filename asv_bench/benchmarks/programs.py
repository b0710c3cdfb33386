"""The benchmark programs: ordinary NumPy functions, their arguments, and their adjoints written by hand.

`PROGRAMS[name]` has all that a benchmark needs. Definitions of the small ones are in this file; those of models from
statistics, finance and physics in `models.py` and `physics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from . import models, physics


@dataclass(frozen=True, kw_only=True)
class Program:
    """A function, its arguments, and the truth about its derivative.

    Attributes
    ----------
    function : callable
    arguments : callable
        `arguments(size)` makes a fresh tuple of arguments.
    adjoint : callable or None
        `adjoint(*arguments)`, at arguments not yet written to: a tuple with the derivative of each active argument.
    size : int
        For benchmarks.
    small : int
        For tests against finite differences.
    inactive : tuple of int
        Positions of data arguments.
    cotangents : callable or None
        `cotangents(size)` for a function that returns arrays: what its pullback is given.
    peers : bool
        Whether it runs with another array module in NumPy's place: no writes into arrays.
    """

    name: str
    function: Callable
    arguments: Callable[[int], tuple]
    adjoint: Callable | None
    size: int
    small: int
    inactive: tuple[int, ...] = ()
    cotangents: Callable[[int], tuple] | None = None
    peers: bool = True


def rosenbrock_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_adjoint(x):
    dx = np.zeros_like(x)
    off = x[1:] - x[:-1] ** 2
    dx[1:] += 200.0 * off
    dx[:-1] -= 400.0 * off * x[:-1] + 2.0 * (1.0 - x[:-1])
    return (dx,)


def sin_exp(x):
    return np.sum(np.sin(x) * np.exp(-x * x))


def sin_exp_adjoint(x):
    return (np.exp(-x * x) * (np.cos(x) - 2.0 * x * np.sin(x)),)


def square_sum(x):
    return np.sum(x * x)


def square_sum_adjoint(x):
    return (2.0 * x,)


def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def log_sum_exp_adjoint(x):
    weights = np.exp(x - np.max(x))
    return (weights / np.sum(weights),)


def taylor_log(x):
    """Taylor series of log(1 + x), each power from the one before."""
    total, power = 0.0, -1.0
    for i in range(1, 31):
        power = -power * x[0]
        total += power / i
    return total


def taylor_log_adjoint(x):
    return (np.array([sum((-x[0]) ** (i - 1) for i in range(1, 31))]),)


def mutating_loop(x):
    for i in range(len(x)):
        x[i] *= x[i]
    return np.sum(x)


# Small programs, each with a way of writing that tracing has to follow.


def square(x):
    for i in range(len(x)):
        x[i] = x[i] ** 2
    return np.sum(x)


def foo(x):
    res = 0.0
    for i in range(10):
        res += x[i] * x[i]
        x[i] = 0
    return res


def two_squares(x):
    return x[0] * x[0] + x[1] * x[1]


def cleared(x):
    s = x[0] + x[1]
    x[:] = 0
    return s


def matvec(matvec, vec):
    for i in range(len(vec)):
        mat = matvec[i]
        a = vec[i]
        col = (a, a, a)
        for j in range(3):
            mat[j, 0] = col[j]
        mat[0, 0] = vec[i]
    return matvec[2][0, 0]


def matvec_adjoint(matvec, vec):
    return [np.zeros_like(m) for m in matvec], np.array([0.0, 0.0, 1.0])


def half_sines(n: int) -> tuple:
    return (0.5 * np.sin(np.arange(n)),)


def vector_of_matrices(n: int) -> tuple:
    return [np.arange(9.0).reshape(3, 3) + i for i in range(n)], np.arange(1.0, n + 1)


LIST = [
    Program(
        name="rosenbrock_loop_10",
        function=rosenbrock_loop,
        arguments=half_sines,
        adjoint=rosenbrock_adjoint,
        size=10,
        small=10,
    ),
    Program(
        name="rosenbrock_10",
        function=rosenbrock,
        arguments=half_sines,
        adjoint=rosenbrock_adjoint,
        size=10,
        small=10,
    ),
    Program(name="sin_exp", function=sin_exp, arguments=half_sines, adjoint=sin_exp_adjoint, size=10**6, small=37),
    Program(
        name="square_sum", function=square_sum, arguments=half_sines, adjoint=square_sum_adjoint, size=10**6, small=37
    ),
    Program(
        name="log_sum_exp",
        function=log_sum_exp,
        arguments=half_sines,
        adjoint=log_sum_exp_adjoint,
        size=10**6,
        small=37,
    ),
    Program(
        name="taylor_log",
        function=taylor_log,
        arguments=lambda n: (np.array([0.5]),),
        adjoint=taylor_log_adjoint,
        size=1,
        small=1,
    ),
    Program(
        name="mutating_loop",
        function=mutating_loop,
        arguments=half_sines,
        adjoint=square_sum_adjoint,
        size=100,
        small=10,
        peers=False,
    ),
    Program(
        name="square",
        function=square,
        arguments=lambda n: (np.array([1.0, 2.0]),),
        adjoint=square_sum_adjoint,
        size=2,
        small=2,
        peers=False,
    ),
    Program(name="foo", function=foo, arguments=half_sines, adjoint=square_sum_adjoint, size=10, small=10, peers=False),
    Program(
        name="two_squares", function=two_squares, arguments=half_sines, adjoint=square_sum_adjoint, size=2, small=2
    ),
    Program(
        name="cleared",
        function=cleared,
        arguments=half_sines,
        adjoint=lambda x: (np.ones(2),),
        size=2,
        small=2,
        peers=False,
    ),
    Program(
        name="matvec",
        function=matvec,
        arguments=vector_of_matrices,
        adjoint=matvec_adjoint,
        size=3,
        small=3,
        peers=False,
    ),
    Program(
        name="mlp",
        function=models.mlp,
        arguments=models.mlp_arguments,
        adjoint=models.mlp_adjoint,
        size=128,
        small=5,
        inactive=(4, 5),
    ),
    Program(
        name="black_scholes",
        function=models.black_scholes,
        arguments=models.black_scholes_arguments,
        adjoint=models.black_scholes_adjoint,
        size=10_000,
        small=7,
    ),
    Program(
        name="gmm",
        function=models.gmm,
        arguments=models.gmm_arguments,
        adjoint=models.gmm_adjoint,
        size=1000,
        small=4,
        inactive=(3,),
    ),
    Program(
        name="n_body",
        function=physics.n_body,
        arguments=physics.n_body_arguments,
        adjoint=physics.n_body_adjoint,
        size=50,
        small=4,
    ),
    Program(
        name="jacobi_2d",
        function=physics.jacobi_2d,
        arguments=physics.jacobi_2d_arguments,
        adjoint=physics.jacobi_2d_adjoint,
        size=64,
        small=6,
        inactive=(2,),
        peers=False,
    ),
    Program(
        name="brusselator",
        function=physics.brusselator,
        arguments=physics.brusselator_arguments,
        adjoint=physics.brusselator_adjoint,
        size=32,
        small=5,
        cotangents=physics.brusselator_cotangents,
        peers=False,
    ),
]

PROGRAMS: dict[str, Program] = {program.name: program for program in LIST}
for name, size in (("rosenbrock_loop", 50), ("rosenbrock", 50), ("rosenbrock", 10**6)):
    named = replace(PROGRAMS[f"{name}_10"], name=f"{name}_{size}", size=size)
    PROGRAMS[named.name] = named
