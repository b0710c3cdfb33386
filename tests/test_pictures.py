"""What a plan shows of itself: the pictures are taken apart again and compared with the plan."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import planned_ad
from planned_ad import errors
from planned_ad.pictures.graph import dependence_graph, graph_picture
from planned_ad.pictures.layers import layered
from planned_ad.pictures.measurement import timed_entry
from planned_ad.pictures.memory_map import LEFT, WIDTH, loop_spans, memory_blocks, memory_picture, reverse_begins
from planned_ad.pictures.schedule_rows import schedule_rows
from planned_ad.planning.schedule import walk_steps

SVG = "{http://www.w3.org/2000/svg}"


def mixture(w, x):
    z = (x[:, None] - w) ** 2
    return -np.sum(np.log(np.sum(np.exp(-z), axis=1)))


def sweeps(u, k):
    for _ in range(40):
        u[1:-1] += k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[:] = np.tanh(u)
    return np.sum(u**2)


@pytest.fixture(scope="module")
def mixture_plan():
    return planned_ad.compile(mixture, (np.linspace(0, 1, 3), np.linspace(-1, 2, 70)), check=False)


@pytest.fixture(scope="module")
def sweeps_plan():
    return planned_ad.compile(sweeps, (np.linspace(0, 1, 50), np.linspace(0, 0.1, 50)), check=False)


class Tags(HTMLParser):
    """The names and attributes of all elements; every one that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_of_a_plan(sweeps_plan) -> None:
    page = sweeps_plan._repr_html_()
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    names = [name for name, _ in tags.found]
    assert names.count("svg") == 2 and names.count("details") == 3
    assert not {"script", "link", "img", "iframe", "object", "style"} & set(names)
    elsewhere = {"src", "href", "xlink:href", "onclick", "onload"}
    assert not any(elsewhere & set(attributes) for _, attributes in tags.found)
    assert "url(" not in page
    for kept in sweeps_plan.explain().cached:
        assert f"test_pictures.py:{kept.line}" in page
    assert "u[:] = np.tanh(u)" in page and "u[1:-1] += k[1:-1]" in page


def test_a_page_escapes_the_program() -> None:
    plan = planned_ad.compile(lambda x: np.sum(np.where(x < 1.0, np.exp(x), x)), np.zeros(3), check=False)
    page = plan._repr_html_()
    assert "x &lt; 1.0" in page and "x < 1.0" not in page


def test_the_map_has_each_place_for_its_lifetime(mixture_plan) -> None:
    memory = mixture_plan.memory()
    drawing = ElementTree.fromstring(memory_picture(memory))
    shapes = {}
    for shape in drawing.iter(f"{SVG}rect"):
        title = shape.find(f"{SVG}title")
        if title is not None:
            shapes[title.text.split(":")[0]] = {key: float(shape.get(key)) for key in ("x", "y", "width", "height")}
    blocks = memory_blocks(memory)
    assert len(blocks) == len(memory.offsets) == len(shapes) >= 3
    step = (WIDTH - LEFT - 8) / sum(1 for _ in walk_steps(memory.steps))
    tallest = max(blocks, key=lambda block: block.nbytes)
    for block in blocks:
        shape = shapes[block.name]
        begins, stops = (shape["x"] - LEFT) / step, (shape["x"] + shape["width"] - LEFT) / step
        assert block.first - 0.01 <= begins <= block.first + 0.51  # half a step where it takes the place of another
        assert block.last + 0.49 <= stops <= block.last + 1.01
        ratio = shapes[tallest.name]["height"] / tallest.nbytes
        assert shape["height"] == pytest.approx(max(block.nbytes * ratio, 1.0), abs=0.02)
    large = [shapes[block.name] for block in blocks if shapes[block.name]["height"] > 1.0]
    for number, a in enumerate(large):
        for b in large[:number]:
            apart = (
                a["x"] + a["width"] <= b["x"] + 0.02 or b["x"] + b["width"] <= a["x"] + 0.02
                or a["y"] + a["height"] <= b["y"] + 0.02 or b["y"] + b["height"] <= a["y"] + 0.02
            )  # fmt: skip
            assert apart, "two places are drawn on one another"


