"""Programs with lists whose length is data, of which one takes the place of another: begun anew, filtered, cut."""

# ruff: noqa: E731, E741, PERF401 (programs as people write them)

from __future__ import annotations

import functools


def begun_anew(x):
    cur = []
    best = 0.0
    for v in x:
        if v > 0:
            cur.append(v)
        else:
            best = best + sum(cur) * v
            cur = []
    return best + sum(cur)


def means_of_groups(x):
    out = []
    cur = []
    for v in x:
        if v > 0:
            cur.append(v)
        elif cur:
            out.append(sum(cur) / len(cur))
            cur = []
    return sum(o * o for o in out) + len(out)


def filtered_again_and_again(x):
    q = [v for v in x if v > -1]
    while len(q) > 2:
        m = sum(q) / len(q)
        q = [v for v in q if v > m]
    return sum(q)


def levels(x):
    fr = [0]
    s = 0.0
    n = len(x)
    for level in range(5):
        nxt = []
        for i in fr:
            s += x[i] * (level + 1)
            if x[i] > -0.5:
                if 2 * i + 1 < n:
                    nxt.append(2 * i + 1)
                if 2 * i + 2 < n:
                    nxt.append(2 * i + 2)
        fr = nxt
    return s


def levels_in_a_while(x):
    fr = [0]
    nxt = []
    s = 0.0
    n = len(x)
    while fr:
        for i in fr:
            s += x[i]
            for j in (2 * i + 1, 2 * i + 2):
                if j < n and x[j] > -0.5:
                    nxt.append(j)
        fr, nxt = nxt, []
    return s


def exchanged(x):
    a = []
    b = []
    for v in x:
        if v > 0:
            a.append(v)
        else:
            a, b = b, a
    return sum(a) * 2 + sum(b)


def begun_anew_and_kept(x):
    a = []
    keep = a
    for v in x:
        if v > 0:
            a.append(v)
        else:
            a = []
    return sum(a) * 2 + sum(keep)


def kept_in_turn(x):
    a = []
    keep = []
    for v in x:
        if v > 0:
            a.append(v)
        else:
            keep = a
            a = []
    return sum(a) * 2 + sum(keep)


def two_names_for_one(x):
    a = []
    keep = []
    for v in x:
        if v > 0:
            a.append(v)
        elif v < -1:
            keep = a
        else:
            a = [v]
    return sum(a) * 2 + sum(keep)


def filtered_in_a_loop(x):
    q = list(x)
    s = 0.0
    for r in range(4):
        q = [v for v in q if v > 0.2 * r - 0.5]
        s += sum(q) * r
    return s


def window(x):
    w = []
    s = 0.0
    for v in x:
        if v > 0:
            w.append(v)
        w = w[-3:]
        s += sum(w) * v
    return s


def attribute_begun_anew(x):
    class S:
        pass

    o = S()
    o.cur = []
    o.t = 0.0
    for v in x:
        if v > 0:
            o.cur.append(v)
        else:
            o.t += sum(o.cur) * v
            o.cur = []
    return o.t


def replaced_while_it_is_run_over(x):
    cur = [1.0]
    s = 0.0
    for v in x:
        for w in cur:
            s += w * v
            if v > 1:
                cur = [v, w]
        if v > 0:
            cur.append(v)
    return s + len(cur)


def flushed_by_a_closure(x):
    cur = []
    tot = [0.0]

    def flush():
        nonlocal cur
        tot[0] += sum(cur) ** 2 if cur else 0.0
        cur = []

    for v in x:
        if v > 0:
            cur.append(v)
        else:
            flush()
    flush()
    return tot[0]


def two_variables_begun_anew(x):
    a = b = [x[0]]
    s = 0.0
    for v in x:
        if v > 0:
            b.append(v)
        else:
            a = b = [u * 0.5 for u in a if u > 0.1]
        s += sum(a)
    return s + 2 * sum(b)


def returned_by_a_helper(x):
    def f(l, v):
        if v > 0:
            return l + [v]
        return l

    o = []
    for v in x:
        o = f(o, v)
    return sum(o) * len(o)


