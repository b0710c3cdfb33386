"""Loops of a tape as Python functions: what `interpret` says that they mean, at some tens of nanoseconds an operation.

Numbers (float64, int64 and bool scalars) are Python's or NumPy's own, and memory of them is read and written through
`memoryview`, so that a body costs about what the user's own Python code does. Array operations are NumPy's. Whatever
has no form of its own here is left to `Interpreter.step`. Results are those of `interpret`, to the last bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from ..regions.affine import Extent, Ragged, exact
from ..regions.regions import View, is_fixed, is_injective, is_ragged
from ..rules import RULES
from .interpret import Interpreter, memory_of
from .tape import Apply, Branch, Constant, IndexValue, Load, Loop, Operation, Store, Tape, Value, walk

LARGE = 1 << 20  # bytes
LAST = -1  # where it is noted which side a run has taken last
FEW = 4  # iterations of so few operations are interpreted as they are
NUMBERS = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_)))
FLOAT = np.dtype(np.float64)

# Of numbers of one type: what Python's own operator computes as NumPy does. Integers would not wrap around.
OPERATORS = {
    "f": {"add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "negative": "-{}", "absolute": "abs({})",
          "divide": "({0} / {1} if {1} else divide({0}, {1}))", "sqrt": "(root({0}) if {0} >= 0 else sqrt({0}))",
                    "strong_divide": "(({0} / {1} if {1} else divide({0}, {1})) if {0} else 0.0)"},
    "b": {"logical_and": "({} and {})", "logical_or": "({} or {})", "logical_not": "(not {})"},
}  # fmt: skip
COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
SAME = ("copy", "cut", "again", "stop_gradient")


class LoopInterpreter(Interpreter):
    """An interpreter whose loops run as Python functions.

    Attributes
    ----------
    written : container of int
        The buffers that the tape writes to.
    ways : dict
        Of each branch that was met, by identity, it and the ways that runs have taken: see `taken`.
    iterations : dict
        Of each loop whose length data decide, by index, how many iterations all of its runs have had together.
    runs : dict
        Of each of these, how many runs that were.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.written: Container[int] = frozenset()
        self.ways: dict[int, tuple[Branch, list[int]]] = {}
        self.iterations: dict[int, int] = {}
        self.runs: dict[int, int] = {}

    def step(self, op: Operation) -> None:
        if isinstance(op, Branch):
            ways, side = self.taken(op), bool(self.value(op.predicate))
            ways[2 * ways[LAST] + side], ways[LAST] = 1, 1 + side
        if isinstance(op, Load) and op.region.buffer not in self.written:
            self.define(op.out, self.region(op.region))
        else:
            super().step(op)

    def taken(self, op: Branch) -> list[int]:
        """Whether each side (that where the predicate fails, the other one) was taken first, after the one, the other.

        At the end which of these three the present run is at.
        """
        return self.ways.setdefault(id(op), (op, [0] * 7))[1]

    def loop(self, op: Loop) -> None:
        if op.count is None and int(op.trips) < FEW:
            super().loop(op)
            return
        function, inputs = self.compiled(op)
        values = (number_of(self.values[v.id]) if is_number(v) else self.values[v.id] for v in inputs)
        function(self.indices, *values)

    def compiled(self, op: Loop) -> tuple[Callable[..., None], tuple[Value, ...]]:
        known = self.__dict__.setdefault("functions", {})
        if id(op) not in known:
            known[id(op)] = (*LoopCode(self, op).function(), op)  # `op` is held, so that its identity stays its own
        return known[id(op)][:2]


class TapeInterpreter(LoopInterpreter):
    """What runs a whole tape, several times if need be."""

    def __init__(self, tape: Tape, memories: Mapping[int, np.ndarray]):
        super().__init__(tape.buffers, memories)
        self.tape = tape
        self.written = frozenset(region.buffer for op in tape.operations for region in op.writes)
        self.last = last_uses(tape)

    def results(self) -> list[np.ndarray]:
        """Run the tape. Values go when they are not used any more."""
        with np.errstate(all="ignore"):
            for operation, dead in zip(self.tape.operations, self.last):
                self.step(operation)
                for id in dead:
                    self.values.pop(id, None)
        return [self.value(result) for result in self.tape.results]

    def known_ways(self) -> int:
        """How many ways through branches runs have taken."""
        return sum(sum(ways[:LAST]) for _, ways in self.ways.values())

    def restart(self, memories: Mapping[int, np.ndarray]) -> None:
        """Have the arguments hold something else, in the same memory, for another run."""
        self.values.clear()
        self.indices.clear()
        for _, ways in self.ways.values():
            ways[LAST] = 0
        self.iterations.clear()
        self.runs.clear()
        for id, memory in self.memories.items():
            known = self.buffers[id].array
            if id in memories:
                memory[...] = memories[id]
            elif known is not None:
                memory[...] = memory_of(self.buffers[id], known)


