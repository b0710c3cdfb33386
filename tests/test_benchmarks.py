"""The benchmark programs are right, and each suite runs."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import planned_ad
from tests.sweeps import sweep
from tests.tolerances import DIFFERENCES

sys.path.append(str(Path(__file__).parents[1] / "asv_bench"))

from benchmarks import (
    allocations,
    batch,
    compiling,
    fourier,
    loop_checks,
    peers,
    products,
    sparse,
    speed,
    sums,
    threads,
)
from benchmarks.measure import compiled, example, zeros_like
from benchmarks.programs import PROGRAMS

SMALL = [name for name in PROGRAMS if name not in ("rosenbrock_loop_50", "rosenbrock_50", "rosenbrock_1000000")]


def flat(tree) -> np.ndarray:
    return np.concatenate([flat(t) for t in tree]) if isinstance(tree, (list, tuple)) else np.ravel(tree)


def copied(tree):
    return type(tree)(copied(t) for t in tree) if isinstance(tree, (list, tuple)) else np.array(tree)


def derivative(program) -> np.ndarray:
    ready = compiled(program, program.small)
    ready.call(*ready.arguments)
    return flat(ready.shadows)


def cotangents(program) -> tuple:
    return program.cotangents(program.small) if program.cotangents else ()


@pytest.mark.parametrize("name", SMALL)
def test_derivative_is_that_of_the_adjoint_by_hand(name):
    program = PROGRAMS[name]
    expected = flat(program.adjoint(*program.arguments(program.small), *cotangents(program)))
    np.testing.assert_allclose(derivative(program), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_derivative_is_that_of_differences(name):
    """Along one direction, by a difference of fourth order."""
    program = PROGRAMS[name]
    weights = cotangents(program)

    def loss(step):
        arguments = [
            a if k in program.inactive else moved(a, step) for k, a in enumerate(program.arguments(program.small))
        ]
        result = program.function(*arguments)
        return sum(np.sum(w * r) for w, r in zip(weights, result)) if weights else float(result)

    def moved(argument, step):
        if isinstance(argument, list):
            return [moved(a, step) for a in argument]
        return argument + step * np.cos(np.arange(argument.size)).reshape(argument.shape)

    h = 1e-3
    slope = (8.0 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12.0 * h)
    active = [a for k, a in enumerate(program.arguments(program.small)) if k not in program.inactive]
    direction = flat(moved(copied(active), 1.0)) - flat(active)
    scale = max(1.0, abs(slope))
    assert abs(derivative(program) @ direction - slope) < 1000 * DIFFERENCES * scale


@pytest.mark.parametrize("name", [name for name, peer in peers.CASES if peer == "autograd" and name in SMALL])
def test_derivative_is_that_of_autograd(name):
    pytest.importorskip("autograd")
    program = PROGRAMS[name]
    expected = peers.autograd_gradient(program)(*program.arguments(program.small))
    np.testing.assert_allclose(derivative(program), flat(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sweep(SMALL, slice(0, None, 2)))
def test_plan_of_the_function_itself_is_the_function(name):
    program = PROGRAMS[name]
    plan = planned_ad.compile(program.function, example(program, program.arguments(program.small)))
    actual = plan(*program.arguments(program.small))
    expected = program.function(*program.arguments(program.small))
    np.testing.assert_allclose(flat(actual), flat(expected), rtol=1e-12, atol=1e-12)


def test_small_programs_cache_what_the_issue_says():
    cached = {name: compiled(PROGRAMS[name]).plan.explain().cached_bytes for name in ("two_squares", "cleared", "foo")}
    assert cached == {"two_squares": 0, "cleared": 0, "foo": 80}


@pytest.mark.parametrize("name", ["rosenbrock_loop_10", "square", "matvec", "brusselator"])
def test_allocation_counts(name):
    suite = allocations.Allocations()
    suite.setup(name)
    suite.calls = 100
    assert suite.track_mallocs(name) == 0
    assert suite.track_blocks(name) == 0


CASES = {
    allocations.Memory: "rosenbrock_loop_10",
    speed.Stages: "rosenbrock_loop_10",
    speed.Replay: "rosenbrock_loop_10",
    batch.Batch: "rosenbrock_loop_10",
}


@pytest.mark.parametrize("suite", CASES, ids=lambda suite: suite.__name__)
def test_suite_runs(suite):
    benchmark, parameter = suite(), CASES[suite]
    assert parameter in suite.params
    benchmark.setup(parameter)
    for method in dir(suite):
        if method.startswith(("time_", "track_")):
            result = getattr(benchmark, method)(parameter)
            assert method.startswith("time_") or result >= 0


def test_sparse_hessians_are_measured(monkeypatch):
    monkeypatch.setattr(sparse, "SIZES", (50, 100))
    benchmark = sparse.SparseHessian()
    benchmark.setup("chained_loop")
    assert benchmark.track_colours("chained_loop") == 3
    assert benchmark.track_first_call("chained_loop") > 0
    _, found = sparse.minimised(100, "trust-krylov")
    np.testing.assert_allclose(found.x, np.ones(100), atol=1e-5)


def test_sums_over_data(monkeypatch):
    monkeypatch.setattr(sums, "ROWS", 100)
    for engine in ("one_process", "threads"):
        suite = sums.Sums()
        suite.setup("network", engine)
        value, gradient = suite.step(suite.theta)
        assert value > 0 and [g.shape for g in gradient] == [t.shape for t in suite.theta]
        suite.teardown("network", engine)


def test_fourier():
    for name in ("rfft_1000", "gradient_1000"):
        assert 0 < fourier.Fourier().track_by_scipy(name) < 1


@pytest.mark.parametrize("peer", sorted({peer for _, peer in peers.CASES}))
def test_peers_run(peer):
    """The smallest program of each peer, in this process: a child's figures are of no interest here."""
    if not peers.present(peer):
        pytest.skip(f"{peers.NEEDS[peer]} is not installed")
    if peer.startswith("jax"):
        pytest.skip("jax starts threads; it is measured in a child")
    name = next(name for name, other in peers.CASES if other == peer)
    peers.peer_calls(PROGRAMS[name], peer)[peer]()


