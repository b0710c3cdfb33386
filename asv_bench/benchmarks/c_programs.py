"""What is compared with C and Enzyme: of each program the C function, the variants in NumPy, and their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import c_variants as sums
from . import c_variants_fields as fields
from . import c_variants_models as models
from .c_library import CCall, c_call
from .physics import brusselator_arguments, n_body_arguments
from .programs import Program, half_sines

ENZYME = {
    "gmm_d10_k25": 3.0,
    "gmm_d20_k50": 2.9,
    "lstm": 3.3,
    "ba": 6.4,
    "brusselator_euler": 3.3,
    "brusselator_rk4": 3.2,
    "fft_recursive": 2.9,
    "fft_iterative": 2.4,
    "taylor": 1.9,
    "mutating_loop_1": 0.88,
    "mutating_loop_10": 5.4,
    "rosenbrock_10": 3.9,
    "rosenbrock_1000000": 0.96,
    "log_sum_exp": 1.7,
    "n_body": 1.7,
}
"""Enzyme's gradient by its primal, as published measurements have it. Of `ba`: all rows of the Jacobian."""


@dataclass(frozen=True, kw_only=True)
class CProgram:
    """A program in C, and the same in NumPy.

    Attributes
    ----------
    source, function : str
        The file of `c_programs/` without its suffix, and the function in it.
    variants : dict
        Functions of the same arguments.
    arguments : callable
        `arguments(size)` makes a fresh tuple of the variants' arguments.
    given : callable
        `given(*arguments)`: what the C function is given; its adjoint gets the shadows besides.
    size, quick, small : int
        For benchmarks, for quick ones, and for tests.
    inactive, written : tuple of int
        Positions of data arguments; and of those that the variants write to, which are put back before each call.
    by_hand : bool
        Whether there is an adjoint in C, `function` + "_gradient".
    repeated : bool
        Whether it is so short that a call from Python would count: it is timed in a loop of machine code.
    jacobians : dict or None
        Where all rows of a Jacobian are wanted: of each variant the function that returns residuals and them.
    """

    name: str
    source: str
    function: str
    variants: dict[str, Callable]
    arguments: Callable[[int], tuple]
    given: Callable[..., tuple]
    size: int
    quick: int
    small: int
    inactive: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    by_hand: bool = False
    repeated: bool = False
    jacobians: dict[str, Callable] | None = None

    def in_numpy(self, variant: str) -> Program:
        return Program(
            name=self.name,
            function=self.variants[variant],
            arguments=self.arguments,
            adjoint=None,
            size=self.size,
            small=self.small,
            inactive=self.inactive,
        )

    def primal(self, size: int, *more: Any, ending: str = "") -> CCall:
        return c_call(self.source, self.function + ending, *self.given(*self.arguments(size)), *more)

    def adjoint(self, size: int, *more: Any, ending: str = "") -> tuple[CCall, tuple[np.ndarray, ...]]:
        """The call, and the shadows that it writes."""
        arguments = self.arguments(size)
        shadows = tuple(np.zeros_like(a) for k, a in enumerate(arguments) if k not in self.inactive)
        name = f"{self.function}_gradient{ending}"
        return c_call(self.source, name, *self.given(*arguments), *shadows, *more), shadows


def near_one(n: int) -> np.ndarray:
    return 1.0 + 1e-3 * np.sin(np.arange(n))


