"""Plans as functions of JAX's arrays."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.export import c_compiler
from planned_ad.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from planned_ad.interop import xla_handler as layout

from .programs import SINGLE, W, X, branching, likelihood, rosenbrock, waves, writing_late

jax = pytest.importorskip("jax")
jax_function = planned_ad.interop.jax_function
jnp = jax.numpy


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def f():
    return jax_function(planned_ad.compile(rosenbrock, X))


def in_jax(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def close(one, other) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_values_and_two_derivatives(f) -> None:
    scaled = [lambda x, g=g: jnp.exp(-1e-3 * g(x)) for g in (f, in_jax)]
    close(f(X), in_jax(X))
    for derivative in (jax.value_and_grad, lambda g: jax.grad(lambda x: jax.grad(g)(x) @ W)):
        own, other = (jax.jit(derivative(g))(X) for g in scaled)
        jax.tree.map(close, own, other)


def test_other_devices_call_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the CPU stands for one."""
    monkeypatch.setattr("planned_ad.interop.jax.PLATFORM", "cuda")
    f = jax_function(planned_ad.compile(rosenbrock, X))
    for derivative in (jax.value_and_grad, lambda g: jax.grad(lambda x: jax.grad(g)(x) @ W)):
        jax.tree.map(close, jax.jit(derivative(f))(X), jax.jit(derivative(in_jax))(X))
    rows = np.stack([X, X + 0.5])
    close(jax.vmap(jax.grad(f))(rows), jax.vmap(jax.grad(in_jax))(rows))
    f = jax_function(planned_ad.compile(rosenbrock, X), mode="forward")
    jax.tree.map(close, jax.jit(lambda x: jax.jvp(f, (x,), (W,)))(X), jax.jvp(in_jax, (X,), (W,)))
    f = jax_function(planned_ad.compile(likelihood, (X, 0.5)))
    close(jax.jit(f)(X, 0.25), likelihood(X, 0.25))


def test_a_loss_of_an_array_and_a_number() -> None:
    f = jax_function(planned_ad.compile(likelihood, (X, 0.5)))

    def second(g):
        return jax.grad(lambda x, s: sum(map(jnp.sum, jax.grad(lambda *a: g(*a) ** 2, (0, 1))(x, s))), (0, 1))

    def other(x, s):
        return jnp.sum(jnp.cos(x) * jnp.exp(s)) + s**3

    for derivative in (lambda g: jax.value_and_grad(g, (0, 1)), second):
        jax.tree.map(close, derivative(f)(X, 0.7), derivative(other)(X, 0.7))


@pytest.mark.parametrize("program, other", list(zip(SINGLE, [lambda x: jnp.sum(jnp.cos(x)) ** 2, jnp.cos])))
def test_single_precision(program, other) -> None:
    x = X.astype("f4")
    f = jax_function(planned_ad.compile(program, x))
    gradients = [jax.grad(lambda x, g=g: jnp.sum(g(x) ** 2)) for g in (f, other)]
    curvatures = [jax.grad(lambda x, g=g: g(x) @ x) for g in gradients]
    for own, true in ((f, other), gradients, curvatures):
        assert own(x).dtype == np.float32
        np.testing.assert_allclose(own(x), true(x), rtol=1e-4)


def test_batches(f) -> None:
    batch = np.linspace(-1, 2, 60).reshape(2, 3, 10)
    for one in (f, jax.grad(f), jax.grad(lambda x: jax.grad(f)(x) @ W)):
        found = jax.vmap(jax.vmap(one))(batch)
        close(found, [[one(x) for x in rows] for rows in batch])
    close(jax.vmap(f)(batch[:0, 0]), np.zeros(0))
    many = np.repeat(batch[0], 200_000, axis=0)  # for which no stack would be deep enough
    close(jax.vmap(f)(many)[-1], f(batch[0, -1]))


def test_forward_mode(f) -> None:
    pushed = jax_function(planned_ad.compile(rosenbrock, X), mode="forward")
    jax.tree.map(close, jax.jvp(pushed, (X,), (W,)), jax.jvp(in_jax, (X,), (W,)))
    close(jax.jit(jax.jacfwd(pushed))(X), jax.grad(f)(X))
    arrays = jax_function(planned_ad.compile(waves, (X, 2.0, 3, planned_ad.Const(W))), mode="forward")

    def other(x, t):
        return jnp.sin(x * t) ** 3 * W

    for g in (other, lambda x, t: arrays(x, t, 3, W)):
        found = jax.jvp(g, (X, 1.7), (W, 0.3)), jax.jacfwd(g, (0, 1))(X, 1.7)
        expected = (jax.jvp(other, (X, 1.7), (W, 0.3)), jax.jacfwd(other, (0, 1))(X, 1.7))
        jax.tree.map(close, found, expected)
    batch = np.stack([X, 2 * X])
    close(jax.vmap(lambda x: jax.jvp(pushed, (x,), (W,))[1])(batch), jax.vmap(jax.grad(f))(batch) @ W)
    branches = jax_function(planned_ad.compile(branching(8), X), mode="forward")
    close(jax.jvp(branches, (-X,), (W,))[1], np.sin(X) @ W)
    with pytest.raises(planned_ad.errors.ArgumentError, match="mode"):
        jax_function(planned_ad.compile(rosenbrock, X), mode="both")