def test_what_is_cached_is_told_apart(sweeps_plan) -> None:
    memory = sweeps_plan.memory()
    cached = [block for block in memory_blocks(memory) if block.kind == "cached"]
    assert sum(block.nbytes for block in cached) == memory.cached_nbytes > 0
    assert all("cached: " in block.about for block in cached)
    turn = reverse_begins(memory)
    rows = schedule_rows(memory)
    assert turn is not None and all(row.sweep == "reverse" for row in rows[turn:] if row.depth == 0)
    assert all(block.first < turn <= block.last for block in cached)
    loops = [(row.number, row.number + len(row.step.steps)) for row in rows if row.has_steps]
    assert loop_spans(memory) == loops and len(loops) == 2
    assert memory_picture(memory).count(">loop<") == 2


def test_an_empty_workspace_says_so() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), np.zeros(3), check=False)
    assert "workspace is empty" in memory_picture(plan.memory())


def test_rows_are_those_of_the_listing(sweeps_plan) -> None:
    memory = sweeps_plan.memory()
    rows = schedule_rows(memory)
    numbers = [int(n) for n in re.findall(r"# step (\d+)", sweeps_plan.listing())]
    assert [row.number for row in rows] == numbers == list(range(len(rows)))
    assert [row.step for row in rows] == list(walk_steps(memory.steps))
    assert {row.runs for row in rows if row.depth} == {40}
    first = rows[1]
    assert {line.text for line in first.lines} <= {
        "u[1:-1] += k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])", "u[:] = np.tanh(u)"
    }  # fmt: skip


def test_bytes_that_a_step_moves() -> None:
    def f(x, y):
        y[...] = x * x + x[::-1]

    plan = planned_ad.compile(f, (np.zeros(10), np.zeros(10)), check=False)
    (row,) = schedule_rows(plan.memory("call"))
    assert row.nbytes == 3 * 80  # x forwards, x backwards, y; x once although it is used twice
    assert row.operations == 20


def test_the_graph_of_a_tape() -> None:
    def f(x):
        y = np.exp(x)
        x[0] = 2.0
        return np.sum(y * x)

    plan = planned_ad.compile(f, np.zeros(4), check=False)
    nodes, arcs = dependence_graph(plan.memory("call").tape)
    texts = [re.sub(r"v\d+", "v", node.text) for node in nodes]
    found = {(texts[arc.source], texts[arc.target], arc.through_memory) for arc in arcs}
    assert ("x[0] = v", "v = x[...]", True) in found  # the sum reads what has been written
    assert ("v = x[...]", "v = exp(v)", False) in found
    drawing = ElementTree.fromstring(graph_picture(plan.memory("call").tape))
    assert len(list(drawing.iter(f"{SVG}rect"))) == len(nodes)
    assert len(list(drawing.iter(f"{SVG}path"))) == len(arcs)


def unlike(x):
    """No statement is like another one."""
    total = x[0]
    for k in range(1, 40):
        total = (np.sin, np.cos, np.tanh, np.exp, np.cosh)[k * k % 5](total) * x[k * k % 40]
    return total


def test_large_graphs_are_not_drawn() -> None:
    plan = planned_ad.compile(unlike, np.ones(40), unroll=50)
    assert "operations are drawn; this one has" in graph_picture(plan.memory().tape)


def test_arcs_go_down_one_layer_at_a_time() -> None:
    random = np.random.default_rng(0)
    arcs = sorted({tuple(sorted(pair)) for pair in random.integers(0, 30, (60, 2)).tolist() if pair[0] != pair[1]})
    drawn = layered(30, arcs)
    layer_of = {node: k for k, layer in enumerate(drawn.layers) for node in layer}
    assert [(chain[0], chain[-1]) for chain in drawn.chains] == arcs
    assert all(layer_of[b] == layer_of[a] + 1 for chain in drawn.chains for a, b in pairwise(chain))
    nodes = [node for layer in drawn.layers for node in layer]
    assert len(nodes) == len(set(nodes)) == 30 + sum(len(chain) - 2 for chain in drawn.chains)


