"""Adjoints by hand of the stencils: see `handwritten_loops` for the rules that they follow."""

from __future__ import annotations

from .handwritten import compiled_loop


@compiled_loop
def weighted_sum(weights, a):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += weights[i, j] * a[i, j]
    return total


# Jacobi: the transposed stencil is the stencil itself on shadows whose edges are zero; the edges' own shadows add up.


@compiled_loop
def stencil(target, source):
    n = source.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            target[i, j] = 0.2 * (
                source[i, j] + source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
            )


@compiled_loop
def add_to_edges(edges, inner):
    n = inner.shape[0]
    for j in range(1, n - 1):
        edges[0, j] += 0.2 * inner[1, j]
        edges[n - 1, j] += 0.2 * inner[n - 2, j]
        edges[j, 0] += 0.2 * inner[j, 1]
        edges[j, n - 1] += 0.2 * inner[j, n - 2]


@compiled_loop
def jacobi_2d(steps, a, b, weights, da, db, inner_a, inner_b):
    for _ in range(steps):
        stencil(b, a)
        stencil(a, b)
    n = a.shape[0]
    da[:, :] = weights
    db[:, :] = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            inner_a[i, j] = weights[i, j]
    for _ in range(steps):
        add_to_edges(db, inner_a)
        stencil(inner_b, inner_a)
        add_to_edges(da, inner_b)
        stencil(inner_a, inner_b)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            da[i, j] = inner_a[i, j]
    return weighted_sum(weights, a)


# Gauss-Seidel: along a row g[j] = (da[i, j] + g[j + 1]) / 9; then the row update in gather form.


@compiled_loop
def seidel_row(a, i, line):
    n = a.shape[1]
    for j in range(1, n - 1):
        line[j] = a[i, j] + (
            (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1])
            + a[i, j + 1]
            + (a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1])
        )


@compiled_loop
def seidel_row_adjoint(da, i, line):
    """`line`: the shadow of the row after the update, with zeros at both ends and beyond."""
    n = da.shape[1]
    for j in range(n):
        spread = line[j] + line[j + 1] + line[j + 2]  # of columns j - 1, j and j + 1: `line` starts at column -1
        da[i - 1, j] += spread
        da[i + 1, j] += spread
    for j in range(1, n - 1):
        da[i, j] = line[j + 1] + line[j]
    da[i, n - 1] += line[n - 1]


@compiled_loop
def gauss_seidel(steps, a, weights, da, line):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            seidel_row(a, i, line)
            last = a[i, 0]
            for j in range(1, n - 1):
                last = (line[j] + last) / 9.0
                a[i, j] = last
    da[:, :] = weights
    line[:] = 0.0
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            g = 0.0
            for j in range(n - 2, 0, -1):
                g = (da[i, j] + g) * (1.0 / 9.0)
                line[j + 1] = g
            da[i, 0] += g
            seidel_row_adjoint(da, i, line)
    return weighted_sum(weights, a)


@compiled_loop
def gauss_seidel_reciprocal(steps, a, weights, da, line):
    """Multiplies by 1/9 in advance, so that one multiply-add is left between an element and the next."""
    ninth = 1.0 / 9.0
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            seidel_row(a, i, line)
            last = a[i, 0]
            for j in range(1, n - 1):
                last = ninth * line[j] + ninth * last
                a[i, j] = last
    da[:, :] = weights
    line[:] = 0.0
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            g = 0.0
            for j in range(n - 2, 0, -1):
                g = ninth * da[i, j] + ninth * g
                line[j + 1] = g
            da[i, 0] += g
            seidel_row_adjoint(da, i, line)
    return weighted_sum(weights, a)
