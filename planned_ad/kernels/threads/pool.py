"""The threads that parts of steps run in: one pool for a process, started and joined by machine code.

`run(function, context, parts, threads)` calls `function(context, part, thread)` for each part, in this thread (number
0) and in up to `threads - 1` others, and returns when all are done. It allocates
nothing, takes no lock that anybody waits for, and needs no GIL. Each thread has a range of parts, the same one of each
step, since what they work on is in its cache then (three times as fast on a stencil); when that is done it takes parts
of the others. Where the caller gets no help it does all parts itself: another call is using the pool, the threads are
not there (in a fork), or they are late. So it cannot hang, and calls inside of calls are right.

The workers are daemon threads of Python's, which are in machine code from their start to their end. They look for work
for some tens of microseconds after they have done some, then they sleep on a condition variable of the C library.

What they agree by is the word `STATE`: which job it is, how many may help, whether one may still join, and how many
are inside. A worker joins by adding one to it while it is open; the caller closes it when no part is left, and waits
until nobody is inside. Where there are no POSIX threads (Windows) there are no workers.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import platform
import sys
import threading

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

from ..llvm.addresses import pointer_at
from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import REGISTERED, CodeLibrary, compile_module
from ..llvm.places import loop
from ..llvm.types import I32, I64, POINTER
from ..maths.notation import declare

SPINS = 1500  # looks for work before a worker sleeps: some tens of microseconds
LOOKS = 20_000  # at whether the others are done, for half a millisecond, before the caller lets other programs run

# Cells of the pool's memory, in integers of 8 bytes: those that several threads change lie in cache lines of their own.
STATE, FUNCTION, CONTEXT, PARTS, RANGES, MODE, BUSY, WORKERS, STOP, SLEEPERS, MUTEX, CONDITION, NEXT = (
    0, 16, 17, 18, 19, 20, 32, 33, 34, 48, 64, 80, 96,
)  # fmt: skip
MOST_RANGES = 64  # of parts: the next part of each is in a cell from `NEXT` on ...
APART = 16  # ... so far apart
END = NEXT + MOST_RANGES * APART
INSIDE, OPEN, LIMIT, JOB = (1 << 15) - 1, 1 << 15, 16, 32  # of the state: a mask, a bit, and two shifts
MOST_WORKERS = 1 << 10

VOID = ir.VoidType()
PART = ir.FunctionType(VOID, [POINTER, I64, I64])  # context, part, thread
PREFIX = "planned_ad.threads."


def supported() -> bool:
    """Whether there are POSIX threads."""
    return sys.platform != "win32"


# The machine code.


class PoolCells:
    """The emission of accesses to the pool's memory."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        with builder.goto_entry_block():
            self.start = pointer_at(builder, "array", pool_memory(), I64)

    def at(self, cell: int | ir.Value) -> ir.Value:
        return self.builder.gep(self.start, [I64(cell) if isinstance(cell, int) else cell])

    def load(self, cell: int, order: str = "monotonic") -> ir.Value:
        return self.builder.load_atomic(self.at(cell), order, 8)

    def store(self, cell: int | ir.Value, value: ir.Value, order: str = "monotonic") -> None:
        self.builder.store_atomic(value, self.at(cell), order, 8)

    def add(self, cell: int | ir.Value, number: int, order: str) -> ir.Value:
        return self.builder.atomic_rmw("add", self.at(cell), I64(number), order)

    def call(self, name: str, *cells: int) -> None:
        """A function of the C library, on objects that lie in cells; where there is none, nobody waits for it."""
        if not supported():
            return
        function = declare(self.builder.module, name, I32, [POINTER] * len(cells))
        self.builder.call(function, [self.builder.bitcast(self.at(cell), POINTER) for cell in cells])


