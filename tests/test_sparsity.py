"""What depends on what: against what a program does when one input changes, and against patterns that are known."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import planned_ad
from planned_ad.errors import UnsupportedError
from planned_ad.functional.derivatives import Gradient
from planned_ad.functional.sparse import index_sets, sparsity
from planned_ad.functional.sparse.index_sets import IndexSets
from planned_ad.functional.sparse.sparse import Compressed, CompressedHessian
from planned_ad.tape.tape import Branch, Loop, walk
from planned_ad.trace import trace

from . import random_loop_programs, random_programs
from .sweeps import drawn
from .tracing_oracle import perturbed_by_nothing as copied

COMMON = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
N = 8
X = np.linspace(0.4, 1.6, N)
PLACES = np.array([3, 0, 3, 7])
WEIGHTS = np.array([[0.0, 2, 0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0, 0, 0], [0] * N])


def pattern_of(f, args, argnums=0) -> np.ndarray:
    made = Compressed(f, argnums)
    trace(made, args)
    return made.found.pattern.toarray()


def hessian_pattern_of(f, args) -> np.ndarray:
    made = CompressedHessian(Gradient(f), colouring="star", mode="forward")
    trace(made, args)
    return made.found.pattern.toarray()


# Sets.


@COMMON
@given(st.integers(0, 10**6), st.sampled_from([3, 1 << 22]))
def test_unions_are_those_of_sets(seed, chunk):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_sets, "CHUNK", chunk)
        sets, known = IndexSets(6), {k: set() if k == 0 else {k - 1} for k in range(7)}

        def check(numbers, expected):
            lengths, items = sets.expanded(numbers.reshape(-1))
            found = np.split(items, np.cumsum(lengths)[:-1])
            assert [list(part) for part in found] == [sorted(e) for e in expected]
            known.update(zip(numbers.reshape(-1).tolist(), expected))

        for _ in range(4):
            a, b = rng.choice(list(known), (2, 3, 1)), rng.choice(list(known), 3)
            a = a[0]
            check(sets.union(a, b), [known[i] | known[j] for i in a[:, 0].tolist() for j in b.tolist()])
            lines = rng.choice(list(known), (2, 3))
            check(sets.union_over(lines, (1,)), [set().union(*(known[k] for k in line)) for line in lines.tolist()])
            check(sets.union(lines[0, 0], lines[1, 1]), [known[int(lines[0, 0])] | known[int(lines[1, 1])]])


def test_a_union_that_is_one_of_its_members_makes_no_set():
    sets = IndexSets(3)
    pair = sets.union(np.array(1), np.array(2))
    assert sets.union(pair, np.array(2)) == pair
    count = sets.count
    assert np.array_equal(sets.union(np.array([pair, 1, 0]), np.array([1, pair, pair])), np.full(3, pair))
    assert sets.count == count


def test_what_is_not_sparse_is_refused(monkeypatch):
    monkeypatch.setattr(index_sets, "MOST_ITEMS", 30)
    with pytest.raises(UnsupportedError, match="is not sparse"):
        pattern_of(np.cumsum, (X,))


# Patterns against what programs do: what changes when one input changes is in the pattern.


def returning_arrays(source: str) -> str:
    """The program with all of its arrays as its result, in place of a sum over them."""
    *lines, last = source.rstrip().split("\n")
    names = re.findall(r"np\.sum\(np\.sin\((\w+)\)\)", last)
    parts = ", ".join(f"{name}.reshape(-1)" for name in names)
    return "\n".join([*lines, f"    return np.concatenate([{parts}])", ""])


def check_changes(f, args, argnums) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = f(*copied(args))
        except (ValueError, IndexError):
            assume(False)
        assume(np.all(np.isfinite(value)))
        found, column = pattern_of(f, args, argnums), 0
        for k in argnums:
            for place in np.ndindex(np.shape(args[k])):
                moved = list(copied(args))
                if place:
                    moved[k][place] += 1e-9
                else:
                    moved[k] += 1e-9
                changed = f(*moved) != value
                assert not np.any(changed & ~found[:, column]), (k, place)
                column += 1
    assert column == found.shape[1]


@drawn(random_programs.programs(), few=20, many=200)
def test_random_programs(source):
    rng = np.random.default_rng(2)
    args = (rng.normal(size=6), rng.normal(size=(4, 3)), 0.4, np.array([2, 0, 2]))
    check_changes(random_programs.function_of(returning_arrays(source)), args, (0, 1, 2))


@drawn(st.integers(0, 10**6), few=4, many=40)
def test_random_loops(seed):
    rng = np.random.default_rng(seed)
    source = random_loop_programs.write_program(lambda low, high: int(rng.integers(low, high + 1)), frozenset(), 2)
    args = random_loop_programs.arguments()
    active = tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f")
    check_changes(random_loop_programs.function_of(returning_arrays(source)), args, active)


# Patterns that are known.


def neighbours(x):
    out = np.zeros(N)
    out[1:-1] = x[2:] * x[:-2]
    return out


def overwritten(x):
    out = x.copy()
    out[1:3] = 1.0
    out[4] = x[5]
    return out


def recurrence(x):
    out, total = np.zeros(N), 0.0
    for i in range(N):
        total = 0.5 * total + x[i]
        out[i] = total
    return out


def ends_early(x):
    out = x.copy()
    while out[0] < 9:
        out[0] *= 1.5
        out[2] += out[3]
    return out


def masked(x):
    return np.where(np.arange(N) % 2 == 0, x, 2 * x[::-1])


ones, eye = np.ones((N, N), bool), np.eye(N, dtype=bool)


def at(*places) -> np.ndarray:
    found = np.zeros((N, N), bool)
    found[tuple(zip(*places))] = True
    return found


PATTERNS = {
    "elementwise": (lambda x: np.sin(x) * x, eye),
    "stencil": (neighbours, (np.eye(N, k=1) + np.eye(N, k=-1) > 0) & ~at((0, 1), (7, 6))),
    "overwritten": (overwritten, (eye & ~at((1, 1), (2, 2), (4, 4))) | at((4, 5))),
    "mean": (lambda x: x - np.mean(x), ones),
    "running sums": (np.cumsum, np.tril(ones)),
    "running products from the end": (lambda x: np.cumprod(x[::-1])[::-1], np.triu(ones)),
    "recurrence": (recurrence, np.tril(ones)),
    "gather": (lambda x: x[PLACES] ** 2, eye[PLACES]),
    "product with a known matrix": (lambda x: WEIGHTS @ x, WEIGHTS != 0),
    "product with known zeros": (lambda x: x * (np.arange(N) > 5), eye & (np.arange(N) > 5)),
    "choice by a known mask": (masked, np.where(np.arange(N)[:, None] % 2 == 0, eye, eye[::-1])),
    "choice by a run-time mask": (lambda x: np.where(x > 1, x, x[::-1]), eye | eye[::-1]),
    "no gradient": (lambda x: x * planned_ad.stop_gradient(x[::-1]), eye),
    "rounded": (lambda x: np.floor(x) * x[::-1], eye[::-1]),
    "loop that ends early": (ends_early, eye | at((2, 3))),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_is_the_structural_one(name):
    f, expected = PATTERNS[name]
    np.testing.assert_array_equal(pattern_of(f, (X,)), expected)


def scratch(x):
    """A loop that stays one: its work array is the same in all iterations."""
    out, work = np.zeros(len(x) - 1), np.zeros(2)
    for i in range(len(x) - 1):
        work[:] = x[i : i + 2]
        for _ in range(20):
            work[0] = np.sin(work[0])
        if work[0] > 0.5:
            out[i] = work[0]
            work[1] = 0.0
        else:
            out[i] = work[1]
    return out


def test_loop_with_a_work_array_and_branches():
    x = np.linspace(0.4, 1.6, 24)
    made = Compressed(scratch)
    traced = trace(made, (x,))
    assert {Loop, Branch} <= {type(op) for op in walk(traced.tape.operations)}
    np.testing.assert_array_equal(made.found.pattern.toarray(), np.eye(23, 24) + np.eye(23, 24, k=1) > 0)


@pytest.mark.parametrize("steps", [20, 22, 23, 24, 500])
def test_loop_that_does_the_same_in_each_iteration(steps):
    """It is left when nothing changes any more, and not before."""

    def shifted(x):
        out = x.copy()
        for _ in range(steps):
            out[1:] = out[:-1]
        return out

    expected = np.zeros((24, 24), bool)
    expected[np.arange(24), np.maximum(np.arange(24) - steps, 0)] = True
    np.testing.assert_array_equal(pattern_of(shifted, (np.ones(24),)), expected)


def test_long_loop_that_ends_early_depends_on_all_that_it_reads(monkeypatch):
    monkeypatch.setattr(sparsity, "MOST_WORK", 0)
    found = pattern_of(ends_early, (X,))
    assert np.all(found[PATTERNS["loop that ends early"][1]])
    np.testing.assert_array_equal(found, ones)


def test_run_time_indices_count_as_any_index():
    def f(x, places):
        out = np.zeros(N)
        out[places] = x[:2]
        return x[places] * x[:2], out

    expected = np.concatenate([np.ones((2, N)), np.tile(np.arange(N) < 2, (N, 1))])
    np.testing.assert_array_equal(pattern_of(f, (X, np.array([5, 1]))), expected)


def test_calls_of_functions_with_rules_are_dense():
    @planned_ad.custom_rule
    def swapped(x):
        return x[::-1] * 1.0

    @swapped.vjp
    def pullback(x, cotangent):
        return cotangent[::-1] * 1.0

    found = pattern_of(lambda x: swapped(x[:3]), (X,))
    np.testing.assert_array_equal(found, np.tile(np.arange(N) < 3, (3, 1)))


HESSIANS = {
    "chained": (lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2), abs(np.subtract.outer(np.arange(N), np.arange(N))) < 2),
    "linear": (lambda x: np.sum(3 * x), np.zeros((N, N), bool)),
    "separable": (lambda x: np.sum(np.exp(x[2:])), eye & (np.arange(N) > 1)),
    "bilinear": (lambda x: x[0] * x[1] + np.sum(x), at((0, 1), (1, 0))),
    "loop": (lambda x: sum(np.sin(x[i]) * x[i + 1] for i in range(N - 1)), None),
}
HESSIANS["loop"] = (HESSIANS["loop"][0], HESSIANS["chained"][1] & ~at((7, 7)))


@pytest.mark.parametrize("name", HESSIANS)
def test_pattern_of_a_hessian(name):
    f, expected = HESSIANS[name]
    np.testing.assert_array_equal(hessian_pattern_of(f, (X,)), expected)
