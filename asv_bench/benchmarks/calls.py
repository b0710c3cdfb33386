"""What a call costs besides its kernel, in each of its forms, beside `plan.gradient(x, dx)` in the same run.

`python -m benchmarks.calls` prints all of them.
"""

from __future__ import annotations

import timeit
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import planned_ad
from planned_ad import Active, Duplicated, Reverse

N = 50


def loss(x: np.ndarray) -> float:
    return np.sum(x * x)


def of_tree(p: dict[str, np.ndarray]) -> float:
    return np.sum(p["a"] * p["b"]) + np.sum(p["c"] ** 2)


@dataclass
class Model:
    a: np.ndarray
    b: np.ndarray


Pair = namedtuple("Pair", "a b")


def of_model(m: Model | Pair) -> float:
    return np.sum(m.a * m.b)


def forms() -> dict[str, Callable[[], Any]]:
    """Each form of a call, on small arrays."""
    x, dx, out = np.ones(N), np.zeros(N), np.zeros(N)
    plan = planned_ad.compile(loss, x)
    scaled = planned_ad.compile(lambda x, k: np.sum(x * k), (x, 2.0))
    elementwise = planned_ad.compile(lambda x: x * 2.0, x)
    several = planned_ad.compile(lambda x: {"y": x * 2.0, "s": (np.sum(x), 3)}, x)
    tree = {"a": x, "b": x.copy(), "c": x.copy()}
    shadows = {name: np.zeros(N) for name in tree}
    of_dict = planned_ad.compile(of_tree, (tree,))
    model, pair = Model(x, x.copy()), Pair(x, x.copy())
    of_object, of_pair = planned_ad.compile(of_model, (model,)), planned_ad.compile(of_model, (pair,))
    numbers = {"a": 1.0, "b": 2.0}
    of_numbers = planned_ad.compile(lambda p: p["a"] * p["b"], (numbers,))
    forward, reverse = plan.split()
    tape = forward.tape()
    annotated = Duplicated(x, dx)
    small = np.ones(3)
    vector = planned_ad.compile(lambda x: x * x[0], small)
    quadratic = planned_ad.compile(lambda x: np.sum(x**3), small)
    block = np.zeros((3, 3))
    grad = planned_ad.grad(loss)
    unaligned = np.frombuffer(bytearray(8 * N + 1), np.uint8)[1:].view(np.float64)
    found: dict[str, Callable[[], Any]] = {
        "gradient(x, dx)": lambda call=plan.gradient: call(x, dx),
        "gradient(x)": lambda call=plan.gradient: call(x),
        "gradient(x=x, dx=dx)": lambda call=plan.gradient: call(x=x, dx=dx),
        "gradient(x, k)": lambda call=scaled.gradient: call(x, 2.0),
        "value_and_gradient(x, dx)": lambda call=plan.value_and_gradient: call(x, dx),
        "value_and_gradient(x)": lambda call=plan.value_and_gradient: call(x),
        "pullback(x, dx, 1.0)": lambda call=plan.pullback: call(x, dx, 1.0),
        "pullback(x, cotangent=1.0)": lambda call=plan.pullback: call(x, cotangent=1.0),
        "plan(x)": lambda: plan(x),
        "plan(x) of an array": lambda: elementwise(x),
        "plan(x, out) of an array": lambda: elementwise(x, out),
        "plan(x) of a dict": lambda: several(x),
        "gradient(dict, dict)": lambda call=of_dict.gradient: call(tree, shadows),
        "gradient(dict)": lambda call=of_dict.gradient: call(tree),
        "gradient(object)": lambda call=of_object.gradient: call(model),
        "gradient(namedtuple)": lambda call=of_pair.gradient: call(pair),
        "gradient(dict of floats)": lambda call=of_numbers.gradient: call(numbers),
        "gradient(unaligned, dx)": lambda call=plan.gradient: call(unaligned, dx),
        "forward(x, tape)": lambda: forward(x, tape),
        "reverse(tape, dx)": lambda: reverse(tape, dx),
        "reverse(tape)": lambda: reverse(tape),
        "jvp(x, tx)": lambda call=plan.jvp: call(x, dx),
        "hvp(x, vx)": lambda call=plan.hvp: call(x, dx),
        "jacobian(x)": lambda call=vector.jacobian: call(small),
        "jacobian(x, out=out)": lambda call=vector.jacobian: call(small, out=block),
        "hessian(x)": lambda call=quadratic.hessian: call(small),
        "grad(f)(x)": lambda: grad(x),
        "autodiff(Duplicated)": lambda: planned_ad.autodiff(Reverse, loss, annotated),
        "autodiff(Active)": lambda: planned_ad.autodiff(Reverse, loss, Active(x)),
    }
    return found


def seconds(call: Callable[[], Any], repeats: int = 7, number: int = 2000) -> float:
    """The least time of one call."""
    call()
    return min(timeit.repeat(call, number=number, repeat=repeats)) / number


class Forms:
    """The time of each form, in times of `plan.gradient(x, dx)`."""

    timeout = 300

    def setup_cache(self) -> dict[str, float]:
        calls = forms()
        base = calls["gradient(x, dx)"]
        return {name: seconds(call) / seconds(base) for name, call in calls.items()}

    def track_all(self, ratios: dict[str, float]) -> float:
        """The largest of all forms that take what is compiled."""
        return max(ratio for name, ratio in ratios.items() if "unaligned" not in name)

    def track_without_shadow(self, ratios: dict[str, float]) -> float:
        return ratios["gradient(x)"]

    def track_of_dict(self, ratios: dict[str, float]) -> float:
        return ratios["gradient(dict)"]

    def track_value(self, ratios: dict[str, float]) -> float:
        return ratios["plan(x)"]

    def track_autodiff(self, ratios: dict[str, float]) -> float:
        return ratios["autodiff(Duplicated)"]


def main() -> None:
    calls = forms()
    base = calls["gradient(x, dx)"]
    for name, call in calls.items():
        taken = seconds(call)
        print(f"{name:32} {1e6 * taken:8.3f} us {taken / seconds(base):8.1f}")


if __name__ == "__main__":
    main()
