"""What `isinstance`, `type` and `callable` say of what is None, a text, a number or a list, as data decide."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planned_ad

from .program_lists import function_of

BEGUN = ["None", "'no'", "[0.5]", "{'a': 0.5}", "0"]
FOUND = ["None", "'hit'", "[v]", "{'a': v}", "v", "(v, 2)", "x[:2] * v"]
ASKED = [
    "isinstance(found, str)",
    "type(found) is str",
    "isinstance(found, (str, list))",
    "isinstance(found, list)",
    "type(found) is list",
    "isinstance(found, dict)",
    "isinstance(found, type(None))",
    "isinstance(found, float)",
    "callable(found)",
    "hasattr(found, 'upper')",
    "isinstance(found, str) and len(found) == 3",
]
AFTER = "def f(x):\n    found = {begun}\n    for v in x:\n        if v > 0.3: found = {found}\n"
AFTER += "    return np.sum(x) * (2 if ({asked}) else 1)\n"
INSIDE = "def f(x):\n    s, found = 0.0, {begun}\n    for v in x:\n        if v > 0.3: found = {found}\n"
INSIDE += "        s += v * (2 if ({asked}) else 1)\n    return s\n"
ALL = list(itertools.product((AFTER, INSIDE), BEGUN, FOUND, ASKED))
FORMS = [pytest.param(*form, marks=() if k % 16 == 3 else pytest.mark.long) for k, form in enumerate(ALL)]
LOW, HIGH = np.linspace(-0.7, 0.2, 7), np.linspace(-0.7, 0.9, 7)


@pytest.mark.parametrize(("source", "begun", "found", "asked"), [*FORMS, (AFTER, "None", "'hit'", ASKED[0])])
def test_the_class_is_that_of_what_it_is(source: str, begun: str, found: str, asked: str) -> None:
    source = source.format(begun=begun, found=found, asked=asked)
    f = function_of(source, f"<{begun} {found} {asked}>", np=np)
    for first in (LOW, HIGH):
        plan = planned_ad.compile(f, first, unroll=0, check=False)
        for x in (LOW, HIGH):
            assert plan(x) == pytest.approx(f(x), rel=1e-12)
