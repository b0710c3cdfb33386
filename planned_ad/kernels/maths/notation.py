"""The notation in which `vector_functions` writes its formulas: LLVM values with arithmetic.

`Lanes` wraps a `llvmlite.ir` value, a scalar or a vector of doubles, 64-bit integers or truth values,
together with the builder that extends it. Python numbers are splatted to the type of the other operand,
so that one formula serves `double` and `<8 x double>` alike.

The second half holds the error-free transformations out of which the accurate functions are made.
No fast-math flag is ever set here: the transformations would be simplified away.

References
----------
T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18, 1971.
J.-M. Muller, "Elementary Functions: Algorithms and Implementation", 3rd ed., Birkhäuser 2016.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from llvmlite import ir

from ..llvm.types import element_constant, vector_type

F64 = ir.DoubleType()
I64 = ir.IntType(64)
I1 = ir.IntType(1)

ROUND = 6755399441055744.0
"""1.5 * 2**52: adding it rounds to the nearest integer, which then stands in the low bits (NaN is no special case)."""

INFINITY = float("inf")
NAN = float("nan")
MIN_NORMAL = 2.0**-1022


def like(element: ir.Type, shape: ir.Type) -> ir.Type:
    """`element`, repeated as often as `shape` has lanes."""
    return vector_type(element, shape.count) if isinstance(shape, ir.VectorType) else element


def element_of(kind: ir.Type) -> ir.Type:
    """The type of one lane."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def suffix(kind: ir.Type) -> str:
    """LLVM's name for a type within the name of an intrinsic: `f64`, `v8f64`, `v4i1`."""
    lane = element_of(kind)
    name = {"double": "f64", "float": "f32"}.get(str(lane), str(lane))
    return f"v{kind.count}{name}" if isinstance(kind, ir.VectorType) else name


def declare(module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
    """The function `name` of the module, declared at first use."""
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, ir.FunctionType(result, arguments), name)


def double_bits(x: float) -> int:
    """The 64 bits of a double, as an integer."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


def lanes_of(value: ir.Value) -> int:
    return value.type.count if isinstance(value.type, ir.VectorType) else 1


class Lanes:
    """One LLVM value, scalar or vector, with element-wise operators. Comparisons are ordered: false on NaN."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    def _other(self, other: Lanes | float) -> ir.Value:
        if isinstance(other, Lanes):
            return other.value
        kind = self.value.type
        return element_constant(kind, float(other) if element_of(kind) == F64 else int(other))

    def _same(self, value: ir.Value) -> Lanes:
        return Lanes(self.builder, value)

    def splat(self, number: float) -> Lanes:
        """The constant `number` in the type of this value."""
        return self._same(self._other(number))

    def _arithmetic(self, name: str, other: Lanes | float, swap: bool = False) -> Lanes:
        prefix = "f" if element_of(self.value.type) == F64 else ""
        pair = (self._other(other), self.value) if swap else (self.value, self._other(other))
        return self._same(getattr(self.builder, prefix + name)(*pair))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._arithmetic("add", other)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._arithmetic("sub", other)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._arithmetic("div", other)

    def __rsub__(self, other: float) -> Lanes:
        return self._arithmetic("sub", other, swap=True)

    def __rtruediv__(self, other: float) -> Lanes:
        return self._arithmetic("div", other, swap=True)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Lanes:
        return self._same(self.builder.fneg(self.value))

    def __and__(self, other: Lanes | int) -> Lanes:
        return self._same(self.builder.and_(self.value, self._other(other)))

    def __or__(self, other: Lanes | int) -> Lanes:
        return self._same(self.builder.or_(self.value, self._other(other)))

    def __xor__(self, other: Lanes | int) -> Lanes:
        return self._same(self.builder.xor(self.value, self._other(other)))

    def __lshift__(self, places: int) -> Lanes:
        return self._same(self.builder.shl(self.value, self._other(places)))

    def __rshift__(self, places: int) -> Lanes:
        """Logical shift: AVX2 has no arithmetic one for 64-bit lanes."""
        return self._same(self.builder.lshr(self.value, self._other(places)))

    def _compare(self, relation: str, other: Lanes | float) -> Lanes:
        if element_of(self.value.type) == F64:
            return self._same(self.builder.fcmp_ordered(relation, self.value, self._other(other)))
        return self._same(self.builder.icmp_signed(relation, self.value, self._other(other)))

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self._compare("<", other)

    def __le__(self, other: Lanes | float) -> Lanes:
        return self._compare("<=", other)

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self._compare(">", other)

    def __ge__(self, other: Lanes | float) -> Lanes:
        return self._compare(">=", other)

    def equals(self, other: Lanes | float) -> Lanes:
        """Lane by lane equality (`==` stays Python's identity, so that values can be hashed)."""
        return self._compare("==", other)

    def bits(self) -> Lanes:
        """The bit patterns of doubles as integers."""
        return self._same(self.builder.bitcast(self.value, like(I64, self.value.type)))

    def double(self) -> Lanes:
        """The doubles that have these bit patterns."""
        return self._same(self.builder.bitcast(self.value, like(F64, self.value.type)))

    def intrinsic(self, name: str, *others: Lanes | float) -> Lanes:
        """LLVM's intrinsic function `llvm.name` of this value and others of the same type."""
        values = [self.value] + [self._other(other) for other in others]
        kind = self.value.type
        function = declare(self.builder.module, f"llvm.{name}.{suffix(kind)}", kind, [kind] * len(values))
        return self._same(self.builder.call(function, values))

    def copysign(self, sign: Lanes) -> Lanes:
        """This magnitude with that sign."""
        return self.intrinsic("copysign", sign)

    def doubles(self) -> Lanes:
        """Zeros, one double for each lane of this value: the shape of a choice between two numbers."""
        return self._same(element_constant(like(F64, self.value.type), 0.0))

    def any(self) -> ir.Value:
        """Whether any lane is true, as an `i1`."""
        kind = self.value.type
        if not isinstance(kind, ir.VectorType):
            return self.value
        reduce_or = declare(self.builder.module, f"llvm.vector.reduce.or.{suffix(kind)}", I1, [kind])
        return self.builder.call(reduce_or, [self.value])