def test_arrays_of_several_arguments() -> None:
    f = jax_function(planned_ad.compile(waves, (X, 2.0, 3, planned_ad.Const(W))))

    def other(x, t, n, w):
        return jnp.sin(x * t) ** n * w

    def second(g):
        def loss(x, t):
            return jnp.sum(jnp.cos(g(x, t, 3, W)))

        return jax.grad(lambda x, t: sum(map(jnp.sum, jax.grad(loss, (0, 1))(x, t))), (0, 1))

    close(f(X, 1.7, 3, W), other(X, 1.7, 3, W))
    jax.tree.map(close, second(f)(X, 1.7), second(other)(X, 1.7))
    with pytest.raises(ArgumentError, match="n is 4, and was 3"):
        f(X, 1.7, 4, W)


def test_another_branch_is_recorded_from_compiled_code() -> None:
    f = jax_function(planned_ad.compile(branching(4), X))
    gradient = jax.jit(jax.vmap(jax.grad(f)))
    close(gradient(np.stack([X, -X, X])), [4 * X**3, np.sin(X), 4 * X**3])


def test_a_branch_that_is_refused_is_an_error_of_jax() -> None:
    f = jax_function(planned_ad.compile(branching(5), X, on_branch="raise"))
    with pytest.raises(Exception, match="BranchError"):
        jax.block_until_ready(f(-X))


def test_another_branch_that_writes_is_an_error_of_jax() -> None:
    f = jax_function(planned_ad.compile(writing_late(4), X))
    x = jnp.asarray(-X)
    with pytest.raises(Exception, match="writes to arguments"):
        jax.block_until_ready(f(x))
    np.testing.assert_array_equal(x, -X)


def test_what_is_refused(f) -> None:
    with pytest.raises(DtypeError, match="is float32"):
        f(X.astype("f4"))
    with pytest.raises(ShapeError):
        f(X[1:])
    with pytest.raises(UnsupportedError, match="C-contiguous"):
        jax_function(planned_ad.compile(lambda x: np.sum(x**2), np.ones((2, 3), order="F")))


LAYOUT = """#include <stdio.h>
#include "xla/ffi/api/c_api.h"
#define AT(type, field) printf("%zu ", offsetof(XLA_FFI_##type, field))
int main(void) {
  AT(CallFrame, extension_start); AT(CallFrame, api); AT(CallFrame, args.args); AT(CallFrame, rets.rets);
  AT(Buffer, data); AT(Buffer, rank); AT(Buffer, dims);
  AT(Extension_Base, type); AT(Metadata_Extension, metadata); AT(Metadata, api_version.minor_version);
  AT(Api, api_version.minor_version); AT(Api, XLA_FFI_Error_Create);
  printf("%d %d %d", XLA_FFI_Extension_Metadata, XLA_FFI_Error_Code_INTERNAL, XLA_FFI_API_MAJOR);
}
"""


@pytest.mark.skipif(c_compiler() is None, reason="no C compiler")
def test_the_layout_is_that_of_the_header(tmp_path) -> None:
    (tmp_path / "layout.c").write_text(LAYOUT)
    include = f"-I{jax.ffi.include_dir()}"
    subprocess.run([c_compiler(), include, "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    assert [int(number) for number in printed.split()] == [
        *(layout.EXTENSION, layout.API, layout.ARGS, layout.RETS),
        *(layout.DATA, layout.RANK, layout.DIMS),
        *(layout.EXTENSION_TYPE, layout.METADATA, layout.MINOR_VERSION),
        *(layout.API_MINOR, layout.CREATE_ERROR),
        *(layout.IS_METADATA, layout.INTERNAL, 0),
    ]


@pytest.mark.parametrize("is_jitted", [False, True])
def test_what_changes_outside_is_seen(is_jitted) -> None:
    """A number, an array that is bound anew, index arrays; also by plans that are given to JAX afterwards."""
    state = {"k": 1.0, "w": np.array([1.0, 2.0, 3.0]), "i": np.array([0, 1, 1])}
    x = np.array([0.5, 0.7, 0.9])

    def energy(x):
        return np.sum((x - state["k"]) ** 2) + np.sum(state["w"] * x[state["i"]])

    def expected():
        found = 2 * (x - state["k"])
        np.add.at(found, state["i"], state["w"])
        return found

    plan = planned_ad.compile(energy, x)
    gradient = jax.grad(jax_function(plan))
    gradient = jax.jit(gradient) if is_jitted else gradient
    close(gradient(x), expected())
    for key, value in (("k", 4.0), ("w", np.array([7.0, 8.0, 9.0])), ("i", np.array([2, 2, 2])), ("k", 1.0)):
        state[key] = value
        close(gradient(x), expected())
        close(plan.gradient(x), expected())
        close(gradient(x), expected())
    close(jax.grad(jax_function(plan))(x), expected())
