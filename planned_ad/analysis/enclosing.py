"""What the loops around an operation mean for it: which indices it depends on, how far its regions reach."""

from __future__ import annotations

from collections.abc import Sequence

from ..regions.affine import Affine, Extent, Ragged, exact
from ..regions.bounds import Iterations
from ..regions.regions import Region, View, ends, is_fixed, limits
from ..tape.tape import Apply, Buffer, IndexValue, Loop, Operation, over


def certainly_runs(loop: Loop) -> bool:
    """Whether there is a first iteration whatever the enclosing indices and the run-time count are."""
    return loop.count is None and not isinstance(loop.trips, Ragged) and loop.trips > 0


def never_runs(op: Operation) -> bool:
    """Whether `op` is a loop without iterations."""
    return isinstance(op, Loop) and not isinstance(op.trips, Ragged) and op.trips <= 0


def indices_of(op: Operation) -> set[int]:
    """The loop indices that `op` depends on by itself: in a region, a view, a shape, a number. Not inside blocks."""
    expressions: list[Extent] = []
    for value in op.outputs:
        expressions += map(exact, value.shape)
    if isinstance(op, IndexValue):
        expressions.append(op.expression)
    if isinstance(op, Loop):
        expressions += (op.start, exact(op.trips))
    elif not op.blocks:
        views = [region.view for region in (*op.reads, *op.writes)]
        if isinstance(op, Apply):
            views += [p for _, p in op.parameters if isinstance(p, View)]
        for view in views:
            expressions += (view.offset, *map(exact, view.shape))
    return {index for e in expressions if isinstance(e, Affine) for index, _ in e.terms}


def spread(region: Region, loops: Sequence[Loop]) -> Region:
    """What `region` touches at most, over all iterations of the loops around it (outermost first)."""
    for loop in reversed(loops):
        region = over(region, loop)
    return region


def estimate(region: Region, loops: Sequence[Loop], buffer: Buffer) -> Region:
    """What `region` touches at most, as elements of `buffer` that no loop moves: all, where nothing is known."""
    over_all = spread(region, loops)
    view = over_all.view
    if is_fixed(view) and view.size and min(view.shape, default=1) > 0:
        low, high = limits(view)
        if buffer.low <= low and high < buffer.low + buffer.span:
            return over_all
    return Region(buffer.id, View(buffer.low, (buffer.span,), (1,)))


def inside(around: Iterations, loop: Loop) -> Iterations:
    """The iterations of the body of `loop`, itself run in the iterations `around`."""
    return around.inside(loop.index, *loop.range, exact(loop.trips))


def stays_inside(buffer: Buffer, view: View, around: Iterations) -> bool:
    """Whether `view` addresses only elements of the buffer's stretch of memory, in the iterations `around`."""
    return is_within(buffer.low, buffer.span, view, around)


def is_within(start: int, span: int, view: View, around: Iterations) -> bool:
    """Whether `view` addresses only `span` elements from `start` on, in the iterations `around`."""
    low, high = ends(view)
    around = around.where(*map(exact, view.shape))
    least, most = around.bounds(low), around.bounds(high)
    if least is None or most is None or not view.size:
        return True
    return start <= least[0] and most[1] < start + span
