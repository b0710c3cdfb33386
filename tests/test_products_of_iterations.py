"""Loops and batches of products: one product, turned over where vectors run, in blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.products import lower_products
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.planner import plan_memory
from planned_ad.regions.regions import is_ragged
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, Loop, Tape, walk
from planned_ad.trace import trace

from .oracle import assert_close, memories_for

RNG = np.random.default_rng(0)
POINTS = RNG.random((40, 20))


def contractions(tape: Tape) -> list[Apply]:
    return [op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive == "contract"]


def iterated(w, means):
    s = 0.0
    for i in range(len(POINTS)):
        s += np.sum(np.tanh(w @ (POINTS[i] - means)) ** 2)
    return s


def test_iterations_that_multiply_by_the_same_matrix() -> None:
    args = RNG.random((100, 20)), RNG.random(20)
    traced = trace(iterated, args)
    tape = vectorise(traced.tape)
    assert not any(isinstance(op, Loop) for op in walk(tape.operations))
    (product,) = contractions(tape)
    assert product.out.shape == (40, 100)
    (found,) = interpret(tape, memories_for(tape, traced, args, {}, []))
    assert_close(found, np.asarray(iterated(*args)))


def test_iterations_with_matrices_of_their_own_stay() -> None:
    def f(ws):
        s = 0.0
        for i in range(len(POINTS)):
            s += np.sum(np.tanh(ws[i] @ POINTS[i]) ** 2)
        return s

    tape = vectorise(trace(f, (RNG.random((40, 100, 20)),)).tape)
    assert any(isinstance(op, Loop) for op in walk(tape.operations))


# Products of matrices as loops write them: (n, k) by (k, m), none of which is small or large.

N, K, M = 70, 130, 90


def by_dots(a, b):
    c = np.zeros((N, M))
    for i in range(N):
        for j in range(M):
            c[i, j] = a[i] @ b[:, j]
    return np.sum(c * c)


def by_numbers(a, b):
    c = np.zeros((N, M))
    for i in range(N):
        for j in range(M):
            s = 0.5
            for k in range(K):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return np.sum(c * c)


def by_accumulation(a, b):
    c = np.ones((N, M))
    for j in range(M):
        for i in range(N):
            for k in range(K):
                c[i, j] -= 2.0 * a[i, k] * b[k, j]
    return np.sum(c * c)


def by_sums(a, b):
    c = np.zeros((N, M))
    for i in range(N):
        for j in range(M):
            c[i, j] = np.sum(a[i] * b[:, j])
    return np.sum(c * c)


def by_multiples_of_rows(a, b):
    c = np.zeros((N, M))
    for i in range(N):
        for k in range(K):
            c[i] += a[i, k] * b[k]
    return np.sum(c * c)


@pytest.mark.parametrize("f", [by_dots, by_numbers, by_accumulation, by_sums, by_multiples_of_rows])
def test_loops_that_write_out_a_product(f) -> None:
    args = RNG.random((N, K)), RNG.random((K, M))
    traced = trace(f, args)
    tape = vectorise(traced.tape)
    assert not any(isinstance(op, Loop) for op in walk(tape.operations))
    (product,) = contractions(tape)
    assert product.out.size == N * M
    (found,) = interpret(tape, memories_for(tape, traced, args, {}, []))
    assert_close(found, np.asarray(f(*args)))


def growing(a, b):
    c = b[:K, :K].copy()
    for i in range(K):
        for k in range(M):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


def shrinking(a, b):
    c = b.copy()
    for i in range(K):
        for j in range(K):
            c[i, j] += np.dot(b[i + 1 :, i], c[i + 1 :, j]) * a[0, 0]
    return np.sum(c * c)


def both_ways(a, b):
    c, t = np.zeros((K, K)), np.empty(K)
    for i in range(K):
        for j in range(K):
            c[:i, j] += b[i, j] * b[i, :i]
            t[j] = b[:i, j] @ b[i, :i]
        c[i] += t
    return np.sum(c * c)


@pytest.mark.parametrize("f", [growing, shrinking, both_ways])
def test_loops_that_write_out_part_of_a_product(f) -> None:
    """In rows there are more numbers, or fewer: squares of them are products, of which the largest comes first."""
    args = RNG.random((K, M)), RNG.random((K, K))
    tape = vectorise(trace(f, args).tape)
    largest, *_ = contractions(tape)
    assert min(largest.out.shape) >= K // 4 and not is_ragged(largest.out.shape)
    for loop in (op for op in walk(tape.operations) if isinstance(op, Loop)):
        assert loop.trips < K // 4 or not any(op in contractions(tape) for op in loop.body)
    directions = [RNG.normal(size=x.shape) for x in args]
    gradient = planned_ad.compile(f, args).gradient(*args)
    ahead, back = ([x + e * d for x, d in zip(args, directions)] for e in (1e-6, -1e-6))
    expected = (f(*ahead) - f(*back)) / 2e-6
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in zip(gradient, directions)), expected, rtol=1e-6)


def test_what_is_computed_for_a_product_stays_near() -> None:
    """Rows of `exp` would be an array as large as all iterations need."""

    def f(x, w):
        s = np.zeros(300)
        for i in range(1000):
            s[i % 7] += np.sum(np.exp(x[i]) * w)
        return s @ s

    tape = vectorise(trace(f, (RNG.random((1000, 300)), RNG.random(300))).tape)
    assert any(isinstance(op, Loop) for op in walk(tape.operations))


@pytest.mark.parametrize("subscripts", ["kij,nkj->nki", "kij,kjn->kin", "kij,nkj->kni", "ij,nkj->nki"])
def test_operands_of_batches_are_turned_over(subscripts: str) -> None:
    """Vectors run along the last axis of the result: the operand that has it is read along that axis."""
    extents = dict(k=5, i=8, j=9, n=20)
    a, b = (RNG.random([extents[c] for c in part]) for part in subscripts.split("->")[0].split(","))
    traced = trace(lambda a, b: np.einsum(subscripts, a, b), (a, b))
    tape = lower_products(traced.tape)
    (product,) = contractions(tape)
    (found,) = interpret(tape, memories_for(tape, traced, (a, b), {}, []))
    assert_close(found, np.einsum(subscripts, a, b))
    last = product.params["out_labels"][-1]
    owners = [labels for labels in (product.params["a_labels"], product.params["b_labels"]) if last in labels]
    assert all(labels[-1] == last for labels in owners)
    assert lower_products(tape) is tape


def likelihood(means, factors):
    x = np.linspace(0.0, 1.0, 500 * 20).reshape(500, 20)
    y = np.einsum("kij,nkj->nki", factors, x[:, None, :] - means)
    t = -0.5 * np.sum(y * y, axis=2)
    m = t.max(axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(t - m), axis=1)) + m[:, 0])


def test_rows_of_products_with_much_that_is_whole() -> None:
    """The factors are 160 KB: as long to read, for a few rows, as to multiply by."""
    args = RNG.random((50, 20)), RNG.random((50, 20, 20))
    memory = plan_memory(entry_tape(trace(likelihood, args), KINDS["gradient"], preserve_args=False))
    (rows,) = memory.blocked
    assert rows.rows == 500 and 8 <= rows.together <= 16
    assert memory.workspace_nbytes < 1 << 20  # `y` alone would be 4 MB


def deviations(a, b):
    mean, c = np.mean(a, axis=0), np.zeros((M, M))
    for row in a:
        c += np.outer(row - mean, row - mean)
    return np.sum(c * c) + b[0, 0]


def outers(a, b):
    c = np.ones((N, M))
    for k in range(K):
        c -= np.outer(a[:, k], np.sin(b[k]))
    return np.sum(c * c)


def columns_by_rows(a, b):
    c = np.zeros((N, M))
    for k in range(K):
        c += a[:, k, None] * b[k]
    return np.sum(c * c)


def of_values(a, b):
    d, c = np.exp(a.T), np.zeros((M, N))
    for k in range(K - 1, -1, -1):
        c += 2.0 + b[k][:, None] * d[k]
    return np.sum(c * c)


@pytest.mark.parametrize("f", [deviations, outers, columns_by_rows, of_values])
def test_sums_of_outer_products(f) -> None:
    args = RNG.random((K, M) if f is deviations else (N, K)), RNG.random((K, M))
    traced = trace(f, args)
    tape = vectorise(traced.tape)
    loops = [op for op in walk(tape.operations) if isinstance(op, Loop)]
    if f is of_values:  # what is added is no product: the loop stays, and so do its numbers
        assert loops
    else:
        assert not loops
        assert [op.out.shape for op in contractions(tape)] == [(M, M) if f is deviations else (N, M)]
    (found,) = interpret(tape, memories_for(tape, traced, args, {}, []))
    assert_close(found, np.asarray(f(*args)))
    directions = [RNG.normal(size=x.shape) for x in args]
    ahead, back = ([x + e * d for x, d in zip(args, directions)] for e in (1e-6, -1e-6))
    gradient = planned_ad.compile(f, args).gradient(*args)
    expected = (f(*ahead) - f(*back)) / 2e-6
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in zip(gradient, directions)), expected, rtol=1e-6)
