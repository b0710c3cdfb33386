"""The call path: every call is either exactly what was compiled for, or reaches the slow path untouched."""

import gc
import inspect
import pickle
import pydoc
import sys
import threading
import weakref
from collections import namedtuple
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from planned_ad.errors import MemoryLimitError
from planned_ad.kernels.entry import headers
from planned_ad.kernels.entry.callspec import (
    ArgumentResult,
    ArraySpec,
    CallSpec,
    FloatResult,
    FloatSpec,
    SequenceSpec,
    SlotsSpec,
    StaticSpec,
    TupleResult,
)
from planned_ad.kernels.entry.workspace import WorkspacePool, aligned_bytes
from planned_ad.kernels.llvm.codelibrary import Optimization
from tests.call_oracle import match
from tests.compiled_tape import make_builtin
from tests.malloc import count_in_subprocess

INT32, DOUBLE = ir.IntType(32), ir.DoubleType()
Pair = namedtuple("Pair", "left right")
KIND = {"is_long": False}


def emit_doubling(builder, context, leaves, workspace):
    """leaves[-1][0] = 2 leaves[0][0], or status 1 and nothing written where that first number is negative."""
    source, target = (builder.bitcast(leaf, DOUBLE.as_pointer()) for leaf in (leaves[0], leaves[-1]))
    number = builder.load(source)
    broken = builder.fcmp_ordered("<", number, DOUBLE(0.0))
    with builder.if_then(builder.not_(broken)):
        builder.store(builder.fadd(number, number), target)
    return builder.zext(broken, INT32)


@pytest.fixture(params=["short", "long"], autouse=True)
def kind_of_kernel(request, monkeypatch):
    """Each test with checks that LLVM has optimised, and with checks as they were written."""
    monkeypatch.setitem(KIND, "is_long", request.param == "long")


class SlowPath:
    """Remembers the calls that reached it."""

    def __init__(self):
        self.calls = []

    def __call__(self, *arguments, **keywords):
        self.calls.append((arguments, keywords))
        return "slow"


def build(arguments, slow_path=None, *, emit=emit_doubling, fast_path=True, optimization=None, **rest):
    spec = CallSpec(arguments=tuple(arguments), **KIND | rest)
    slow_path = slow_path or SlowPath()
    how = {"optimization": optimization, "fast_path": fast_path}
    return make_builtin("gradient", "Fill dx.", "(x, dx, /)", spec, emit, slow_path, **how)


def build_gradient(slow_path=None, *, shape=(4,), **rest):
    x, dx = np.zeros(shape), np.zeros(shape)
    rest = {"result": ArgumentResult(1), "disjoint": ((0, 1),)} | rest
    return build([ArraySpec.of(x), ArraySpec.of(dx, writeable=True)], slow_path, **rest)


def goes_slow(function, slow_path, *arguments, **keywords):
    """Whether a call reached the slow path, with the very same objects."""
    before = len(slow_path.calls)
    returned = function(*arguments, **keywords)
    if len(slow_path.calls) == before:
        return False
    assert returned == "slow"
    (received, received_keywords) = slow_path.calls.pop()
    assert len(received) == len(arguments) and all(a is b for a, b in zip(received, arguments))
    assert received_keywords.keys() == keywords.keys()
    assert all(received_keywords[key] is keywords[key] for key in keywords)
    return True


def test_this_build_is_supported():
    assert headers.supported()
    assert build_gradient(fast_path=None).fast_path


def test_an_unknown_layout_gives_the_stand_in(monkeypatch):
    monkeypatch.setattr(headers, "supported", lambda: False)
    call = build_gradient(fast_path=None)
    assert not call.fast_path
    assert inspect.isfunction(call.function)
    assert call.function(np.zeros(4), np.zeros(4)) == "slow"
    assert list(inspect.signature(call.function).parameters) == ["x", "dx"]


