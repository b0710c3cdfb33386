"""Which regions are boxes of a buffer's cells, whatever the axes along which they are gone through."""

import itertools
import random

import pytest

from planned_ad.analysis.memory_cells import Cells, box_of, cut, finer
from planned_ad.regions.coordinates import Axes, axes_of
from planned_ad.regions.regions import View, contiguous, show
from planned_ad.tape.tape import Buffer
from tests.blocks import Program

STRIDES = (0, 1, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, -1, -2, -5)


def places(view: View) -> set[int]:
    """The addresses of its elements."""
    steps = (range(n) for n in view.shape)
    return {view.offset + sum(i * s for i, s in zip(index, view.strides)) for index in itertools.product(*steps)}


def random_buffer(rng: random.Random) -> View:
    """With gaps between its rows, or an axis that goes backwards, in one of three."""
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.7:
        return contiguous(shape)
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step * rng.choice((1, -1)))
        step *= n + rng.choice((0, 0, 1))
    return View(50, shape, tuple(reversed(strides)))


def by_coordinates(axes: Axes) -> dict[int, tuple[int, ...]]:
    """Of each address, its place along each axis."""
    steps = [(n, abs(s)) for _, n, s in axes.axes]
    indices = itertools.product(*(range(n) for n, _ in steps))
    return {axes.low + sum(i * s for i, (_, s) in zip(index, steps)): index for index in indices}


@pytest.mark.parametrize("seed", range(20))
def test_a_box_has_the_elements_of_the_view(seed: int) -> None:
    """By enumeration; most of those that are boxes are found to be."""
    rng, boxes, found = random.Random(seed), 0, 0
    for _ in range(400):
        buffer = random_buffer(rng)
        axes = axes_of(buffer)
        assert axes is not None
        if rng.random() < 0.4:
            axes = finer(axes, {rng.randint(1, 30) for _ in range(3)})
        coordinates = by_coordinates(axes)
        assert coordinates.keys() == places(buffer)
        rank = rng.randint(0, 4)
        shape, strides = (tuple(rng.choice(few) for _ in range(rank)) for few in ((1, 2, 3, 4), STRIDES))
        view = View(rng.choice(list(coordinates)), shape, strides)
        if not places(view) <= coordinates.keys():
            continue
        shown = [coordinates[place] for place in places(view)]
        bounds = tuple((min(along), max(along) + 1) for along in zip(*shown))
        is_box = len(shown) == len(list(itertools.product(*(range(*bound) for bound in bounds))))
        box = box_of(view, axes)
        boxes, found = boxes + is_box, found + (box is not None)
        assert box is None or (is_box and box == bounds), (view, axes)
    assert found > 0.99 * boxes > 0


def buffer_of(*shape: int) -> Buffer:
    return Program().argument("a", *shape)


BLOCKS = [
    ("rows in blocks", (2000, 1000), [View(0, (125, 16, 1000), (16000, 1000, 1))]),
    ("columns in blocks", (30, 10000), [View(0, (125, 30, 80), (80, 10000, 1))]),
    ("inner parts of rows that are planes", (50, 14641), [View(122, (50, 119, 119), (14641, 121, 1))]),
    ("planes as rows", (40, 40, 40, 16), [View(25600, (25600,), (1,)), View(0, (40, 25600), (25600, 1))]),
]


@pytest.mark.parametrize(("name", "shape", "views"), BLOCKS, ids=[name for name, *_ in BLOCKS])
def test_cells_are_few(name: str, shape: tuple[int, ...], views: list[View]) -> None:
    """However many elements there are."""
    cells = cut(buffer_of(*shape), [contiguous(shape), *views])
    states = cells.filled(False)
    assert states.size < 40
    for view in views:
        cells.part(states, view)[...] = True
    assert states.any() and states.all() == (name != "inner parts of rows that are planes")


def test_neighbours_that_are_true() -> None:
    """Of a stretch over whole rows the first and the last of them, as by one cell for each element."""
    buffer = buffer_of(8, 5, 4)
    rows, middle = View(40, (80,), (1,)), View(60, (20,), (1,))
    by_cells = cut(buffer, [rows, middle])
    by_elements = Cells(buffer, None, None)
    for cells in (by_cells, by_elements):
        states = cells.filled(False)
        cells.part(states, middle)[...] = True
        assert cells.reach(states, rows) == (20, 40)
    assert show(by_elements.filled(True), rows).size == 80 > by_cells.filled(True).size
