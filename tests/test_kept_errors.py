"""Errors that a library keeps for the program: in a future, a task, or at the bottom of a thread."""

from __future__ import annotations

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

import planned_ad
from planned_ad.errors import TraceError


def asked_of_a_future(x):
    with ThreadPoolExecutor(1) as pool:
        root = pool.submit(math.sqrt, x[0])
    return x[1] if root.exception() else root.result()


def raised_by_a_future(x):
    with ThreadPoolExecutor(1) as pool:
        root = pool.submit(math.sqrt, x[0])
    try:
        return root.result()
    except ValueError:
        return x[1]


def gathered(x):
    async def root(v):
        return math.sqrt(v)

    async def main():
        found = await asyncio.gather(root(x[0]), root(x[1]), return_exceptions=True)
        return sum(v for v in found if not isinstance(v, Exception))

    return asyncio.run(main())


def awaited(x):
    async def root(v):
        return math.sqrt(v)

    async def main():
        task = asyncio.ensure_future(root(x[0]))
        try:
            return await task
        except ValueError:
            return x[1]

    return asyncio.run(main())


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(math.sqrt(x[0])))
    thread.start()
    thread.join()
    return found[0] if found else x[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("f", [asked_of_a_future, raised_by_a_future, gathered, awaited, in_a_thread])
def test_errors_that_are_kept(f) -> None:
    inputs = [np.array(x) for x in ([0.6, 0.7], [-0.5, 1.0], [0.9, 0.6], [-0.9, 0.1])]
    for example in inputs[:2]:
        plan = planned_ad.compile(f, (example,))
        assert [plan(x) for x in inputs] == [f(x) for x in inputs]


def test_errors_that_nobody_handles_are_raised() -> None:
    def f(x):
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(math.sqrt, x))

    plan = planned_ad.compile(f, (np.array([0.6, 0.7]),))
    with pytest.raises(ValueError, match="math domain error"):
        plan(np.array([-0.5, 1.0]))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_refusal_in_a_thread_arrives() -> None:
    def f(x):
        found = [x[0]]
        thread = threading.Thread(target=lambda: found.append(special.mathieu_a(1, x[0])))
        thread.start()
        thread.join()
        return found[-1]

    with pytest.raises(TraceError, match="mathieu_a"):
        planned_ad.compile(f, (np.array([0.6, 0.7]),), check=False)
