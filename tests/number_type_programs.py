"""Programs whose numbers are of one class in some iterations and of another in others, or that ask `is True`."""

# ruff: noqa: B007, E731, PERF401 (as people write them)

from __future__ import annotations

import math

import numpy as np


def one_or_true(x):
    t = 0.0
    for v in x:
        k = 1 if v > 0.5 else True
        if k is True:
            t += v
        else:
            t += 3 * v
    return t


def true_for_an_iteration(x):
    t = 0.0
    k = 1
    for v in x:
        if v > 0.5:
            k = True
        t += v * (2 if isinstance(k, bool) else 5)
        k = 1
    return t


def two_integer_types(x):
    k = np.int8(100)
    t = 0.0
    for v in x:
        t += v * k
        if v > 0.5:
            k = np.int16(100)
        else:
            k = np.int8(100)
        k = k + k.dtype.type(20)
        t += v * float(k)
        k = k - k.dtype.type(20)
        t += v * k.dtype.itemsize
    return t


def int_or_int64(x):
    k = np.int64(3)
    t = 0.0
    for v in x:
        if v > 0.5:
            k = 3
        else:
            k = np.int64(3)
        t += v * (1 if type(k) is int else 2)
    return t


def keys_that_are_equal(x):
    d = {}
    for i, v in enumerate(x):
        key = 1 if v > 0.5 else 1.0
        d[key] = v
        for kk in d:
            if type(kk) is int:
                d[kk] = d[kk] * 2
        d = {}
        t = v
    return t


def isb(k):
    return isinstance(k, bool)


def ist(k):
    return k is True


def typ(k):
    return type(k) is int


def asked_in_a_helper(x):
    t = 0.0
    for v in x:
        k = 1 if v > 0.5 else True
        t += v if isb(k) else 3 * v
    return t


def identity_in_a_helper(x):
    t = 0.0
    for v in x:
        k = 1 if v > 0.5 else True
        t += v if ist(k) else 3 * v
    return t


def type_in_a_helper(x):
    t = 0.0
    for v in x:
        k = 1 if v > 0.5 else np.int64(1)
        t += v if typ(k) else 3 * v
    return t


def carried_truth(x):
    t = 0.0
    k = 1
    for v in x:
        t += v if isb(k) else 3 * v
        k = 1 if v > 0.5 else True
    return t


def carried_float(x):
    t = 0.0
    k = 1
    for v in x:
        t += v if typ(k) else 3 * v
        k = 1 if v > 0.5 else 1.0
    return t


def text_of_it(x):
    t = 0.0
    k = 1
    for v in x:
        t += v * len(str(k))
        k = 1 if v > 0.5 else 1.0
    return t


def attribute_of_it(x):
    t = 0.0
    for v in x:
        k = 1 if v > 0.5 else 1.0
        if hasattr(k, "hex"):
            t += v
        else:
            t += 3 * v
    return t


def as_index(x):
    t = 0.0
    for v in x:
        k = 3 if v > 0.5 else 3.0
        try:
            t += v * [1, 2, 3, 4][k]
        except TypeError:
            t += 100 * v
    return t


def by_type(x):
    t = 0.0
    for v in x:
        k = 7 if v > 0.5 else 7.0
        t += v * (k / 2 if isinstance(k / 1, float) else 1)
        t += v * {int: 3, float: 5}[type(k)]
    return t


def inverted(x):
    t = 0.0
    for v in x:
        k = True if v > 0.5 else 1
        t += v * (~k)
    return t


def numpys_truth_or_int(x):
    t = 0.0
    for v in x:
        k = (v > 0.5) if v > 0.3 else 1
        t += v * (k * 1.0 if k is not True else 5)
    return t


def no_loop(x):
    b = float(x[0]) > 0.5
    return x[1] * 3 if ist(b) else x[1]


def argument(x):
    t = 0.0
    for v in x:
        t += v if ist(float(v) > 0.5) else 2 * v
    return t


