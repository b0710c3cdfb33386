"""Whether linear equations and inequalities over the integers can hold together: never a wrong "no"."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .affine import Affine, Extent, substitute
from .bounds import Inequality, eliminated, inequality


def impossible(equations: Iterable[Extent], inequalities: Iterable[Extent]) -> bool:
    """Whether no integers make all `equations` zero and no one of `inequalities` negative.

    Equations are solved for an unknown of coefficient one and checked for divisibility; then the unknowns left are
    eliminated one by one (Fourier & Motzkin), with constants rounded to integers. True is a proof; False may also
    mean that this found none (Pugh, The Omega test, 1992, has the rest of the way).
    """
    rows = list(inequalities)
    waiting = list(equations)
    while waiting:
        position = next((k for k, e in enumerate(waiting) if isinstance(e, int) or solvable(e)), 0)
        equation = waiting.pop(position)
        if isinstance(equation, int):
            if equation:
                return True
            continue
        if equation.constant % math.gcd(*(c for _, c in equation.terms)):
            return True
        unknown = solvable(equation)
        if unknown is None:
            rows += (equation, -equation)
            continue
        index, coefficient = unknown
        value = (equation + Affine(0, ((index, -coefficient),))) * -coefficient
        waiting = [substitute(e, index, value) for e in waiting]
        rows = [substitute(e, index, value) for e in rows]
    return contradictory({inequality(row) for row in rows})


def solvable(equation: Affine) -> tuple[int, int] | None:
    """An unknown of coefficient one or minus one."""
    return next((term for term in equation.terms if abs(term[1]) == 1), None)


def contradictory(rows: set[Inequality]) -> bool:
    while True:
        rows = strongest(rows)
        if any(not terms and constant < 0 for terms, constant in rows):
            return True
        counts: dict[int, list[int]] = {}
        for terms, _ in rows:
            for index, coefficient in terms:
                counts.setdefault(index, [0, 0])[coefficient > 0] += 1
        if not counts:
            return False
        fewest = min(counts, key=lambda index: (counts[index][0] * counts[index][1], index))
        rows = eliminated(rows, fewest)


def strongest(rows: Iterable[Inequality]) -> set[Inequality]:
    """Of inequalities with the same terms the one that says most."""
    least: dict[tuple[tuple[int, int], ...], int] = {}
    for terms, constant in rows:
        least[terms] = min(constant, least.get(terms, constant))
    return {(terms, constant) for terms, constant in least.items() if terms or constant < 0}
