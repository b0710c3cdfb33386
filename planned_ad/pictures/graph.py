"""The dependence graph of a small tape: which operation needs which, by values and through memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..python.source import Line
from ..regions.regions import contains, overlap
from ..tape.listing import beside, name, operation_rows, typed
from ..tape.tape import Constant, Operation, Tape
from .layers import layered
from .markup import BLUE, CODE, PINK, Markup, element, joined_markup, picture

MOST_NODES = 60
BOX, HIGH, GAP, BETWEEN = 190.0, 24.0, 14.0, 34.0  # the width and height of a box, and what is left between boxes
LETTERS = 30  # of its text


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An operation, in the words of the listing; a loop or branch is one, with all that is inside.

    `text`: without the type that `whole` has.
    """

    text: str
    whole: str
    line: Line
    sweep: str


@dataclass(frozen=True, slots=True)
class Arc:
    """That a later operation needs an earlier one: its value, or what it has left in memory."""

    source: int
    target: int
    through_memory: bool


def dependence_graph(tape: Tape) -> tuple[list[GraphNode], list[Arc]]:
    """The operations outside of loops but for constants, and what each needs."""
    numbered = [(k, op) for k, op in enumerate(tape.operations) if not isinstance(op, Constant)]
    operations = [op for _, op in numbered]
    nodes = []
    for position, op in numbered:
        text = next(iter(operation_rows(op, tape.buffers)))[0]
        short = text
        for value in op.outputs:
            short = short.replace(f"{typed(value)} = ", f"{name(value)} = ")
        nodes.append(GraphNode(short, text, op.line, "reverse" if position >= tape.turn else "primal"))
    made = {value.id: k for k, op in enumerate(operations) for value in op.outputs}
    arcs: dict[tuple[int, int], Arc] = {}
    for k, op in enumerate(operations):
        for value in op.inputs:
            if value.id in made:
                arcs.setdefault((made[value.id], k), Arc(made[value.id], k, False))
        for source in writers(operations[:k], op):
            arcs.setdefault((source, k), Arc(source, k, True))
    return nodes, sorted(arcs.values(), key=lambda arc: (arc.target, arc.source))


def writers(before: Sequence[Operation], op: Operation) -> set[int]:
    """The operations that have written what `op` reads, the last ones."""
    found = set()
    for region in op.reads:
        for k in range(len(before) - 1, -1, -1):
            touched = [written for written in before[k].writes if written.buffer == region.buffer]
            if any(overlap(written, region) for written in touched):
                found.add(k)
            if any(contains(written, region) for written in touched) and not before[k].blocks:
                break
    return found


def graph_picture(tape: Tape) -> Markup:
    """The graph as SVG, from the arguments down; a note where it is too large to be drawn."""
    count = sum(not isinstance(op, Constant) for op in tape.operations)
    if count > MOST_NODES:
        return element("p", f"Graphs of at most {MOST_NODES} operations are drawn; this one has {count:,}.")
    nodes, arcs = dependence_graph(tape)
    drawn = layered(len(nodes), [(arc.source, arc.target) for arc in arcs])
    widths = [sum(BOX if n < len(nodes) else GAP for n in layer) + GAP * (len(layer) + 1) for layer in drawn.layers]
    width = max(widths, default=BOX)
    middles: dict[int, tuple[float, float]] = {}
    for row, (layer, own) in enumerate(zip(drawn.layers, widths)):
        x = (width - own) / 2 + GAP
        for n in layer:
            extent = BOX if n < len(nodes) else GAP
            middles[n] = (x + extent / 2, GAP + row * (HIGH + BETWEEN) + HIGH / 2)
            x += extent + GAP
    height = 2 * GAP + len(drawn.layers) * (HIGH + BETWEEN) - BETWEEN
    parts = [arc_shape([middles[n] for n in chain], arc) for chain, arc in zip(drawn.chains, arcs)]
    parts += [node_shape(node, *middles[k]) for k, node in enumerate(nodes)]
    return picture(width, height, *parts, label=f"dependence graph of {len(nodes)} operations")


def node_shape(node: GraphNode, x: float, y: float) -> Markup:
    text = node.text if len(node.text) <= LETTERS else node.text[: LETTERS - 1] + "…"
    title = element("title", f"{node.whole}\n{beside(node.line)}".strip())
    box = element(
        "rect", title, x=x - BOX / 2, y=y - HIGH / 2, width=BOX,
        height=HIGH, rx=4, fill=PINK if node.sweep == "reverse" else BLUE, fill_opacity="0.75",
    )  # fmt: skip
    inside = element(
        "text", text, x=x, y=y + 3.5, font_size=10, font_family=CODE, text_anchor="middle", fill="#000",
        pointer_events="none",
    )  # fmt: skip
    return joined_markup([box, inside])


def arc_shape(points: Sequence[tuple[float, float]], arc: Arc) -> Markup:
    """A curve down through the points; dashed where what is needed lies in memory."""
    (x, y), *rest = points
    path = f"M {x:.1f} {y + HIGH / 2:.1f}"
    y += HIGH / 2
    for position, (to_x, middle) in enumerate(rest):
        to_y = middle - HIGH / 2
        bend = (to_y - y) / 2
        path += f" C {x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
        if position < len(rest) - 1:  # straight on beside the boxes of this layer
            y += HIGH
            path += f" L {x:.1f} {y:.1f}"
    return element(
        "path", d=path, fill="none", stroke="currentColor", stroke_opacity="0.6",
        stroke_dasharray="4 3" if arc.through_memory else None,
    )  # fmt: skip
