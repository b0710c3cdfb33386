"""Derivatives of opaque functions by central differences: a stopgap, for functions that have no other yet.

With the step h the error is h^2 |f'''| / 6 from the series and eps |f| / h from rounding; their sum is least at about
h = eps^(1/3), where it is some eps^(2/3): ten digits in float64, five in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import NotDifferentiableError
from ..python.callbacks import PythonCallback, Type
from ..tape.callees import Callee, Derivative

Run = Callable[..., list[np.ndarray]]


def pullback(callee: Callee, run: Run) -> Derivative:
    """How cotangents of `run` become cotangents of its operands: two calls for each floating element."""
    count, wanted = len(callee.operands), callee.floating_operands

    def found(*arrays: np.ndarray) -> list[np.ndarray]:
        operands, cotangents = arrays[:count], arrays[count:]
        return [cotangent_of(run, callee, operands, k, cotangents) for k in wanted]

    carried = [callee.results[k] for k in callee.floating_results]
    return _derivative(callee, found, carried, [callee.operands[k] for k in wanted], wanted)


def pushforward(callee: Callee, run: Run) -> Derivative:
    """How tangents of the operands become tangents of the results: two calls."""
    count, wanted = len(callee.operands), callee.floating_operands

    def found(*arrays: np.ndarray) -> list[np.ndarray]:
        directions = dict(zip(wanted, arrays[count:]))
        largest = max((float(np.max(np.abs(d), initial=0.0)) for d in directions.values()), default=0.0)
        h = min(step(arrays[k]) for k in wanted) / (largest or 1.0)
        above, below = (
            [a + s * h * directions[k] if k in directions else a for k, a in enumerate(arrays[:count])] for s in (1, -1)
        )
        return slopes(run, callee, above, below, 2 * h)

    carried = [callee.operands[k] for k in wanted]
    results = [callee.results[k] for k in callee.floating_results]
    return _derivative(callee, found, carried, results, callee.floating_results)


def cotangent_of(
    run: Run, callee: Callee, operands: Sequence[np.ndarray], k: int, cotangents: Sequence[np.ndarray]
) -> np.ndarray:
    """The cotangent of the operand `k`, element by element."""
    result = np.zeros(operands[k].shape)
    for place in np.ndindex(result.shape):
        h = step(operands[k][place])
        moved = [[a.copy() for a in operands] for _ in range(2)]
        moved[0][k][place] += h
        moved[1][k][place] -= h
        width = float(moved[0][k][place]) - float(moved[1][k][place])
        for slope, cotangent in zip(slopes(run, callee, moved[0], moved[1], width), cotangents):
            result[place] += np.sum(slope * cotangent)
    return result


def step(x: np.ndarray) -> float:
    """How far to go from `x` to either side."""
    return float(np.finfo(x.dtype).eps ** (1 / 3) * np.max(np.abs(x), initial=1.0))


def slopes(
    run: Run, callee: Callee, above: Sequence[np.ndarray], below: Sequence[np.ndarray], width: float
) -> list[np.ndarray]:
    """Of each floating result."""
    upper, lower = run(*above), run(*below)
    return [(upper[k].astype(float) - lower[k]) / width for k in callee.floating_results]


def _derivative(
    callee: Callee, found: Run, carried: Sequence[Type], results: Sequence[Type], targets: Sequence[int]
) -> Derivative:
    def refuse() -> Derivative:
        raise NotDifferentiableError(
            f"the derivative of {callee.name} ({callee.line}) is by finite differences, which cannot be differentiated "
            f"again. Write @{callee.name}.vjp as traced code"
        )

    dtype = np.result_type(*(dtype for _, dtype in results))
    operands, packed = (*callee.operands, *carried), tuple((shape, dtype) for shape, _ in results)
    inner = Callee(
        name=f"the derivative of {callee.name} by finite differences",
        operands=operands,
        results=packed,
        native=PythonCallback(found, operands, packed),
        line=callee.line,
        make_pullback=refuse,
        make_pushforward=refuse,
        has_rule=True,
    )
    return Derivative(callee=inner, needs=tuple(range(len(callee.operands))), targets=tuple(targets))
