"""The compiled gradient of every use of a NumPy function in `tests.numpy_functions.cases`, against the interpreter.

(The interpreter's gradients are compared with finite differences in `tests.numpy_functions.test_gradients`.)
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from .numpy_functions.cases import CASES, Case
from .numpy_functions.test_cases import column_major, strided
from .numpy_functions.test_gradients import weighted
from .oracle import assert_same_arguments, assert_shadows, compiled, interpreted, scheduled, shadow_leaves
from .tracing_oracle import perturbed_by_nothing as copied

SMOOTH = [case for case in CASES if not case.rounds]


def check(case: Case, arguments: tuple[np.ndarray, ...]) -> None:
    loss = weighted(case.function)
    plan = compiled(loss, *copied(arguments))
    traced = plan._variants[0].trace
    expected = interpreted(traced, "gradient", arguments)
    own, after = copied(arguments), copied(arguments)
    assert_shadows(shadow_leaves(traced, plan.gradient(*own)), expected, "gradient")
    with np.errstate(all="ignore"):
        loss(*after)
    assert_same_arguments(own, after)
    entry = plan._variants[0].entry("gradient")
    assert_shadows(scheduled(entry, traced, arguments, 3, True), expected, "schedule")


LAYOUTS = {"as_given": lambda a: a, "column_major": column_major, "strided": strided}


def cases_in_turn() -> list[Any]:
    """Of every second function each seventh case, in one layout, another from case to case; all with `-m long`."""
    uses: Counter[str] = Counter()
    found = []
    for k, case in enumerate(SMOOTH):
        function = case.name.partition("-")[0]
        uses[function] += 1
        for j, layout in enumerate(LAYOUTS):
            is_quick = len(uses) % 2 == 1 and uses[function] % 7 == 1 and (k + j) % 3 == 0
            marks = [] if is_quick else [pytest.mark.long]
            found.append(pytest.param(case, layout, id=f"{case.name}-{layout}", marks=marks))
    return found


@pytest.mark.parametrize(("case", "layout"), cases_in_turn())
def test_against_the_interpreter(case: Case, layout: str) -> None:
    check(case, tuple(map(LAYOUTS[layout], case.arguments)))
