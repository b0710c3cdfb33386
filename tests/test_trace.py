"""Tracing: the tape of a function does what the function does, for the example and for other numbers."""

from __future__ import annotations

import collections
import copy
import dataclasses
import math

import numba
import numpy as np
import pytest
import scipy.special

from planned_ad.errors import CapturedWriteError, TraceError, UnrollLimitError, UnsupportedError
from planned_ad.python.structure import Const
from planned_ad.tape.captured import captured_in
from planned_ad.tape.tape import Guard
from planned_ad.trace import trace

from .tracing_oracle import check, replay


def vector(n=6, dtype=np.float64):
    return (np.linspace(0.3, 1.7, n) + 0.1 * np.sin(np.arange(n))).astype(dtype)


def matrix(rows=3, columns=4, order="C"):
    return np.array(vector(rows * columns).reshape(rows, columns), order=order)


# Operators.

OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "divmod": lambda x, y: divmod(x, y),
    "power": lambda x, y: x**y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    "pair",
    [
        (vector(), vector()[::-1].copy()),
        (vector(), 1.3),
        (0.7, vector()),
        (0.7, 1.3),
        (matrix(), vector(4)),
        (matrix(3, 1), matrix(1, 4)),
        (vector(6, np.float32), vector(6)),
        (vector(6, np.float32), 0.7),
        (vector(6, np.float32), np.float64(0.7)),
        (vector(), np.array(2.5)),
        (vector(), np.arange(1, 7)),
        (matrix(order="F"), matrix()),
    ],
    ids=lambda pair: "-".join(f"{np.asarray(a).dtype}{np.shape(a)}" for a in pair),
)
def test_binary_operators(name, pair):
    check(OPERATORS[name], *pair)


@pytest.mark.parametrize("x", [vector() - 1, matrix(order="F") - 1, -0.7, np.float64(-0.7), np.float32(0.5)])
def test_unary_operators(x):
    check(lambda x: (-x, +x, abs(x), x.__neg__() if isinstance(x, np.ndarray) else x), x)


def test_reflected_operators_with_numbers_and_arrays():
    table = np.arange(6.0) + 1
    check(lambda x: (2 - x, 2 / x, 2**x, 7 // x, 7 % x, 2 + x, 2 * x, table - x, table / x, table**x), vector())
    check(lambda x: np.float64(2) * x[0] + np.float32(3) - x[1], vector())
    check(lambda x: [1.0, 2.0] + x[:2], vector())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, -1, -2, 0.5, 2.0, -1.0, 1.5, -0.5, 17, 100])
def test_powers_with_known_exponents(n):
    check(lambda x: (x**n, x[0] ** n, np.power(x, n)), vector())


def test_powers_of_integers():
    k = np.arange(1, 7)
    check(lambda x, k: (k**2 * x, k**3 * x, k**0.5 * x, (k**0) * x, 2.0**k * x), vector(), k)
    with pytest.raises(ValueError, match="negative integer powers"):
        trace(lambda x, k: x * k**-1, (vector(), k))


def test_powers_at_the_edges():
    x = np.array([0.0, -1.5, 2.0, -0.0])
    check(lambda x: (x**0, x**2, x**3, 0.0 ** x[0], x**0.0, np.power(x, 3.0)), x)


def test_integer_and_boolean_arrays_are_data():
    k, b = np.arange(6), np.arange(6) % 2 == 0

    def f(x, k, b):
        return (
            x * k,
            k + 1,
            k // 2,
            k % 4,
            k & 3,
            k | 8,
            k ^ 5,
            ~k,
            k << 1,
            k >> 1,
            b & (x > 1),
            b | b,
            ~b,
            b * x,
            -k,
            k / 2,
        )

    traced = check(f, vector(), k, b)
    assert [leaf.active for leaf in traced.leaves] == [True, False, False]


def test_scalars_follow_nep_50():
    def f(x, a, b):
        return a + x[0], a * b, b * x[0], a**2, 1 - a, x * a, x * b, x[0] * x, abs(a), -a, a > b

    check(f, vector(6, np.float32), 0.7, np.float64(0.3))
    check(f, vector(), 0.7, np.float32(0.3))


def test_matrix_products():
    check(
        lambda a, b, v: (a @ b, b @ v, v @ a.T @ a, v.dot(v), np.dot(a, b), np.outer(v, v)),
        matrix(3, 4),
        matrix(4, 4),
        vector(4),
    )
    check(lambda x: np.arange(3.0) @ x, matrix(3, 4))


