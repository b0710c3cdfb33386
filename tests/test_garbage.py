"""Python looks for garbage less often while a plan is made, and as often as before when it is."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import planned_ad
from planned_ad.python.garbage import NEW, seldom_collected

USUAL = (700, 10, 10)  # Python's own


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    """The generations that are looked through meanwhile."""
    found: list[int] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(look)
    try:
        yield found
    finally:
        gc.callbacks.remove(look)


def long_function(x):
    y = x
    for k in range(200):
        y = y * (k + 1) + x
    return np.sum(y)


def test_little_is_looked_through_while_a_plan_is_made() -> None:
    with counted() as found:
        planned_ad.compile(long_function, (np.ones(3),), unroll=1000).gradient  # noqa: B018
    assert len(found) <= 8, found
    assert gc.get_threshold() == USUAL


def test_errors_leave_it_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError):
        planned_ad.compile(lambda x: x / (1 // 0), (np.ones(3),))
    assert gc.get_threshold() == USUAL


def test_the_last_of_several_threads_sets_it_again() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with seldom_collected:
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=other)
    with seldom_collected:
        thread.start()
        assert inside.wait(10)
        assert gc.get_threshold() == (NEW, *USUAL[1:])
    assert gc.get_threshold() == (NEW, *USUAL[1:])
    go_on.set()
    thread.join()
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_what_is_less_often_already_stays(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with seldom_collected:
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_a_program_sets_meanwhile_stays() -> None:
    with seldom_collected:
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)