def test_peer_is_measured_in_a_child():
    suite = peers.Peers()
    suite.setup("square_sum copyto")
    assert suite.track_peer_by_ours("square_sum copyto") > 0


def test_jax_is_measured_in_a_child():
    pytest.importorskip("jax")
    suite = peers.Peers()
    suite.setup("rosenbrock_10 jax")
    assert suite.track_peer_by_ours("rosenbrock_10 jax") > 0


def test_peer_that_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr(peers, "present", lambda peer: False)
    with pytest.raises(NotImplementedError):
        peers.Peers().setup("rosenbrock_10 jax")


def test_time_to_the_first_gradient():
    assert compiling.main("planned_ad", "two_squares", "warm") > 0


def test_comparison_with_peers_can_be_imported():
    assert importlib.import_module("compare_peers").COMPILED


def test_comparison_of_loops_can_be_imported():
    assert importlib.import_module("compare_loops").LOOPS


OURS = [(name, calculate) for who, name, calculate in loop_checks.derivatives(jax=False) if who == "planned_ad"]


@pytest.mark.parametrize(("name", "calculate"), OURS, ids=[name for name, _ in OURS])
def test_loop_program_has_the_right_derivative(name, calculate):
    """The adjoints written by hand are compared with differences by `compare_loops.py --check`: they compile long."""
    assert loop_checks.error(loop_checks.LOOPS[name], calculate()) < loop_checks.TOLERANCE


def test_shadows_follow_lists():
    assert flat(zeros_like([np.ones(2), [np.ones(1)]])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", threads.PROGRAMS)
def test_threads_find_the_same(name):
    program = threads.PROGRAMS[name]
    arguments = program.arguments(program.small)
    one, several = (threads.gradient_by(k, program, arguments) for k in (1, threads.THREADS))
    for gradient, *rest in (one, several):
        gradient(*rest)
    for a, b in zip(one[1:], several[1:]):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", sweep(products.WAYS, slice(0, None, 2)))
def test_ways_to_write_a_product(name):
    """In one direction, by a difference: exact for what is at most quadratic, but for rounding."""
    gradient, a, b, weights, da, db = products.gradient_of(products.WAYS[name], 12)
    gradient(a, b, weights, da, db)
    toward_a, toward_b = np.random.default_rng(1).normal(size=(2, 12, 12))
    ahead, back = (products.WAYS[name](a + h * toward_a, b + h * toward_b, weights) for h in (0.1, -0.1))
    np.testing.assert_allclose(np.sum(da * toward_a) + np.sum(db * toward_b), (ahead - back) / 0.2, rtol=1e-10)
