"""Compiled Fourier transforms of operands that lie in memory in any way, of lengths of each kind, in each precision."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.kernels.library.fourier_lengths import convolved, radices, steps_of
from planned_ad.kernels.library.twiddles import LANES, block_starts, roots
from planned_ad.regions.regions import Region, View, c_strides
from planned_ad.rules import RULES
from planned_ad.tape.builder import TapeBuilder
from tests.compiled_tape import CompiledTape

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 30, 49, 64, 97, 101, 128, 143, 1000, 1009]
TOLERANCE = {"float64": 2e-15, "float32": 1e-6}  # of the norm


def transforms(n: int, behind: int = 0) -> list[tuple[str, int, dict]]:
    """A row, the extent of its operand along the line, its parameters."""
    return [
        ("fourier", n, {"behind": behind, "inverse": False, "scale": 1.0}),
        ("fourier", n, {"behind": behind, "inverse": True, "scale": 0.5}),
        ("real_fourier", n, {"behind": behind, "inner": 1.5, "scale": 0.5}),
        ("fourier_real", n // 2 + 1, {"behind": behind, "n": n, "inner": 2.0, "scale": 0.5}),
    ]


class Program:
    """A tape of transforms, each of a view of one memory."""

    def __init__(self, size: int, dtype: str):
        self.memory = np.random.default_rng(2).normal(size=size).astype(dtype)
        self.builder = TapeBuilder()
        whole = View(0, (size,), (1,))
        self.buffer = self.builder.new_buffer("argument", "x", self.memory.dtype, whole)
        self.results: list[int] = []
        self.expected: list[np.ndarray] = []

    def apply(self, name: str, view: View, params: dict) -> None:
        out = self.builder.apply(name, self.builder.load(Region(self.buffer.id, view)), **params)
        result = self.builder.new_buffer("result", "y", out.dtype, View(0, out.shape, c_strides(out.shape)))
        self.builder.store(result.whole, out)
        self.results.append(result.id)
        size = self.memory.itemsize
        strides = tuple(s * size for s in view.strides)
        operand = np.ndarray(view.shape, self.memory.dtype, self.memory, view.offset * size, strides)
        self.expected.append(RULES[name].evaluate(operand.copy(), **params))

    def check(self) -> None:
        tape = self.builder.tape((self.buffer.id, *self.results), (), frozenset())
        _, *actual = CompiledTape(tape).run([self.memory])
        for a, e in zip(actual, self.expected):
            assert a.dtype == e.dtype
            assert np.linalg.norm(a - e) <= TOLERANCE[str(e.dtype)] * np.linalg.norm(e) * max(1, np.log2(e.size))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("part", range(4))
def test_lengths(part: int, dtype: str) -> None:
    program = Program(3000, dtype)
    for n in LENGTHS[part::4]:
        for name, extent, params in transforms(n):
            shape = (extent,) if name == "real_fourier" else (extent, 2)
            program.apply(name, View(0, shape, c_strides(shape)), params)
    program.check()


# Strides of two axes of lines or numbers, and from real to imaginary parts: in order, from the end, each number in each
# lane, lanes of reals side by side, the parts apart, or in the wrong order.
LAYOUTS = [
    (2, 24, 1),
    (24, 2, 1),
    (-2, -24, 1),
    (0, 2, 1),
    (24, 0, 1),
    (12, 1, 900),
    (1, 12, 900),
    (24, 3, -1),
    (7, 31, 5),
]
EXTENTS = ((9, 12), (16, 5), (3, 64))  # lines side by side in whole blocks, or not, and alone


@pytest.mark.parametrize("behind", (0, 1))
def test_views(behind: int) -> None:
    program = Program(4000, "float64")
    for number, strides in enumerate(LAYOUTS):
        extents = EXTENTS[number % 3]
        for name, n, params in transforms(extents[1 - behind], behind):
            shape = tuple(n if k == 1 - behind else m for k, m in enumerate(extents))
            whole = View(2000, (*shape, 2), strides)
            view = View(2000, shape, strides[:2]) if name == "real_fourier" else whole
            program.apply(name, view, params)
    program.check()


def test_batches_of_several_axes() -> None:
    program = Program(2 * 3 * 10 * 9 * 2, "float64")
    for behind in range(4):
        shape = (2, 3, 10, 9)
        for name, _, params in transforms(shape[3 - behind], behind)[:3]:
            extents = shape if name == "real_fourier" else (*shape, 2)
            program.apply(name, View(0, extents, c_strides(extents)), params)
    program.check()


def test_lengths_are_products() -> None:
    for n in range(1, 3000):
        factors = radices(n)
        if factors is not None:
            assert np.prod(factors, dtype=int) == n
        steps = steps_of(n)
        if steps is not None:
            assert steps[0] * steps[1] == n and min(steps) >= LANES
            assert block_starts(steps[1])[-1] + LANES == steps[1]
        m = convolved(n)
        assert 2 * n - 1 <= m < 2.2 * n + 128 and radices(m) is not None and (m < 128 or steps_of(m) is not None)


def test_roots_are_exact_where_they_can_be() -> None:
    for n in (1, 2, 3, 8, 12, 1000, 4097):
        k = np.arange(2 * n)
        z = roots(n, k)
        assert np.abs(z - np.exp(-2j * np.pi * k / n)).max() < 1e-14
        assert np.all(z[1 : n // 2 + 1].conj() == z[n - 1 : n - n // 2 - 1 : -1])
    assert list(roots(8, np.arange(0, 8, 2))) == [1, -1j, -1, 1j]
