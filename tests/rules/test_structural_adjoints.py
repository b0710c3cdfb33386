"""The derivatives of views and gathers, which reverse mode adds in place, against `np.add.at`."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from planned_ad.differentiate.reverse import reverse
from planned_ad.regions.regions import contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import array_of, interpret, memory_of
from planned_ad.tape.tape import Value
from planned_ad.tape.verify import verify

from ..sweeps import drawn
from ..test_regions import addresses, arrays, view_of

FLOAT = np.dtype(np.float64)


def weighted_gradient(x: np.ndarray, weights: np.ndarray, function) -> np.ndarray:
    """The gradient of `sum(weights * function(2 x))`: the value passes through arithmetic, so it is no load."""
    builder = TapeBuilder()
    buffer = builder.new_buffer("argument", "x", FLOAT, contiguous(x.shape))
    doubled = builder.apply("multiply", builder.load(buffer.whole), builder.constant(2.0))
    shown: Value = function(builder, doubled)
    product = builder.apply("multiply", shown, builder.constant(weights))
    total = builder.apply("reduce_sum", product, axes=tuple(range(weights.ndim)))
    tape = verify(reverse(verify(builder.tape((buffer.id,), (total,), frozenset({buffer.id})))))
    memories = {id: memory_of(tape.buffer(id), x) for id in tape.arguments}
    interpret(tape, memories)
    shadow = tape.arguments[1]
    return array_of(tape.buffer(shadow), memories[shadow])


@st.composite
def bases_and_views(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    base = draw(arrays(steps=0))
    return base, draw(arrays(base))


@drawn(bases_and_views(), few=50, many=500)
def test_view(case: tuple[np.ndarray, np.ndarray]) -> None:
    base, array = case
    view = view_of(array)
    weights = np.random.default_rng(1).normal(size=view.shape)
    expected = np.zeros(base.size)
    np.add.at(expected, addresses(view), 2 * weights)
    gradient = weighted_gradient(base.astype(float), weights, lambda builder, v: builder.view(v, view))
    np.testing.assert_allclose(gradient, expected.reshape(base.shape), rtol=1e-14)


@drawn(st.integers(0, 4), st.booleans(), few=50, many=500)
def test_gather(count: int, two_axes: bool) -> None:
    rng = np.random.default_rng(count)
    indices = [rng.integers(0, 3, count) for _ in range(1 + two_axes)]
    x = rng.normal(size=(3, 3, 2))
    weights = rng.normal(size=(count, *x.shape[len(indices) :]))
    expected = np.zeros_like(x)
    np.add.at(expected, tuple(indices), 2 * weights)
    gradient = weighted_gradient(x, weights, lambda b, v: b.apply("gather", v, *map(b.constant, indices)))
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)