def interpreted(tape: Tape, memories: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    """As `interpret.interpret`, faster. Memory that the tape does not write to may be read-only."""
    return TapeInterpreter(tape, memories).results()


def last_uses(tape: Tape) -> list[set[int]]:
    """For each operation the values that nothing after it uses."""
    seen = {value.id for value in tape.results}
    found: list[set[int]] = []
    for op in reversed(tape.operations):
        found.append({v.id for v in (*op.inputs, *op.outputs)} - seen)
        seen |= found[-1]
    return found[::-1]


class LoopCode:
    """The source of one loop, and the objects that its names stand for."""

    def __init__(self, interpreter: LoopInterpreter, op: Loop):
        self.interpreter, self.op = interpreter, op
        self.names: dict[str, Any] = {
            "step": interpreter.step, "values": interpreter.values, "asarray": np.asarray, "ndarray": np.ndarray,
            "empty": np.empty, "divide": np.divide, "sqrt": np.sqrt, "root": math.sqrt, "number_of": number_of,
        }  # fmt: skip
        self.lines: list[str] = []
        self.bound: list[int] = []  # indices of the loops in this one that are open

    def function(self) -> tuple[Callable[..., None], tuple[Value, ...]]:
        inputs = self.op.inputs
        self.loop(self.op, 1)
        outer = [f" i{k} = indices.get({k})" for k in self.outer_indices()]
        parameters = ", ".join(["indices", *(f"v{v.id}" for v in inputs), "*", *(f"{n}={n}" for n in self.names)])
        source = "\n".join([f"def run({parameters}):", *outer, *self.lines])
        scope = dict(self.names)
        exec(compile(source, "<a loop of a tape>", "exec"), scope)
        return scope["run"], inputs

    def outer_indices(self) -> list[int]:
        return list(self.interpreter.indices)

    def add(self, depth: int, line: str) -> None:
        self.lines.append(" " * depth + line)

    def name(self, prefix: str, thing: Any) -> str:
        name = f"{prefix}{len(self.names)}"
        self.names[name] = thing
        return name

    # Memory.

    def memory(self, id: int, numbers: bool) -> str:
        """The name of a buffer's flat memory, as an array or as what gives Python's numbers."""
        memory: Any = self.interpreter.memory(self.interpreter.buffers[id])
        name = f"{'w' if numbers else 'm'}{id}"
        if name not in self.names:
            self.names[name] = memoryview(memory) if numbers else memory
        return name

    def offset(self, id: int, view: View) -> str:
        low = self.interpreter.buffers[id].low
        return expression(view.offset - low)

    def shown(self, id: int, view: View) -> str:
        """The array that a view shows, as an expression."""
        memory, start = self.memory(id, False), self.offset(id, view)
        shape = [extent(n) for n in view.shape]
        if len(shape) == 1 and view.strides[0] == 1:
            return f"{memory}[{start} : {start} + {shape[0]}]"
        dtype = self.interpreter.buffers[id].dtype
        sizes = "".join(f"{n}, " for n in shape)
        strides = tuple(s * dtype.itemsize for s in view.strides)
        found = f"ndarray(({sizes}), {memory}.dtype, {memory}, ({start}) * {dtype.itemsize}, {strides})"
        ragged = [n for n, size in zip(shape, view.shape) if isinstance(size, Ragged)]
        if ragged or 0 in view.shape:
            found = f"({found} if {' and '.join(ragged) or '0'} else empty(({sizes}), {memory}.dtype))"
        return found

    # Operations.

    def block(self, operations: Sequence[Operation], depth: int) -> None:
        for op in operations:
            self.operation(op, depth)
        if not operations:
            self.add(depth, "pass")

    def operation(self, op: Operation, depth: int) -> None:
        match op:
            case Loop():
                self.loop(op, depth)
            case Branch():
                self.branch(op, depth)
            case IndexValue() if is_number(op.out):
                self.add(depth, f"v{op.out.id} = {expression(op.expression)}")
            case Constant():
                number = op.data.item() if is_number(op.out) else op.data
                self.add(depth, f"v{op.out.id} = {self.name('c', number)}")
            case Load():
                self.load(op, depth)
            case Store() if self.stored(op, depth):
                pass
            case Apply() if self.applied(op):
                self.add(depth, f"v{op.out.id} = {self.applied(op)}")
            case _:
                self.step(op, depth)

    def step(self, op: Operation, depth: int) -> None:
        """Leave it to the interpreter."""
        for v in op.inputs:
            self.add(depth, f"values[{v.id}] = asarray(v{v.id}, {self.name('t', v.dtype)})")
        for k in self.bound:
            self.add(depth, f"indices[{k}] = i{k}")
        self.add(depth, f"step({self.name('o', op)})")
        for v in op.outputs:
            taken = f"values.pop({v.id})"
            self.add(depth, f"v{v.id} = " + (f"number_of({taken})" if is_number(v) else taken))

    def loop(self, op: Loop, depth: int) -> None:
        start, trips = expression(op.start), extent(op.trips)
        if op.count is not None:
            most, trips = trips, f"n{op.index}"
            self.add(depth, f"{trips} = int(v{op.count.id})")
            self.add(depth, f"if {trips} > {most}: raise ValueError('a loop runs more often than there is room for')")
            if op.step < 0:
                start = f"{start} + ({most} - {trips}) * {op.step}"
            self.counted(op, trips, depth)
        index = f"i{op.index}"
        self.add(depth, f"for {index} in range({start}, {start} + ({trips}) * {op.step}, {op.step}):")
        self.bound.append(op.index)
        if while_flag(op) is not None:
            load, branch = op.body
            self.operation(load, depth + 1)
            self.add(depth + 1, f"if not v{branch.predicate.id}:")  # type: ignore[attr-defined]
            self.counted(op, f"({index} - ({start})) * {op.step}", depth + 2)
            self.add(depth + 2, "break")
            self.block(branch.blocks[0], depth + 1)
            self.add(depth, "else:")
            self.counted(op, trips, depth + 1)
        else:
            self.block(op.body, depth + 1)
        self.bound.pop()

    def counted(self, op: Loop, run: str, depth: int) -> None:
        """So many iterations more; `run`: those of the run that ends here."""
        self.names |= {"iterations": self.interpreter.iterations, "runs": self.interpreter.runs}
        self.add(depth, f"iterations[{op.index}] = iterations.get({op.index}, 0) + {run}")
        self.add(depth, f"runs[{op.index}] = runs.get({op.index}, 0) + 1")

    def branch(self, op: Branch, depth: int) -> None:
        taken = self.name("b", self.interpreter.taken(op))
        self.add(depth, f"if v{op.predicate.id}:")
        for side, block in ((True, op.then), (False, op.otherwise)):
            self.add(depth + 1, f"{taken}[2 * {taken}[{LAST}] + {side}], {taken}[{LAST}] = 1, {1 + side}")
            for inner in block:
                self.operation(inner, depth + 1)
            if side:
                self.add(depth, "else:")

    def load(self, op: Load, depth: int) -> None:
        region = op.region
        if is_number(op.out):
            found = f"{self.memory(region.buffer, True)}[{self.offset(region.buffer, region.view)}]"
        else:
            is_written = region.buffer in self.interpreter.written
            found = self.shown(region.buffer, region.view) + (".copy()" if is_written else "")
        self.add(depth, f"v{op.out.id} = {found}")

    def stored(self, op: Store, depth: int) -> bool:
        """Whether a store has a form of its own, which is added."""
        region, sign = op.region, "+=" if op.accumulate else "="
        dtype = self.interpreter.buffers[region.buffer].dtype
        value = f"v{op.value.id}"
        if dtype != op.value.dtype or (op.accumulate and (dtype.kind != "f" or not is_injective(region.view))):
            return False
        if region.shape == () and is_number(op.value):
            place = f"{self.memory(region.buffer, True)}[{self.offset(region.buffer, region.view)}]"
            self.add(depth, f"{place} {sign} {value}")
            return True
        if region.shape == ():
            return False
        self.add(depth, f"a = {self.shown(region.buffer, region.view)}")
        self.add(depth, f"a {sign} {value}" if op.accumulate else f"a[...] = {value}")
        return True

    def applied(self, op: Apply) -> str | None:
        """A primitive as an expression; None where it depends on the iteration in other ways than by its operands."""
        rule, parameters = RULES[op.primitive], op.params
        operands = [f"v{v.id}" for v in op.operands]
        dtypes = {v.dtype for v in op.operands}
        if is_number(op.out) and all(map(is_number, op.operands)):
            found = of_numbers(op, operands, dtypes)
            if found is not None:
                return found
        if op.primitive in SAME:
            return operands[0]
        ragged = any(is_ragged(v.shape) for v in (op.out, *op.operands))
        if ragged and rule.kind not in ("elementwise", "reduce", "contract"):
            return None
        if isinstance(rule.evaluate, np.ufunc) and not parameters:
            return self.ufunc(rule.evaluate, operands, dtypes)
        if any(isinstance(p, View) and not is_fixed(p) for p in parameters.values()):
            return None
        if op.primitive == "contract" and is_dot(parameters):
            self.names["dot"] = np.dot
            found = f"dot({', '.join(operands)})"
            return f"number_of({found})" if is_number(op.out) else found
        function = self.name("f", functools.partial(rule.evaluate, **parameters) if parameters else rule.evaluate)
        arrays = [
            f"asarray({name}, {self.name('t', v.dtype)})" if v.shape == () else name
            for name, v in zip(operands, op.operands)
        ]
        found = f"{function}({', '.join(arrays)})"
        return f"number_of({found})" if is_number(op.out) else f"asarray({found})"

    def ufunc(self, function: np.ufunc, operands: Sequence[str], dtypes: set[np.dtype]) -> str | None:
        """A call of a ufunc; operands of several types are left to the interpreter, which knows each."""
        return f"{self.name('f', function)}({', '.join(operands)})" if len(dtypes) == 1 else None


def of_numbers(op: Apply, operands: Sequence[str], dtypes: set[np.dtype]) -> str | None:
    """An operation on numbers in Python's own arithmetic, where that is the same as NumPy's."""
    if op.primitive in SAME:
        return operands[0]
    if op.primitive == "where":
        return f"({operands[1]} if {operands[0]} else {operands[2]})"
    if op.primitive == "cast" and dtypes != {FLOAT}:
        return f"{'float' if op.out.dtype == FLOAT else 'int' if op.out.dtype.kind == 'i' else 'bool'}({operands[0]})"
    if len(dtypes) != 1:
        return None
    if op.primitive in COMPARISONS:
        return f"{operands[0]} {COMPARISONS[op.primitive]} {operands[1]}"
    (dtype,) = dtypes
    form = OPERATORS.get(dtype.kind, {}).get(op.primitive)
    return None if form is None else form.format(*operands)


def is_dot(parameters: Mapping[str, Any]) -> bool:
    """Whether a contraction is `numpy.dot` of vectors and matrices, as `@` is."""
    a, b, out = (parameters[name] for name in ("a_labels", "b_labels", "out_labels"))
    return 0 < len(a) <= 2 and 0 < len(b) <= 2 and a[-1] == b[0] and out == (*a[:-1], *b[1:]) and a[-1] not in out


def is_number(value: Value) -> bool:
    """Whether a value is a number of Python's."""
    return value.shape == () and value.dtype in NUMBERS


def number_of(array: Any) -> Any:
    return array.item() if isinstance(array, np.ndarray | np.generic) else array


def expression(of: Extent) -> str:
    """An affine expression of the loop indices as Python code."""
    if isinstance(of, int):
        return str(int(of))
    terms = [f"i{index}" if c == 1 else f"{c} * i{index}" for index, c in of.terms]
    return " + ".join([*terms, str(of.constant)] if of.constant else terms)


def extent(n: int) -> str:
    """How many there are, none below zero."""
    found = exact(n)
    return str(max(int(found), 0)) if isinstance(found, int) else f"max({expression(found)}, 0)"


def while_flag(op: Loop) -> Value | None:
    """The flag of a loop that does nothing more once it is false."""
    match op.body:
        case (Load(out=flag, region=region), Branch(predicate=tested, otherwise=())):
            return flag if tested is flag and isinstance(region.view.offset, int) else None
    return None


def costs(tape: Tape) -> float:
    """Seconds that `interpreted` takes for a tape, roughly; loops that end by a flag count once."""
    return sum(map(cost, tape.operations))


def cost(op: Operation, scale: float = 1e-5) -> float:
    """Seconds of one operation; `scale` is what one that does next to nothing takes."""
    match op:
        case Loop():
            trips = 1.0 if while_flag(op) is not None or op.count is not None else int(op.trips)
            if isinstance(op.trips, Ragged):
                trips /= 2
            return len(list(walk(op.body))) * 2e-5 + trips * sum(cost(inner, 3e-8) for inner in op.body)
        case Branch():
            return scale + max((sum(cost(inner, scale) for inner in block) for block in op.blocks), default=0.0)
        case Apply():
            each = RULES[op.primitive].cost * 3e-10
            sizes = [v.size for v in (op.out, *op.operands)]
            return scale + (0 if max(sizes) == 1 else 1e-6) + each * max(sizes) + new_memory(op.out.nbytes)
        case Load(out=value) | Store(value=value):
            return scale + (0 if value.size == 1 else 5e-7 + value.nbytes * 1e-10)
    return scale + 2e-6


def new_memory(nbytes: int) -> float:
    """Seconds until the system has given that much memory, where it is not what was used before."""
    return nbytes * 1.5e-9 if nbytes >= LARGE else 0.0
