"""Derivatives of plain functions of NumPy by differences, for programs that call `planned_ad.grad` and its like.

Within `plain()` the functions of the package are these, so that a program is its own reference without a tape or a
compilation. They are of order eight, and accurate to some twelve digits where the function is smooth within 0.04 of
its argument.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import planned_ad

STEP = 0.01
# f'(x) is about the sum of w_k (f(x + k h) - f(x - k h)) / h.
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

Function = Callable[..., Any]


def along(f: Function, args: tuple, argnum: int, direction: Any) -> Any:
    """The derivative of `f` along `direction` of one argument."""

    def at(distance: float) -> Any:
        moved = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        moved[argnum] = moved[argnum] + distance * direction
        return f(*moved)

    return sum(w * (at(k * STEP) - at(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


def jacobian(f: Function, argnums: int = 0) -> Function:
    def derivative(*args: Any) -> Any:
        x = args[argnums]
        if not isinstance(x, np.ndarray):
            return along(f, args, argnums, 1.0)
        columns = []
        for k in range(x.size):
            direction = np.zeros(x.size)
            direction[k] = 1.0
            columns.append(along(f, args, argnums, direction.reshape(x.shape)))
        return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)

    return derivative


grad = jacobian  # of a scalar function


def value_and_grad(f: Function, argnums: int = 0) -> Function:
    def both(*args: Any) -> Any:
        derivative = grad(f, argnums)(*args)
        return f(*args), derivative

    return both


def jvp(f: Function, argnums: int = 0) -> Function:
    def both(*args: Any) -> Any:
        *primals, direction = args
        derivative = along(f, tuple(primals), argnums, direction)
        return f(*primals), derivative

    return both


def hvp(f: Function, argnums: int = 0) -> Function:
    def product(*args: Any) -> Any:
        *primals, direction = args
        return along(grad(f, argnums), tuple(primals), argnums, direction)

    return product


def vectorize(f: Function, in_axes: Any = 0) -> Function:
    assert in_axes == 0

    def batched(*args: Any) -> Any:
        return np.stack([f(*items) for items in zip(*args, strict=True)])

    return batched


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """Put these functions in the place of the package's."""
    ours = {f.__name__: f for f in (value_and_grad, jvp, hvp, vectorize)} | {"grad": grad, "jacobian": jacobian}
    theirs = {name: getattr(planned_ad, name) for name in ours}
    for name, f in ours.items():
        setattr(planned_ad, name, f)
    try:
        yield
    finally:
        for name, f in theirs.items():
            setattr(planned_ad, name, f)