def test_matrix_multiplication_in_place():
    def f(a, b):
        a @= b
        return a.sum()

    check(f, matrix(4, 4), matrix(4, 4))


# Ufuncs.

POSITIVE = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "absolute",
    "fabs",
    "negative",
    "positive",
    "square",
    "reciprocal",
    "deg2rad",
    "rad2deg",
    "radians",
    "degrees",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "conjugate",
    "logical_not",
    "modf",
]
TWO = [
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "copysign",
    "fmod",
    "heaviside",
    "float_power",
    "logical_and",
    "logical_or",
    "logical_xor",
    "true_divide",
    "remainder",
    "mod",
    "floor_divide",
    "divmod",
]


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize(
    "x", [vector(), vector(6, np.float32), matrix(order="F"), np.float64(0.7)], ids=["v", "f4", "F", "s"]
)
def test_ufuncs_of_one_operand(name, x):
    check(lambda x: getattr(np, name)(x), x)


@pytest.mark.parametrize("name", [name for name in POSITIVE if name != "signbit"])  # it has no loop for integers
def test_ufuncs_of_integers(name):
    check(lambda x, k: getattr(np, name)(k), vector(), np.arange(1, 5))


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_ufuncs_on_the_unit_interval(name):
    check(lambda x: getattr(np, name)(x / 4), vector())
    check(lambda x: np.arccosh(x + 1), vector())


@pytest.mark.parametrize("name", TWO)
def test_ufuncs_of_two_operands(name):
    f = getattr(np, name)
    check(lambda x, y: (f(x, y), f(x, 0.5), f(x[0], y), f(-x, y)), vector(), vector()[::-1].copy())


@pytest.mark.parametrize("name", ["expit", "logit", "erf", "erfc", "gammaln", "psi", "ndtr", "log_expit", "entr"])
def test_special_functions(name):
    check(lambda x: getattr(scipy.special, name)(x / 2), vector())


@pytest.mark.parametrize("name", ["xlogy", "rel_entr", "xlog1py"])
def test_special_functions_of_two_operands(name):
    check(lambda x, y: getattr(scipy.special, name)(x, y), np.array([0.0, 0.5, 2.0]), np.array([0.5, 0.25, 3.0]))


def test_ufunc_arguments():
    def f(x, y):
        out = np.empty(6)
        same = np.add(x, y, out=out)
        np.multiply(out, 2, out)
        np.exp(x, out=y[::-1])
        mask = x > 1
        np.sqrt(x, out=out, where=mask)
        return same, out, np.add(x, 1, dtype=np.float32), np.clip(x, 0.5, 1.2)

    check(f, vector(), vector())


def test_ufunc_methods():
    def f(x, m):
        np.add.at(x, [0, 1, 1], x[:3])
        np.subtract.at(x, np.array([2, 2]), 0.5)
        return (
            np.add.reduce(x),
            np.add.reduce(m, axis=1),
            np.multiply.accumulate(x),
            np.multiply.outer(x, x),
            np.maximum.reduce(m),
        )

    check(f, vector(), matrix())


# Methods and attributes of ndarray.


def test_attributes():
    def f(x):
        assert isinstance(x, np.ndarray) and isinstance(x[0, 0], float) and isinstance(x[0, 0], np.float64)
        assert x.shape == (3, 4) and x.ndim == 2 and x.size == 12 and len(x) == 3 and x.dtype == np.float64
        assert x[0, 0].dtype == np.float64 and x[0, 0].shape == () and x.nbytes == 96 and x.itemsize == 8
        assert np.shape(x) == (3, 4) and np.ndim(x) == 2 and np.size(x) == 12
        print(repr(x), f"{x[0, 0]:.3f}")
        return x.T, x.real, x.imag, x[0, 0].T, x[0, 0].real

    check(f, matrix())


def test_methods():
    def f(x):
        return [
            x.sum(), x.sum(0), x.sum(axis=1, keepdims=True), x.mean(), x.mean(1), x.prod(), x.max(), x.min(0),
            x.var(), x.std(1, ddof=1), x.cumsum(), x.cumprod(1), x.dot(x.T), x.reshape(4, 3), x.reshape((2, -1)),
            x.ravel(), x.flatten(), x.flatten("F"), x.copy(), x.astype(np.float32), x.astype(int), x.transpose(),
            x.transpose(1, 0), x.transpose((1, 0)), x.swapaxes(0, 1), x[:, :1].squeeze(), x.take([0, 2], axis=1),
            x.repeat(2), x.diagonal(), x.trace(), x.clip(0.5, 1), x.round(1), (x > 1).any(), (x > 0).all(1), x.conj(),
            x.tolist(), x.item(3), x.item(1, 2), x[0].item(0), x[0, 0].item(),
        ]  # fmt: skip

    check(f, matrix())
    check(f, matrix(order="F"))


