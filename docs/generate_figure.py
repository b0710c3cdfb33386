"""Write docs/figures/rod.svg, the picture of the README, and heat.svg, what a notebook shows: `make docs`.

The first is the memory plan of the README's own example: what lies where in the workspace, and during which steps.
Above that, which line of the program each step belongs to. The second is the map that the plan of docs/pictures.md
draws of itself.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from html import escape
from pathlib import Path
from runpy import run_path

from planned_ad.pictures.memory_map import memory_picture
from planned_ad.planning.schedule import Memory, MemoryPlan, Nest

ROOT = Path(__file__).parent.parent
TARGET = Path(__file__).parent / "figures" / "rod.svg"
MAP = TARGET.with_name("heat.svg")

WIDTH, LEFT, RIGHT = 720, 350, 12
LINE, TOP = 20, 34  # the height of a line of the program, and where the first is
HEIGHT = 250  # of the memory
KEPT, ARRAY = "kept for the reverse sweep", "an array of the function, read again"
SWEEP, SHADOW = "of the reverse sweep alone", "the derivative of that array"
COLOURS = {
    KEPT: "#d9622b",
    ARRAY: "#3b6fb6",
    SWEEP: "#b9c4d0",
    SHADOW: "#7fb3e6",
}
STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;fill:#24292f"


def example(page: str = "README.md", until: str = "dconductivity =") -> tuple[str, MemoryPlan]:
    """The first program of a page, without what it prints, and the plan of its gradient."""
    program = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "example.py"
        file.write_text(program.partition(until)[0])
        return program, run_path(str(file))["plan"].memory("gradient")


def map_of_notebooks() -> str:
    return memory_picture(example("docs/pictures.md", "profile =")[1]) + "\n"


def meaning(plan: MemoryPlan, memory: Memory, reverse: int) -> str:
    """What a memory is for, of which the reverse sweep begins at step `reverse`."""
    first, last = plan.lifetimes[memory]
    if memory.kind == "slot":
        return KEPT if first < reverse <= last else SWEEP
    label = plan.tape.buffers[memory.id].label
    return ARRAY if first < reverse else SHADOW if label.startswith("d") else SWEEP


def line_of(step: Nest) -> int:
    """The line of the program that most of a step belongs to."""
    return Counter(line.number for line in step.lines).most_common(1)[0][0]


def picture(program: str, plan: MemoryPlan) -> str:
    """The SVG, with nothing in it that depends on where it was made."""
    steps = len(plan.steps)
    reverse = next(k for k, step in enumerate(plan.steps) if step.sweep == "reverse")
    numbers = [line_of(step) for step in plan.steps]
    lines = range(min(numbers), max(numbers) + 1)
    base = TOP + LINE * len(lines) + 34  # where the memory begins
    across = (WIDTH - LEFT - RIGHT) / steps
    down = HEIGHT / plan.workspace_nbytes

    def text(x: float, y: float, words: str, more: str = "") -> str:
        return f'<text x="{x:.0f}" y="{y:.0f}" style="{STYLE}" xml:space="preserve"{more}>{escape(words)}</text>'

    def box(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
        shown = f"<title>{escape(title)}</title>" if title else ""
        return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">{shown}</rect>'

    total = base + HEIGHT + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" role="img"',
        f'width="{WIDTH}" height="{total}">',
        "<title>The workspace of the gradient, over its steps</title>",
        f'<rect width="{WIDTH}" height="{total}" rx="6" fill="#ffffff"/>',
        text(LEFT, 18, "the function"),
        text(LEFT + reverse * across + 4, 18, "the reverse sweep"),
    ]
    source = program.splitlines()
    for k, number in enumerate(lines):
        parts.append(text(12, TOP + LINE * k + 13, f"{number:2d} {source[number - 1].removeprefix('    ')}"))
    for k, number in enumerate(numbers):
        y = TOP + LINE * (number - lines[0])
        parts.append(box(LEFT + k * across, y + 4, across - 1, LINE - 8, "#57606a"))
    parts.append(text(12, base + 14, f"the workspace: {plan.workspace_nbytes} bytes,"))
    parts.append(text(12, base + 32, "fixed when it is compiled"))
    parts.append(box(LEFT, base, WIDTH - LEFT - RIGHT, HEIGHT, "#f3f5f7"))
    kinds = {memory: meaning(plan, memory, reverse) for memory in plan.offsets}
    for memory, offset in plan.offsets.items():
        first, last = plan.lifetimes[memory]
        size, kind = plan.sizes[memory], kinds[memory]
        title = f"{kind}: {size} bytes at {offset}, steps {first} to {last}"
        width = (last - first + 1) * across - 1
        parts.append(box(LEFT + first * across, base + offset * down, width, size * down - 1, COLOURS[kind], title))
    x = LEFT + reverse * across - 0.5
    parts.append(f'<path d="M{x:.1f} 8V{base + HEIGHT}" stroke="#24292f" stroke-dasharray="3 3"/>')
    parts.append(text(LEFT, base + HEIGHT + 16, f"{steps} steps"))
    for k, (kind, colour) in enumerate(COLOURS.items()):
        y = base + 62 + 22 * k
        parts += [box(12, y, 12, 12, colour), text(32, y + 10, kind)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(picture(*example()))
    MAP.write_text(map_of_notebooks())


if __name__ == "__main__":
    sys.exit(main())
