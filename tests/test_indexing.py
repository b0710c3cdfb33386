"""Indexing: views, gathers and scatters, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import planned_ad
from planned_ad.tape.tape import Apply, Guard, Scatter
from planned_ad.trace import trace

from .sweeps import drawn
from .tracing_oracle import check


def cube(order="C"):
    return np.array(np.linspace(0.5, 2, 60).reshape(3, 4, 5), order=order)


I2 = np.array([2, 0])
I22 = np.array([[0, 2], [-1, 1]])
J2 = np.array([-1, 3])
MASK0 = np.array([True, False, True])
MASK01 = np.arange(12).reshape(3, 4) % 3 == 0

KEYS = {
    "integer": 1,
    "negative": -1,
    "numpy integer": np.int64(1),
    "integers": (1, 2),
    "element": (1, -2, 3),
    "element and ellipsis": (1, 2, 3, ...),
    "slice": slice(1, None),
    "steps": (slice(None, None, 2), slice(None, None, -1)),
    "backwards": (slice(None, None, -1), slice(3, 0, -2), slice(None, None, -1)),
    "ellipsis": (..., 1),
    "two sides": (0, ..., slice(1, 3)),
    "new axes": (None, slice(None), None, 1),
    "empty": slice(2, 1),
    "all": (),
    "everything": ...,
    "index array": I2,
    "list": [0, 2, 2],
    "empty list": [],
    "matrix of indices": I22,
    "middle": (slice(None), J2),
    "last": (..., np.array([4, 0, 4])),
    "pair": (I2, J2),
    "pair with a slice": (I2, slice(None), J2),
    "pair in the end": (slice(None), J2, I2),
    "array and integer": (1, I2),
    "integer and array apart": (1, slice(None), I2),
    "outer": (I2[:, None], J2),
    "array and new axis": (I2, None, J2),
    "array and slices": (slice(None, None, -1), J2, slice(None, None, 2)),
    "ellipsis between": (I2, ..., J2),
    "three": (I2, J2, np.array([0, 4])),
    "three with zero ellipsis": (I2, J2, ..., np.array([0, 4])),
    "mask": MASK0,
    "mask of two axes": MASK01,
    "mask in the middle": (slice(None), np.array([True, False, False, True])),
    "mask and array": (MASK0, J2),
    "mask, slice": (MASK0, slice(None), 1),
    "mask of two axes and integer": (MASK01, 2),
    "full mask": cube() > 1.1,
    "list of truths": [True, False, True],
    "zero-dimensional index": np.array(1),
    "unsigned": np.array([1, 2], np.uint8),
    "true": True,
    "false": np.False_,
    "truth in the middle": (slice(None), True, J2),
    "truth, new axis and ellipsis": (None, np.True_, ..., 1),
    "truth after the ellipsis": (..., np.array(True), I2),
    "nothing of what is left": (0, np.False_, slice(1, 3)),
    "mask and truth": (MASK0, True),
}


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
class TestKeys:
    def test_reading(self, key, order):
        check(lambda x: x[key] * 2, cube(order))

    def test_a_reshape_of_what_was_read_copies_as_numpy_does(self, key, order):
        def f(x):
            y = x[key]
            if isinstance(y, np.ndarray) and y.ndim:
                flat = y.reshape(-1)
                flat += 1
                turned = y.T.reshape(-1)
                turned *= 2
                z = (y + 1).reshape(-1)
                z[:1] = 3
                return y, flat, turned, z
            return y

        check(f, cube(order))

    def test_writing(self, key, order):
        def f(x):
            x[key] = x[key] * 2 + 1
            x[key] = 3
            x[key] -= 1
            x[key] *= x[key]

        check(f, cube(order))

    def test_writing_into_a_local(self, key, order):
        def f(x):
            y = np.zeros_like(x)
            y[key] = x[key]
            z = x * 2
            z[key] += x[key]
            w = np.zeros(x.shape, np.float32)
            w[key] = 1
            w[key] += 1
            return y, z, w

        check(f, cube(order))

    def test_adding_at(self, key, order):
        check(lambda x: np.add.at(x, key, 2.5), cube(order))

    def test_reading_a_known_array(self, key, order):
        table = cube(order)
        check(lambda x: table[key] * x[0, 0, 0], cube(order))


@pytest.mark.parametrize("number", [0.3, -0.3])
def test_traced_truths_choose_all_or_nothing(number):
    def f(x):
        found = []
        for y in (x[0, 0], np.asarray(x[0, 0]), x):
            good = x[0, 0] > 0
            z = np.empty_like(y)
            z[good] = np.sin(y[good])
            z[~good] = -y[~good] * 2
            found += [z, y[good], y[~good, None] * 3, y[..., good]]
        return found

    check(f, np.array([[number, 2.0], [3.0, 4.0]]))


RUN_TIME = {
    "index array": lambda i, j: i,
    "matrix": lambda i, j: np.stack([i, j]),
    "middle": lambda i, j: (slice(None), i),
    "pair": lambda i, j: (i, j),
    "pair with a slice": lambda i, j: (i, slice(None), j),
    "element of it": lambda i, j: i[0],
    "elements of them": lambda i, j: (i[0], j[1]),
    "element and slice": lambda i, j: (slice(None), i[1], slice(1, 3)),
    "element, integer": lambda i, j: (i[0], 1, j[0]),
    "known and traced": lambda i, j: ([0, 1, 2], i),
    "computed": lambda i, j: (i + j) // 2,
    "negative": lambda i, j: -1 - i,
}


@pytest.mark.parametrize("key", RUN_TIME.values(), ids=RUN_TIME)
def test_indices_known_at_run_time(key):
    i, j = np.array([2, 0, 1]), np.array([0, 1, -1])

    def read(x, i, j):
        return x[key(i, j)] * 2

    def write(x, i, j):
        k = key(i, j)
        x[k] = x[k] ** 2
        x[k] += 1.5
        np.add.at(x, k, 1)

    for order in "CF":
        check(read, cube(order), i, j)
        check(write, cube(order), i, j)


def test_run_time_indices_are_guarded():
    i = np.array([2, 0, 1])
    traced = trace(lambda x, i: x[i], (cube(), i))
    assert [op.what for op in traced.tape.operations if isinstance(op, Guard)] == ["index"]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3") as error:
        trace(lambda x, i: x.T[:, i.reshape(3), 0], (cube()[:, :3], i + 1))
    assert "test_indexing.py" in str(error.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 1.2],
        lambda x: x[(x > 1.2)[:, :, 0]],
        lambda x: x[(x > 1.2)[:, 0, 0]],
        lambda x: x[(x > 1.2)[:, 0, 0], 1],
        lambda x: x[:, (x > 1.2)[1, :, 0]],
        lambda x: x[x > 1e9],
        lambda x: x[(x > 1.2).nonzero()],
        lambda x: np.nonzero(x > 1.2)[1] * 2,
        lambda x: np.where(x > 1.2)[0] + np.flatnonzero(x[0, 0] > 0.5).sum(),
        lambda x: x[1][x[1] > 1].sum() + len(x[x > 1]),
    ],
)
def test_masks_known_at_run_time(f):
    traced = check(f, cube())
    assert any(isinstance(op, Guard) and op.what == "count" for op in traced.tape.operations)


def test_writing_through_masks_known_at_run_time():
    def f(x, y):
        x[x > 1.2] = 0
        y[y[:, 0, 0] > 0.4] = y[0, 0, 0]

    traced = check(f, cube(), cube())
    assert not any(isinstance(op, Guard | Scatter) for op in traced.tape.operations)

    def g(x, y):
        x[x > 1.2] = y[x > 1.2]
        x[x < 0.9] += 1
        x[(x < 0.9)[:, :, 0]] = y[0, 0]
        x[:, x[0, :, 0] > 0.6] *= 2

    check(g, cube(), cube("F"))


def test_a_view_has_no_gather():
    traced = trace(lambda x: x[::-1, 1:, ...].T.reshape(5, -1)[2:, None] * 2, (cube(),))
    names = {op.primitive for op in traced.tape.operations if isinstance(op, Apply)}
    assert names <= {"multiply", "view"}


@pytest.mark.parametrize(
    "key",
    [
        3, -4, (0, 9), (0, 0, 0, 0), (..., ...), [3], (slice(None), [0, 4]), np.array([0.5]), 1.5, "a",
        ([0, 1], [0, 1, 2]),
        np.ones(4, bool), np.ones((3, 5), bool), (np.ones(2, bool), [0, 1]), (0, 0, 0, [1]), (slice(None), 0, 0, 0),
    ],
    ids=str,
)  # fmt: skip
def test_errors_are_of_numpys_kind(key):
    for use in (lambda x: x[key], lambda x: x.__setitem__(key, 1.0), lambda x: x.__setitem__(key, x[0, 0, 0])):
        with pytest.raises(Exception) as expected:
            use(cube())
        with pytest.raises(type(expected.value)) as error:
            trace(use, (cube(),))
        if isinstance(expected.value, IndexError):
            assert str(error.value).split(" with size")[0][:25] == str(expected.value).split(" with size")[0][:25]


def test_assigned_values_are_broadcast_and_converted():
    def f(x, k):
        x[0] = [1, 2, 3, 4, 5]
        x[1] = np.ones((1, 4, 1))
        x[2, 1:3] = x[0, 0]
        x[:, 0, 0] = x[0, 0, 1:4]
        x[[0, 1], 2] = x[2, 3]
        x[I22, :, 0] = np.arange(4)
        x[..., 1] = True
        k[1:] = x[0, 0, 1:3]
        k[0] = 2.75
        return k * x[0, 0, 0]

    check(f, cube(), np.arange(3))
    check(f, cube(), np.arange(3, dtype=np.int8))


def test_views_at_run_time_places():
    def f(x, k):
        row = x[k[0]]
        x[:] *= 2
        total = row.sum()
        row += 1
        row[1] = row[0] * row[2]
        row[:, k[1]] = 3
        row[k[2]][::2] = 5
        row[[0, 0]] -= 1
        row.T.reshape(-1)[0] = 100
        row.reshape(-1)[3] = 7
        x[k[1], :, k[0]] += total
        x[k[1], k[1], k[1]] *= 2
        x[k[0]] += x[k[1]]
        np.add.at(x[k[0]], [1, 1], 1)
        one = x[k[0], 1]
        one **= 2
        return row, one, x[k[0], k[1], k[2]], x[k[0]][k[1]], x[1:][k[2], ..., ::-1], x[np.array(k[0])]

    for order in "CF":
        check(f, cube(order), np.array([2, -1, 0]))

    def g(x, k):
        table = np.zeros((3, 4))
        table[k[0]] = x[0, :, 0]
        table[k[0], 2:] = 1
        constant = np.arange(12.0).reshape(3, 4)[k[1]]
        constant[0] += 5
        return table, constant * x[0, :, 0]

    check(g, cube(), np.array([2, 1]))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 2 with size 5"):
        trace(lambda x, k: x[..., k[0]], (cube(), np.array([7])))
    with pytest.raises(IndexError, match="too many indices"):
        trace(lambda x, k: x[0, 0, 0, k[0]], (cube(), np.array([0])))


def test_repeated_indices_keep_the_last():
    def f(x):
        x[[0, 1, 0]] = x[[2, 1, 1]]
        y = np.zeros(4)
        y[[1, 1, 1]] = x[0, 0, :3]
        y[[1, 1]] += 1
        np.add.at(y, [1, 1], x[0, 0, :2])
        return y

    check(f, cube())


def test_flat_and_negative_strides():
    def f(x):
        x.flat[3] = x.flat[4] * 2
        x.flat = 1
        y = x[::-1, ::-2]
        y[:, 0] *= 3
        y[0] = y[1]
        return y.flatten()

    check(f, cube())


def test_views_by_functions():
    def f(x):
        a = np.transpose(x, (2, 0, 1))
        a[0] = 1
        b = np.diagonal(x, axis1=0, axis2=1)
        c = np.broadcast_to(x[0, 0], (2, 5))
        np.swapaxes(x, 0, 2)[1] *= 2
        np.moveaxis(x, 0, -1)[..., 1] += 1
        np.squeeze(x[:, :1])[0] = 4
        np.expand_dims(x, 0)[0, 0, 0] = 5
        np.ravel(x)[7] = 8
        np.reshape(x, (5, 12))[3] *= 3
        np.flip(x, 1)[0, 0] = 2
        np.split(x, 3)[1][...] *= x[0]
        np.atleast_2d(x[0, 0])[0, 1] = 3
        left, right = np.array_split(x, 2, axis=2)
        left += 1
        return b * 2, c + 1, right

    check(f, cube())


# Random programs.


@st.composite
def keys(draw, shape):
    parts = []
    for n in shape:
        how = draw(st.integers(0, 4))
        if how == 0 and len(shape) > 1:
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            start = draw(st.none() | st.integers(-n, n))
            stop = draw(st.none() | st.integers(-n, n))
            parts.append(slice(start, stop, draw(st.sampled_from([None, 1, 2, -1, -2]))))
    return tuple(parts)


STEPS = [
    "view",
    "transpose",
    "reshape",
    "diagonal",
    "gather",
    "place",
    "fresh",
    "known",
    "assign",
    "add",
    "multiply",
    "element",
    "shift",
    "mask",
]


@drawn(st.data(), few=50, many=500)
def test_random_programs(data):
    """Views of views of views, and writes through all of them."""
    shape = data.draw(st.sampled_from([(6,), (3, 4), (2, 3, 4)]))
    order = data.draw(st.sampled_from("CF"))
    x = np.array(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape), order=order)
    program = []
    places = np.array([1, 0, -1])
    arrays = [x.copy(order="K")]  # what the program's variables hold, so that the drawn keys fit

    def emit(step):
        program.append(step)
        run_step(step, arrays, places)

    for _ in range(data.draw(st.integers(1, 10))):
        a = data.draw(st.integers(0, len(arrays) - 1))
        how = data.draw(st.sampled_from(STEPS))
        target = arrays[a]
        if not target.ndim or not target.size:
            continue
        if how == "view":
            emit((how, a, data.draw(keys(target.shape))))
        elif how == "transpose":
            emit((how, a, tuple(data.draw(st.permutations(range(target.ndim))))))
        elif how == "reshape":
            emit((how, a, data.draw(st.sampled_from("CF"))))
        elif how == "diagonal" and target.ndim > 1:
            emit((how, a, None))
        elif how == "gather":
            index = data.draw(st.lists(st.integers(-len(target), len(target) - 1), min_size=1, max_size=3))
            emit((how, a, index))
        elif how == "place" and len(target) > 1:
            emit((how, a, data.draw(st.integers(0, 2))))
        elif how in ("fresh", "known", "element", "shift", "mask"):
            emit((how, a, None))
        elif how in ("assign", "add", "multiply"):
            if not target.flags.writeable:
                continue
            key = data.draw(keys(target.shape))
            fitting = [k for k, b in enumerate(arrays) if np.shape(b) == np.shape(target[key])]
            emit((how, a, (key, data.draw(st.sampled_from(fitting)) if fitting else None)))

    def f(x, places):
        variables = [x]
        for step in program:
            run_step(step, variables, places)
        return variables

    check(f, x, places)


def run_step(step, variables, places):
    how, a, what = step
    x = variables[a]
    if how == "view":
        y = x[what]
        if isinstance(y, np.ndarray):
            variables.append(y)
    elif how == "transpose":
        variables.append(x.transpose(what))
    elif how == "reshape":
        variables.append(x.reshape(-1, order=what))
    elif how == "diagonal":
        variables.append(x.diagonal())
    elif how == "gather":
        variables.append(x[what])
    elif how == "place":
        y = x[places[what]]
        if isinstance(y, np.ndarray):
            variables.append(y)
    elif how == "known":
        variables.append(np.ones_like(x))
    elif how == "fresh":
        variables.append(x * 0.5 + x)
    elif not x.flags.writeable:
        return
    elif how == "element":
        x[(0,) * x.ndim] = x[(-1,) * x.ndim] * 0.5
    elif how == "shift":
        x[1:] = x[:-1]
    elif how == "mask":
        x[x > 1] *= 0.5
    else:
        key, b = what
        value = 0.25 if b is None else variables[b]
        if how == "assign":
            x[key] = value
        elif how == "add":
            x[key] += value
        else:
            x[key] *= value


def test_indices_to_take_in_a_list() -> None:
    def f(x, c):
        total = np.sum(np.take(c, [1, int(x[0])]) * x[:2])
        for k in range(len(x)):
            i = int(x[k])
            total += np.sum(np.take(c, [k % 5, k // 2, i, i + 4], mode="clip")) * x[k]
            total += np.take(c.reshape(3, 4), [[i, 2], [0, i + 1]], axis=0, mode="wrap")[1, 1, 2]
        return total

    x, c = np.random.default_rng(0).uniform(0, 3, 20), np.random.default_rng(1).random(12)
    plan = planned_ad.compile(f, (x, c))
    for given in (x, x[::-1].copy()):
        assert plan(given, c) == pytest.approx(f(given, c), rel=1e-12)
    _, dc = plan.gradient(x, c)
    assert dc @ c == pytest.approx(f(x, c))  # it is linear in them
