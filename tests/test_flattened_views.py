"""Which of NumPy's ways to flatten an array give views, seen by writing to them."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .program_lists import function_of

VIEWS = """y[::2].ravel()
y[::-1].ravel()
y.ravel()
y.T.ravel()
y.T.ravel("F")
y.T.ravel("K")
y.T.ravel("A")
y[::-1, ::-1].ravel("K")
y[:, :2].ravel()
y[:1].ravel()
y[:, :1].ravel()
y[:, :1].ravel("F")
y[1:2, ::2].ravel()
np.ravel(y[::2])
y[::2].reshape(-1)
y.T.reshape(-1)
y[:, ::-1].ravel("K")
y.swapaxes(0, 1).ravel("A")
y[::2].flatten()
y[None].ravel("F")
y[:0].ravel()
y.ravel("F")
y[:1].ravel("F")
np.broadcast_to(y[0], (3, 4)).ravel()
np.trim_zeros(y.ravel())"""


@pytest.mark.parametrize("view", VIEWS.split("\n"))
def test_flattened(view):
    source = f"""def f(x):
    y = x * 1.0
    v = {view}
    v *= np.arange(1.0, v.size + 1)
    return np.sum(y**2 * x) + np.sum(v)
"""
    f = function_of(source, f"<flattened {view}>", np=np)
    x = np.arange(12.0).reshape(3, 4) + 1
    assert planned_ad.compile(f, (x,), check=False)(x) == pytest.approx(f(x), rel=1e-14)


def test_an_order_that_data_choose():
    def f(x):
        s, order = 0.0, "C"
        for i in range(20):
            if x[i] > 0.5:
                order = "F"
            elif x[i] < 0.2:
                order = "K"
            s += x.reshape(4, 5).ravel(order)[1] * (i + 1)
        return s

    plan = None
    for x in np.random.default_rng(0).random((4, 20)):
        plan = plan or planned_ad.compile(f, (x,), check=False, unroll=0)
        assert plan(x) == pytest.approx(f(x), rel=1e-13)
