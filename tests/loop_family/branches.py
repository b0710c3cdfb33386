"""Control flow that depends on values: branches of loop bodies, and loops to a tolerance."""

from __future__ import annotations

import math

import numpy as np

from .program import Collection

BRANCHES = Collection()
NEAR = 1e-5  # steps of the differences, so short that they stay on one side
program = BRANCHES.add


@program(lambda n, d: (d.normal(n),), 8, 50, "branch", step=NEAR, peer="jax: lax.cond in scan, or where")
def squares_of_positive(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i] ** 2
    return total


@program(lambda n, d: (d.normal(n),), 8, 50, "branch", step=NEAR)
def bubble_of_conditions(x):
    for i in range(len(x)):
        if x[i] > 1.0:
            x[i] = 1.0 + np.log(x[i])
        elif x[i] > 0.0:
            x[i] = x[i] ** 2
        elif x[i] > -1.0:
            x[i] = -np.sin(x[i])
        else:
            x[i] *= 0.5
    return np.sum(x * np.arange(1, len(x) + 1))


@program(lambda n, d: (d.normal(n),), 7, 24, "branch triangular", step=NEAR)
def bubble_sort(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return np.sum(x * np.arange(n))


@program(lambda n, d: (d.normal(n),), 7, 21, "branch triangular while", step=NEAR)
def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return np.sum(x * np.arange(len(x)))


@program(lambda n, d: (d.normal(n),), 8, 50, "branch carried", step=NEAR)
def prefix_maximum(x):
    best = x[0]
    y = np.empty_like(x)
    for i in range(len(x)):
        best = max(best, x[i])
        y[i] = best
    return np.sum(y * np.arange(len(x)))


@program(lambda n, d: (d.normal(n),), 8, 50, "branch carried", step=NEAR)
def largest_by_if(x):
    best = x[0]
    for v in x[1:]:
        if v > best:
            best = v
    return best**2


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 50, "branch carried gather", step=NEAR)
def position_of_the_largest(x, y):
    best, where = x[0], 0
    for i in range(1, len(x)):
        if x[i] > best:
            best, where = x[i], i
    return best * y[where]


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40, "branch", step=NEAR)
def min_max_abs(x, y):
    total = 0.0
    for i in range(len(x)):
        total += max(x[i], y[i], 0.1) - min(x[i], y[i]) ** 2 + abs(x[i] - y[i])
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40, "branch", step=NEAR)
def and_or_not(x, y):
    total = 0.0
    for a, b in zip(x, y):
        if a > 0 and b > 0:
            total += a * b
        if a > 0.5 or b < -0.5:
            total += a**2
        if not a > b:
            total -= b**3
        if not (a > 0 or b > 0):
            total *= 0.9
    return total


@program(lambda n, d: (d.normal(n),), 8, 50, "branch", step=NEAR)
def conditional_expressions(x):
    total = 0.0
    for v in x:
        weight = 2.0 if v > 0 else -0.5
        total += weight * v * v
        total = total if total < 3.0 else 0.5 * total
    return total


@program(lambda n, d: (d.normal(n), 1.0), 8, 50, "branch", step=NEAR)
def huber_loss(residuals, delta):
    loss = 0.0
    for r in residuals:
        if abs(r) <= delta:
            loss += 0.5 * r * r
        else:
            loss += delta * (abs(r) - 0.5 * delta)
    return loss


@program(lambda n, d: (d.normal(n),), 8, 50, "branch", step=NEAR)
def early_continue(x):
    total = 1.0
    for i in range(len(x)):
        if x[i] < -0.3:
            continue
        total *= 1 + 0.1 * x[i]
        if x[i] > 1.0:
            continue
        total += np.sin(x[i])
    return total


@program(lambda n, d: (d.positive(n), 0.4 * n), 8, 50, "branch while", step=NEAR)
def break_when_full(x, capacity):
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 2
        if total > capacity:
            break
    return total**2


@program(lambda n, d: (d.positive(n), 0.3 * n), 8, 50, "branch while", step=NEAR)
def break_else(x, capacity):
    total = 1.0
    for v in x:
        total += v * v
        if total > 4 * capacity:
            break
    else:
        total *= 2.0
    return total


