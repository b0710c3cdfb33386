"""What type checkers know of a program that uses the package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from . import typed_program

ROOT = Path(__file__).parent.parent
MISTAKES = """
import numpy as np
import planned_ad

def loss(x: float, n: int) -> float:
    return x**n

plan = planned_ad.compile(loss, (1.0, 2))
text: str = plan(1.0, 2)  # the value is a float
planned_ad.grad(loss)(1.0)  # an argument is missing
planned_ad.compile(loss, (1.0, 2), unrol=3)
planned_ad.compile(loss, (1.0, 2), on_branch="retry")
plan.gradients(1.0, 2)
planned_ad.jacobian(3)
"""


def mypy(*arguments: str) -> list[str]:
    """The errors that mypy finds with the settings of `pyproject.toml`, for the version of Python that runs."""
    from mypy import api

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--python-version", version, "--no-error-summary"]
    out, trouble, _ = api.run([*arguments, *settings])
    assert not trouble
    return [line for line in out.splitlines() if ": error:" in line]


def test_a_program_with_types_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert not mypy("-m", "tests.typed_program")


def test_mistakes_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "mistakes.py"
    program.write_text(MISTAKES)
    monkeypatch.chdir(ROOT)
    kinds = [line.rpartition("[")[2].rstrip("]") for line in mypy(str(program))]
    assert kinds == ["assignment", "call-arg", "call-arg", "arg-type", "attr-defined", "arg-type"]


def test_that_program_does_what_its_types_say() -> None:
    typed_program.main()


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "planned_ad" / "py.typed").exists()
