"""Texts of which the index of a loop says which one, `s[i]`, or data: `state = "falling"` on one side of a branch.

Members of enumerations are as texts here: `state = Phase.FALLING`. Of those the tape has a number, their place among
all that there are. None may be among those that branches leave.
Whether two are equal is a test of data, and what a dict or a list has for one is read from a table; whatever else is
asked of a text unrolls the loop, and outside of loops takes a guard.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...python.frames import as_written, user_frame
from ...python.liveness import catches_anywhere
from ...python.shadows import is_user_frame
from ...tape.tape import Value
from ..record.lost_variables import Lost
from ..record.recorder import Recorder
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn

CODE = ("code",)
MEMBERS = ("value", "name", "_value_", "_name_")
KEPT = frozenset(("__class__", "__doc__", "__getattribute__", "__init__", "__init_subclass__", "__new__"))
PLAIN = (str, int, float, bool, bytes, type(None))  # what no text but a `str` is equal to
ASKED_FOR = ("__bool__", "__radd__", "__index__", "__int__", "__float__", "__call__", "__array__")
# What of a text is again a text, a truth or a number: one for each that it may be.
METHODS_OF_TEXTS = frozenset(
    [
        "__getitem__",
        "__add__",
        "__radd__",
        "__mul__",
        "__rmul__",
        "__contains__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "capitalize",
        "casefold",
        "count",
        "endswith",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isdigit",
        "islower",
        "isspace",
        "isupper",
        "lower",
        "lstrip",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rstrip",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
        "zfill",
    ]
)
MOST_TEXTS = 256
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
OPERATORS = {*(f"__{r}{name}__" for name in BINARY for r in ("", "r")), "__lt__", "__le__", "__gt__", "__ge__"}

Text = str | enum.Enum | None


@dataclass(frozen=True)
class Letters:
    """The texts that a letter may be: the kind of thing that it is handed on as."""

    texts: tuple[Text, ...]
    is_chosen: bool = False  # by branches

    def made(self, code: Any) -> Any:
        if type(code) is int:
            return self.texts[code]
        if self.is_chosen and not (are_unlike(self.texts) and may_be_chosen(code.recorder, self.texts)):
            return Lost(code.recorder, "a text")
        return Letter(self, code)

    def code_of(self, value: Any) -> Any:
        """The place of a text among these; None where it is none of them."""
        if type(value) is not Letter:
            return (
                self.texts.index(value)
                if may_be_text(value) and with_class(value) in map(with_class, self.texts)
                else None
            )
        others = value.letters.texts
        if [*map(with_class, others)] == [*map(with_class, self.texts[: len(others)])]:
            return value.code
        if not {*map(with_class, others)} <= {*map(with_class, self.texts)}:
            return None
        return value.recorder.concrete(np.array(list(map(self.texts.index, others))))[value.code].item()


class Letter:
    """One of several texts; `code` is a traced integer, its place among them."""

    __slots__ = ("code", "letters")

    def __init__(self, letters: Letters, code: Any):
        self.letters, self.code = letters, code
        self.recorder.gives_letters = True

    @property
    def recorder(self) -> Recorder:
        return self.code.recorder  # type: ignore[no-any-return]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        frame = sys._getframe(1)
        if not is_user_frame(frame):
            return type(self)
        kinds = {type(text) for text in self.letters.texts}
        if type(None) in kinds or len(kinds) > 1:
            return self.known("for its class").__class__
        return as_written(kinds.pop(), frame)

    @property
    def are_members(self) -> bool:
        """Whether all are members of enumerations, or None: things of which there is one each."""
        return not any(type(text) is str for text in self.letters.texts)

    def is_none(self) -> Any:
        """Whether it is None: a test of data."""
        texts = self.letters.texts
        return self.code == texts.index(None) if None in texts else False

    def __bool__(self) -> bool:
        truths = np.array(list(map(bool, self.letters.texts)))
        return bool(self.recorder.concrete(truths)[self.code])

    def __eq__(self, other: object) -> Any:
        codes = self.codes_beside(other)
        return codes if codes is False or codes is NotImplemented else self.compared(codes, is_equal=True)

    def __ne__(self, other: object) -> Any:
        codes = self.codes_beside(other)
        return codes if codes is NotImplemented else codes is False or self.compared(codes, is_equal=False)

    def compared(self, codes: tuple[Any, Any], is_equal: bool) -> Any:
        """Whether two numbers are equal, or are not; what follows from earlier tests needs no test of data."""
        found = codes[0] == codes[1] if is_equal else codes[0] != codes[1]
        recorder = self.recorder
        is_of_text = codes[0] is self.code and type(codes[1]) is int and type(self.code) is type(found) is ScalarTracer
        if is_of_text and not recorder.scopes.depth:
            tests = recorder.__dict__.setdefault("tests_of_letters", {}).setdefault(self.code.value.id, [])
            known = follows_from(tests, codes[1], len(self.letters.texts), recorder._outcomes)
            if known is None:
                tests.append((codes[1], found.value, is_equal))
            else:
                recorder._outcomes[found.value.id] = known == is_equal
        return found

    def codes_beside(self, other: object) -> Any:
        """Its number and that of another text among the same ones; False where the two are never equal."""
        if isinstance(other, str) and type(other) is not Letter:
            if not equals_as_text(type(other)):
                raise self.escape("to compare it with one of another class")
            other = str.__str__(other)
        code = self.letters.code_of(other)
        if code is not None:
            return self.code, code
        if type(other) is not Letter:
            if not (type(other) in PLAIN or is_member(other) or has_value(other)):
                return NotImplemented
            places = [k for k, text in enumerate(self.letters.texts) if text == other]
            return (self.code, places[0]) if places else False
        texts, recorder = other.letters.texts, self.recorder
        places = [texts.index(text) if text in texts else -1 for text in self.letters.texts]
        return recorder.concrete(np.array(places))[self.code].item(), other.code

    def __hash__(self) -> int:
        frame = sys._getframe(1)
        texts = [text for text in self.letters.texts if text is not None]
        is_followed = self.recorder.scopes.depth > 0 or not self.letters.is_chosen
        if is_followed and len(texts) == len(self.letters.texts) and all(map(is_text_or_member, texts)):
            self.recorder.flow.follow_dicts(frame, texts)
        self.recorder.scopes.see_what_reads(user_frame(frame), is_followed)
        return hash(self.known("for a dict key or a member of a set"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in METHODS_OF_TEXTS:
            return functools.partial(ask, self, name)
        found = self.attributes(name)
        if found is not None:
            return found
        return getattr(self.known(f"for .{name}"), name)

    def attributes(self, name: str) -> Any:
        """Of members of enumerations, their names and values, where these are texts, or numbers of one class.

        And what their class defines in Python, of whichever it is: methods and properties.
        """
        if not all(isinstance(text, enum.Enum) for text in self.letters.texts):
            return None
        if name not in MEMBERS:
            return self.defined(name)
        return self.each([getattr(text, name) for text in self.letters.texts])

    def has_attribute(self, name: str) -> Any:
        """What `hasattr` says of it: a test of data where one that it may be has it, and another one has not."""
        answers = [hasattr(text, name) for text in self.letters.texts]
        return answers[0] if len(set(answers)) == 1 else self.each(answers)

    def each(self, values: Sequence[Any], code: Any = None) -> Any:
        """What there is for each text, where these are texts, or numbers of one class; `code`: of which one."""
        kinds, code = set(map(type, values)), self.code if code is None else code
        if kinds == {str}:
            texts = tuple(dict.fromkeys(values))
            if len(texts) == 1:
                return texts[0]
            places = self.recorder.concrete(np.array([*map(texts.index, values)]))
            return Letter(Letters(texts, self.letters.is_chosen), places[code].item())
        if kinds not in ({int}, {float}, {bool}) or not all(abs(value) < 1 << 53 for value in values):
            return None
        return self.recorder.concrete(np.array(values))[code].item()

    def defined(self, name: str) -> Any:
        """A method or a property of the one class that all are of."""
        kinds = set(map(type, self.letters.texts))
        found = inspect.getattr_static(next(iter(kinds)), name, None)
        if len(kinds) > 1 or any(name in vars(text) for text in self.letters.texts):
            return None
        if type(found) is types.FunctionType:
            return types.MethodType(self.recorder.namespace.function(found), self)
        if type(found) is property and type(found.fget) is types.FunctionType:
            return self.recorder.namespace.function(found.fget)(self)
        return None

    def length(self) -> Any:
        """What `len` says of it: of texts an integer that is data."""
        if not all(type(text) is str for text in self.letters.texts):
            return len(self.known("for its length"))
        lengths = np.array([len(str(text)) for text in self.letters.texts])
        return self.recorder.concrete(lengths)[self.code].item()

    def known(self, what: str) -> Any:
        """The text that is asked for itself, `what` for: outside of loops a guard says which one it is."""
        if not self.letters.is_chosen or self.recorder.scopes.depth:
            raise self.escape(what)
        return next(text for text in self.letters.texts if self == text)

    def escape(self, what: str) -> BaseException:
        """What to raise where the text itself is asked for."""
        recorder = self.recorder
        if any(scope.site is not None for scope in recorder.scopes.open):
            return recorder.scopes.unroll_innermost(f"needs a text {what}", recorder.builder.line)
        recorder.scopes.decisions.letters = False
        return recorder.scopes.restart()


def follows_from(
    tests: Iterable[tuple[int, Value, bool]], code: int, count: int, outcomes: Mapping[int, Any]
) -> bool | None:
    """Whether it is the text of this number, where the tests before say so: of each text, and whether it is that."""
    asked = [(other, outcomes[test.id] == is_equal) for other, test, is_equal in tests if test.id in outcomes]
    if any(holds for _, holds in asked):
        return (code, True) in asked
    others = {other for other, _ in asked}
    return False if code in others else True if len(others) == count - 1 else None


def ask(letter: Letter, name: str, *args: Any, **options: Any) -> Any:
    """What a method says of each text it may be, beside each that another one may; else of the text that it is.

    Of members of `IntEnum` what operators make of their numbers.
    """
    if name in OPERATORS and all(type(arg) is not Letter or has_numbers(arg) for arg in (letter, *args)):
        operands = [number_of_member(letter), *(number_of_member(arg) if type(arg) is Letter else arg for arg in args)]
        return getattr(type(operands[0]), name)(*operands)
    others = [k for k, arg in enumerate(args) if type(arg) is Letter]
    texts, code = letter.letters.texts, letter.code
    beside: Sequence[Any] = (None,)
    if others:
        beside = args[others[0]].letters.texts
        code = code * len(beside) + args[others[0]].code
    are_texts = {*map(type, texts), *(map(type, beside) if others else ())} == {str} and not options
    are_known = len(others) < 2 and all(type(arg) in (Letter, slice, tuple, *PLAIN) for arg in args)
    if name in METHODS_OF_TEXTS and are_texts and are_known and len(texts) * len(beside) <= MOST_TEXTS:
        known = [[other if k in others else arg for k, arg in enumerate(args)] for other in beside]
        try:
            found = letter.each([answer(text, name, given) for text in texts for given in known], code)
        except (IndexError, TypeError, ValueError):
            found = None  # which the text that it is may not raise
        if found is not None:
            return found
    return answer(letter.known("itself"), name, args, options)


def answer(text: Any, name: str, args: Sequence[Any], options: Mapping[str, Any] = MappingProxyType({})) -> Any:
    if name == "__radd__" and isinstance(args[0], str):
        return args[0] + text
    return getattr(text, name)(*args, **options)


def _asking(name: str) -> None:
    setattr(Letter, name, lambda self, *args, **options: ask(self, name, *args, **options))


for _name in (*vars(str), *ASKED_FOR):
    if _name.startswith("__") and _name not in KEPT and _name not in vars(Letter):
        _asking(_name)


def equals_as_text(kind: type[str]) -> bool:
    """Whether texts of a class are equal to those that `str` has for equal: members of enumerations, NumPy's too."""
    return kind is np.str_ or (kind.__eq__ is str.__eq__ and kind.__ne__ is str.__ne__)