def test_a_profile_finds_the_step_that_takes_long() -> None:
    def f(x, y):
        dear = np.sum(np.tanh(np.exp(np.sin(y))))
        return dear + np.sum(np.sort(x))

    x, y = np.linspace(0, 1, 5), np.linspace(0, 1, 40_000)
    plan = planned_ad.compile(f, (x, y), check=False)
    profile = plan.profile(x, y, seconds=0.05)
    longest = max(profile.steps, key=lambda step: step.seconds)
    assert any("np.tanh" in line.text for line in longest.row.lines)
    assert profile.share(longest) > 0.5
    assert profile.calls >= 5
    assert 0 < profile.steps_seconds < 10 * profile.seconds
    assert 0 < profile.reading_seconds < 1e-5
    text = str(profile)
    assert "np.tanh(np.exp(np.sin(y)))" in text and f"{longest.row.number} {longest.row.what}" in text
    tags = Tags()
    tags.feed(profile._repr_html_())
    assert not tags.open and sum(name == "tr" for name, _ in tags.found) == 1 + len(profile.steps)


def test_timed_steps_are_the_same_code() -> None:
    """As fast as without clocks: vectors that do not fit in registers lie on an aligned stack."""
    plan = planned_ad.compile(lambda x: np.sum(np.tanh(np.exp(np.sin(x)))), np.zeros(64), check=False)
    code = timed_entry(plan._variants[0].entry("gradient"), False).entry.call.llvm()
    (number,) = re.findall(r"^define .*gradient\.timed\.kernel.* #(\d+) \{", code, re.MULTILINE)
    assert re.search(rf"^attributes #{number} = .*alignstack=64", code, re.MULTILINE)


def test_a_profile_of_loops(sweeps_plan) -> None:
    u, k = np.linspace(0, 1, 50), np.linspace(0, 0.1, 50)
    before = u.copy()
    profile = sweeps_plan.profile(u, k, kind="value_and_gradient", seconds=0.05)
    assert np.array_equal(u, before)  # measured on copies
    assert profile.kind == "value_and_gradient"
    inside: dict[int, float] = {}
    for step in profile.steps:
        if step.row.depth == 0:
            around = step
        else:
            assert step.runs == 40
            inside[around.row.number] = inside.get(around.row.number, 0.0) + step.seconds
    loops = {step.row.number: step.seconds for step in profile.steps if step.row.has_steps}
    assert len(loops) == 2 and inside == pytest.approx(loops)


def test_a_profile_of_the_branch_that_is_taken() -> None:
    def f(x):
        return np.sum(np.exp(x)) if x[0] > 0 else np.sum(x**2) * 3.0

    plan = planned_ad.compile(f, np.ones(4), check=False)
    profile = plan.profile(-np.ones(4), seconds=0.01)
    assert any("guard" in step.row.what for step in profile.steps)
    assert np.array_equal(plan.gradient(-np.ones(4)), -6 * np.ones(4))
    with pytest.raises(errors.ShapeError):
        plan.profile(np.ones(5))
    with pytest.raises(errors.ArgumentError, match="halves"):
        plan.profile(np.ones(4), kind="forward")


def test_a_derived_call_has_a_profile(mixture_plan) -> None:
    w, x = np.linspace(0, 1, 3), np.linspace(-1, 2, 70)
    profile = mixture_plan.profile(w, x, w, x, kind="hvp", seconds=0.01)
    assert profile.steps_seconds > 0


def test_figures(mixture_plan) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    memory = mixture_plan.memory()
    axes = mixture_plan.plot_memory()
    assert len(axes.patches) == len(memory.offsets)
    assert {(p.get_y(), p.get_height()) for p in axes.patches} == {
        (memory.offsets[m], memory.sizes[m]) for m in memory.offsets
    }
    _, own = pyplot.subplots()
    assert mixture_plan.plot_schedule(ax=own) is own
    assert len(own.patches) == len(schedule_rows(memory))
    profile = mixture_plan.profile(np.linspace(0, 1, 3), np.linspace(-1, 2, 70), seconds=0.01)
    bars = profile.plot().patches
    assert [bar.get_width() for bar in bars] == pytest.approx([1e6 * step.seconds for step in profile.steps])
    pyplot.close("all")


def test_without_matplotlib(mixture_plan, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"planned_ad\[pictures\]"):
        mixture_plan.plot_memory()