def emit_run(module: ir.Module) -> None:
    """`void run(function, context, parts, threads)`."""
    kind = ir.FunctionType(VOID, [POINTER, POINTER, I64, I64])
    function, parts_done = ir.Function(module, kind, "run"), take_parts(module)
    builder = TerseBuilder(function.append_basic_block("entry"))
    cells, (what, context, parts, threads) = PoolCells(builder), function.args
    alone, first, together = (function.append_basic_block(n) for n in ("alone", "first", "together"))
    others, workers = builder.sub(threads, I64(1)), cells.load(WORKERS)
    helpers = builder.select(builder.icmp_signed("<", others, workers), others, workers)
    builder.cbranch(builder.icmp_signed(">", helpers, I64(0)), first, alone)

    builder.position_at_end(first)
    claimed = builder.cmpxchg(cells.at(BUSY), I64(0), I64(1), "acquire", "monotonic")
    builder.cbranch(builder.extract_value(claimed, 1), together, alone)

    builder.position_at_end(alone)
    with loop(builder, I64(0), parts, 1) as part:
        builder.call(builder.bitcast(what, PART.as_pointer()), [context, part, I64(0)])
    builder.ret_void()

    builder.position_at_end(together)
    for cell, pointer in ((FUNCTION, what), (CONTEXT, context)):
        cells.store(cell, builder.ptrtoint(pointer, I64))
    cells.store(PARTS, parts)
    ranges = builder.add(helpers, I64(1))
    ranges = builder.select(builder.icmp_signed("<", ranges, I64(MOST_RANGES)), ranges, I64(MOST_RANGES))
    cells.store(RANGES, ranges)
    with loop(builder, I64(0), ranges, 1) as number:
        cells.store(next_of(builder, number), first_of(builder, parts, number, ranges))
    keep_mode(builder, cells)
    job = builder.lshr(cells.load(STATE), I64(JOB))
    job = builder.shl(builder.add(job, I64(1)), I64(JOB))
    state = builder.or_(builder.or_(job, I64(OPEN)), builder.shl(helpers, I64(LIMIT)))
    cells.store(STATE, state, "seq_cst")
    # Who is about to sleep has said so before it looked at the state for the last time.
    with builder.if_then(builder.icmp_signed(">", cells.load(SLEEPERS, "seq_cst"), I64(0)), likely=False):
        cells.call("pthread_mutex_lock", MUTEX)
        cells.call("pthread_cond_broadcast", CONDITION)
        cells.call("pthread_mutex_unlock", MUTEX)
    builder.call(parts_done, [I64(0)])
    builder.atomic_rmw("and", cells.at(STATE), I64(~OPEN), "acq_rel")
    wait_for_others(builder, cells)
    cells.store(BUSY, I64(0), "release")
    builder.ret_void()


def wait_for_others(builder: ir.IRBuilder, cells: PoolCells) -> None:
    """Until nobody is inside."""
    function, before = builder.function, builder.block
    look, wait, again, after = (function.append_basic_block(n) for n in ("look", "wait", "again", "after"))
    builder.branch(look)
    builder.position_at_end(look)
    looks = builder.phi(I64)
    inside = builder.and_(cells.load(STATE, "acquire"), I64(INSIDE))
    builder.cbranch(builder.icmp_signed("==", inside, I64(0)), after, wait)
    builder.position_at_end(wait)
    pause(builder)
    with builder.if_then(builder.icmp_signed(">", looks, I64(LOOKS)), likely=False):
        cells.call("sched_yield")
    builder.branch(again)
    builder.position_at_end(again)
    looks.add_incoming(I64(0), before)
    looks.add_incoming(builder.add(looks, I64(1)), again)
    builder.branch(look)
    builder.position_at_end(after)


def next_of(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """The cell that holds the next part of a range."""
    return builder.add(builder.mul(number, I64(APART)), I64(NEXT))


def first_of(builder: ir.IRBuilder, parts: ir.Value, number: ir.Value, ranges: ir.Value) -> ir.Value:
    """The first part of a range."""
    return builder.udiv(builder.mul(parts, number), ranges)


def take_parts(module: ir.Module) -> ir.Function:
    """`void take_parts(thread)`: does parts until none is left, those of its own range first."""
    found = module.globals.get("take_parts")
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(VOID, [I64]), "take_parts")
    function.linkage = "internal"
    builder = TerseBuilder(function.append_basic_block("entry"))
    cells, (thread,) = PoolCells(builder), function.args
    what = builder.inttoptr(cells.load(FUNCTION), PART.as_pointer())
    context, parts, ranges = builder.inttoptr(cells.load(CONTEXT), POINTER), cells.load(PARTS), cells.load(RANGES)
    with loop(builder, I64(0), ranges, 1) as moved:
        number = builder.urem(builder.add(thread, moved), ranges)
        end = first_of(builder, parts, builder.add(number, I64(1)), ranges)
        take, do, after = (function.append_basic_block(n) for n in ("take", "do", "after"))
        builder.branch(take)
        builder.position_at_end(take)
        part = cells.add(next_of(builder, number), 1, "monotonic")
        builder.cbranch(builder.icmp_signed("<", part, end), do, after)
        builder.position_at_end(do)
        builder.call(what, [context, part, thread])
        builder.branch(take)
        builder.position_at_end(after)
    builder.ret_void()
    return function


