"""`plan.export`: the calls of a plan as an object file, a shared library and a C header."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, UnsupportedError
from ..kernels.entry.exported import ExportedFunction, NotLinkable, object_file
from ..kernels.library.fourier import LINES
from ..kernels.library.native_callees import may_leave
from ..planning.schedule import LibraryStep, walk_steps
from .c_header import Described, header
from .entries import OPTIMIZATION, Entry, emission
from .kernel_functions import check_compiled, njit_spec, same_memory
from .parameters import is_scalar_loss
from .variant import PlanOfTraces, Variant

KINDS_OF_CALLS = {"value": "call"}  # by what C calls them, where that is another name
OF_LOSS, OF_OTHERS = ("value", "gradient", "value_and_gradient"), ("value", "pullback")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The files that `plan.export` has written.

    Attributes
    ----------
    object, header : Path
    library : Path or None
        A shared library; None where no C compiler was found to link it.
    needs : tuple of str
        Functions of other libraries that are called: of C's mathematics, of BLAS and LAPACK.
    declarations : tuple of str
        Of the functions, as the header has them.
    """

    object: Path
    header: Path
    library: Path | None
    needs: tuple[str, ...]
    declarations: tuple[str, ...]


def export(
    plan: PlanOfTraces, path: str | os.PathLike[str], example: tuple, calls: Sequence[str] | None, cpu: str | None
) -> Exported:
    """Write the files; see `Plan.export`."""
    base = Path(path)
    if not base.name.isidentifier():
        raise ArgumentError(f"export: {base.name!r} is part of the names of C functions, and has to be an identifier")
    variants = list(plan._variants)
    traced = variants[0].trace
    calls = (OF_LOSS if is_scalar_loss(traced) else OF_OTHERS) if calls is None else tuple(calls)
    unknown = [name for name in calls if name not in {*OF_LOSS, *OF_OTHERS}]
    if unknown:
        raise ArgumentError(f"export: calls are of {', '.join(dict.fromkeys(OF_LOSS + OF_OTHERS))}, not {unknown[0]!r}")
    described, functions = [], []
    for name in calls:
        function = exported_function(variants, f"{base.name}_{name}", KINDS_OF_CALLS.get(name, name))
        functions.append(function)
        entry = variants[0].entry(KINDS_OF_CALLS.get(name, name))
        described.append(
            Described(name, function.symbol, function.parameters, function.workspace_nbytes, traced, entry)
        )
    try:
        found = object_file(functions, OPTIMIZATION, cpu)
    except NotLinkable as reason:
        raise UnsupportedError(f"plan.export: {traced.name} ({traced.line}): {reason}") from None
    base.parent.mkdir(parents=True, exist_ok=True)
    object_path = base.with_name(base.name + (".obj" if sys.platform == "win32" else ".o"))
    object_path.write_bytes(found.contents)
    header_path = base.with_name(base.name + ".h")
    header_path.write_text(header(base.name, described, found.needs, example))
    return Exported(
        object=object_path,
        header=header_path,
        library=linked(object_path),
        needs=found.needs,
        declarations=tuple(function.declaration for function in described),
    )


def exported_function(variants: Sequence[Variant], symbol: str, kind: str) -> ExportedFunction:
    """One call, with the kernels of all traces so far that take the same memory."""
    kernels, first = [], None
    for variant in variants:
        entry = variant.entry(kind)
        check_compiled(variant.trace, entry, "plan.export")
        check_callees(entry)
        spec = njit_spec(variant.trace, entry, "")
        first = spec if first is None else first
        if same_memory(spec, first):
            kernels.append((entry.spec, emission(replace(entry.memory, threads=1), entry.buffers, {})))
    assert first is not None
    return ExportedFunction(symbol=symbol, parameters=(*first.leaves, *first.outputs), kernels=tuple(kernels))


def check_callees(entry: Entry) -> None:
    """Refuse calls of compiled code that is in this process only, by name."""
    for step in walk_steps(entry.memory.steps):
        if isinstance(step, LibraryStep) and step.operation.primitive in LINES:
            op = step.operation
            raise UnsupportedError(
                f"plan.export: {op.line}: `{op.line.text}` is a Fourier transform, by routines that are in this "
                f"process only; a product with its matrix can be exported"
            )
        if may_leave(step):
            op = step.operation
            raise UnsupportedError(
                f"plan.export: {op.line}: `{op.line.text}` calls {op.params['callee']}, compiled code that is in this "
                f"process only; without numba_rule, its Python source is traced"
            )


def c_compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def linked(object_path: Path) -> Path | None:
    """A shared library of the object file, where there is a C compiler."""
    compiler = c_compiler()
    if compiler is None or sys.platform == "win32":
        return None
    library = object_path.with_suffix(".dylib" if sys.platform == "darwin" else ".so")
    loose = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    command = [compiler, "-shared", "-o", str(library), str(object_path), *loose, "-lm"]
    done: Any = subprocess.run(command, capture_output=True, text=True)
    return library if done.returncode == 0 else None
