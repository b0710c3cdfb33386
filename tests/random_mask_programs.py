"""Random loops over arrays whose length is data: chosen by masks, cut, written to, handed on, on sides of tests."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

STATEMENTS = (
    "z = y[m]", "z = y[m] * 2.0 + 0.1", "z = np.sort(y[m])", "z[1:] = z[1:] * 0.5", "z[0:2] = 0.3", "z[::2] += 0.1",
    "y[m] = y[m] - 0.1", "y[m] *= 0.9", "y[act] = y[act] - 0.05", "y[act] += 0.1", "A[m, 1] = y[m]",
    "A[m] = A[m] * 0.9", "A[m] += y[m, None]", "col[m] = y[m]", "s += z.sum()", "s += col @ x",
    "z = z[1:]", "z = z[z > -0.2]", "z *= 0.9",
    "z = z - z.mean() if len(z) else z", "w = y[m]; w[:] = np.tanh(w); y[m] = w",
    "v = A[m][:, 1]; v += 0.5; s += v.sum()",
    "q = y[act]; q[1:] += q[:-1] * 0.5; y[act] = q", "act = act[y[act] > -0.2]; y[act] = y[act] - 0.05",
    "B = A[m]; B[:, 0] = 0.5; s += B.sum()", "p = z; z = z[1:]; s += p.sum()", "act = act[::-1]", "act = act[:3]",
    "p = z; z[:1] = 0.5; s += p.sum()", "p = y[act]; act = act[p > 0.0]; s += p.sum()", "z = np.where(z > 0.2, z, 0.1)",
    "z = np.concatenate([z[:2], z[1:]]) if len(z) > 1 else z", "w = y[m]; s += np.abs(w).sum()", "s += z @ z",
    "y[m] = np.log(y[m] + 9.0) * x[m]", "y[~m] -= np.sqrt(np.abs(y[~m]) + 0.1)", "col[m] += 1.0 / (y[m] + 9.0)",
    "w = y[m]; v = w; w *= 0.8; w += 0.1; s += np.sum(v * w); y[m] = v", "s += np.max(y[m]) if m.any() else 0.1",
    "w = y[m]; p = w[1:]; w -= 0.2; s += p.sum(); y[m] = w", "w = y[m]; y[m] = 0.3; s += np.sum(w * w)",
    "w = y[m]; m = y > 0.3; y[m] = y[m] * 0.5; s += np.sum(np.exp(-w))", "s += np.sum(np.log(x[x > 0.0])) * 0.1",
    "s += x[m] @ y[m]; y[y > 0.4] = y[y > 0.4] * 0.7", "A[A > 0.5] = A[A > 0.5] * 0.5; A[A < 0.0] += 0.1",
)  # fmt: skip
MASKS = ("y > 0.2 * k - 0.5", "x > 0.1 * k", "np.sin(y * (k + 1)) > -0.3")
TESTS = ("len(z) > 2", "y[0] > 0.3", "k % 2 == 0", "m.any()")
EXITS = ("len(act) == 0", "not m.any()", "y.sum() < 0")


def source(seed: int) -> str:
    pick = random.Random(seed)
    lines = [
        "def f(x):",
        "    y, A, s, z = x.copy(), np.outer(x, x[:3]), 0.0, x * 1.0",
        "    act, col = np.arange(len(x)), np.zeros(len(x))",
        f"    for k in range({pick.choice([1, 3, 14])}):",
        f"        m = {pick.choice(MASKS)}",
    ]
    lines += ["        z = y[m]"] * (pick.random() < 0.5)
    for _ in range(pick.randrange(2, 6)):
        statement = pick.choice(STATEMENTS)
        if " if " not in statement and pick.random() < 0.3:
            lines += [f"        if {pick.choice(TESTS)}:", f"            {statement}"]
        else:
            lines.append(f"        {statement}")
    lines += [f"        if {pick.choice(EXITS)}:", "            break"] * (pick.random() < 0.3)
    lines += ["    s += y.sum() + np.sum(A * A) + z.sum() + col.sum() + len(act)", "    return s\n"]
    return "\n".join(lines)


def function(seed: int) -> Callable:
    return function_of(source(seed), f"<masks {seed}>", np=np)
