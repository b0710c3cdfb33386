"""Derivatives by what only shifts are left out, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.zero_cotangents import without_zero_cotangents
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .oracle import assert_shadows, interpreted, memories_for, shadows_in

RNG = np.random.default_rng(5)
X, W, T = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5)), RNG.normal(size=(2, 3, 4))


def shifted(x, axis=1):
    return x - x.max(axis, keepdims=True)


def softmax(x):
    e = np.exp(shifted(x, -1))
    return e / e.sum(-1, keepdims=True)


def log_sum_exp(x, temperature=1.0):
    return np.log(np.exp(shifted(x) / temperature).sum(1)) * temperature + x.max(1)


def in_a_loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        largest = np.max(x[i])
        total += np.log(np.sum(np.exp(x[i] - largest))) + largest
    return total


def attention(x):
    return np.sum(softmax(x @ x.T) @ x * W)


SHIFTS = {
    "rows": (lambda x: np.sum(log_sum_exp(x)), X),
    "columns": (lambda x: np.sum(np.sin(np.log(np.exp(x - x.max(0)).sum(0)) + x.max(0))), X),
    "all": (lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x), X),
    "smallest": (lambda x: np.log(np.sum(np.exp(x.min() - x))) - x.min(), X),
    "equal numbers": (lambda x: np.sum(log_sum_exp(x)), np.ones((3, 3))),
    "weighted": (lambda x: np.sum(np.log((np.exp(shifted(x)) * W**2).sum(1)) + x.max(1)), X),
    "temperature": (lambda x: np.sum(log_sum_exp(x, x[0, 0] ** 2)), X),
    "softmax": (lambda x: np.sum(W * softmax(x)), X),
    "squares of softmax": (lambda x: np.sum(softmax(x) ** 2), X),
    "cross entropy": (lambda x: -np.sum(W * (shifted(x) - np.log(np.exp(shifted(x)).sum(1, keepdims=True)))), X),
    "attention": (attention, X),
    "three axes": (lambda x: np.sum(softmax(x) * np.arange(4.0)), T),
}
OTHERS = {
    "a largest number that counts": (lambda x: np.sum(np.exp(shifted(x))) + np.sum(x.max(1) ** 2), X),
    "another weight": (lambda x: np.sum(np.exp(shifted(x)) * W), X),
    "a scale": (lambda x: np.sum(x / np.max(np.abs(x), axis=1, keepdims=True) * W), X),
    "a range": (lambda x: np.sum(((x - x.min()) / (x.max() - x.min())) ** 2), X),
    "half of the shift": (lambda x: np.sum(np.log(np.exp(x - 0.5 * x.max(1, keepdims=True)).sum(1)) + x.max(1)), X),
    "a shift by the largest of another row": (lambda x: np.sum(np.log(np.exp(x - x.max(1)[::-1, None]).sum(1))), X),
    "sums over other axes": (lambda x: np.sum(np.log(np.exp(shifted(x)).sum(0))), X),
}


def check(f, x) -> int:
    """The gradient against that of the tape as it was differentiated; how many cotangents of extrema are left."""
    traced = trace(f, (x,))
    tape = verify(entry_tape(traced, KINDS["gradient"], False))
    memories = memories_for(tape, traced, (x,), {}, [])
    interpret(tape, memories)
    assert_shadows(shadows_in(tape, memories), interpreted(traced, "gradient", (x,)), "gradient")
    return sum(isinstance(op, Apply) and op.primitive == "equal" for op in walk(tape.operations[tape.turn :]))


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name):
    assert check(*SHIFTS[name]) == 0


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_shift(name):
    assert check(*OTHERS[name]) > 0


def test_in_a_loop():
    check(in_a_loop, X)


def one_sum_of_several(x):
    e, s = np.exp(x), np.sin(x[:, 0])
    return np.sum(e / np.sum(e, axis=1)[0] * s[:, None]) - np.sum(s)


def one_weight_of_several(x):
    w, s = np.sum(x, axis=1), np.sin(x[:, 0])
    return np.sum(s / w[:1]) * w[0] ** 2 - np.sum(x * s[:, None])


@pytest.mark.parametrize("f", [one_sum_of_several, one_weight_of_several])
def test_one_sum_stands_for_no_other(f):
    check(f, X)


def test_zeros_that_shadows_begin_with():
    def squared_twice(x):
        for _ in range(2):
            x *= x
        return np.sum(x)

    check(squared_twice, X.copy())
    tape = entry_tape(trace(squared_twice, (X.copy(),)), KINDS["gradient"], False)
    sums = [op for op in tape.operations[tape.turn :] if isinstance(op, Apply) and op.primitive == "add"]
    assert [op.operands[0].id == op.operands[1].id for op in sums] == [True, True]
    assert without_zero_cotangents(tape) is tape


def test_shifts_by_any_number() -> None:
    def f(x):
        return np.log(np.sum(np.exp(x - x[0, 0]))) + x[0, 0]

    traced = trace(f, (X,))
    tape = entry_tape(traced, KINDS["gradient"], preserve_args=False)
    sums = [op for op in walk(tape.operations[tape.turn :]) if isinstance(op, Apply) and op.primitive == "reduce_sum"]
    assert not sums  # nothing is summed for the number that it is shifted by
    memories = memories_for(tape, traced, (X,), {}, [])
    interpret(tape, memories)
    (gradient,) = shadows_in(tape, memories).values()
    np.testing.assert_allclose(gradient, softmax(X.reshape(-1)).reshape(X.shape), rtol=1e-13)


def test_a_long_chain_of_sums_is_followed_so_far() -> None:
    def f(x):
        weights = np.exp(x - np.max(x))
        total = np.sum(weights)
        y = x * 0.5
        for k in range(1200):
            y = y - y / (k + 3.0) + 0.001 * weights / total
        return np.sum(y) - np.sum(weights * y) / total

    x = np.linspace(1, 2, 3)
    tape = reverse(trace(f, (x,), unroll=2000).tape)
    assert len(without_zero_cotangents(tape).operations) <= len(tape.operations)
