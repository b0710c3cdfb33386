"""Short axes written out: the same numbers, no arrays along them, and only where it pays."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.short_axes import write_out_short_axes
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.planner import plan_memory
from planned_ad.regions.regions import is_ragged
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .oracle import assert_close, check_gradient, memories_for
from .sweeps import left_out

RNG = np.random.default_rng(5)
N = 70
TURNED = RNG.integers(0, N, N)
FRAME = RNG.random((3, 3)).tolist()


def distances(x, y):
    d = x[:, None, :] - y[None, :, :]
    return np.sum(np.exp(-np.sum(d**2, axis=2)))


def rotation(x, y):
    angle = np.linalg.norm(x, axis=1, keepdims=True)
    axis = x / angle
    turned = np.cos(angle) * y + np.sin(angle) * np.cross(axis, y) + axis * np.sum(axis * y, axis=1, keepdims=True)
    return turned[:, :2] / (9.0 + turned[:, 2:])


def parts_and_turns(x, y):
    a = np.sin(x)[:, ::-1] * np.cos(y)
    b = a.T * np.array([[1.0], [2.0], [3.0]])
    c = np.where(b > 0.1, b, a.sum(axis=1) * b[1])
    return np.sum(c**2) + np.sum(np.tanh(a[:, 1]) * c[0]) + np.sum(a[3:9, :2])


def products(x, y):
    z = np.sin(x) @ np.array(FRAME)
    q = np.einsum("ni,nj->nij", z, np.cos(y))
    return np.sum(np.einsum("nij,nj->ni", q, x) ** 2) + np.sum(np.einsum("nii", q) ** 3)


def looked_up(x, y):
    d = np.sin(x[TURNED]) - np.exp(y)
    return np.sqrt(np.sum(d * d, axis=1) + 1.0)


def written(x, y):
    z = np.zeros((N, 3))
    z[:, 1:] = np.sin(x[:, :2]) * np.sum(np.exp(y), axis=1)[:, None]
    x[:, 0] += z[:, 2]
    x *= np.sum(z * np.tanh(y), axis=1, keepdims=True)
    return np.sum(x * z)


def in_loops(x, y):
    for _ in range(20):
        r = np.sqrt(1.0 + np.sum(np.sin(x) ** 2, axis=1, keepdims=True))
        x = x * np.cos(y) / r
    return x


PROGRAMS = (distances, rotation, parts_and_turns, products, looked_up, written, in_loops)


def arguments():
    return RNG.random((N, 3)), RNG.random((N, 3))


@pytest.mark.parametrize("f", PROGRAMS)
def test_the_numbers_stay(f):
    x, y = arguments()
    traced = trace(f, (x, y))
    before = rewrite(traced.tape)
    after = write_out_short_axes(before)
    verify(after)
    assert after is not before
    results = []
    for tape in (before, after):
        memories = memories_for(tape, traced, (x, y), {}, [])
        results.append((*interpret(tape, memories), *(memories[id] for id in tape.arguments)))
    for one, other in zip(*results):
        assert_close(other, one)


def test_nothing_is_made_along_them():
    x, y = arguments()
    tape = entry_tape(trace(distances, (x, y)), KINDS["gradient"], preserve_args=False)
    assert max(len(v.shape) for op in walk(tape.operations) for v in op.outputs) == 2
    assert plan_memory(tape).workspace_nbytes <= 6 * N * 8 + 64 * 6  # neither distances nor differences


@pytest.mark.parametrize(("f", "every_call"), [(rotation, True), (products, False), left_out((products, True))])
def test_gradients(f, every_call):
    check_gradient(lambda x, y: np.sum(f(x, y) ** 2), *arguments(), every_call=every_call)


@pytest.mark.parametrize(
    "f",
    (
        lambda x, y: np.sum(np.sin(x) * y),  # nothing is summed along the axis alone
        lambda x, y: np.sum(x[: N // 2 * 2].reshape(-1, 6), axis=1) * 2.0,  # hardly anything is computed
        lambda x, y: np.sort(np.sum(np.sin(x[:9]) * y[:9], axis=1)),  # nine rows fill no vectors
        lambda x, y: np.sum(np.sort(np.sin(x) * np.cos(y), axis=1), axis=1),  # the axis is needed as it is
    ),
)
def test_where_it_does_not_pay(f):
    tape = rewrite(trace(f, arguments()).tape)
    assert write_out_short_axes(tape) is tape


def test_an_empty_array_on_one_side_of_a_branch() -> None:
    def f(x, y):
        for i in range(len(x)):
            if y[i] > 0.5:
                x[i] = 2.0 * x[i] + np.sum(np.sqrt(x[i:i] * y[i:i]))
        return np.sum(x * x)

    x, y = np.random.default_rng(0).random((2, 20))
    plan = planned_ad.compile(f, (x, y), preserve_args=True)
    assert plan(x, y) == pytest.approx(f(x.copy(), y))
    np.testing.assert_allclose(plan.gradient(x, y)[0], 2.0 * x * np.where(y > 0.5, 4.0, 1.0))


OF_A_BATCH = [("nij,jk->nik", True), ("nij,njk->nik", False), ("nji,njk->nki", False)]


@pytest.mark.parametrize(("subscripts", "every_call"), [*OF_A_BATCH, *(left_out((s, True)) for s, _ in OF_A_BATCH[1:])])
def test_small_products_of_a_batch_are_written_out(subscripts: str, every_call: bool) -> None:
    """A vector holds the same element of many matrices; the rows of one do not fill any."""
    first, second = subscripts.split("->")[0].split(",")
    a, b = (RNG.random([N if c == "n" else 4 for c in part]) for part in (first, second))

    def f(a, b):
        return np.sum(np.einsum(subscripts, a, b) ** 2)

    tape = rewrite(trace(f, (a, b)).tape)
    written = write_out_short_axes(tape)
    assert written is not tape
    assert all(v.shape in ((), (N,), (4, 4), (4,)) for op in walk(written.operations) for v in op.outputs)
    check_gradient(f, a, b, every_call=every_call)


def test_products_of_long_and_narrow_matrices_stay() -> None:
    tape = rewrite(trace(lambda a, b: np.sum((a @ b) ** 2), (RNG.random((200, 4)), RNG.random((4, 300)))).tape)
    assert write_out_short_axes(tape) is tape


def test_distances_of_one_point_at_a_time() -> None:
    """What an iteration does pays by itself: three coordinates are loaded, and six numbers computed of each."""

    def f(x):
        return sum(np.sum(np.exp(-np.sum((x[i] - x) ** 2, axis=1))) for i in range(len(x)))

    tape = rewrite(vectorise(trace(f, (RNG.random((200, 3)),)).tape))
    written = write_out_short_axes(tape)
    assert any(isinstance(op, Loop) for op in written.operations)
    assert all(v.shape in ((), (200,)) for op in walk(written.operations) for v in op.outputs)


def test_axes_beside_one_whose_extent_differs_stay() -> None:
    """The four blocks of a triangular product, in a loop over their rows."""

    def f(a, b):
        c = np.zeros((65, 80))
        for i in range(65):
            c[i] = a[i, :i] @ b[:i]
        return np.sum(c**2)

    tape = rewrite(vectorise(trace(f, (RNG.random((65, 65)), RNG.random((65, 80)))).tape))
    assert any(v.shape[:1] == (4,) and is_ragged(v.shape) for op in walk(tape.operations) for v in op.outputs)
    verify(write_out_short_axes(tape))


def sums_of_windows(x):
    total = 0.0
    for i in range(len(x) - 9):
        total += np.sum(x[i : i + 9]) ** 2
    return total


def moving_average(x):
    y = np.zeros(len(x))
    for i in range(4, len(x) - 4):
        y[i] = np.mean(x[i - 4 : i + 5])
    return np.sum(np.sin(y))


def filtered(x):
    y, weights = np.zeros(len(x) - 9), np.linspace(0.1, 1.0, 9)
    for i in range(len(y)):
        y[i] = x[i : i + 9] @ weights + np.sum(np.cos(x[i : i + 9]) * weights)
    return np.sum(y**2)


def spread(x):
    return np.sum(np.lib.stride_tricks.sliding_window_view(x, 7).std(axis=-1))


def box(x):
    a = x.reshape(-1, 20)
    out = np.zeros_like(a)
    for i in range(1, len(a) - 1):
        for j in range(1, 19):
            out[i, j] = np.mean(a[i - 1 : i + 2, j - 1 : j + 2])
    return np.sum(np.sin(out))


WINDOWS = [sums_of_windows, moving_average, filtered, spread, box]


@pytest.mark.parametrize("f", WINDOWS, ids=lambda f: f.__name__)
def test_windows_that_overlap(f) -> None:
    x = np.random.default_rng(3).normal(size=400)
    check_gradient(f, x, every_call=False)
    if f is not box:
        tape = write_out_short_axes(vectorise(trace(f, (x,)).tape))
        assert not any(isinstance(op, Loop) or 9 in v.shape for op in walk(tape.operations) for v in op.inputs)


def test_long_windows_stay_as_they_are() -> None:
    def f(x):
        y = np.zeros(len(x) - 40)
        for i in range(len(y)):
            y[i] = np.sum(x[i : i + 40])
        return np.sum(y**2)

    x = np.random.default_rng(3).normal(size=400)
    assert any(isinstance(op, Loop) for op in vectorise(trace(f, (x,)).tape).operations)
    check_gradient(f, x, every_call=False)


def test_powers_of_known_exponents_are_products() -> None:
    def f(x, c):
        halves = np.sum(x[:, None] ** np.array([0.5, 2.0, -1.0]) * c[:3], axis=1)
        return np.sum(((x[:, None] ** np.arange(6)) @ c) ** 2 + np.sin(halves))

    x, c = 0.5 + np.random.default_rng(3).random(100), np.linspace(-1.0, 1.0, 6)
    check_gradient(f, x, c, every_call=False)
    tape = rewrite(write_out_short_axes(rewrite(trace(f, (x, c)).tape)))
    applied = [op for op in walk(tape.operations) if isinstance(op, Apply)]
    assert not any(op.primitive == "power" for op in applied)
    assert {op.params["n"] for op in applied if op.primitive == "integer_power"} == {-1, 2, 3, 4, 5}


def few_classes(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 2)


@pytest.mark.parametrize("classes", [3, 7])
def test_the_largest_of_few(classes) -> None:
    """Ties share equally, as over many; what is not a number is passed on."""
    x = RNG.integers(-2, 2, size=(N, classes)) / 2
    plan = planned_ad.compile(few_classes, (x,))
    assert plan.explain("value_and_gradient").workspace_bytes <= 64
    check_gradient(few_classes, x, every_call=False)
    largest = planned_ad.compile(lambda x: np.sum(np.exp(x.max(axis=1)) - np.exp(x.min(axis=1))), (x,))
    dx = largest.gradient(x)
    row = x[0]
    for extremum, sign in ((row.max(), 1), (row.min(), -1)):
        attained = row == extremum
        if row.max() > row.min():
            assert_close(dx[0][attained], np.full(attained.sum(), sign * np.exp(extremum) / attained.sum()))
    x[1, 1] = np.nan
    assert np.isnan(largest(x)) and np.isnan(plan(x))


def test_the_largest_along_another_axis() -> None:
    """What is written out is the other one, of three elements."""

    def f(x):
        y = np.exp(x) * np.sum(np.sin(x) ** 2, axis=2, keepdims=True)
        return np.sum(y.max(axis=1) ** 2)

    check_gradient(f, RNG.normal(size=(40, 5, 3)), every_call=False)
