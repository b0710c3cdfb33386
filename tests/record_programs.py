"""Programs with small lists, dicts and objects that data choose, change and exchange: accounts, trees, queues."""

# ruff: noqa: B007, PERF401, RUF007 (programs as people write them)

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def gauss(x):
    n = 5
    A = [[x[i * n + j] for j in range(n)] for i in range(n)]
    b = [x[25 + i] for i in range(n)]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i][k]) > abs(A[p][k]):
                p = i
        if p != k:
            A[k], A[p] = (A[p], A[k])
            b[k], b[p] = (b[p], b[k])
        for i in range(k + 1, n):
            m = A[i][k] / A[k][k]
            for j in range(k, n):
                A[i][j] -= m * A[k][j]
            b[i] -= m * b[k]
    y = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i][j] * y[j]
        y[i] = s / A[i][i]
    return sum(v * v for v in y)


def merge(x):
    iv = [(x[i], x[i] + abs(x[i + 15])) for i in range(15)]
    iv.sort()
    out = []
    for a, b in iv:
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return sum(((b - a) ** 2 for a, b in out))


def lots(x):
    q = []
    gain = 0.0
    for t in range(20):
        v = x[t]
        if v > 0:
            q.append([v, 1.0 + 0.1 * t * v])
        else:
            need = -v
            while q and need > 1e-12:
                take = min(need, q[0][0])
                gain += take * (1.0 + 0.1 * t - q[0][1])
                q[0][0] -= take
                need -= take
                if q[0][0] <= 1e-12:
                    q.pop(0)
    return gain


def kmeans(x):
    c = [[x[0], 0.0, 0.0], [x[5], 0.0, 0.0], [x[9], 0.0, 0.0]]
    for it in range(3):
        for k in c:
            k[1] = 0.0
            k[2] = 0.0
        for i in range(20):
            best = 0
            for j in range(3):
                if (x[i] - c[j][0]) ** 2 < (x[i] - c[best][0]) ** 2:
                    best = j
            c[best][1] += x[i]
            c[best][2] += 1.0
        for k in c:
            if k[2] > 0:
                k[0] = k[1] / k[2]
    return sum(k[0] ** 2 for k in c)


def tree(x):
    nodes = [[x[0], -1, -1]]
    depth = 0.0
    for i in range(1, 12):
        j = 0
        d = 1.0
        while True:
            side = 1 if x[i] < nodes[j][0] else 2
            if nodes[j][side] < 0:
                nodes[j][side] = len(nodes)
                nodes.append([x[i], -1, -1])
                break
            j = nodes[j][side]
            d += 1
        depth += d * x[i]
    return depth


def bubble(x):
    r = [[x[i], x[i] ** 2, i * 1.0] for i in range(8)]
    for a in range(8):
        for b in range(7 - a):
            if r[b][0] > r[b + 1][0]:
                r[b], r[b + 1] = (r[b + 1], r[b])
    return sum(((i + 1) * q[1] * q[2] for i, q in enumerate(r)))


def account(x):
    acc = [{"bal": 100.0, "n": 0} for _ in range(4)]
    for i in range(20):
        k = int(abs(x[i]) * 10) % 4
        acc[k]["bal"] += x[i]
        acc[k]["n"] += 1
    return sum(a["bal"] ** 2 * a["n"] for a in acc)


class P:
    def __init__(s, v):
        s.v = v
        s.hits = 0
        s.e = 1.0


def objs(x):
    ps = [P(x[i]) for i in range(6)]
    for t in range(15):
        k = min(range(6), key=lambda i: ps[i].v)
        ps[k].v += abs(x[t]) * ps[k].e
        ps[k].hits += 1
        ps[k].e *= 0.9
    return sum(p.v * p.hits for p in ps)


def alive(x):
    ps = [P(x[i]) for i in range(12)]
    for t in range(8):
        for p in ps:
            p.e -= 0.1 * abs(p.v)
            p.v += 0.1 * p.e
        ps = [p for p in ps if p.e > 0.3]
    return sum(p.v * p.e for p in ps)


def llist(x):
    head = None

    class N:
        pass

    for i in range(10):
        n = N()
        n.v = x[i]
        n.next = head
        head = n
    s = 0.0
    w = 1.0
    while head is not None:
        s += w * head.v
        w *= 0.9
        head = head.next
    return s


@dataclass
class Body:
    x: float
    v: float
    m: float = 1.0


class Account:
    def __init__(self, bal):
        self.bal = bal
        self.hist = 0.0

    def deposit(self, a):
        self.bal += a
        self.hist += 1

    @property
    def avg(self):
        return self.bal / (1 + self.hist)


