"""Loops of products whose rows grow or shrink are products of blocks, with the same numbers and derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.vectorise import growing_axes
from planned_ad.passes.vectorise.growing_axes import GrowingAxis
from planned_ad.passes.vectorise.triangle_pieces import InPiece, Piece, piece_width, triangle_pieces
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.regions.affine import Affine, affine, at
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.tape import Apply, Loop, Operation, Tape, walk
from planned_ad.trace import trace

from .oracle import assert_close, check_gradient
from .sweeps import sweep

ROWS, DEPTH = 40, 26


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small triangles are worth it."""
    monkeypatch.setattr(growing_axes, "LEAST_WORK", 1 << 15)


def arguments(seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape) for shape in ((ROWS, DEPTH), (ROWS, ROWS), (ROWS, DEPTH), (3,)))


def covariance(a, s, b, p):
    c = np.zeros((ROWS, ROWS))
    for i in range(ROWS):
        c[i:, i] = c[i, i:] = a[i] @ a[i:].T / p[0]
    return np.sum(c * s)


def correlation(a, s, b, p):
    t = np.ascontiguousarray(a.T)
    c = np.eye(ROWS)
    for i in range(ROWS - 1):
        c[i + 1 :, i] = c[i, i + 1 :] = t[:, i] @ t[:, i + 1 :]
    return np.sum(c * s)


def rank_updates(a, s, b, p):
    c = s.copy()
    for i in range(ROWS):
        c[i, : i + 1] *= p[1]
        for k in range(DEPTH):
            c[i, : i + 1] += a[: i + 1, k] * p[0] * b[i, k] + b[: i + 1, k] * p[0] * a[i, k]
    return np.sum(c**2)


def triangular_times_matrix(a, s, b, p):
    y = a.copy()
    for i in range(ROWS):
        for j in range(DEPTH):
            y[i, j] += np.dot(s[i + 1 :, i], y[i + 1 :, j])
    return np.sum((p[0] * y) ** 2)


def symmetric_times_matrix(a, s, b, p):
    c = b * p[1]
    row = np.empty(DEPTH)
    for i in range(ROWS):
        for j in range(DEPTH):
            c[:i, j] += p[0] * a[i, j] * s[i, :i]
            row[j] = a[:i, j] @ s[i, :i]
        c[i, :] += p[0] * a[i, :] * s[i, i] + p[0] * row
    return np.sum(c**2)


def backwards(a, s, b, p):
    c = np.zeros((ROWS, DEPTH))
    for i in range(ROWS - 1, 2, -1):
        c[i] = s[i, : i - 2] @ a[: i - 2]
    return np.sum(c * b)


def trapezoid(a, s, b, p):
    c = np.zeros((ROWS, ROWS))
    for i in range(ROWS - 5):
        c[i, : i + 6] = np.tanh(a[: i + 6] @ b[i])
    return np.sum(c * s)


def weighted_columns(a, s, b, p):
    c = np.zeros((ROWS, ROWS))
    for i in range(ROWS):
        c[i:, i] = (a[i:] * p[0]) @ (b[i] * a[i])
    return np.sum(np.exp(0.1 * c) * s)


CUT = (
    covariance,
    correlation,
    rank_updates,
    triangular_times_matrix,
    symmetric_times_matrix,
    backwards,
    trapezoid,
    weighted_columns,
)


def substitution(a, s, b, p):
    """Rows need those that were computed before."""
    y = a.copy()
    for i in range(ROWS):
        y[i] -= 0.1 * s[i, :i] @ y[:i]
    return np.sum(y**2)


def read_beside_additions(a, s, b, p):
    """What is added to is read in between."""
    c, total = s.copy(), 0.0
    for i in range(ROWS):
        c[:i] += np.outer(a[:i, 0], s[i])
        total = total + np.sum(np.sin(c[0]))
    return total


def normalised(a, s, b, p):
    """A sum along the growing axis is a factor of what it sums."""
    c = np.zeros((ROWS, DEPTH))
    for i in range(1, ROWS):
        w = np.exp(a[:i] @ b[i])
        c[i] = (w / np.sum(w)) @ a[:i]
    return np.sum(c * b)


