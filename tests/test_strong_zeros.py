"""A cotangent of zero stays zero, whatever its factor is: no program has to write its `where` twice."""

import numpy as np
import pytest

import planned_ad
from planned_ad.analysis.singularities import singularities
from planned_ad.differentiate.reverse import reverse
from planned_ad.tape.tape import Apply, walk
from planned_ad.trace import trace

ABOUT = np.array([-1.0, 0.0, 1.0, 2.0, -0.5])
POINTS = np.random.default_rng(3).normal(size=(4, 3))


def distances(x):
    d = x[:, None] - x[None]
    return np.sqrt(np.sum(d**2, axis=-1))


def norms(x):
    return np.linalg.norm(x[:, None] - x[None], axis=-1)


def roots_one_by_one(x):
    total = 0.0
    for i in range(x.shape[0]):
        root = np.sqrt(x[i])
        total += root if x[i] > 0 else 0.0
    return total


def inverse_cube(x):
    d = x[:, None] - x[None]
    square = np.sum(d * d, axis=-1)
    return np.sum(np.where(square > 0, square**-1.5, 0.0)[:, :, None] * d * np.arange(3.0))


def apart(x):
    """Derivatives of the sum of distances, away from the diagonal, where they are none."""
    d = x[:, None] - x[None]
    size = np.sqrt((d * d).sum(-1))
    np.fill_diagonal(size, 1.0)
    return 2 * (d / size[:, :, None]).sum(1)


CASES = {
    "root": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), ABOUT, [0, 0, 0.5, 0.5 / np.sqrt(2), 0]),
    "root of a choice": (roots_one_by_one, ABOUT, [0, 0, 0.5, 0.5 / np.sqrt(2), 0]),
    "log": (lambda x: np.sum(np.where(x > 0, np.log(x) * x, 0)), ABOUT, [0, 0, 1, 1 + np.log(2), 0]),
    "quotient": (lambda x: np.sum(np.where(x > 0, 3 / x, 0)), ABOUT, [0, 0, -3, -0.75, 0]),
    "power": (lambda x: np.sum(np.where(x > 0, x**1.5, x)), ABOUT, [1, 1, 1.5, 1.5 * np.sqrt(2), 1]),
    "arccos": (lambda x: np.sum(np.where(np.abs(x) < 1, np.arccos(x), 0)), ABOUT, [0, -1, 0, 0, -1 / np.sqrt(0.75)]),
    "masked product": (
        lambda x: np.sum(np.sqrt(x) * (x > 0) * 2),
        np.abs(ABOUT),
        [1, 0, 1, 1 / np.sqrt(2), np.sqrt(2)],
    ),
    "distances": (lambda x: np.sum(distances(x)), POINTS, apart(POINTS)),
    "norms": (lambda x: np.sum(norms(x)), POINTS, apart(POINTS)),
    "triangle": (lambda x: np.sum(np.triu(distances(x), 1)), POINTS, apart(POINTS) / 2),
}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_that_of_the_side_taken(name):
    f, x, expected = CASES[name]
    plan = planned_ad.compile(f, (x,))
    direction = np.random.default_rng(4).normal(size=x.shape)
    np.testing.assert_allclose(plan.gradient(x), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(plan.jvp(x, direction)[1], np.sum(np.multiply(expected, direction)), rtol=1e-12)
    assert np.isfinite(plan.hvp(x, direction)).all()


def test_second_derivatives():
    direction = np.ones_like(POINTS)
    step = 1e-6
    gradient = planned_ad.grad(inverse_cube)
    expected = (gradient(POINTS + step * direction * POINTS) - gradient(POINTS - step * direction * POINTS)) / (
        2 * step
    )
    found = planned_ad.hvp(inverse_cube)(POINTS, direction * POINTS)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_a_zero_that_is_a_number_has_its_derivatives():
    """`x0 sqrt(x1)` at `x0 == 0`: the cotangent of the root is zero there, its derivative is not."""
    x = np.array([0.0, 4.0])
    hessian = planned_ad.compile(lambda x: x[0] * np.sqrt(x[1]), (x,)).hessian(x)
    np.testing.assert_allclose(hessian, [[0, 0.25], [0.25, 0]], rtol=1e-15)


def test_nan_of_the_value_is_not_hidden():
    plan = planned_ad.compile(lambda x: np.sum(np.sqrt(x)), (np.ones(2),))
    assert np.isnan(plan.gradient(np.array([-1.0, 4.0]))).tolist() == [True, False]
    assert plan.gradient(np.array([0.0, 4.0])).tolist() == [np.inf, 0.25]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x / 2.0),
        lambda x: np.sum(x / (1 + x**2)),
        lambda x: np.sum(1 / (1 + np.exp(-x))),
        lambda x: np.sum(np.log(np.sum(np.exp(x)))),
        lambda x: np.sum((x - x.mean()) / np.sqrt(np.var(x) + 1e-6)),
        lambda x: np.sum(np.sqrt(x * x + 0.1) * x),
        lambda x: np.sum(np.tanh(x) * np.exp(x)),
    ],
)
def test_nothing_is_added_where_nothing_is_singular(f):
    names = {op.primitive for op in walk(reverse(trace(f, (ABOUT,)).tape).operations) if isinstance(op, Apply)}
    assert not {name for name in names if name.startswith("strong")}