@pytest.mark.parametrize(
    "name", ["ARRAY_SHAPE", "ARRAY_DATA", "ARRAY_FLAGS", "ARRAY_DESCR", "FLOAT_VALUE", "DESCR_WORD"]
)
def test_a_wrong_offset_is_noticed(monkeypatch, name):
    monkeypatch.setattr(headers, name, getattr(headers, name) - 8)
    assert not headers.supported.__wrapped__()


def test_gradient_writes_and_returns_dx():
    slow = SlowPath()
    function = build_gradient(slow).function
    x, dx = np.full(4, 3.0), np.zeros(4)
    assert function(x, dx) is dx
    assert dx[0] == 6.0 and not slow.calls


class Subclass(np.ndarray):
    pass


def read_only(array):
    array.flags.writeable = False
    return array


def unaligned(n):
    return np.frombuffer(bytearray(8 * n + 1), np.uint8)[1:].view("f8")


MISMATCHES = {
    "ndim": lambda: (np.ones((2, 2)), np.ones(4)),
    "zero-dimensional": lambda: (np.ones(()), np.ones(4)),
    "shape": lambda: (np.ones(5), np.ones(4)),
    "shape of dx": lambda: (np.ones(4), np.ones(5)),
    "strides": lambda: (np.ones(8)[::2], np.ones(4)),
    "negative strides": lambda: (np.ones(4)[::-1], np.ones(4)),
    "dtype": lambda: (np.ones(4, "f4"), np.ones(4)),
    "dtype of the same size": lambda: (np.ones(4, "i8"), np.ones(4)),
    "byte order": lambda: (np.ones(4, ">f8"), np.ones(4)),
    "subclass": lambda: (np.ones(4).view(Subclass), np.ones(4)),
    "masked": lambda: (np.ma.ones(4), np.ones(4)),
    "read-only dx": lambda: (np.ones(4), read_only(np.ones(4))),
    "unaligned": lambda: (unaligned(4), np.ones(4)),
    "list": lambda: ([1.0] * 4, np.ones(4)),
    "None": lambda: (np.ones(4), None),
    "float": lambda: (1.0, np.ones(4)),
    "too few": lambda: (np.ones(4),),
    "none at all": lambda: (),
    "too many": lambda: (np.ones(4), np.ones(4), np.ones(4)),
    "same array": lambda: (np.ones(4),) * 2,
    "overlap from below": lambda: (lambda a: (a[0:4], a[3:7]))(np.ones(9)),
    "overlap from above": lambda: (lambda a: (a[3:7], a[0:4]))(np.ones(9)),
    "broken guard": lambda: (np.full(4, -1.0), np.ones(4)),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_mismatches_reach_the_slow_path_untouched(case):
    slow = SlowPath()
    function = build_gradient(slow).function
    arguments = MISMATCHES[case]()
    before = [np.array(argument) for argument in arguments]
    assert goes_slow(function, slow, *arguments)
    assert all(np.array_equal(a, np.array(b)) for a, b in zip(before, arguments) if b is not None)


MATCHES = {
    "plain": lambda: (np.ones(4), np.ones(4)),
    "read-only x": lambda: (read_only(np.ones(4)), np.ones(4)),
    "adjacent": lambda: (lambda a: (a[0:4], a[4:8]))(np.ones(9)),
    "adjacent, exchanged": lambda: (lambda a: (a[4:8], a[0:4]))(np.ones(9)),
    "unpickled dtype": lambda: (pickle.loads(pickle.dumps(np.ones(4))), np.ones(4)),
    "dtype with metadata": lambda: (np.ones(4, np.dtype("f8", metadata={"a": 1})), np.ones(4)),
}


@pytest.mark.parametrize("case", MATCHES)
def test_matches_stay_on_the_fast_path(case):
    slow = SlowPath()
    function = build_gradient(slow).function
    assert not goes_slow(function, slow, *MATCHES[case]())


def test_keyword_arguments_reach_the_slow_path():
    slow = SlowPath()
    function = build_gradient(slow).function
    x, dx = np.ones(4), np.zeros(4)
    assert goes_slow(function, slow, x, dx=dx)
    assert goes_slow(function, slow, x=x, dx=dx)
    assert goes_slow(function, slow, x, dx, n=3)
    assert not dx.any()


def test_strides_that_nothing_uses_are_not_compared():
    slow = SlowPath()
    one = np.lib.stride_tricks.as_strided(np.ones(4), (1, 4), (999, 8))
    empty = np.lib.stride_tricks.as_strided(np.ones(4), (0, 4), (7, 7))
    function = build([ArraySpec.of(np.ones((1, 4)), writeable=True)], slow).function
    assert not goes_slow(function, slow, one)
    function = build([ArraySpec.of(np.ones((0, 4)))], slow, emit=emit_nothing).function
    assert not goes_slow(function, slow, empty)


def emit_nothing(builder, context, leaves, workspace):
    return INT32(0)


def test_empty_arrays_never_overlap():
    slow = SlowPath()
    base = np.ones((4, 4))
    specs = [ArraySpec.of(base), ArraySpec.of(base[1:1], writeable=True)]
    function = build(specs, slow, emit=emit_nothing, disjoint=((0, 1),)).function
    assert not goes_slow(function, slow, base, base[1:1])


def test_negative_strides_reach_below_the_first_element():
    slow = SlowPath()
    base = np.ones(8)
    specs = [ArraySpec.of(base[3::-1]), ArraySpec.of(base[:4], writeable=True)]
    function = build(specs, slow, disjoint=((0, 1),)).function
    assert goes_slow(function, slow, base[6:2:-1], base[:4])
    assert not goes_slow(function, slow, base[7:3:-1], base[:4])


ELEMENTS = ["?", "i1", "u2", "i4", "u4", "i8", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("element", ELEMENTS)
def test_each_dtype_is_only_itself(element):
    slow = SlowPath()
    function = build([ArraySpec.of(np.zeros(3, element))], slow, emit=emit_nothing).function
    slow_ones = [other for other in ELEMENTS if goes_slow(function, slow, np.zeros(3, other))]
    assert slow_ones == [other for other in ELEMENTS if other != element]


@pytest.mark.parametrize("dtype", [">f8", "O", "U3", "M8[s]", [("a", "f8")]])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match="only native numbers"):
        ArraySpec.of(np.zeros(3, dtype))


def test_floats_and_outputs():
    slow = SlowPath()
    call = build([FloatSpec()], slow, outputs=1, result=FloatResult(0))
    assert call.function(2.5) == 5.0 and type(call.function(2.5)) is float
    assert call.function(np.float64(2.5)) == 5.0
    for other in (2, np.float32(2), True, None, np.array(2.0), 1j, type("F", (float,), {})(2.0), -1.0):
        assert goes_slow(call.function, slow, other)


def test_static_arguments():
    slow = SlowPath()
    word = "mode"
    specs = [FloatSpec(), StaticSpec(value=word), StaticSpec(value=100_000), StaticSpec(value=None)]
    function = build(specs, slow, outputs=1, result=FloatResult(0)).function
    assert function(1.0, word, int("100000"), None) == 2.0
    for changed in (
        (1.0, "other", 100_000, None),
        (1.0, word, 99_999, None),
        (1.0, word, 100_000 + 2**64, None),
        (1.0, word, -(10**40), None),
        (1.0, word, 100_000.0, None),
        (1.0, word, np.int64(100_000), None),
        (1.0, word, 100_000, False),
    ):
        assert goes_slow(function, slow, *changed)
    small = build([FloatSpec(), StaticSpec(value=1)], slow, emit=emit_nothing).function
    assert not goes_slow(small, slow, 1.0, 1)
    assert goes_slow(small, slow, 1.0, True)
    minus_one = build([StaticSpec(value=-1)], slow, emit=emit_nothing).function
    assert not goes_slow(minus_one, slow, -1)
    assert goes_slow(minus_one, slow, 10**30)  # which overflows to -1
    huge = build([StaticSpec(value=10**30)], slow, emit=emit_nothing).function
    assert goes_slow(huge, slow, int("1" + "0" * 30))


@pytest.mark.parametrize("release_gil", [False, True])
def test_sequences(release_gil):
    slow = SlowPath()
    leaf = ArraySpec.of(np.zeros(4), writeable=True)
    inner = SequenceSpec(type=Pair, items=(FloatSpec(), leaf))
    specs = [leaf, SequenceSpec(type=list, items=(leaf, inner)), SequenceSpec(type=tuple, items=())]
    function = build(specs, slow, disjoint=((0, 2), (1, 2)), result=ArgumentResult(1), release_gil=release_gil).function
    a, b, c = np.ones(4), np.ones(4), np.zeros(4)
    held = sys.getrefcount(b), sys.getrefcount(c)
    nested = [b, Pair(1.0, c)]
    assert function(a, nested, ()) is nested
    assert c[0] == 2.0
    assert not goes_slow(function, slow, a, [a, Pair(1.0, c)], ())
    for changed in (
        (b, Pair(1.0, c)),
        [b, (1.0, c)],
        [b, [1.0, c]],
        [b],
        [b, Pair(1.0, c), None],
        [b, Pair(1, c)],
        [c, Pair(1.0, c)],
        [b, Pair(c, 1.0)],
        [],
    ):
        assert goes_slow(function, slow, a, changed, ())
    assert goes_slow(function, slow, a, nested, [])
    assert goes_slow(function, slow, a, nested, ((),))
    del nested, changed
    assert (sys.getrefcount(b), sys.getrefcount(c)) == held


class Slotted:
    __slots__ = ("another", "array", "mark")

    def __init__(self, mark, array):
        self.mark, self.array, self.another = mark, array, None


@pytest.mark.parametrize("release_gil", [False, True])
def test_slots(release_gil):
    slow, mark, leaf = SlowPath(), object(), ArraySpec.of(np.zeros(4), writeable=True)
    spec = SlotsSpec(type=Slotted, names=("array", "mark"), items=(leaf, StaticSpec(value=mark)))
    function = build([leaf, spec], slow, disjoint=((0, 1),), result=ArgumentResult(0), release_gil=release_gil).function
    a, b = np.ones(4), np.zeros(4)
    held = sys.getrefcount(b), sys.getrefcount(mark)
    assert function(a, Slotted(mark, b)) is a
    assert b[0] == 2.0
    for wrong in (Slotted(object(), b), Slotted(mark, np.zeros(5)), Slotted(mark, a), (b, mark), None):
        assert goes_slow(function, slow, a, wrong)
    del wrong
    assert (sys.getrefcount(b), sys.getrefcount(mark)) == held


def test_nested_results():
    leaf = ArraySpec.of(np.zeros(4))
    result = TupleResult((FloatResult(0), TupleResult((ArgumentResult(0), None)), TupleResult(())))
    function = build([leaf], outputs=1, result=result).function
    x = np.full(4, 4.0)
    value, (same, nothing), empty = function(x)
    assert (value, nothing, empty) == (8.0, None, ()) and same is x


def test_no_references_are_lost_or_kept():
    leaf = ArraySpec.of(np.zeros(4))
    result = TupleResult((FloatResult(0), ArgumentResult(0), None))
    slow = SlowPath()
    function = build([leaf], slow, outputs=1, result=result).function
    x, broken = np.ones(4), -np.ones(4)
    for _ in range(3):  # what Numba has left of other tests goes in steps, and refers to None
        gc.collect()
    start = sys.getrefcount(x), sys.getrefcount(broken), sys.getrefcount(None), sys.getrefcount(function)
    for _ in range(1000):
        function(x)
        function(broken)
        slow.calls.clear()
    gc.collect()
    end = sys.getrefcount(x), sys.getrefcount(broken), sys.getrefcount(None), sys.getrefcount(function)
    assert max(abs(a - b) for a, b in zip(start, end)) < 10
    assert (start[0], start[1]) == (end[0], end[1])
    kept = [function(x) for _ in range(10)]
    known = [object() for _ in range(10)]
    assert {sys.getrefcount(item) for item in kept} == {sys.getrefcount(item) for item in known}
    assert sys.getrefcount(x) == start[0] + 10


def test_exceptions_of_the_slow_path_propagate():
    def refuse(*arguments):
        raise ValueError("x has another shape")

    function = build_gradient(refuse).function
    x = np.ones(5)
    held = sys.getrefcount(x)
    for _ in range(10):
        with pytest.raises(ValueError, match="another shape"):
            function(x, np.ones(4))
    gc.collect()
    assert sys.getrefcount(x) == held


def test_calls_form_a_chain():
    slow = SlowPath()
    short = build_gradient(slow, shape=(4,))
    function = build_gradient(short.function, shape=(5,)).function
    assert function(np.ones(5), np.ones(5))[0] == function(np.ones(4), np.ones(4))[0] == 2.0
    assert goes_slow(function, slow, np.ones(6), np.ones(6))


def test_the_kernel_runs_on_given_pointers():
    call = build_gradient(workspace_nbytes=100)
    x, dx = np.ones(4), np.zeros(4)
    assert call.run([x.ctypes.data, dx.ctypes.data]) == 0
    assert dx[0] == 2.0
    x[0] = -1.0
    assert call.run([x.ctypes.data, dx.ctypes.data]) == 1


def emit_slow_sum(builder, context, leaves, workspace):
    """Count through the workspace, slowly enough for threads to meet: dx[0] = 20000 x[0], exactly for integers."""
    x, dx, memory = (builder.bitcast(pointer, DOUBLE.as_pointer()) for pointer in (*leaves, workspace))
    builder.store(DOUBLE(0.0), memory)
    before, loop, after = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    index = builder.phi(INT32)
    index.add_incoming(INT32(0), before)
    total = builder.load(memory)
    total.volatile = True
    updated = builder.store(builder.fadd(total, builder.load(x)), memory)
    updated.volatile = True
    following = builder.add(index, INT32(1))
    index.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, INT32(20_000)), loop, after)
    builder.position_at_end(after)
    builder.store(builder.load(memory), dx)
    return INT32(0)


