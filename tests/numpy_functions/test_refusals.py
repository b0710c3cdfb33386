"""What has no rule is refused with an alternative; what NumPy refuses is refused likewise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace
from tests.tracing_oracle import check

UNSUPPORTED = {
    "where=": lambda x: np.var(x, where=x > 0, mean=x[0, 0]),
    "quantile": lambda x: np.quantile(x, x[0, 0] / 9),
    "method": lambda x: np.quantile(x, 0.5, method="inverted_cdf"),
    "unique": lambda x: np.unique(x, axis=0),
    "histogram": lambda x: np.histogram(x, "auto"),
    "raw qr": lambda x: np.linalg.qr(x, "raw"),
    "pad": lambda x: np.pad(x, 1, mode="linear_ramp"),
    "reflect_type": lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
    "raw factors": lambda x: scipy.linalg.qr(x, mode="raw"),
    "axes of matmul": lambda x: np.matmul(x, x, axes=[(0, 1), (0, 1), (0, 1)]),
}

# A program that NumPy itself refuses: so does the trace, with an error of the same type.
WRONG = {
    "dot": lambda x: np.dot(x, x[:1]),
    "matmul": lambda x: x @ x[:1, :1],
    "matmul of a scalar": lambda x: np.matmul(x, 2.0),
    "tensordot": lambda x: np.tensordot(x, x[:1], 1),
    "einsum": lambda x: np.einsum("ij,jk", x, x[:, :, None]),
    "einsum lengths": lambda x: np.einsum("ij,jk", x, np.ones((5, 2)) * x[0, 0]),
    "axis": lambda x: np.sum(x, axis=2),
    "concatenate": lambda x: np.concatenate([x, x[0]]),
    "concatenate lengths": lambda x: np.concatenate([x, x[:, :1]]),
    "concatenate scalars": lambda x: np.concatenate([x[0, 0], x[0, 1]]),
    "stack": lambda x: np.stack([x, x[0]]),
    "split": lambda x: np.split(x, 3),
    "reshape": lambda x: np.reshape(x, (3, 5)),
    "squeeze": lambda x: np.squeeze(x, 0),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 5)),
    "out shape": lambda x: np.sum(x, axis=0, out=np.zeros(3)),
    "average": lambda x: np.average(x, weights=[1.0, 2.0]),
    "ddof and correction": lambda x: np.var(x, ddof=1, correction=1),
    "take": lambda x: np.take(x, [7]),
    "gradient": lambda x: np.gradient(x[:1]),
    "pad": lambda x: np.pad(x, -1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([0]), axis=1),
    "where": lambda x: np.where(x > 0, x),
    "matrix_power": lambda x: np.linalg.matrix_power(x[:1], 2),
    "select": lambda x: np.select([x], [x]),
    "solve": lambda x: np.linalg.solve(x, x[:1]),
    "inv": lambda x: np.linalg.inv(x[:1]),
    "cholesky of a vector": lambda x: np.linalg.cholesky(x[0]),
    "UPLO": lambda x: np.linalg.eigh(x, "x"),
    "mode": lambda x: np.linalg.qr(x, "whole"),
    "matrix norm": lambda x: np.linalg.norm(x, 3),
    "sort": lambda x: np.sort(x, axis=2),
    "sort a number": lambda x: np.sort(x[0, 0]),
    "argmax of nothing": lambda x: np.argmax(x[:0]),
    "quantile": lambda x: np.quantile(x, 1.5),
    "max where": lambda x: np.max(x, where=x > 0),
    "searchsorted": lambda x: np.searchsorted(x, 1.0),
    "side": lambda x: np.searchsorted(x[0], 1.0, side="middle"),
    "interp": lambda x: np.interp(x, x[0], [1.0]),
    "bins": lambda x: np.digitize(x, [0.0, 2.0, 1.0]),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported(name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        trace(UNSUPPORTED[name], (np.array([[1.0, 2.0], [3.0, 4.0]]),))
    assert "test_refusals.py" in str(caught.value)  # the user's line
    assert ";" in str(caught.value)  # and what to do


@pytest.mark.parametrize("name", WRONG)
def test_refused_as_by_numpy(name: str) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(Exception) as wanted:
        WRONG[name](x)
    kind = next(kind for kind in (IndexError, ValueError, TypeError) if issubclass(wanted.type, kind))
    with pytest.raises(kind):
        trace(WRONG[name], (x,))


def test_known_numbers_are_left_to_numpy() -> None:
    def program(x):
        table = np.sort(np.array([3.0, 1.0, 2.0]))
        order = np.argsort(table[::-1])
        return x[order] * np.median(table) + scipy.special.logsumexp(table) + np.linalg.inv(np.diag(table)).sum()

    check(program, np.array([1.0, 2.0, 3.0]))
