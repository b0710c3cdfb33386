"""Random subscripts: any number of operands, repeated and missing labels, axes of length 1, ellipses."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from planned_ad.tape.tape import Apply
from planned_ad.trace import trace
from tests.sweeps import drawn
from tests.tracing_oracle import check

LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 1}


@st.composite
def subscripts(draw):
    """Subscripts, explicit or implicit, and the shapes of operands that fit."""
    inputs = draw(st.lists(st.text("ijkl", max_size=4), min_size=1, max_size=4))
    hidden = [draw(st.sampled_from(["", "...", "...", ""])) for _ in inputs]
    batches = [draw(st.sampled_from([(), (2,), (1,), (3, 2), (3, 1)])) if dots else () for dots in hidden]
    used = sorted({label for part in inputs for label in part})
    output = draw(st.none() | st.permutations(draw(st.lists(st.sampled_from(used), unique=True)) if used else []))
    single = [label for label in used if draw(st.booleans())]  # of length 1 in the first operand that has it alone
    shapes, terms = [], []
    for part, dots, batch in zip(inputs, hidden, batches):
        short = {label for label in single if part.count(label) == 1 and sum(label in p for p in inputs) > 1}
        single = [label for label in single if label not in short]
        shapes.append((*batch, *(1 if label in short else LENGTHS[label] for label in part)))
        terms.append(dots + part)
    text = ",".join(terms)
    if output is not None:
        text += "->" + ("..." if any(hidden) else "") + "".join(output)
    return text, shapes


@drawn(subscripts(), few=80, many=800)
def test_random(found: tuple[str, list[tuple[int, ...]]]) -> None:
    text, shapes = found
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    check(lambda arrays: np.einsum(text, *arrays), arrays)


def primitives(function, *arguments) -> list[str]:
    return [op.primitive for op in trace(function, arguments).tape.operations if isinstance(op, Apply)]


def test_a_matrix_product_is_one_contraction() -> None:
    a, b = np.ones((3, 4)), np.ones((4, 2))
    for function in (np.matmul, np.dot, lambda a, b: np.einsum("ij,jk", a, b), lambda a, b: np.tensordot(a, b, 1)):
        assert primitives(function, a, b) == ["contract"]


def test_a_broadcast_batch_is_not_materialised() -> None:
    assert primitives(np.matmul, np.ones((1, 3, 4)), np.ones((5, 4, 2))) == ["view", "contract"]


def test_without_a_sum_there_is_no_contraction() -> None:
    assert "contract" not in primitives(np.outer, np.ones(3), np.ones(4))


def test_the_best_order_is_taken() -> None:
    """A greedy one begins with the last two matrices, and multiplies 28,548 times."""
    lengths = (3, 21, 23, 24, 26)
    matrices = tuple(np.ones(shape) for shape in pairwise(lengths))
    tape = trace(lambda *args: np.einsum("ab,bc,cd,de->ae", *args), matrices).tape
    products = [op for op in tape.operations if isinstance(op, Apply) and op.primitive == "contract"]
    shapes = [[v.shape for v in (*op.operands, op.out)] for op in products]  # (m, k), (k, n), (m, n)
    assert sum(math.isqrt(math.prod(map(math.prod, three))) for three in shapes) == 3 * (21 * 23 + 23 * 24 + 24 * 26)