@pytest.mark.parametrize("release_gil", [True, False])
def test_threads_do_not_share_a_workspace(release_gil):
    contended = []

    def slow(x, dx):
        contended.append(None)
        assert call.run([x.ctypes.data, dx.ctypes.data]) == 0
        return dx

    call = build_gradient(slow, emit=emit_slow_sum, workspace_nbytes=64, release_gil=release_gil)
    wrong = []

    def work(number, ready):
        x, dx = np.full(4, number), np.zeros(4)
        ready.wait()
        for _ in range(200):
            dx[0] = 0.0
            if call.function(x, dx) is not dx or dx[0] != 20_000 * number:
                wrong.append(dx[0])

    rounds = 0
    while rounds < 50 and not contended:  # threads that run one after the other do not meet
        rounds += 1
        ready = threading.Barrier(8)
        threads = [threading.Thread(target=work, args=(float(number), ready)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not release_gil:
            break
    assert not wrong
    assert len(contended) < 1600 * rounds
    assert bool(contended) == release_gil


def test_workspaces_are_aligned_and_used_again():
    pool = WorkspacePool(1000)
    first, second = pool.take(), pool.take()
    assert first.nbytes == 1000 and first.ctypes.data % 64 == second.ctypes.data % 64 == 0
    assert not np.shares_memory(first, second)
    pool.give(first)
    assert pool.take() is first
    assert aligned_bytes(0).nbytes == 0


def test_documentation_and_signature():
    function = build_gradient().function
    assert function.__name__ == "gradient" and function.__doc__ == "Fill dx."
    assert str(inspect.signature(function)) == "(x, dx, /)"
    assert "gradient(x, dx, /)" in pydoc.render_doc(function, renderer=pydoc.plaintext)


def test_a_call_is_freed_with_its_slow_path():
    class Plan:
        alive: ClassVar = weakref.WeakSet()

        def __call__(self, *arguments):
            return None

    plan = Plan()
    Plan.alive.add(plan)
    plan.gradient = build_gradient(plan).function  # a cycle
    del plan
    gc.collect()
    assert not Plan.alive


def test_code_can_be_read():
    call = build_gradient(optimization=Optimization(level=1))
    assert "PyObject_Vectorcall" in call.llvm()
    assert "PyObject_Vectorcall" in call.asm()


NOTHING_ALLOCATED = """
import numpy as np
from planned_ad.kernels.entry.callspec import *
from tests.kernels.test_callpath import build, build_gradient
x, dx = np.ones(4), np.ones(4)
gradient = build_gradient(workspace_nbytes=4096, release_gil={release_gil}).function
leaf = ArraySpec.of(x)
nested = build([SequenceSpec(type=list, items=(leaf, FloatSpec())), StaticSpec(value=1000)], outputs=1).function
value = build([leaf], outputs=1, result=TupleResult((FloatResult(0), ArgumentResult(0)))).function
argument, thousand = [x, 1.0], 1000
def call():
    gradient(x, dx)
    nested(argument, thousand)
    {more}
"""


@pytest.mark.parametrize("release_gil", [True, False])
def test_nothing_is_allocated(release_gil):
    code = NOTHING_ALLOCATED.format(release_gil=release_gil, more="")
    assert count_in_subprocess(code) == {"malloc": 0, "blocks": 0}
    assert count_in_subprocess(code, python_objects=True)["malloc"] == 0


def test_new_results_are_the_only_objects():
    code = NOTHING_ALLOCATED.format(release_gil=False, more="value(x)")
    assert count_in_subprocess(code) == {"malloc": 0, "blocks": 0}


DTYPES = st.sampled_from([np.dtype("f8"), np.dtype("f4"), np.dtype("i8"), np.dtype("i4"), np.dtype(">f8")])
LEAF_SPEC = ArraySpec(dtype=np.dtype("f8"), shape=(2, 3), strides=(24, 8), writeable=True)
SPECS = (LEAF_SPEC, SequenceSpec(type=tuple, items=(LEAF_SPEC, FloatSpec())), StaticSpec(value=3))
arrays = st.one_of(
    st.builds(lambda start: np.zeros(40)[start : start + 6].reshape(2, 3), st.integers(0, 34)),
    st.builds(
        lambda dtype, shape, order: np.zeros(shape, dtype, order),
        DTYPES,
        st.sampled_from([(2, 3), (3, 2), (6,)]),
        st.sampled_from("CF"),
    ),
    st.builds(lambda start, step: SHARED[start : start + 2 * step : step], st.integers(0, 5), st.integers(1, 2)),
)
SHARED = np.zeros((9, 3))
anything = st.one_of(
    arrays, st.floats(), st.integers(0, 4), st.none(), st.tuples(arrays, st.floats()), st.lists(arrays)
)
mostly_right = st.tuples(
    arrays, st.one_of(st.tuples(arrays, st.floats()), anything), st.sampled_from([3, 3, 3, 4, "3"])
)


@pytest.fixture(scope="module")
def arbiter():
    slow = SlowPath()
    spec = CallSpec(arguments=SPECS, disjoint=((0, 1),), **KIND)
    return slow, spec, make_builtin("f", "", "(*a)", spec, emit_nothing, slow).function


@settings(max_examples=500, deadline=None)
@given(arguments=st.one_of(mostly_right, st.lists(anything, max_size=4).map(tuple)))
def test_machine_code_decides_as_python_does(arbiter, arguments):
    slow, spec, function = arbiter
    assert goes_slow(function, slow, *arguments) == (match(spec, arguments) is None)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("nbytes", [1 << 50, 1 << 70])
def test_more_memory_than_there_is(nbytes: int, sparse: bool) -> None:
    with pytest.raises(MemoryLimitError, match=rf"needs {nbytes:,} bytes of workspace.*max_steps="):
        aligned_bytes(nbytes, sparse)
