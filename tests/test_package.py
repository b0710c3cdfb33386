"""What the package shows of itself."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import MemoryLimitError, NotDifferentiableError, PlannedADError

TREE = {"a": np.ones((2, 3))}


def test_dir_shows_the_public_names() -> None:
    assert {"compile", "grad", "testing", "show_versions"} <= set(dir(planned_ad))
    assert all(hasattr(planned_ad, name) for name in dir(planned_ad))
    assert not any(name.startswith("_") for name in dir(planned_ad) if name != "__version__")


def test_testing_needs_no_import_of_its_own() -> None:
    code = "import sys, planned_ad; assert 'planned_ad.testing' not in sys.modules; planned_ad.testing.check_plan"
    code += "; assert 'planned_ad.interop' not in sys.modules; planned_ad.interop.minimize"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gradients'"):
        planned_ad.gradients  # noqa: B018


def test_an_adapter_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "planned_ad.interop.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"interop\.torch_function needs 'torch'") as error:
        planned_ad.interop.torch_function  # noqa: B018
    assert error.value.name == "torch"


def test_help_of_a_call_tells_shapes() -> None:
    plan = planned_ad.compile(lambda x, z, s: np.sum(x["a"] * s) + np.sum(np.abs(z) ** 2), (TREE, np.ones(3) + 1j, 2.0))
    shown = pydoc.render_doc(plan.gradient, renderer=pydoc.plaintext)
    assert "gradient(x, z, s, dx, dz, /)" in shown
    assert "x['a']: float64 array of shape (2, 3), strides (24, 8)\n" in shown
    assert "dz: complex128 array of shape (3,), strides (16,); made where none is passed\n" in shown
    assert "s: a number\n" in shown


def test_help_of_a_product_with_the_hessian() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**3), np.ones(3))
    shown = pydoc.render_doc(plan.hvp, renderer=pydoc.plaintext)
    assert "hvp(x, vx, out, /)" in shown and "The Hessian of the scalar that <lambda> returns" in shown
    assert "vx: float64 array of shape (3,), strides (8,)\n" in shown


def test_help_of_many_arguments_is_short() -> None:
    plan = planned_ad.compile(lambda *args: sum(args), tuple(map(float, range(100))))
    assert "and 60 more" in plan.gradient.__doc__ and len(plan.gradient.__doc__.splitlines()) < 50


@pytest.mark.parametrize(
    ("f", "missing"),
    [
        (lambda x: 2.0 * x, {"gradient", "value_and_gradient", "hvp"}),
        (lambda x: (np.sum(x), x), {"gradient", "value_and_gradient", "hvp"}),
        (lambda x: np.sum(x**3), set()),
    ],
)
def test_a_plan_is_looked_through(f, missing) -> None:
    """Inspectors ask for every attribute, and take an AttributeError for no."""
    plan = planned_ad.compile(f, np.ones(2))
    assert missing.isdisjoint(plan.__dict__)
    calls = {"gradient", "value_and_gradient", "hvp", "jvp", "pullback"}
    assert {name for name in calls if not hasattr(plan, name)} == missing
    assert calls <= {name for name, _ in inspect.getmembers(plan)} | missing and calls <= set(dir(plan))
    assert pydoc.render_doc(plan) and isinstance(mock.create_autospec(plan), planned_ad.Plan)
    assert copy.copy(plan)(np.ones(2)) is not None
    kernels = {name for name in ("value", "gradient", "value_and_gradient", "pullback") if hasattr(plan.kernel, name)}
    assert missing - {"hvp"} == {"value", "gradient", "value_and_gradient", "pullback"} - kernels
    assert inspect.getmembers(plan.kernel)


def test_why_a_call_is_missing_travels() -> None:
    plan = planned_ad.compile(lambda x: 2.0 * x, np.ones(2))
    with pytest.raises(AttributeError) as caught:
        plan.gradient(np.ones(2))
    assert isinstance(caught.value, NotDifferentiableError) and isinstance(caught.value, PlannedADError)
    read = pickle.loads(pickle.dumps(caught.value))
    assert type(read) is NotDifferentiableError and str(read) == str(caught.value)


def test_a_call_that_cannot_be_compiled_is_missing() -> None:
    def f(x):
        state = 0.0
        for k in range(100):
            state = np.sin(state * x[k] + x[k])
        return state

    plan = planned_ad.compile(lambda x: np.append(0.0, f(x)), np.ones(100), memory_limit=16)
    with pytest.raises(MemoryLimitError):
        plan.pullback(np.ones(100), cotangent=np.ones(2))
    assert not hasattr(plan, "pullback") and hasattr(plan, "jvp")
