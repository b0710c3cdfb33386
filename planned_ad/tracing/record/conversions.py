"""What asks a tracer for its number, and the errors where it has none."""

from __future__ import annotations

from typing import Any

from ...errors import ConversionError
from .number_sources import require_numbers
from .recording import Recording
from .refusals import untraced

PLAIN_TARGET = "Copy the array first, w = numpy.array(w), or write w = w + x in place of w += x"
A_LIST = "the index of a list or tuple"
UNTRACED = "code that is not traced"
INSTEAD = {
    "float()": "leave out float(): traced scalars behave as floats; math.exp, math.sqrt and the like accept them",
    "int()": "keep the value traced (np.floor, np.round, .astype(int)), or pass it as a Python int, which is static",
    "complex()": "leave out complex(): traced complex numbers behave as such; a + 1j * b makes one of real numbers",
    "hash()": "a traced value cannot be a dict key or a member of a set; use a static argument (int, str) as the key",
    "range(), a slice bound or a count": "shapes and loop bounds are fixed when tracing: pass the number as a Python "
    "int, which is static",
    A_LIST: "make an array of it, of which traced integers are indices",
    "its text": "print it, log it or raise an error with it, which is done while tracing, and decide by the number",
    "a function that needs it": "pass it as a Python int, which is static",
    ".bit_length() and its like": "calculate it with operators and functions of NumPy",
    UNTRACED: "call NumPy functions on the traced value directly. Is it assigned to a part of a plain array, which a "
    f"library's object has made? {PLAIN_TARGET}. Arrays with fields (structured dtypes) hold no traced values: use an "
    "array for each field",
}


def refuse_number(recorder: Recording, what: str, of: Any) -> Exception:
    """The error for a traced value that is asked for its number."""
    require_numbers(recorder, (of,))
    if recorder.scopes.depth:  # without loops around it may be one that is known
        return recorder.scopes.unroll_innermost(f"needs a number for {what}", recorder.builder.line)  # type: ignore[return-value]
    recorder.refusal = untraced(recorder, of)
    if recorder.refusal is not None:
        return recorder.refusal
    shape = f" of shape {of.shape}" if of.shape else ""
    return ConversionError(
        f"{recorder.here()}: {what} needs the number behind a traced {of.dtype} value{shape}, and there is none while "
        f"tracing. Instead: {INSTEAD[what]}."
    )


class NoNumbers:
    """For tracers of arrays that plain code can do nothing with: `_refused(what)` makes what is raised."""

    __slots__ = ()

    def _refused(self, what: str) -> BaseException:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refused(f"asks for .{name} of")

    def __bool__(self) -> bool:
        raise self._refused("tests")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._refused("passes to code that is not traced")
