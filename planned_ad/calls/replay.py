"""The slow path: calls whose arguments need a look, a container taken apart, or another trace.

It checks everything, then runs the same kernels. Nothing is written before all checks have passed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernels.entry.callpath import build_result
from ..kernels.library.native_callees import FIRST_GUARD
from ..python.callbacks import raise_pending
from ..python.complex_parts import ComplexArray
from ..python.examples import restored
from ..python.structure import Const, flatten, flatten_arguments, is_mutable, is_object_class, updated
from ..tape.captured import named_in
from ..trace import ArgumentLeaf, Trace
from .arguments import check_arguments, check_array, check_overlaps, check_shadow
from .check.returned import rebound_value
from .conversions import UNALIGNED, Conversion, converted, converted_array
from .entries import Entry
from .kinds import ARGUMENT, COTANGENT, RESULT, SHADOW, TANGENT, TAPE, CallKind
from .parameters import TAPE_BUFFER, Parameter, Place, new_array, shadowed, strides_of
from .split_tape import TapeMemory

Named = list[tuple[str, np.ndarray, bool]]  # arrays of a call, with whether they are written to
Finish = Callable[[], Any]  # what stands for a parameter after the call


class CotangentShapeError(ShapeError):
    """A cotangent of another shape than the result of a variant."""


class Call:
    """One call on the slow path: what was passed, where it lies in memory, and what is to be returned."""

    def __init__(
        self, trace: Trace, row: CallKind, arguments: Sequence[Any], keywords: dict[str, Any], converts: bool = False
    ):
        self.trace, self.row = trace, row
        self.name = row.title.format(name=trace.name)
        self.own: list[Any] = []
        self.converts = converts
        self.converted: dict[int, Conversion] = {}  # by the number of a leaf of the arguments
        self.extra, self.keywords = list(arguments), dict(keywords)
        if row.takes_arguments:
            passed = trace.signature.gather(arguments, keywords, self._complete(), self.name)
            self.own, self.extra, self.keywords = passed
        self.tape = self._take_tape() if row.is_half else None
        if row.takes_arguments:
            if converts:
                self.own, self.converted = converted(trace, self.own, self.name)
            self.leaves = check_arguments(trace, self.own, self.name)
        else:
            self.leaves = [in_place_of(leaf) for leaf in trace.leaves]

    def _complete(self) -> int:
        """How many arguments are passed where all are: those by keyword only may be passed by position then."""
        takes = self.row.takes
        return (
            len(self.trace.names)
            + (SHADOW in takes) * len(shadowed(self.trace))
            + (COTANGENT in takes)
            + (TAPE in takes)
        )

    def _take_tape(self) -> TapeMemory:
        tape = self.keywords.pop("tape", None)
        if tape is None and self.extra:
            tape = self.extra.pop(0)
        if type(tape) is not TapeMemory:
            found = "" if tape is None else f", not {type(tape).__name__}"
            raise ArgumentError(
                f"forward: a tape follows the arguments ({', '.join(self.trace.names)}){found}: forward(..., tape), "
                f"with tape = forward.tape()"
            )
        return tape

    def example(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position and by keyword to trace again with: numbers of the same types, the same ones active."""
        inactive = self.trace.structure.inactive_leaves
        marked = [Const(value) if number in inactive else value for number, value in enumerate(self.given())]
        return self.trace.signature.split(self.trace.structure.unflatten(marked))

    def given(self) -> list[Any]:
        """The leaves of the arguments, numbers of the types of the example's."""
        return [
            leaf.value(value) if isinstance(leaf.value, type) and leaf.kind == "float" else value
            for leaf, value in zip(self.trace.leaves, self.leaves)
        ]

    def place(self, entry: Entry, preserve_args: bool = False) -> Placed:
        """Find or make the memory of everything that `entry` needs; checked, nothing written."""
        placed = Placed(entry, named_in(entry.tape))
        placed.converted += [(self.trace.leaves[number].path, what) for number, what in self.converted.items()]
        passed = [p for p in entry.parameters if p.is_passed and p.role not in (ARGUMENT, TAPE)]
        given = {id(p): value for p, value in zip(passed, self.bound(entry, passed))}
        for parameter in entry.parameters:
            finish = PLACES[parameter.role](self, parameter, given.get(id(parameter)), placed, preserve_args)
            if parameter.is_passed:
                placed.finish.append(finish)
        check_overlaps(placed.named, self.name)
        return placed

    def rebind(self, memory: dict[int, Any]) -> None:
        """Give attributes of the arguments their new values, where the function has replaced what they held."""
        if all(leaf.rebound is None for leaf in self.trace.leaves):
            return
        leaves = iter(
            rebound_value(self.trace, leaf, value, memory)
            for leaf, value in zip(self.trace.leaves, flatten_arguments(self.own)[0])
        )
        for argument, child in zip(self.own, self.trace.structure.children):
            updated(argument, child, leaves, is_object_class)

    # What is passed after the function's own arguments.

    def bound(self, entry: Entry, passed: Sequence[Parameter]) -> list[Any]:
        """What is given for each of the parameters `passed`; None for what is to be made."""
        shadows, cotangents = ([p.name for p in passed if p.role is role] for role in (SHADOW, COTANGENT))
        self._take_gathered(shadows)
        if 0 < len(self.extra) == len(cotangents) and not self.keywords and isinstance(self.extra[0], numbers.Number):
            self.extra = [None] * len(shadows) + self.extra  # no shadows passed, since a number is none: new ones
        names = [p.name for p in passed]
        slots = dict(zip(names, self.extra))
        if len(self.extra) > len(names):
            first = [*(p.name for p in entry.of(ARGUMENT, TAPE)), *names]
            count = len(first) - len(names) + len(self.extra)
            what = ", ".join(first) if names else f"only the arguments of {self.trace.name}"
            raise ArgumentError(f"{self.name}: takes {what}; {count} arguments were given")
        for key, value in self.keywords.items():
            if key not in names or key in slots:
                several = key == "cotangent" and len(cotangents) > 1
                names_of_them = ", ".join(f"{name}=" for name in cotangents)
                instead = f"; the result has a cotangent for each floating part: {names_of_them}" if several else ""
                raise ArgumentError(f"{self.name}: unexpected or repeated argument {key!r}{instead}")
            slots[key] = value
        if 0 < sum(n in slots for n in shadows) < len(shadows):
            missing = next(n for n in shadows if n not in slots)
            raise ArgumentError(f"{self.name}: the shadow {missing} is missing; pass all shadows, or none")
        for parameter in passed:
            if parameter.role is COTANGENT and parameter.name not in slots:
                slots[parameter.name] = self._known(parameter, shadows)
        return [slots.get(n) for n in names]

    def _known(self, cotangent: Parameter, shadows: Sequence[str]) -> Any:
        """The value of a cotangent that is not passed."""
        if cotangent.places[0].value is None:
            after = f"it follows the shadows ({', '.join(shadows)}); " if shadows else ""
            raise ArgumentError(
                f"{self.name}: the {cotangent.name} of the result is missing; {after}without shadows, pass it by name, "
                f"{cotangent.name}=..."
            )
        return cotangent.places[0].value

    def _take_gathered(self, names: Sequence[str]) -> None:
        """Shadows of what `*args` gathers, passed together as `dargs=`: one for each, of which only some are needed."""
        gathered = self.trace.signature.gathered
        prefix = f"d{gathered}["
        if not gathered or f"d{gathered}" not in self.keywords:
            return
        given = self.keywords.pop(f"d{gathered}")
        count = sum(name.startswith(prefix[1:]) for name in self.trace.names)
        if not isinstance(given, tuple | list) or len(given) != count:
            raise ArgumentError(f"{self.name}: d{gathered} must be a tuple of {count} shadows, as {gathered} is")
        places = {f"{prefix}{k}]": value for k, value in enumerate(given)}
        self.keywords |= {name: places[name] for name in names if name in places}

    # Memory, by role. Each gives what stands for the parameter afterwards.

    def place_argument(self, parameter: Parameter, given: Any, placed: Placed, preserve_args: bool) -> Finish:
        start = self._start(parameter)
        for number, (place, (leaf, value)) in enumerate(zip(parameter.places, self._leaves_of(parameter)), start):
            if place.buffer is None:
                continue
            conversion = self.converted.get(number)
            if conversion is not None and conversion.is_copy and place.is_written and leaf.kind == "array":
                raise ArgumentError(
                    f"{self.name}: {self.trace.name} writes to {leaf.path}, which was passed {conversion.what} and "
                    f"would be copied; pass an array as in the example, or compile with preserve_args=True"
                )
            memory = value if leaf.kind == "array" else np.array(value, leaf.dtype)
            placed.memory[place.buffer.id] = restored(value, value.strides) if place.is_copied else memory
            if isinstance(value, np.ndarray):
                placed.named.append((leaf.path, value, place.is_written and not place.is_copied))
        return lambda: None

    def place_shadow(self, parameter: Parameter, given: Any, placed: Placed, preserve_args: bool) -> Finish:
        """Shadows and tangents."""
        leaves = [leaf for leaf, _ in self._leaves_of(parameter)]
        if given is None:
            values = [
                value if place.buffer is None else new_array(place.buffer)
                for place, (_, value) in zip(parameter.places, self._leaves_of(parameter))
            ]
        else:
            given, values = self.given_shadow(parameter, given, leaves)
            if parameter.role is SHADOW and self.row.is_in_out and not preserve_args:
                values = on_entry(leaves, self._start(parameter), values)
        for k, place in enumerate(parameter.places):
            if place.buffer is None:
                continue
            if given is None:
                found = values[k]
            elif place.kind == "float":
                found = np.array(self.number(values[k], place.path), place.buffer.dtype)
            else:
                found = check_shadow(place.buffer, values[k], place.path, self.name, leaves[k].is_pairs)
                placed.named.append((place.path, found, True))
            values[k] = placed.memory[place.buffer.id] = found

        def finish() -> Any:
            """The object passed, with its floats brought up to date; or a new one."""
            final = [
                float(v) if p.kind == "float" and p.buffer is not None else v for p, v in zip(parameter.places, values)
            ]
            if given is None:
                return parameter.structure.unflatten(final)
            return updated(given, parameter.structure, iter(final), is_mutable)

        return finish

    def given_shadow(self, parameter: Parameter, given: Any, leaves: Sequence[ArgumentLeaf]) -> tuple[Any, list[Any]]:
        """What is passed as a shadow, and its leaves."""
        values, structure = flatten(given)
        if structure != parameter.structure:
            raise ArgumentError(
                f"{self.name}: {parameter.name} is {structure}, and must have the structure of "
                f"{self.trace.names[parameter.number]}: {parameter.structure}"
            )
        return given, values

    def place_cotangent(self, parameter: Parameter, given: Any, placed: Placed, preserve_args: bool) -> Finish:
        for place, value in zip(parameter.places, self.parts_of_given(parameter, given)):
            assert place.buffer is not None
            if place.kind == "float":
                placed.memory[place.buffer.id] = np.array(self.number(value, place.path), place.buffer.dtype)
                continue
            if self.converts and not parameter.structure.children:
                layout = place.buffer.dtype, place.buffer.shape, strides_of(place.buffer)
                value, conversion = converted_array(value, *layout, place.path, self.name)
                if conversion is not None:
                    placed.converted.append((place.path, conversion))
            try:
                found = check_array(
                    value, place.buffer.dtype, place.buffer.shape, strides_of(place.buffer), place.path, self.name,
                    parameter.structure.kind is ComplexArray,
                )  # fmt: skip
            except ShapeError as error:
                raise CotangentShapeError(*error.args) from None
            placed.memory[place.buffer.id] = found
            placed.named.append((place.path, found, False))
        return lambda: given

    def place_result(self, parameter: Parameter, given: Any, placed: Placed, preserve_args: bool) -> Finish:
        (place,) = parameter.places
        assert place.buffer is not None
        if given is None:
            found = np.empty(place.buffer.shape, place.buffer.dtype)
        else:
            is_pairs = parameter.structure.kind is ComplexArray
            given_parts = self.parts_of_given(parameter, given)
            found = check_shadow(place.buffer, given_parts[0], place.path, self.name, is_pairs)
            placed.named.append((place.path, found, True))
        placed.memory[place.buffer.id] = found
        return lambda: parameter.structure.unflatten([found]) if given is None else given

    def parts_of_given(self, parameter: Parameter, given: Any) -> list[Any]:
        """A cotangent or result, the parts of a complex one apart."""
        if not parameter.structure.children:
            return [given]
        if parameter.structure.kind is complex and isinstance(given, numbers.Number):
            given = complex(given)  # type: ignore[call-overload]
        values, structure = flatten(given)
        if structure != parameter.structure:
            raise ArgumentError(f"{self.name}: {parameter.name} must be a {parameter.structure}, not {structure}")
        return values

    def place_tape(self, parameter: Parameter, given: Any, placed: Placed, preserve_args: bool) -> Finish:
        placed.tape = self.tape
        return lambda: None

    def _start(self, parameter: Parameter) -> int:
        """The number of the first leaf of the argument that a parameter is or follows."""
        return sum(child.leaf_count for child in self.trace.structure.children[: parameter.number])

    def _leaves_of(self, parameter: Parameter) -> list[tuple[ArgumentLeaf, Any]]:
        """Of that argument its leaves, as traced and as passed."""
        start = self._start(parameter)
        stop = start + len(parameter.places)
        return list(zip(self.trace.leaves[start:stop], self.leaves[start:stop]))

    def number(self, value: Any, path: str) -> float:
        if isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.shape == ()):
            return float(value)
        raise ArgumentError(f"{self.name}: {path} must be a float, not {type(value).__name__}")


