"""Generator functions and user classes that iterate, index, call, compare and compute."""

from __future__ import annotations

import numpy as np

from .program import Kind, matrix, number, vector, with_number

GENERATORS = Kind("generators")


@GENERATORS.add()
def generator_of_a_schedule(x):
    def rates():
        rate = 1.0
        while True:
            yield rate
            rate *= 0.9

    total = 0.0
    for v, r in zip(x, rates()):
        total += v * r
    return total


@GENERATORS.add()
def generator_over_an_array(x):
    def smoothed(values):
        level = 0.0
        for v in values:
            level = 0.8 * level + 0.2 * v
            yield level

    total = 0.0
    for v, s in zip(x, smoothed(x)):
        total += (v - s) ** 2
    return total


@GENERATORS.add()
def next_of_a_generator(x):
    def signs():
        while True:
            yield 1.0
            yield -1.0
            yield -1.0

    s, total = signs(), 0.0
    for v in x:
        total += next(s) * v
    return total


@GENERATORS.add()
def yield_from_levels(x):
    def walk(lo, hi):
        if hi - lo <= 1:
            yield x[lo]
        else:
            yield from walk(lo, (lo + hi) // 2)
            yield from walk((lo + hi) // 2, hi)

    return sum(k * v for k, v in enumerate(walk(0, 24)))


@GENERATORS.add()
def generator_that_is_sent_to(x):
    def averager():
        total, n, mean = 0.0, 0, 0.0
        while True:
            v = yield mean
            total, n = total + v, n + 1
            mean = total / n

    g, out = averager(), 0.0
    next(g)
    for v in x:
        out += g.send(v) ** 2
    return out


@GENERATORS.add()
def pipeline_of_generators(x):
    squares = (v * v for v in x)
    shifted = (v - 0.1 * k for k, v in enumerate(squares))
    positive = (v * 2 for v in shifted)
    return sum(positive)


@GENERATORS.add()
def batches_of_indices(x):
    def batches(n, size):
        for start in range(0, n, size):
            yield slice(start, start + size)

    w = 1.0
    for s in batches(24, 4):
        w = w - 0.1 * np.mean(x[s]) * w
    return w


@GENERATORS.add()
def generator_with_a_return_value(x):
    def inner(values):
        total = 0.0
        for v in values:
            total += v
            yield v * total
        return total

    def outer():
        whole = yield from inner(x)
        yield whole

    return sum(outer())


@GENERATORS.add()
def generator_with_finally(x):
    closed = []

    def source():
        try:
            for v in x:
                yield v
        finally:
            closed.append(1)

    total = 0.0
    for k, v in enumerate(source()):
        total += v * k
        if k == 18:
            break
    return total * (1 + len(closed))


@GENERATORS.add()
def user_iterator_with_next(x):
    class Countdown:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            return self.n

    total = 0.0
    for i in Countdown(24):
        total = 0.9 * total + x[i] * i
    return total


@GENERATORS.add()
def user_iterable_beside_an_array(x):
    class Ramp:
        def __iter__(self):
            w = 0.0
            for k in range(24):
                w += 0.1 * k
                yield w

    total = 0.0
    for v, w in zip(x, Ramp()):
        total += v * w
    return total


@GENERATORS.add()
def iteration_by_getitem(x):
    class Table:
        def __getitem__(self, k):
            if k >= 22:
                raise IndexError(k)
            return 0.5 * k

    total = 0.0
    for k, w in enumerate(Table()):
        total += w * x[k]
    return total


@GENERATORS.add()
def getitem_that_counts(x):
    class Replay:
        def __init__(self, data):
            self.data, self.reads = data, 0

        def __getitem__(self, i):
            self.reads += 1
            return self.data[i] / self.reads

        def __len__(self):
            return len(self.data)

    r, total = Replay(x), 0.0
    for i in range(len(r)):
        total += r[i]
    return total


@GENERATORS.add()
def setitem_with_a_log(x):
    class Grid:
        def __init__(self, n):
            self.cells, self.writes = np.zeros(n), 0

        def __setitem__(self, i, v):
            self.writes += 1
            self.cells[i] = v * self.writes

        def __getitem__(self, i):
            return self.cells[i]

    g = Grid(24)
    for i, v in enumerate(x):
        g[i] = v + (g[i - 1] if i else 0.0)
    return np.sum(np.sin(0.01 * g.cells))


@GENERATORS.add()
def callable_with_state(x):
    class Decay:
        def __init__(self):
            self.k = 0

        def __call__(self, v):
            self.k += 1
            return v * np.exp(-0.1 * self.k)

    d = Decay()
    return sum([d(v) for v in x])


class Dual:
    """Forward mode by hand."""

    operations = 0

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.a + other.a, self.b + other.b)

    __radd__ = __add__

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    __rmul__ = __mul__

    def sin(self):
        return Dual(np.sin(self.a), np.cos(self.a) * self.b)


@GENERATORS.add(number())
def dual_numbers(s):
    u = Dual(s, 1.0)
    for k in range(25):
        u = 0.9 * u + (u * 0.5).sin() * (0.3 + 0.01 * k)
    return u.a * u.b


@GENERATORS.add()
def operator_that_counts(x):
    class Amount:
        adds = 0

        def __init__(self, v):
            self.v = v

        def __iadd__(self, other):
            type(self).adds += 1
            self.v = self.v + other / type(self).adds
            return self

    a = Amount(0.0)
    for v in x:
        a += v
    return a.v


@GENERATORS.add()
def comparison_of_objects(x):
    class Level:
        def __init__(self, k):
            self.k = k

        def __lt__(self, other):
            return self.k < other.k

    total, best = 0.0, Level(0)
    for i, v in enumerate(x):
        here = Level(i * 5 % 13)
        if best < here:
            best = here
        total += v * best.k
    return total


@GENERATORS.add(with_number())
def bool_and_len_of_objects(x, s):
    class Budget:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            self.n -= 1
            return max(self.n, 0)

    b, total = Budget(20), 0.0
    for v in x:
        total += v if b else s * v
    return total


@GENERATORS.add(matrix(20, 3))
def matmul_operator_class(x):
    class Chain:
        def __init__(self, v, depth=1):
            self.v, self.depth = v, depth

        def __matmul__(self, row):
            return Chain(np.tanh(self.v + row) / self.depth, self.depth + 1 if self.depth < 3 else 1)

    c = Chain(np.zeros(3))
    for row in x:
        c = c @ row
    return c.v.sum()


@GENERATORS.add()
def contains_and_missing(x):
    class Odd:
        def __init__(self):
            self.asked = 0

        def __contains__(self, k):
            self.asked += 1
            return (k + self.asked) % 3 == 1

    odd, total = Odd(), 0.0
    for i, v in enumerate(x):
        if i in odd:
            total += v * i
    return total


@GENERATORS.add(vector(40))
def two_generators_in_step(x):
    def lo():
        for i in range(0, 20):
            yield x[i]

    def hi():
        for i in range(39, 19, -1):
            yield x[i] * i

    return sum(a * b for a, b in zip(lo(), hi()))


@GENERATORS.add()
def generator_expression_held(x):
    w = (1 / (k + 1) for k in range(24))
    total = 0.0
    for v in x:
        total += v * next(w)
    return total


@GENERATORS.add()
def iterator_that_restarts(x):
    class Epochs:
        def __init__(self):
            self.epoch = 0

        def __iter__(self):
            self.epoch += 1
            return iter(range(self.epoch, 24, 6))

    e, total = Epochs(), 0.0
    for _ in range(20):
        for i in e:
            total = 0.99 * total + 0.1 * x[i]
    return total


@GENERATORS.add(number())
def generator_as_a_simulation(s):
    def oscillator(q, p):
        while True:
            p -= 0.1 * q
            q += 0.1 * p
            yield q, p

    energy = 0.0
    for k, (q, p) in enumerate(oscillator(s, 0.3)):
        energy += q * q + k * p
        if k >= 30:
            break
    return energy
