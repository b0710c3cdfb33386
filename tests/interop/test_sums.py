"""Sums over parts of data: what the engines share, and those of the standard library."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, PlannedADError
from planned_ad.interop import executor_sum
from planned_ad.interop.sums import Shipped, SumOverParts, Total, combined, of_part, tree

from .sums_of_squares import PARTS, THETA, loaders, loss, part, squares, whole


def expected(scale: float = 1.0) -> tuple[float, np.ndarray]:
    rows, targets = whole()
    return squares(THETA, rows, targets, scale), 2 * scale * rows.T @ (rows @ THETA - targets)


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)


def same_bits(found: Any, other: Any) -> bool:
    return found[0] == other[0] and np.array_equal(found[1], other[1])


def by_hand() -> tuple[float, np.ndarray]:
    """The same sum, in this process."""
    total = tree([of_part(loss(), (THETA,), part(number), True) for number in range(PARTS)])
    return total.value, total.gradient


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


def test_threads() -> None:
    with ThreadPoolExecutor(2) as executor:
        total = executor_sum(loss(), [part(number) for number in range(PARTS)], executor)
        for _ in range(3):
            found = total.value_and_gradient(THETA)
            assert same_bits(found, by_hand())
        assert_close(found, expected())
        assert_close((total(THETA), total.gradient(THETA)), expected())
        value, (gradient, of_scale) = total.value_and_gradient(THETA, 2.0)
        assert_close((value, gradient), expected(2.0))
        np.testing.assert_allclose(of_scale, expected()[0], rtol=1e-12)


def test_processes(processes: Executor) -> None:
    arrays = [part(number) for number in range(PARTS)]
    for parts in (arrays, loaders()):
        total = executor_sum(loss(), parts, processes)
        assert same_bits(total.value_and_gradient(THETA), by_hand())
        assert same_bits(total.value_and_gradient(THETA), by_hand())


def test_files_are_gone_with_the_sum(processes: Executor) -> None:
    total = executor_sum(loss(), [part(0)], processes)
    folder = total._files._folder
    assert len(list(folder.iterdir())) == 2
    del total
    assert not folder.exists()


def test_a_process_that_is_killed_breaks_the_sum(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        total = executor_sum(loss(), loaders(tmp_path / "killed"), executor)
        with pytest.raises(BrokenProcessPool):
            total.value_and_gradient(THETA)


def test_a_process_makes_a_function_once() -> None:
    shipped = Shipped(loss())
    assert shipped.get() is shipped.get() is Shipped(loss()).get() is not loss()
    assert Shipped(planned_ad.function(squares, sums_over=("rows", "targets"))).get() is not shipped.get()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 70])
def test_each_part_is_in_the_tree_once(count: int) -> None:
    totals = [Total(1.0, np.array([2.0**number]), 1, 3) for number in range(count)]
    found = tree(totals)
    assert found == (count, np.array([2.0**count - 1]), count, 3 * count)
    assert all(total.gradient == [2.0**number] for number, total in enumerate(totals))  # as they were
    assert tree([Total(1.0, None, 1, 2)] * count) == (count, None, count, 2 * count)
    assert combined(totals[:1]) == totals[0]


class Miscounting(SumOverParts):
    counts: Any = ()

    def _total(self, parameters: tuple, with_gradient: bool) -> Total:
        return Total(0.0, None, *self.counts)


def test_what_is_lost_or_counted_twice_is_refused() -> None:
    total = Miscounting(loss(), [None] * 3)
    total.counts = 3, 30
    assert total() == 0.0
    for counts in ((2, 20), (4, 40), (3, 31)):
        total.counts = counts
        with pytest.raises(PlannedADError, match="should have 3 of 30"):
            total()


def test_what_is_no_sum_over_parts() -> None:
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ArgumentError, match="sums_over"):
            executor_sum(squares, [part(0)], executor)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="no parts"):
            executor_sum(loss(), [], executor)
        with pytest.raises(ArgumentError, match="a tuple of rows, targets"):
            executor_sum(loss(), [part(0)[0]], executor)(THETA)
        with pytest.raises(ArgumentError, match="takes theta, scale besides rows; 3 were given"):
            executor_sum(loss(), [part(0)], executor)(THETA, 1.0, 2.0)


def test_arguments_by_position_and_by_keyword() -> None:
    def f(theta: Any, /, rows: Any, *, power: int, more: Any) -> Any:
        return np.sum((rows @ theta) ** power) + np.sum(more)

    g = planned_ad.function(f, sums_over=["more", "rows"])
    assert g.joined((1, 2), (3, 4)) == ((1,), {"power": 2, "more": 3, "rows": 4})
    rows = part(0)[0]
    np.testing.assert_allclose(
        of_part(g, (THETA, 2), (rows, rows), True).gradient, 2 * rows.T @ (rows @ THETA), rtol=1e-12
    )


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    from planned_ad.interop import joblib_sum

    for options in ({"backend": "threading"}, {"backend": "loky"}):
        with joblib.Parallel(2, **options) as parallel:
            total = joblib_sum(loss(), [part(number) for number in range(PARTS)], parallel)
            assert same_bits(total.value_and_gradient(THETA), by_hand())
            assert same_bits(total.value_and_gradient(THETA), by_hand())


def test_what_changes_in_a_function_that_is_sent_by_value(processes: Executor) -> None:
    pytest.importorskip("cloudpickle")
    scale = 1.0

    def scaled(theta: Any, x: Any) -> Any:
        return np.sum(scale * (x @ theta) ** 2)

    total = executor_sum(planned_ad.function(scaled, sums_over="x"), [(np.ones((10, 3)),)], processes)
    assert total(np.ones(3)) == pytest.approx(90.0)
    scale = 3.0
    assert total(np.ones(3)) == pytest.approx(270.0)