def known(*values: Lanes) -> Lanes:
    """Where none of the values is NaN."""
    result = values[0].equals(values[0])
    for v in values[1:]:
        result = result & v.equals(v)
    return result


def fma(a: Lanes, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a * b + c with one rounding."""
    return a.intrinsic("fma", b, c)


def where(condition: Lanes, a: Lanes | float, b: Lanes | float) -> Lanes:
    """`a` in the lanes where the condition holds, `b` elsewhere."""
    chosen = a if isinstance(a, Lanes) else b if isinstance(b, Lanes) else condition.doubles()
    return Lanes(chosen.builder, chosen.builder.select(condition.value, chosen._other(a), chosen._other(b)))


def polynomial(x: Lanes, coefficients: Sequence[float], square: Lanes | None = None) -> Lanes:
    """sum c[i] x**i; with `square` = x * x given, as two interleaved Horner chains of half the latency."""

    def horner(t: Lanes, terms: Sequence[float]) -> Lanes:
        total = t.splat(terms[-1])
        for c in terms[-2::-1]:
            total = fma(total, t, c)
        return total

    if square is None:
        return horner(x, coefficients)
    return fma(horner(square, coefficients[1::2]), x, horner(square, coefficients[0::2]))


def power_of_two(n: Lanes) -> Lanes:
    """2**n, n an integer of which only the low 12 bits count (so the bits of n + ROUND serve too), -1023 < n < 1024."""
    return ((n + 1023) << 52).double()


def two_sum(a: Lanes | float, b: Lanes) -> tuple[Lanes, Lanes]:
    """Rounded sum and its exact error (Knuth)."""
    total = b + a
    shadow = total - a
    return total, (b - shadow) + (a - (total - shadow))


def fast_two_sum(a: Lanes | float, b: Lanes) -> tuple[Lanes, Lanes]:
    """Rounded sum and its exact error, for |a| >= |b| or a = 0 (Dekker)."""
    total = b + a
    return total, b - (total - a)


def two_product(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Rounded product and its exact error."""
    product = a * b
    return product, fma(a, b, -product)


def quotient(n: Lanes, n_low: Lanes | float, d: Lanes, d_low: Lanes) -> tuple[Lanes, Lanes]:
    """(n + n_low) / (d + d_low) to about 100 bits, unevaluated: one division and one Newton correction."""
    inverse = 1.0 / d
    q = n * inverse
    rest = fma(-q, d, n) + fma(-q, d_low, n_low)
    return q, rest * inverse


def square_root(u: Lanes, u_low: Lanes | float = 0.0) -> tuple[Lanes, Lanes]:
    """sqrt(u + u_low) as high + low; zero is its own root."""
    root = u.intrinsic("sqrt")
    return root, (fma(-root, root, u) + u_low) / where(u > 0.0, root * 2.0, 1.0)


def with_slow_lanes(rare: Lanes, common: Sequence[Lanes], slow: Callable[[], Sequence[Lanes]]) -> list[Lanes]:
    """The `common` values, but `slow()` where `rare` holds; the slow block is entered only if some lane needs it."""
    builder = rare.builder
    fast_block = builder.block
    with builder.if_then(rare.any(), likely=False):
        patched = [where(rare, s, c) for s, c in zip(slow(), common)]
        slow_block = builder.block
    results = []
    for c, p in zip(common, patched):
        result = builder.phi(c.value.type)
        result.add_incoming(c.value, fast_block)
        result.add_incoming(p.value, slow_block)
        results.append(Lanes(builder, result))
    return results
