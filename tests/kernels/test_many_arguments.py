"""The check that many arrays do not overlap: right for each pair, in code that does not grow with their pairs."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError
from planned_ad.kernels.entry.callspec import ArraySpec, CallSpec
from planned_ad.kernels.nests.overlaps import PAIRS_IN_LINE
from tests.compiled_tape import make_builtin

from ..call_oracle import match
from .test_callpath import INT32, SlowPath, goes_slow


def built(arrays, disjoint, slow):
    specs = tuple(ArraySpec.of(a, writeable=k % 2 == 1) for k, a in enumerate(arrays))
    spec = CallSpec(arguments=specs, disjoint=disjoint)
    call = make_builtin("f", "", "(*x)", spec, lambda builder, context, leaves, workspace: INT32(0), slow)
    return call, spec


@pytest.mark.parametrize("count", [9, 16, 21])
def test_each_pair_of_many_arrays_is_checked(count):
    """Wherever two arrays of a random pair share a byte, the call goes the slow way; `match` is the meaning."""
    rng = np.random.default_rng(count)
    memory = np.zeros(100 * count)
    arrays = [memory[100 * k : 100 * k + 1 + 3 * k] for k in range(count)]
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j and rng.random() < 0.6]
    assert len(pairs) > PAIRS_IN_LINE or count == 9
    slow = SlowPath()
    call, spec = built(arrays, tuple(pairs), slow)
    assert not goes_slow(call.function, slow, *arrays)
    for _ in range(300):
        i, j = rng.choice(count, 2, replace=False)
        start = 100 * j + int(rng.integers(-len(arrays[i]) - 2, len(arrays[j]) + 2))
        start = min(max(start, 0), memory.size - len(arrays[i]))
        moved = [*arrays]
        moved[i] = memory[start : start + len(arrays[i])]
        assert goes_slow(call.function, slow, *moved) == (match(spec, moved) is None)


def test_empty_arrays_among_many_never_overlap():
    memory = np.zeros(1000)
    arrays = [memory[10 * k : 10 * k + (5 if k % 3 else 0)] for k in range(20)]
    slow = SlowPath()
    call, _ = built(arrays, tuple((i, j) for i in range(20) for j in range(i)), slow)
    arrays[3] = memory[11:11]
    assert not goes_slow(call.function, slow, *arrays)


def sum_of_squares(arrays):
    total = 0.0
    for x in arrays:
        total += np.sum(x**2)
    return total


def test_the_code_of_a_call_grows_with_the_arguments_and_not_with_their_pairs():
    def instructions(count):
        plan = planned_ad.compile(sum_of_squares, (tuple(np.ones(3) for _ in range(count)),))
        return len(plan.llvm("gradient").splitlines())

    assert instructions(40) < 2.5 * instructions(20)


def test_shadows_of_many_arguments_must_not_overlap():
    xs = tuple(np.arange(3.0) + k for k in range(20))
    plan = planned_ad.compile(sum_of_squares, (xs,))
    memory = np.zeros(63)
    shadows = tuple(memory[3 * k : 3 * k + 3] for k in range(20))
    plan.gradient(xs, shadows)
    np.testing.assert_array_equal(memory[:60], 2 * np.concatenate(xs))
    with pytest.raises(ArgumentError):
        plan.gradient(xs, (*shadows[:-1], memory[55:58]))
