"""State in objects: attributes, slots, properties, class and module attributes, dataclasses, context managers."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import types
import weakref
from typing import NamedTuple

import numpy as np

from .program import Kind, matrix, number, vector, vectors, with_number

OBJECTS = Kind("objects")


class Momentum:
    """An optimiser's state."""

    updates = 0

    def __init__(self, rate, decay=0.9):
        self.rate, self.decay = rate, decay
        self.velocity = 0.0
        self.count = 0

    def step(self, gradient):
        self.count += 1
        self.velocity = self.decay * self.velocity + gradient
        return self.rate / self.count * self.velocity


@OBJECTS.add()
def momentum_with_a_count(x):
    optimiser = Momentum(0.1)
    w = 0.0
    for v in x:
        w -= optimiser.step(w - v)
    return w


@OBJECTS.add()
def class_counter_of_instances(x):
    class Sample:
        made = 0

        def __init__(self, v):
            Sample.made += 1
            self.weight = v / Sample.made

    total = 0.0
    for v in x:
        total += Sample(v).weight
    return total


@OBJECTS.add()
def classmethod_state(x):
    class Schedule:
        rate = 1.0

        @classmethod
        def next(cls):
            cls.rate *= 0.9
            return cls.rate

    return sum([v * Schedule.next() for v in x])


@OBJECTS.add()
def property_with_a_setter(x):
    class Clamped:
        def __init__(self):
            self._level, self.sets = 0.0, 0

        @property
        def level(self):
            return self._level

        @level.setter
        def level(self, value):
            self.sets += 1
            self._level = value / (1 + 0.01 * self.sets)

    tank = Clamped()
    for v in x:
        tank.level = tank.level + v
    return tank.level


@OBJECTS.add()
def counting_property(x):
    class Meter:
        reads = 0

        @property
        def gain(self):
            self.reads += 1
            return 1.0 / self.reads

    m, total = Meter(), 0.0
    for v in x:
        total += v * m.gain
    return total


@OBJECTS.add()
def slots_with_a_toggle(x):
    class Leapfrog:
        __slots__ = ("odd", "p", "q")

        def __init__(self):
            self.q, self.p, self.odd = 1.0, 0.0, False

        def step(self, h):
            if self.odd:
                self.q += h * self.p
            else:
                self.p -= h * self.q
            self.odd = not self.odd

    s = Leapfrog()
    for v in x:
        s.step(0.1 * v)
    return s.q + 2 * s.p


@OBJECTS.add()
def attributes_of_what_it_holds_while_it_is_made(x):
    class Labelled:
        __slots__ = ("values",)

        def __init__(self, values):
            if any(v is None for v in values):
                raise ValueError(values)
            self.values = values

        def __getattr__(self, name):
            return getattr(self.values, name)

    total = 0.0
    for v in x:
        total += Labelled([v, 2 * v]).values[1] * x[0]
    return total


@OBJECTS.add()
def inherited_state_with_super(x):
    class Base:
        def __init__(self):
            self.n = 0

        def update(self, v):
            self.n += 1
            return v / self.n

    class Derived(Base):
        def __init__(self):
            super().__init__()
            self.seen = 0

        def update(self, v):
            self.seen += self.n
            return super().update(v) + 0.1 * self.seen * v

    d, total = Derived(), 0.0
    for v in x:
        total += d.update(v)
    return total


@dataclasses.dataclass
class Adam:
    rate: float = 0.05
    m: float = 0.0
    v: float = 0.0
    t: int = 0

    def __call__(self, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return self.rate * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.99**self.t)) + 1e-3)


@OBJECTS.add()
def adam_with_bias_correction(x):
    opt, w = Adam(), 0.0
    for v in x:
        w = w - opt(w - 2 * v)
    return w


@dataclasses.dataclass(frozen=True)
class Particle:
    position: float
    speed: float
    age: int = 0

    def moved(self, force):
        return dataclasses.replace(
            self, position=self.position + 0.1 * self.speed, speed=self.speed + 0.1 * force, age=self.age + 1
        )


@OBJECTS.add()
def frozen_dataclass_replaced(x):
    p = Particle(x[0], 0.0)
    for v in x:
        p = p.moved(v - p.position * (1 + 0.1 * p.age))
    return p.position


class State(NamedTuple):
    mean: float
    count: int


@OBJECTS.add()
def namedtuple_replaced(x):
    s = State(0.0, 0)
    for v in x:
        n = s.count + 1
        s = s._replace(mean=s.mean + (v - s.mean) / n, count=n)
    return s.mean * s.count


@OBJECTS.add()
def simple_namespace(x):
    ns = types.SimpleNamespace(k=0, scale=1.0)
    total = 0.0
    for v in x:
        ns.k += 1
        if ns.k % 5 == 0:
            ns.scale *= 0.5
        total += ns.scale * v
    return total


SETTINGS = types.ModuleType("settings")


@OBJECTS.add()
def module_attribute_as_a_clock(x):
    SETTINGS.time = 0.0
    total = 0.0
    for v in x:
        total += v * np.sin(SETTINGS.time)
        SETTINGS.time += 0.25
    return total