DATA = np.array([0.5, np.nan, 1.0, np.nan, 2.0])
KNOWN = ~np.isnan(DATA)
MISSING = {
    "nansum": lambda x, data: np.nansum((x - data) ** 2),
    "nanmean": lambda x, data: np.nanmean(x * data * x[::-1]),
    "where": lambda x, data: np.sum(np.where(np.isnan(data), 0.0, (x - data) ** 2)),
    "sum where": lambda x, data: np.sum((x - data) ** 2, where=~np.isnan(data)),
    "nan_to_num": lambda x, data: np.sum(np.nan_to_num((x - data) ** 2)),
    "mask": lambda x, data: np.sum(((x - data) ** 2)[np.isfinite(data)]),
    "shared factor": lambda x, data: np.sum(np.where(np.isnan(data), 0.0, np.sin(x).sum() * data)),
    "loop": lambda x, data: sum(np.nansum((x[i] - data) ** 2 * x) for i in range(5)),
    "known before": lambda x, data: np.sum(((x - DATA) ** 2)[KNOWN]),
}


@pytest.mark.parametrize("name, is_argument", [*((name, True) for name in MISSING), ("nansum", False), ("loop", False)])
def test_missing_data(name, is_argument):
    f = MISSING[name] if is_argument else lambda x, data: MISSING[name](x, DATA)
    plan = planned_ad.compile(f, (ABOUT, planned_ad.Const(DATA)))
    steps = np.eye(5) * 1e-5
    expected = [(f(ABOUT + h, DATA) - f(ABOUT - h, DATA)) / 2e-5 for h in steps]
    np.testing.assert_allclose(plan.gradient(ABOUT, DATA), expected, atol=1e-8)
    second = [(plan.gradient(ABOUT + h, DATA) - plan.gradient(ABOUT - h, DATA)) @ ABOUT / 2e-5 for h in steps]
    np.testing.assert_allclose(planned_ad.hvp(f)(ABOUT, DATA, ABOUT), second, atol=1e-8)


LAYERS = np.array([np.inf, 100.0, 80.0, np.inf])
INDICES = np.array([1.0, 2.2 + 0.05j, 3.3 + 0.3j, 1.0])


def phases(x):
    delta = 2 * np.pi * INDICES.real / x * LAYERS
    return np.cos(delta[1]) * np.cos(delta[2])


def complex_phases(x):
    delta = 2 * np.pi * INDICES / x * LAYERS
    return (np.exp(1j * delta[1]) * np.exp(1j * delta[2])).real


