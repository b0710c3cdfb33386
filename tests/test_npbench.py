"""NPBench's kernels have the right derivatives, and the comparison of them measures and checks."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.sweeps import sweep
from tests.tolerances import DIFFERENCES

sys.path.append(str(Path(__file__).parents[1] / "asv_bench"))

import compare_npbench
from npbench import child, table
from npbench.kernel import Kernel

FEW = ("spmv", "trmm", "seidel_2d")
NAMES = [*FEW, *(name for name in table.KERNELS if name not in FEW)]


def derivative(kernel: Kernel, arrays: tuple, direction: list) -> float:
    """Of the weighted sum along the direction, by a difference of fourth order."""
    parameters, weights = kernel.inputs("tiny")[1], kernel.weights("tiny")
    loss, h = kernel.loss(parameters), 1e-5  # ramps have their corners close by

    def at(step: float) -> float:
        return loss(weights, *(a if d is None else a + step * d for a, d in zip(arrays, direction)))

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


@pytest.mark.parametrize("name", sweep(NAMES, slice(len(FEW))))
def test_gradient_is_that_of_differences(name):
    kernel = table.KERNELS[name]
    arrays, parameters = kernel.inputs("tiny")
    first, again = child.ours(kernel, "tiny")
    first()
    value, gradients = child.flat(again())
    np.testing.assert_allclose(value, kernel.loss(parameters)(kernel.weights("tiny"), *arrays), rtol=1e-12)
    rng = np.random.default_rng(3)
    direction = [rng.normal(size=a.shape) if a.dtype.kind == "f" else None for a in arrays]
    slope = derivative(kernel, arrays, direction)
    along = sum(np.sum(g * d) for g, d in zip(gradients, [d for d in direction if d is not None], strict=True))
    assert abs(along - slope) < 100 * DIFFERENCES * max(1.0, abs(slope))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, kernel.inputs("tiny")[0]))
    assert child.flat(again())[0] == value  # the call leaves its arrays as they were


@pytest.mark.parametrize("name", table.KERNELS)
def test_kernel_has_a_port_and_writes_what_it_says(name):
    """Ports are read, and not imported: JAX starts threads."""
    kernel = table.KERNELS[name]
    kind = next(kind for kind in table.KINDS if name in kind.KERNELS)
    port = Path(kind.__file__).parent / "ports" / Path(kind.__file__).name
    assert f"def {kernel.function.__name__}(" in port.read_text() and kernel.function.__name__ == name
    (arrays, parameters), (before, _) = kernel.inputs("tiny"), kernel.inputs("tiny")
    kernel.function(*arrays, **parameters)
    assert {k for k, (a, b) in enumerate(zip(arrays, before)) if not np.array_equal(a, b)} <= set(kernel.writes)


def test_one_side_is_measured(tmp_path):
    found = child.measured("ours", "go_fast", "tiny", str(tmp_path / "ours.npz"))
    assert all(seconds > 0 for seconds in found.values())
    arrays, _ = table.KERNELS["go_fast"].inputs("tiny")
    with np.load(tmp_path / "ours.npz") as kept:
        assert [kept[name].shape for name in kept.files] == [(), *(a.shape for a in arrays)]


def test_differences_are_found(tmp_path):
    np.savez(tmp_path / "a.npz", np.ones(3), np.zeros(2))
    np.savez(tmp_path / "b.npz", np.array([1.0, 1.0, 2.0]), np.zeros(2))
    np.savez(tmp_path / "c.npz", np.array([1.0, np.nan, 1.0]), np.zeros(2))
    assert compare_npbench.error(tmp_path / "a.npz", tmp_path / "a.npz") == 0.0
    assert compare_npbench.error(tmp_path / "a.npz", tmp_path / "b.npz") == 0.5
    assert compare_npbench.error(tmp_path / "c.npz", tmp_path / "a.npz") == np.inf


def test_table_without_jax(monkeypatch, capsys):
    """What a child would print stands in for it; whatever has no figures is an error at the end."""
    monkeypatch.setattr(compare_npbench, "has_jax", lambda python: False)
    monkeypatch.setattr(compare_npbench, "pin", lambda: None)
    monkeypatch.setenv("PLANNED_AD_CACHE_DIR", "off")  # as `main` sets it
    monkeypatch.setattr(sys, "argv", ["compare_npbench.py", "gemm", "--sizes", "tiny"])
    monkeypatch.setattr(compare_npbench, "in_child", lambda *words, **_: {"seconds": 2e-3, "compile": 0.5})
    compare_npbench.main()
    assert capsys.readouterr().out.splitlines()[-1].split() == ["gemm", "tiny", "2", "-", "-", "0.5", "-", "-", "-"]

    def fails(*words, **_):
        raise RuntimeError("npbench.child\nno such thing")

    monkeypatch.setattr(compare_npbench, "in_child", fails)
    with pytest.raises(SystemExit, match="not right: gemm tiny"):
        compare_npbench.main()


@pytest.mark.long
@pytest.mark.parametrize("name", table.KERNELS)
def test_agrees_with_jax(name):
    pytest.importorskip("jax")
    options = compare_npbench.argparse.Namespace(repeats=1, timeout=300.0)
    found = compare_npbench.measured(name, "tiny", {"ours": sys.executable, "jax": sys.executable}, options)
    assert found["error"]["error"] < compare_npbench.TOLERANCE
