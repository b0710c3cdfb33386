"""Blocks of rows that run through loops by themselves: the same numbers, and little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import planned_ad
from planned_ad import planner
from planned_ad.planning import parted_rows, row_blocks
from planned_ad.tape.tape import Loop, Operation, Tape, walk

from .oracle import check_gradient
from .sweeps import left_out, rotated
from .test_row_blocks import assert_same

ROWS, STEPS = 22, 18


def arguments(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Rows of three, a row for each step, a column for each, parameters."""
    rng = np.random.default_rng(seed)
    shapes = (ROWS, 3), (STEPS, ROWS), (ROWS, STEPS), (4,)
    return tuple(0.5 * rng.normal(size=shape) for shape in shapes)


def paths(a, b, c, p):
    s, total = np.exp(a[:, 0]), np.zeros(ROWS)
    for t in range(STEPS):
        s = s * (1.0 + p[0] * 0.01 + p[1] * b[t])
        total = total + s
    return np.mean(np.maximum(total / STEPS - p[2], 0.0) * s)


def sweeps_in_place(a, b, c, p):
    for _ in range(STEPS):
        a *= 1.0 + 0.1 * a
    return np.sum(a)


def filtered_columns(a, b, c, p):
    y = np.empty_like(c)
    y[:, 0] = p[0] * c[:, 0]
    for j in range(1, STEPS):
        y[:, j] = p[0] * c[:, j] + p[1] * c[:, j - 1] + p[2] * y[:, j - 1]
    z = np.zeros_like(c)
    for j in range(STEPS - 2, -1, -1):
        z[:, j] = p[3] * c[:, j + 1] + p[1] * z[:, j + 1]
    return np.sum((y + z) ** 2)


def rows_of_memory(a, b, c, p):
    h = np.zeros((STEPS + 1, ROWS))
    h[0] = a[:, 1]
    for t in range(STEPS):
        h[t + 1] = np.tanh(h[t] + b[t]) * p[1]
    return np.sum(h * h) + np.sum(np.sin(h[STEPS]))


def short_rows(a, b, c, p):
    v = np.zeros_like(a)
    for t in range(STEPS):
        force = -p[0] * a * np.exp(-np.sum(a * a, axis=1, keepdims=True)) + p[1:] * b[t][:, None]
        v = v + 0.1 * force
        a = a + 0.1 * v
    return np.sum(a[:, 0] * v[:, 1])


def parameters_of_each_step(a, b, c, p):
    w = np.outer(np.arange(1.0, STEPS + 1), p[:3])
    for t in range(STEPS):
        a = np.sin(a * w[t] + t * 0.1)
    return np.sum(a**2)


def loops_in_loops(a, b, c, p):
    s = a[:, 0]
    for t in range(STEPS - 1):
        for k in range(t, t + 2):
            s = s + 0.1 * np.cos(s * c[:, k]) * p[k - t]
        s = s * p[3]
    return s @ s


def only_a_sum_leaves(a, b, c, p):
    loss = 0.0
    for t in range(STEPS):
        r = np.tanh(a @ p[:3] * b[t]) - c[:, t]
        loss += np.sum(r * r)
    return loss


def matrices_of_each_step(a, b, c, p):
    m = np.sin(np.arange(STEPS * 9.0)).reshape(STEPS, 3, 3)
    for t in range(STEPS):
        a = np.tanh(a @ m[t]) + p[0]
    return np.sum(a**2)


def mean_feeds_back(a, b, c, p):
    for t in range(STEPS):
        a = a - 0.1 * np.mean(np.exp(a), axis=0) * b[t][:, None]
    return np.sum(a**2)


def neighbours(a, b, c, p):
    s = a[:, 0].copy()
    for _ in range(STEPS):
        s[1:-1] += 0.1 * (s[2:] - 2.0 * s[1:-1] + s[:-2]) * p[0]
    return np.sum(s**2)


def upside_down(a, b, c, p):
    s = a[:, 0].copy()
    for t in range(STEPS):
        s = np.sin(s[::-1] + b[t])
    return np.sum(s**3)


def rows_and_columns(a, b, c, p):
    square = np.outer(a[:, 0], a[:, 1])
    for t in range(ROWS):
        square[:, t] += np.sin(square[t, :]) * p[0]
    return np.sum(square**2)


def rows_move_on(a, b, c, p):
    ring = np.zeros(ROWS + STEPS)
    ring[:ROWS] = a[:, 0]
    for t in range(STEPS):
        ring[t + 1 : t + 1 + ROWS] = np.sin(ring[t : t + ROWS]) + b[t]
    return np.sum(ring**2)


def sums_beside_steps(a, b, c, p):
    loss, s, t = 0.0, a[:, 0], 0.1
    for k in range(STEPS):
        s = np.tanh(s * p[0] + b[k])
        loss = loss + np.sum(s * c[:, k]) + np.sum(s)
        loss += np.mean(np.cos(s)) * t
    return loss + s @ s


def stacked_states(a, b, c, p):
    def slopes(y):
        return np.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])

    y = a.T.copy()
    for _ in range(STEPS):
        half = y + 0.005 * slopes(y)
        y = y + 0.01 * slopes(half)
    return np.sum(y**2)


def memory_of_the_caller(a, b, c, p):
    for t in range(STEPS):
        a[:, 0] += np.sin(a[:, 1]) * b[t]
        c[:, t] = a[:, 0] * p[0]
    return np.sum(a * a) + np.sum(c[:, -1])


