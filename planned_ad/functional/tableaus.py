"""The numbers of SciPy's explicit Runge-Kutta methods."""

from __future__ import annotations

import dataclasses
from typing import Any

Weights = tuple[tuple[int, float], ...]  # of slopes, those that are not 0


@dataclasses.dataclass(frozen=True)
class Tableau:
    """The numbers of a method: its stages and their nodes, the weights of the solution, of its error and between."""

    order: int  # of the error's estimate
    stages: tuple[Weights, ...]  # from the second on
    nodes: tuple[float, ...]
    weights: Weights
    errors: tuple[Weights, ...]
    extra_stages: tuple[Weights, ...]  # that only the solution within a step needs
    extra_nodes: tuple[float, ...]
    between: tuple[Weights, ...]  # one for each power


def tableau_of(method: Any) -> Tableau:
    """Of one of SciPy's classes."""
    is_of_order_8 = hasattr(method, "E3")
    return Tableau(
        order=method.error_estimator_order,
        stages=weights_in_rows(method.A[1 : method.n_stages]),
        nodes=tuple(method.C[1 : method.n_stages].tolist()),
        weights=weights_of(method.B),
        errors=weights_in_rows((method.E5, method.E3) if is_of_order_8 else (method.E,)),
        extra_stages=weights_in_rows(method.A_EXTRA) if is_of_order_8 else (),
        extra_nodes=tuple(method.C_EXTRA.tolist()) if is_of_order_8 else (),
        between=weights_in_rows(method.D if is_of_order_8 else method.P.T),
    )


def weights_in_rows(numbers: Any) -> tuple[Weights, ...]:
    return tuple(map(weights_of, numbers))


def weights_of(row: Any) -> Weights:
    return tuple((place, float(weight)) for place, weight in enumerate(row) if weight)