def emit_work(module: ir.Module) -> None:
    """`void work(number)`: the life of the worker of this number, from 0 on."""
    function, parts_done = ir.Function(module, ir.FunctionType(VOID, [I64]), "work"), take_parts(module)
    builder = TerseBuilder(function.append_basic_block("entry"))
    number, cells = function.args[0], PoolCells(builder)
    names = "rested", "look", "closed", "tired", "join", "joined", "sleep", "check", "wait", "awake", "over"
    rested, look, closed, tired, join, joined, sleep, check, wait, awake, over = map(function.append_basic_block, names)
    done = builder.alloca(I64)  # the last job that it has seen
    spins = builder.alloca(I64)
    builder.store(I64(-1), done)
    builder.branch(rested)

    builder.position_at_end(rested)
    builder.store(I64(0), spins)
    builder.branch(look)

    builder.position_at_end(look)
    state, wanted = may_join(builder, cells, number, done)
    builder.cbranch(wanted, join, closed)

    builder.position_at_end(closed)
    stopped = builder.icmp_signed("!=", cells.load(STOP), I64(0))
    pause(builder)
    spun = builder.add(builder.load(spins), I64(1))
    builder.store(spun, spins)
    builder.cbranch(stopped, over, tired)
    builder.position_at_end(tired)
    builder.cbranch(builder.icmp_signed("<", spun, I64(SPINS)), look, sleep)

    builder.position_at_end(join)
    counted = builder.cmpxchg(cells.at(STATE), state, builder.add(state, I64(1)), "acq_rel", "monotonic")
    builder.cbranch(builder.extract_value(counted, 1), joined, look)
    builder.position_at_end(joined)
    builder.store(builder.lshr(state, I64(JOB)), done)
    take_mode(builder, cells)
    builder.call(parts_done, [builder.add(number, I64(1))])
    cells.add(STATE, -1, "acq_rel")
    builder.branch(rested)

    builder.position_at_end(sleep)
    cells.call("pthread_mutex_lock", MUTEX)
    cells.add(SLEEPERS, 1, "seq_cst")
    builder.branch(check)
    builder.position_at_end(check)
    _, wanted = may_join(builder, cells, number, done)
    stopped = builder.icmp_signed("!=", cells.load(STOP, "seq_cst"), I64(0))
    builder.cbranch(builder.or_(wanted, stopped), awake, wait)
    builder.position_at_end(wait)
    cells.call("pthread_cond_wait", CONDITION, MUTEX)
    builder.branch(check)
    builder.position_at_end(awake)
    cells.add(SLEEPERS, -1, "seq_cst")
    cells.call("pthread_mutex_unlock", MUTEX)
    builder.branch(rested)

    builder.position_at_end(over)
    builder.ret_void()


