"""Where the memories of a plan lie in the functions that run it, and what LLVM is told about them.

Inside loops, what is small and known to one function only lies on its stack, where LLVM turns it into registers: the
scalars that a loop carries. Of everything else, each access says which memories it cannot touch (`alias.scope`,
`noalias`; LLVM Language Reference, 'noalias' and 'alias.scope' Metadata), so that numbers stay in registers across
stores to other arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir

from ...planning.schedule import BranchStep, LibraryStep, LoopStep, Memory, MemoryPlan, Step, memories_of, walk_steps
from ...tape.tape import walk
from ..llvm.addresses import pointer_at
from ..llvm.places import Metadata, Place, Pointers
from ..llvm.types import I1, I8, I64, POINTER, STACK_ALIGNMENT, memory_type

CELL_NBYTES = 512  # of one memory on the stack
STACK_NBYTES = 8192  # of all of them in one function
SCOPES = 100  # memories told apart: the description of each names all others


def inner_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The loops and branches, and all steps inside them."""
    return (inner for step in steps if isinstance(step, LoopStep | BranchStep) for inner in walk_steps([step]))


@dataclass
class Layout:
    """What all functions of one plan share: which memories are on whose stack, and which ones overlap.

    `elsewhere`: memories that a function is passed as an address, which registers do not have.
    """

    plan: MemoryPlan
    chunks: Sequence[Sequence[Step]]
    scratch_offset: int
    cells: list[dict[Memory, np.dtype]] = field(default_factory=list)  # of each chunk
    groups: dict[Memory, int] = field(default_factory=dict)  # memories of different groups share no byte
    scopes: dict[int, Metadata] = field(default_factory=dict)

    def __post_init__(self) -> None:
        inside = Counter(m for chunk in self.chunks for s in inner_steps(chunk) for m in memories_of(s))
        if inside:
            self.choose_cells(set(inside))
            self.group(inside)

    def choose_cells(self, inside: set[Memory]) -> None:
        users: dict[Memory, set[int]] = {m: set() for m in inside}
        refused: set[Memory] = set()
        for number, chunk in enumerate(self.chunks):
            for step in walk_steps(chunk):
                for memory in memories_of(step):
                    users.setdefault(memory, set()).add(number)
                    if isinstance(step, LibraryStep):
                        refused.add(memory)
        dtypes = {v.id: v.dtype for op in walk(self.plan.tape.operations) for v in op.outputs}
        self.cells = [{} for _ in self.chunks]
        room = [STACK_NBYTES] * len(self.chunks)
        for memory in sorted(inside - refused, key=lambda m: (self.plan.sizes.get(m, 0), m.kind, m.id)):
            nbytes = self.plan.sizes.get(memory)
            if nbytes is None or nbytes > CELL_NBYTES or len(users[memory]) > 1:
                continue
            (chunk_number,) = users[memory]
            if nbytes <= room[chunk_number]:
                room[chunk_number] -= nbytes
                buffer = memory.kind == "buffer"
                dtype = self.plan.tape.buffers[memory.id].dtype if buffer else dtypes[memory.id]
                self.cells[chunk_number][memory] = dtype

    def group(self, inside: Counter[Memory]) -> None:
        """Number the memories used most; those whose places in the workspace overlap get one number."""
        offsets, sizes = self.plan.offsets, self.plan.sizes
        on_stack = {memory for cells in self.cells for memory in cells}
        end, number = -1, -1
        for memory in sorted(offsets, key=lambda m: (offsets[m], m.kind, m.id)):
            if memory not in on_stack:
                number += offsets[memory] >= end
                end = max(end, offsets[memory] + sizes[memory])
                self.groups[memory] = number
        for memory in sorted(inside, key=lambda m: (m.kind, m.id)):
            if memory not in offsets:  # the caller's, or constants
                number += 1
                self.groups[memory] = number
        uses = Counter({g: 0 for g in self.groups.values()})
        for memory, times in inside.items():
            if memory in self.groups:
                uses[self.groups[memory]] += times
        self.scopes = {g: () for g, times in uses.most_common(SCOPES) if times}

    def metadata(self, module: ir.Module, memory: Memory) -> Metadata:
        """What accesses to `memory` are marked with."""
        number = self.groups.get(memory, -1)
        if number not in self.scopes:
            return ()
        if not self.scopes[number]:
            domain = module.add_metadata(["memories"])
            scopes = {g: module.add_metadata([f"memory {g}", domain]) for g in self.scopes}
            others = module.add_metadata([scope for g, scope in scopes.items() if g != number])
            self.scopes[number] = (("alias.scope", module.add_metadata([scopes[number]])), ("noalias", others))
        return self.scopes[number]


@dataclass
class KernelPointers(Pointers):
    """The pointers of one function, made in its entry block at first use."""

    builder: ir.IRBuilder | None = None
    workspace: ir.Value | None = None
    layout: Layout | None = None
    cells: dict[Memory, np.dtype] = field(default_factory=dict)

    def of(self, memory: Memory) -> ir.Value:
        found = self.base.get(memory)
        if found is None:
            found = self.base[memory] = self.make(memory)
        return found

    def is_given(self, memory: Memory) -> bool:
        """Whether this function alone knows where a memory is: it was passed it, or has it on its stack."""
        assert self.layout is not None
        plan = self.layout.plan
        if memory in self.cells:
            return True
        if memory.kind != "buffer" or memory in plan.offsets:
            return False
        return plan.tape.buffers[memory.id].array is None

    def place(self, memory: Memory) -> Place:
        assert self.builder is not None and self.layout is not None
        marks = self.layout.metadata(self.builder.module, memory) if self.indices else ()
        return Place(self.of(memory), marks)

    def make(self, memory: Memory) -> ir.Value:
        assert self.builder is not None and self.layout is not None
        plan = self.layout.plan
        array = plan.constants[memory.id] if memory.kind == "constant" else None
        if memory.kind == "buffer":
            array = plan.tape.buffers[memory.id].array
        if array is not None:
            with self.builder.goto_entry_block():
                return pointer_at(self.builder, "array", array)
        offset = self.layout.scratch_offset if memory.kind == "scratch" else plan.offsets[memory]
        low = 0
        if memory.kind == "buffer":
            buffer = plan.tape.buffers[memory.id]
            low = buffer.low * buffer.dtype.itemsize
        with self.builder.goto_entry_block():
            if memory in self.cells:
                return self.builder.gep(self.cell(memory), [ir.Constant(I64, -low)])
            return self.builder.gep(self.workspace, [ir.Constant(I64, offset - low)])

    def cell(self, memory: Memory) -> ir.Value:
        """Memory on the stack, zero at first: LLVM may do anything with a branch on what was never written."""
        assert self.builder is not None and self.layout is not None
        dtype, nbytes = self.cells[memory], self.layout.plan.sizes[memory]
        if nbytes == dtype.itemsize:
            cell = self.builder.alloca(memory_type(dtype))
            cell.align = nbytes
            self.builder.store(ir.Constant(cell.type.pointee, None), cell)
            return self.builder.bitcast(cell, POINTER)
        found = self.builder.alloca(ir.ArrayType(memory_type(dtype), nbytes // dtype.itemsize))
        found.align = STACK_ALIGNMENT
        start = self.builder.bitcast(found, POINTER)
        # Not a store of an array, which LLVM takes apart into one for each element.
        fill = self.builder.module.declare_intrinsic("llvm.memset", (POINTER, I64))
        self.builder.call(fill, [start, I8(0), I64(nbytes), I1(0)])
        return start
