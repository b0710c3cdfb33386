"""`python -m planned_ad explain file.py:function`: what it prints, and what it says where something is missing."""

from __future__ import annotations

import sys

import pytest

from planned_ad.__main__ import main

MODULE = """
import numpy as np

example = {"x": np.linspace(0.0, 1.0, 7), "whole": (np.ones(3), 2)}

def loss(x, k: float, *, power=2):
    y = x * k
    for i in range(20):
        y[1:] += np.sin(y[:-1])
    return np.sum(y**power)

def whole(a, n):
    return np.sum(a) ** n

def without(a, b):
    return np.sum(a * b)

def refused(x):
    return "text"

class Model:
    @staticmethod
    def energy(x):
        return np.sum(x**2)
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "first_look", raising=False)
    path = tmp_path / "first_look.py"
    path.write_text(MODULE)
    yield path
    sys.modules.pop("first_look", None)


def test_examples_by_name_default_and_annotation(file, capsys):
    main(["explain", f"{file}:loss"])
    printed = capsys.readouterr().out
    assert printed.startswith("gradient of loss: ") and "first_look.py:9  y[1:] += np.sin(y[:-1])" in printed
    assert "x: float64 array of shape (7,)" in printed and "power is 2" in printed


def test_an_example_of_all_arguments(file, capsys):
    main(["explain", f"{file}:whole"])
    printed = capsys.readouterr().out
    assert "a: float64 array of shape (3,)" in printed and "n is 2" in printed


def test_arguments_as_in_a_call(file, capsys, tmp_path):
    page = tmp_path / "plan.html"
    asked = ["--args", "np.zeros(9), b=2 * np.ones(9)", "--kind", "value_and_gradient", "--listing", "--profile"]
    main(["explain", f"{file}:without", *asked, "--html", str(page)])
    printed = capsys.readouterr().out
    assert printed.startswith("value_and_gradient of without: ") and "b: float64 array of shape (9,)" in printed
    assert "# workspace: " in printed and " a call (" in printed
    assert "<svg" in page.read_text() or "workspace is empty" in page.read_text()


def test_functions_inside(file, capsys):
    main(["explain", f"{file}:Model.energy"])
    assert "gradient of energy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "place, said",
    [
        ("{file}:without", r"no example of a, b\. .*--args \"a=np.zeros\(10\), b=np.zeros\(10\)\""),
        ("{file}:lost", "has no lost; its functions: loss, whole, without, refused"),
        ("{file}x.py:loss", "there is no file"),
        ("no_such_module:loss", r"there is no module no_such_module"),
        ("loss", "model.py:loss"),
        ("{file}:refused", "NotDifferentiableError: refused"),
    ],
)
def test_what_is_missing_is_said(file, place, said):
    with pytest.raises(SystemExit, match=said):
        main(["explain", place.format(file=file)])


def test_an_error_of_the_function_itself_passes(file):
    with pytest.raises(ValueError, match="operands could not be broadcast"):
        main(["explain", f"{file}:without", "--args", "np.zeros(2), np.zeros(3)"])


@pytest.mark.parametrize("code", ["np.ones(3", "np.onez(3)", "unknown"])
def test_arguments_that_cannot_be_computed(file, code):
    with pytest.raises(SystemExit, match=r"--args .*Error: "):
        main(["explain", f"{file}:without", "--args", code])
