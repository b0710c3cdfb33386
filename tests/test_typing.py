"""What type checkers are told of a program that uses the package; `make lint` runs one on both of these programs."""

from __future__ import annotations

import tomllib
from pathlib import Path

from . import typed_program

ROOT = Path(__file__).parent.parent


def test_programs_with_types_are_checked() -> None:
    """One that has to pass, and one whose mistakes have to be found: marks that are not needed are errors there."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["modules"] == ["tests.typed_program", "tests.typed_mistakes"]
    (strict,) = settings["overrides"]
    assert strict["module"] == settings["modules"] and strict["warn_unused_ignores"]


def test_that_program_does_what_its_types_say() -> None:
    typed_program.main()


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "planned_ad" / "py.typed").exists()