def thicknesses_in_a_list(x):
    d = [np.inf, x, 0.5 * x, np.inf]
    delta = np.array([1.0, 2.2, 3.3, 1.0]) / x**2 * np.array(d)
    return np.cos(delta[1] * 90.0) * np.cos(delta[2] * 90.0)


@pytest.mark.parametrize("f", [phases, complex_phases, thicknesses_in_a_list])
def test_infinite_numbers_of_the_program(f):
    """Of which it uses nothing: layers without an end."""
    gradient = planned_ad.grad(f)
    np.testing.assert_allclose(gradient(500.0), (f(500.001) - f(499.999)) / 2e-3, rtol=1e-6)
    second = (gradient(500.001) - gradient(499.999)) / 2e-3
    np.testing.assert_allclose(planned_ad.hvp(f)(500.0, 1.0), second, rtol=1e-6)


def test_a_question_asked_of_all_elements_adds_nothing():
    def f(x):
        return np.inf if np.isnan(x).any() or not np.all(np.isfinite(x)) else np.sum(x * np.sin(x))

    names = {op.primitive for op in walk(reverse(trace(f, (ABOUT,)).tape).operations) if isinstance(op, Apply)}
    assert not {name for name in names if name.startswith("strong")}


def test_what_is_found():
    tape = trace(lambda x, y: np.sum(np.sqrt(x) * y), (ABOUT**2, ABOUT)).tape
    facts = singularities(tape.operations, tape.buffers)
    root, product = (
        next(op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive == name)
        for name in ("sqrt", "multiply")
    )
    assert root.out.id in facts.suspect and product.out.id in facts.suspect
    assert root.operands[0].id in facts.unbounded
    assert not {v.id for v in product.operands} & facts.unbounded


def entropy(x):
    p = np.exp(x - np.max(x))
    p = p / np.sum(p)
    return -np.sum(np.where(p > 0, p * np.log(p), 0.0))


def by_weights(x):
    w = np.exp(x)
    return np.sum(np.where(w > 0, np.sin(x) / w, 0.0))


def by_counts(x):
    n = np.exp(x).astype(np.int64)
    return np.sum(np.where(n > 0, x / n, 0.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [entropy, by_weights, by_counts])
def test_what_underflows_and_is_left_out(f):
    x, least = np.array([0.3, -800.0, 1.0]), np.array([0.3, 0.0, 1.0])
    gradient = planned_ad.compile(f, (least,)).gradient(x)
    assert gradient[1] == 0.0
    for k in (0, 2):
        step = 1e-6 * np.eye(3)[k]
        np.testing.assert_allclose(gradient[k], (f(x + step) - f(x - step)) / 2e-6, rtol=1e-7)


def test_exponentials_that_nobody_compares_add_nothing():
    names = {
        op.primitive
        for op in walk(reverse(trace(lambda x: np.log(np.sum(np.exp(x) / (1 + np.exp(-x)))), (ABOUT,)).tape).operations)
        if isinstance(op, Apply)
    }
    assert not {name for name in names if name.startswith("strong")}


@pytest.mark.parametrize("f", [np.linalg.norm, lambda d: np.sqrt(d @ d), lambda d: np.sqrt(np.einsum("i,i", d, d))])
def test_norms_at_zero(f):
    plan = planned_ad.compile(lambda x: f(x[0] - x[0]) + f(x[0] - x[1]), (POINTS,))
    distance = POINTS[0] - POINTS[1]
    expected = np.zeros_like(POINTS)
    expected[0], expected[1] = distance / np.linalg.norm(distance), -distance / np.linalg.norm(distance)
    np.testing.assert_allclose(plan.gradient(POINTS), expected, rtol=1e-12)
    assert np.isfinite(plan.hvp(POINTS, POINTS)).all()


def test_a_sum_of_nothing_is_zero():
    x, a = np.zeros((2, 0)), np.ones(2)
    plan = planned_ad.compile(lambda a, x: np.sum(np.sqrt(np.sum(np.exp(x), axis=1) * a)), (a, x))
    np.testing.assert_array_equal(plan.gradient(a, x)[0], np.zeros(2))
