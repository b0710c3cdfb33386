"""Gradients of sums over a million rows of data: one process, and two workers of each engine.

`python -m benchmarks.sums` prints a table.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import planned_ad
from planned_ad.interop import dask_sum, executor_sum, joblib_sum

ROWS, COLUMNS, HIDDEN, WORKERS = 1_000_000, 20, 16, 2


def logistic(theta, x, y):
    """Reads 21 numbers a row, and does little with them: as fast as memory is."""
    z = x @ theta
    return np.sum(np.logaddexp(0.0, z) - y * z)


def network(theta, x, y):
    """Two layers: some hundred operations for each number that is read."""
    z = np.tanh(x @ theta[0] + theta[1]) @ theta[2]
    return np.sum(np.logaddexp(0.0, z) - y * z)


random = np.random.default_rng(0)
LOSSES: dict[str, tuple[Callable[..., Any], Any]] = {
    "logistic": (logistic, random.normal(size=COLUMNS) / 10),
    "network": (
        network,
        [random.normal(size=(COLUMNS, HIDDEN)) / 4, random.normal(size=HIDDEN), random.normal(size=HIDDEN) / 4],
    ),
}


def load(part: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    own = np.random.default_rng(part)
    return own.normal(size=(rows, COLUMNS)), (own.random(rows) < 0.5) * 1.0


def one_process(loss, parts, stack):
    x, y = (np.concatenate(arrays) for arrays in zip(*(part() for part in parts)))
    return lambda theta: loss.value_and_gradient(theta, x, y)


def threads(loss, parts, stack):
    held = [part() for part in parts]
    return executor_sum(loss, held, stack.enter_context(ThreadPoolExecutor(WORKERS))).value_and_gradient


def processes(loss, parts, stack):
    spawned = ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn"))
    return executor_sum(loss, [part() for part in parts], stack.enter_context(spawned)).value_and_gradient


def loky(loss, parts, stack):
    import joblib

    parallel = stack.enter_context(joblib.Parallel(WORKERS))
    return joblib_sum(loss, [part() for part in parts], parallel).value_and_gradient


def dask(loss, parts, stack):
    from distributed import Client, LocalCluster

    cluster = stack.enter_context(LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=None))
    return dask_sum(loss, parts, stack.enter_context(Client(cluster))).value_and_gradient


ENGINES = {f.__name__: f for f in (one_process, threads, processes, loky, dask)}
NEEDS = {"loky": "joblib", "dask": "distributed"}


class Sums:
    """One step: value and gradient of all rows, in as many parts as workers."""

    params = (tuple(LOSSES), tuple(ENGINES))
    param_names = ("loss", "engine")
    timeout = 300

    def setup(self, loss, engine):
        if engine in NEEDS:
            try:
                __import__(NEEDS[engine])
            except ImportError:
                raise NotImplementedError(f"{NEEDS[engine]} is not installed") from None
        function, self.theta = LOSSES[loss]
        parts = [functools.partial(load, part, ROWS // WORKERS) for part in range(WORKERS)]
        self.stack = contextlib.ExitStack()
        made = planned_ad.function(function, sums_over=("x", "y"))
        self.step = ENGINES[engine](made, parts, self.stack)
        self.step(self.theta)

    def teardown(self, loss, engine):
        if hasattr(self, "stack"):
            self.stack.close()

    def time_step(self, loss, engine):
        self.step(self.theta)


def best(loss: str, engine: str, count: int = 20) -> float:
    """Seconds for a step."""
    suite, found = Sums(), []
    suite.setup(loss, engine)
    for _ in range(count):
        start = time.perf_counter()
        suite.time_step(loss, engine)
        found.append(time.perf_counter() - start)
    suite.teardown(loss, engine)
    return min(found)


if __name__ == "__main__":
    for loss in LOSSES:
        for engine in ENGINES:
            print(f"{loss:10} {engine:12} {best(loss, engine) * 1e3:8.1f} ms", flush=True)
