"""Loops that are left by `break` or `return` on a traced test, recorded once: they run until a flag says otherwise.

`exit_syntax` has written such a loop so that its exits come here. While the loop is recorded, one that is met on a side
of a branch stores that the loop does not go on, and what it returns; the side then goes on with the next iteration, as
after a `continue`, so that the recording of the body ends the same on both sides. Where the loop is not recorded as
one, its exits leave it as they do in Python.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.exit_syntax import RETURN
from ...python.frames import user_frame
from ...python.statements import extent_after
from ...python.written_calls import exits
from ...regions.regions import contiguous
from ...tape.tape import Branch, Buffer, Load, Operation
from ..lengths.run_time_arrays import RunTimeArray
from ..record.aliases import NONE, Copy, Names
from .choices import taken_up
from .form import HandedOn, place_for
from .forms import Items, Nothing, Unchanged, joined
from .held import is_made_of_attributes, objects_held
from .iteration import LoopIterator, Sequence
from .list_in_trace import is_traced_list

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from .recorded_loop import RecordedLoop

ENDS = "end"  # how a `while` statement is left whose test is false
STEPS = object()
TRUTH = np.dtype(bool)


@dataclass
class Exits:
    """What one run of a loop statement knows of the ways in which it is left."""

    recorder: Recorder
    line: int  # of the statement
    items: Any  # what it runs over; STEPS for a `while` statement
    loop: RecordedLoop | None = None  # the recording of it
    flag: Buffer | None = None  # whether it goes on
    ways: dict[str, Buffer] = field(default_factory=dict)  # whether it was left so
    form: HandedOn | None = None  # in which what it returns lies in memory
    names: Names = NONE  # the memories for which that may stand
    ended: bool = False  # whether the test of a `while` statement that is not recorded as one loop was false

    def __iter__(self) -> Iterator[Any]:
        if self.items is STEPS:
            return Steps(Sequence(self.recorder, self.recorder.max_steps, lambda k: k), exits=self)
        iterator, self.items = iter(self.items), None  # a generator is closed as soon as its loop is left
        if type(iterator) is LoopIterator:
            iterator.exits = self
        return iterator

    @property
    def is_recorded(self) -> bool:
        """Whether the loop is being recorded, and what runs now is on a side of a branch in it."""
        loop = self.loop
        return loop is not None and loop.scope in self.recorder.scopes.open and self.recorder.scopes.loop is loop

    # Before the loop.

    def begin(self, loop: RecordedLoop) -> None:
        """The recording of the loop begins."""
        self.loop = loop
        loop.counts_iterations = False
        self.flag = self.memory("goes on")
        loop.joiner.initial.append((self.flag, True))
        loop.prepare()

    def memory(self, name: str, dtype: np.dtype = TRUTH, shape: tuple[int, ...] = ()) -> Buffer:
        """Memory for a truth, or for something else."""
        assert self.loop is not None
        with self.recorder.scopes.beside(self.loop.apart):
            return self.recorder.builder.new_buffer("local", name, dtype, contiguous(shape))

    # In its body.

    def leaves(self, way: str, value: Any = None) -> bool:
        """The program is about to leave the loop: whether it is to do so."""
        loop, builder = self.loop, self.recorder.builder
        if not self.is_recorded or not (loop.branches.active or way == ENDS):  # type: ignore[union-attr]
            return True
        assert self.flag is not None
        self.recorder.mark()
        if way == RETURN:
            self.put(value)
        if way not in self.ways:
            self.ways[way] = self.memory(way)
            loop.joiner.initial.append((self.ways[way], False))  # type: ignore[union-attr]
            loop.branches.restate()  # type: ignore[union-attr]
        builder.store(self.ways[way].whole, builder.constant(True))
        builder.store(self.flag.whole, builder.constant(False))
        return False

    def ends(self) -> None:
        """The test of a `while` statement is false."""
        self.ended = self.leaves(ENDS)

    def put(self, value: Any) -> None:
        """Leave in memory what the loop returns."""
        assert self.loop is not None
        if not all(id(found) in self.loop.origin.contents for found in objects_held(value)):
            raise self.loop.unrolled("returns an object that it has made")
        form = self.element_form(value) if self.form is None else joined(self.form, Unchanged(value))
        self.names |= self.recorder.copies.names_in(value)
        if form is None or any(isinstance(leaf, Nothing) for leaf in form.leaves()):
            raise self.loop.unrolled("returns different kinds of things")
        if form is not self.form:
            if self.form is not None:
                self.loop.branches.restate()
            self.form = form.placed(lambda dtype, shape: self.memory("result", dtype, shape))
        for buffer, left in self.form.leave(self.recorder, value, self.loop.index):
            self.recorder.builder.store(place_for(buffer, left), left)

    def element_form(self, value: Any) -> HandedOn | None:
        """The form of the first thing that is returned; another may have other numbers and arrays in it."""
        form = None if is_made_of_attributes(type(value)) else Unchanged(value).opened()
        if isinstance(form, Items):
            return form.of([self.element_form(item.value) for item in form.items])  # type: ignore[attr-defined]
        return form or (None if isinstance(value, RunTimeArray) or is_traced_list(value) else Unchanged(value))

    def steps(self, body: tuple[Operation, ...], line: Any) -> tuple[Operation, ...]:
        """The body of a loop that runs while the flag holds."""
        assert self.flag is not None
        goes_on = self.recorder.builder.new_value((), TRUTH)
        return (
            Load(out=goes_on, region=self.flag.whole, line=line),
            Branch(predicate=goes_on, then=body, otherwise=(), line=line),
        )

    def close(self) -> None:
        """The loop has been recorded."""
        if self.items is not STEPS:
            return
        assert self.flag is not None
        builder = self.recorder.builder
        ended = builder.apply("logical_not", builder.load(self.flag.whole))
        self.recorder.scopes.require_after(ended, "max_steps")

    # After the loop.

    def left(self, way: str) -> bool:
        """Whether the loop was left in this way."""
        if way not in self.ways:
            return False
        if self.items is STEPS and self.ways.keys() == {way} and not self.ended:  # `while True`, which `close` has left
            return True
        recorder = self.recorder
        recorder.mark()
        frame = user_frame(sys._getframe(1))
        assert frame is not None and self.line is not None
        was_left = recorder.builder.load(self.ways[way].whole)
        if not recorder.scopes.depth:
            return bool(recorder.outcome(was_left, "branch"))
        return bool(recorder.scopes.loop.branches.test(was_left, extent_after(frame, self.line, way == RETURN)))

    def result(self) -> Any:
        """What the loop returns."""
        assert self.loop is not None
        copy = Copy(self.names, NONE, self.loop.copies.refused)
        return taken_up(self.recorder, self.form, self.loop.index, "result", copy, shared=True)  # type: ignore[arg-type]


class Steps(LoopIterator):
    """The iterations of a `while` statement: as many as there is memory for, or until its test is false."""

    def decide(self, frame: types.FrameType, is_asked: bool) -> None:
        super().decide(frame, is_asked)
        if self.begin < 0:
            self.sequence.length = sys.maxsize

    def fetch(self, frame: types.FrameType, is_asked: bool) -> Any:
        if self.loop is None and self.exits.ended:
            raise StopIteration
        return super().fetch(frame, is_asked)


def exit_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what loops run over whose exits are followed; see `exit_syntax`."""

    def follow(line: int, items: Any = STEPS) -> Exits:
        return Exits(recorder, line, items)

    return {id(exits): follow}
