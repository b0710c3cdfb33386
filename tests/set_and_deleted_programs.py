"""Programs whose loops set or delete what can be asked for, or change the order of keys or a function's defaults."""

# ruff: noqa: B018, F841 (programs as people write them)

from __future__ import annotations

n = 18


def attr_hasattr(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            a.hot = True
        t += x[k] * (3.0 if hasattr(a, "hot") else 1.0)
    return t


def attr_getattr(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            a.w = 4.0
        t += x[k] * getattr(a, "w", 1.0)
    return t


def attr_getattr_del(x):
    class A:
        pass

    a = A()
    a.w = 4.0
    t = 0.0
    for k in range(n):
        if x[k] > 2.5 and hasattr(a, "w"):
            del a.w
        t += x[k] * getattr(a, "w", 1.0)
    return t


def attr_on_off(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            a.w = 4.0
        if x[k] < 0 and hasattr(a, "w"):
            del a.w
        t += x[k] * getattr(a, "w", 1.0)
    return t


def class_getattr(x):
    class A:
        pass

    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            A.w = 4.0
        t += x[k] * getattr(A, "w", 1.0)
    return t


def class_on_off(x):
    class A:
        pass

    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            A.w = 4.0
        if x[k] < 0 and hasattr(A, "w"):
            del A.w
        t += x[k] * getattr(A, "w", 1.0)
    return t


def slot(x):
    class S:
        __slots__ = ("w",)

    s = S()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            s.w = 4.0
        t += x[k] * getattr(s, "w", 1.0)
    return t


def slot_on_off(x):
    class S:
        __slots__ = ("w",)

    s = S()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            s.w = 4.0
        if x[k] < 0 and hasattr(s, "w"):
            del s.w
        t += x[k] * getattr(s, "w", 1.0)
    return t


def func(x):
    def h():
        return getattr(h, "w", 1.0)

    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            h.w = 4.0
        t += h() * x[k]
    return t


def glob(x):
    globals().pop("_zz", None)
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            globals()["_zz"] = 4.0
        t += globals().get("_zz", 1.0) * x[k]
    globals().pop("_zz", None)
    return t


def dict_key(x):
    d = {}
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            d["w"] = 4.0
        t += d.get("w", 1.0) * x[k]
    return t


def dict_in(x):
    d = {}
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            d["w"] = 4.0
        t += (3.0 if "w" in d else 1.0) * x[k]
    return t


def dict_order(x):
    d = {"a": 1.0, "b": 2.0}
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            d["a"] = d.pop("a")
        t += x[k] * next(iter(d.values()))
    return t


def instance_over_class(x):
    class A:
        w = 1.0

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            a.w = 4.0
        t += x[k] * a.w
    return t


def try_attribute(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            a.w = 4.0
        try:
            t += x[k] * a.w
        except AttributeError:
            t += x[k]
    return t


def patched(x):
    class A:
        def f(s, v):
            return v

    a = A()
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            A.f = lambda s, v: v * v
        t += a.f(x[k])
    return t


def lazy_hasattr(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if not hasattr(a, "s"):
            a.s = True
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_vars(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if "s" not in vars(a):
            a.s = True
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_getattr(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        if getattr(a, "s", None) is None:
            a.s = x
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_len(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        t += x[k] * len(vars(a))
        a.s = 3
    return t


def lazy_try(x):
    class A:
        pass

    a = A()
    t = 0.0
    for k in range(n):
        try:
            a.s
        except AttributeError:
            a.s = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_func(x):
    def h():
        pass

    t = 0.0
    for k in range(n):
        if not hasattr(h, "s"):
            h.s = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_class(x):
    class A:
        pass

    t = 0.0
    for k in range(n):
        if not hasattr(A, "s"):
            A.s = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_glob(x):
    globals().pop("_q", None)
    t = 0.0
    for k in range(n):
        if "_q" not in globals():
            globals()["_q"] = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    globals().pop("_q", None)
    return t


def lazy_local(x):
    t = 0.0
    for k in range(n):
        if "first" not in locals():
            first = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def lazy_name(x):
    t = 0.0
    for k in range(n):
        try:
            first
        except NameError:
            first = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def name_caught_around(x):
    t = 0.0
    try:
        for k in range(n):
            if x[k] > 2.5:
                best = 2.0 * x[k]
            t += x[k] * best
    except UnboundLocalError:
        t = x[0] - 1.0
    return t


def name_caught_each_time(x):
    t = 0.0
    for k in range(n):
        if x[k] > 2.5:
            best = 2.0 * x[k]
        try:
            best
        except NameError:
            t += x[k]
        else:
            t += 2.0 * x[k]
    return t


def lazy_slot(x):
    class A:
        __slots__ = ("s",)

    a = A()
    t = 0.0
    for k in range(n):
        if not hasattr(a, "s"):
            a.s = 1
            t += 10.0 * x[k]
        t += x[k] ** 2
    return t


def deleted(x):
    class A:
        pass

    a = A()
    a.s = 1
    t = 0.0
    for k in range(n):
        if k == 5:
            del a.s
        t += x[k] * hasattr(a, "s")
    return t


def bool_slot_meth(x):
    class A:
        def f(self, v):
            return v

    a = A()
    t = 0.0
    for k in range(n):
        t += a.f(x[k])
        a.f = lambda v: v * v
    return t


def cls_meth(x):
    class A:
        def f(self, v):
            return v

    a = A()
    t = 0.0
    for k in range(n):
        t += a.f(x[k])
        A.f = lambda self, v: v * v
    return t


def defaults_each(x):
    def f(v, c=1.0):
        return v * c

    t = 0.0
    for k in range(n):
        t += f(x[k])
        f.__defaults__ = (2.0,)
    return t


def order_each(x):
    d = {"a": 1.0, "b": 2.0}
    t = 0.0
    for k in range(n):
        t += x[k] * next(iter(d.values()))
        d["a"] = d.pop("a")
    return t


def order_once(x):
    d = {"a": 1.0, "b": 2.0, "c": 3.0}
    t = 0.0
    for k in range(n):
        t += x[k] * next(iter(d.values()))
        d["a"] = d.pop("a")
        d["b"] = d["b"]
    return t


def prop_each(x):
    class A:
        f = property(lambda s: 1.0)

    a = A()
    t = 0.0
    for k in range(n):
        t += x[k] * a.f
        A.f = property(lambda s: 2.0)
    return t


def bases_each(x):
    class A:
        w = 1.0

    class B:
        w = 3.0

    class C(A):
        pass

    t = 0.0
    for k in range(n):
        t += C.w * x[k]
        C.__bases__ = (B,)
    return t


def function_on_off(x):
    def h():
        return getattr(h, "w", 1.0)

    t = s = 0.0
    for k in range(n):
        s = 0.8 * s + x[k] * x[k]
        if s > 30 + t * 0.01:
            h.w = 4.0
        if s < 3:
            h.__dict__.clear()
        t += x[k] * h()
    return t


def method_on_off(x):
    class A:
        def f(s, v):
            return v

    a = A()
    t = s = 0.0
    for k in range(n):
        s = 0.8 * s + x[k] * x[k]
        if s > 30 + t * 0.01:
            a.f = lambda v: v * v
        if s < 3 and "f" in a.__dict__:
            del a.f
        t += a.f(x[k])
    return t


PROGRAMS = (
    attr_hasattr,
    attr_getattr,
    attr_getattr_del,
    attr_on_off,
    class_getattr,
    class_on_off,
    slot,
    slot_on_off,
    func,
    glob,
    dict_key,
    dict_in,
    dict_order,
    instance_over_class,
    try_attribute,
    patched,
    lazy_hasattr,
    lazy_vars,
    lazy_getattr,
    lazy_len,
    lazy_try,
    lazy_func,
    lazy_class,
    lazy_glob,
    lazy_local,
    lazy_name,
    name_caught_around,
    name_caught_each_time,
    lazy_slot,
    deleted,
    bool_slot_meth,
    cls_meth,
    defaults_each,
    order_each,
    order_once,
    prop_each,
    bases_each,
    function_on_off,
    method_on_off,
)
