"""Bessel functions, as in `scipy.special`. Derivatives: NIST Digital Library of Mathematical Functions, chapter 10.

Of whole order 0 and 1 they have rows of their own, of any order the order is the first operand, in which there is no
derivative of closed form. Derivatives of order 1 are written with order 2 and not as `f0(x) - f1(x) / x`: that is the
same, but for `x == 0`, where it cannot be differentiated again.
"""

from __future__ import annotations

from scipy import special

from .algebra import Symbol, sign
from .rows import row

DLMF = "https://dlmf.nist.gov"
ORDER = (
    "derivatives in the order of a Bessel function have no closed form; make the order a constant (planned_ad.Const)"
)


def neighbour(name: str, a: Symbol, v: Symbol | float, by: float) -> Symbol:
    """The function of order `v + by`."""
    order = v + by if isinstance(v, Symbol) else a.constant(v + by)
    return order.apply(name, a)


# Oscillating, DLMF 10.6: f_0' = -f_1 and f_v' = (f_(v-1) - f_(v+1)) / 2.
for kind, interval, poles in (("j", (-4, 4), ""), ("y", (0.3, 4), "a")):
    row(
        f"{kind}0",
        getattr(special, f"{kind}0"),
        (lambda ct, y, a, kind=kind: -(ct * a.apply(f"{kind}1")),),
        ("a",),
        cost=60,
        samples=(interval,),
        poles=poles,
        reference=f"{DLMF}/10.6.E3",
    )
    row(
        f"{kind}1",
        getattr(special, f"{kind}1"),
        (lambda ct, y, a, kind=kind: ct * (0.5 * (a.apply(f"{kind}0") - neighbour(f"{kind}v", a, 1.0, 1.0))),),
        ("a",),
        cost=60,
        samples=(interval,),
        poles=poles,
        reference=f"{DLMF}/10.6.E1",
    )


def oscillating(name: str):
    return lambda ct, y, v, a: ct * (0.5 * (neighbour(name, a, v, -1.0) - neighbour(name, a, v, 1.0)))


row(
    "jv",
    special.jv,
    (None, oscillating("jv")),
    ("", "ab"),
    cost=400,
    samples=((0.5, 3), (0.5, 4)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.6.E1",
)
row(
    "yv",
    special.yv,
    (None, oscillating("yv")),
    ("", "ab"),
    cost=600,
    samples=((0.5, 3), (0.8, 4)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.6.E1",
)

# Growing, DLMF 10.29: I_v' = (I_(v-1) + I_(v+1)) / 2; with the factor exp(-|x|) less the function's own.


def growing(name: str):
    return lambda ct, y, v, a: ct * (0.5 * (neighbour(name, a, v, -1.0) + neighbour(name, a, v, 1.0)))


def growing_scaled(ct: Symbol, y: Symbol, v: Symbol, a: Symbol) -> Symbol:
    return ct * (0.5 * (neighbour("ive", a, v, -1.0) + neighbour("ive", a, v, 1.0)) - sign(a) * y)


def of_i1e(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    return ct * (0.5 * (a.apply("i0e") + neighbour("ive", a, 1.0, 1.0)) - sign(a) * y)


row("i0", special.i0, (lambda ct, y, a: ct * a.apply("i1"),), ("a",), cost=60, reference=f"{DLMF}/10.29.E3")
row(
    "i1",
    special.i1,
    (lambda ct, y, a: ct * (0.5 * (a.apply("i0") + neighbour("iv", a, 1.0, 1.0))),),
    ("a",),
    cost=60,
    reference=f"{DLMF}/10.29.E1",
)
row(
    "i0e",
    special.i0e,
    (lambda ct, y, a: ct * (a.apply("i1e") - sign(a) * y),),
    ("ya",),
    cost=60,
    samples=((0.2, 3),),
    reference=f"{DLMF}/10.29.E3",
)
row("i1e", special.i1e, (of_i1e,), ("ya",), cost=60, samples=((0.2, 3),), reference=f"{DLMF}/10.29.E1")
row(
    "iv",
    special.iv,
    (None, growing("iv")),
    ("", "ab"),
    cost=400,
    samples=((0.5, 3), (0.5, 3)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.29.E1",
)
row(
    "ive",
    special.ive,
    (None, growing_scaled),
    ("", "yab"),
    cost=400,
    samples=((0.5, 3), (0.5, 3)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.29.E1",
)

# Falling, DLMF 10.29: K_0' = -K_1 and K_v' = -(K_(v-1) + K_(v+1)) / 2; with the factor exp(x) plus the function's own.


def falling(name: str):
    return lambda ct, y, v, a: -(ct * (0.5 * (neighbour(name, a, v, -1.0) + neighbour(name, a, v, 1.0))))


def falling_scaled(ct: Symbol, y: Symbol, v: Symbol, a: Symbol) -> Symbol:
    return ct * (y - 0.5 * (neighbour("kve", a, v, -1.0) + neighbour("kve", a, v, 1.0)))


def of_k1(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    return -(ct * (0.5 * (a.apply("k0") + neighbour("kv", a, 1.0, 1.0))))


def of_k1e(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    return ct * (y - 0.5 * (a.apply("k0e") + neighbour("kve", a, 1.0, 1.0)))


SIDE = ((0.5, 3),)
row(
    "k0",
    special.k0,
    (lambda ct, y, a: -(ct * a.apply("k1")),),
    ("a",),
    cost=60,
    samples=SIDE,
    poles="a",
    reference=f"{DLMF}/10.29.E3",
)
row("k1", special.k1, (of_k1,), ("a",), cost=60, samples=SIDE, poles="a", reference=f"{DLMF}/10.29.E1")
row(
    "k0e",
    special.k0e,
    (lambda ct, y, a: ct * (y - a.apply("k1e")),),
    ("ya",),
    cost=60,
    samples=SIDE,
    poles="a",
    reference=f"{DLMF}/10.29.E3",
)
row("k1e", special.k1e, (of_k1e,), ("ya",), cost=60, samples=SIDE, poles="a", reference=f"{DLMF}/10.29.E1")
row(
    "kv",
    special.kv,
    (None, falling("kv")),
    ("", "ab"),
    cost=400,
    samples=((0.5, 3), (0.8, 3)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.29.E1",
)
row(
    "kve",
    special.kve,
    (None, falling_scaled),
    ("", "yab"),
    cost=400,
    samples=((0.5, 3), (0.8, 3)),
    poles="b",
    refused=ORDER,
    reference=f"{DLMF}/10.29.E1",
)