def bank(x):
    accs = [Account(10.0 + x[i]) for i in range(6)]
    for t in range(20):
        src = int(abs(x[t]) * 10) % 6
        dst = int(abs(x[t + 1]) * 10) % 6
        if accs[src].bal > x[t]:
            accs[src].deposit(-x[t])
            accs[dst].deposit(x[t])
    return sum((a.avg * (i + 1) for i, a in enumerate(accs)))


def collide(x):
    bs = [Body(x[i], x[i + 10]) for i in range(8)]
    for t in range(20):
        for b in bs:
            b.x += 0.05 * b.v
        bs.sort(key=lambda b: b.x)
        for a, b in zip(bs, bs[1:]):
            if b.x - a.x < 0.05:
                a.v, b.v = (b.v, a.v)
    return sum(b.x * b.v for b in bs)


def queue_sim(x):
    servers = [{"free": 0.0, "busy": 0.0} for _ in range(3)]
    wait = 0.0
    t = 0.0
    for i in range(30):
        t += abs(x[i])
        s = min(servers, key=lambda s: s["free"])
        start = max(t, s["free"])
        wait += start - t
        s["free"] = start + 0.5 * abs(x[39 - i])
        s["busy"] += 0.5 * abs(x[39 - i])
    return wait + sum(s["busy"] ** 2 for s in servers)


def lru(x):
    cache = []
    cost = 0.0
    for t in range(24):
        key = int(abs(x[t]) * 5) % 6
        for c in cache:
            if c[0] == key:
                c[1] += x[t]
                break
        else:
            cache.append([key, x[t]])
            if len(cache) > 3:
                cost += cache.pop(0)[1] ** 2
    return cost + sum(c[1] for c in cache)


def union(x):
    parent = [[i, 1.0 + x[i] ** 2] for i in range(8)]

    def find(i):
        while parent[i][0] != i:
            i = parent[i][0]
        return i

    s = 0.0
    for t in range(18):
        a = find(int(abs(x[t]) * 10) % 8)
        b = find(int(abs(x[t + 5]) * 10) % 8)
        if a != b:
            parent[a][0] = b
            parent[b][1] += parent[a][1]
        s += parent[b][1]
    return s


class Node:
    def __init__(self, v):
        self.v = v
        self.left = None
        self.right = None
        self.n = 1


def bst(x):
    root = Node(x[0])
    for i in range(1, 14):
        cur = root
        d = 1.0
        while True:
            cur.n += 1
            if x[i] < cur.v:
                if cur.left is None:
                    cur.left = Node(x[i])
                    break
                cur = cur.left
            else:
                if cur.right is None:
                    cur.right = Node(x[i])
                    break
                cur = cur.right
            d += 1
    s = 0.0
    st = [(root, 1.0)]
    while st:
        nd, d = st.pop()
        s += nd.v * d * nd.n
        if nd.left is not None:
            st.append((nd.left, d * 0.5))
        if nd.right is not None:
            st.append((nd.right, d * 0.7))
    return s


def hist(x):
    h = {}
    for i in range(20):
        k = int(abs(x[i]) * 4)
        h[k] = h.get(k, 0.0) + x[i]
    return sum(v * v for v in h.values())


def rrobin(x):
    jobs = [[abs(x[i]) + 0.5, 1.0] for i in range(6)]
    t = 0.0
    cost = 0.0
    while jobs:
        j = jobs.pop(0)
        run = min(j[0], 0.4)
        t += run
        j[0] -= run
        if j[0] > 1e-09:
            jobs.append(j)
        else:
            cost += t * j[1]
    return cost


def isort(x):
    a = [[x[i], i] for i in range(20)]
    for i in range(1, 20):
        j = i
        while j > 0 and a[j - 1][0] > a[j][0]:
            a[j - 1], a[j] = (a[j], a[j - 1])
            j -= 1
    return sum(((i + 1) * r[0] + 0.01 * r[1] for i, r in enumerate(a)))


def population(x):

    class Ind:
        def __init__(self, g):
            self.g = g
            self.fit = -((g - 1.0) ** 2)

    pop = [Ind(x[i]) for i in range(6)]
    for t in range(20):
        a = pop[int(abs(x[t]) * 9) % 6]
        b = pop[int(abs(x[t + 1]) * 9) % 6]
        child = Ind(0.5 * (a.g + b.g) + 0.1 * x[t + 2])
        w = min(range(6), key=lambda i: pop[i].fit)
        if child.fit > pop[w].fit:
            pop[w] = child
    return sum(p.g * p.fit for p in pop)


class Pair:
    def __init__(s, v):
        s.v = v
        s.w = 1.0


def sorted_by_products(x):
    a = [[x[i], 1.0] for i in range(5)]
    for t in range(20):
        if x[t] > 0:
            a.append([x[t], 0.5])
        a.sort(key=lambda r: r[0] * r[1], reverse=True)
        if len(a) > 3 and x[t] < -0.5:
            a.pop()
        a[0][1] *= 0.9
    return sum(((i + 1) * r[0] * r[1] for i, r in enumerate(a)))


