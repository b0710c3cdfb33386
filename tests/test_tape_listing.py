"""The printed tape: stable, without addresses, in the order of the program."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest

from planned_ad.python.source import Line
from planned_ad.regions.affine import loop_index
from planned_ad.regions.regions import Region, View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.listing import subscript, tape_listing
from planned_ad.tape.tape import Loop, Tape

FLOAT = np.dtype(np.float64)

SOURCE = """\
def f(x):
    x[1:] += np.exp(x[:-1])
    return x.sum()
"""


@pytest.fixture
def tape() -> Tape:
    linecache.cache["/tmp/model.py"] = (len(SOURCE), None, SOURCE.splitlines(True), "/tmp/model.py")
    builder = TapeBuilder()
    x = builder.new_buffer("argument", "x", FLOAT, contiguous((4,)))
    builder.line = Line(file="/tmp/model.py", number=2, function="f")
    y = builder.apply("exp", builder.load(Region(0, View(0, (3,), (1,)))))
    builder.store(Region(0, View(1, (3,), (1,))), y, accumulate=True)
    builder.line = Line(file="/tmp/model.py", number=3, function="f")
    total = builder.apply("reduce_sum", builder.load(x.whole), axes=(0,))
    return builder.tape((0,), (total,), frozenset({0}))


def test_listing(tape: Tape) -> None:
    assert tape_listing(tape) == (
        "# argument x: float64[4] {+0 [4] by [1]}\n"
        "v0: float64[3] = x[0:3]         # model.py:2  x[1:] += np.exp(x[:-1])\n"
        "v1: float64[3] = exp(v0)\n"
        "x[1:4] += v1\n"
        "v2: float64[4] = x[...]         # model.py:3  return x.sum()\n"
        "v3 = reduce_sum(v2, axes=(0,))\n"
        "return v3\n"
    )


def test_str_of_a_tape_is_its_listing(tape: Tape) -> None:
    assert str(tape) == tape_listing(tape)


def test_every_operation() -> None:
    builder = TapeBuilder()
    x = builder.new_buffer("argument", "x", FLOAT, contiguous((4, 5)))
    t = builder.new_buffer("local", "t", FLOAT, contiguous((5,)))
    builder.constant(np.arange(9.0))
    k = builder.constant(np.array([1, 2]))
    half = builder.constant(0.5)
    builder.scatter(t.whole, (k,), half)
    builder.scatter(t.whole, (k,), half, accumulate=True)
    builder.guard(builder.apply("less", half, half), False, "a < b")
    builder.apply("view", k, view=View(1, (2,), (-1,)))
    body = TapeBuilder(buffers=builder.buffers, next_value=builder.next_value)
    row = body.load(Region(x.id, View(5 * loop_index(0) - 4, (4,), (1,))))
    body.store(Region(t.id, View(loop_index(0), (), ())), body.apply("reduce_sum", row, axes=(0,)))
    builder.emit(Loop(index=0, start=1, step=1, trips=3, body=tuple(body.operations)))
    text = tape_listing(builder.tape((0,), (), frozenset()))
    assert text.splitlines()[2:] == [
        "v0: float64[9] = [0.0, ..., 8.0]",
        "v1: int64[2] = [1, 2]",
        "v2 = 0.5",
        "t#1[...][v1] = v2",
        "t#1[...][v1] += v2",
        "v3: bool = less(v2, v2)",
        "guard v3 == False: a < b",
        "v4: int64[2] = view(v1, view={+1 [2] by [-1]})",
        "for i0 in range(1, 4, 1):",
        "    v5: float64[4] = x[i0 - 1, 1:5]",
        "    v6 = reduce_sum(v5, axes=(0,))",
        "    t#1[i0] = v6",
    ]


def test_the_reverse_sweep_is_marked(tape: Tape) -> None:
    turned = Tape(
        buffers=tape.buffers, arguments=tape.arguments, operations=tape.operations, results=tape.results, turn=2
    )
    assert tape_listing(turned).splitlines()[3] == "# reverse sweep"


def test_no_addresses(tape: Tape) -> None:
    assert not re.search(r"0x[0-9a-f]{4}|<function", tape_listing(tape))


X = np.arange(60).reshape(5, 12)
WHOLE = contiguous(X.shape)


@pytest.mark.parametrize(
    "text", ["2, 3", "2, :", ":, 3", "1:4, 3:9:2", "4:0:-1, :", "::-1, 11::-3", "3, 4:5", "2:3, 4:5"]
)
def test_a_basic_slice_prints_as_one(text: str) -> None:
    shown = eval(f"X[{text}]")
    start = int(shown.reshape(-1)[0])
    view = View(start, shown.shape, tuple(s // X.itemsize for s in shown.strides))
    printed = subscript(view, WHOLE)
    assert printed.startswith("[")
    np.testing.assert_array_equal(eval(f"X{printed}"), shown)


@pytest.mark.parametrize(
    "view", [View(0, (5,), (13,)), View(0, (3, 5), (1, 12)), View(0, (2, 5), (0, 1)), View(0, (0, 2), (0, 0))]
)
def test_what_is_no_basic_slice_prints_as_a_view(view: View) -> None:
    assert subscript(view, WHOLE) == f"{{{view}}}"


def test_subscripts_follow_the_layout_of_the_buffer() -> None:
    columns = View(0, (5, 12), (1, 5))
    assert subscript(View(1, (12,), (5,)), columns) == "[1, :]"
    backwards = View(0, (5,), (-1,))
    assert subscript(View(-1, (3,), (-1,)), backwards) == "[1:4]"