@program(lambda n, d: (d.normal(n, n),), 6, 21, "branch", step=NEAR)
def nested_branches(a):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0:
                if a[j, i] > 0:
                    total += a[i, j] * a[j, i]
                else:
                    total -= a[j, i] ** 2
            elif a[j, i] < a[i, j]:
                total += np.exp(a[i, j])
    return total


@program(lambda n, d: (d.normal(n, 4),), 7, 30, "branch carried", step=NEAR)
def branches_on_arrays(x):
    state = np.zeros(4)
    for row in x:
        if np.sum(row) > 0:
            state = 0.5 * state + row
        else:
            state = state * np.cos(row)
    return state @ state


@program(lambda n, d: (d.normal(n, 4), d.normal(4)), 7, 30, "branch", step=NEAR)
def branch_that_writes_rows(x, limit):
    for i in range(1, len(x)):
        if x[i, 0] > limit[0]:
            x[i] *= np.cos(x[i - 1])
            x[i, 1:] += 1.0
        else:
            x[i, ::2] = limit[:2] * np.sin(x[i - 1, 0])
    return np.sum(x**2)


@program(lambda n, d: (d.normal(n), 1.2), 8, 50, "branch", step=NEAR)
def relu_by_hand(x, slope):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = slope * x[i] if x[i] > 0 else 0.01 * x[i]
    return np.sum(y**2)


@program(lambda n, d: (d.positive(n), 0.9), 8, 60, "branch carried", step=NEAR)
def integrate_and_fire(current, threshold):
    v, spikes = 0.0, 0.0
    for i in current:
        v = v + 0.4 * (i - 0.5 * v)
        if v > threshold:
            spikes += v * v
            v = 0.1 * v
    return spikes + v


@program(lambda n, d: (d.normal(n),), 8, 50, "branch carried", step=NEAR)
def reflected_walk(noise):
    position, distance = 0.3, 0.0
    for z in noise:
        position += 0.5 * z
        if position < 0:
            position = -position
        if position > 1:
            position = 2 - position
        distance += position**2
    return distance


@program(lambda n, d: (d.number(1.05, 1.15), 0.4, n), 8, 40, "branch carried", step=1e-7)
def tent_map(mu, x, steps):
    total = 0.0
    for _ in range(steps):
        if x < 0.5:
            x = mu * x
        else:
            x = mu * (1 - x)
        total += x * x / steps
    return total


@program(lambda n, d: (d.number(1.5, 2.5), n), 8, 40, "branch carried", step=NEAR)
def bisection(a, steps):
    low, high = 0.0, a
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle * middle < a:
            low = middle
        else:
            high = middle
    return low - (low * low - a) / (2 * low)


@program(lambda n, d: (d.normal(n, n),), 6, 21, "branch triangular carried", step=NEAR)
def largest_above_the_diagonal(a):
    best = 0.0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if abs(a[i, j]) > best:
                best = abs(a[i, j])
    return best * np.sum(a)


@program(lambda n, d: (d.normal(n),), 8, 50, "branch", step=NEAR)
def value_bound_on_one_side(x):
    last = 0.0
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            last = np.sin(x[i])
        total += last * x[i]
    return total


@program(lambda n, d: (d.normal(n),), 8, 40, "branch", step=NEAR)
def helper_with_returns(x):
    def activation(v):
        if v > 1:
            return 1.0 + 0.1 * v
        if v < -1:
            return -1.0
        return v * v * v

    total = 0.0
    for v in x:
        total += activation(v) * v
    return total


@program(lambda n, d: (d.normal(n), 0.5, 0.1, 0.05), 8, 40, "branch carried", step=NEAR)
def pid_controller(target, kp, ki, kd):
    position, integral, before, cost = 0.0, 0.0, 0.0, 0.0
    for goal in target:
        error = goal - position
        integral = min(max(integral + error, -2.0), 2.0)
        action = kp * error + ki * integral + kd * (error - before)
        action = max(-0.8, min(0.8, action))
        before = error
        position += action
        cost += error * error
    return cost


@program(lambda n, d: (d.positive(n), d.positive(n)), 8, 40, "branch carried", step=NEAR)
def reservoir(inflow, demand):
    level, spill, shortage = 1.0, 0.0, 0.0
    for i in range(len(inflow)):
        level = level + inflow[i]
        if level > 1.8:
            spill += (level - 1.8) ** 2
            level = 1.8
        if level >= demand[i]:
            level -= demand[i]
        else:
            shortage += (demand[i] - level) ** 2
            level = 0.0
    return spill + shortage + level


