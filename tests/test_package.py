"""What the package shows of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planned_ad


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
