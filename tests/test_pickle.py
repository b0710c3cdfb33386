"""Plans pickle (they are compiled again when loaded) and deep-copy."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.known_plans import KnownPlans, Unpickled


def loss(x, n, options):
    x *= options["scale"]
    return np.sum(x**n)


def by_sign(x):
    return np.sum(x**2) if x[0] > 0 else np.sum(3 * x)


def arguments() -> tuple:
    return np.arange(1.0, 4.0), 3, {"scale": 2.0, "name": "a"}


def loaded_elsewhere(plan: planned_ad.Plan) -> planned_ad.Plan:
    """The plan as a process loads it that has none like it."""
    known = mock.patch.multiple("planned_ad.plan", KNOWN=KnownPlans(), UNPICKLED=Unpickled())
    with known:
        return pickle.loads(pickle.dumps(plan))


@pytest.mark.parametrize("restore", [loaded_elsewhere, copy.deepcopy, copy.copy])
def test_round_trip(restore) -> None:
    plan = planned_ad.compile(loss, arguments(), preserve_args=True, on_branch="raise", max_variants=5)
    again = restore(plan)
    assert again is not plan and again._options == plan._options
    expected, actual = plan.gradient(*arguments()), again.gradient(*arguments())
    np.testing.assert_array_equal(actual[0], expected[0])
    assert actual[1] == expected[1]
    assert again.listing() == plan.listing() and str(again.explain()) == str(plan.explain())
    x, dx = np.arange(1.0, 4.0), np.empty(3)
    again.gradient(x, 3, {"scale": 2.0, "name": "a"}, dx, {"scale": 0.0, "name": "a"})
    np.testing.assert_array_equal(x, np.arange(1.0, 4.0))
    np.testing.assert_array_equal(dx, expected[0])


def test_the_copy_has_its_own_variants() -> None:
    plan = planned_ad.compile(by_sign, np.ones(2))
    again = copy.deepcopy(plan)
    again.gradient(-np.ones(2))
    assert again.explain().variants == 2 and plan.explain().variants == 1


def test_layouts_survive() -> None:
    example = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    plan = planned_ad.compile(by_first_row, example)
    again = loaded_elsewhere(plan)
    np.testing.assert_array_equal(again.gradient(example), plan.gradient(example))
    strided = planned_ad.compile(by_first_row, np.arange(24.0).reshape(4, 6)[::2, ::-2])
    again = loaded_elsewhere(strided)
    x = np.arange(24.0).reshape(4, 6)[::2, ::-2]
    np.testing.assert_array_equal(again.gradient(x), strided.gradient(x))


def by_first_row(a):
    return np.sum(a[0] ** 2) + np.sum(a)


def test_constants_and_inactive_arguments_survive() -> None:
    plan = planned_ad.compile(np.dot, (np.ones(3), planned_ad.Const(np.ones(3))))
    again = loaded_elsewhere(plan)
    np.testing.assert_array_equal(again.gradient(np.ones(3), np.arange(3.0)), [0, 1, 2])


def test_a_lambda_cannot_be_pickled_and_can_be_copied() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), np.ones(2))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(plan)
    np.testing.assert_array_equal(copy.deepcopy(plan).gradient(np.ones(2)), [2, 2])


def test_another_process(tmp_path: Path) -> None:
    plan = planned_ad.compile(by_first_row, np.ones((2, 3)))
    file = tmp_path / "plan.pickle"
    file.write_bytes(pickle.dumps(plan))
    code = f"import pickle, numpy; print(pickle.load(open({str(file)!r}, 'rb')).gradient(numpy.ones((2, 3))).tolist())"
    root = Path(__file__).parent.parent
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str([[3.0] * 3, [1.0] * 3])


def cubes(x):
    return np.sum(x**3) + x[0] * x[1]


def shifted(x):
    return np.sin(x) * x[::-1]


TRANSFORMS = {
    "grad": (planned_ad.grad, cubes),
    "value_and_grad": (planned_ad.value_and_grad, cubes),
    "hessian": (planned_ad.hessian, cubes),
    "jacobian": (planned_ad.jacobian, shifted),
    "nested": (lambda f: planned_ad.jacobian(planned_ad.grad(f)), cubes),
    "vectorize": (planned_ad.vectorize, np.sin),
    "sparse_jacobian": (planned_ad.sparse_jacobian, shifted),
    "sparse_hessian": (planned_ad.sparse_hessian, cubes),
}


@pytest.mark.parametrize("restore", [lambda g: pickle.loads(pickle.dumps(g)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_as_functions(name: str, restore) -> None:
    """Also after they have compiled plans, which stay behind."""
    transform, f = TRANSFORMS[name]
    derivative, x = transform(f), np.array([0.5, 1.0, -2.0])
    expected = dense(derivative(x))
    for mine, theirs in zip(dense(restore(derivative)(x)), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def dense(result) -> list[np.ndarray]:
    items = result if isinstance(result, tuple) else (result,)
    return [item.toarray() if hasattr(item, "toarray") else np.asarray(item) for item in items]


def test_a_plan_of_a_derivative() -> None:
    plan = planned_ad.compile(planned_ad.grad(cubes), np.ones(3))
    np.testing.assert_array_equal(loaded_elsewhere(plan)(np.ones(3)), plan(np.ones(3)))


class Net:
    """Holds a plan of a method of its own."""

    def __init__(self, scale: float) -> None:
        self.plan: Any = None
        self.plan = planned_ad.compile(self.loss, np.array([0.3, -0.7]))
        self.scale = scale
        self.plan = planned_ad.compile(self.loss, np.array([0.3, -0.7]))

    scale = 1.0

    def loss(self, x: np.ndarray) -> Any:
        return self.scale * np.sum(x**2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_of_an_object_has_plans_of_its_own_methods(copied: Any) -> None:
    x, net = np.array([1.0, 2.0]), Net(2.0)
    other = copied(copied(net))
    other.scale = 9.0
    assert (net.plan(x), other.plan(x)) == (10.0, 45.0)
    np.testing.assert_array_equal(other.plan.gradient(x), 18.0 * x)
    net.scale = 3.0
    assert (net.plan(x), other.plan(x)) == (15.0, 45.0)
