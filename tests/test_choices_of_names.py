"""`high if value > high else value`: a choice, and no branch, where both sides are there already."""

import numpy as np
import pytest

import planned_ad
from planned_ad.python.choices_of_names import has_choices
from planned_ad.tape.tape import Branch

from .one_trace import traces_of


def clipped(x):
    high, total = 1.0, 0.0
    for k in range(20):
        y = 2 * x[k]
        y = high if y > high else y
        y = -high if y < -high else y
        total += y * (1 if x[k] > 0.5 else 2)
    return total


def best_place(x):
    best, place = x[0], 0
    for k in range(1, 20):
        value = x[k]
        place = k if value > best else place
        best = value if value > best else best
    return best * place + x[place]


def letters(x):
    total = 0.0
    for k in range(20):
        for c in "ACGT":
            weight = 1.0 if c == "ACGTTGCAACGTTGCATTAC"[k] else 0.25
            total += weight * x[k] ** 2
    return total


def outside_of_loops(x):
    low, high = x[0], 3 * x[1]
    chosen = high if x[2] > 0 else low
    return chosen**2 + (chosen if chosen > x[3] else -chosen)


# What is no choice: a name that is not bound on the other side, other types, None, lists, lengths.


def not_bound_yet(x):
    found, total = False, 0.0
    for k in range(20):
        if x[k] > 1.2 and not found:
            best = x[k]
            found = True
        total += best if found else 0.1
    return total


def several_types(x):
    one, half, total = 1, 0.5, 0.0
    for k in range(20):
        total += (one if x[k] > 0.5 else half) * x[k]
    return total


def lists_and_none(x):
    first, other, before, total = [1.0], [x[0]], None, 0.0
    for k in range(12):
        chosen = first if x[k] > 0 else other
        now = x[k] if x[k] > 0 else None
        total += chosen[0] * x[k] + (0.0 if now is None else now)
        before = now if before is None else before
    return total


def how_many(x):
    count = 3 if x[0] > 0 else 5
    return sum(x[k] ** 2 for k in range(count))


def truths(x):
    total = 0.0
    for v in x:
        yes, no = True, False
        found = yes if v > 0 else no
        total += v * v if found is True else v
    return total


def name_of_an_error(x):
    e = x[0]
    try:
        raise ValueError
    except ValueError:
        pass
    return x[1] * (2.0 if x[1] > -99 else e)


def shown_and_a_key(x):
    a, b = 1.5, 2.0
    chosen = a if x[0] > 0 else b
    return {1.5: x[1], 2.0: x[2]}[chosen] * len(f"{chosen}")


CHOICES = [clipped, best_place, letters, outside_of_loops]
OTHERS = [
    not_bound_yet, several_types, lists_and_none, how_many, truths, name_of_an_error, shown_and_a_key,
]  # fmt: skip


@pytest.mark.parametrize("function", CHOICES, ids=lambda f: f.__name__)
def test_choices_are_no_branches(function):
    assert traces_of(function, 8) == 1
    assert has_choices(function.__code__)
    plan = planned_ad.compile(function, (np.linspace(-1, 1, 24),), check=False)

    def branches(operations):
        return sum(1 + branches(op.then) + branches(op.otherwise) if isinstance(op, Branch) else
                   branches(getattr(op, "body", ())) for op in operations)  # fmt: skip

    assert branches(plan._variants[0].trace.tape.operations) == 0


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_others_are_as_python_has_them(function):
    assert traces_of(function, 8) >= 1


def bands(x):
    total = 0.0
    for k in range(8):
        angle = 90 + 40 * x[k]
        if 0 <= angle < 30:
            a = x[0] * x[k]
        elif 30 <= angle < 60:
            a = x[1] * x[k]
        elif 60 <= angle < 90 or angle == 120:
            a = x[2] * x[k]
        elif 90 <= angle < 120 and angle != 100:
            a = x[3] * x[k]
        elif 120 <= angle < 150:
            a = x[4] * x[k]
        else:
            a = 2 * x[5]
        total += x[k] * a
    return total


def in_a_window(x):
    low, high, total = -0.5, 0.8, 0.0
    for k in range(20):
        v = x[k]
        if v < low or v > high:
            total += 1 - v
        if not (low < v < high):
            total *= 0.9
        total += v if low <= v <= high else low
    return total + sum(v for v in x if low < v < high)


def places_and_none(x):
    best, total = None, 0.0
    for i in range(20):
        v = x[i]
        if best is None or v < best:
            best = v
        for j in range(20):
            if 0 < i < 19 and i != j:
                total += x[i] * x[j]
            if i - j > 3 and v > 0.5:
                total += v
    return total + best


@pytest.mark.parametrize("function", [bands, in_a_window, places_and_none], ids=lambda f: f.__name__)
def test_comparisons_are_tested_together(function):
    assert traces_of(function, 8) == 1


def rounded_choices(x):
    total = 0.0
    for v in x[:6]:
        z = v if v > 0.5 else 2.675
        total += round(z, 2) * v + round(max(v, 2.675), 2)
    return total


def powers_of_choices(x):
    total = 0.0
    for v in x[:6]:
        z = v if v > 0.5 else -8.0
        w = z + 0.0
        total += abs(w ** (1 / 3)) * v
    return total


@pytest.mark.parametrize("unroll", [0, 8])
def test_a_choice_of_python_is_rounded_as_python_rounds(unroll):
    """2.67: NumPy has 2.68."""
    assert traces_of(rounded_choices, unroll) >= 1


@pytest.mark.parametrize("unroll", [0, 8])
def test_a_power_of_a_choice_is_right_or_refused(unroll):
    """NumPy's is nan where that of Python is complex."""
    plan = planned_ad.compile(powers_of_choices, (np.full(6, 0.7),), unroll=unroll, check=False)
    for x in (np.full(6, 0.6), np.array([0.7, 0.2, 0.9, 0.1, 0.6, 0.4])):
        try:
            found = plan(x)
        except planned_ad.errors.BoundsError as error:
            assert "complex" in str(error) and (x < 0.5).any()
        else:
            assert found == pytest.approx(powers_of_choices(x), rel=1e-12)
