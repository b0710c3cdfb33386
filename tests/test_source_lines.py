"""Which code is the user's, and the line that an operation comes from."""

import contextlib
import math
import sys

import numpy as np
import pytest

import planned_ad
from planned_ad.functional.transforms import grad
from planned_ad.python.namespace import Namespace
from planned_ad.python.shadows import is_library, is_user_frame
from planned_ad.python.source import UNKNOWN, Line, current_line

from .namespace_programs import TRACED, WrappedArray, by_attribute, exp, helper, make_namespace, run

# Libraries, frames and lines


def test_examples_in_docstrings_are_user_code():
    # doctest runs them over a copy of the documented module's globals.
    names = {"__name__": "planned_ad.plan", "math": math}
    exec(compile("def f(x): return math.exp(x)\ndef g(x): return f(x)", "<doctest plan[0]>", "exec"), names)
    assert run(names["g"], 1.0) == TRACED


@pytest.mark.parametrize(
    ("module_name", "file", "expected"),
    [
        ("numpy.linalg", None, True),
        ("planned_ad.trace", None, True),
        ("contextlib", contextlib.__file__, True),
        ("code", "/home/user/code.py", False),
        ("__main__", None, False),
        ("numpylike", None, False),
    ],
)
def test_is_library(module_name, file, expected):
    assert is_library(module_name, file) is expected


def test_user_frame_is_a_shadow_frame():
    namespace = make_namespace(replacements=[(exp, lambda x: is_user_frame(sys._getframe(1)))])
    assert namespace.function(by_attribute)(1.0) and not is_user_frame(sys._getframe())


def lines_seen_by(f):
    seen = []
    namespace = Namespace({id(math.exp): lambda x: seen.append(current_line())}, WrappedArray)
    namespace.function(f)()
    return seen


def test_line_names_the_innermost_traced_function():
    def outer():
        return helper(1.0)

    (line,) = lines_seen_by(outer)
    assert (line.function, line.text) == ("helper", "return math.exp(x)")


def test_line_prints_short():
    (line,) = lines_seen_by(lambda: helper(1.0))
    assert str(line) == f"namespace_programs.py:{helper.__code__.co_firstlineno + 1} in helper"


def test_line_of_a_comprehension_is_in_its_function():
    def f():
        return [math.exp(x) for x in range(2)]

    assert [line.function for line in lines_seen_by(f)] == ["f", "f"]


def test_line_is_made_once():
    def f():
        for _ in range(2):
            math.exp(0)

    first, second = lines_seen_by(f)
    assert first is second


def test_two_lines_of_one_function_differ():
    def f():
        math.exp(0)
        math.exp(1)

    first, second = lines_seen_by(f)
    assert second.number == first.number + 1


def test_line_without_traced_function():
    assert current_line().function == "test_line_without_traced_function"


def test_unknown_line_prints():
    assert (str(UNKNOWN), UNKNOWN.text) == ("an unknown line", "")


def test_line_is_hashable_and_equal_by_value():
    assert len({Line(file="a.py", number=1, function="f"), Line(file="a.py", number=1, function="f")}) == 1


def test_a_function_defined_in_traced_code_sees_what_its_variables_become():
    def f(x):
        s = 1.0
        for _ in range(3):
            s = s + np.sum(grad(lambda z: np.sum(z**2) * s)(x))  # noqa: B023
        return s

    x = np.array([0.5, 1.0])
    assert planned_ad.compile(f, x)(x) == pytest.approx((1 + 2 * np.sum(x)) ** 3)
