"""Sums over parts of data on a cluster of Dask, workers of which are killed."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError

distributed = pytest.importorskip("distributed")

from planned_ad.interop import dask_sum  # noqa: E402

from .sums_of_squares import THETA, loaders, loss, part, whole  # noqa: E402
from .test_sums import assert_close, by_hand, expected, same_bits  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own, of what a killed worker leaves behind


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_that_is_killed_in_the_middle(client: Any, tmp_path: Path) -> None:
    total = dask_sum(loss(), loaders(tmp_path / "killed"), client, fan_in=3)
    found = total.value_and_gradient(THETA)
    assert (tmp_path / "killed").exists()
    assert_close(found, expected())
    # Then while steps run: each gives the same bits.
    before = client.run(os.getpid)
    killer = threading.Timer(0.2, os.kill, [next(iter(before.values())), signal.SIGKILL])
    killer.start()
    end = time.monotonic() + 1.5
    while killer.is_alive() or time.monotonic() < end:
        assert same_bits(total.value_and_gradient(THETA), found)
    assert client.run(os.getpid) != before


def test_parts_of_every_kind(client: Any) -> None:
    dask = pytest.importorskip("dask")
    kinds = [
        part(0),
        client.submit(part, 1),
        dask.delayed(part)(2),
        *loaders()[3:],
    ]
    total = dask_sum(loss(), kinds, client)
    assert same_bits(total.value_and_gradient(THETA), by_hand())
    assert_close((total(THETA), total.gradient(THETA)), expected())


def test_chunks_of_arrays(client: Any) -> None:
    array = pytest.importorskip("dask.array")
    rows, targets = whole()
    x, y = array.from_array(rows, (100, 3)), array.from_array(targets, 100)
    assert_close(dask_sum(loss(), (x, y), client).value_and_gradient(THETA), expected())
    with pytest.raises(ArgumentError, match=r"x.rechunk\(\{0: y.chunks"):
        dask_sum(loss(), (x, y.rechunk(50)), client)
    with pytest.raises(ArgumentError, match="another axis"):
        dask_sum(loss(), (x.rechunk((100, 2)), y), client)


def test_parameters_that_are_large_are_sent_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planned_ad.interop.dask.MOST_SENT", 0)
    total = dask_sum(loss(), loaders(), client)
    assert same_bits(total.value_and_gradient(THETA), by_hand())


def test_an_error_in_a_part_is_raised_here(client: Any) -> None:
    short = part(0)[0], part(0)[1][:-1]
    with pytest.raises(ArgumentError, match="16 of rows, 15 of targets"):
        dask_sum(loss(), [part(1), short], client).gradient(THETA)
    mean = planned_ad.function(lambda theta, rows: np.mean(rows @ theta), sums_over="rows")
    with pytest.raises(ArgumentError, match="must be a sum over the rows"):
        dask_sum(mean, [part(0)[0]], client).gradient(THETA)