PLACES = {
    ARGUMENT: Call.place_argument,
    TAPE: Call.place_tape,
    SHADOW: Call.place_shadow,
    TANGENT: Call.place_shadow,
    COTANGENT: Call.place_cotangent,
    RESULT: Call.place_result,
}


class Placed:
    """The memory of one call, by tape buffer, and what is made of it afterwards."""

    def __init__(self, entry: Entry, named: Sequence[tuple[str, np.ndarray, bool]]):
        self.entry = entry
        self.memory: dict[int, Any] = {}
        self.converted: list[tuple[str, Conversion]] = []
        self.copies: list[tuple[Place, np.ndarray, np.ndarray]] = []  # in place of arrays that are not aligned
        self.named: Named = [*named]
        self.finish: list[Finish] = []  # of what is passed
        self.tape: TapeMemory | None = None

    def run(self) -> int | None:
        """Run the kernel; the number of the guard that broke (and nothing was written), if one did."""
        entry, layout = self.entry, self.entry.kept
        pointers = {id: memory.__array_interface__["data"][0] for id, memory in self.memory.items()}
        for parameter in entry.parameters:
            self.copy_unaligned(parameter)
        for place, _, copy in self.copies:
            assert place.buffer is not None
            pointers[place.buffer.id] = copy.__array_interface__["data"][0]
        if self.tape is not None and layout is not None:
            block = self.tape.room(layout.nbytes) if entry.row.writes_tape else self.tape._memory
            pointers[TAPE_BUFFER] = block.__array_interface__["data"][0]
        status = entry.call.run([pointers[id] for id in entry.buffers])
        if status == 0:
            for path, conversion in self.converted:
                entry.conversions.add(path, conversion)
            for place, array, copy in self.copies:
                if place.is_written:
                    array[...] = copy
            if self.tape is not None and entry.row.writes_tape:
                self.tape._filled = layout
            return None
        raise_pending()
        return status - FIRST_GUARD

    def copy_unaligned(self, parameter: Parameter) -> None:
        """Have the kernel work on copies of arrays that are not aligned to their dtype, as those of files may be."""
        for place in parameter.places:
            array = None if place.buffer is None else self.memory[place.buffer.id]
            if array is not None and not array.flags.aligned:
                self.copies.append((place, array, restored(array, array.strides)))
                self.converted.append((place.path, UNALIGNED))

    def result(self) -> Any:
        """What the call returns."""
        numbers_of = (place for p in self.entry.parameters if not p.is_passed for place in p.places)
        outputs = [float(self.memory[place.buffer.id]) for place in numbers_of if place.buffer is not None]
        return build_result(self.entry.spec.result, [finish() for finish in self.finish], outputs)


def on_entry(leaves: Sequence[ArgumentLeaf], start: int, values: list[Any]) -> list[Any]:
    """Shadows of one argument's final state, each in the place of the leaf whose memory the attribute shows then."""
    found = list(values)
    for leaf, value in zip(leaves, values):
        if leaf.holds is not None:
            found[leaf.holds - start] = value
    return found


def in_place_of(leaf: ArgumentLeaf) -> Any:
    """What stands for a leaf of the primal's arguments, of which only inactive ones are seen: in new shadows."""
    if leaf.kind == "static":
        return leaf.value
    if leaf.kind == "float":
        return 0.0
    return None if leaf.active else np.zeros(leaf.shape, leaf.dtype)
