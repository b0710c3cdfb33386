"""Elementary functions lane by lane, from the C library and from SciPy.

Functions of the C mathematics library are called by name. SciPy's are C functions too, published by
`scipy.special.cython_special` as capsules; their addresses are registered with LLVM under names of ours,
so that the generated code holds symbols and no addresses. None of them touches Python, and none allocates but
those of which `scipy_allocates` says so:
`scipy.special.errstate` must be left at its default, "ignore", for those that come from SciPy.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from ...errors import UnsupportedError
from ..llvm.codelibrary import REGISTERED
from .notation import F64, INFINITY, Lanes, declare, where

C_NAMES = {
    "gammaln": "lgamma",
}
"""Functions of doubles in the C library, by NumPy's or SciPy's name."""

SCIPY_NAMES = {
    **dict.fromkeys(
        ["ellipe", "ellipk", "erfcinv", "exprel", "gammasgn", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1",
         "k1e", "ndtri", "ndtri_exp", "y0", "y1"]
    ),
    "digamma": "__pyx_fuse_1psi",
    "erfinv": "__pyx_fuse_0erfinv",
    **{
        name: f"__pyx_fuse_1{name}"
        for name in ["dawsn", "erfcx", "erfi", "exp1", "expi", "gamma", "log_ndtr", "rgamma", "spence", "wrightomega"]
    },
}  # fmt: skip
"""Functions of a double: capsules of `scipy.special.cython_special`, where those have other names than the functions.

`fuse_1` is the real one of the complex and real variants, `fuse_0` the double one of double and float.
"""

SCIPY_PAIRS = {
    **dict.fromkeys(
        ["beta", "betaln", "binom", "ellipeinc", "ellipkinc", "gammainc", "gammaincc", "gammaincinv", "gammainccinv",
         "modstruve", "owens_t", "poch", "struve"]
    ),
    **{name: f"__pyx_fuse_1{name}" for name in ["hyp0f1", "iv", "ive", "jv", "kv", "kve", "yv"]},
    **{name: f"__pyx_fuse_0{name}" for name in ["expn", "stdtr", "stdtrit"]},
}  # fmt: skip
SCIPY_TRIPLES = {
    **{name: f"__pyx_fuse_0{name}" for name in ["betainc", "betaincc", "betaincinv", "betainccinv"]},
    "hyp1f1": "__pyx_fuse_1hyp1f1",
    "hyperu": None,
}
SCIPY_QUADRUPLES = {"hyp2f1": "__pyx_fuse_1hyp2f1"}
# One of the results of a function that writes several: its capsule, how many there are, and which.
SCIPY_PARTS = {
    **{f"{f}_{part}": (f"__pyx_fuse_1{f}", 2, k) for f in ["sici", "shichi"] for k, part in enumerate("sc")},
    "fresnel_s": ("__pyx_fuse_1fresnel", 2, 0),
    "fresnel_c": ("__pyx_fuse_1fresnel", 2, 1),
    **{f"airy_{part}": ("__pyx_fuse_1airy", 4, k) for k, part in enumerate(["ai", "aip", "bi", "bip"])},
    **{f"ellipj_{part}": ("ellipj", 4, k) for k, part in enumerate(["sn", "cn", "dn", "ph"])},
}
# One part of a function of complex numbers, given the parts of its argument, after the order where there is one.
COMPLEX, ORDERED = (
    "__pyx_t_double_complex",
    ("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e"),
)
OF_COMPLEX = {
    **{name: f"__pyx_fuse_0{name}" for name in ["erf", "erfc", "erfcx", "erfi", "dawsn", "exp1", "expi", "spence",
                                               "loggamma", "gamma", "rgamma", "psi", "jv", "yv", "iv", "kv", "kve"]},
    **{name: name for name in ["wofz", "hankel1", "hankel2", "hankel1e", "hankel2e"]},
}  # fmt: skip
COMPLEX_PARTS = {f"complex_{f}_{part}": (f, k) for f in OF_COMPLEX for k, part in enumerate(("re", "im"))}
CAPSULES = {
    name: capsule or name
    for group in (SCIPY_NAMES, SCIPY_PAIRS, SCIPY_TRIPLES, SCIPY_QUADRUPLES)
    for name, capsule in group.items()
} | {name: capsule for name, (capsule, _, _) in SCIPY_PARTS.items()}
CAPSULES |= {name: OF_COMPLEX[function] for name, (function, _) in COMPLEX_PARTS.items()}
ARITY = dict.fromkeys(SCIPY_PAIRS, 2) | dict.fromkeys(SCIPY_TRIPLES, 3) | dict.fromkeys(SCIPY_QUADRUPLES, 4)
ARITY |= {f"ellipj_{part}": 2 for part in ("sn", "cn", "dn", "ph")}
ARITY |= {name: 2 + (function in ORDERED) for name, (function, _) in COMPLEX_PARTS.items()}
"""Number of arguments, where it is not one."""


def scipy_allocates(name: str, order: Any) -> bool:
    """Whether SciPy's code makes work space at each call: of Bessel's functions of the second kind.

    Of negative orders (None: not known) those of the first kind are made of them, where the order is not whole.
    """
    if name in ("yv", "complex_yv_re", "complex_yv_im"):
        return True
    return name in ("jv", "complex_jv_re", "complex_jv_im") and (order is None or (order < 0 and order % 1 != 0))


NAMES = frozenset(C_NAMES) | frozenset(CAPSULES)


def expected_signature(name: str) -> str:
    given = ["double"] * ARITY.get(name, 1)
    if name in COMPLEX_PARTS:
        return f"{COMPLEX} ({', '.join([*given[2:], COMPLEX, 'int __pyx_skip_dispatch'])})"
    if name in SCIPY_PARTS:
        return f"void ({', '.join(given + ['double *'] * SCIPY_PARTS[name][1])})"
    return f"double ({', '.join([*given, 'int __pyx_skip_dispatch'])})"


@functools.cache
def scipy_symbol(name: str) -> str:
    """Register SciPy's function with LLVM, once a process; the symbol under which it is then called."""
    from scipy.special import cython_special

    capsules = cython_special.__pyx_capi__
    capsule = capsules.get(CAPSULES[name]) or capsules[name]  # one that has no variants yet (`stdtr` before SciPy 1.17)
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    signature = get_name(capsule)
    if signature != expected_signature(name).encode():
        raise ImportError(f"scipy.special.cython_special.{name} has the unexpected signature {signature!r}")
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    symbol = f"{PREFIX}{name}"
    llvm.add_symbol(symbol, get_pointer(capsule, signature))
    return symbol


