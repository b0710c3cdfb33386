"""Texts of which the index of a loop says which one: `s[i]`, and the names that a loop runs over.

Of those the tape has a number, their place among all that there are. Whether two are equal is a test of data, and what
a dict or a list has for one is read from a table; whatever else is asked of a text unrolls the loop.
"""

from __future__ import annotations

import functools
import sys
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.frames import as_written, user_frame
from ...python.liveness import catches_anywhere
from ...python.shadows import is_user_frame
from ..record.recorder import Recorder
from .form import HandedOn

CODE = ("code",)
KEPT = frozenset(("__class__", "__doc__", "__getattribute__", "__init__", "__init_subclass__", "__new__"))
PLAIN = (str, int, float, bool, bytes, type(None))  # what no text but a `str` is equal to
ASKED_FOR = ("__bool__", "__radd__", "__index__", "__int__", "__float__", "__call__", "__array__")


@dataclass(frozen=True)
class Letters:
    """The texts that a letter may be: the kind of thing that it is handed on as."""

    recorder: Recorder = field(compare=False, repr=False)
    texts: tuple[str, ...]

    def made(self, code: Any) -> Any:
        return self.texts[code] if type(code) is int else Letter(self, code)

    def code_of(self, value: Any) -> Any:
        """The place of a text among these; None where it is none of them."""
        if type(value) is Letter:
            return value.code if value.letters == self else None
        return self.texts.index(value) if type(value) is str and value in self.texts else None


class Letter:
    """One of several texts; `code` is a traced integer, its place among them."""

    __slots__ = ("code", "letters")

    def __init__(self, letters: Letters, code: Any):
        self.letters, self.code = letters, code
        letters.recorder.gives_letters = True

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        frame = sys._getframe(1)
        return as_written(str, frame) if is_user_frame(frame) else type(self)

    def __eq__(self, other: object) -> Any:
        codes = self.codes_beside(other)
        return codes if codes is False or codes is NotImplemented else codes[0] == codes[1]

    def __ne__(self, other: object) -> Any:
        codes = self.codes_beside(other)
        return codes if codes is NotImplemented else codes is False or codes[0] != codes[1]

    def codes_beside(self, other: object) -> Any:
        """Its number and that of another text among the same ones; False where the two are never equal."""
        code = self.letters.code_of(other)
        if code is not None:
            return self.code, code
        if type(other) is not Letter:
            return False if type(other) in PLAIN else NotImplemented
        texts, recorder = other.letters.texts, self.letters.recorder
        places = [texts.index(text) if text in texts else -1 for text in self.letters.texts]
        return recorder.concrete(np.array(places))[self.code].item(), other.code

    def __hash__(self) -> int:
        self.letters.recorder.scopes.see_what_reads(user_frame(sys._getframe(1)))
        raise self.escape("for a dict key or a member of a set")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.escape(f"for .{name}")

    def escape(self, what: str) -> BaseException:
        """What to raise where the text itself is asked for."""
        recorder = self.letters.recorder
        if recorder.scopes.depth:
            return recorder.scopes.unroll_innermost(f"needs a text {what}", recorder.builder.line)
        recorder.scopes.decisions.letters = False
        return recorder.scopes.restart()


def _asked(self: Letter, *args: Any, **kwargs: Any) -> Any:
    raise self.escape("itself")


for _name in (*vars(str), *ASKED_FOR):
    if _name.startswith("__") and _name not in KEPT and _name not in vars(Letter):
        setattr(Letter, _name, _asked)


def letters_of(recorder: Recorder, items: Any) -> tuple[Letters, list[int]] | None:
    """The texts among items, and the place of each among them."""
    if recorder.scopes.decisions.letters is False:
        return None
    texts = tuple(sorted(set(items)))
    places = {text: place for place, text in enumerate(texts)}
    return Letters(recorder, texts), [places[item] for item in items]


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
