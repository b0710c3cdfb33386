"""State in functions: closures, nonlocal, global, defaults, partials, attributes, memo tables, decorators, recursion."""

from __future__ import annotations

import functools
import operator

import numpy as np

from .program import Kind, matrix, number, numbers, vector, vectors, with_number

FUNCTIONS = Kind("functions")
STEP = 0


@FUNCTIONS.add()
def closure_with_nonlocal(x):
    n = 0

    def damped(v):
        nonlocal n
        n += 1
        return v / n

    total = 0.0
    for v in x:
        total += damped(v)
    return total


@FUNCTIONS.add()
def closure_factory(x):
    def make_filter(alpha):
        state = 0.0

        def update(v):
            nonlocal state, alpha
            state = alpha * state + (1 - alpha) * v
            alpha *= 0.95
            return state

        return update

    f, g = make_filter(0.9), make_filter(0.5)
    total = 0.0
    for v in x:
        total += f(v) * g(v)
    return total


@FUNCTIONS.add()
def global_counter(x):
    global STEP
    STEP = 0
    total = 0.0
    for v in x:
        STEP += 1
        total += v / STEP
    return total


def advance():
    global STEP
    STEP += 2
    return STEP


@FUNCTIONS.add()
def global_counter_in_a_helper(x):
    global STEP
    STEP = 1
    total = 0.0
    for v in x:
        total = 0.9 * total + v * np.cos(advance())
    return total


@FUNCTIONS.add()
def mutable_default(x):
    def average(v, history=[]):
        history.append(v)
        return sum(history[-3:]) / len(history[-3:])

    total = 0.0
    for v in x:
        total += average(v) ** 2
    return total


@FUNCTIONS.add()
def dict_default_as_a_cache(x):
    def gain(k, cache={}):
        if k not in cache:
            cache[k] = len(cache) + 1.0
        return cache[k]

    total = 0.0
    for i, v in enumerate(x):
        total += v * gain((i * 7) % 5)
    return total


@FUNCTIONS.add()
def keyword_default_state(x):
    def weight(v, *, box=[1.0]):
        box[0] *= 0.8
        return v * box[0]

    return sum([weight(v) for v in x])


@FUNCTIONS.add()
def function_attribute_counter(x):
    def f(v):
        f.calls += 1
        return v**2 / f.calls

    f.calls = 0
    total = 0.0
    for v in x:
        total += f(v)
    return total


@FUNCTIONS.add()
def partial_with_a_list(x):
    def f(box, v):
        box[0] += 1
        return v * box[0]

    g = functools.partial(f, [0])
    total = 0.0
    for v in x:
        total += g(v)
    return total


@FUNCTIONS.add()
def partial_made_anew(x):
    def scaled(k, v):
        return np.sin(k * v)

    f = functools.partial(scaled, 1)
    total = 0.0
    for i, v in enumerate(x):
        total += f(v)
        if i % 4 == 3:
            f = functools.partial(scaled, i)
    return total


@FUNCTIONS.add()
def counting_decorator(x):
    def counted(f):
        def wrapper(v):
            wrapper.n += 1
            return f(v) / wrapper.n

        wrapper.n = 0
        return wrapper

    @counted
    def square(v):
        return v * v

    total = 0.0
    for v in x:
        total += square(v)
    return total


@FUNCTIONS.add()
def lru_cache_of_plain_numbers(x):
    calls = []

    @functools.lru_cache(maxsize=None)
    def coefficient(k):
        calls.append(k)
        return 1.0 / (1 + k * len(calls))

    total = 0.0
    for i, v in enumerate(x):
        total += v * coefficient(i % 7)
    return total


@FUNCTIONS.add()
def memo_dict_in_recursion(x):
    memo = {}

    def fib(k):
        if k < 2:
            return x[k]
        if k not in memo:
            memo[k] = 0.5 * fib(k - 1) + 0.3 * fib(k - 2) + 0.1 * x[k]
        return memo[k]

    return fib(23)


@FUNCTIONS.add()
def recursion_over_halves(x):
    def tree(a, depth):
        if len(a) == 1:
            return a[0] * depth
        m = len(a) // 2
        return np.tanh(tree(a[:m], depth + 1)) + tree(a[m:], depth + 1)

    return tree(x, 1)


