"""Traced values in the Python around them: numbers, containers, objects, tests."""

from __future__ import annotations

import collections
import dataclasses
import math

import numba
import numpy as np
import pytest

from planned_ad.errors import TraceError
from planned_ad.python.structure import Const
from planned_ad.tape.captured import captured_in
from planned_ad.tape.tape import Guard
from planned_ad.trace import trace

from .trace_helpers import matrix, vector
from .tracing_oracle import check

# Python around it.


def test_math_functions():
    def f(x, a):
        names = [
            "exp",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "log1p",
            "log2",
            "log10",
            "expm1",
            "erf",
            "erfc",
            "fabs",
            "lgamma",
            "degrees",
        ]
        values = [getattr(math, name)(v) for name in names for v in (a, x[0])]
        return (
            values,
            math.log(a),
            math.log(x[0], 3),
            math.pow(a, 2),
            math.hypot(a, x[0]),
            math.atan2(a, 2),
            math.pi * a,
        )

    check(f, vector(), 0.7)


def test_builtins():
    def f(x, a):
        return (
            max(x[0], x[1], 0.5),
            min(a, 0.2),
            max(x),
            min([x[0], x[2]]),
            sum(x[:2]),
            abs(-a),
            pow(a, 2),
            round(a, 1),
            max(3, 2),
        )

    check(f, vector(), 0.7)


def test_helpers_closures_and_methods():
    table = np.arange(6.0)

    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return self.w * x + table

    model = Model(np.ones(6) * 2)
    twice = lambda x: 2 * x  # noqa: E731

    def many(*args, scale=1.0, **others):
        return sum(args) * scale + others["b"]

    traced = check(lambda x: twice(model(x)) + many(x, x, scale=3.0, b=1), vector())
    assert {buffer.label for buffer in captured_in(traced.tape)} == {"table", "model.w"}


@numba.njit
def jitted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def test_jitted_functions():
    check(lambda x: jitted(x) * np.float64(2), vector())
    assert trace(jitted, (vector(),)).name == "jitted"


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Parameters:
    w: np.ndarray
    scale: float
    name: str = "p"


def test_containers():
    def f(p, q, d, n):
        q.a[0] = d["k"][0]
        return {"s": p.w.sum() * p.scale, "q": Pair(q.a, q.b), "t": (p.w, [d["k"], None]), "n": n}

    traced = check(f, Parameters(vector(), 0.5), Pair(vector(3), np.float64(2)), {"k": [0.7, vector(2)]}, 3)
    paths = [leaf.path for leaf in traced.leaves]
    assert paths == ["p.w", "p.scale", "p.name", "q.a", "q.b", "d['k'][0]", "d['k'][1]", "n"]
    assert [leaf.kind for leaf in traced.leaves] == [
        "array",
        "float",
        "static",
        "array",
        "float",
        "float",
        "array",
        "static",
    ]


@dataclasses.dataclass(frozen=True)
class Layer:
    w: np.ndarray
    b: float

    def __call__(self, x):
        out = np.zeros(len(self.w))
        for i in range(len(self.w)):
            out[i] = self.w[i] @ x + self.b
        return dataclasses.replace(self, w=out)


def test_methods_of_dataclasses():
    check(lambda layer, x: layer(x), Layer(matrix(), 0.5), vector(4))
    check(lambda layers, x: layers[0](x).w.sum(), [Layer(matrix(), 0.5)], vector(4))


def test_python_numbers():
    def f(x, k, b, a):
        y = x[0].item()
        return (
            y * 2, y * x, k[0].item() * x, k[1].item() + 1, b[0].item() * 2, (a > 0) + (a > 0), (a > 0) * 1.5,
            a > 0, -(a > 0),
            k.sum().item() ** 2, a**2, a**-1, 2**a, a // 0.2, a % 0.2, x.tolist(), k.item(2) * k.astype(np.int8),
        )  # fmt: skip

    check(f, vector(6, np.float32), np.arange(6), np.array([True]), 0.7)


def test_empty_arrays():
    def f(x, y):
        z = np.zeros((0, 3))
        z += 1
        z[:, 1] = 2
        y[:, :0] *= 2
        return x * 2, x.sum(), z, x[:0], y[:0].sum(axis=0), x.reshape(0, 5), np.concatenate([x, x]), y[[]] * 2

    check(f, np.zeros(0), matrix())


def test_an_array_from_outside_that_is_an_argument():
    x = vector()

    def write(y):
        y[0] = x[1]

    check(lambda y: x[:3] + y, x[:3])
    with pytest.raises(TraceError, match=r"`y`.*`x`.*memory"):
        trace(write, (x[:3],))


def test_arguments_whose_elements_overlap_are_refused():
    with pytest.raises(TraceError, match=r"`x`.*copy"):
        trace(lambda x: x.sum(), (np.broadcast_to(np.ones(3), (2, 3)),))


def test_more_branches():
    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + x[i] if x[i] > 1 else total - x[i]
            if not (0.5 < x[i] < 1.5):
                continue
        if (np.all(x > 0) and np.any(x > 1)) or x.sum() > 100:
            total *= 2
        return total, sorted([x[2], x[0], x[1]]), max(x[:3], key=lambda v: -v)

    check(f, vector(), 6)


def test_keyword_arguments_and_const():
    def f(x, *rest, scale, power=2):
        return (x * scale).sum() ** power + rest[0]

    traced = check(f, vector(), 2.0, scale=0.5)
    assert [leaf.path for leaf in traced.leaves] == ["x", "rest[0]", "scale"]
    traced = trace(f, (Const(vector()), 2.0), {"scale": 0.5})
    assert [leaf.active for leaf in traced.leaves] == [False, True, True]
    assert len(traced.tape.active) == 2


def test_results():
    table = np.arange(3.0)
    check(lambda x: None, vector())
    check(lambda x: x, vector())
    check(lambda x: (x, x, x[0], table, 3, "a", None, x.size), vector())


def test_names_and_lines():
    traced = trace(scaled_sum, (vector(), 2.0))
    assert traced.name == "scaled_sum" and traced.signature.parameters == ("x", "a")
    assert traced.line.number == scaled_sum.__code__.co_firstlineno
    first = scaled_sum.__code__.co_firstlineno
    numbers = {op.line.number for op in traced.tape.operations if op.line.number}
    assert numbers <= {first + 1, first + 2} and numbers


def scaled_sum(x, a):
    y = x * a
    return y.sum()


# Guards.


def test_branches():
    def f(x):
        if x[0] > 1:
            return x * 2
        if x[1] < 5 and not x[2] > 100:
            y = x + 1
        else:
            y = x - 1
        while y[0] < 4:
            y = y * 1.5
        assert bool(np.array([x[0]]) < 5)
        return y

    traced = check(f, vector())
    guards = [op for op in traced.tape.operations if isinstance(op, Guard)]
    assert guards[0].outcome is False and guards[1].outcome is True
    assert {guard.what for guard in guards} == {"branch", "max_steps"}


def test_a_branch_after_a_write_sees_it():
    def f(x):
        x[0] = -x[0]
        if x[0] < 0:
            x[1] = 0
        return x.sum()

    check(f, vector())


def test_truth_of_an_array():
    with pytest.raises(ValueError, match="ambiguous"):
        trace(lambda x: 1 if x > 0 else 2, (vector(),))
    check(lambda x: bool(x[:1] > 0), vector())
    check(lambda x: 3.0 in np.arange(5) and x[0], vector())
