"""What a choice hangs on is rounded as NumPy rounds it, in the primal and wherever it is computed again."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

STEP = 2.0**-30
X = np.full(40, 1 + STEP)  # whose square is 1 + 2 STEP, rounded: a fused multiply-add would find more


def by_branch(x, y, z):
    total = 0.0
    for i in range(len(x)):
        if x[i] * y[i] - z[i] > 0.0:
            total += 100.0 * x[i]
        else:
            total += x[i] * x[i]
    return total


def by_where(x, y, z):
    return np.sum(np.where(x * y - z > 0.0, 100.0 * x, x * x))


def by_index(x, y, z):
    return np.sum(x[np.ceil((x * y - z) * 2.0**61).astype(np.int64)] * x)


@pytest.mark.parametrize("unroll", [0, 1000])
@pytest.mark.parametrize("function", [by_branch, by_where, by_index], ids=lambda f: f.__name__)
def test_a_choice_is_the_one_that_numpy_makes(function, unroll):
    x = X.copy()
    x[0] = 3.0
    arguments = (x, X.copy(), x * X)
    value, (dx, _, _) = planned_ad.compile(function, arguments, unroll=unroll).value_and_gradient(*arguments)
    np.testing.assert_allclose(value, function(*arguments), rtol=1e-14)
    if function is not by_index:
        np.testing.assert_allclose(dx, 2 * x, rtol=1e-14)
