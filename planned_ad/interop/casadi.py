"""A plan as a function of CasADi's: `casadi.external` of an exported library, with two derivatives."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi

from ..calls.export import c_compiler
from ..calls.kernel_functions import KernelFunction
from ..errors import UnsupportedError
from ..plan import Plan
from .plain_plans import PlainOperand, PlainPlan, kernel_slots

Used = tuple[
    PlainOperand, bool
]  # an input, and whether the kernel reads it; an output, and whether it is not simply zero


def casadi_function(plan: Plan, name: str = "model", folder: str | os.PathLike[str] | None = None) -> Any:
    """The function of a plan as a `casadi.Function`, which runs without Python, with two derivatives in reverse mode.

    Parameters
    ----------
    plan : Plan
        Of double-precision vectors and numbers, that returns one of them. It writes to no argument, or is compiled with
        `preserve_args=True`. Static arguments are part of the function.
    name : str
    folder : path, optional
        Where the library is written, with its source in C; by default a new temporary one.

    Raises
    ------
    planned_ad.errors.UnsupportedError
        There is no C compiler, or the plan cannot be exported; see `Plan.export`.
    """
    plain = PlainPlan(plan, "casadi_function")
    inputs, result = plain.variables, plain.result
    for operand in (*inputs, result):
        if operand.dtype != float or len(operand.shape) > 1:
            raise UnsupportedError(f"casadi_function: {operand.name} is not a vector or number in double precision")
    path = Path(tempfile.mkdtemp(prefix="planned_ad_") if folder is None else folder)
    plans, curvature = f"{name}_plan", f"{name}_curvature"
    exported = [
        plan.export(path / plans, calls=["value", "pullback"]),
        plain.curvature.export(path / curvature, calls=["value"]),
    ]
    # CasADi passes the arguments of a function, what it gave, and a seed for each of its results, in this order.
    used: list[Used] = [(operand, True) for operand in inputs]
    found: list[Used] = [(operand, operand.active) for operand in inputs]
    adjoint: list[Used] = [*used, (result, False), (result, True)]
    second: list[Used] = [*adjoint, *((operand, False) for operand in inputs), *found]
    of_second: list[Used] = [*found, (result, False), (result, True)]
    kernel, of_curvature = plan.kernel, plain.curvature.kernel.value
    source = "\n".join(
        [
            PREAMBLE.format(first=plans, second=curvature),
            c_function(name, f"{plans}_value", kernel.value, used, [(result, True)]),
            c_function(f"adj1_{name}", f"{plans}_pullback", kernel.pullback, adjoint, found),
            c_function(f"adj1_adj1_{name}", f"{curvature}_value", of_curvature, second, of_second),
        ]
    )
    needs = [library for library in ("-llapack", "-lblas") if any(e.needs for e in exported)]
    library = linked_with(path / name, source, [str(e.object) for e in exported], needs)
    return casadi.external(name, str(library))


PREAMBLE = """#include <stdint.h>
#include <string.h>
#include "{first}.h"
#include "{second}.h"
#define casadi_int long long int
static double *numbers(double **rest, const double *from, int count) {{
  double *to = *rest;
  *rest += count;
  if (from) memcpy(to, from, count * sizeof(double)); else memset(to, 0, count * sizeof(double));
  return to;
}}
static void hand_over(double *to, const double *from, int count) {{
  if (to && from) memcpy(to, from, count * sizeof(double));
  else if (to) memset(to, 0, count * sizeof(double));
}}
"""

FUNCTION = """
casadi_int {name}_n_in(void) {{ return {n_in}; }}
casadi_int {name}_n_out(void) {{ return {n_out}; }}
const casadi_int *{name}_sparsity_in(casadi_int i) {{
  static const casadi_int dense[][3] = {{{sizes_in}}};
  return dense[i];
}}
const casadi_int *{name}_sparsity_out(casadi_int i) {{
  static const casadi_int dense[][3] = {{{sizes_out}}};
  return dense[i];
}}
int {name}_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {{
  *arg = {n_in}; *res = {n_out}; *iw = 0; *w = {total} + ({workspace} + 64 + 7) / 8;
  return 0;
}}
int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{
  char *workspace = (char *)(((uintptr_t)w + 63) / 64 * 64);
  double *rest = (double *)workspace + ({workspace} + 7) / 8;
{body}
  return 0;
}}
"""


def c_function(name: str, symbol: str, kernel: KernelFunction, inputs: Sequence[Used], outputs: Sequence[Used]) -> str:
    """A function as CasADi looks for it in a library: that which `plan.export` has written, of copies."""
    read = [k for k, (_, is_read) in enumerate(inputs) if is_read]
    given = [k for k, (_, is_given) in enumerate(outputs) if is_given]
    arguments = []
    for slot in kernel_slots(kernel, [inputs[k][0] for k in read], [outputs[k][0] for k in given]):
        memory = f"y{given[slot.number]}" if slot.is_output else f"x{read[slot.number]}"
        arguments.append(f"*{memory}" if slot.parameter.is_number else memory)
    sizes_in, sizes_out = ([sum(operand.shape) if operand.shape else 1 for operand, _ in o] for o in (inputs, outputs))
    body = [f"double *x{k} = numbers(&rest, arg[{k}], {n});" for k, n in enumerate(sizes_in) if inputs[k][1]]
    body += [f"double *y{k} = numbers(&rest, 0, {sizes_out[k]});" for k in given]
    body += [f"if ({symbol}({', '.join([*arguments, 'workspace'])})) return 1;"]
    body += [f"hand_over(res[{k}], {f'y{k}' if k in given else 0}, {n});" for k, n in enumerate(sizes_out)]
    return FUNCTION.format(
        name=name,
        n_in=len(inputs),
        n_out=len(outputs),
        sizes_in=", ".join(f"{{{n}, 1, 1}}" for n in sizes_in),
        sizes_out=", ".join(f"{{{n}, 1, 1}}" for n in sizes_out),
        total=sum(sizes_in) + sum(sizes_out),
        workspace=f"{symbol.upper()}_WORKSPACE",
        body="\n".join(f"  {line}" for line in body),
    )


def linked_with(path: Path, source: str, objects: Sequence[str], libraries: Sequence[str]) -> Path:
    """A shared library of a source in C and object files."""
    compiler = c_compiler()
    if compiler is None:
        raise UnsupportedError("casadi_function: there is no C compiler (cc, gcc or clang) to link a library")
    path.with_suffix(".c").write_text(source)
    library = path.with_suffix(".so")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", library, path.with_suffix(".c"), *objects, *libraries, "-lm"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise UnsupportedError(f"casadi_function: {compiler} could not link the library: {done.stderr}")
    return library
