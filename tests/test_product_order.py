"""Products of three matrices in the cheaper order, diagonals of products, and products behind loops."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.product_order import in_cheaper_order
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.trace import trace

N = 40
RANDOM = np.random.default_rng(0)
W, U = RANDOM.normal(size=(2, N, N)) / N**0.5
X, B, V = RANDOM.normal(size=(30, N)), RANDOM.normal(size=(4, N)), RANDOM.normal(size=N)
T, C = RANDOM.normal(size=(3, 7, 7)), RANDOM.normal(size=(7, 2))


def agrees_with_differences(f, *arguments, **options) -> None:
    plan = planned_ad.compile(f, arguments, **options)
    value, found = plan.value_and_gradient(*arguments)
    assert value == pytest.approx(f(*arguments), rel=1e-10)
    for k, (argument, gradient) in enumerate(zip(arguments, found if type(found) is tuple else (found,))):
        d = np.random.default_rng(k).normal(size=argument.shape)
        ends = [f(*arguments[:k], argument + h * d, *arguments[k + 1 :]) for h in (1e-6, -1e-6)]
        assert np.sum(gradient * d) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-6)


def largest(tape) -> int:
    return max(op.out.size for op in walk(tape.operations) if isinstance(op, Apply))


CHAINS = [
    (lambda a, x: np.sum((a @ a.T @ a @ x) ** 2), (W, V), N),
    (lambda a, x: x @ a @ a @ x, (W, V), N),
    (lambda a, b: np.sum((b @ a @ a) ** 2), (W, B), 4 * N),
    (lambda a, b: np.trace(a @ b) ** 2, (W, U), N),
    (lambda a, b: np.sum(np.diag(a @ b.T) ** 3), (W, U), N),
]
OTHERS = [
    (lambda t, c: np.sum((t @ t @ c) ** 2), (T, C)),
    (lambda t: np.sum(np.trace(t @ t, axis1=1, axis2=2) ** 2), (T,)),
    (lambda a, b: np.trace(a @ b) + np.sum(a @ b), (W, U)),
    (lambda a: np.diag(a @ a)[::2].sum() + np.diag(a @ a, 1).sum(), (W,)),
    (lambda a, x: np.sum(np.diag(a * 2) @ x), (W, V)),
    (lambda a, x: np.einsum("ij,jk,k->", a, a, x), (W, V)),
]


@pytest.mark.parametrize("f, arguments, most", CHAINS)
def test_no_matrix_is_made(f, arguments, most):
    assert largest(in_cheaper_order(trace(f, arguments).tape)) <= most
    agrees_with_differences(f, *arguments)


@pytest.mark.parametrize("f, arguments", OTHERS)
def test_others_are_as_they_were(f, arguments):
    agrees_with_differences(f, *arguments)


def test_what_a_loop_reads_again_is_made_before():
    def f(a, x):
        both = a @ a
        for _ in range(20):
            x = np.tanh(both @ x)
        return np.sum(x)

    tape = trace(f, (W, V)).tape
    assert in_cheaper_order(tape) is tape
    agrees_with_differences(f, W, V)


# Behind loops.


def power(p, x):
    for _ in range(20):
        x = p @ x
    return np.sum(x**2)


def backwards(w, u, x, h):
    total = 0.0
    for t in range(29, -1, -1):
        h = np.tanh(h @ w + x[t] @ u)
        total = total + np.sum(h * x[t])
    return total


def gated(w, u, x, h):
    for t in range(30):
        z, r = 1 / (1 + np.exp(-(w @ h + u @ x[t]))), 1 / (1 + np.exp(-(u @ h)))
        h = (1 - z) * h + z * np.tanh(w @ (r * h))
    return np.sum(h**2)


def nested(w, x):
    total = 0.0
    for e in range(10):
        h = x * (e + 1)
        for _ in range(12):
            h = np.tanh(w @ h + w.T @ h)
        total = total + np.sum(h)
    return total


def few_rows(w, b):
    for _ in range(20):
        b = np.tanh(b @ w)
    return np.sum(b**2)


@pytest.mark.parametrize(
    "f, arguments", [(power, (W, V)), (backwards, (W, U, X, V)), (gated, (W, U, X, V)), (few_rows, (W, B))]
)
@pytest.mark.parametrize("options", [{}, {"unroll": 0}])
def test_the_matrix_is_added_to_behind_the_loop(f, arguments, options):
    tape = entry_tape(trace(f, arguments, **options), KINDS["gradient"], preserve_args=True)
    loops = [op for op in tape.operations[tape.turn :] if isinstance(op, Loop)]
    sums = [op for loop in loops for op in walk(loop.body) if getattr(op, "accumulate", False)]
    assert loops and not any(op.value.size == N * N for op in sums)
    agrees_with_differences(f, *arguments, **options)


@pytest.mark.parametrize("unroll", [0, 8])
def test_loops_in_loops(unroll):
    agrees_with_differences(nested, W, V, unroll=unroll)


def changed(w, x):
    w = w.copy()
    for t in range(20):
        x = np.tanh(w @ x)
        w[t] = x * 0.1
    return np.sum(x) + np.sum(w)


def stopping(w, x):
    k = 0
    while np.sum(np.abs(x)) > 0.5 and k < 40:
        x = 0.8 * np.tanh(w @ x)
        k += 1
    return np.sum(x)


@pytest.mark.parametrize("f", [changed, stopping])
def test_other_loops_add_as_they_go(f):
    agrees_with_differences(f, W, V)


def test_with_a_limit_of_memory_and_in_threads():
    agrees_with_differences(backwards, W, U, X, V, memory_limit=20_000)
    agrees_with_differences(backwards, W, U, X, V, threads=2)


def test_what_is_multiplied_by_a_sum_of_nothing_may_be_no_number() -> None:
    a, x = np.ones((4, 4)), np.array([1.0, np.nan, 2.0, 3.0])
    plan = planned_ad.compile(lambda a, x: np.sum(a[:, :0] @ a[:0] @ x), (a, np.ones(4)))
    assert np.isnan(plan(a, x))