def sums_of_lists(x):
    o = []
    for v in x:
        if v > 0:
            o = o + [v]
    return sum(o) * len(o)


def unpacked_lists(x):
    o = []
    for v in x:
        if v > 0:
            o = [*o, v]
    return sum(o) * len(o)


def kept_by_a_method(x):
    cur = []
    add = cur.append
    s = 0.0
    for v in x:
        if v > 0:
            add(v)
        else:
            s += sum(cur)
            cur = []
    return s + sum(cur)


def appended_by_a_method(x):
    cur = [0.5]
    add = cur.append
    s = 0.0
    for v in x:
        cur = [w for w in cur if w > 0.2]
        if v > 0:
            add(v)
        s += len(cur) * v
    return s


def kept_by_a_default(x):
    cur = []
    add = lambda v, c=cur: c.append(v)
    s = 0.0
    for v in x:
        if v > 0:
            add(v)
        else:
            s += sum(cur) * v
            cur = []
    return s + sum(cur)


def kept_by_a_tuple(x):
    cur = []
    t = (cur, 1)
    s = 0.0
    for v in x:
        if v > 0:
            t[0].append(v)
        else:
            s += sum(cur) * v
            cur = []
    return s + sum(t[0])


def kept_by_a_dict(x):
    cur = []
    d = {}
    s = 0.0
    for v in x:
        if v > 0:
            cur.append(v)
        else:
            d["a"] = cur
            s += len(d["a"]) * v
            cur = []
    return s + sum(cur)


def kept_by_a_dict_at_times(x):
    cur = []
    d = {"a": []}
    s = 0.0
    for v in x:
        if v > 0:
            cur.append(v)
        elif v > -1:
            d["a"] = cur
        else:
            cur = [v]
        s += len(d["a"]) * v
    return s + sum(cur)


def kept_by_the_caller(x):
    cur = []

    def inner(c):
        c = [v for v in x if v > 0]
        for v in x:
            if v < 0:
                c = [w for w in c if w > 0.1]
            else:
                c.append(v)
        return sum(c)

    s = inner(cur)
    return s + len(cur)


def kept_by_a_generator(x):
    cur = [1.0]
    s = 0.0
    g = (w for w in cur)
    for v in x:
        if v > 0:
            cur.append(v)
        else:
            cur = [v]
    return s + sum(g) + sum(cur)


def added_to_in_place(x):
    a, b = [1.0], [0.5]
    c = b
    for v in x:
        if v > 1:
            a.append(v)
        if v < 0:
            b.append(0.1)
        c += a
    return x[0] + 2 * sum(b) + 3 * sum(c)


def kept_by_a_cache(x):
    @functools.lru_cache(None)
    def kept(k):
        return [k]

    current = kept(2.0)
    for v in x:
        if v > 0:
            current = [*current, v]
    return sum(current) + 3 * sum(kept(2.0))


def begun_anew_beside_a_dict(x):
    total, found, last = 0.0, [], {}
    for v in x:
        last = {} if v > 0.6 else last
        if len(found) > 0:
            found = []
        found.extend(x[:2])
        last["up"] = v
        total += v
    return total + sum(found)


IN_TURN = [
    begun_anew, means_of_groups, filtered_again_and_again, kept_in_turn, filtered_in_a_loop, window,
    attribute_begun_anew, returned_by_a_helper, sums_of_lists, flushed_by_a_closure,
]  # fmt: skip
OTHERS_IN_TURN = [
    levels, levels_in_a_while, exchanged, begun_anew_and_kept, two_names_for_one, replaced_while_it_is_run_over,
    unpacked_lists, two_variables_begun_anew, kept_by_a_method, appended_by_a_method, kept_by_a_default,
    kept_by_a_tuple, kept_by_a_dict, kept_by_a_dict_at_times, kept_by_the_caller, kept_by_a_generator,
    added_to_in_place, kept_by_a_cache, begun_anew_beside_a_dict,
]  # fmt: skip
