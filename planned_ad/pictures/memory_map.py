"""The memory map: each place in the workspace, from the step that first uses it to the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..planning.schedule import Cached, LoopStep, Memory, MemoryPlan
from ..planning.schedule_listing import memory_name, slot_names
from .markup import BLUE, GREEN, ORANGE, Markup, element, joined_markup, picture, words
from .schedule_rows import beside_lines, schedule_rows
from .units import bytes_text

MOST_BLOCKS = 400  # that are drawn: the largest
COLOURS = {
    "cached": (ORANGE, "kept for the reverse sweep"),
    "value": (BLUE, "between steps"),
    "array": (GREEN, "the program's own"),
}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720.0, 266.0, 64.0, 52.0, 34.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBlock:
    """A place in the workspace, and from which step to which it is taken.

    Attributes
    ----------
    name : str
        As in the listing.
    kind : str
        'cached' (from the primal for the reverse sweep), 'value' (what one step hands to others), or 'array' (one that
        the program makes and writes to).
    offset, nbytes, first, last : int
    about : str
        Why it is kept, or which line it comes from.
    """

    name: str
    kind: str
    offset: int
    nbytes: int
    first: int
    last: int
    about: str


def memory_blocks(plan: MemoryPlan) -> list[MapBlock]:
    """All places, by the step that they begin at."""
    names, rows = slot_names(plan), schedule_rows(plan)
    kept: dict[Memory, Cached] = {
        Memory("slot", c.value.id) if c.value.id >= 0 else Memory("buffer", -1 - c.value.id): c for c in plan.cached
    }
    found = []
    for memory, offset in plan.offsets.items():
        first, last = plan.lifetimes[memory]
        cached = kept.get(memory)
        if cached is None:
            about = "; ".join(beside_lines(rows[first].lines)[:1])
        else:
            about = f"cached: {cached.reason}   line {cached.line}: {cached.source}"
        kind = "cached" if cached is not None else "value" if memory.kind == "slot" else "array"
        name, nbytes = memory_name(plan, names, memory), plan.sizes[memory]
        block = MapBlock(name=name, kind=kind, offset=offset, nbytes=nbytes, first=first, last=last, about=about)
        found.append(block)
    return sorted(found, key=lambda b: (b.first, b.offset, b.last))


def reverse_begins(plan: MemoryPlan) -> int | None:
    """The first step outside of loops from which on all belong to the reverse sweep."""
    rows = [row for row in schedule_rows(plan) if row.depth == 0]
    forward = [k for k, row in enumerate(rows) if row.sweep != "reverse"]
    later = rows[forward[-1] + 1 :] if forward else rows
    return later[0].number if later and forward else None


def loop_spans(plan: MemoryPlan) -> list[tuple[int, int]]:
    """Of the loops that are in no other: the loop itself, as a step, and the last step inside of it."""
    found: list[tuple[int, int]] = []
    is_inside = False
    for row in schedule_rows(plan):
        if row.depth == 0:
            is_inside = isinstance(row.step, LoopStep)
            if is_inside:
                found.append((row.number, row.number))
        elif is_inside:
            found[-1] = found[-1][0], row.number
    return found


def memory_picture(plan: MemoryPlan) -> Markup:
    """The map as SVG: steps from left to right, the workspace from its first byte upwards."""
    blocks = memory_blocks(plan)
    if not plan.workspace_nbytes:
        return element("p", "The workspace is empty: what steps hand to one another stays in registers.")
    steps = len(schedule_rows(plan))
    across, up = (WIDTH - LEFT - 8) / steps, (HEIGHT - TOP - BOTTOM) / plan.workspace_nbytes
    floor = HEIGHT - BOTTOM

    drawn = sorted(sorted(blocks, key=lambda b: -b.nbytes)[:MOST_BLOCKS], key=lambda b: (b.first, b.offset))
    parts = [frame(floor)]
    spans = spans_of(blocks)
    parts += [block_shape(b, LEFT + spans[b][0] * across, floor, spans[b][1] * across, up) for b in drawn]
    turn = reverse_begins(plan)
    if turn is not None:
        x = LEFT + turn * across
        parts.append(element("line", x1=x, x2=x, y1=TOP - 28, y2=floor, stroke="currentColor", stroke_dasharray="4 3"))
        parts.append(words(x + 4, TOP - 20, "reverse sweep", 10.0))
    parts += [bracket(LEFT + first * across, LEFT + (last + 1) * across) for first, last in loop_spans(plan)]
    parts += axes_of_map(steps, across, floor, plan.workspace_nbytes)
    parts += legend([kind for kind in COLOURS if any(b.kind == kind for b in drawn)])
    shown = picture(WIDTH, HEIGHT, *parts, label=f"memory map of {len(blocks)} places")
    if len(drawn) < len(blocks):
        return joined_markup([shown, element("p", f"The {len(drawn)} largest of {len(blocks)} places.")])
    return shown


def bracket(start: float, stop: float) -> Markup:
    """Above the map, what a loop takes of it."""
    path = f"M {start + 2:.1f} {TOP - 2} v -5 H {stop - 2:.1f} v 5"
    line = element("path", d=path, fill="none", stroke="currentColor", stroke_opacity="0.6")
    return joined_markup([line, words((start + stop) / 2, TOP - 9, "loop", 10.0, text_anchor="middle")])


def spans_of(blocks: Sequence[MapBlock]) -> dict[MapBlock, tuple[float, float]]:
    """Where each begins, and how long it is, in steps; one that takes the place of another in a step halves it."""
    born = {(block.offset, block.first) for block in blocks}
    died = {(block.offset, block.last) for block in blocks if block.first < block.last}
    found = {}
    for block in blocks:
        begin, end = float(block.first), block.last + 1.0
        if block.first < block.last and (block.offset, block.last) in born:
            end -= 0.5
        if (block.offset, block.first) in died:
            begin += 0.5
        found[block] = begin, end - begin
    return found


def frame(floor: float) -> Markup:
    return element(
        "rect", x=LEFT, y=TOP, width=WIDTH - LEFT - 8, height=floor - TOP, fill="none", stroke="currentColor",
        stroke_opacity="0.4",
    )  # fmt: skip


def block_shape(block: MapBlock, x: float, floor: float, width: float, up: float) -> Markup:
    """A rectangle, with what it is where the pointer rests on it, and its name where there is room."""
    width = max(width, 1.0)
    height = max(block.nbytes * up, 1.0)
    y = floor - block.offset * up - height
    where = f"{bytes_text(block.nbytes)} at {block.offset}, steps {block.first} to {block.last}"
    about = f"{block.name}: {where}\n{block.about}"
    shape = element(
        "rect", element("title", about.strip()), x=x, y=y, width=width, height=height,
        fill=COLOURS[block.kind][0], fill_opacity="0.75", stroke="currentColor", stroke_width="0.5",
    )  # fmt: skip
    if height < 12 or width < 7 * len(block.name):
        return shape
    name = element(
        "text", block.name, x=x + width / 2, y=y + height / 2 + 4, font_size="11", text_anchor="middle", fill="#000",
        pointer_events="none",
    )  # fmt: skip
    return joined_markup([shape, name])


def axes_of_map(steps: int, across: float, floor: float, nbytes: int) -> list[Markup]:
    every = max(1, -(-steps // 12))
    found = [
        words(LEFT + (number + 0.5) * across, floor + 14, str(number), 10.0, text_anchor="middle")
        for number in range(0, steps, every)
    ]
    found.append(words(LEFT + steps * across / 2, floor + 28, "step of the schedule", text_anchor="middle"))
    for y, text in ((floor, "0 B"), (TOP + 9, bytes_text(nbytes))):
        found.append(words(LEFT - 5, y, text, 10.0, text_anchor="end"))
    return found


def legend(kinds: Sequence[str]) -> list[Markup]:
    found, x = [], LEFT
    for kind in kinds:
        colour, text = COLOURS[kind]
        found.append(element("rect", x=x, y=6, width=10, height=10, fill=colour, fill_opacity="0.75"))
        found.append(words(x + 14, 15, text))
        x += 30 + 6.2 * len(text)
    return found