def test_methods_of_scalars():
    check(
        lambda x: (x[0].sum(), x[0].copy(), x[0].astype(np.float32), x[0].reshape(1, 1), x[0][None], np.sum(x[0])),
        vector(),
    )


def test_fill_and_copyto():
    def f(x, y):
        y.fill(x[0])
        z = np.empty_like(x)
        np.copyto(z, x[::-1])
        np.copyto(z[1:3], 5)
        np.copyto(z, y, where=x > 1)
        return z

    check(f, vector(), vector())


def test_copies_are_copies():
    def f(x):
        y, z, w = x.copy(), copy.copy(x), copy.deepcopy(x)
        y[0] = 7
        x[1] = 5
        return y, z, w, np.array(x), np.asarray(x) is x

    check(f, vector())


def test_iteration_and_unpacking():
    def f(x, m):
        a, b, *rest = x
        total = 0.0
        for row in m:
            row *= 2
            for element in row:
                total += element
        return a * b, rest, total, [r.sum() for r in m], sum(x), sum(r for r in m), list(zip(x, m[0]))

    check(f, vector(), matrix())


# In-place programs and aliasing.


def test_in_place_on_an_input():
    def square(x):
        for i in range(len(x)):
            x[i] = x[i] ** 2
        return np.sum(x)

    check(square, np.array([1.0, 2.0]))


def test_overwritten_after_use():
    def foo(x):
        res = 0.0
        for i in range(10):
            res += x[i] * x[i]
            x[i] = 0
        return res

    check(foo, vector(10))


def test_vector_of_matrices():
    def f(matvec, vec):
        for i in range(len(vec)):
            mat = matvec[i]
            a = vec[i]
            col = (a, a, a)
            for j in range(3):
                mat[j, 0] = col[j]
            mat[0, 0] = vec[i]
        return matvec[2][0, 0]

    check(f, [np.ones((3, 3)) * k for k in range(3)], np.array([1.0, 2.0, 3.0]))


def test_views_of_views():
    def f(x):
        v = x[2:6]
        v *= 3
        x[3] = x[3] * x[2]
        v += x[0:4]
        w = v[::-1][1:]
        w -= v[1:]
        return v.sum(), w

    check(f, vector(8))


def test_swaps_and_shifts():
    def f(x, m):
        x[0], x[1] = x[1], x[0]
        x[1:] = x[:-1]
        x[:-2] += x[2:]
        x[:] = x[::-1]
        m[:] = m.T
        m[0], m[1] = m[1].copy(), m[0].copy()
        m[:, 0] = m[0]
        m.T[1] *= m[1]

    check(f, vector(), matrix(4, 4))


def test_in_place_operators():
    def f(x, y):
        x += y
        x -= 0.5
        x *= y
        x /= y + 3
        x **= 2
        y %= 0.7
        y //= 0.1
        x[1:3] += [1, 2]
        x[[0, 2]] *= 2
        x[x > 2] -= 1
        x[0] += x[1]
        return x

    check(f, vector(), vector()[::-1].copy())


def test_in_place_operators_keep_the_dtype():
    def f(x, k):
        x += np.float64(0.1)
        x *= k
        k += 2
        k *= k
        k[1] = 2.9
        return x, k

    check(f, vector(6, np.float32), np.arange(6))


def test_locals():
    def f(x):
        n = len(x)
        y = np.zeros(n)
        y[1:] = x[:-1]
        y[0] = 1
        z = np.empty((2, n))
        z[0], z[1] = x, y * 2
        w = np.ones_like(z, order="F")
        w += z
        o = np.full(3, x[0])
        o[1] = 0
        u = np.full_like(x, 2.5) * x
        e = np.eye(n) * x
        e[0, 0] = 3
        v = x * 2
        v[0] = 0
        return y, z, w, o, u, e, v, np.arange(n) * x, np.linspace(0, 1, n) + x

    check(f, vector())


def test_arrays_of_traced_items():
    def f(x, a):
        y = np.array([x[0], 2.0, a])
        z = np.array([[x[0], x[1]], [a, 1]])
        w = np.array([x, x * 2])
        y[0] *= 3
        return (
            y,
            z,
            w,
            np.asarray([x[0], 1]),
            np.stack([x, x]),
            np.concatenate([[x[0]], x]),
            np.array(x[0]),
            np.array([x[0]], dtype=np.float32),
        )

    check(f, vector(), 0.5)


