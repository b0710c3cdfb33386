"""A call on arrays allocates nothing: neither from the heap, nor from Python's own allocator."""

from __future__ import annotations

import pytest

from .malloc import count_in_subprocess
from .sweeps import rotated

PRELUDE = """
import numpy as np, planned_ad, scipy.special
x = np.linspace(0.5, 1.5, 10)
"""

# The function, and the arguments that it is compiled for. What `f` overwrites stays finite over thousands of calls.
PROGRAMS = {
    "rosenbrock": ("lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)", "(x,)"),
    "log_sum_exp": ("lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x)", "(x,)"),
    "in_place": (
        "def f(x):\n    for i in range(10):\n        x[i] = 1 / (1 + x[i] ** 2)\n    return np.sum(x)",
        "(x,)",
    ),
    "stencil": (
        "def f(x):\n    for _ in range(3):\n        x[1:-1] = 0.3 * (x[:-2] + x[2:])\n    return x @ x",
        "(x,)",
    ),
    "products": ("lambda a, b: np.sum(np.tanh(a @ b))", "(np.ones((16, 16)) / 30, np.ones((16, 16)))"),
    "odd_products": ("lambda a, b: np.sum(np.tanh(a @ b))", "(np.ones((20, 30)) / 30, np.ones((30, 25)))"),
    "large_products": ("lambda a, b: np.sum(np.tanh(a @ b))", "(np.ones((200, 200)) / 30, np.ones((200, 200)))"),
    "small_products": ("lambda a, b: np.sum((a @ b) ** 2)", "(np.ones((3, 3)), np.ones(3))"),
    "special": ("lambda x: np.sum(scipy.special.gammaln(x) + scipy.special.digamma(x))", "(x,)"),
    "scan": ("lambda x: np.sum(np.cumsum(x) ** 2) + np.sum(np.cumprod(x))", "(x,)"),
    "scatter": (
        "def f(x, n):\n    y = np.zeros(10)\n    np.add.at(y, n, x[n])\n    y[n] *= 2\n    return np.sum(y**2)",
        "(x, np.array([0, 3, 3]))",
    ),
    "masks": ("lambda x: np.sum(x[x > 0.7] ** 2)", "(x,)"),
    "branch": ("lambda x: x[0] ** 2 if x[1] > 0 else x[2]", "(x,)"),
    "lists": ("lambda tree: np.sum(tree[0] * tree[1][0])", "([x, (x.copy(),)],)"),
    "outside": (
        "w, flag, index = np.ones(10), True, np.array([1, 3])\n"
        "class Model: scale = 2.0\n"
        "model, options = Model(), {'a': 1.5}\n"
        "def f(x):\n    return np.sum((w * x * model.scale)[index] ** 2) * options['a'] if flag else 0.0",
        "(x,)",
    ),
    "complex": (
        "def f(z, a):\n    w = np.exp(1j * z.real) * z\n    for _ in range(20):\n        w = a @ w / 10\n"
        "    return np.sum(np.abs(w) ** 2)",
        "(x + 1j, np.ones((10, 10)) * (1 + 2j))",
    ),
    "single": ("lambda x: np.sum(np.exp(x) * x)", "(x.astype(np.float32),)"),
    "long": ("lambda x: np.sum(np.sin(x) * np.exp(-x * x))", "(np.ones(200_000),)"),
}

PROGRAM = """
{definition}
arguments = {arguments}
plan = planned_ad.compile(f, arguments)
from planned_ad.python.structure import flatten
def zeros(tree):
    leaves, structure = flatten(tree)
    return structure.unflatten([np.zeros_like(a) for a in leaves])
active = [a for a in arguments if not (isinstance(a, np.ndarray) and a.dtype.kind == "i")]
full = (*arguments, *map(zeros, active), *extra)
bound = plan.{kind}
def call():
    bound(*full)
"""


