"""The index of a loop that is recorded once for all its iterations: an integer known only as an expression."""

from __future__ import annotations

import dis
import functools
import math
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...python.attributes_held import with_attributes
from ...python.frames import user_frame, user_frames
from ...python.liveness import is_in_users_try
from ...python.shadows import is_user_frame
from ...python.shown_text import is_only_shown
from ...python.statements import ends_in_error, may_be_swallowed
from ...regions.affine import Affine, Extent, affine, substitute
from ...tape.tape import Value
from ..record.recorder import Recorder
from ..record.texts import is_for_a_message
from .elementwise import operate
from .operators import COMPARISONS, Arithmetic
from .scalar_tracer import ScalarTracer

PEEL_MOST = 3  # iterations at either end of a loop that are recorded one by one to decide a comparison
PEELED_MOST = 8  # and several of them
MOST_POWER, LONGEST_POWER = 2**63 - 1, 63  # of an integer, and of an exponent of 2


def is_for_unhandled_error(frame: types.FrameType) -> bool:
    """Whether what runs in a frame ends in an error that nobody handles: such a side of a test is not recorded."""
    if not ends_in_error(frame.f_code, frame.f_lasti) or is_in_users_try(frame):
        return False
    return not any(may_be_swallowed(around.f_code, around.f_lasti) for around in user_frames(frame))


class LoopIndex(Arithmetic):
    """An affine expression of the indices of the loops around.

    Sums, differences and multiples stay expressions; comparisons are decided by the bounds of the loops where they can
    be. In arithmetic with other things it is a traced integer. What needs the number itself makes the trace start
    again with the loop unrolled.
    """

    __slots__ = ("_expression", "recorder")
    is_python = True

    def __init__(self, recorder: Recorder, expression: Affine):
        self.recorder = recorder
        self._expression: Extent = expression

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    @property
    def expression(self) -> Extent:
        """In terms of the loops around now: the index of a loop that is over is its last one."""
        scopes = self.recorder.scopes
        open_indices = {scope.index for scope in scopes.open}
        found = self._expression
        while isinstance(found, Affine):
            over = [index for index, _ in found.terms if index not in open_indices]
            if not over:
                break
            if over[0] not in scopes.closed:
                raise scopes.unroll_innermost("uses the index of another pass", self.recorder.builder.line)
            found = substitute(found, over[0], scopes.closed[over[0]])
        self._expression = found
        return found

    @property
    def loops(self) -> Any:
        return self.recorder.scopes.loops_in(self.expression)

    def traced(self) -> Any:
        """As a traced Python integer."""
        recorder, expression = self.recorder, self.expression
        if isinstance(expression, int):
            return expression
        value = recorder.builder.index_value(expression)
        recorder.builder.limits.note(value, *recorder.scopes.bounds(expression))
        recorder.builder.limits.note_sum(value, expression)
        return ScalarTracer(recorder, value, is_python=True)

    def read_as(self, dtype: np.dtype) -> Value:
        found: Value = self.traced().read_as(dtype)
        return found

    def read(self) -> Value:
        return self.recorder.value_of(self.traced())

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return int, (), True

    def escape(self, what: str) -> BaseException:
        """What to raise where the number itself is asked for."""
        recorder = self.recorder
        recorder.mark()
        return recorder.scopes.unroll(self.loops, f"needs the index as a number, for {what}", recorder.builder.line)

    def number(self, what: str) -> int:
        expression = self.expression
        if isinstance(expression, int):
            return expression
        frame = user_frame(sys._getframe(1))
        if frame is not None and is_for_unhandled_error(frame):  # which the function raises again, with its own number
            return self.recorder.scopes.bounds(expression)[0]
        raise self.escape(what)

    def __index__(self) -> int:
        if isinstance(self.expression, Affine):
            frame = user_frame(sys._getframe(1))
            self.recorder.follow_lists(with_attributes(frame.f_locals.values()) if frame is not None else ())
            self.recorder.lay_down_lists()
            self.recorder.scopes.see_what_reads(frame)
        return self.number("a list, a count or a call that is not traced")

    def __int__(self) -> int:
        frame = sys._getframe(1)
        if isinstance(self.expression, Affine) and is_formatted(frame) and is_only_shown(frame):
            return self.recorder.scopes.bounds(self.expression)[0]
        return self.number("int()")

    def __float__(self) -> float:
        return float(self.number("float()"))

    def __hash__(self) -> int:
        if isinstance(self.expression, Affine):
            self.recorder.flow.follow_dicts(sys._getframe(1), key=self)
            self.recorder.scopes.see_what_reads(user_frame(sys._getframe(1)))
        return hash(self.number("a dict key or a member of a set"))

    def __repr__(self) -> str:
        return self._name_to_show(sys._getframe(1)) or repr(self.number("its text"))

    def __format__(self, specification: str) -> str:
        return self._name_to_show(sys._getframe(1)) or format(self.number("its text"), specification)

    def _name_to_show(self, frame: types.FrameType) -> str:
        """As of other traced numbers, where the text is only shown; else empty."""
        is_known = isinstance(self.expression, int)
        return "" if is_known or not (is_for_a_message(frame) or is_only_shown(frame)) else "<traced index>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.number("a call that is not traced"), dtype)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __neg__(self) -> Any:
        return index_of(self.recorder, -self.expression)

    def __pos__(self) -> LoopIndex:
        return self

    def __abs__(self) -> Any:
        self.recorder.mark()
        low, high = self.recorder.scopes.bounds(self.expression)
        return self if low >= 0 else -self if high <= 0 else abs(plain_or_traced(self))

    def __add__(self, other: Any) -> Any:
        return _combine(self, other, operator.add, np.add)

    def __radd__(self, other: Any) -> Any:
        return _combine(self, other, lambda a, b: b + a, np.add, reflected=True)

    def __sub__(self, other: Any) -> Any:
        return _combine(self, other, operator.sub, np.subtract)

    def __rsub__(self, other: Any) -> Any:
        return _combine(self, other, lambda a, b: b - a, np.subtract, reflected=True)

    def __mul__(self, other: Any) -> Any:
        return _multiply(self, other, reflected=False)

    def __rmul__(self, other: Any) -> Any:
        return _multiply(self, other, reflected=True)

    def __floordiv__(self, other: Any) -> Any:
        whole = _divided(self, other)
        return operate(self.recorder, np.floor_divide, self, other) if whole is None else whole[0]

    def __mod__(self, other: Any) -> Any:
        whole = _divided(self, other)
        if whole is None:
            _peel_for_one_quotient(self, other)
        return operate(self.recorder, np.remainder, self, other) if whole is None else whole[1]

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _power(self, other, False)

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return _power(self, other, True)


