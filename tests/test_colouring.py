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
    canonical,
    distance_1,
    source_of_entries,
    source_of_symmetric_entries,
    star,
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
    """One line after the other, for each colour: the sum of the columns of that colour."""
    seeds = colours[:, None] == np.arange(colours.max(initial=-1) + 1)
    return (matrix @ seeds).T.reshape(-1)


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
    np.testing.assert_array_equal(products(matrix, colours)[source_of_entries(pattern, colours)], entries(matrix))
    of_rows = distance_1(canonical(matrix.T))
    source = source_of_entries(pattern, of_rows, of_rows=True)
    np.testing.assert_array_equal(products(matrix.T, of_rows)[source], entries(matrix))


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
def test_a_hessian_follows_from_star_and_distance_1_colourings(matrix):
    pattern = canonical(matrix)
    for colours in (star(pattern), distance_1(pattern)):
        source = source_of_symmetric_entries(pattern, colours)
        np.testing.assert_array_equal(products(matrix, colours)[source], entries(matrix))


def test_a_colouring_that_does_not_determine_the_entries_is_refused():
    path = canonical(np.eye(4, k=1) + np.eye(4, k=-1))
    with pytest.raises(ValueError, match="no star colouring"):
        source_of_symmetric_entries(path, np.array([0, 1, 0, 1]))
    with pytest.raises(ValueError, match="no star colouring"):
        source_of_symmetric_entries(canonical(np.ones((2, 2))), np.array([0, 0]))


@pytest.mark.parametrize(("greedy", "count"), [(distance_1, 3), (star, 3)])
def test_tridiagonal(greedy, count):
    assert greedy(band(50)).max() + 1 == count


@pytest.mark.parametrize(("greedy", "count"), [(distance_1, 7), (star, 7)])
def test_bands_of_seven_diagonals(greedy, count):
    assert greedy(band(50, 3)).max() + 1 == count


def test_a_full_row_and_column_take_one_colour_more():
    size = 400
    arrow = scipy.sparse.lil_array((size, size))
    arrow[7, :] = arrow[:, 7] = 1
    arrow.setdiag(1)
    assert star(canonical(arrow)).max() + 1 == 2


def test_compiled_code_is_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    half = scipy.sparse.random_array((80, 80), density=0.03, rng=rng)
    pattern = canonical(half + half.T)
    plain = [greedy(pattern) for greedy in (distance_1, star)]
    monkeypatch.setattr(colouring, "COMPILED_FROM", 0)
    for greedy, expected in zip((distance_1, star), plain):
        np.testing.assert_array_equal(greedy(pattern), expected)
