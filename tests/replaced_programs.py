"""Programs of an array and of iterations, in which something is replaced that later ones find: a method, a default."""

# ruff: noqa: E731 (programs as people write them)

from __future__ import annotations

import math
import types

n = 24

_glob = lambda v: v


def module_function(x, w):
    m = types.ModuleType("m")
    m.f = lambda v: v
    t = 0.0
    for k in range(24):
        if k == w[0]:
            m.f = lambda v: v * v
        t += m.f(x[k])
    return t


def module_number(x, w):
    m = types.ModuleType("m")
    m.f = 1.0
    t = 0.0
    for k in range(24):
        if k == w[0]:
            m.f = 3.0
        t += m.f * x[k]
    return t


def class_function(x, w):
    class A:
        def f(s, v):
            return v

    a = A()
    t = 0.0
    for k in range(24):
        if k == w[0]:
            A.f = lambda s, v: v * v
        t += a.f(x[k])
    return t


def class_number(x, w):
    class A:
        f = 1.0

    t = 0.0
    for k in range(24):
        if k == w[0]:
            A.f = 3.0
        t += A.f * x[k]
    return t


def kwdefaults(x, w):
    def f(v, *, c=1.0):
        return v * c

    t = 0.0
    for k in range(24):
        if k == w[0]:
            f.__kwdefaults__["c"] = 4.0
        t += f(x[k])
    return t


def kwdefaults_new(x, w):
    def f(v, *, c=1.0):
        return v * c

    t = 0.0
    for k in range(24):
        if k == w[0]:
            f.__kwdefaults__ = {"c": 4.0}
        t += f(x[k])
    return t


def defaults(x, w):
    def f(v, c=1.0):
        return v * c

    t = 0.0
    for k in range(24):
        if k == w[0]:
            f.__defaults__ = (4.0,)
        t += f(x[k])
    return t


def code(x, w):
    def f(v):
        return v

    t = 0.0
    for k in range(24):
        if k == w[0]:
            f.__code__ = (lambda v: v * v).__code__
        t += f(x[k])
    return t


def bases(x, w):
    class A:
        f = 1.0

    class B:
        f = 3.0

    class C(A):
        pass

    t = 0.0
    for k in range(24):
        if k == w[0]:
            C.__bases__ = (B,)
        t += C.f * x[k]
    return t


def instance_function(x, w):
    class A:
        def f(s, v):
            return v

    a = A()
    t = 0.0
    for k in range(24):
        if k == w[0]:
            a.f = lambda v: v * v
        t += a.f(x[k])
    return t


def instance_function_deleted(x, w):
    class A:
        def f(s, v):
            return v

    a = A()
    a.f = lambda v: v * v
    t = 0.0
    for k in range(24):
        if k == w[0]:
            del a.f
        t += a.f(x[k])
    return t


def instance_set_and_deleted(x, w):
    class A:
        def f(s, v):
            return v

    a = A()
    t = 0.0
    for k in range(24):
        if k == w[0]:
            a.f = lambda v: v * v
        if k == w[0] + 5 and "f" in a.__dict__:
            del a.f
        t += a.f(x[k])
    return t


def dict_function(x, w):
    d = {"f": lambda v: v}
    t = 0.0
    for k in range(24):
        if k == w[0]:
            d["f"] = lambda v: v * v
        t += d["f"](x[k])
    return t


def name_function(x, w):
    f = lambda v: v
    t = 0.0
    for k in range(24):
        if k == w[0]:
            f = lambda v: v * v
        t += f(x[k])
    return t


def property_replaced(x, w):
    class A:
        f = property(lambda s: 1.0)

    a = A()
    t = 0.0
    for k in range(24):
        if k == w[0]:
            A.f = property(lambda s: 3.0)
        t += a.f * x[k]
    return t


def staticmethod_replaced(x, w):
    class A:
        f = staticmethod(lambda v: v)

    t = 0.0
    for k in range(24):
        if k == w[0]:
            A.f = staticmethod(math.sin)
        t += A.f(x[k])
    return t


def global_function(x, w):
    global _glob
    _glob = lambda v: v
    t = 0.0
    for k in range(24):
        if k == w[0]:
            _glob = lambda v: v * v
        t += _glob(x[k])
    return t


def method(x, w):
    class A:
        def f(s, v):
            return v

    a = A()
    t = 0.0
    for k in range(n):
        if k == w[0]:
            a.f = lambda v: v * v
        if k == w[1] and "f" in a.__dict__:
            del a.f
        t += a.f(x[k])
    return t


def number(x, w):
    class A:
        f = 1.0

    a = A()
    t = 0.0
    for k in range(n):
        if k == w[0]:
            a.f = 4.0
        if k == w[1] and "f" in a.__dict__:
            del a.f
        t += a.f * x[k]
    return t


def flag(x, w):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if k == w[0]:
            a.hot = True
        if k == w[1] and hasattr(a, "hot"):
            del a.hot
        t += x[k] * (3.0 if hasattr(a, "hot") else 1.0)
    return t


def class_attribute(x, w):
    class A:
        pass

    t = 0.0
    for k in range(n):
        if k == w[0]:
            A.hot = 3.0
        if k == w[1] and hasattr(A, "hot"):
            del A.hot
        t += x[k] * getattr(A, "hot", 1.0)
    return t


def data_slot(x, w):
    class A:
        __slots__ = ("hot",)

    a = A()
    t = 0.0
    for k in range(n):
        if k == w[0]:
            a.hot = 3.0
        if k == w[1] and hasattr(a, "hot"):
            del a.hot
        t += x[k] * getattr(a, "hot", 1.0)
    return t


def only_deleted(x, w):
    class A:
        f = 1.0

    a = A()
    a.f = 3.0
    t = 0.0
    for k in range(n):
        if k == w[1]:
            vars(a).pop("f", None)
        t += a.f * x[k]
    return t


def data_dict_key(x, w):
    d = {}
    t = 0.0
    for k in range(n):
        if k == w[0]:
            d["hot"] = 3.0
        if k == w[1]:
            d.pop("hot", None)
        t += x[k] * d.get("hot", 1.0)
    return t


def operators(x, w):
    class A:
        def __call__(self, v):
            return v

        def __add__(self, v):
            return v

    a, t = A(), 0.0
    for k in range(24):
        if k == w[0]:
            A.__call__ = lambda self, v: v * v
        if k == w[1]:
            A.__add__ = lambda self, v: 3 * v
        t += a(x[k]) + (a + x[k])
    return t


PROGRAMS = (
    operators,
    module_function,
    module_number,
    class_function,
    class_number,
    kwdefaults,
    kwdefaults_new,
    defaults,
    code,
    bases,
    instance_function,
    instance_function_deleted,
    instance_set_and_deleted,
    dict_function,
    name_function,
    property_replaced,
    staticmethod_replaced,
    global_function,
    method,
    number,
    flag,
    class_attribute,
    data_slot,
    only_deleted,
    data_dict_key,
)
