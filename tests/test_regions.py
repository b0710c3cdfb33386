"""Views and regions against NumPy: every claim about addresses is checked on the addresses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from planned_ad.regions.affine import Affine, at, loop_index
from planned_ad.regions.regions import (
    Region,
    View,
    compose,
    contains,
    contiguous,
    covers,
    decompose,
    inverse,
    is_identity,
    is_injective,
    overlap,
    permuted,
    remap,
    same_layout,
    show,
)

from .sweeps import drawn


def view_of(array: np.ndarray) -> View:
    """The view of the flat memory 0, 1, 2, ... that `array` is."""
    offset = int(array.reshape(-1)[0]) if array.size else 0
    return View(offset, array.shape, tuple(s // array.itemsize for s in array.strides))


def addresses(view: View) -> np.ndarray:
    """What `view` shows of the flat memory 0, 1, 2, ..."""
    result = np.full(view.shape, view.offset)
    for axis, (extent, stride) in enumerate(zip(view.shape, view.strides)):
        shape = [1] * len(view.shape)
        shape[axis] = extent
        result = result + (np.arange(extent) * stride).reshape(shape)
    return result


@st.composite
def slices(draw: DrawFn, extent: int) -> slice | int:
    if extent and draw(st.integers(0, 4)) == 0:
        return draw(st.integers(0, extent - 1))
    step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
    first, last = sorted((draw(st.integers(0, extent)), draw(st.integers(0, extent))))
    return slice(None, None, step) if first == last else slice(first, last, abs(step))


@st.composite
def arrays(draw: DrawFn, base: np.ndarray | None = None, steps: int = 3, injective: bool = False) -> np.ndarray:
    """A NumPy view of `base`, or of a small memory 0, 1, 2, ..., made by the user's kind of operations."""
    if base is None:
        shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5]), max_size=3))
        base = np.arange(math.prod(shape)).reshape(shape)
    array = base
    for _ in range(draw(st.integers(0, steps))):
        array = draw(changed(array, injective))
    return array


@st.composite
def changed(draw: DrawFn, array: np.ndarray, injective: bool) -> np.ndarray:
    choices = ["transpose", "newaxis", "slice", "reverse", "reshape"]
    if array.ndim >= 2:
        choices.append("diagonal")
    if not injective and array.size < 200:
        choices.append("repeat")
        if array.ndim == 1 and array.size >= 2:
            choices.append("windows")
    choice = draw(st.sampled_from(choices))
    if choice == "transpose":
        return np.transpose(array, draw(st.permutations(range(array.ndim))))
    if choice == "newaxis":
        return np.expand_dims(array, draw(st.integers(0, array.ndim)))
    if choice == "slice":
        return array[tuple(draw(slices(n)) for n in array.shape)] if array.ndim else array
    if choice == "reverse":
        return np.flip(array, draw(st.integers(0, array.ndim - 1))) if array.ndim else array
    if choice == "diagonal":
        return np.diagonal(array)
    if choice == "repeat":
        return np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
    if choice == "windows":
        return np.lib.stride_tricks.sliding_window_view(array, 2)
    flat = array.reshape(-1)
    divisors = [d for d in range(1, array.size + 1) if array.size % d == 0] or [1]
    d = draw(st.sampled_from(divisors))
    if not array.size or not np.shares_memory(flat, array):
        return array
    return flat.reshape(d, -1)


views: SearchStrategy[View] = arrays().map(view_of)


@st.composite
def pairs(draw: DrawFn) -> tuple[View, View]:
    """Two views of one memory."""
    base = draw(arrays(steps=0))
    return view_of(draw(arrays(base))), view_of(draw(arrays(base)))


@st.composite
def chains(draw: DrawFn) -> tuple[View, View]:
    """A view, and a view of what it shows, stored row-major."""
    outer = draw(arrays())
    inner = draw(arrays(np.arange(outer.size).reshape(outer.shape), steps=2))
    return view_of(outer), view_of(inner)


# One view.


@drawn(arrays(), few=50, many=500)
def test_show_is_the_numpy_view(array: np.ndarray) -> None:
    view = view_of(array)
    memory = np.arange(200)
    shown = show(memory, view)
    np.testing.assert_array_equal(shown, array)
    assert shown.size == 0 or np.shares_memory(shown, memory)


@drawn(views, few=50, many=500)
def test_bounds_are_the_least_and_greatest_address(view: View) -> None:
    if view.size:
        found = addresses(view)
        assert view.bounds() == (found.min(), found.max())


@drawn(views, few=50, many=500)
def test_is_injective_is_never_wrong(view: View) -> None:
    if is_injective(view):
        assert np.unique(addresses(view)).size == view.size


@drawn(arrays(steps=0), st.data(), few=50, many=500)
def test_is_injective_knows_slices_and_transposes(base: np.ndarray, data) -> None:
    part = base[tuple(data.draw(slices(n)) for n in base.shape)] if base.ndim else base
    assert is_injective(view_of(np.asarray(part).T))