@program(lambda n, d: (100 * d.number(0.95, 1.05), 101.3, 0.25, n), 6, 20, "branch triangular", step=1e-4)
def american_put(spot, strike, sigma, steps):
    dt = 1.0 / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(0.03 * dt) - 1 / up) / (up - 1 / up)
    v = np.zeros(steps + 1)
    for i in range(steps + 1):
        v[i] = max(strike - spot * up ** (2.0 * i - steps), 0.0)
    for t in range(steps - 1, -1, -1):
        for i in range(t + 1):
            hold = math.exp(-0.03 * dt) * (p * v[i + 1] + (1 - p) * v[i])
            exercise = strike - spot * up ** (2.0 * i - t)
            v[i] = hold if hold > exercise else exercise
    return v[0]


@program(lambda n, d: (d.normal(n), 0.1), 8, 40, "branch", step=NEAR)
def soft_threshold_in_place(x, t):
    for i in range(len(x)):
        if x[i] > t:
            x[i] -= t
        elif x[i] < -t:
            x[i] += t
        else:
            x[i] = 0.0
    return x @ x


@program(lambda n, d: (d.normal(n, 3), d.normal(3, 3)), 7, 24, "branch", step=NEAR)
def nearest_centre(points, centres):
    total = 0.0
    for p in points:
        best = 1e9
        for c in centres:
            distance = np.sum((p - c) ** 2)
            if distance < best:
                best = distance
        total += best
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40, "branch", step=NEAR)
def mixed_static_and_traced(x, y):
    total = 0.0
    for i in range(len(x)):
        if i > 2 and x[i] > y[i]:
            total += x[i] * y[i - 1]
        elif i == 1 or y[i] > 1.0:
            total -= y[i]
    return total


# Loops to a tolerance.


@program(lambda n, d: (d.number(1.2, 9.0),), 1, 1, "while", peer="jax: while_loop has no reverse mode")
def newton_square_root(a):
    x = 1.0
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


@program(lambda n, d: (d.positive(n),), 6, 21, "while")
def newton_for_each(a):
    total = 0.0
    for value in a:
        x = 1.0
        while abs(x**3 - value) > 1e-4:
            x -= (x**3 - value) / (3 * x**2)
        total += x * value
    return total


@program(lambda n, d: (d.dominant(n), d.normal(n)), 6, 20, "while")
def jacobi_to_a_tolerance(a, b):
    diagonal = np.diag(a).copy()
    x = np.zeros_like(b)
    error = 1.0
    while error > 1e-3:
        new = (b - a @ x) / diagonal + x
        error = np.max(np.abs(new - x))
        x = new
    return np.sum(x * x)


@program(lambda n, d: (d.number(0.3, 0.8), 50), 1, 1, "while")
def while_true_and_break(a, most):
    x, k = 1.0, 0
    while True:
        new = math.cos(a * x)
        k += 1
        if abs(new - x) < 1e-8 or k >= most:
            break
        x = new
    return new


@program(lambda n, d: (d.number(0.2, 0.4), n), 8, 40, "while carried")
def while_with_two_conditions(x, most):
    k = 0
    while x < 5.0 and k < most:
        x = x + 0.3 * x * x + 0.1
        k += 1
    return x


@program(lambda n, d: (d.number(1.0, 2.0), 1.0), 1, 1, "while")
def fall_until_the_ground(height, speed):
    t, dt = 0.0, 0.05
    while height > 0.0:
        height += dt * speed
        speed -= dt * 9.81
        t += dt
    return speed**2 + t * height


@program(lambda n, d: (d.normal(3), d.definite(3)), 1, 1, "while branch")
def backtracking_descent(x, a):
    def energy(x):
        return 0.5 * x @ a @ x + np.sum(np.cos(x))

    for _ in range(5):
        g = a @ x - np.sin(x)
        step = 2.0
        while energy(x - step * g) > energy(x) - 0.3 * step * (g @ g):
            step *= 0.5
        x = x - step * g
    return energy(x)


@program(lambda n, d: (d.number(2.0, 3.0), d.number(0.1, 0.9)), 1, 1, "while branch carried", step=1e-7)
def escape_time(power, c):
    z, n = 0.0, 0
    while z < 4.0 and n < 30:
        z = z * z + c if z < 1.0 else power * z
        n += 1
    return z * n
