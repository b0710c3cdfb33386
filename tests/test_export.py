"""Plans as object files: C programs that need no Python."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy import special

import planned_ad
from planned_ad.errors import ArgumentError, UnsupportedError

ROOT = Path(__file__).parent.parent
X = np.array([0.5, 1.0, 2.0])
TABLE = np.array([1.0, 2.0, 3.0])
needs_cc = pytest.mark.skipif(shutil.which("cc") is None or sys.platform == "win32", reason="needs a C compiler")


def run_example(exported: planned_ad.calls.export.Exported) -> str:
    """Compile and run the program in the header, with nothing but the object file."""
    name = exported.header.stem
    program = exported.header.with_suffix(".program")
    command = ["cc", "-Wall", "-Werror", "-x", "c", f"-D{name.upper()}_EXAMPLE", str(exported.header), "-x", "none"]
    subprocess.run([*command, str(exported.object), "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, env={})
    assert done.returncode == 0, done.stdout
    return done.stdout


def loaded(exported: planned_ad.calls.export.Exported, name: str):
    """A function of the shared library, on addresses."""
    assert exported.library is not None
    function = getattr(ctypes.CDLL(str(exported.library)), name)
    return lambda *arrays: function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))


def workspace() -> np.ndarray:
    memory = np.empty(1 << 16, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:]


@needs_cc
def test_the_mixture_of_the_demo(tmp_path):
    spec = importlib.util.spec_from_file_location("old_faithful", ROOT / "demo" / "old_faithful.py")
    assert spec is not None and spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    eruptions = demo.load()
    theta = demo.start(eruptions)
    plan = demo.compiled(eruptions)
    exported = plan.export(tmp_path / "mixture", theta, eruptions, calls=["value_and_gradient"], cpu="generic")
    assert run_example(exported).startswith("largest error ")
    header = exported.header.read_text()
    assert "#define MIXTURE_VALUE_AND_GRADIENT_THETA_SIZE 12" in header
    assert exported.declarations[0] in header and exported.needs == ()
    gradient, value = np.empty(12), np.empty(1)
    run = loaded(exported, "mixture_value_and_gradient")
    assert run(theta, eruptions, gradient, value, workspace()) == 0
    np.testing.assert_allclose(gradient, plan.gradient(theta, eruptions), rtol=1e-12)
    np.testing.assert_allclose(value[0], demo.negative_log_likelihood(theta, eruptions), rtol=1e-12)


@needs_cc
def test_all_that_a_function_takes(tmp_path):
    """Numbers by value, integers, strides, arrays from outside, writes to arguments, an error function."""

    def f(x, a, n, k):
        x[0] *= 2.0
        return a * np.sum(special.erf(x) * TABLE[::-1]) + np.sum(n[:, 0] * x) + k

    n = np.arange(6).reshape(2, 3).T
    plan = planned_ad.compile(f, (X[::-1].copy()[::-1], 0.5, n, 3))
    exported = plan.export(tmp_path / "all_of_it", X[::-1].copy()[::-1], 1.5, n, 3)
    assert len(exported.declarations) == 3 and exported.needs == ()
    run_example(exported)


@needs_cc
def test_a_program_that_finds_a_difference_fails(tmp_path):
    plan = planned_ad.compile(lambda x: np.sum(x**3), X)
    exported = plan.export(tmp_path / "cube", X, calls=["gradient"])
    text = exported.header.read_text()
    exported.header.write_text(text.replace("expected1[] = {0.75", "expected1[] = {0.7501"))
    with pytest.raises(AssertionError, match=r"cube_gradient: dx: 0\.75, not"):
        run_example(exported)


@needs_cc
def test_branches_that_were_recorded(tmp_path):
    plan = planned_ad.compile(lambda x: np.sum(x**2) if x[0] > 0 else np.sum(3 * x) if x[1] > 0 else x[0] * 5, X)
    plan.gradient(-X * [1, -1, 1])
    run = loaded(plan.export(tmp_path / "branches", calls=["gradient"]), "branches_gradient")
    dx = np.empty(3)
    assert run(X, dx, workspace()) == 0 and dx.tolist() == [1, 2, 4]
    assert run(-X * [1, -1, 1], dx, workspace()) == 0 and dx.tolist() == [3, 3, 3]
    assert run(-X, dx, workspace()) == 1 and dx.tolist() == [3, 3, 3]
    with pytest.raises(ArgumentError, match="a branch that was not recorded"):
        plan.export(tmp_path / "branches", -X)


def test_what_is_called_of_libraries_is_said(tmp_path):
    plan = planned_ad.compile(lambda x: np.sum(np.linalg.solve(np.outer(x, x) + np.eye(40), x)), np.ones(40))
    exported = plan.export(tmp_path / "solve", calls=["value"])
    assert exported.needs and all(name.endswith("_") for name in exported.needs)
    assert f"-llapack -lblas (for {', '.join(exported.needs)})" in exported.header.read_text()


def test_what_needs_python_is_refused_by_name(tmp_path):
    @planned_ad.opaque(result=lambda x: x, derivative="differences")
    def simulate(x):
        return x**2

    with pytest.raises(UnsupportedError, match=r"plan.export: .*simulate.* calls back into Python"):
        planned_ad.compile(lambda x: np.sum(simulate(x)), X).export(tmp_path / "a")
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.digamma is compiled code of SciPy's"):
        planned_ad.compile(lambda x: np.sum(special.digamma(x)), X).export(tmp_path / "b", calls=["value"])
    with pytest.raises(UnsupportedError, match=r"np\.fft\.fft.* is a Fourier transform"):
        planned_ad.compile(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), X).export(tmp_path / "e", calls=["value"])

    with (  # as of a function of Numba's
        mock.patch("planned_ad.calls.kernel_functions.in_python", lambda step: False),
        pytest.raises(UnsupportedError, match=r"calls .*simulate.*, compiled code that is in this process only"),
    ):
        planned_ad.compile(lambda x: np.sum(simulate(x)), X).export(tmp_path / "c")
    plan = planned_ad.compile(lambda x: np.sum(x), X)
    with pytest.raises(ArgumentError, match="has to be an identifier"):
        plan.export(tmp_path / "two-words")
    with pytest.raises(ArgumentError, match="calls are of value, gradient"):
        plan.export(tmp_path / "d", calls=["hessian"])
    assert list(tmp_path.iterdir()) == []


def test_exported_kernels_keep_vectors_on_an_aligned_stack():
    """The one caller of a kernel has it written out inside, where the kernel's own alignment would be lost."""
    from planned_ad.calls.export import exported_function
    from planned_ad.kernels.entry.exported import emit_exported
    from planned_ad.kernels.llvm.addresses import OpenModule

    plan = planned_ad.compile(lambda x: np.sum(np.tanh(np.exp(np.sin(x)))), np.zeros(64), check=False)
    module = OpenModule("exported")
    emit_exported(module, exported_function(plan._variants, "model_gradient", "gradient"))
    for name in ("model_gradient", "model_gradient.kernel0", "model_gradient.body0"):
        definition = next(line for line in str(module).splitlines() if "define" in line and f'"{name}"' in line)
        assert "alignstack(64)" in definition