def lambda_asks(x, verbose=False):
    g = lambda z: z is True
    t = 0.0
    for v in x:
        c = float(v) > 0.5
        if g(c):
            t += v * v
        else:
            t -= v
    return t


def carried(x):
    t = 0.0
    c = False
    for v in x:
        if ist(c):
            t += v
        c = float(v) > 0.5
    return t


def list_of_truths(x):
    t = 0.0
    flags = []
    for v in x:
        flags.append(float(v) > 0.5)
    for f, v in zip(flags, x):
        if f is True:
            t += v
        else:
            t += 3 * v
    return t


def matched(x):
    t = 0.0
    for v in x:
        match float(v) > 0.5:
            case True:
                t += v
            case _:
                t -= v
    return t


def is_nan(x):
    t = 0.0
    for v in x:
        if math.isnan(v) is False:
            t += v
        else:
            t -= v
    return t


def is_close(x):
    t = 0.0
    for v in x:
        t += v if ist(math.isclose(v, 0.5, abs_tol=0.2)) else 2 * v
    return t


def item_of_a_truth(x):
    t = 0.0
    for v in x:
        t += v if ist((v > 0.5).item()) else 2 * v
    return t


def any_of_them(x):
    t = 0.0
    for v in x:
        t += v if ist(bool(v > 0.5)) else 2 * v
        t += v if ist(any(w > 0.9 for w in x[:3])) else 2 * v
    return t


def table_of_truths(x):
    F = [True, False] * 12
    t = 0.0
    for f, v in zip(F, x):
        t += v if ist(f) else 2 * v
        t += v if f is True else 2 * v
    return t


def tolist(x):
    F = (x > 0.5).tolist()
    t = 0.0
    for f, v in zip(F, x):
        t += v if ist(f) else 2 * v
    return t


def negated(x):
    t = 0.0
    for v in x:
        c = not v > 0.5
        t += v if ist(c) else 2 * v
        c = v.is_integer()
        t += v if ist(c) else 2 * v
        c = 0.3 < float(v) < 0.6
        t += v if ist(c) else 2 * v
    return t


