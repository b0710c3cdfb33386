"""Mistakes that type checkers find in programs that use the package: `make lint` says where they do not.

Each mistake is marked with what is found, and a mark that is not needed is an error. Nothing here runs.
"""

import planned_ad


def loss(x: float, n: int) -> float:
    return x**n


def mistakes() -> None:
    plan = planned_ad.compile(loss, (1.0, 2))
    text: str = plan(1.0, 2)  # type: ignore[assignment]  # the value is a float
    planned_ad.grad(loss)(1.0)  # type: ignore[call-arg]  # an argument is missing
    planned_ad.compile(loss, (1.0, 2), unrol=3)  # type: ignore[call-arg]
    planned_ad.compile(loss, (1.0, 2), on_branch="retry")  # type: ignore[arg-type]
    plan.gradients(1.0, 2)  # type: ignore[attr-defined]
    planned_ad.jacobian(3)  # type: ignore[arg-type]
    print(text)
