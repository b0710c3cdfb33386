"""Tracing: the tape of a function does what the function does, for the example and for other numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from planned_ad.errors import CapturedWriteError, TraceError, UnrollLimitError, UnsupportedError
from planned_ad.tape.captured import captured_in
from planned_ad.trace import trace

from .trace_helpers import matrix, vector
from .tracing_oracle import check, replay

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


def test_all_but_one_place_by_r():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            others = np.r_[:i, i + 1 : len(x)]
            total += np.sum(x[others]) * x[i] + np.sum(np.concatenate((np.r_[0:i], np.r_[i + 1 : len(x)])))
        return total, np.r_[0 : x[0] : 5j]

    x = vector()
    found = trace(f, (x,), unroll=0)
    assert found.rolled and not found.unrolled
    check(f, x)


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
            totals[0.5, i] = x[i % 6] * i
        return totals[0.5, 9]

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