@drawn(views, st.integers(0, 70), few=50, many=500)
def test_covers_is_exact(view: View, size: int) -> None:
    for extent in (view.size, size):
        truth = sorted(addresses(view).reshape(-1).tolist()) == list(range(extent))
        assert covers(view, extent) == truth


@drawn(pairs(), few=50, many=500)
def test_same_layout_is_exact(pair: tuple[View, View]) -> None:
    a, b = pair
    assert same_layout(a, b) == (a.shape == b.shape and np.array_equal(addresses(a), addresses(b)))


@drawn(views, few=50, many=500)
def test_is_identity_is_exact(view: View) -> None:
    truth = np.array_equal(addresses(view), np.arange(view.size).reshape(view.shape))
    assert is_identity(view, view.shape) == (truth and (view.offset == 0 or view.size > 0))
    assert not is_identity(view, (*view.shape, 1))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2), (2, 0), (1, 4, 1)])
def test_contiguous_is_row_major(shape: tuple[int, ...]) -> None:
    view = contiguous(shape, 3)
    np.testing.assert_array_equal(addresses(view), 3 + np.arange(math.prod(shape)).reshape(shape))
    assert covers(contiguous(shape), math.prod(shape))
    assert is_identity(contiguous(shape), shape)


# A view of a view.


@drawn(chains(), few=50, many=500)
def test_compose_shows_the_same_elements(chain: tuple[View, View]) -> None:
    outer, inner = chain
    composed = compose(outer, inner)
    if composed is not None:
        np.testing.assert_array_equal(addresses(composed), addresses(outer).reshape(-1)[addresses(inner)])


@st.composite
def sliced(draw: DrawFn) -> tuple[View, View]:
    outer = draw(arrays())
    plain = np.arange(outer.size).reshape(outer.shape)
    inner = plain[tuple(draw(slices(n)) for n in outer.shape)] if outer.ndim else plain
    return view_of(outer), view_of(np.asarray(inner).T)


@drawn(sliced(), few=50, many=500)
def test_compose_finds_slices_and_transposes(chain: tuple[View, View]) -> None:
    assert compose(*chain) is not None


@drawn(chains(), few=50, many=500)
def test_decompose_maps_indices(chain: tuple[View, View]) -> None:
    outer, inner = chain
    axes = decompose(inner, outer.shape)
    if axes is None:
        return
    for index in np.ndindex(inner.shape):
        place = tuple(s + sum(step[k] * i for step, i in zip(axes.steps, index)) for k, s in enumerate(axes.start))
        flat = int(np.ravel_multi_index(place, outer.shape)) if outer.shape else 0
        assert flat == addresses(inner)[index]


@drawn(arrays(injective=True), few=50, many=500)
def test_inverse_undoes(array: np.ndarray) -> None:
    """`u[inverse]` undoes `v[view]`, for any shape of `v`."""
    view = view_of(array)
    for shape in {(view.size,), array.shape, array.shape[::-1], (1, view.size)}:
        back = inverse(view, shape)
        if back is not None:
            v = np.random.default_rng(0).normal(size=shape)
            u = np.ascontiguousarray(v).reshape(-1)[addresses(view)]
            np.testing.assert_array_equal(np.ascontiguousarray(u).reshape(-1)[addresses(back)], v)


