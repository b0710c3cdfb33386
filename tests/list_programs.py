"""Lists of numbers to which loops write, as people write them; each is a function of an array of 24 numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import planned_ad

PROGRAMS: list[Callable] = []


def program(f: Callable) -> Callable:
    PROGRAMS.append(f)
    return f


@program
def recurrence(x):
    n = len(x)
    c = [0] * n
    for i in range(1, n):
        c[i] = c[i - 1] * 0.5 + x[i]
    return c[n - 1] + c[3]


@program
def flags(x):
    n = len(x)
    on = [False] * n
    t = 0.1
    for k in range(20):
        for i in range(n):
            if on[i]:
                t = t * 0.99
            elif x[i] * t > 0.05 * k:
                on[i] = True
        t = t + 0.02 * x[0]
    return t + sum(on)


@program
def counts_as_index(x):
    n = len(x)
    c = [0] * n
    for i in range(1, n):
        if x[i] > 0.5:
            c[i] = c[i - 1] + 1
        else:
            c[i] = c[i - 1]
    s = 0.0
    for i in range(n):
        s += x[c[i]] * x[i]
    return s


@program
def dtw(x):
    n = len(x)
    D = [[10000000000.0] * (n + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            c = (x[i - 1] - x[n - j] * 0.7) ** 2
            D[i][j] = c + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return D[n][n] + D[-1][-2]


@program
def shared_rows(x):
    n = len(x)
    D = [[0.0] * n] * 3
    for i in range(n):
        D[0][i] = x[i]
        D[1][i] = D[1][i] + x[i]
    return sum(D[2]) + D[0][3]


@program
def copy_is_apart(x):
    n = len(x)
    c = [0.0] * n
    d = c[:]
    e = list(c)
    g = c.copy()
    for i in range(n):
        c[i] = x[i] ** 2
        d[i] = d[i] + x[i]
    h = c[2:5]
    for i in range(n):
        c[i] = c[i] * 2
        g[i] = c[i]
    return sum(c) + sum(d) * 3 + sum(e) + sum(h) * 5 + g[4]


@program
def prev_cur(x):
    n = len(x)
    prev = [0.0] * n
    for _k in range(20):
        cur = [0.0] * n
        for i in range(1, n):
            cur[i] = 0.5 * prev[i - 1] + x[i] * 0.1
        prev = cur
    return sum(prev)


@program
def swap_lists(x):
    n = len(x)
    a = [0.0] * n
    b = [1.0] * n
    for _k in range(19):
        for i in range(n):
            b[i] = a[i] * 0.9 + x[i]
        a, b = (b, a)
    return sum(a) + 2 * sum(b)


@program
def row_variable(x):
    n = len(x)
    A = [[0.0] * n for _ in range(n)]
    for i in range(n):
        row = A[i]
        for j in range(n):
            row[j] = x[i] * x[j]
    row[0] = 7.0
    s = 0.0
    for r in A:
        for v in r:
            s += v
    return s + A[n - 1][0] + row[1]


@program
def appended_then_written(x):
    n = len(x)
    c = []
    for i in range(n):
        y = x[i] * 2
        c.append(y)
    c[0] = 3.0 * x[1]
    for i in range(1, n):
        c[i] = c[i - 1] * 0.5 + c[i]
    return sum(c)


@program
def comprehension_then_written(x):
    n = len(x)
    c = [v * v for v in x]
    for i in range(1, n):
        c[i] = c[i - 1] * 0.5 + c[i]
    return max(c) + min(c)


@program
def from_list(x):
    c = list(x)
    for i in range(1, len(c)):
        c[i] = c[i - 1] * 0.5 + c[i]
    return c[-1]


@program
def popped(x):
    n = len(x)
    c = [0.0] * n
    for i in range(n):
        c[i] = x[i]
    c.pop()
    for i in range(n - 1):
        c[i] = c[i] * 2
    return sum(c)


class Model:
    def __init__(self, n):
        self.state = [0.0] * n
        self.hist = []

    def step(self, x):
        for i in range(1, len(self.state)):
            self.state[i] = self.state[i] * 0.9 + self.state[i - 1] * 0.1 + x[i]
        self.hist.append(self.state[3])


@program
def objects(x):
    m = Model(len(x))
    for _k in range(20):
        m.step(x)
    return sum(m.state) + sum(m.hist)


@program
def in_dict(x):
    d = {"a": [0.0] * len(x), "b": [1] * len(x)}
    for i in range(len(x)):
        d["a"][i] = x[i] * d["b"][i]
        d["b"][i] = i
    return sum(d["a"]) + sum(d["b"])


@program
def on_sides(x):
    n = len(x)
    a = [0.0] * n
    b = [0.0] * n
    for i in range(n):
        if x[i] > 0.5:
            a[i] = x[i]
        else:
            b[i] = x[i] ** 2
        t = a if x[i] > 0.7 else b
        t[i] = t[i] + 1.0
    return sum(a) + 2 * sum(b)


@program
def while_loop(x):
    n = len(x)
    c = [0.0] * n
    i = 0
    while i < n:
        c[i] = x[i] * i
        i += 1
    k = n - 1
    while k > 0 and c[k] > 1.0:
        c[k] = c[k] * 0.5
        k -= 1
    return sum(c)


@program
def wrapping(x):
    n = len(x)
    c = [0.0] * n
    for i in range(n):
        c[i - 1] = x[i] + c[i - 2] * 0.5
    for i in range(40):
        c[i % n] = c[(i + 1) % n] * 0.9 + 0.1
    return sum(c)


@program
def while_iterating(x):
    n = len(x)
    c = [0.0] * n
    s = 0.0
    for i, v in enumerate(c):
        if i + 1 < n:
            c[i + 1] = v * 0.5 + x[i]
        s += v
    return s


@program
def class_asked(x):
    n = len(x)
    c = [0] * n
    s = 0.0
    for i in range(0, n):
        if x[i] > 0.5:
            c[i] = x[i]
    for i in range(n):
        s += 1.0 if isinstance(c[i], int) else c[i]
    return s


@program
def stack(x):
    n = len(x)
    st = [0.0] * n
    top = 0
    for i in range(n):
        st[top] = x[i]
        top += 1
        if x[i] > 0.6 and top > 1:
            top -= 1
            st[top - 1] = st[top - 1] + st[top]
    return sum(st[:3]) + top


@program
def row_replaced(x):
    n = len(x)
    A = [[0.0] * n for _ in range(n)]
    r = [1.0] * n
    for i in range(n):
        A[i] = r
    r[0] = 5.0 * x[0]
    for i in range(n):
        A[i][1] = x[i]
    return sum(sum(row) for row in A)


@program
def closure(x):
    n = len(x)
    memo = [0.0] * n

    def step(i):
        memo[i] = memo[i - 1] * 0.5 + x[i]
        return memo[i]

    return sum(step(i) for i in range(1, n))


@program
def f32(x):
    y = x.astype(np.float32)
    n = len(x)
    c = [0.1] * n
    for i in range(1, n):
        c[i] = y[i] * c[i - 1]
    return float(np.sum(y * c[3])) + float(c[n - 1])


@program
def shallow(x):
    n = len(x)
    A = [[0.0] * 4 for _ in range(n)]
    B = A[:]
    C = list(A)
    for i in range(n):
        A[i][0] = x[i]
        B[i][1] = x[i] * 2
        C[i][2] = x[i] * 3
    return sum(sum(a) for a in A) + sum(sum(b) for b in B)


@program
def nested_aug(x):
    n = len(x)
    D = [[0.0] * n for _ in range(n)]
    for _k in range(3):
        for i in range(n):
            for j in range(i, n):
                D[i][j] += x[i] * x[j]
                D[j][i] -= 0.1 * D[i][j]
    return sum(map(sum, D))


@program
def rows_of_loop(x):
    n = len(x)
    D = [[0.0] * n for _ in range(n)]
    for i, row in enumerate(D):
        row[i] = x[i]
        row[0] += 1.0
    for row, v in zip(D, x):
        row[1] = v * 2
    t = 0.0
    for row in D:
        t += max(row) + row[1]
    return t


@program
def two_rows(x):
    n = len(x)
    D = [[0.0] * (n + 1) for _ in range(2)]
    for i in range(1, n + 1):
        cur = i % 2
        pre = 1 - cur
        for j in range(1, n + 1):
            D[cur][j] = 0.3 * D[pre][j - 1] + 0.5 * D[cur][j - 1] + x[j - 1] * x[i - 1]
    return D[n % 2][n]


@program
def row_assigned_copy(x):
    n = len(x)
    D = [[0.0] * n for _ in range(n)]
    for i in range(1, n):
        D[i] = D[i - 1][:]
        D[i][i] = x[i]
    return sum(D[n - 1]) + D[3][2]


@program
def hist_rt(x):
    h = [0.0] * 12
    for i in range(len(x)):
        h[int(x[i] * 10)] += x[i] ** 2
    return sum(v * v for v in h)


@program
def truths(x):
    n = len(x)
    c = [0] * n
    f = [False] * n
    s = 0.0
    for i in range(n):
        if x[i] > 0.4:
            c[i] = 1
            f[i] = not f[i - 1]
    for i in range(n):
        if c[i]:
            s += x[i]
        if not f[i]:
            s += 0.5 * x[i]
        if c[i] and f[i]:
            s *= 1.01
        if c[i] == 0 or f[i]:
            s += x[i] ** 2
    return s


@program
def to_array(x):
    n = len(x)
    D = [[0.0] * 3 for _ in range(n)]
    for i in range(n):
        D[i][0] = x[i]
        D[i][1] = x[i] ** 2
        D[i][2] = 1.0
    A = np.array(D)
    return np.sum(A @ np.array([1.0, 2.0, 3.0]) * x) + np.dot(D[2], D[3])


@program
def inner_grad(x):
    n = len(x)

    def g(y):
        c = [0.0] * n
        for i in range(1, n):
            c[i] = c[i - 1] * 0.5 + y[i] ** 2
        return c[n - 1]

    d = planned_ad.grad(g)(x)
    return np.sum(d * x) + g(x)


@program
def knapsack(x):
    W = 30
    dp = [0.0] * (W + 1)
    w = [3, 5, 7, 2, 9, 4]
    for k in range(len(w)):
        for c in range(W, w[k] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[k]] + x[k])
    return dp[W]


@program
def life(x):
    n = 20
    u = [x[i] for i in range(n)]
    for _t in range(20):
        v = [0.0] * n
        for i in range(n):
            v[i] = u[i] + 0.1 * (u[(i + 1) % n] - 2 * u[i] + u[i - 1])
        u = v
    return sum(a * a for a in u)


@program
def copy_then_swap(x):
    n = 20
    u = list(x[:n])
    v = u[:]
    for _t in range(20):
        for i in range(1, n - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = (v, u)
    return u[3] + v[5]


@program
def isnone_mixed(x):
    n = len(x)
    best = [float("inf")] * n
    par = [-1] * n
    s = 0.0
    best[0] = 0.0
    for i in range(1, n):
        for j in range(max(0, i - 3), i):
            t = best[j] + (x[i] - x[j]) ** 2
            if t < best[i]:
                best[i] = t
                par[i] = j
    k = n - 1
    while k > 0:
        s += x[k]
        k = par[k]
    return best[n - 1] + s