THROUGH = [
    paths,
    sweeps_in_place,
    filtered_columns,
    rows_of_memory,
    short_rows,
    parameters_of_each_step,
    loops_in_loops,
    memory_of_the_caller,
    matrices_of_each_step,
    sums_beside_steps,
    stacked_states,
    mean_feeds_back,  # of each column
]
AROUND = [
    neighbours,
    upside_down,
    rows_and_columns,
    rows_move_on,
    only_a_sum_leaves,
]  # whose rows need each other, or hand nothing on


@pytest.fixture
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is worth it, in blocks of a few rows."""
    numbers = dict(
        WORTH=1, LOOP_WORTH=1, BLOCK_NBYTES=64, LOOP_NBYTES=request.param, LOOP_ROWS=2, LINE=1, MOST_NBYTES=1 << 30
    )
    for name, number in numbers.items():
        monkeypatch.setattr(row_blocks if name == "WORTH" else parted_rows, name, number)
    yield


def loops_inside(operations: tuple[Operation, ...]) -> int:
    """How many loops of the program are in loops over blocks, which are newer."""
    outer = [op for op in operations if isinstance(op, Loop)]
    return sum(isinstance(op, Loop) and op.index < loop.index for loop in outer for op in walk(loop.body))


@pytest.mark.parametrize(("f", "small"), rotated([*THROUGH, *AROUND], [64, 600]), indirect=["small"])
def test_the_same_numbers(f: Callable, small: None) -> None:
    tape: Tape = assert_same(f, *arguments(), kind="value_and_gradient", unroll=0)
    assert (loops_inside(tape.operations) > 0) == (f in THROUGH)


STATEMENTS = [
    "s = np.sin(s) * {p} + {row}",
    "s = s + 0.1 * np.tanh(a[:, {k}] * {row})",
    "a[:, {k}] = np.tanh(a[:, {k}] * {p} + 0.1 * s)",
    "a = a + 0.1 * np.cos(a) * s[:, None]",
    "h[t + 1] = np.tanh(h[t] * {p} + s)",
    "y[:, t + 1] = y[:, t] * {p} + np.sin(s)",
    "y[:, t] += s * {row}",
    "s = np.tanh(s)",
    "s = s + h[t] * 0.1 + y[:, t]",
    "loss += np.sum(s * {row})",
    "g[{k}] += np.sum(np.cos(a[:, {k}]) * {p})",
    "s = s * np.cos(np.sum(a * a, axis=1))",
    "s = s - 0.01 * np.sum(a @ p[:3]) * 0.1",
    "s = s[::-1] * 0.5",
    "s[1:] = s[:-1] + {row}[1:]",
    "h[t] = h[t] + np.roll(s, 1) * 0.1",
    "a *= 1.0 - 0.01 * t",
    "s = np.where(s > {p}, s, 0.5 * {row})",
    "h[t + 1, ::2] = s[::2]",
    "z = np.stack([s, a[:, {k}] * {p}, s * {p}])\n{indent}s = np.tanh(z[0] - z[2] + z[1] * {p})",
]


def random_function(seed: int) -> Callable:
    rng = np.random.default_rng(seed)

    def drawn(depth: int) -> list[str]:
        rows = ["b[t]", "c[:, t]", "a[:, 1]", "(b[t] * b[0])"]
        numbers = ["p[0]", "p[t % 4]" if depth else "p[1]", "0.7", "(0.1 * t)", "(p[2] * p[3])"]
        found = []
        for _ in range(rng.integers(1, 5)):
            statement = STATEMENTS[rng.integers(len(STATEMENTS))]
            indent = "    " * (depth + 1)
            line = statement.format(k=rng.integers(3), row=rng.choice(rows), p=rng.choice(numbers), indent=indent)
            found.append("    " * depth + line)
        return found

    lines = ["s = a[:, 0] * p[3]", f"h = np.zeros(({STEPS + 1}, {ROWS}))", f"y = np.zeros(({ROWS}, {STEPS + 1}))"]
    lines += ["loss = 0.0", "g = np.zeros(3)", "t = 0"]
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.7:
            lines += [f"for t in range({STEPS}):", *drawn(1), "    s = np.tanh(s)"]
        else:
            lines += drawn(0)
    lines += ["return loss + np.sum(s * s) + np.sum(a * a) + np.sum(h[3] * y[:, 2]) + np.sum(np.sin(y)) + g @ p[:3]"]
    source = "def f(a, b, c, p):\n" + "\n".join(f"    {line}" for line in lines)
    scope: dict = {"np": np}
    exec(compile(source, f"<random rows {seed}>", "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("small", [64, 600], indirect=True)
@pytest.mark.parametrize("seeds", [range(2), *(left_out(range(k, k + 10)) for k in range(2, 1000, 10))], ids=str)
def test_random_programs(seeds: range, small: None) -> None:
    for seed in seeds:
        try:
            assert_same(random_function(seed), *arguments(seed), kind="value_and_gradient", unroll=0)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("f", [paths, filtered_columns, short_rows])
def test_compiled(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in dict(WORTH=1, LOOP_WORTH=1, LOOP_NBYTES=600, LOOP_ROWS=2, STRIP_NBYTES=16).items():
        monkeypatch.setattr(row_blocks if name == "WORTH" else parted_rows, name, number)
    monkeypatch.setattr(planner, "WORTH", 1)
    plan = check_gradient(f, *arguments(), every_call=False)
    assert "rows at a time" in str(plan.explain())


def test_no_step_of_a_loop_over_large_arrays_is_whole() -> None:
    def f(x):
        for _ in range(17):
            x = x * (1.0 + 0.01 * x)
        return np.sum(x)

    plan = planned_ad.compile(f, np.linspace(-1.0, 1.0, 100_000), check=False, unroll=0)
    assert plan.explain().workspace_bytes < 200_000 < 17 * 800_000