def sorted_objects(x):
    a = [Pair(x[i]) for i in range(5)]
    for t in range(20):
        if x[t] > 0:
            a.append(Pair(x[t]))
        k = int(abs(x[t + 3]) * 9) % len(a)
        a[k].v -= 0.1
        a[k].w += x[t]
        a.sort(key=lambda r: (r.w, -r.v))
        if len(a) > 3 and x[t] < -0.5:
            a.pop(0)
    return sum(((i + 1) * r.v * r.w for i, r in enumerate(a)))


def sorted_pairs(x):
    a = []
    for t in range(30):
        if x[t] > 0:
            a.append((x[t], t))
    a.sort(key=lambda r: -r[0])
    return sum(((i + 1) * r[0] * r[1] for i, r in enumerate(a)))


def best_of_all(x):
    q = [Account(x[i]) for i in range(18)]
    best = q[0]
    for t in range(24):
        v = x[(t * 7 + 3) % 40]
        k = int(abs(v) * 7) % 18
        if q[k].bal > best.bal:
            best = q[k]
        best.hist += 0.01 * v
    return sum(b.bal**2 * b.hist for b in q) + best.hist


def handed_on(x):
    q = [[x[i], 1.0] for i in range(18)]
    before = q[0]
    for t in range(24):
        before[1] += 0.1 * x[t]
        before = q[int(abs(x[t]) * 7) % 18]
    return sum(b[0] ** 2 * b[1] for b in q)


class MovingBody:
    def __init__(s, p, v):
        s.pos = p
        s.vel = v
        s.m = 1.0
        s.tag = ("a", 0)


class WithValue:
    def __init__(s, v):
        s.v = v

    def val(s):
        return s.v


class WithWeight(WithValue):
    def __init__(s, v, w):
        super().__init__(v)
        s.w = w

    @property
    def both(s):
        return s.v * s.w

    @both.setter
    def both(s, x):
        s.v = x
        s.w = x * 0.5


