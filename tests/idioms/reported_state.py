"""Programs that once came out wrong without a word: state that is not seen."""

from __future__ import annotations

import collections
import fractions
import functools
import itertools
import random

import numpy as np

from .program import Kind, with_number

REPORTED_STATE = Kind("reported state")
SIGNED = with_number(12, -1.0, 1.0)


class C:
    n = 0

    def __init__(self):
        self.k = 0

    def f(self, v):
        self.k += 1
        return v * self.k


@REPORTED_STATE.add()
def reported_class_attribute(x):
    C.n = 0
    t = 0.0
    for v in x:
        C.n += 1
        t += v * C.n
    return t


@REPORTED_STATE.add()
def reported_function_attribute(x):

    def h(v):
        h.calls += 1
        return v * h.calls

    h.calls = 0
    t = 0.0
    for v in x:
        t += h(v)
    return t


@REPORTED_STATE.add()
def reported_default_argument(x):

    def h(v, st=[0]):
        st[0] += 1
        return v * st[0]

    t = 0.0
    for v in x:
        t += h(v)
    return t


@REPORTED_STATE.add()
def reported_bound_method(x):
    f = C().f
    t = 0.0
    for v in x:
        t += f(v)
    return t


@REPORTED_STATE.add()
def reported_partial(x):
    f = functools.partial(C.f, C())
    t = 0.0
    for v in x:
        t += f(v)
    return t


@REPORTED_STATE.add()
def reported_dict_subclass(x):

    class D(dict):
        pass

    d = D(a=0)
    t = 0.0
    for v in x:
        d["a"] += 1
        t += v * d["a"]
    return t


@REPORTED_STATE.add()
def reported_dict_in_class(x):

    class T:
        d = {"n": 0}

    t = 0.0
    for v in x:
        T.d["n"] += 1
        t += v * T.d["n"]
    return t


@REPORTED_STATE.add()
def reported_order_of_a_dict(x):
    d = {k: 0 for k in range(5)}
    t = 0.0
    for v in x:
        k = next(iter(d))
        del d[k]
        d[k] = 0
        t += v * k
    return t


@REPORTED_STATE.add()
def reported_slots_of_a_base_class(x):

    class A:
        __slots__ = ("n",)

    class B(A):
        __slots__ = ("m",)

    o = B()
    o.n = 0
    o.m = 1
    t = 0.0
    for v in x:
        o.n += o.m
        o.m = 1 - o.m
        t += v * o.n
    return t


@REPORTED_STATE.add()
def reported_super_chain(x):

    class A:
        def __init__(self):
            self.k = 0

        def up(self):
            self.k += 1

    class B(A):
        def up(self):
            super().up()
            self.j = getattr(self, "j", 0) + self.k

    o = B()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.j
    return t


@REPORTED_STATE.add()
def reported_iterator_in_attribute(x):

    class E:
        pass

    c = E()
    c.it = itertools.count(2)
    t = 0.0
    for v in x:
        t += v * next(c.it)
    return t


@REPORTED_STATE.add()
def reported_bound_next(x):
    nid = itertools.count().__next__
    t = 0.0
    for v in x:
        t += v * nid()
    return t


@REPORTED_STATE.add()
def reported_accumulate(x):
    g = itertools.accumulate(range(50))
    t = 0.0
    for v in x:
        t += v * next(g)
    return t


@REPORTED_STATE.add()
def reported_ndenumerate(x):
    t = 0.0
    for (i,), v in np.ndenumerate(x):
        t += v * i
    return t


@REPORTED_STATE.add()
def reported_nditer(x):
    t = 0.0
    it = np.nditer(np.arange(24.0))
    for v in x:
        t += v * float(next(it))
    return t


@REPORTED_STATE.add()
def reported_chainmap(x):
    c = collections.ChainMap({}, {"a": 1})
    t = 0.0
    for v in x:
        c["a"] = c["a"] + 1
        t += v * c["a"]
    return t


@REPORTED_STATE.add()
def reported_module_attribute(x):
    m = fractions
    m.ZZ = 0
    t = 0.0
    for v in x:
        m.ZZ += 1
        t += v * m.ZZ
    return t


@REPORTED_STATE.add()
def reported_numpy_rng(x):
    r = np.random.default_rng(0)
    t = 0.0
    for v in x:
        t += v * r.standard_normal()
    return t


@REPORTED_STATE.add()
def reported_numpy_rng_permutation(x):
    r = np.random.default_rng(0)
    t = 0.0
    for epoch in range(20):
        for j in r.permutation(24):
            t = 0.9 * t + x[j]
    return t


@REPORTED_STATE.add()
def reported_random_random(x):
    r = random.Random(3)
    t = 0.0
    for v in x:
        t += v * r.random()
    return t


class GA:
    def __init__(self):
        self.k = 0

    def up(self):
        self.k += 1


class GB(GA):
    def up(self):
        super().up()
        self.j = getattr(self, "j", 0) + self.k


class GB2(GA):
    def __init__(self):
        super().__init__()
        self.j = 0

    def up(self):
        super().up()
        self.j += self.k


class GB3(GA):
    def __init__(self):
        super().__init__()
        self.j = 0

    def up(self):
        GA.up(self)
        self.j += self.k


@REPORTED_STATE.add()
def reported_global_super_new_attribute(x):
    o = GB()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.j
    return t


@REPORTED_STATE.add()
def reported_global_super(x):
    o = GB2()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.j
    return t


@REPORTED_STATE.add()
def reported_global_no_super(x):
    o = GB3()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.j
    return t


@REPORTED_STATE.add()
def reported_global_counter(x):
    o = GA()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.k
    return t


@REPORTED_STATE.add()
def reported_global_counter_quadratic(x):
    o = GA()
    j = 0
    t = 0.0
    for v in x:
        o.up()
        j += o.k
        t += v * j
    return t


@REPORTED_STATE.add()
def reported_ints_quadratic(x):
    k = j = 0
    t = 0.0
    for v in x:
        k += 1
        j += k
        t += v * j
    return t


@REPORTED_STATE.add()
def reported_local_counter(x):

    class C:
        def __init__(self):
            self.k = 0

        def up(self):
            self.k += 1

    o = C()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.k
    return t


@REPORTED_STATE.add()
def reported_local_bound(x):

    class C:
        def __init__(self):
            self.k = 0

        def f(self, v):
            self.k += 1
            return v * self.k

    f = C().f
    t = 0.0
    for v in x:
        t += f(v)
    return t


@REPORTED_STATE.add()
def reported_local_counter_direct(x):

    class C:
        pass

    o = C()
    o.k = 0
    t = 0.0
    for v in x:
        o.k += 1
        t += v * o.k
    return t


@REPORTED_STATE.add()
def reported_local_float(x):

    class C:
        def __init__(self):
            self.k = 0.0

        def up(self):
            self.k = 0.5 * self.k + 1

    o = C()
    t = 0.0
    for v in x:
        o.up()
        t += v * o.k
    return t