def in_a_dict(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = float(v) > 0.5
    t = 0.0
    for i in range(24):
        t += x[i] if ist(d[i]) else 2 * x[i]
    return t


class Flags:
    pass


def in_an_attribute(x):
    o = Flags()
    o.c = False
    t = 0.0
    for v in x:
        t += v if ist(o.c) else 2 * v
        o.c = float(v) > 0.5
    return t


def inverted_test_of_the_index(x):
    t = 0.0
    for i, v in enumerate(x):
        t += ~(i % 2 == 0) * v
    return t


def inverted_and_added_truths(x):
    return x[1] * (~(float(x[0]) < 0.5)) + x[2] * (x[0].is_integer() + (x[0] * 0).is_integer())


def inverted_items(x):
    t = 0.0
    for v, b in zip(x, [True, False] * 12):
        t += ~b * v
    return t


def array_of_it(x):
    t = 0.0
    for v in x:
        c = 1.5 if v > 0.5 else 1
        a = np.array([c, 2])
        a[0] = 5 * v
        t += a[0]
    return t


def full_of_it(x):
    t = 0.0
    for v in x:
        c = 1.5 if v > 0.5 else 1
        a = np.full(2, c)
        a[0] = 5 * v
        t += a[0]
    return t


def matched_number(x):
    t = 0.0
    for v in x:
        c = 1.5 if v > 0.5 else 1
        match c:
            case int():
                t += v
            case float():
                t -= 3 * v
    return t


def has_a_dtype(x):
    t = 0.0
    for v in x:
        c = v if v > 0.5 else float(v)
        t += v * (2 if hasattr(c, "dtype") else 3)
        t += v * (2 if getattr(float(v), "dtype", None) is None else 3)
    return t


def narrow_integer(x):
    s = np.int8(100)
    t = 0.0
    for v in x:
        s = s + np.int8(5)
        t += float(s) * v
    return t


def unsigned_going_down(x):
    s = np.uint8(5)
    t = 0.0
    for v in x:
        s -= 1
        t += float(s) * v
    return t + float(s)


def narrow_and_python(x):
    s = np.int8(100)
    t = 0.0
    for v in x:
        s += 5
        t += float(s) * v
    return t


def items_by_data_in_an_array(x):
    t = 0.0
    L = [1, 1.5]
    for v in x:
        a = np.array([L[int(v > 0.5)], 2])
        a[0] = 5 * v
        t += a[0]
    return t


def truths_among_numbers(x):
    t = 0.0
    L = [True, 1, 0.5]
    for v in x:
        t += (2.0 if L[int(v > 0.3) + int(v > 0.6)] is True else 1) * v
    return t


def numpys_or_pythons(x):
    t = 0.0
    for v in x:
        c = np.int8(100) if v > 0.5 else 100
        t += float(c + c) * v
    return t


def in_a_tuple(x):
    t = 0.0
    for v in x:
        k = (1 if v > 0.5 else True, v)
        t += v if k[0] is True else 3 * v
    return t


def in_a_carried_tuple(x):
    t, k = 0.0, (1, 0.0)
    for v in x:
        t += v if k[0] is True else 3 * v
        k = (1 if v > 0.5 else True, v)
    return t + k[1]


def in_a_carried_list(x):
    t, k = 0.0, [1, 0.0]
    for v in x:
        t += v if k[0] is True else 3 * v
        k = [1 if v > 0.5 else True, v]
    return t + k[1]


class Holder:
    def __init__(self, n, v):
        self.n, self.v = n, v


def in_an_attribute_of_one(x):
    t, s = 0.0, Holder(1, 0.0)
    for v in x:
        t += v if s.n is True else 3 * v
        s.n = 1 if v > 0.5 else True
    return t


def in_an_attribute_of_each(x):
    t, s = 0.0, Holder(1, 0.0)
    for v in x:
        t += v if ist(s.n) else 3 * v
        s = Holder(1 if v > 0.5 else True, v)
    return t


def in_pairs_of_a_list(x):
    t, pairs = 0.0, []
    for v in x:
        pairs.append((1 if v > 0.5 else True, v))
    for n, v in pairs:
        t += v if n is True else 3 * v
    return t


def in_a_list(x):
    t, kinds = 0.0, [1 if v > 0.5 else True for v in x]
    for n, v in zip(kinds, x):
        t += v if n is True else 3 * v
    return t


NUMBERS = (
    inverted_test_of_the_index,
    inverted_and_added_truths,
    inverted_items,
    array_of_it,
    full_of_it,
    matched_number,
    has_a_dtype,
    narrow_integer,
    unsigned_going_down,
    narrow_and_python,
    items_by_data_in_an_array,
    truths_among_numbers,
    numpys_or_pythons,
    one_or_true,
    true_for_an_iteration,
    two_integer_types,
    int_or_int64,
    keys_that_are_equal,
    asked_in_a_helper,
    identity_in_a_helper,
    type_in_a_helper,
    carried_truth,
    carried_float,
    text_of_it,
    attribute_of_it,
    as_index,
    by_type,
    inverted,
    numpys_truth_or_int,
    in_a_tuple,
    in_a_carried_tuple,
    in_a_carried_list,
    in_an_attribute_of_one,
    in_an_attribute_of_each,
    in_pairs_of_a_list,
    in_a_list,
)
TRUTHS = (
    no_loop,
    argument,
    lambda_asks,
    carried,
    list_of_truths,
    matched,
    is_nan,
    is_close,
    item_of_a_truth,
    any_of_them,
    table_of_truths,
    tolist,
    negated,
    in_a_dict,
    in_an_attribute,
)