def test_index_tricks():
    def f(x, m):
        rows, columns = np.mgrid[0:3, 0:4]
        m[np.ix_([0, 2], [1, 3])] *= 2
        m[np.diag_indices(3)] = x[:3]
        return np.r_[x, 1.0, x[0], 2:4], np.c_[x, x * 2], rows * m + columns, [i[0] * v for i, v in np.ndenumerate(m)]

    check(f, vector(), matrix())
    check(lambda x: (np.isscalar(x[0]), np.isscalar(x), np.iscomplexobj(x)), vector())


def test_linspace_with_traced_ends():
    check(lambda x: (np.linspace(x[0], x[1], 5), np.linspace(0, x[1], 4, endpoint=False)), vector())


def test_known_arrays_stay_known():
    def f(x):
        count = np.zeros(3, int)
        for i in (0, 2, 2):
            count[i] += 1
        total = x[count[2]] * int(count[0])
        order = np.argsort([3, 1, 2])
        if count.sum() == 3 and count[2] > count[0]:
            total += x[order].sum()
        for k in np.arange(3):
            total += x[k]
        steps = np.arange(0.0, 1.0, 0.25)
        return total, steps, [float(s) for s in steps], count

    check(f, vector())


def test_a_known_array_becomes_traced_with_its_views():
    def f(x):
        y = np.zeros((2, 3))
        row = y[1]
        y[0, 0] = 5
        row[2] = x[0]
        y.T[0, 1] = x[1]
        return y, row, y[0, 0]

    check(f, vector())


@pytest.mark.parametrize("order", "CF")
def test_reshapes_are_views_or_copies_as_in_numpy(order):
    def f(x):
        a = x.reshape(-1)
        a[0] = 5
        b = x.T.reshape(-1)
        b[1] = 7
        c = (x * 2).reshape(-1)
        d = x * 2
        d.reshape(-1)[0] = 11
        e = (x + x.T).ravel()
        g = x.T + 1
        g.reshape(9)[3] = 1
        h = x.ravel("K")
        h[4] = 8
        i = x.reshape(9, order="F")
        i[2] = 4
        j = x.copy().reshape(9)
        k = np.copy(x).reshape(9)
        k[5] = 2
        m = x.astype(np.float32).T.reshape(-1)
        return a, b, c, d, e, g, h, i, j, k, m

    check(f, matrix(3, 3, order))


def test_strided_arguments():
    def f(x, m):
        x[1:] += x[:-1]
        m[::2] *= m[1::2]
        m.ravel()[0] = 3
        return x.sum(), m.T.copy(), m.reshape(-1)

    memory = vector(40)
    check(f, memory[::-3], memory.reshape(8, 5)[::2, ::-1][:, 1:].copy()[:, ::-1])
    check(f, memory[30::-4], np.asfortranarray(vector(12).reshape(4, 3)))


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


# Errors.


def line_of(error):
    return str(error.value)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: {x[0]: 1}, "hash()"),
        (lambda x: scipy.special.factorial(np.zeros(3)) + np.packbits(x), "packbits"),
        (lambda x: scipy.special.softmax, ""),
    ],
)
def test_conversions_are_refused(f, what):
    if not what:
        trace(f, (vector(),))
        return
    with pytest.raises(TraceError) as error:
        trace(f, (vector(),))
    assert what in str(error.value) and "test_trace.py" in str(error.value), error.value


def test_asarray_in_a_library_is_refused():
    import scipy.linalg

    with pytest.raises(UnsupportedError, match=r"test_trace.py:\d+.*scipy.linalg.lapack.dgetrf .*has no rule"):
        trace(lambda x: scipy.linalg.lapack.dgetrf(x), (matrix(3, 3),))


TABLE = np.arange(6.0)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, t: t.__setitem__(0, x[0]),
        lambda x, t: t.__setitem__(0, 1.0),
        lambda x, t: t[1:].__iadd__(x[1:]),
        lambda x, t: t.__imul__(2),
        lambda x, t: np.add(x, 1, out=t),
        lambda x, t: np.copyto(t, x),
        lambda x, t: t.fill(0),
        lambda x, t: np.add.at(t, [0], 1),
        lambda x, t: t.reshape(2, 3)[0].__setitem__(slice(None), 0),
    ],
)
def test_captured_arrays_are_not_written(write):
    before = TABLE.copy()

    def f(x):
        write(x, TABLE)

    with pytest.raises(CapturedWriteError, match=r"TABLE.*copy") as error:
        trace(f, (vector(),))
    assert "test_trace.py" in str(error.value)
    np.testing.assert_array_equal(TABLE, before)


