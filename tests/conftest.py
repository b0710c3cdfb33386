"""Options of the test suite."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from .short_run import LEFT_OUT, LinesOfTests

# Nothing of an earlier run is found: what a test sees is compiled by the code that it tests. Tests of the cache name a
# folder of their own; children that tests start inherit this. With PLANNED_AD_TEST_CACHE_DIR all tests share a folder.
os.environ["PLANNED_AD_CACHE_DIR"] = os.environ.get("PLANNED_AD_TEST_CACHE_DIR", "off")

# Where two processes run tests, BLAS has one core each; its threads would wait for each other at small matrices.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Dozens of children import the package: what Python makes of its source is kept, as it is of what pytest rewrites.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SETTLED, SECONDS = [0.0], 8.0  # when the garbage was last looked through as a whole, and how long that is enough


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden listings anew instead of comparing")
    parser.addoption("--all", action="store_true", help="also what a run of the whole suite leaves out: see short_run")
    parser.addoption("--lines-to", help="a folder for what lines of the package each test runs: see short_run")
    parser.addoption("--part", default="1/1", help="with -m long: each N-th of the sweeps, from the K-th on, as K/N")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--update-golden")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """All that is collected stays: no garbage is looked for meanwhile."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--lines-to") and (os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("-n", None)):
        config.pluginmanager.register(LinesOfTests(Path(config.getoption("--lines-to"))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sweeps that take minutes run with `-m long` only, all of them or a part; what `short_run` names with `--all`.

    Of a module that is asked for by its name all runs but the sweeps.
    """
    sweeps = [item for item in items if "long" in item.keywords]
    wanted: list[pytest.Item] = []
    if "long" in (config.getoption("-m") or ""):
        first, step = map(int, config.getoption("--part").split("/"))
        wanted = sweeps[first - 1 :: step]
    left_out = set(sweeps).difference(wanted)
    is_whole = all(Path(argument).is_dir() for argument in config.args)
    if is_whole and not (config.getoption("--all") or config.getoption("-m") or config.getoption("-k")):
        named = set(LEFT_OUT.read_text().split("\n"))
        left_out.update(item for item in items if item.nodeid in named)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def pytest_collection_finish() -> None:
    settle()
    gc.set_threshold(20_000, 10, 10)  # traces are large, and mostly gone when they are looked at


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Plans that tests of a module share stay, too."""
    if nextitem is not None and nextitem.path != item.path and time.monotonic() > SETTLED[0] + SECONDS:
        settle()


def settle() -> None:
    """What is there now, the tests among it, is not looked through again at each collection of garbage."""
    gc.collect()
    gc.freeze()
    SETTLED[0] = time.monotonic()