def is_formatted(frame: types.FrameType) -> bool:
    """Whether the code of a frame is computing `text % values`, where it asks for the integer of a value."""
    return is_user_frame(frame) and dis.opname[frame.f_code.co_code[frame.f_lasti]] == "BINARY_OP"


def _peel_for_one_quotient(index: LoopIndex, divisor: Any) -> None:
    """Has a few iterations at an end of a loop recorded apart, if all others then have one quotient: `(i + 1) % n`."""
    recorder, expression = index.recorder, index.expression
    if type(divisor) is not int or divisor <= 0 or not isinstance(expression, Affine):
        return

    def is_one(*ends: Extent) -> bool:
        return len({bound // divisor for end in ends for bound in recorder.scopes.bounds(end)}) == 1

    peeled = peel_until(recorder, expression, is_one)
    if peeled is not None:
        raise peeled


def _power(index: LoopIndex, other: Any, reflected: bool) -> Any:
    """Products, the parity of an exponent of -1, or a table of powers, where all are 64-bit integers; else unrolled."""
    number = expression_of(other)
    if number is None:
        return operate(index.recorder, np.power, *((other, index) if reflected else (index, other)))
    low, high = index.recorder.scopes.bounds(index.expression)
    if isinstance(number, int) and not reflected and number >= 0 and max(abs(low), abs(high)) ** number <= MOST_POWER:
        return functools.reduce(operator.mul, [index] * number, 1)
    if isinstance(number, int) and reflected and low >= 0:
        if abs(number) == 1:
            return 1 if number == 1 else 1 - 2 * (index % 2)
        if number and high < LONGEST_POWER and abs(number) ** high <= MOST_POWER:
            powers = index.recorder.concrete(np.array([number**k for k in range(high + 1)]))
            return powers[index]
    number = index.number("an integer power")
    return pow(other, number) if reflected else pow(number, other)


def _comparing(name: str, ufunc: np.ufunc) -> None:
    relation = getattr(operator, name)
    setattr(LoopIndex, f"__{name}__", lambda self, other: _compare(self, other, relation, ufunc))


for _name, _ufunc in COMPARISONS.items():
    _comparing(_name, _ufunc)


def index_of(recorder: Recorder, expression: Extent) -> Any:
    """An expression as traced code sees it: a plain integer where it is one."""
    return LoopIndex(recorder, expression) if isinstance(expression, Affine) else expression


def is_loop_index(obj: object) -> bool:
    return type(obj) is LoopIndex


def expression_of(obj: Any) -> Extent | None:
    """A loop index or a known integer as an expression; None for anything else."""
    kind = type(obj)
    if kind is LoopIndex:
        return obj.expression
    if kind is int or kind is bool or issubclass(kind, np.integer):
        return int(obj)
    return None


def plain_or_traced(obj: Any) -> Any:
    """A loop index as a traced integer, anything else as it is."""
    return obj.traced() if type(obj) is LoopIndex else obj


def _combine(index: LoopIndex, other: Any, combine: Callable[..., Any], ufunc: Any, reflected: bool = False) -> Any:
    expression = expression_of(other)
    if expression is None:
        return operate(index.recorder, ufunc, *((other, index) if reflected else (index, other)))
    return index_of(index.recorder, combine(index.expression, expression))


def _multiply(index: LoopIndex, other: Any, reflected: bool) -> Any:
    if type(other) in (list, tuple, str):
        return other * index.number("the length of a list")
    factor, own = expression_of(other), index.expression
    if isinstance(factor, Affine) and isinstance(own, int):
        factor, own = own, factor
    if factor is None or isinstance(factor, Affine):
        return operate(index.recorder, np.multiply, *((other, index) if reflected else (index, other)))
    return index_of(index.recorder, own * factor)


def _divided(index: LoopIndex, by: Any) -> tuple[Any, Any] | None:
    """Quotient and remainder where both are expressions: all coefficients divisible, or one quotient throughout."""
    own = index.expression
    if isinstance(own, int):
        return divmod(own, by) if isinstance(by, int) and type(by) is not LoopIndex else None
    if type(by) is not int or by <= 0:
        return None
    recorder = index.recorder
    low, high = recorder.scopes.bounds(own)
    if low // by == high // by:
        return low // by, index_of(recorder, own - low // by * by)
    if all(c % by == 0 for _, c in own.terms):
        quotient, rest = divmod(own.constant, by)
        return index_of(recorder, affine(quotient, {i: c // by for i, c in own.terms})), rest
    return None


def _compare(index: LoopIndex, other: Any, relation: Callable[..., bool], ufunc: np.ufunc) -> Any:
    """Decided where it comes out the same in all iterations; near the ends of a loop by recording those apart."""
    expression = expression_of(_whole(other, relation))
    recorder = index.recorder
    if expression is None:
        if other is None or isinstance(other, str):
            return relation is operator.ne
        return operate(recorder, ufunc, index, other)
    difference = index.expression - expression
    if isinstance(difference, int):
        return relation(difference, 0)
    given = recorder.flow.compared(difference, relation)
    if given is not None:
        return given
    found = outcomes(relation, *recorder.scopes.bounds(difference))
    if len(found) == 1:
        return found.pop()
    recorder.flow.undecided()
    peeled = peel_until(recorder, difference, functools.partial(_settled, recorder, relation))
    if peeled is not None:
        raise peeled
    return operate(recorder, ufunc, index, other)


def has_index(items: Any, value: LoopIndex) -> bool:
    """Whether an index is in a range, whose bounds may be expressions: of neighbours, by two tests."""
    if abs(items.step) != 1:
        return value in items.concrete()
    least, end = (items.start, items.stop) if items.step > 0 else (items.stop + 1, items.start + 1)
    return bool(value >= least) and bool(value < end)


def _whole(bound: Any, relation: Callable[..., bool]) -> Any:
    """The integer that integers compare with as they do with `bound`, where there is one; else `bound`."""
    if type(bound) is not float or not math.isfinite(bound):
        return bound
    if relation in (operator.eq, operator.ne):
        return int(bound) if bound.is_integer() else bound
    return math.ceil(bound) if relation in (operator.lt, operator.ge) else math.floor(bound)


def outcomes(relation: Callable[..., bool], low: int, high: int) -> set[bool]:
    """What a comparison with zero may give for the integers from `low` to `high`, or `low` if there are none."""
    if low < 0 < high and relation in (operator.eq, operator.ne):
        return {True, False}
    return {relation(low, 0), relation(max(low, high), 0)}


def peel_until(
    recorder: Recorder, expression: Affine, is_settled: Callable[[Extent, Extent], bool]
) -> BaseException | None:
    """A restart with a few iterations recorded apart, if something then `is_settled` from the first to the last one."""
    scopes = recorder.scopes
    for index, step in reversed(expression.terms):
        scope = next(s for s in scopes.open if s.index == index)
        if scope.site is None or scope.loop is None or scope.loop.count is not None:
            continue
        start, stop = scope.range
        at_first, at_last = substitute(expression, index, start), substitute(expression, index, stop)
        first, last = ([at + j * by for j in range(PEEL_MOST)] for at, by in ((at_first, step), (at_last, -step)))
        peeled = scopes.decisions.first.get(scope.site, 0), scopes.decisions.last.get(scope.site, 0)
        for k in range(1, min(PEEL_MOST, PEELED_MOST - max(peeled)) + 1):
            if is_settled(at_first + k * step, at_last) and all(is_settled(at, at) for at in first[:k]):
                return scopes.peel(scope, first=k)
            if not scope.has_last or not is_settled(at_first, at_last - k * step):
                continue
            if all(is_settled(at, at) for at in last[:k]):
                return scopes.peel(scope, last=k)
    return None


def _settled(recorder: Recorder, relation: Callable[..., bool], first: Extent, last: Extent) -> bool:
    """Whether a comparison with zero comes out the same everywhere from `first` to `last`."""
    bounds = (*recorder.scopes.bounds(first), *recorder.scopes.bounds(last))
    low, high = min(bounds), max(bounds)
    if relation in (operator.eq, operator.ne):
        return low > 0 or high < 0 or low == high
    return relation(low, 0) == relation(high, 0)
