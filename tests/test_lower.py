"""Contractions of operands that repeat themselves, in the form that serves them, are still those contractions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planned_ad.passes.products import lower_products
from planned_ad.regions.regions import View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.verify import verify

EXTENTS = {"b": 2, "i": 3, "j": 4, "k": 5}
PRODUCTS = [
    "ij,jk->ik",
    "ij,jk->ki",
    "ij,j->i",
    "bij,bjk->bik",
    "i,i->",
    "i,j->ij",
    "ij,ij->",
    "ij,ij->ji",
    "bij,bij->b",
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("empty", ["", "i", "j"])
def test_repeated_operands(product: str, empty: str) -> None:
    """Every choice of axes along which the operands repeat."""
    groups, out = product.split("->")
    a, b = groups.split(",")
    for repeated in itertools.product(*([(False, True)] * len(a + b))):
        sides = (a, repeated[: len(a)]), (b, repeated[len(a) :])
        builder, arrays, operands = TapeBuilder(), [], []
        for labels, which in sides:
            shape = tuple(0 if label == empty else EXTENTS[label] for label in labels)
            own = tuple(1 if repeats else n for n, repeats in zip(shape, which))
            number = np.random.default_rng(len(arrays)).normal(size=own)
            arrays.append(number)
            buffer = builder.new_buffer("argument", "ab"[len(operands)], number.dtype, contiguous(own))
            strides = tuple(0 if repeats else s for s, repeats in zip(contiguous(own).strides, which))
            operands.append(builder.view(builder.load(buffer.whole), View(0, shape, strides)))
        numbers = {label: k for k, label in enumerate(EXTENTS)}
        named = {f"{name}_labels": tuple(numbers[label] for label in labels) for name, labels in (("a", a), ("b", b))}
        result = builder.apply("contract", *operands, **named, out_labels=tuple(numbers[label] for label in out))
        tape = verify(builder.tape((0, 1), (result,), frozenset()))
        found = []
        for form in (tape, verify(lower_products(tape))):
            memories = {id: memory_of(tape.buffer(id), array) for id, array in enumerate(arrays)}
            found += interpret(form, memories)
        np.testing.assert_allclose(found[1], found[0], rtol=1e-13, atol=1e-13, err_msg=str(repeated))
