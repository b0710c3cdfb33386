"""Calls of the same kind have the same entry, as it would be emitted for each of them."""

from dataclasses import replace

import numpy as np
import pytest

from planned_ad.kernels.entry.callemit import CallEmitter
from planned_ad.kernels.entry.callpath import ENTRY, compiled_entry
from planned_ad.kernels.entry.callspec import (
    ArgumentResult,
    ArraySpec,
    CallSpec,
    ConstantResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    Forms,
    NewArray,
    SequenceSpec,
    StaticSpec,
    TupleResult,
)
from planned_ad.kernels.entry.kinds_of_calls import AnyWatch, kind_of_call
from planned_ad.kernels.llvm.addresses import TableModule

X, DX = ArraySpec.of(np.zeros(4)), ArraySpec.of(np.zeros(4), writeable=True)
GRADIENT = CallSpec(arguments=(X, DX), disjoint=((0, 1),), result=ArgumentResult(1), workspace_nbytes=64)
SPECS = {
    "gradient": GRADIENT,
    "more memory": replace(GRADIENT, workspace_nbytes=1 << 20, sparse=True),
    "fixed": replace(GRADIENT, fixed=((4096, 32), (8192, 8))),
    "watched": replace(GRADIENT, watch=AnyWatch()),
    "unlocked": replace(GRADIENT, release_gil=True),
    "unlocked without memory": replace(GRADIENT, release_gil=True, workspace_nbytes=0),
    "long": replace(GRADIENT, is_long=True),
    "forms": replace(GRADIENT, forms=Forms(names=("x", "dx"), made=((1, NewArray(DX, True)),))),
    "other shape": replace(GRADIENT, arguments=(ArraySpec.of(np.zeros((2, 2))), DX)),
    "numbers": CallSpec(arguments=(FloatSpec(), StaticSpec(value=1)), result=FloatResult(0), outputs=1),
    "items": CallSpec(
        arguments=(SequenceSpec(type=list, items=(X, FloatSpec(written=True))),),
        result=TupleResult((ArgumentResult(0), FloatResult(0))),
        outputs=1,
    ),
}


def emitted(spec):
    module = TableModule(ENTRY)
    CallEmitter(module, ENTRY, spec).emit()
    return str(module), [(referent.kind, referent.what) for referent in module.referents.values()]


@pytest.mark.parametrize("name", SPECS)
def test_a_kind_has_the_entry_of_each_of_its_calls(name):
    spec = SPECS[name]
    kind = kind_of_call(spec)
    assert emitted(spec) == emitted(kind)
    alike = {other for other in SPECS if kind_of_call(SPECS[other]) == kind and (SPECS[other].watch is spec.watch)}
    assert alike == ({"gradient", "more memory"} if name in ("gradient", "more memory") else {name})


def test_an_entry_is_emitted_once_for_a_kind():
    assert compiled_entry(SPECS["more memory"]) is compiled_entry(GRADIENT)
    assert compiled_entry(SPECS["watched"]) is not compiled_entry(GRADIENT)


@pytest.mark.parametrize(
    "spec",
    [
        CallSpec(arguments=(X, StaticSpec(value=True))),
        CallSpec(arguments=(DictSpec(keys=("x",), items=(X,)),)),
        CallSpec(arguments=(X,), result=ConstantResult(1)),
        CallSpec(arguments=(ArraySpec.of(np.zeros(3, np.longlong)),)),
        CallSpec(arguments=(SequenceSpec(type=type("Pair", (tuple,), {}), items=(X,)),)),
    ],
)
def test_what_holds_objects_is_of_a_kind_of_its_own(spec):
    assert kind_of_call(spec) is None