def arrays_in_objects(x):
    bs = [MovingBody(np.array([x[i], x[i + 1]]), np.array([0.1, x[i + 2]])) for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        bs[k].pos = bs[k].pos + 0.1 * bs[k].vel
        bs[k].m *= 0.9
        bs[(k + 1) % 5].vel = bs[k].vel
    return sum((b.pos**2).sum() * b.m for b in bs)


def arrays_written_in_place(x):
    bs = [MovingBody(np.array([x[i], x[i + 1]]), np.array([0.1, x[i + 2]])) for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        bs[k].pos += 0.1 * bs[k].vel
        bs[k].m *= 0.9
    return sum((b.pos**2).sum() * b.m for b in bs)


def through_properties(x):
    q = [WithWeight(x[i], x[i + 1]) for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        if x[t] > 0:
            q[k].both = q[k].both * 0.3 + x[t]
        else:
            q[k].v = q[k].val() * 0.5
    return sum(b.both for b in q)


def in_several_places(x):
    q = [[x[i], 1.0] for i in range(5)]
    r = {"a": q[0], "b": q[1]}
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k][0] += x[t]
        r["a"][1] += 0.1
        q[k], q[0] = (q[0], q[k])
    return sum(b[0] * b[1] for b in q) + r["a"][0] + r["b"][1]


def copies_of_records(x):
    q = [[x[i], 1.0] for i in range(6)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 6
        a = q[k]
        q[k] = q[0]
        q[0] = a
        a[0] += 0.1
        b = q[k][:]
        b[0] = 99.0
        c = list(q[k])
        c[1] = 5.0
        q[k][1] += c[0] * 0.01
        lo, hi = q[k]
        q[k][0] = hi * 0.5 + lo * 0.5
    return sum(((i + 1) * b[0] * b[1] for i, b in enumerate(q)))


def dicts_as_mappings(x):
    q = [{"v": x[i], "w": 1.0} for i in range(6)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 6
        d = dict(q[k])
        d["v"] = 7.0
        e = {**q[k], "w": 2.0}
        q[k].update(v=q[k]["v"] * 0.9 + e["w"] * 0.01)
        q[k]["w"] += q[k].get("zz", 0.25)
        if "v" in q[k] and len(q[k]) == 2:
            q[k]["v"] += 0.1
        for key in q[k]:
            q[k][key] *= 0.99
    return sum(b["v"] * b["w"] for b in q)


def asked_which(x):
    q = [[x[i], 1.0] for i in range(6)]
    s = 0.0
    for t in range(20):
        k = int(abs(x[t]) * 7) % 6
        j = int(abs(x[t + 1]) * 7) % 6
        if q[k] is q[j]:
            s += 1.0
        else:
            s += q[k][0] * 0.1
        q[k][1] += 0.1
    return s + sum(b[0] * b[1] for b in q)


def records_in_a_grid(x):
    grid = [[[x[(i * 4 + j) % 40], 0.0] for j in range(4)] for i in range(4)]
    for t in range(20):
        i = int(abs(x[t]) * 7) % 4
        j = int(abs(x[t + 1]) * 7) % 4
        grid[i][j][0] += 0.1
        grid[j][i][1] += x[t]
    return sum(c[0] * c[1] for r in grid for c in r)


def lists_in_records(x):
    q = [[x[i], [1.0, 2.0]] for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k][1][0] += x[t]
        q[k][0] *= 0.9
        q[k][1], q[(k + 1) % 5][1] = (q[(k + 1) % 5][1], q[k][1])
    return sum(b[0] * b[1][0] * b[1][1] for b in q)


class Vec:
    def __init__(s, x, y):
        s.x = x
        s.y = y


class Pt:
    def __init__(s, x, y):
        s.p = Vec(x, y)
        s.m = 1.0


def objects_in_objects(x):
    q = [Pt(x[i], x[i + 1]) for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k].p.x += 0.1 * x[t]
        q[k].m *= 0.9
    return sum(b.p.x * b.p.y * b.m for b in q)


def dicts_in_dicts(x):
    q = [{"v": x[i], "in": {"a": 1.0, "b": x[i]}, "t": (x[i], 2.0)} for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k]["in"]["a"] += 0.1 * x[t]
        q[k]["v"] *= 0.9
        w = q[k]["in"]
        w["b"] += 0.05
        q[k]["t"] = (q[k]["t"][1], q[k]["v"])
    return sum(b["v"] * b["in"]["a"] * b["in"]["b"] + b["t"][0] for b in q)


def objects_in_records(x):
    q = [[x[i], Vec(x[i], 1.0)] for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        v = q[k][1]
        v.y += 0.1
        q[k][0] += v.x * 0.1
        q[(k + 1) % 5][1] = v
    return sum(b[0] * b[1].x * b[1].y for b in q)


def one_object_in_all(x):
    shared = Vec(x[0], x[1])
    q = [[x[i], shared] for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k][1].y += 0.1 * x[t]
        q[k][0] *= 0.9
    return sum(b[0] * b[1].x * b[1].y for b in q) + shared.y


def made_longer_in_place(x):
    q = [[x[i], 1.0] for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k][0] += 0.1
        q[k], q[0] = q[0], q[k]
        if x[t] > 1.0:
            r = q[k]
            r += [2.0]
    return sum(sum(r) for r in q)


def keys_that_are_dropped(x):
    q = [{"v": x[i], "w": 1.0} for i in range(5)]
    for t in range(20):
        k = int(abs(x[t]) * 7) % 5
        q[k]["v"] += 0.1
        q[k], q[0] = q[0], q[k]
        if x[t] > 1.0:
            r = q[k]
            r |= {"u": 3.0}
            if "w" in r:
                del r["w"]
    return sum(sum(r.values()) for r in q)


class WithList:
    def __init__(self, v):
        self.v = v
        self.items = [v]


def filtered_with_lists(x):
    q = [WithList(x[0]), WithList(x[1]), WithList(x[2])]
    for i in range(20):
        q = [r for r in q if r.v > -0.4] or [WithList(x[i % 5])]
        if len(q) < 2:
            q.append(WithList(x[i]))
    return sum(r.v + r.items[0] for r in q)


class Seen:
    def __init__(self, v):
        self.v, self.a = v, None


def first_time(x):
    """Of which data say when it is no longer None."""
    q = [Seen(x[0]), Seen(x[1]), Seen(0.4)]
    n = 0.0
    for i in range(20):
        v, r = x[i % 5], q[i % 3]
        if r.a is None:
            n += v
        if v > -0.5:
            r.a = v if r.a is None else 0.5 * r.a
    return n + sum(r.v + (0.3 if r.a is None else r.a) for r in q)


LOOPS = [
    first_time,
    objects_in_objects,
    dicts_in_dicts,
    objects_in_records,
    one_object_in_all,
    arrays_in_objects,
    through_properties,
    in_several_places,
    copies_of_records,
    dicts_as_mappings,
    records_in_a_grid,
    gauss,
    lots,
    kmeans,
    bubble,
    account,
    alive,
    bank,
    queue_sim,
    lru,
    union,
    bst,
    rrobin,
    isort,
    population,
    collide,
    sorted_by_products,
    sorted_objects,
    sorted_pairs,
    best_of_all,
    handed_on,
]
OTHERS = [
    filtered_with_lists,
    made_longer_in_place,
    keys_that_are_dropped,
    arrays_written_in_place,
    asked_which,
    lists_in_records,
    merge,
    tree,
    objs,
    llist,
    hist,
]
