"""What a call takes: for each parameter its role, its name, and where in memory each of its leaves goes.

Built once for each compiled call, and read by whatever makes, checks, runs or describes it: the machine code and its
slow path, the calls from compiled code and from C, signatures and messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..python.complex_parts import ComplexArray
from ..python.structure import Leaf, Structure, paths
from ..tape.tape import Buffer, Tape
from ..trace import ArgumentLeaf, Trace
from .kinds import ARGUMENT, COTANGENT, RESULT, TAPE, CallKind, Role

TAPE_BUFFER = -1  # the id, among those of buffers, of the memory of a split plan's tape, which holds several of them
LEAF = Structure(kind=Leaf)
COMPLEX_ARRAY = Structure(kind=ComplexArray, keys=("pairs",), children=(LEAF,))
COMPLEX_NUMBER = Structure(kind=complex, keys=("real", "imag"), children=(LEAF, LEAF))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A leaf of a parameter, and its memory.

    Attributes
    ----------
    path : str
        How the user would name it.
    kind : str
        'array', 'float', 'tape', 'static' (this very `value`), or 'other' (whatever is there is handed through).
    buffer : Buffer or None
        Of the tape; None of what is static, handed through, or a tape itself.
    value : object
        What is static; the number that stands for a missing one; the type of one that takes the place of a number.
    is_written : bool
        Whether the call writes to it.
    is_copied : bool
        Whether it does so in a copy, which takes the place of another array.
    shows : int or None
        Of an array in whose place the function puts another: which place of the parameter has that one's memory.
    """

    path: str
    kind: str
    buffer: Buffer | None = None
    value: object = None
    is_written: bool = False
    is_copied: bool = False
    shows: int | None = None

    @property
    def id(self) -> int | None:
        """Of its memory."""
        return TAPE_BUFFER if self.kind == "tape" else None if self.buffer is None else self.buffer.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that a call takes; or, where it is not `is_passed`, a number that it returns.

    Attributes
    ----------
    role : Role
    name : str
    structure : Structure
        How its leaves nest.
    places : tuple of Place
        Of each leaf.
    number : int
        Of the argument that it is, or is a shadow of; of the result.
    copy : int
        Which of several shadows.
    is_passed : bool
    """

    role: Role
    name: str
    structure: Structure = LEAF
    places: tuple[Place, ...]
    number: int = 0
    copy: int = 0
    is_passed: bool = True

    @property
    def ids(self) -> tuple[int, ...]:
        """Of the memory of its leaves."""
        return tuple(place.id for place in self.places if place.id is not None)


def parameters_of(trace: Trace, row: CallKind, tape: Tape, preserve_args: bool = False) -> tuple[Parameter, ...]:
    """All parameters of a kind of call whose tape this is, in order; and those that come back as numbers."""
    found: list[Parameter] = []
    for role in row.takes:
        if role is ARGUMENT:
            found += arguments(trace, row, tape, preserve_args)
        else:
            found += READERS.get(role, followers)(trace, row, tape)
    if RESULT in row.returns and RESULT not in row.takes:
        found += [replace(p, is_passed=False) for p in results(trace, row, tape)]
    return tuple(found)


def arguments(trace: Trace, row: CallKind, tape: Tape, preserve_args: bool) -> Iterator[Parameter]:
    """The function's own."""
    written = {region.buffer for op in tape.operations for region in op.writes}
    start = 0
    for number, (child, leaves) in enumerate(arguments_with_leaves(trace)):
        places = tuple(
            Place(
                path=leaf.path,
                kind=leaf.kind,
                buffer=None if leaf.buffer is None else tape.buffers[leaf.buffer],
                value=leaf.value if leaf.rebound is None else leaf.rebound,
                is_written=leaf.buffer in written and (leaf.kind == "array" or leaf.rebound is not None),
                is_copied=leaf.buffer in written and leaf.is_fresh,
                shows=None if leaf.holds is None or preserve_args else leaf.holds - start,
            )
            for leaf in leaves
        )
        yield Parameter(role=ARGUMENT, name=trace.names[number], structure=child, places=places, number=number)
        start += len(leaves)


