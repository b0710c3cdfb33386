"""Results alias their arguments, or lie in memory, as NumPy's do: a later reshape is a view or a copy by that."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing_oracle import check

# Functions of a matrix: written to after the call, seen in the argument or not.
FUNCTIONS = {
    "reshape": lambda x: np.reshape(x, -1),
    "reshape of a transpose": lambda x: np.reshape(x.T, -1),
    "ravel": np.ravel,
    "ravel in column order": lambda x: np.ravel(x, "F"),
    "transpose": np.transpose,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "squeeze": np.squeeze,
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "atleast_3d": np.atleast_3d,
    "flip": np.flip,
    "rot90": np.rot90,
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "einsum": lambda x: np.einsum("ij->ji", x),
    "diagonal by einsum": lambda x: np.einsum("ii->i", x[:, :3]),
    "real": np.real,
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], copy=False, sparse=True)[0],
    "copy": np.copy,
    "concatenate": lambda x: np.concatenate([x, x]),
    "roll": lambda x: np.roll(x, 1, axis=0),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "take": lambda x: np.take(x, [0, 1], axis=1),
    "pad": lambda x: np.pad(x, 1),
    "stack": lambda x: np.stack([x, x]),
    "sum": lambda x: np.sum(x[None, :, :], axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "clip": lambda x: np.clip(x, 0, 1),
    "where": lambda x: np.where(x > 0, x, 1.0),
    "matmul": lambda x: x.T @ x,
    "einsum product": lambda x: np.einsum("ij,ij->ij", x, x),
}
LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": lambda a: np.array(a, order="F"),
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_writes_are_seen_as_in_numpy(name: str, layout: str) -> None:
    def program(x):
        y = FUNCTIONS[name](x)
        y[...] = y * 2.0 + 1.0
        return x * 1.0, y

    check(program, LAYOUTS[layout](np.arange(12.0).reshape(3, 4) - 5.5))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_reshape_as_in_numpy(name: str, layout: str) -> None:
    def program(x):
        y = FUNCTIONS[name](x)
        flat = y.reshape(-1)
        flat[1] = 77.0
        return x * 1.0, y, flat

    check(program, LAYOUTS[layout](np.arange(12.0).reshape(3, 4) - 5.5))


@pytest.mark.parametrize(
    "function", [np.diagonal, lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.diag(x[:, :3])]
)
def test_read_only_views(function) -> None:
    def program(x):
        function(x)[...] = 1.0
        return x.sum()

    x = np.ones((3, 4))
    with pytest.raises(ValueError, match="read-only"):
        program(x)
    with pytest.raises(ValueError, match="read-only"):
        check(program, x)


def test_set_flags() -> None:
    def program(x):
        y = x + 1
        y.setflags(write=False)
        z = y.copy()
        z[0] = 0.0
        return y * z

    check(program, np.ones(3))

    def writing(x):
        y = x + 1
        y.setflags(write=False)
        y[0] = 0.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        check(writing, np.ones(3))