@FUNCTIONS.add()
def late_binding_lambdas(x):
    fs = [lambda v: v * k for k in range(20)]
    total = 0.0
    for f, v in zip(fs, x):
        total += f(v)
    return total


@FUNCTIONS.add()
def lambdas_with_bound_defaults(x):
    fs = [lambda v, k=k: v * k for k in range(20)]
    total = 0.0
    for f, v in zip(fs, x):
        total += f(v)
    return total


@FUNCTIONS.add()
def functions_chosen_from_a_list(x):
    fs = [np.sin, np.cos, np.exp, lambda v: v**2]
    total = 0.0
    for i in range(len(x)):
        total += fs[i % 4](x[i])
    return total


@FUNCTIONS.add()
def dispatch_by_dict(x):
    table = {"+": operator.add, "-": operator.sub, "*": operator.mul}
    total = 1.0
    for i, v in enumerate(x):
        total = table["+-*"[i % 3]](total, 0.5 + 0.5 * v)
    return total


@FUNCTIONS.add()
def function_replaced_midway(x):
    def first(v):
        return v

    def second(v):
        return v**3

    f, total = first, 0.0
    for i, v in enumerate(x):
        if i == 20:
            f = second
        total += f(v)
    return total


@FUNCTIONS.add()
def composed_by_reduce(x):
    steps = [lambda v, k=k: np.sin(v) + 0.1 * k for k in range(20)]
    return functools.reduce(lambda acc, f: f(acc), steps, x[0]) * x[1]


@FUNCTIONS.add()
def reduce_with_an_index(x):
    return functools.reduce(lambda acc, p: acc * 0.9 + p[0] * p[1], enumerate(x), 0.0)


@FUNCTIONS.add()
def reduce_over_an_array(x):
    return functools.reduce(lambda a, b: np.tanh(a + b), x)


@FUNCTIONS.add(number())
def closure_over_the_loop_variable(s):
    y = s
    for k in range(30):

        def rate(v):
            return v * k / 30

        y = y + 0.05 * np.sin(rate(y))
    return y


@FUNCTIONS.add(numbers(2))
def curried_with_a_rate(a, b):
    def stepper(h):
        def step(u):
            return u - h * (u - b) ** 3

        return step

    u = a
    for k in range(1, 31):
        u = stepper(0.5 / k)(u)
    return u


@FUNCTIONS.add(vectors(24, 24))
def swap_of_functions(x, y):
    f, g = np.sin, np.cos
    total = 0.0
    for a, b in zip(x, y):
        total += f(a) * g(b)
        f, g = g, f
    return total


@FUNCTIONS.add(vector(20))
def args_and_kwargs_passed_on(x):
    def inner(v, *, scale, **rest):
        return v * scale + rest.get("shift", 0.0)

    options = {"scale": 1.0}
    total = 0.0
    for i, v in enumerate(x):
        if i == 12:
            options["shift"] = 0.3
        total += inner(v, **options)
        options["scale"] *= 0.95
    return total


@FUNCTIONS.add(matrix(20, 3))
def single_dispatch(x):
    @functools.singledispatch
    def cost(v):
        return np.sum(v**2)

    @cost.register
    def _(v: int):
        return 0.1 * v

    total = 0.0
    for i, row in enumerate(x):
        total += cost(row) * cost(i)
    return total


@FUNCTIONS.add(with_number(20))
def trampoline(x, s):
    def even(i, acc):
        return (odd, i + 1, acc + s * x[i])

    def odd(i, acc):
        return (even, i + 1, acc * 0.9)

    f, i, acc = even, 0, 0.0
    while i < 20:
        f, i, acc = f(i, acc)
    return acc


@FUNCTIONS.add()
def accumulate_with_a_wrapped_logger(x):
    log = []

    def logged(f):
        @functools.wraps(f)
        def inner(*args):
            result = f(*args)
            log.append(result)
            return result

        return inner

    step = logged(lambda u, v: 0.5 * u + v)
    u = 0.0
    for v in x:
        u = step(u, v)
    return u + log[3] * log[-2]
