"""Rows in blocks: the same derivatives by the interpreter, whatever the sizes of blocks, and little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import planned_ad
from planned_ad import planner
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.planner import plan_as_it_is, plan_memory
from planned_ad.planning import fetches, parted_rows, row_blocks
from planned_ad.planning.row_blocks import in_row_blocks
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, Load, Loop, Tape, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .oracle import assert_close, check_gradient, memories_for, shadows_in
from .random_programs import function_of
from .sweeps import left_out, rotated

LABELS = np.random.default_rng(3).integers(0, 5, 23)


def softmax(x, y):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.sum(e / e.sum(axis=1, keepdims=True) * y)


def log_likelihood(x, y):
    d = (x[:, None, :] - y[None, :4]) * np.exp(y[:4])
    q = -0.5 * np.sum(d * d, axis=2)
    m = q.max(axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(q - m), axis=1)) + m[:, 0]) - np.sum(y)


def rotation(x, y):
    angle = np.sqrt(np.sum(x * x, axis=1, keepdims=True))
    axis, c = x / angle, np.cos(angle)
    turned = c * y + np.sin(angle) * np.cross(axis, y) + (1 - c) * axis * np.sum(axis * y, axis=1, keepdims=True)
    return np.sum((turned[:, :2] / (10.0 + turned[:, 2:3])) ** 2)


def in_place(x, y):
    x *= np.sin(y)
    x[:, 1:] += x[:, :-1] * y[:, 1:]
    t = np.tanh(x)
    x[...] = t * x
    return np.sum(t * y + x**3)


def normalised(x, y):
    z = (x - x.mean(axis=0)) / (0.1 + x.std(axis=0))
    return np.sum(np.tanh(z) ** 2 * y) + np.max(z * y)


def looked_up(x, y):
    rows = np.sin(y[LABELS[: len(x)] % len(y)])
    return np.sum(rows * np.exp(x)) + np.sum(x[:, 0] * rows[:, 1] ** 2)


def products(x, y):
    hidden = np.tanh(x @ y[:3].T)
    return np.sum(np.exp(-hidden) @ y[:3] * x) + np.sum((x.T @ np.cos(x)) ** 2)


def pairs(x, y):
    d = x[:, None, :] - x[None, :, :]
    return np.sum(1.0 / np.sqrt(np.sum(d * d, axis=2) + 0.1)) + np.sum(y * x)


def columns(x, y):
    a, b = x.T, y.T
    return np.sum(np.exp(a * b).sum(axis=0) * np.log(1.0 + (a * a).sum(axis=0)))


def twice(x, y):
    p = np.exp(x) / np.sum(np.exp(x))
    return np.sum(np.log(p) * y) + np.sum(p * p, axis=1) @ y[:, 0]


def descended(x, y):
    w = np.array([0.1, -0.2, 0.3])
    for _ in range(40):
        r = np.tanh(np.exp(x * 0.1) @ w) - y[:, 0]
        w = w - 0.01 * (x.T @ r)
    return np.sum(w * w)


def stepped(x, y):
    for _ in range(30):
        e = np.exp(-x * x)
        x = x + 0.1 * e / np.sum(e, axis=1, keepdims=True) * y
        x[:, 1] *= 0.9
    return np.sum(x**2)


def repeated(x, y):
    w = np.array([0.1, -0.2, 0.3])
    for _ in range(30):
        p = np.exp(x[:, :, None] * w) * y[:, None, :]
        w = w - 0.01 * np.sum(p, axis=(0, 1))
    return np.sum(w * w)


def both_ways(x, y):
    residual = np.tanh(x @ y[0]) - y[:, 1]
    return residual @ residual + np.sum(x.sum(axis=0) ** 2) + np.sum((x.T @ residual) * y[1])


def along_columns(x, y):
    a = x.T
    return np.sum(np.exp(a @ y[:, 0]) * (y[0] @ a).max()) + np.sum(a.sum(axis=0) * np.sin(y[:, 2]))


def iterated(x, y):
    v = y[1]
    for _ in range(30):
        v = x.T @ (x @ v)
        v = v / np.sqrt(v @ v)
    return v @ y[0]


PROGRAMS = [softmax, log_likelihood, rotation, in_place, normalised, looked_up, products, pairs, columns, twice]
PROGRAMS += [both_ways, along_columns]
IN_LOOPS = [descended, stepped, repeated, iterated]


BLOCKS = {"rows first": (64, 3), "rows last": (200, 0), "larger blocks": (700, 0)}


@pytest.fixture(params=BLOCKS)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Everything is worth it, in blocks of a few rows."""
    nbytes, pays = BLOCKS[request.param]
    for name, number in dict(WORTH=1, BLOCK_NBYTES=nbytes, PAYS=pays, LANES=2, LINE=1, MOST_NBYTES=1 << 30).items():
        monkeypatch.setattr(row_blocks if name == "WORTH" else parted_rows, name, number)
    monkeypatch.setattr(fetches, "FAR", 1)
    monkeypatch.setattr(parted_rows, "VECTOR", 1)
    yield nbytes