def may_join(builder: ir.IRBuilder, cells: PoolCells, number: ir.Value, done: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The state, and whether there is a job that this worker has not seen, and may help with."""
    state = cells.load(STATE, "seq_cst")
    is_open = builder.icmp_signed("!=", builder.and_(state, I64(OPEN)), I64(0))
    is_new = builder.icmp_signed("!=", builder.lshr(state, I64(JOB)), builder.load(done))
    limit = builder.and_(builder.lshr(state, I64(LIMIT)), I64((1 << (JOB - LIMIT)) - 1))
    return state, builder.and_(builder.and_(is_open, is_new), builder.icmp_signed("<", number, limit))


X86 = platform.machine().lower() in ("x86_64", "amd64")


def pause(builder: ir.IRBuilder) -> None:
    """Tell the processor that this loop only looks."""
    if X86:
        builder.call(declare(builder.module, "llvm.x86.sse2.pause", VOID, []), [])


def keep_mode(builder: ir.IRBuilder, cells: PoolCells) -> None:
    """Note how this thread rounds, and whether it flushes subnormal numbers: workers are to do as it does."""
    if X86:
        store = declare(builder.module, "llvm.x86.sse.stmxcsr", VOID, [POINTER])
        builder.call(store, [builder.bitcast(cells.at(MODE), POINTER)])


def take_mode(builder: ir.IRBuilder, cells: PoolCells) -> None:
    if X86:
        load = declare(builder.module, "llvm.x86.sse.ldmxcsr", VOID, [POINTER])
        builder.call(load, [builder.bitcast(cells.at(MODE), POINTER)])


# The process.


def pool_memory() -> np.ndarray:
    """The pool's memory, for the life of the process."""
    return _MEMORY


def aligned_cells() -> np.ndarray:
    cells = np.zeros(END + 16, np.int64)
    return cells[-(cells.ctypes.data // 8) % 16 :][:END]


_MEMORY = aligned_cells()
_loaded: list[CodeLibrary] = []


def library() -> CodeLibrary:
    """The machine code: once, whoever asks, since workers are in it all their lives."""

    def emit(module: ir.Module) -> None:
        emit_run(module)
        emit_work(module)

    with global_compiler_lock:
        if not _loaded:
            _loaded.append(compile_module("planned_ad.threads", emit))
    return _loaded[0]


@functools.cache
def pool_routine(name: str) -> str:
    """Register `run` with LLVM; the symbol under which kernels call it."""
    symbol = PREFIX + name
    llvm.add_symbol(symbol, library().address(name))
    return symbol


REGISTERED[PREFIX] = pool_routine


class Workers:
    """The threads of this process besides the callers'. There are as many as the plan with most threads wants."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    @property
    def count(self) -> int:
        return len(self._threads)

    def at_least(self, count: int) -> None:
        """Have so many workers, if they can be had."""
        count = min(count, MOST_WORKERS)
        if len(self._threads) >= count or not supported():
            return
        work = ctypes.CFUNCTYPE(None, ctypes.c_int64)(library().address("work"))  # which releases the GIL
        with self._lock:
            if not self._threads:
                self._prepare()
            for number in range(len(self._threads), count):
                name = f"planned_ad worker {number + 1}"
                thread = threading.Thread(target=work, args=(number,), name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more are to be had, or Python is ending
                    break
                self._threads.append(thread)
            pool_memory()[WORKERS] = len(self._threads)

    def _prepare(self) -> None:
        """New locks, and a function that sends the workers home before Python takes itself apart."""
        cells, c = pool_memory(), ctypes.CDLL(None)
        cells[STATE], cells[BUSY], cells[STOP], cells[SLEEPERS] = int(cells[STATE]) >> JOB << JOB, 0, 0, 0
        cells[MUTEX:NEXT] = 0
        c.pthread_mutex_init(ctypes.c_void_p(cells[MUTEX:].ctypes.data), None)
        c.pthread_cond_init(ctypes.c_void_p(cells[CONDITION:].ctypes.data), None)
        atexit.unregister(self.stop)
        atexit.register(self.stop)

    def stop(self) -> None:
        """End all workers. Calls go on, each in its own thread."""
        with self._lock:
            cells, c = pool_memory(), ctypes.CDLL(None)
            cells[WORKERS], cells[STOP] = 0, 1
            if self._threads:
                mutex = ctypes.c_void_p(cells[MUTEX:].ctypes.data)
                c.pthread_mutex_lock(mutex)
                c.pthread_cond_broadcast(ctypes.c_void_p(cells[CONDITION:].ctypes.data))
                c.pthread_mutex_unlock(mutex)
            for thread in self._threads:
                thread.join()
            self._threads.clear()

    def forget(self) -> None:
        """In a fork, which has none of the threads: calls do all parts themselves until workers are asked for again."""
        self._lock, self._threads = threading.Lock(), []
        pool_memory()[WORKERS] = pool_memory()[BUSY] = 0


WORKING = Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKING.forget)


def emit_parts_call(builder: ir.IRBuilder, part: ir.Function, context: ir.Value, parts: int, threads: int) -> None:
    """Have all parts done by `threads` threads."""
    function = declare(builder.module, pool_routine("run"), VOID, [POINTER, POINTER, I64, I64])
    builder.call(function, [builder.bitcast(part, POINTER), context, I64(parts), I64(threads)])
