"""Sums of products of arrays that repeat themselves: products of matrices, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.repeated_factors import products_of_repeated
from planned_ad.passes.rewrite import rewrite
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, Tape, walk
from planned_ad.trace import trace

from .oracle import assert_close, memories_for

RNG = np.random.default_rng(0)
N, K, M = 20, 30, 25


def middle(a, b):
    return np.sum(a[:, :, None] * b[None], axis=1)


def last(a, b):
    return np.sum(a[:, None, :] * b.T, axis=-1)


def first(a, b):
    return np.sum(a.T[:, :, None] * b[:, None, :], axis=0)


def weighted(a, b):
    return np.sum(np.tanh(a)[0][:, None, None] * a.T[:, :, None] * b[:, None, :], axis=0)


def listed(a, b):
    return np.sum([np.outer(a[:, k], b[k]) for k in range(K)], axis=0)


def batched(a, b):
    shifts = np.arange(6.0)[:, None, None]
    return np.sum(np.einsum("kin,knj->kij", a + shifts, b * shifts), axis=0)


def broadcast_in_einsum(a, b):
    return np.einsum("ijk,jk->ik", np.broadcast_to(a[:, :, None], (N, K, M)), b)


def names(tape: Tape) -> list[str]:
    return [op.primitive for op in walk(tape.operations) if isinstance(op, Apply)]


@pytest.mark.parametrize("f", [middle, last, first, weighted, listed, batched, broadcast_in_einsum])
def test_a_product_both_ways(f) -> None:
    args = RNG.random((N, K)), RNG.random((K, M))

    def loss(a, b):
        c = f(a, b)
        return np.sum(c * c)

    traced = trace(loss, args)
    (found,) = interpret(products_of_repeated(rewrite(traced.tape)), memories_for(traced.tape, traced, args, {}, []))
    assert_close(found, np.asarray(loss(*args)))
    tape = entry_tape(traced, KINDS["gradient"], preserve_args=False)
    assert names(tape).count("contract") == 3
    largest = max(v.size for op in walk(tape.operations) for v in op.outputs)
    assert largest < N * K * M, "no array of all the terms"
    directions = [RNG.normal(size=x.shape) for x in args]
    ahead, back = ([x + e * d for x, d in zip(args, directions)] for e in (1e-6, -1e-6))
    expected = (loss(*ahead) - loss(*back)) / 2e-6
    gradient = planned_ad.compile(loss, args).gradient(*args)
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in zip(gradient, directions)), expected, rtol=1e-6)


def rows_alone(a, b):
    """A matrix by a vector reads the matrix once."""
    return np.sum(a * b[:, 0], axis=1)


def two_sums(a, b):
    """Which is not the product of two sums, in floating arithmetic."""
    return np.sum(a[:, :, None] * b.T[:N, None, :], axis=(1, 2))


def used_twice(a, b):
    c = a[:, :, None] * b
    return np.sum(c, axis=1) + np.max(c, axis=1)


def short(a, b):
    """Points in the plane: their differences, and what is made of them, are one pass."""
    return np.sum(a[:, None, :2] * b[None, :, :2], axis=-1)


@pytest.mark.parametrize("f", [rows_alone, two_sums, used_twice, short])
def test_what_is_none_stays(f) -> None:
    tape = rewrite(trace(f, (RNG.random((N, K)), RNG.random((K, M)))).tape)
    assert products_of_repeated(tape) is tape


def test_numbers_that_are_not_finite() -> None:
    """What is summed is what was: nan where a term is, and only there."""

    def f(a, b):
        return np.sum(a[:, :, None] * b[None], axis=1)

    a, b = RNG.random((N, K)), RNG.random((K, M))
    a[3, 4], b[5, 6] = np.inf, np.nan
    plan = planned_ad.compile(f, (a, b))
    np.testing.assert_array_equal(np.isfinite(plan(a, b)), np.isfinite(f(a, b)))