@pytest.mark.parametrize(("name", "kind"), rotated(PROGRAMS, ["gradient", "pullback"]))
def test_nothing_is_allocated(name: str, kind: str) -> None:
    f, arguments = PROGRAMS[name]
    definition = f if f.startswith("def") else f"f = {f}"
    extra = "extra = (1.0,)" if kind == "pullback" else "extra = ()"
    code = PRELUDE + extra + PROGRAM.format(definition=definition, arguments=arguments, kind=kind)
    calls = 100 if name in ("long", "large_products") else 1000
    assert count_in_subprocess(code, calls) == {"malloc": 0, "blocks": 0}


def test_not_even_objects_that_are_dropped_again() -> None:
    definition = f"f = {PROGRAMS['rosenbrock'][0]}"
    code = PRELUDE + "extra = ()" + PROGRAM.format(definition=definition, arguments="(x,)", kind="gradient")
    code = code.replace("bound(*full)", "bound(x, dx)") + "\ndx = full[1]\n"
    assert count_in_subprocess(code, python_objects=True)["malloc"] == 0


# Arguments, directions like the arguments, and where the arrays of the result go.
DERIVATIVES = {
    "jvp": "plan.jvp(*arguments, *directions)",
    "hvp": "plan.hvp(*arguments, *directions, *outs)",
    "hessian": "plan.hessian(*arguments, out=out)",
    "jacobian": "mapped.jacobian(x, out=out)",
}
DIRECTIONAL = ["rosenbrock", "in_place", "stencil", "products", "scan", "scatter", "branch"]
ONE_ARRAY = ["rosenbrock", "in_place", "scan", "branch"]

DERIVED = """
{definitions}
calls = []
for f, arguments in programs:
    plan = planned_ad.compile(f, arguments)
    mapped = planned_ad.compile(lambda x, f=f: np.cumsum(x) * f(x.copy()), (x,)) if len(arguments) == 1 else None
    directions = [np.ones_like(a) for a in arguments if a.dtype.kind == "f"]
    outs = [np.zeros_like(a) for a in directions]
    out = np.zeros((arguments[0].size,) * 2)
    derivative = lambda plan=plan, mapped=mapped, arguments=arguments, directions=directions, outs=outs, out=out: {call}
    derivative()
    calls.append(derivative)
def call():
    for derivative in calls:
        derivative()
"""


@pytest.mark.parametrize("kind", DERIVATIVES)
def test_derivatives_of_a_plan(kind: str) -> None:
    names = DIRECTIONAL if kind in ("jvp", "hvp") else ONE_ARRAY
    lines = ["programs = []"]
    for name in names:
        f, arguments = PROGRAMS[name]
        lines += [f if f.startswith("def") else f"f = {f}", f"programs.append((f, {arguments}))"]
    code = PRELUDE + DERIVED.format(definitions="\n".join(lines), call=DERIVATIVES[kind])
    assert count_in_subprocess(code, 100) == {"malloc": 0, "blocks": 0}


LISTS = """
import numpy as np, planned_ad
def f(matvec, vec):
    for i in range(len(vec)):
        mat = matvec[i]
        a = vec[i]
        col = (a, a, a)
        for j in range(3):
            mat[j, 0] = col[j]
        mat[0, 0] = vec[i]
    return matvec[2][0, 0]
matvec, vec = [np.zeros((3, 3)) for _ in range(3)], [1.0, 2.0, 3.0]
dmatvec, dvec = [np.zeros((3, 3)) for _ in range(3)], [0.0, 0.0, 0.0]
gradient = planned_ad.compile(f, (matvec, vec)).gradient
def call():
    gradient(matvec, vec, dmatvec, dvec)
"""


def test_lists_of_floats_as_shadows() -> None:
    assert count_in_subprocess(LISTS) == {"malloc": 0, "blocks": 0}


def test_lists_of_floats_get_new_floats() -> None:
    names: dict = {}
    exec(compile(LISTS, "lists", "exec"), names)
    shared = 4.5
    names["dvec"][:] = [shared] * 3
    for _ in range(1000):
        names["call"]()
    assert names["dvec"] == [0.0, 0.0, 1.0]
    assert shared == 4.5
    assert all(type(number) is float for number in names["dvec"])
