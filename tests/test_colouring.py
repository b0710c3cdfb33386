"""Colouring of sparsity patterns, and how entries follow from the compressed matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from planned_ad.functional.sparse import colouring
from planned_ad.functional.sparse.colouring import (
    acyclic,
    canonical,
    direct_recovery,
    distance_1,
    star,
    symmetric_recovery,
)

COMMON = settings(deadline=None, derandomize=True, database=None, max_examples=60)


@st.composite
def matrices(draw, symmetric: bool = False) -> np.ndarray:
    """With zeros in many places, and other integers."""
    size = draw(st.integers(0, 9))
    shape = (size, size if symmetric else draw(st.integers(0, 9)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dense = rng.integers(1, 100, shape) * (rng.uniform(size=shape) < draw(st.floats(0, 0.7)))
    return dense + dense.T if symmetric else dense


def products(matrix: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """A line for each colour: the sum of the columns of that colour."""
    seeds = colours[:, None] == np.arange(colours.max(initial=-1) + 1)
    return np.ascontiguousarray((matrix @ seeds).T)


def entries(matrix: np.ndarray) -> np.ndarray:
    return matrix[matrix != 0]  # by rows, as a pattern has them


def band(size: int, width: int = 1):
    offsets = range(-width, width + 1)
    return canonical(scipy.sparse.diags_array([np.ones(size - abs(k)) for k in offsets], offsets=list(offsets)))


@COMMON
@given(matrices())
def test_columns_of_one_colour_share_no_row(matrix):
    colours = distance_1(canonical(matrix))
    for i, j in itertools.combinations(range(matrix.shape[1]), 2):
        assert colours[i] != colours[j] or not np.any(matrix[:, i] * matrix[:, j])


@COMMON
@given(matrices())
def test_a_jacobian_follows_from_products_with_columns_and_with_rows(matrix):
    pattern = canonical(matrix)
    colours = distance_1(pattern)
    np.testing.assert_array_equal(direct_recovery(pattern, colours)(products(matrix, colours)), entries(matrix))
    of_rows = distance_1(canonical(matrix.T))
    recovery = direct_recovery(pattern, of_rows, of_rows=True)
    np.testing.assert_array_equal(recovery(products(matrix.T, of_rows)), entries(matrix))


@COMMON
@given(matrices(symmetric=True))
def test_paths_of_four_have_three_star_colours(matrix):
    colours = star(canonical(matrix))
    size = len(matrix)
    edges = [(i, j) for i in range(size) for j in range(size) if i != j and matrix[i, j]]
    assert all(colours[i] != colours[j] for i, j in edges)
    for (a, b), (c, d) in itertools.product(edges, edges):
        if matrix[b, c] and len({a, b, c, d}) == 4:
            assert len({colours[a], colours[b], colours[c], colours[d]}) > 2


@COMMON
@given(matrices(symmetric=True))
def test_two_acyclic_colours_make_no_cycle(matrix):
    colours = acyclic(canonical(matrix))
    for one, other in itertools.combinations(range(colours.max(initial=-1) + 1), 2):
        chosen = np.flatnonzero((colours == one) | (colours == other))
        graph = np.triu(matrix[np.ix_(chosen, chosen)] != 0, 1)
        parts, _ = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(graph), directed=False)
        assert graph.sum() == len(chosen) - parts  # a forest


@COMMON
@given(matrices(symmetric=True))
def test_a_hessian_follows_directly_and_by_substitution(matrix):
    pattern = canonical(matrix)
    for colours, is_direct in ((star(pattern), True), (acyclic(pattern), False)):
        recovery = symmetric_recovery(pattern, colours)
        np.testing.assert_array_equal(recovery(products(matrix, colours)), entries(matrix))
        assert not is_direct or len(recovery.steps) == 0


def test_a_colouring_that_does_not_determine_the_entries_is_refused():
    square = canonical(np.ones((4, 4)) - np.eye(4) - np.eye(4)[::-1])
    with pytest.raises(ValueError, match="not acyclic"):
        symmetric_recovery(square, np.array([0, 1, 1, 0]))
    with pytest.raises(ValueError, match="not acyclic"):
        symmetric_recovery(canonical(np.ones((2, 2))), np.array([0, 0]))


@pytest.mark.parametrize(("greedy", "count"), [(distance_1, 3), (star, 3), (acyclic, 2)])
def test_tridiagonal(greedy, count):
    assert greedy(band(50)).max() + 1 == count


@pytest.mark.parametrize(("greedy", "count"), [(distance_1, 7), (star, 7), (acyclic, 4)])
def test_bands_of_seven_diagonals(greedy, count):
    assert greedy(band(50, 3)).max() + 1 == count


@pytest.mark.parametrize("greedy", [star, acyclic])
def test_a_full_row_and_column_take_one_colour_more(greedy):
    size = 400
    arrow = scipy.sparse.lil_array((size, size))
    arrow[7, :] = arrow[:, 7] = 1
    arrow.setdiag(1)
    assert greedy(canonical(arrow)).max() + 1 == 2


def test_compiled_code_is_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    half = scipy.sparse.random_array((80, 80), density=0.03, rng=rng)
    pattern = canonical(half + half.T)
    plain = [greedy(pattern) for greedy in (distance_1, star, acyclic)]
    recovery = symmetric_recovery(pattern, plain[2])
    monkeypatch.setattr(colouring, "COMPILED_FROM", 0)
    for greedy, expected in zip((distance_1, star, acyclic), plain):
        np.testing.assert_array_equal(greedy(pattern), expected)
    np.testing.assert_array_equal(symmetric_recovery(pattern, plain[2]).steps, recovery.steps)
