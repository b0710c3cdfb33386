"""Plan and compile a tape, or a kernel, alone, without a traced function around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planned_ad.calls.entries import OPTIMIZATION
from planned_ad.calls.parameters import Place
from planned_ad.calls.specs import leaf_spec
from planned_ad.kernels.emit import KernelEmitter, cut_plan, workspace_nbytes
from planned_ad.kernels.entry.callpath import BuiltCall, EmitKernel, compiled_call, loaded_call
from planned_ad.kernels.entry.callspec import CallSpec
from planned_ad.kernels.llvm.codelibrary import Optimization
from planned_ad.planner import plan_memory
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify

from .schedule_interpreter import run_plan


def make_builtin(
    name: str,
    doc: str,
    text_signature: str,
    spec: CallSpec,
    emit_kernel: EmitKernel,
    slow_path: Callable[..., Any],
    *,
    optimization: Optimization | None = None,
    fast_path: bool | None = None,
    keep: object = None,
) -> BuiltCall:
    """Compile a kernel together with the function that calls it, and load both: `compiled_call` and `loaded_call`."""
    compiled = compiled_call(name, spec, emit_kernel, optimization=optimization, fast_path=fast_path)
    return loaded_call(compiled, name, doc, text_signature, spec, slow_path, fast_path=fast_path, keep=keep)


class CompiledTape:
    """A tape whose results are stored to buffers of kind 'result': planned and compiled."""

    def __init__(self, tape: Tape):
        self.tape = verify(tape)
        self.memory = plan_memory(tape)
        spec = CallSpec(
            arguments=tuple(
                leaf_spec(Place(path="", kind="array", buffer=tape.buffers[id], is_written=True))
                for id in tape.arguments
            ),
            workspace_nbytes=workspace_nbytes(self.memory),
        )
        emitter = KernelEmitter(self.memory, cut_plan(self.memory), tape.arguments, self.memory.workspace_nbytes)
        self.call: BuiltCall = make_builtin(
            "tape",
            "",
            "()",
            spec,
            lambda builder, context, leaves, workspace: emitter.emit(builder, leaves, workspace),
            lambda *arguments: None,
            optimization=OPTIMIZATION,
            fast_path=False,  # it is run at pointers
        )

    def memories(self, arrays: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """Flat memories that hold the leading arguments; the others are uninitialised."""
        found = {}
        for number, id in enumerate(self.tape.arguments):
            buffer = self.tape.buffer(id)
            found[id] = memory_of(buffer, arrays[number]) if number < len(arrays) else uninitialised(buffer)
        return found

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """All arguments after the compiled kernel has run."""
        memories = self.memories(arrays)
        pointers = []
        for id in self.tape.arguments:
            buffer = self.tape.buffer(id)
            pointers.append(memories[id].ctypes.data - buffer.low * buffer.dtype.itemsize)
        assert self.call.run(pointers) == 0
        return self.arrays(memories)

    def interpreted(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The same by the interpreter of the tape."""
        memories = self.memories(arrays)
        interpret(self.tape, memories)
        return self.arrays(memories)

    def scheduled(self, arrays: Sequence[np.ndarray], block: int | None = None, shuffle: bool = False):
        """The same by the interpreter of the schedule."""
        memories = self.memories(arrays)
        run_plan(self.memory, memories, block, shuffle)
        return self.arrays(memories)

    def arrays(self, memories: dict[int, np.ndarray]) -> list[np.ndarray]:
        return [array_of(self.tape.buffer(id), memories[id]).copy() for id in self.tape.arguments]