def gmm_arguments(n: int, d: int, k: int) -> tuple:
    """3 dimensions and 2 components for n < 32."""
    d, k = (d, k) if n >= 32 else (3, 2)
    rng = np.random.default_rng(2)
    return rng.normal(size=k), rng.normal(size=(k, d)), rng.normal(size=(k, d * (d + 1) // 2)), rng.normal(size=(n, d))


def gmm_given(alphas, means, icf, x) -> tuple:
    k, d = means.shape
    return alphas, means, icf, x, len(x), d, k, np.zeros(k * (icf.shape[1] + 2) + d)


def lstm_arguments(count: int) -> tuple:
    """Two layers; a state of 14 numbers."""
    rng = np.random.default_rng(3)
    shapes = (4, 56), (3, 14), (4, 14)
    return (*(rng.normal(size=shape) for shape in shapes), rng.integers(2, size=(count, 14)).astype(float))


def lstm_given(main, extra, state, sequence) -> tuple:
    count, b = sequence.shape
    return main, extra, state, sequence, len(main) // 2, count, b, np.zeros((len(main) + 1) * b)


def ba_arguments(observations: int) -> tuple:
    """A camera for 600 observations, a point for four."""
    rng = np.random.default_rng(4)
    cameras, points = rng.normal(size=(observations // 600 + 2, 11)), rng.normal(size=(observations // 4 + 2, 3))
    cameras[:, 6] += 5.0
    cameras[:, 9:] *= 0.01
    points[:, 2] += 10.0
    cameras[:, :3] *= 0.3
    seen = np.stack([rng.integers(len(cameras), size=observations), rng.integers(len(points), size=observations)], 1)
    return cameras, points, rng.normal(size=observations), seen, rng.normal(size=(observations, 2))


def ba_given(cameras, points, weights, seen, features) -> tuple:
    return cameras, points, weights, seen, features, len(weights), np.zeros(3 * len(weights))


def fft_given(x) -> tuple:
    roots = np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x)).view(float)
    return x, roots, len(x), np.zeros(2 * len(x))


def field_arguments(n: int, steps: int) -> tuple:
    return (*brusselator_arguments(n), np.array([3.4, 1.0, 10.0]), fields.forcing(n), steps if n >= 32 else 3)


def field_given(u, v, p, forcing, steps) -> tuple:
    return u, v, p, forcing, len(u), steps, np.zeros((2 * steps + 12) * u.size)


LIST = [
    *(
        CProgram(
            name=f"gmm_d{d}_k{k}",
            source="models",
            function="gmm",
            variants=models.GMM,
            arguments=functools.partial(gmm_arguments, d=d, k=k),
            given=gmm_given,
            size=1000,
            quick=100,
            small=4,
            inactive=(3,),
        )
        for d, k in ((10, 25), (20, 50))
    ),
    CProgram(
        name="lstm",
        source="models",
        function="lstm",
        variants=models.LSTM,
        arguments=lstm_arguments,
        given=lstm_given,
        size=1024,
        quick=64,
        small=5,
        inactive=(2, 3),
    ),
    CProgram(
        name="ba",
        source="models",
        function="ba",
        variants=models.BA,
        jacobians=models.BA_JACOBIANS,
        arguments=ba_arguments,
        given=ba_given,
        size=31_843,
        quick=1000,
        small=5,
        inactive=(3, 4),
    ),
    *(
        CProgram(
            name=f"brusselator_{name}",
            source="brusselator",
            function=f"brusselator_{name}",
            variants=fields.by_laplacian(method),
            arguments=functools.partial(field_arguments, steps=100),
            given=field_given,
            size=32,
            quick=32,
            small=4,
            inactive=(3, 4),
            by_hand=name == "euler",
        )
        for name, method in (("euler", fields.euler), ("rk4", fields.runge_kutta))
    ),
    *(
        CProgram(
            name=name,
            source="fourier",
            function=name,
            variants=variants,
            arguments=half_sines,
            given=fft_given,
            size=2**12,
            quick=2**8,
            small=8,
        )
        for name, variants in (("fft_recursive", fields.FFT_RECURSIVE), ("fft_iterative", fields.FFT_ITERATIVE))
    ),
    CProgram(
        name="taylor",
        source="sums",
        function="taylor",
        variants=sums.TAYLOR,
        arguments=lambda n: (np.array([0.5]), n),
        given=lambda x, terms: (x, terms),
        size=10**6,
        quick=10**4,
        small=9,
        inactive=(1,),
        by_hand=True,
    ),
    *(
        CProgram(
            name=f"mutating_loop_{sweeps}",
            source="sums",
            function="mutating_loop",
            variants=sums.MUTATING,
            arguments=lambda n, sweeps=sweeps: (*(half_sines(n) if sweeps == 1 else (near_one(n),)), sweeps),
            given=lambda x, sweeps: (x, len(x), sweeps, np.zeros_like(x)),
            size=10**6,
            quick=10**4,
            small=9,
            inactive=(1,),
            written=(0,),
            by_hand=True,
        )
        for sweeps in (1, 10)
    ),
    *(
        CProgram(
            name=f"rosenbrock_{n}",
            source="sums",
            function="rosenbrock",
            variants=sums.ROSENBROCK,
            arguments=half_sines,
            given=lambda x: (x, len(x)),
            size=n,
            quick=min(n, 10**4),
            small=10,
            by_hand=True,
            repeated=n == 10,
        )
        for n in (10, 10**6)
    ),
    CProgram(
        name="log_sum_exp",
        source="sums",
        function="log_sum_exp",
        variants=sums.LOG_SUM_EXP,
        arguments=half_sines,
        given=lambda x: (x, len(x)),
        size=10**6,
        quick=10**4,
        small=9,
        by_hand=True,
    ),
    CProgram(
        name="n_body",
        source="n_body",
        function="n_body",
        variants=sums.N_BODY,
        arguments=n_body_arguments,
        given=lambda x, v, m: (x, v, m, len(m)),
        size=50,
        quick=50,
        small=4,
        by_hand=True,
        repeated=True,
    ),
]

C_PROGRAMS: dict[str, CProgram] = {program.name: program for program in LIST}