def overwritten(a, s, b, p):
    """The products read what the loop has overwritten before."""
    y, c = a.copy(), np.zeros((ROWS, ROWS))
    for i in range(ROWS):
        y[i] = np.sin(y[i])
        c[i, : i + 1] = y[: i + 1] @ b[i]
    return np.sum(c * s)


OTHERS = (substitution, read_beside_additions, overwritten)


def loops_of(tape: Tape) -> list[Loop]:
    return [op for op in walk(tape.operations) if isinstance(op, Loop)]


@pytest.mark.parametrize("program", CUT)
def test_products_are_cut(program: Callable) -> None:
    found = vectorise(trace(program, arguments()).tape)
    assert any(is_square(op) for op in walk(found.operations))
    assert not any(loop.trips > 20 and any(map(is_product, loop.body)) for loop in loops_of(found))


def is_product(op: Operation) -> bool:
    return isinstance(op, Apply) and op.primitive == "contract"


def is_square(op: Operation) -> bool:
    """Whether this is a product of matrices with half as many rows as there are at least."""
    return isinstance(op, Apply) and is_product(op) and op.out.size >= (ROWS // 2 - 3) ** 2


@pytest.mark.parametrize("program", sweep((*CUT, *OTHERS, normalised), slice(None, None, 2)))
def test_gradients_are_the_same(program: Callable) -> None:
    check_gradient(program, *arguments(), every_call=False)


@pytest.mark.parametrize("program", OTHERS)
def test_what_has_to_stay_stays_a_loop(program: Callable) -> None:
    found = vectorise(trace(program, arguments()).tape)
    assert not any(is_square(op) for op in walk(found.operations))
    assert any(loop.trips >= ROWS - 1 for loop in loops_of(found))


@pytest.mark.parametrize("program", (triangular_times_matrix, symmetric_times_matrix, backwards))
def test_only_the_triangle_is_read(program: Callable) -> None:
    a, s, b, p = arguments()
    rows, columns = np.indices(s.shape)
    unread = rows < columns
    s[unread] = np.nan
    b = np.ones_like(b)
    plan = planned_ad.compile(program, (a, s, b, p))
    value, (da, ds, _, dp) = plan.value_and_gradient(a, s, b, p)
    assert np.isfinite(value) and np.isfinite(da).all() and np.isfinite(dp).all()
    assert not ds[unread].any() and np.isfinite(ds).all()
    assert_close(value, program(a.copy(), s, b, p))


def test_what_is_not_finite_stays_where_it_belongs() -> None:
    """A row that only some products have is no factor of others, not even with zero."""
    a, s, *_ = arguments()
    a[-1] = np.inf
    plan = planned_ad.compile(lambda a, s: np.sum(triangle_of(a, s)[:-1] ** 2), (a, s))
    value, (da, ds) = plan.value_and_gradient(a, s)
    assert np.isfinite(value)
    assert np.isfinite(da).all() and np.isfinite(ds[:-1]).all()


def triangle_of(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    c = np.zeros((ROWS, DEPTH))
    for i in range(ROWS):
        c[i] = s[i, : i + 1] @ a[: i + 1]
    return c


def test_a_plan_has_one_function_for_products_of_all_sizes() -> None:
    def lower(a, s):
        c = np.zeros((70, 70))
        for i in range(70):
            c[i, :i] = a[:i] @ a[i]
        return np.sum(c * s)

    rng = np.random.default_rng(0)
    text = planned_ad.compile(lower, (rng.normal(size=(70, 12)), rng.normal(size=(70, 70)))).llvm()
    begun = (line for line in text.splitlines() if line.startswith("define") and ".product" in line)
    functions = {line.split("@")[1].split("(")[0] for line in begun}
    assert 1 <= len(functions) <= 2, "one that stores, one that adds"
    assert text.count("call void @") >= 6


@pytest.mark.parametrize("rows", (32, 33, 47, 64, 101))
@pytest.mark.parametrize("least", (0, 3))
@pytest.mark.parametrize("slope", (1, -1))
@pytest.mark.parametrize("in_front", (False, True))
def test_pieces_cover_each_number_once(rows: int, least: int, slope: int, in_front: bool) -> None:
    loop = Loop(index=0, start=2, step=1, trips=rows, body=())
    first = least - 2 if slope > 0 else least + rows + 1
    extent = affine(first, {0: slope})
    assert isinstance(extent, Affine)
    growth = GrowingAxis(loop, extent, least, in_front)
    counted = iter(range(1, 1000))
    found = np.zeros((rows + 2, least + rows), int)
    for piece in triangle_pieces(growth, lambda: next(counted)):
        for block in range(1 if piece.blocks is None else piece.blocks.trips):
            for row in range(piece.rows):
                count_numbers(found, growth, piece, block, row)
    for index in range(2, rows + 2):
        width = at(extent, {0: index})
        assert (found[index, :width] == 1).all() and not found[index, width:].any()


def count_numbers(found: np.ndarray, growth: GrowingAxis, piece: Piece, block: int, row: int) -> None:
    indices = {piece.index: row} | ({} if piece.blocks is None else {piece.blocks.index: block})
    index = at(growth.index_of(piece.row), indices)
    begin = at(InPiece(lambda *_: None, growth=growth, piece=piece).begin(), indices)  # type: ignore[arg-type]
    width = piece_width(piece)
    width = at(getattr(width, "expression", int(width)), indices)
    assert begin >= 0 and begin + width <= at(growth.extent, {0: index})
    found[index, begin : begin + width] += 1


# Programs written at random.

PARTS = ("[:i]", "[: i + 1]", "[i:]", "[i + 1 :]", "[: n - i]", "[n - i :]", "[i // 2 :]")
STATEMENTS = (
    "c[i]{0} = a{0} @ b[i]",
    "c[i]{0} += a{0} @ (b[i] * p[0])",
    "c{0}[:, i] = b[i] @ a{0}.T",
    "y[i] = s[i]{0} @ a{0}",
    "y[i] -= s[i]{0} @ b{0}",
    "y{0} += np.outer(s[i]{0}, b[i])",
    "y{0} += s{0}[:, i][:, None] * a[i]",
    "y[i] *= p[1]",
    "a[i] = np.sin(a[i])",
    "total = total + np.sum(a{0} @ b[i])",
    "c[i] *= p[2]",
)
RANGES = ("range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(2, n - 3)", "range(0, n, 2)")


def random_program(seed: int) -> str:
    rng = np.random.default_rng(seed)
    choose = lambda options: options[rng.integers(len(options))]  # noqa: E731
    part = choose(PARTS)
    lines = [
        choose(STATEMENTS).format(part if rng.random() < 0.8 else choose(PARTS)) for _ in range(rng.integers(1, 4))
    ]
    body = "\n        ".join(lines)
    return f"""
def f(a, s, b, p):
    n = len(a)
    c, y, total = s.copy(), a.copy(), 0.0
    for i in {choose(RANGES)}:
        {body}
    w = np.cos(np.arange(s.size)).reshape(s.shape)
    return total + np.sum(c * w) + np.sum(y * w[:, : y.shape[1]]) + np.sum(a * w[:, 5 : 5 + y.shape[1]])
"""


@pytest.mark.parametrize("seed", sweep(range(400), slice(0, 40)))
def test_random_programs(seed: int) -> None:
    source = random_program(seed)
    names: dict = {"np": np}
    exec(source, names)
    args = arguments(seed)
    try:
        expected = names["f"](*(x.copy() for x in args))
    except ValueError:
        return  # shapes that do not fit
    traced = trace(names["f"], args, unroll=1)
    tape = vectorise(traced.tape)
    memories = {
        leaf.buffer: memory_of(tape.buffer(leaf.buffer), x.copy())
        for leaf, x in zip(traced.leaves, args)
        if leaf.buffer is not None
    }
    (found,) = interpret(tape, memories)
    size = max(1.0, float(np.sum(np.abs(interpret(traced.tape, memories)[0]))))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * size, err_msg=source)
