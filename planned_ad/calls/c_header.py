"""The C header of an exported plan: sizes, what each parameter is, and a program that checks itself.

The program runs the calls on the example that `plan.export` was given, and compares with what the plan gives for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..kernels.entry.callspec import ArraySpec
from ..kernels.entry.native_calls import NativeParameter, c_names
from ..python.examples import copied
from ..trace import Trace
from .entries import Entry
from .kinds import Role
from .replay import Call

PER_LINE = 6
Spanned = tuple[np.ndarray, int]


@dataclass(frozen=True, slots=True)
class Described:
    """A function of the header: the call, its name in C, its parameters, its workspace, and what it was made from."""

    call: str
    symbol: str
    parameters: tuple[NativeParameter, ...]
    workspace_nbytes: int
    trace: Trace
    entry: Entry

    @property
    def declaration(self) -> str:
        names = c_names(self.parameters)
        parts = [p.declaration(name) for p, name in zip(self.parameters, names)]
        return f"int32_t {self.symbol}({', '.join([*parts, 'void *workspace'])})"


def header(name: str, functions: Sequence[Described], needs: Sequence[str], example: tuple) -> str:
    """The text."""
    traced, guard = functions[0].trace, f"{name.upper()}_H"
    lines = [
        f"/* {traced.name}({', '.join(traced.names)}), compiled by planned_ad with its derivatives.",
        "",
        *(f"   {line}" for line in about(name, functions, needs)),
        "*/",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {name.upper()}_ALIGNMENT 64 /* bytes, of workspaces */",
    ]
    for function in functions:
        lines += ["", *described(name, function), f"{function.declaration};"]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", ""]
    if example:
        lines += [f"#ifdef {name.upper()}_EXAMPLE", *program(functions, example), "#endif", ""]
    lines += [f"#endif /* {guard} */", ""]
    return "\n".join(lines)


def about(name: str, functions: Sequence[Described], needs: Sequence[str]) -> Iterator[str]:
    fortran = [symbol for symbol in needs if symbol.endswith("_")]
    yield "Each function returns 0 where it is done. 1: the arguments take a branch that was not recorded, and nothing"
    yield "has been written. Arrays that are written to overlap no other. Nothing is allocated, and nothing is checked."
    yield "What the function found outside of its arguments is in the code, as it was when it was exported."
    yield ""
    yield f"Link with {name}.o -lm" + (f" -llapack -lblas (for {', '.join(fortran)})" if fortran else "") + "."
    yield f"With {name.upper()}_EXAMPLE defined, this header is a program that checks itself (where it has an example):"
    yield f"cc -x c -D{name.upper()}_EXAMPLE {name}.h -x none {name}.o -lm"


def described(name: str, function: Described) -> Iterator[str]:
    """What its parameters are, and the sizes as macros."""
    yield f"/* {function.call}:"
    for parameter, c_name in zip(function.parameters, c_names(function.parameters)):
        yield f"   {c_name}: {explained(parameter)}"
    size = f"{function.symbol.upper()}_WORKSPACE"
    yield f"   workspace: {size} bytes, for one call at a time */"
    for parameter, c_name in zip(function.parameters, c_names(function.parameters)):
        if isinstance(parameter.spec, ArraySpec):
            yield f"#define {function.symbol.upper()}_{c_name.upper()}_SIZE {elements_spanned(parameter.spec)}"
    yield f"#define {size} {max(function.workspace_nbytes, 1)}"


def explained(parameter: NativeParameter) -> str:
    spec = parameter.spec
    if not isinstance(spec, ArraySpec):
        return "a number" if parameter.is_number else "where a number is written"
    use = "in and out" if spec.writeable else "in"
    layout = "row by row" if spec.is_c_ordered else f"strides in bytes {spec.strides}"
    return f"{parameter.path}, an array of shape {spec.shape}, {layout} ({use})"


def elements_spanned(spec: ArraySpec) -> int:
    """From the lowest element of an array to its highest, in elements."""
    low, high = spec.byte_range
    return max((high - low) // spec.dtype.itemsize, 1)


# The program.


def program(functions: Sequence[Described], example: tuple) -> Iterator[str]:
    yield from CHECKS.splitlines()
    for function in functions:
        yield from program_part(function, example)
    yield "int main(void) {"
    for function in functions:
        yield f"    if (check_{function.symbol}()) return 2;"
    yield '    printf("largest error %.1e\\n", worst);'
    yield "    return wrong != 0;"
    yield "}"


CHECKS = """\
#include <math.h>
#include <stdio.h>
static double worst = 0.0;
static int wrong = 0;
static void compare(const char *what, double found, double expected, double most) {
    double error = fabs(found - expected) / (1.0 + fabs(expected));
    if (found == expected || (isnan(found) && isnan(expected))) return;
    if (!(error <= worst)) worst = error;
    if (!(error <= most)) {
        wrong++;
        printf("%s: %.17g, not %.17g\\n", what, found, expected);
    }
}"""


def program_part(function: Described, example: tuple) -> Iterator[str]:
    """A function that makes one call, and compares each number that it writes."""
    before, after = memories(function, example)
    yield f"static int check_{function.symbol}(void) {{"
    yield f"    static _Alignas(64) unsigned char workspace[{function.symbol.upper()}_WORKSPACE];"
    passed, names = [], c_names(function.parameters)
    for parameter, name, (memory, first) in zip(function.parameters, names, before):
        if parameter.is_number:
            passed.append(number_told(memory[0]))
            continue
        passed.append(f"{name} + {first}" if first else name)
        kind = parameter.declaration(name).removeprefix("const ").replace("*", "")
        yield f"    static {kind}[] = {{{numbers_told(memory)}}};"
    yield f"    if ({function.symbol}({', '.join([*passed, 'workspace'])})) return 1;"
    for number, (parameter, name, (memory, _)) in enumerate(zip(function.parameters, names, after)):
        if parameter.is_number or not (parameter.is_output or parameter.spec.is_written):
            continue
        most = 1e-4 if parameter.dtype == np.float32 else 1e-9
        yield f"    static const double expected{number}[] = {{{numbers_told(memory)}}};"
        yield f"    for (int i = 0; i < {len(memory)}; i++)"
        yield f'        compare("{function.symbol}: {name}", (double){name}[i], expected{number}[i], {most});'
    yield "    return 0;"
    yield "}"


def memories(function: Described, example: tuple) -> tuple[list[Spanned], list[Spanned]]:
    """For each parameter what is in its memory before the call and, by the plan's own kernel, after it.

    Cotangents are of ones, and what is written of zeros.
    """
    placed = Call(function.trace, function.entry.row, copied(example), {}).place(function.entry)
    for parameter in function.entry.parameters:
        for place in parameter.places:
            if parameter.role is not Role.ARGUMENT and place.buffer is not None:
                placed.memory[place.buffer.id][...] = 1 if parameter.role is Role.COTANGENT else 0
    before = [spanned(placed.memory[id]) for id in function.entry.buffers]
    if placed.run() is not None:
        raise ArgumentError("export: the example takes a branch that was not recorded; export one that does not")
    return before, [spanned(placed.memory[id]) for id in function.entry.buffers]


def spanned(array: np.ndarray) -> Spanned:
    """A copy of the memory from an array's lowest element to its highest, and where in it the first one is."""
    if not array.size:
        return np.zeros(1, array.dtype), 0
    low, high = np.lib.array_utils.byte_bounds(array)
    memory, first = np.zeros((high - low) // array.itemsize, array.dtype), array.__array_interface__["data"][0] - low
    np.ndarray(array.shape, array.dtype, memory, first, array.strides)[...] = array
    return memory, first // array.itemsize


def numbers_told(memory: np.ndarray) -> str:
    lines = [", ".join(map(number_told, memory[k : k + PER_LINE])) for k in range(0, len(memory), PER_LINE)]
    return ",\n        ".join(lines)


def number_told(number: Any) -> str:
    if isinstance(number, np.bool_ | np.integer):
        return str(int(number))
    text = repr(float(number))
    return {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}.get(text, text)
