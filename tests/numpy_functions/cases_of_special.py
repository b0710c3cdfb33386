"""Uses of `scipy.special`, in the table of cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from .cases import case

generator = np.random.default_rng(9)


def positive(*shape: int) -> np.ndarray:
    return np.asarray(generator.uniform(0.5, 2.0, size=shape))


def named(*names: str) -> list[tuple[str, Any]]:
    return [(name, getattr(special, name)) for name in names]


for _name, _f in named("gamma", "rgamma", "erfcx", "erfi", "log_ndtr", "j0", "j1", "y0", "y1", "i0", "i0e", "i1", "i1e",
                       "k0", "k0e", "k1", "k1e", "exprel", "expi", "exp1", "dawsn", "spence", "loggamma"):  # fmt: skip
    case(lambda x, f=_f: f(x), positive(2, 3), name=_name)
for _name, _f in named("erfinv", "ndtri", "ellipk", "ellipe"):
    case(lambda x, f=_f: f(x / 3), positive(2, 3), name=_name)
for _name, _f in named("beta", "betaln", "boxcox", "boxcox1p", "kl_div", "poch"):
    case(lambda x, y, f=_f: f(x, y), positive(2, 3), positive(3), name=_name)
for _name, _f in named(
    "gammainc", "gammaincc", "jv", "yv", "yn", "iv", "ive", "kv", "kve", "kn", "stdtr", "chdtr", "chdtrc"
):
    case(lambda x, f=_f: f(np.array([2, 1, 3]), x), positive(2, 3), name=_name)
case(lambda x: special.gammaincinv(2.5, x / 3) + special.gammainccinv(2.5, x / 3), positive(3), name="gammaincinv")
case(lambda x: special.betainc(1.5, 2.5, x / 3) * special.betaincc(2.0, 2.5, x / 3), positive(3), name="betainc")
case(
    lambda x: special.betaincinv(1.5, 2.5, x / 3) * special.betainccinv(2.0, 2.5, x / 3), positive(3), name="betaincinv"
)
case(lambda x: special.stdtrit(3.5, x / 3), positive(3), name="stdtrit")
case(lambda x: special.erfcinv(x / 2) + special.ndtri_exp(-x), positive(3), name="erfcinv")
case(lambda x: special.hyp1f1(1.5, 2.5, x) * special.hyp2f1(1.0, 0.5, 2.0, x / 3), positive(3), name="hyp1f1")
case(lambda x, y: special.binom(x + 3, y), positive(3), positive(3), name="binom")
case(lambda x: special.comb(x + 2, x), positive(3), name="comb")
case(lambda x: special.comb(x, 2, repetition=True), positive(3), name="comb")
case(lambda x: special.polygamma(2, x), positive(2, 3), name="polygamma")
case(lambda x: special.polygamma(0, x), positive(3), name="polygamma")
case(lambda x: special.zeta(3, x), positive(3), name="zeta")
case(lambda x: special.kolmogorov(x - 0.3), np.array([0.2, 0.5, 0.9, 1.11, 1.14, 2.6]), name="kolmogorov")
case(lambda x: special.smirnov(12, x) + special.smirnov(1, x), np.array([0.02, 0.3, 0.51, 0.95]), name="smirnov")
case(lambda x: special.smirnov(200, x), np.array([0.012, 0.063, 0.4]), name="smirnov")
case(lambda x: special.zeta(x + 0.6) + special.zetac(-4 * x) + special.zeta(x + 1, x), positive(3), name="zeta")
case(lambda x: special.multigammaln(x + 2, 3), positive(3), name="multigammaln")
case(lambda x: special.gammasgn(x - 1), positive(3), name="gammasgn", rounds=True)
case(lambda x: math.gamma(x[0]) + x, positive(3), name="gamma")
case(lambda x: special.voigt_profile(x - 1, x, 0.3 * x[0]), positive(3), name="voigt_profile")
case(lambda x: special.voigt_profile(x - 1, 0.0, x), positive(3), name="voigt_profile")
for _n, _m in ((0, 0), (2, 1), (3, -2), (1, 2)):
    case(lambda x, n=_n, m=_m: special.lpmv(m, n, x / 3), positive(2, 3), name="lpmv")
    if hasattr(special, "sph_harm_y"):
        case(lambda t, p, n=_n, m=_m: special.sph_harm_y(n, m, t, p).real, positive(3), positive(3), name="sph_harm_y")
        if _m:  # that of order 0 is zero everywhere: a constant, which compile refuses to differentiate
            case(lambda t, p, n=_n, m=_m: special.sph_harm_y(n, m, -t, p).imag, *2 * [positive(3)], name="sph_harm_y")