@st.composite
def rearranged(draw: DrawFn) -> tuple[View, tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    array = np.transpose(np.arange(math.prod(shape)).reshape(shape), draw(st.permutations(range(len(shape)))))
    flipped = [k for k in range(array.ndim) if draw(st.booleans())]
    return view_of(np.flip(array, flipped)), shape


@drawn(rearranged(), few=50, many=500)
def test_inverse_finds_transposes_and_reversals(case: tuple[View, tuple[int, ...]]) -> None:
    assert inverse(*case) is not None


@drawn(rearranged(), st.booleans(), few=50, many=500)
def test_inverse_finds_split_and_joined_axes(case: tuple[View, tuple[int, ...]], join: bool) -> None:
    shape = case[1]
    joined = (math.prod(shape[:2]), *shape[2:])
    before, after = (shape, joined) if join else (joined, shape)
    back = inverse(contiguous(after), before)
    assert back is not None and is_identity(back, before)


def test_inverse_finds_a_transposed_and_joined_axis() -> None:
    """`u = v.ravel()[::-1]`, and `u = v.T` of a `v` that was stored as a line."""
    assert inverse(View(5, (6,), (-1,)), (2, 3)) == View(5, (2, 3), (-3, -1))
    assert inverse(View(0, (3, 2), (1, 3)), (6,)) is None
    assert inverse(View(0, (3, 4), (1, 3)), (2, 2, 3)) == View(0, (2, 2, 3), (2, 1, 4))


@drawn(rearranged(), arrays(), few=50, many=500)
def test_permuted_shows_through(case: tuple[View, tuple[int, ...]], other: np.ndarray) -> None:
    """Where `through` puts target index `i` at flat position p of `shape`, the result shows target[i] at p."""
    through, shape = case
    target = View(5, through.shape, tuple(7 * s + 1 for s in contiguous(through.shape).strides))
    result = permuted(shape, through, target)
    if result is not None:
        expected = np.empty(math.prod(shape), int)
        expected[addresses(through)] = addresses(target)
        np.testing.assert_array_equal(addresses(result).reshape(-1), expected)


@st.composite
def layouts(draw: DrawFn) -> tuple[View, View, View]:
    """Two layouts of one array, and a view in the first that shows some of it."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))

    def layout() -> np.ndarray:
        order = draw(st.permutations(range(len(shape))))
        extents = [shape[k] * draw(st.sampled_from([1, 1, 2])) for k in order]
        memory = np.arange(math.prod(extents)).reshape(extents)
        array = memory[tuple(slice(None, None, extents[j] // shape[k]) for j, k in enumerate(order))]
        array = np.transpose(array, np.argsort(order))
        return np.flip(array, [k for k in range(len(shape)) if draw(st.booleans())])

    source, target = layout(), layout()
    part = draw(arrays(source, steps=2))
    return view_of(part), view_of(source), view_of(target)


@drawn(layouts(), few=50, many=500)
def test_remap_follows_the_array_to_another_layout(case: tuple[View, View, View]) -> None:
    view, source, target = case
    moved = remap(view, source, target)
    if moved is not None:
        where = dict(zip(addresses(source).reshape(-1).tolist(), addresses(target).reshape(-1).tolist()))
        expected = [where[a] for a in addresses(view).reshape(-1).tolist()]
        assert addresses(moved).reshape(-1).tolist() == expected


# Two regions.


@drawn(pairs(), few=50, many=500)
def test_overlap_is_exact_without_loop_indices(pair: tuple[View, View]) -> None:
    a, b = pair
    truth = bool(np.intersect1d(addresses(a), addresses(b)).size)
    assert overlap(Region(0, a), Region(0, b)) == truth
    assert overlap(Region(0, b), Region(0, a)) == truth
    assert not overlap(Region(0, a), Region(1, b))


@drawn(pairs(), few=50, many=500)
def test_overlap_below_address_zero(pair: tuple[View, View]) -> None:
    a, b = (View(v.offset - 50, v.shape, v.strides) for v in pair)
    assert overlap(Region(0, a), Region(0, b)) == bool(np.intersect1d(addresses(a), addresses(b)).size)


@drawn(pairs(), few=50, many=500)
def test_contains_is_never_wrong(pair: tuple[View, View]) -> None:
    a, b = pair
    if contains(Region(0, a), Region(0, b)):
        assert set(addresses(b).reshape(-1).tolist()) <= set(addresses(a).reshape(-1).tolist())
    assert not contains(Region(0, a), Region(1, b))


@drawn(pairs(), few=50, many=500)
def test_the_whole_contains_every_part(pair: tuple[View, View]) -> None:
    whole = contiguous((200,))
    assert contains(Region(0, whole), Region(0, pair[0]))


# Inside loops.


def moving(view: View, step: int) -> View:
    return View(view.offset + step * loop_index(0), view.shape, view.strides)


@drawn(pairs(), st.integers(-4, 4), st.integers(-4, 4), few=50, many=500)
def test_overlap_in_a_loop_is_never_missed(pair: tuple[View, View], first: int, second: int) -> None:
    a, b = moving(pair[0], first), moving(pair[1], second)
    claimed = overlap(Region(0, a), Region(0, b))
    for i in range(-3, 4):
        here = [addresses(View(at(v.offset, {0: i}), v.shape, v.strides)) for v in (a, b)]
        assert claimed or not np.intersect1d(*here).size


@drawn(pairs(), st.integers(-4, 4), few=50, many=500)
def test_overlap_of_regions_that_move_together_is_exact(pair: tuple[View, View], step: int) -> None:
    a, b = (moving(v, step) for v in pair)
    assert overlap(Region(0, a), Region(0, b)) == overlap(Region(0, pair[0]), Region(0, pair[1]))


@drawn(chains(), st.integers(0, 3), few=50, many=500)
def test_show_and_compose_inside_a_loop(chain: tuple[View, View], i: int) -> None:
    outer, inner = chain
    composed = compose(moving(outer, 3), inner)
    if composed is not None and inner.size:
        shown = show(np.arange(300), composed, {0: i})
        np.testing.assert_array_equal(shown, addresses(outer).reshape(-1)[addresses(inner)] + 3 * i)


@drawn(
    st.lists(st.integers(-5, 5), min_size=4, max_size=4),
    st.integers(-3, 3),
    st.integers(-9, 9),
    st.integers(-9, 9),
    few=50,
    many=500,
)
def test_affine_arithmetic(c: list[int], factor: int, i: int, j: int) -> None:
    indices = {0: i, 1: j}
    a, b = c[0] + c[1] * loop_index(0), c[2] + c[3] * loop_index(1)
    assert at(a + b, indices) == at(a, indices) + at(b, indices)
    assert at(a - b, indices) == at(a, indices) - at(b, indices)
    assert at(a * factor, indices) == at(a, indices) * factor
    assert at(7 - a, indices) == 7 - at(a, indices)
    assert at(-a, indices) == -at(a, indices)
    assert not isinstance(a - a, Affine)
