"""Lists that loops fill: comprehensions, generators made lists, and `append`, recorded as loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ConversionError
from planned_ad.python.comprehensions import _compiled, rewritten
from planned_ad.tape.tape import walk
from planned_ad.trace import trace

from .recorded_loops import N, followed, loops_of, reasons, recorded, square, vector
from .tracing_oracle import replay

MANY = 5000


def squares(x):
    return np.array([v**2 for v in x])


def by_append(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] ** 2)  # noqa: PERF401
    return np.array(out)


def from_generator(x):
    return np.array(list(v**2 for v in x)) + np.array(tuple(v for v in x)) + np.fromiter((v * 2 for v in x), float)


def recurrence(x):
    values = [0.0]
    for v in x:
        values.append(values[-1] * 0.5 + v)
    return np.array(values)


def several_each_time(x):
    first, second = [], []
    for v in x:
        first.append(v)
        second += [v * 2, v**3]
        first.append(np.sin(v))
    return np.array(first + second)


def on_both_sides(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out.append(v**2)
    return np.array(out)


def chosen(x):
    return sum([v if v > 0 else v**2 for v in x])


def read_and_cut(x):
    y = [v**2 for v in x]
    total = 0.0
    for i, v in enumerate(y):
        total += v * y[-1] + y[i]
    return total + sum(y[1:-1]) + np.dot(y[::-1], x) + len(y)


def made_anew(x):
    u = [v for v in x]
    for _ in range(len(x)):
        u = [np.sin(v) for v in u]
    return sum(u)


def greatest(x):
    return max(v**2 for v in x) + min([np.cos(v) for v in x]) + max((v for v in x[:0]), default=1.0)


PROGRAMS = [
    squares, by_append, from_generator, recurrence, several_each_time, on_both_sides, chosen, read_and_cut, made_anew,
    greatest,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_loop_stays_a_loop(f: Callable) -> None:
    followed(f, vector())
    lengths = [len(list(walk(trace(f, (np.ones(n),)).tape.operations))) for n in (100, MANY)]
    assert lengths[0] == lengths[1]


def test_a_matrix_by_nested_comprehensions() -> None:
    def outer(x):
        return np.array([[a * b**2 for b in x] for a in x])

    assert len(followed(outer, vector())) == 2


def test_rows_are_stacked_and_joined() -> None:
    def f(a):
        rows = [row * row[0] for row in a]
        columns = np.column_stack(rows) + np.stack(rows, axis=1)
        return np.concatenate(rows).reshape(columns.shape) + columns + np.vstack(rows) + np.hstack(rows).sum()

    assert len(followed(f, square())) == 1


def test_lists_are_empty_where_their_loops_do_not_run() -> None:
    def f(x):
        nothing = [v**2 for v in x[:0]]
        return np.array(nothing), sum(nothing), len(nothing), nothing, x + 1

    recorded(f, vector())


def test_a_list_is_returned_as_a_list() -> None:
    def f(x):
        return [v**2 for v in x], {"tuple": tuple(v for v in x)}

    recorded(f, vector())


def test_an_array_in_a_list_stays_the_array_that_it_is() -> None:
    """Writing to it changes the list, and the other way round: then the elements are there one by one."""

    def same_array(x):
        state, states = np.zeros(2), []
        for v in x:
            state += v
            states.append(state)
        return np.array(states)

    def written_later(x):
        states = []
        for v in x:
            state = np.array([v, v**2])
            states.append(state)
        state[0] = 5.0
        return np.array(states)

    def written_in_the_list(a):
        rows = [row for row in a]
        rows[1][0] = 5.0
        a[2, 0] = 7.0
        return np.array(rows) + a

    def in_a_list_in_a_list(x):
        rows = [[v, 2 * v] for v in x]
        rows[2].append(x[0])
        return np.array(rows[2])

    assert len(loops_of(recorded(same_array, vector()))) == 1
    for f, argument in ((written_later, vector()), (written_in_the_list, square()), (in_a_list_in_a_list, vector())):
        assert reasons(f, argument)


def test_a_set_with_a_filter_is_unrolled() -> None:
    assert "comprehension" in reasons(lambda x: sum({k: v for k, v in enumerate(x) if k > 2}.values()), vector())


def test_numbers_that_the_program_asks_for_are_known() -> None:
    """Where a list holds what the index says, numbers can be had: its elements are computed one by one then."""

    def f(x):
        times = [0.5 * i for i in range(N)]
        sizes = [i * i for i in range(N)]
        return x[: int(times[4])].sum() + np.zeros(sizes[2]).sum() + float(times[3]) * x[0]

    recorded(f, vector())
    with pytest.raises(ConversionError, match=r"hash\(values\[0\]\)"):

        def numbers(x):
            values = [v**2 for v in x]
            return hash(values[0]) * x[0]

        trace(numbers, (vector(),), unroll=0)


def test_any_and_all_of_a_generator_are_one_guard() -> None:
    def f(x):
        return np.sum(x) if any(v > 0.5 for v in x) and all(v > -10 for v in x) else np.sum(x**2)

    plan = planned_ad.compile(f, (np.ones(50),))
    np.testing.assert_array_equal(plan.gradient(np.ones(50)), np.ones(50))
    np.testing.assert_array_equal(plan.gradient(np.zeros(50)), np.zeros(50))
    assert not plan.explain().fallbacks


def test_lines_are_the_users() -> None:
    plan = planned_ad.compile(squares_summed, (np.ones(40),))
    lines = {op.line.number for op in walk(trace(squares_summed, (np.ones(40),)).tape.operations)}
    first = squares_summed.__code__.co_firstlineno
    assert lines & {first + 3} and max(lines) <= first + 5
    np.testing.assert_array_equal(plan.gradient(np.ones(40)), 2 * np.ones(40))


def squares_summed(x):
    return np.sum(
        np.array([
            v**2
            for v in x
        ])
    )  # fmt: skip


def test_code_that_makes_no_lists_is_left_alone() -> None:
    def f(x):
        return x + 1

    assert rewritten(f.__code__) is f.__code__
    namespace: dict = {}
    exec("def g(x):\n    return [v for v in x]", namespace)
    assert rewritten(namespace["g"].__code__) is namespace["g"].__code__


def test_a_condition_on_data_in_a_generator_in_a_short_loop() -> None:
    """Item by item, each test would stand within the one before."""

    def f(x):
        total = 0.0
        for least in x:
            total = total + sum(v for v in x if v >= least)
        return total

    lengths = []
    for n in (10, 14, 40):
        x = np.random.default_rng(n).normal(size=n)
        found = trace(f, (x,))
        assert not found.unrolled
        np.testing.assert_allclose(replay(found, x)[0], f(x), rtol=1e-12)
        lengths.append(len(list(walk(found.tape.operations))))
    assert lengths[0] == lengths[1] == lengths[2]


class Lists:
    def first(self, x):
        return [v**2 for v in x]

    def second(self, x):
        return [v**3 for v in x]


def test_the_methods_of_a_class_are_written_anew_at_once():
    before = _compiled.cache_info().misses
    made = [rewritten(f.__code__) for f in (Lists.first, Lists.second)]
    assert [code.co_name for code in made] == ["first", "second"]
    assert made[0] is not Lists.first.__code__ and made[1] is not Lists.second.__code__
    assert _compiled.cache_info().misses == before + 1
