"""Second derivatives of any function, in each order of the modes, by the interpreter; and differences of gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.functional.transformed import is_active
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .tracing_oracle import perturbed_by_nothing as copied

Arrays = list[np.ndarray]
ORDERS = ("forward over reverse", "reverse over reverse", "reverse over forward", "forward over forward")
AGREEMENT = 1e-8  # of two orders; rounding is magnified by the derivatives of the program


class Interpreted:
    """A function as its tape, traced once: the leaves of what it returns for other arguments of the same kinds."""

    def __init__(self, f: Callable[..., Any], args: tuple, unroll: int | None = 0):
        options = {} if unroll is None else {"unroll": unroll}
        self.trace = trace(f, copied(args), **options)
        verify(self.trace.tape)
        self.tape = verify(entry_tape(self.trace, KINDS["call"], False))

    def __call__(self, args: tuple) -> Arrays:
        memories = {}
        for leaf, example in zip(self.trace.leaves, flatten(args)[0]):
            if leaf.buffer is not None:
                memories[leaf.buffer] = memory_of(self.tape.buffer(leaf.buffer), np.asarray(example))
        results = [id for id in self.tape.arguments if id not in memories]
        memories |= {id: uninitialised(self.tape.buffer(id)) for id in results}
        interpret(self.tape, memories)
        return [array_of(self.tape.buffer(id), memories[id]).copy() for id in results]


def active_argnums(args: tuple) -> tuple[int, ...]:
    """The arguments with a floating number in them."""
    return tuple(k for k, arg in enumerate(args) if any(map(is_active, flatten(arg)[0])))


def directions(args: tuple, seed: int = 1) -> tuple:
    """A random tangent for each argument that has one."""
    rng = np.random.default_rng(seed)
    found = []
    for k in active_argnums(args):
        leaves, structure = flatten(args[k])
        found.append(structure.unflatten([random_like(leaf, rng) for leaf in leaves]))
    return tuple(found)


def random_like(leaf: Any, rng: np.random.Generator) -> Any:
    if not is_active(leaf):
        return leaf
    return rng.normal(size=leaf.shape).astype(leaf.dtype) if isinstance(leaf, np.ndarray) else float(rng.normal())


def moved(args: tuple, direction: tuple, distance: float) -> tuple:
    """`args + distance * direction`."""
    found = list(copied(args))
    for k, part in zip(active_argnums(args), direction):
        leaves, structure = flatten(found[k])
        steps = flatten(part)[0]
        found[k] = structure.unflatten(
            type(a)(a + distance * t) if isinstance(a, float) else a + distance * t if is_active(a) else a
            for a, t in zip(leaves, steps)
        )
    return tuple(found)


def dot(first: Any, second: Any) -> Any:
    """The sum over all active leaves, in traced code."""
    total = 0.0
    for a, b in zip(flatten(first)[0], flatten(second)[0]):
        if is_active(b):
            total = total + np.sum(a * b)
    return total


def product_with_hessian(f: Callable[..., Any], args: tuple, order: str) -> Callable[..., Any]:
    """The function of `(*args, direction)` for the Hessian of `f` times the direction, by `order`."""
    argnums = active_argnums(args)
    if order == "forward over reverse":
        return planned_ad.hvp(f, argnums)
    slope = planned_ad.jvp(f, argnums)
    if order == "reverse over reverse":
        gradient = planned_ad.grad(f, argnums)

        def inner(*full: Any) -> Any:
            return dot(gradient(*full[:-1]), full[-1])
    elif order == "reverse over forward":

        def inner(*full: Any) -> Any:
            return slope(*full)[1]
    else:  # the product of the Hessian with the direction, twice

        def inner(*full: Any) -> Any:
            return slope(*full)[1]

        return lambda *full: planned_ad.jvp(inner, argnums)(*full, full[-1])[1]
    return lambda *full: planned_ad.grad(inner, argnums)(*full)


def gradient_differences(gradient: Callable[[tuple], Arrays], args: tuple, direction: tuple, step: float) -> Arrays:
    """The derivative of the gradient along the direction, by differences of order four."""

    def slope(h: float) -> Arrays:
        up, down = (gradient(moved(args, direction, d)) for d in (h, -h))
        return [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]

    coarse, fine = slope(2 * step), slope(step)
    return [(4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def check_second_derivatives(
    f: Callable[..., Any],
    args: tuple,
    orders: tuple[str, ...] = ORDERS,
    unroll: int | None = 0,
    compile_too: bool = False,
) -> None:
    """All `orders` agree with one another and, where two steps say the same, with differences of the gradient."""
    argnums, direction = active_argnums(args), directions(args)
    found: dict[str, Arrays] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = Interpreted(planned_ad.grad(f, argnums), args, unroll)
        if not all(np.all(np.isfinite(g)) for g in gradient(args)):
            return
        for order in orders:
            product = product_with_hessian(f, args, order)
            found[order] = Interpreted(product, (*args, direction), unroll)((*args, direction))
            if compile_too:
                options = {} if unroll is None else {"unroll": unroll}
                full = (*copied(args), direction)
                compiled = planned_ad.compile(product, full, **options)(*full)
                actual = [np.asarray(a) for a in flatten(compiled)[0] if is_active(a)]
                assert_agree(actual, found[order], f"{order}, compiled")
        expected = [gradient_differences(gradient, args, direction, step) for step in (1e-4, 0.4e-4)]
    twice = found.pop("forward over forward", None)
    first = found.get("forward over reverse") or next(iter(found.values()))
    for order, arrays in found.items():
        assert_agree(arrays, first, order)
    along = [np.asarray(a) for a in flatten(direction)[0] if is_active(a)]
    if twice is not None:
        assert_agree(twice, [np.asarray(sum(float(np.sum(a * t)) for a, t in zip(first, along)))], "forward, twice")
    if all(near(a, b, 1e-6) for a, b in zip(*expected, strict=True)):
        assert all(near(a, b, 1e-5) for a, b in zip(first, expected[1], strict=True)), (first, expected[1])


def near(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    scale = float(max(1.0, np.abs(expected).max(initial=0.0)))
    return np.allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def assert_agree(actual: Arrays, expected: Arrays, what: str) -> None:
    scale = float(max([1.0, *(np.abs(e).max(initial=0.0) for e in expected)]))
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=AGREEMENT, atol=AGREEMENT * scale, err_msg=what)


def fourth_order(f: Callable[[np.ndarray], Any], x: np.ndarray, step: float) -> np.ndarray:
    """The derivatives of `f` by each element of a vector, as the last axis, by differences of order four."""

    def slope(h: float) -> np.ndarray:
        columns = [(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(len(x))]
        return np.stack(columns, axis=-1)

    return (4 * slope(step) - slope(2 * step)) / 3