@OBJECTS.add()
def context_manager_with_depth(x):
    class Scope:
        def __init__(self):
            self.entered = 0

        def __enter__(self):
            self.entered += 1
            return self.entered

        def __exit__(self, *_):
            return False

    scope, total = Scope(), 0.0
    for v in x:
        with scope as level:
            total += v / level
    return total


@OBJECTS.add()
def contextlib_manager(x):
    log = []

    @contextlib.contextmanager
    def timed(v):
        log.append(0)
        yield v * len(log)

    total = 0.0
    for v in x:
        with timed(v) as w:
            total += np.cos(w)
    return total


@OBJECTS.add()
def getattr_by_name(x):
    class Gains:
        pass

    g = Gains()
    for k in range(3):
        setattr(g, f"g{k}", 0.5 + k)
    total = 0.0
    for i, v in enumerate(x):
        name = f"g{i % 3}"
        total += v * getattr(g, name)
        setattr(g, name, getattr(g, name) * 0.9)
    return total


@OBJECTS.add()
def lazily_made_attribute(x):
    class Cache:
        def table(self, v):
            if not hasattr(self, "first"):
                self.first = v
            return v - self.first

    c = Cache()
    return sum([c.table(v) ** 2 for v in x])


@OBJECTS.add()
def descriptor_that_counts(x):
    class Counted:
        def __init__(self):
            self.gets = 0

        def __get__(self, obj, owner):
            self.gets += 1
            return 1.0 + 0.1 * self.gets

    class Model:
        gain = Counted()

    m, total = Model(), 0.0
    for v in x:
        total += v * m.gain
    return total


class Mode(enum.Enum):
    HEAT = 1.5
    COOL = -0.7
    OFF = 0.0


@OBJECTS.add()
def enum_that_cycles(x):
    modes, temperature = list(Mode), 0.0
    for i, v in enumerate(x):
        temperature = 0.9 * temperature + v * modes[i % 3].value
    return temperature


@OBJECTS.add()
def state_machine_object(x):
    class Thermostat:
        def __init__(self):
            self.on, self.switches = False, 0

        def heat(self, temperature):
            if self.on and temperature > 1.2:
                self.on = False
                self.switches += 1
            elif not self.on and temperature < 0.9:
                self.on = True
                self.switches += 1
            return 0.4 if self.on else 0.0

    t, temperature = Thermostat(), 1.0
    for v in x:
        temperature += t.heat(temperature) - 0.15 * v
    return temperature + 0.01 * t.switches * x[0]


@OBJECTS.add()
def linked_list_of_nodes(x):
    class Node:
        def __init__(self, v, next=None):
            self.v, self.next = v, next

    head = None
    for v in x:
        head = Node(v, head)
    total, depth = 0.0, 1
    while head is not None:
        total += head.v / depth
        head, depth = head.next, depth + 1
    return total


@OBJECTS.add(vectors(8, 24))
def object_that_rebinds_its_array(w, x):
    class Model:
        def __init__(self, w):
            self.w, self.epoch = w, 0

        def fit(self, v):
            self.epoch += 1
            self.w = self.w - 0.01 * self.epoch * (self.w - v)

    m = Model(w)
    for v in x:
        m.fit(v)
    return np.sum(m.w**2)


@OBJECTS.add(matrix(20, 4))
def observers_with_weights(x):
    class Observer:
        def __init__(self, weight):
            self.weight, self.total = weight, 0.0

        def notify(self, row):
            self.total += self.weight * row.sum()
            self.weight = -self.weight

    observers = [Observer(w) for w in (1.0, 0.5, 0.25)]
    for row in x:
        for o in observers:
            o.notify(row)
    return sum(o.total for o in observers)


@OBJECTS.add()
def weak_reference_to_a_counter(x):
    class Count:
        n = 0

    c = Count()
    r = weakref.ref(c)
    total = 0.0
    for v in x:
        r().n += 1
        total += v * c.n
    return total


@OBJECTS.add(with_number(30))
def pid_controller(reference, gain):
    class PID:
        def __init__(self, kp):
            self.kp, self.integral, self.last = kp, 0.0, None

        def __call__(self, error):
            slope = 0.0 if self.last is None else error - self.last
            self.integral, self.last = self.integral + error, error
            return self.kp * error + 0.1 * self.integral + 0.05 * slope

    control, y, cost = PID(gain), 0.0, 0.0
    for r in reference:
        y += 0.1 * control(r - y)
        cost += (r - y) ** 2
    return cost


@OBJECTS.add(number())
def object_swapped_for_another(s):
    class Fast:
        k = 0.5

        def next(self):
            return Slow()

    class Slow:
        k = 0.1

        def next(self):
            return Fast()

    mode, y = Fast(), s
    for _ in range(25):
        y = y - mode.k * np.sin(y)
        mode = mode.next()
    return y


@OBJECTS.add(vector(40))
def dict_of_objects(x):
    class Account:
        def __init__(self):
            self.balance, self.moves = 0.0, 0

        def add(self, v):
            self.moves += 1
            self.balance += v / self.moves

    accounts = {name: Account() for name in "abc"}
    for i, v in enumerate(x):
        accounts["abc"[i % 3]].add(v)
    return accounts["a"].balance - accounts["b"].balance * accounts["c"].balance
