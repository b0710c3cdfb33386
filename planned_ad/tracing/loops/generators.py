"""Loops over generators: each iteration of a loop in a generator goes on in the code that takes its items.

    def squares(x):                     for q in squares(x):
        for v in x:                         total = total + q
            yield v * v

One iteration of the loop on the left runs the body of that on the right, once for each `yield` that it comes to. What
an iteration may change are the variables of both functions, and where a generator takes the items of another, of all
of them. That is so only where a `for` statement takes the items itself: what counts them in between, as the iterators
of other libraries do, or `next` in the body, moves on by one iteration while the trace records all of them.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...python.exit_syntax import name_of
from ...python.instructions import instructions_of
from ...python.shadows import ShadowClass, is_user_frame
from ...python.statements import GENERATOR
from .hidden_state import generators_in, iterator_over

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MOST_TAKERS = 16  # one after the other; more is a recursion
OF_STATEMENT = 3  # references: the statement's, the one that we have, and the one that asks


@dataclass(frozen=True)
class Running:
    """A generator that a loop runs in: the variables that its own statement assigns, and the generator itself."""

    targets: tuple[str, ...]
    generator: weakref.ref[types.GeneratorType]

    @property
    def is_live(self) -> bool:
        """Whether it may go on: where it is closed, nothing is in its frame."""
        found = self.generator()
        return found is not None and found.gi_frame is not None


Taker = tuple[types.FrameType, int]  # the code that takes the items, and the instruction by which it does


def generator_of(items: Any) -> types.GeneratorType | None:
    """The generator of traced code that gives these items, where it has not ended; None where something else does."""
    method = getattr(type(items), "__iter__", None) if isinstance(type(items), ShadowClass) else None
    if type(method) is types.FunctionType and method.__code__.co_flags & GENERATOR:
        items = iter(items)
    if type(items) is not types.GeneratorType or items.gi_frame is None:
        return None
    return items if is_user_frame(items.gi_frame) else None


def is_delegating(frame: types.FrameType) -> bool:
    """Whether a generator is at `yield from`."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "SEND"


def is_asked_for_more(frame: types.FrameType) -> bool:
    """Whether a generator that is resumed is asked for an item, by a statement: it may be about to be closed."""
    outer = frame.f_back
    if outer is None or not is_user_frame(outer):
        return False
    return is_delegating(outer) or dis.opname[outer.f_code.co_code[outer.f_lasti]] == "FOR_ITER"


def open_generators(generators: Mapping[types.FrameType, Running]) -> list[types.FrameType]:
    """The frames of those that may go on."""
    return [frame for frame, running in generators.items() if running.is_live]


def takers_of(
    frame: types.FrameType, recorder: Recorder, is_statement: Callable[[types.FrameType], bool]
) -> tuple[Taker, ...] | None:
    """Who takes the items of the generator that runs in `frame`, from it outwards; None where somebody else does.

    Empty where the code in `frame` is no generator, or one of those whose items this package takes.
    """
    found: list[Taker] = []
    while frame.f_code.co_flags & GENERATOR and frame not in recorder.consumers:
        outer = frame.f_back
        if outer is None or not is_user_frame(outer) or not (is_statement(outer) or is_delegating(outer)):
            return None
        if len(found) == MOST_TAKERS:
            return None
        if not any(known[:2] == (frame, outer) for known in recorder.taken_directly):
            generators = generators_in(frame)
            if not generators or iterator_over(frame):
                return None
            recorder.taken_directly.append((frame, outer, weakref.ref(generators[0])))
        found.append((outer, outer.f_lasti))
        frame = outer
    return tuple(found)


def exits_of(frame: types.FrameType, takers: tuple[Taker, ...]) -> Any:
    """The exits of the statement that takes the items of the generator in `frame`, where those are followed.

    None where the generators go on after an item is taken, or may be asked for more: they would not be at their end.
    """
    exits = takers[-1][0].f_locals.get(name_of(takers[-1][0].f_lineno))
    inside = ((frame, frame.f_lasti), *takers[:-1])
    if exits is None or not all(yields_last(f.f_code, instruction) for f, instruction in inside):
        return None
    return None if any(is_held(f) for f, _ in inside) else exits


def is_held(frame: types.FrameType) -> bool:
    """Whether there is another reference to the generator in `frame` than that of the statement that runs over it."""
    found = generators_in(frame)
    return not found or any(sys.getrefcount(found[k]) > OF_STATEMENT for k in range(len(found)))


@functools.lru_cache(maxsize=256)
def yields_last(code: types.CodeType, instruction: int) -> bool:
    """Whether each iteration of this `for` statement ends after its `yield`, and with the last one the generator."""
    instructions = instructions_of(code)
    place = {part.offset: k for k, part in reversed(list(enumerate(instructions)))}

    def leads_to(k: int, *names: str) -> dis.Instruction:
        """The first instruction from here on that does something else than these do, and to jump."""
        while True:
            part = instructions[k]
            if part.opname.startswith("JUMP_"):
                k = place[part.argval]
            elif part.opname in names:
                k += 1
            else:
                return part

    statement = instructions[place[instruction]]
    if statement.opname != "FOR_ITER":
        return False
    after = leads_to(place[statement.argval], "END_FOR", "POP_TOP", "POP_ITER", "LOAD_CONST")
    yields = [k for k, part in enumerate(instructions) if part.opname == "YIELD_VALUE" and part.offset > instruction]
    rests = (leads_to(k + 1, "RESUME", "POP_TOP") for k in yields)
    return after.opname.startswith("RETURN_") and all(rest is statement for rest in rests)
