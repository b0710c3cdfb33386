"""`d.get(k)` without a default, at the index of a loop or a key that data choose: a number or a text, or None."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .program_lists import function_of
from .sweeps import rotated

SIZE = 24
KEYS = {
    "i": "{0: {a}, 5: {b}, 17: {c}}",
    "int(6 * x[i])": "{1: {a}, 2: {b}, 4: {c}}",
    "(i % 3, int(x[i] > 0.5))": "{(0, 1): {a}, (1, 0): {b}, (2, 1): {c}}",
    "'up' if x[i] > 0.5 else 'down'": "{'up': {a}, 'on': {b}, 'off': {c}}",
}
VALUES = {"numbers": ("2.0", "0.0", "-1.5"), "integers": ("3", "0", "7"), "texts": ("'on'", "''", "'off'")}
USES = {
    "numbers": [
        "if found is not None: s += found * x[i]",
        "if found: s += found * x[i]",
        "s += (found or 0.25) * x[i]",
        "s += x[i] if found is None else found",
        "s += x[i] if found == 0 else 0.5 * x[i]",
        "last = found if found is not None else last\n        s += last * x[i]",
    ],
    "texts": [
        "if found == 'on': s += x[i]",
        "if found is not None and found != 'off': s += x[i]",
        "if not found: s += x[i]",
        "s += x[i] * (found in ('on', 'off'))",
        "last = 1.0 if found == 'off' else last\n        s += last * x[i]",
    ],
}
USES["integers"] = USES["numbers"][:-1]  # `last` would be of one type or the other
CASES = [(kind, key, use) for kind, key in itertools.product(VALUES, KEYS) for use in range(len(USES[kind]))]


@pytest.mark.parametrize(("case", "unroll"), rotated(CASES, [0, 1, 16]))
def test_number_or_text_or_none(case: tuple[str, str, int], unroll: int) -> None:
    kind, key, use = case
    made = KEYS[key]
    for name, value in zip("abc", VALUES[kind]):
        made = made.replace("{" + name + "}", value)
    lines = ["s, last = 0.0, 0.5", f"table = {made}", "for i in range(24):", f"    found = table.get({key})"]
    lines += ["    " + USES[kind][use], "return s + x[0]"]
    f = function_of("def f(x):\n    " + "\n    ".join(lines) + "\n", f"<{case}>", np=np)
    assert not trace(f, (np.linspace(0.05, 0.95, SIZE),), unroll=unroll).unrolled
    assert_right(f, SIZE, 1, unroll)