def followers(trace: Trace, row: CallKind, tape: Tape) -> Iterator[Parameter]:
    """Shadows or tangents of the arguments; the shadow of an argument that is a float is a number that comes back."""
    buffers: dict[int | None, list[Buffer]] = {}
    for id in tape.arguments:
        if tape.buffers[id].kind == row.follows.value:
            buffers.setdefault(tape.buffers[id].shadow_of, []).append(tape.buffers[id])
    for number, (child, leaves) in enumerate(arguments_with_leaves(trace)):
        several = [buffers.get(leaf.buffer, ()) if leaf.buffer is not None else () for leaf in leaves]
        is_number = is_lone_number(child, leaves) and row.is_reverse
        for copy in range(row.width if any(several) else 0):
            name = "d" + trace.names[number] + (f"[{copy}]" if row.width > 1 else "")
            places = tuple(
                Place(path=name + path, kind=leaf.kind, buffer=own[copy])
                if own
                else Place(path=name + path, kind="other", value=leaf.value if leaf.kind == "static" else None)
                for path, leaf, own in zip(paths(child), leaves, several)
            )
            yield Parameter(
                role=row.follows,
                name=name,
                structure=child,
                places=tuple(replace(place, is_written=place.buffer is not None) for place in places),
                number=number,
                copy=copy,
                is_passed=not is_number,
            )


def cotangents(trace: Trace, row: CallKind, tape: Tape) -> Iterator[Parameter]:
    """One for each floating result; a number for a scalar. Of a loss, the second half of a split plan knows it."""
    buffers = iter([tape.buffers[id] for id in tape.arguments if tape.buffers[id].kind == COTANGENT.value])
    known = 1.0 if row.is_half and is_scalar_loss(trace) else None
    floating = [
        s for s, v in zip(result_structures(trace), trace.tape.results) if v.dtype.kind == "f" and s is not None
    ]
    wholes = []  # of each result, for each copy, the buffers of its parts; the copies of a part follow each other
    for structure in floating:
        parts = [[next(buffers) for _ in range(row.width)] for _ in structure.children or (LEAF,)]
        wholes += [(structure, own) for own in zip(*parts)]
    for number, (structure, own) in enumerate(wholes):
        name = "cotangent" if len(wholes) == 1 else f"cotangent{number}"
        places = (
            Place(path=name + path, kind="float" if b.shape == () else "array", buffer=b, value=known)
            for b, path in zip(own, paths(structure))
        )
        yield Parameter(role=COTANGENT, name=name, structure=structure, places=tuple(places), number=number)


def results(trace: Trace, row: CallKind, tape: Tape) -> Iterator[Parameter]:
    """Arrays are written to what is passed, numbers come back."""
    kinds = {what: kind for (_, what), kind in zip(trace.result_leaves, trace.result_kinds) if kind != "static"}
    buffers = [tape.buffers[id] for id in tape.arguments if tape.buffers[id].kind == RESULT.value]
    arrays = [n for n, buffer in enumerate(buffers) if buffer.shape or kinds.get(n) == "array"]
    structures = [COMPLEX_ARRAY if s is COMPLEX_ARRAY else LEAF for s in result_structures(trace)]
    tangents = [s for s, v in zip(structures, trace.tape.results) if v.dtype.kind == "f" for _ in range(row.width)]
    structures += tangents
    for number, buffer in enumerate(buffers):
        is_array = number in arrays
        name = "value" if not is_array else "out" if len(arrays) == 1 else f"out{arrays.index(number)}"
        place = Place(path=name, kind="array" if is_array else "float", buffer=buffer, is_written=True)
        structure = structures[number]
        yield Parameter(role=RESULT, name=name, structure=structure, places=(place,), number=number, is_passed=is_array)


def tapes(trace: Trace, row: CallKind, tape: Tape) -> Iterator[Parameter]:
    yield Parameter(role=TAPE, name="tape", places=(Place(path="tape", kind="tape", is_written=row.writes_tape),))