def test_copies_of_captured_arrays_are_written():
    def f(x):
        work = TABLE.copy()
        work[0] = x[0]
        return work * TABLE

    traced = check(f, vector())
    assert [buffer.label for buffer in captured_in(traced.tape)] == ["TABLE"]


def test_unsupported_is_refused():
    for f, text in [
        (lambda x: np.sqrt(x, where=x > 1), "where="),
        (lambda x: x.view(np.int64), "view"),
        (lambda x: np.float16(2) * x, "float16"),
        (lambda x: np.random.rand(3) + x[0], "rand"),
        (lambda x: np.packbits(x), "packbits"),
        (lambda x: x * RNG.normal(), "RNG.normal"),
    ]:
        with pytest.raises(TraceError, match=text) as error:
            trace(f, (matrix(3, 3),))
        assert "test_trace.py" in str(error.value), error.value
    for argument in (np.zeros(3, ">c16"), np.zeros(3, np.float16), np.zeros(3, ">f8"), np.ma.zeros(3)):
        with pytest.raises(UnsupportedError, match="`x`"):
            trace(lambda x: x, (argument,))


def test_errors_of_numpy_pass_with_a_note():
    def f(x):
        return x + np.zeros(5)

    with pytest.raises(ValueError, match="could not be broadcast together with shapes") as error:
        trace(f, (vector(),))
    (note,) = error.value.__notes__
    assert f"test_trace.py:{f.__code__.co_firstlineno + 1} in f" in note and "np.zeros(5)" in note
    for bad, kind in [
        (lambda x: x[9], IndexError),
        (lambda x: x[0, 0], IndexError),
        (lambda x: x.sum(axis=3), np.exceptions.AxisError),
        (lambda x: x.reshape(5), ValueError),
        (lambda x: x.__iadd__(np.zeros((2, 6))), ValueError),
        (lambda x: x.__setitem__(slice(0, 2), np.zeros(3)), ValueError),
        (lambda x: np.broadcast_to(x, (2, 6)).__setitem__(0, 1), ValueError),
        (lambda x: x + "a", TypeError),
        (lambda x: x.nothing, AttributeError),
    ]:
        with pytest.raises(kind) as error:
            trace(bad, (vector(),))
        with pytest.raises(kind):
            bad(vector())
        assert error.value.__notes__


def test_integers_do_not_take_fractions_in_place():
    def f(k, x):
        k += x

    with pytest.raises(TypeError, match="same_kind"):
        trace(f, (np.arange(6), vector()))


def test_read_only_arguments():
    x = vector()
    x.setflags(write=False)
    check(lambda x: x.sum(), x)
    with pytest.raises(ValueError, match="read-only"):
        trace(lambda x: x.__setitem__(0, 1), (x,))


def test_arguments_that_share_memory():
    memory = vector(8)

    def f(a, b):
        return (a * b).sum()

    def g(a, b):
        a[0] = b[0]

    check(f, memory[:4], memory[4:])
    trace(f, (memory[:5], memory[3:]))
    trace(g, (memory[::2], memory[1::2]))
    with pytest.raises(TraceError, match=r"`a`.*`b`"):
        trace(g, (memory[:5], memory[3:]))
    with pytest.raises(TraceError, match=r"`a`.*`b`"):
        trace(g, (memory, memory))


def test_unrolling_is_bounded():
    def f(x):
        totals = {}
        for i in range(10_000):
            totals[i] = x[i % 6] * i
        return totals[9]

    with pytest.raises(UnrollLimitError, match=r"1,000 operations.*test_trace.py") as error:
        trace(f, (vector(),), max_operations=1000)
    assert f"{f.__code__.co_firstlineno + 3}" in str(error.value)


def test_items_of_containers_are_not_replaced():
    def f(params):
        params[0] = params[0] * 2
        return params[0].sum()

    with pytest.raises(TraceError, match=r"params\[0\]"):
        trace(f, ([vector()],))

    def g(params):
        params[0] *= 2
        return params[0].sum()

    check(g, [vector()])


def test_the_replay_takes_other_numbers():
    traced = trace(lambda x: x.sum(), (vector(),))
    assert replay(traced, np.ones(6))[0] == 6