PREFIX = "planned_ad.scipy."
REGISTERED[PREFIX] = scipy_symbol


def scalar_call(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """Call the library's function `name` with scalar doubles."""
    if name in C_NAMES:
        return builder.call(declare(builder.module, C_NAMES[name], F64, [F64] * len(args)), args)
    if name in SCIPY_PARTS:
        return one_of_several(builder, name, args)
    if name in COMPLEX_PARTS:
        return part_of_complex(builder, name, args)
    function = declare(builder.module, scipy_symbol(name), F64, [F64] * len(args) + [ir.IntType(32)])
    return builder.call(function, [*args, ir.Constant(ir.IntType(32), 0)])


def part_of_complex(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """Call a function of complex numbers, which C passes and returns as two doubles in registers."""
    if sys.platform == "win32":  # where they are in memory
        raise UnsupportedError(f"scipy.special.{COMPLEX_PARTS[name][0]} of complex numbers is not supported on Windows")
    pair = ir.LiteralStructType([F64, F64])
    function = declare(builder.module, scipy_symbol(name), pair, [F64] * len(args) + [ir.IntType(32)])
    found = builder.call(function, [*args, ir.Constant(ir.IntType(32), 0)])
    return builder.extract_value(found, COMPLEX_PARTS[name][1])


def one_of_several(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """Call a function that writes several results, for one of them."""
    _, count, number = SCIPY_PARTS[name]
    with builder.goto_entry_block():
        places = [builder.alloca(F64) for _ in range(count)]
    function = declare(
        builder.module, scipy_symbol(name), ir.VoidType(), [F64] * len(args) + [place.type for place in places]
    )
    builder.call(function, [*args, *places])
    return builder.load(places[number])


def each_lane(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """Call the library's function `name` once for each lane of doubles, scalar or vector."""
    kind = args[0].type
    if not isinstance(kind, ir.VectorType):
        return scalar_call(builder, name, args)
    result: ir.Value = ir.Constant(kind, ir.Undefined)
    for lane in range(kind.count):
        place = ir.Constant(ir.IntType(32), lane)
        value = scalar_call(builder, name, [builder.extract_element(a, place) for a in args])
        result = builder.insert_element(result, value, place)
    return result


def library_function(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """`each_lane`, with the values at infinity that SciPy gives: its gammaln(-inf) is -inf, where C has +inf."""
    result = Lanes(builder, each_lane(builder, name, args))
    if name == "gammaln":
        x = Lanes(builder, args[0])
        result = where(x.equals(-INFINITY), x, result)
    return result.value