READERS = {TAPE: tapes, COTANGENT: cotangents, RESULT: results}


def arguments_with_leaves(trace: Trace) -> Iterator[tuple[Structure, Sequence[ArgumentLeaf]]]:
    """Of each argument its structure and its leaves."""
    start = 0
    for child in trace.structure.children:
        leaves = trace.leaves[start : start + child.leaf_count]
        start += len(leaves)
        yield child, leaves


def result_structures(trace: Trace) -> list[Structure | None]:
    """What each value that the trace returns is, or begins: a complex number is two. None of what goes on with one."""
    found: list[Structure | None] = []

    def visit(structure: Structure, leaves: Iterator[tuple[str, object]]) -> None:
        if structure.kind in (complex, ComplexArray):
            (kind, _), *_ = [next(leaves) for _ in structure.children]
            if kind != "static":
                found.extend([COMPLEX_ARRAY] if structure.kind is ComplexArray else [COMPLEX_NUMBER, None])
            return
        if structure.kind is Leaf and next(leaves)[0] != "static":
            found.append(LEAF)
        for child in structure.children:
            visit(child, leaves)

    visit(trace.result_structure, iter(trace.result_leaves))
    return found


def results_together(trace: Trace, parts: Sequence[Any]) -> list[Any]:
    """What there is one of for each floating value that the trace returns, those of complex results put together."""
    rest = iter(parts)
    values = zip(result_structures(trace), trace.tape.results)
    structures = [s for s, v in values if v.dtype.kind == "f" and s is not None]
    return [s.unflatten([next(rest) for _ in s.children or (LEAF,)]) for s in structures]


def is_lone_number(child: Structure, leaves: Sequence[ArgumentLeaf]) -> bool:
    """Whether an argument is a floating or complex number."""
    return child.kind is complex or (child.kind is Leaf and leaves[0].kind == "float")


def shadowed(trace: Trace) -> list[int]:
    """Positions of the arguments that have a shadow argument: all that are active, but for lone numbers."""
    return [
        number
        for number, (child, leaves) in enumerate(arguments_with_leaves(trace))
        if any(leaf.active for leaf in leaves) and not is_lone_number(child, leaves)
    ]


def lone_floats(trace: Trace) -> frozenset[int]:
    """Buffers of numbers that are no part of a container: their derivative is returned, not accumulated."""
    found = (leaf for child, own in arguments_with_leaves(trace) if is_lone_number(child, own) for leaf in own)
    return frozenset(leaf.buffer for leaf in found if leaf.kind == "float" and leaf.buffer is not None)


def is_scalar_loss(trace: Trace) -> bool:
    """Whether `f` returns one floating scalar, of which there is a gradient."""
    values = trace.tape.results
    return len(values) == 1 and values[0].shape == () and values[0].dtype.kind == "f"


def usual_kind(trace: Trace) -> str:
    """The kind of call that a plan tells of unless it is asked for another."""
    return "gradient" if is_scalar_loss(trace) else "pullback"


def strides_of(buffer: Buffer) -> tuple[int, ...]:
    """In bytes."""
    return tuple(stride * buffer.dtype.itemsize for stride in buffer.view.strides)


def new_array(buffer: Buffer) -> np.ndarray:
    """A zero array in the layout of `buffer`, which is dense."""
    order = sorted(range(len(buffer.shape)), key=lambda k: (-buffer.view.strides[k], k))
    dense = np.zeros(tuple(buffer.shape[k] for k in order), buffer.dtype)
    return dense.transpose([order.index(k) for k in range(len(order))]) if order else dense


def text_signature(parameters: Sequence[Parameter]) -> str:
    """As `help` shows it."""
    names = [identifier(p.name) for p in parameters if p.is_passed]
    return "(" + ", ".join([*names, "/"] if names else []) + ")"


def identifier(name: str) -> str:
    """A parameter's name for a signature: `args[0]` becomes `args0`."""
    return "".join(c for c in name if c.isalnum() or c == "_")
