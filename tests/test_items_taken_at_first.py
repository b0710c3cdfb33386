"""`itertools.product`, `combinations` and their like run over the items that there were when they were made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .interpreted_plans import assert_right
from .program_lists import function_of
from .sweeps import rotated

SIZE = 8
MADE = {
    "y": ("y = x.copy()", "y[k % 8] *= 0.5"),
    "w": ("w = [1.0, 2.0, 3.0, 4.0]", "w[k % 4] = x[k % 8]"),
    "values": ("values = [v * 1.0 for v in x]", "values[k % 8] = x[(k + 1) % 8]"),
    "chosen": ("chosen = x[x > 0.3]", "chosen *= 0.9"),
    "rows": ("rows = x.reshape(4, 2) * 1.0", "rows[k % 4] *= 0.5"),
}
RUN_OVER = [
    "itertools.combinations({}, 2)",
    "itertools.permutations({}, 2)",
    "itertools.combinations_with_replacement({}, 2)",
    "itertools.product({0}, {0})",
    "itertools.product({}, repeat=2)",
]


@pytest.mark.parametrize(("case", "unroll"), rotated(itertools.product(MADE, RUN_OVER), [0, 16]))
def test_writes_in_the_loop(case: tuple[str, str], unroll: int) -> None:
    (name, items), (made, written) = case, MADE[case[0]]
    lines = [made, "s, k = 0.0, 0", f"for a, b in {items.format(name)}:", f"    {written}"]
    lines += ["    s += np.sum(a) * np.sum(b) * x[k % 8]", "    k += 1", "return s"]
    source = "def f(x):\n    " + "\n    ".join(lines) + "\n"
    assert_right(function_of(source, f"<{name} in {items}>", np=np, itertools=itertools), SIZE, 1, unroll)