def is_member(value: object) -> bool:
    """Whether it is a member of an enumeration that is equal to itself alone."""
    return isinstance(value, enum.Enum) and type(value).__eq__ is object.__eq__


def has_value(value: object) -> bool:
    """Whether it is a member of an enumeration that is equal to its number or text: of `IntEnum`, of `StrEnum`."""
    return isinstance(value, enum.Enum) and type(value).__eq__ in (int.__eq__, float.__eq__, str.__eq__)


def has_numbers(letter: Letter) -> bool:
    return all(has_value(text) and isinstance(text, int | float) for text in letter.letters.texts)


def number_of_member(letter: Letter) -> Any:
    """The number of a member of `IntEnum`."""
    is_integer = all(isinstance(text, int) for text in letter.letters.texts)
    return letter.each([int(text) if is_integer else float(text) for text in letter.letters.texts])  # type: ignore[arg-type]


def with_class(value: object) -> tuple[type, object]:
    """A text with its class: a member of `StrEnum` is equal to a text that is none."""
    return type(value), value


def are_unlike(texts: Iterable[Text]) -> bool:
    """Whether none of them are equal."""
    found = [*texts]
    return len({*found}) == len(found)


def is_text_or_member(value: object) -> bool:
    """Whether it is a text that is known, or as one."""
    return type(value) is str or is_member(value)