def arguments(f: Callable, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    return rng.normal(size=(rows, 3)) + 0.2, rng.normal(size=(rows, 3))


def run(tape: Tape, traced: Trace, args: tuple) -> dict:
    memories = memories_for(verify(tape), traced, tuple(np.copy(a) for a in args), {}, [])
    interpret(tape, memories)
    results = [buffer.id for buffer in tape.buffers if buffer.kind == "result"]
    written = [id for id in tape.arguments if not tape.buffers[id].shadow_of]
    return {**{id: np.copy(memories[id]) for id in (*results, *written)}, **shadows_in(tape, memories)}


def assert_same(f: Callable, *args: np.ndarray, kind: str = "gradient", **options: int) -> Tape:
    traced = trace(f, tuple(np.copy(a) for a in args), **options)
    plain = entry_tape(traced, KINDS[kind], False)
    expected = run(plain, traced, args)
    for again in (frozenset(b.id for b in plain.buffers if b.visible), frozenset[int]()):
        parted, notes = in_row_blocks(plain, again)
        assert bool(notes) == (parted is not plain)
        found = run(parted, traced, args)
        assert expected.keys() == found.keys()
        for id, numbers in expected.items():
            assert_close(found[id], numbers, f"buffer {id}")
    return parted


@pytest.mark.parametrize("rows", [22, 23])
@pytest.mark.parametrize(("f", "small"), rotated(PROGRAMS, BLOCKS), indirect=["small"])
def test_the_same_numbers(f: Callable, rows: int, small: int) -> None:
    parted = assert_same(f, *arguments(f, rows))
    assert any(isinstance(op, Loop) for op in parted.operations) or small > 500  # then hardly anything is saved


@pytest.mark.parametrize("f", IN_LOOPS)
def test_in_loops(f: Callable, small: int) -> None:
    loops = [op for op in walk(assert_same(f, *arguments(f, 22)).operations) if isinstance(op, Loop)]
    inner = [op for loop in loops for op in loop.body if isinstance(op, Loop)]
    assert inner or f in (descended, iterated) or small > 500  # where hardly anything would be whole


@pytest.mark.parametrize("f", [log_likelihood, rotation, stepped, both_ways, iterated])
def test_compiled(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetches, "FAR", 1 if f in (both_ways, iterated) else fetches.FAR)
    monkeypatch.setattr(parted_rows, "VECTOR", 1)
    for name, number in dict(WORTH=1, BLOCK_NBYTES=500, PAYS=0).items():
        monkeypatch.setattr(row_blocks if name == "WORTH" else parted_rows, name, number)
    monkeypatch.setattr(planner, "WORTH", 1)
    plan = check_gradient(f, *arguments(f, 61), every_call=False)
    assert plan.explain().blocked or f is stepped  # whose loop keeps more than a block saves
    assert "rows at a time" in str(plan.explain()) or f is stepped


@pytest.mark.parametrize("f", [both_ways, iterated])
def test_fetched_once(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = entry_tape(trace(f, arguments(f, 61)), KINDS["gradient"], False)
    monkeypatch.setattr(fetches, "FAR", 1)
    monkeypatch.setattr(parted_rows, "VECTOR", 1)
    whole = plan_as_it_is(tape)
    monkeypatch.setattr(row_blocks, "WORTH", 1)
    plan = plan_memory(tape)
    assert any(note.once for note in plan.blocked)
    assert 2 * fetches.fetched_again(plan).total() <= fetches.fetched_again(whole).total()


@pytest.mark.parametrize("seed, count", [(5, 3), left_out((5, 12)), left_out((6, 100))])
def test_random_programs(small: int, seed: int, count: int) -> None:
    rng, loops = np.random.default_rng(seed), 0
    for _ in range(count):
        f = function_of(random_program(rng))
        loops += any(isinstance(op, Loop) for op in assert_same(f, *arguments(f, 7)).operations)
    assert loops >= count / 2


def random_program(rng: np.random.Generator) -> str:
    """A few statements on rows, in and out of place, with totals in between."""
    names, lines = ["x", "y"], []
    for k in range(rng.integers(4, 12)):
        a, b = rng.choice(names, 2)
        i = rng.integers(3)
        new = f"v{k}"
        lines.append(
            rng.choice(
                [
                    f"{new} = np.sin({a}) * {b}",
                    f"{new} = {a} + 0.3 * {b}[:, {i}:{i + 1}]",
                    f"{new} = {a} * np.sum({b}, axis=1, keepdims=True)",
                    f"{new} = {a} - np.mean({b}, axis=0)",
                    f"{new} = np.tanh({a}) * np.sum({b} * {b})",
                    f"{new} = {a}.copy(); {new}[:, {i}] *= {b}[:, {2 - i}]",
                    f"{new} = np.zeros_like({a}); {new}[:, 1:] = {b}[:, :-1]",
                    f"{new} = {a} @ ({b}.T @ {b}) * 0.01",
                    f"{new} = {a}[::-1] * 0.5 + np.cos({b})",
                    f"{new} = np.where({a} > 0.1, {b}, {a} * {b})",
                    f"x[:, {i}] = np.sin({a}[:, {2 - i}]); {new} = x * {b}",
                    f"x += 0.1 * {a}; {new} = {b}",
                    f"{new} = x[{i}] * {a}",
                ]
            )
        )
        names.append(new)
    lines.append(f"return np.sum(np.tanh({names[-1]})) + np.sum(np.sin({names[-2]}) * {rng.choice(names)})")
    return "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines)


def test_what_only_rows_use_is_never_whole() -> None:
    rng = np.random.default_rng(0)
    args = rng.normal(size=(600, 200)), rng.normal(size=(600, 200))
    plan = plan_memory(entry_tape(trace(softmax, args), KINDS["gradient"], False))
    assert plan.workspace_nbytes < 40_000  # 1.9 MB for `e` and what is made of it, each whole
    (note,) = plan.blocked
    assert note.rows == 600 and 1 <= note.together < 20 and note.nbytes > 900_000
    assert note.line.text == "e = np.exp(x - x.max(axis=1, keepdims=True))"
    whole = [op for op in plan.tape.operations if isinstance(op, Load) and op.out.size > 200]
    assert not whole and sum(isinstance(op, Loop) for op in walk(plan.tape.operations)) == 1


def test_what_is_small_stays_as_it_is() -> None:
    tape = entry_tape(trace(softmax, (np.zeros((20, 30)), np.zeros((20, 30)))), KINDS["gradient"], False)
    assert in_row_blocks(tape) == (tape, ())


def test_columns_of_memory_are_not_rows() -> None:
    """Sums over the first axis are known before the next pass: a loop over the second axis would read columns."""

    def f(x):
        return np.sum(np.exp(x - x.mean(axis=0)) ** 2)

    tape = entry_tape(trace(f, (np.ones((40_000, 4)),)), KINDS["gradient"], False)
    loops = [op for op in in_row_blocks(tape)[0].operations if isinstance(op, Loop)]
    assert all(op.trips > 4 for op in loops)


def test_columns_that_are_written_are_not_the_rows_that_were_read() -> None:
    """Of a square matrix, of which both have the same layout."""

    def sums(x: np.ndarray, b: np.ndarray) -> np.ndarray:
        sums = np.exp(x).sum(axis=1)
        v = np.exp(b)
        columns = v.sum(axis=0)
        x[...] = v / columns
        return sums / columns

    x, b = np.random.default_rng(0).standard_normal((2, 400, 400))
    plan = planned_ad.compile(sums, (x, b), check=False)
    np.testing.assert_allclose(plan(x.copy(), b), sums(x.copy(), b), rtol=1e-12)


def test_a_square_matrix_is_turned_in_its_place() -> None:
    def f(x: np.ndarray) -> float:
        x[...] = np.sin(x).T
        return np.sum(x * np.arange(200.0))

    x = np.random.default_rng(0).standard_normal((200, 200))
    plan, wanted = planned_ad.compile(f, (x,), check=False), x.copy()
    value, found = f(wanted), x.copy()
    assert plan(found) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    np.testing.assert_allclose(plan.gradient(x.copy()), np.cos(x) * np.arange(200.0)[:, None], rtol=1e-12)


def test_divisions_by_a_number_of_a_row_are_products_in_blocks_too() -> None:
    """Each sweep has one division for each row: the reciprocal of the sum, which refines the primal's quotients."""
    x = np.random.default_rng(0).random((1000, 100))
    memory = plan_memory(entry_tape(trace(softmax, (x, x.copy())), KINDS["gradient"], preserve_args=False))
    assert memory.blocked
    names = [op.primitive for op in walk(memory.tape.operations) if isinstance(op, Apply) and op.out.size > 100]
    assert "divide" not in names and names.count("refined_quotient") == 1


@pytest.mark.parametrize("rows", [2, 3])
def test_rows_that_are_columns_of_what_is_stacked(rows: int) -> None:
    n = 40_000
    k = np.linspace(1.0, 2.0, n)

    def f(s, v):
        d = np.stack([s / v, s / v - v, v * k][:rows])
        return np.sum(np.stack([s, np.exp(-k), v][:rows]) * np.exp(-d * d))

    rng = np.random.default_rng(2)
    s, v = 1.0 + rng.random((2, n))
    plan = planned_ad.compile(f, (s, v))
    (ds, dv), step = plan.gradient(s, v), 1e-6
    direction = rng.random(n)
    slope = (f(s + step * direction, v - step * direction) - f(s - step * direction, v + step * direction)) / (2 * step)
    assert (ds - dv) @ direction == pytest.approx(slope, rel=1e-7)


def test_rows_that_are_turned_for_two_products() -> None:
    def f(core, a, b, c):
        return np.sum(np.tensordot(np.tensordot(np.tensordot(core, a, (0, 1)), b, (0, 1)), c, (0, 1)) ** 2)

    rng = np.random.default_rng(4)
    parted = assert_same(f, rng.random((10, 10, 10)), *rng.random((3, 30, 10)))
    assert any(isinstance(op, Loop) for op in parted.operations)