def may_be_text(value: Any) -> bool:
    """Whether it may take turns with texts, of which data say which one."""
    return value is None or type(value) is Letter or is_text_or_member(value) or has_value(value)


def all_texts(*values: Any) -> tuple[Text, ...]:
    """The texts that these may be."""
    found = [text for value in values for text in (value.letters.texts if type(value) is Letter else (value,))]
    return tuple(dict(zip(map(with_class, found), found)).values())


def may_be_chosen(recorder: Recorder, texts: tuple[Text, ...]) -> bool:
    """Whether a variable may hold one of these, as data say. Where it may be None, functions have to ask for that."""
    decisions = recorder.scopes.decisions
    if None in texts and decisions.nones is None and decisions.letters is not False:
        decisions.nones = True
        recorder.watch.off()
        raise recorder.scopes.restart()
    if decisions.letters is False or (None in texts and not decisions.nones):
        return False
    recorder.gives_nones = recorder.gives_nones or None in texts
    return True


def letters_of(recorder: Recorder, items: Any) -> tuple[Letters, list[int]] | None:
    """The texts among items, and the place of each among them."""
    if recorder.scopes.decisions.letters is False:
        return None
    texts = tuple(sorted(set(items)) if all(type(item) is str for item in items) else dict.fromkeys(items))
    places = {text: place for place, text in enumerate(texts)}
    return Letters(texts), [places[item] for item in items]


def has_letters(form: HandedOn) -> bool:
    return isinstance(getattr(form, "kind", None), Letters) or any(map(has_letters, form.parts()))


def refuse_letters(recorder: Recorder) -> None:
    """At the end: functions were met that go on where something that has no text for us is refused by Python."""
    decisions = recorder.scopes.decisions
    if recorder.gives_letters and any(map(goes_on, recorder.namespace.codes())):
        decisions.letters = False
        raise recorder.scopes.restart()


@functools.lru_cache(maxsize=4096)
def goes_on(code: types.CodeType) -> bool:
    """Whether a function, or one in it, may catch what Python raises for something that is no text."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return catches_anywhere(code, TypeError) or any(map(goes_on, inner))
