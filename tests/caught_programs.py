"""Programs in which data decide whether an error is raised that the program itself handles."""

from __future__ import annotations

import contextlib
import math

import numpy as np


class OutOfRange(Exception):
    def __init__(self, value, bound):
        super().__init__(bound)
        self.value, self.bound = value, bound


def checked(v):
    if v <= 0.3:
        raise ValueError("too small")
    return np.log(v)


def twice_checked(v):
    w = checked(v) + 1.0
    if w > 0.9:
        raise OutOfRange(w, 0.9)
    return w * v


def in_a_helper(x):
    total = 0.0
    for v in x:
        try:
            total += checked(v)
        except ValueError:
            total -= v
    return total


def in_the_loop(x):
    total = 0.0
    for v in x:
        try:
            if v < 0.4:
                raise KeyError("v")
            total += v * v
        except KeyError:
            total += 2.0 * v
        else:
            total += 1.0
        finally:
            total *= 1.01
    return total


def two_kinds(x):
    total = 0.0
    for v in x:
        try:
            total += twice_checked(v)
        except ValueError:
            total -= v
        except OutOfRange as error:
            total += error.value * error.bound
    return total


def of_math(x):
    total = 0.0
    for v in x:
        try:
            total += math.sqrt(v - 0.5)
        except ValueError:
            total -= v
    return total


def by_zero(x):
    total = 0.0
    for v in x:
        try:
            total += 1.0 / max(0.0, float(v) - 0.5)
        except ZeroDivisionError:
            total += float(v) * 3.0
    return total


def handled_outside(x):
    total = 0.0
    for v in x:
        try:
            try:
                total += checked(v)
            except KeyError:
                total += 100.0
        except ValueError:
            total += v * v
        total *= 1.1
    return total


def raised_again(x):
    total = 0.0
    for v in x:
        try:
            try:
                total += checked(v)
            except ValueError as error:
                total += 0.5 * v
                raise KeyError("again") from error
        except KeyError:
            total += v * v
    return total


def on_the_way_out(x):
    total, count = 0.0, 0.0

    def guarded(v):
        nonlocal count
        try:
            return checked(v)
        finally:
            count += v * v

    for v in x:
        try:
            total += guarded(v)
        except ValueError:
            total -= 1.5 * v
    return total + count


def suppressed(x):
    total = 0.0
    for v in x:
        with contextlib.suppress(ValueError):
            total += checked(v)
        total += 0.1 * v * v
    return total


def suppressed_before_more(x):
    total = 0.0
    for v in x:
        with contextlib.suppress(ValueError):
            w = checked(v)
            total += w * w
        total += 0.1 * v * v
    return total


def found_by_an_error(x):
    def first_above(v):
        for k in range(5):
            if v < 0.2 * k:
                raise OutOfRange(v, k)
        return v

    total = 0.0
    for v in x:
        try:
            total += first_above(v)
        except OutOfRange as error:
            total += error.value * v * error.bound
    return total


def left_by_an_error(x):
    try:
        total = 0.0
        for v in x:
            if v > 0.97:
                raise OutOfRange(v, 1.0)
            total += v * v
    except OutOfRange as error:
        return error.value * 3.0
    return total


def goes_on_and_stops(x):
    total = 0.0
    for v in x:
        try:
            w = checked(v)
        except ValueError:
            continue
        if total > 5.0:
            break
        total += w * w
    return total


def under_a_test(x):
    total = 0.0
    for v in x:
        try:
            if v > 0.2:
                if v < 0.6:
                    total += checked(v)
                else:
                    total += v
            total += 1.0
        except ValueError:
            total -= v
    return total


def in_a_while(x):
    total, k = 0.0, 0
    while k < len(x):
        try:
            total += checked(x[k]) * 0.5
        except ValueError:
            total += x[k]
        k += 1
    return total


def of_the_function(x):
    try:
        scale = checked(x[0])
    except ValueError:
        scale = 2.0 * x[1]
    try:
        if x[2] > 0.5:
            raise OutOfRange(x[2], 0.5)
        shift = x[3]
    except OutOfRange as error:
        shift = error.value * error.bound
    return np.sum(x) * scale + shift


def retried(x):
    total = 0.0
    for v in x:
        step = 1.0
        for _ in range(4):
            try:
                total += checked(v * step)
                break
            except ValueError:
                step *= 2.0
        else:
            total -= v
    return total


class Solver:
    def __init__(self):
        self.failures = 0

    def step(self, v):
        if v < 0.35:
            self.failures += 1
            raise ArithmeticError
        return v * v


def counted_in_an_object(x):
    solver, total = Solver(), 0.0
    for v in x:
        try:
            total += solver.step(v)
        except ArithmeticError:
            total += 0.1 * solver.failures * v
    return total


def by_a_later_clause(x):
    total = 0.0
    for v in x:
        try:
            total += math.sqrt(v - 0.4)
        except ArithmeticError as error:
            total += len(error.args)
        except Exception:
            total += 2.0 * v
    return total


def by_a_bare_clause(x):
    total = 0.0
    for v in x:
        try:
            total += math.log(v - 0.4)
        except LookupError:
            total += 1.0
        except:  # noqa: E722
            total += 2.0 * v
    return total


def past_others(x):
    total = 0.0
    for v in x:
        try:
            with np.errstate(all="ignore"):
                try:
                    try:
                        w = math.sqrt(v - 0.4)
                    except ArithmeticError:
                        w = 1.0
                    else:
                        w = 3.0 * w
                    finally:
                        total += 0.1 * v
                except (KeyError, TypeError):
                    w = 5.0
        except (LookupError, ValueError):
            w = 2.0 * v
        total += w
    return total


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is ValueError


def by_an_exit(x):
    total = 0.0
    for v in x:
        with Swallowing():
            total += math.sqrt(v - 0.4)
        total += 0.1 * v
    return total


def swallowed_by_finally(x):
    def bounded(v):
        try:
            if v > 0.8:
                raise KeyError(1)
            return v * v
        finally:
            if v > 0.5:
                return 3.0 * v  # noqa: B012

    total = 0.0
    for v in x:
        total += bounded(v)
    return total


def of_an_index(x):
    total, weights = 0.0, [1.0, 2.0, 3.0]
    for v in x:
        try:
            total += v * x[int(v * 18)]
            total += v * weights[int(v * 5)]
        except IndexError:
            total += v * v
    return total


def in_a_handler(x):
    total = 0.0
    for v in x:
        try:
            try:
                total += math.sqrt(v - 0.6)
            except ValueError:
                total += math.log(v - 0.3)
        except ValueError:
            total += v * v
    return total


# Errors that nobody handles.


def checked_item(v):
    if v < 0.0:
        raise ValueError("negative")
    return np.sqrt(v)


def too_large(x, scale):
    total = 0.0
    for v in x:
        if v > 4.0:
            raise OverflowError(f"too large: {scale}")
        total += v * v * scale
        x[0] += 1e-3
    return total


def required_in_a_helper(x, scale):
    total = 0.0
    for v in x:
        assert np.isfinite(v), "not finite"
        total += checked_item(v) * scale
    return total


def not_converged(x, scale):
    step = x[0]
    for k in range(200):
        if k > 100 and step > 1.0:
            raise RuntimeError("no convergence")
        step *= scale * 0.3
        if step < 1e-6:
            break
    return step + np.sum(x)


def told_by_an_assert(x):
    total = 0
    for k, v in enumerate(x):
        try:
            assert v < 0.8, f"{k}"
        except AssertionError as error:
            total += int(str(error)) + len(str(error))
    return total * x[0]


PROGRAMS = (
    in_a_helper, in_the_loop, two_kinds, of_math, by_zero, handled_outside, raised_again, on_the_way_out, suppressed,
    suppressed_before_more, found_by_an_error, left_by_an_error, goes_on_and_stops, under_a_test, in_a_while,
    of_the_function, retried, counted_in_an_object, by_a_later_clause, by_a_bare_clause, past_others,
    by_an_exit, in_a_handler, swallowed_by_finally, of_an_index, told_by_an_assert,
)  # fmt: skip
LOOPS = (in_a_helper, in_the_loop, two_kinds, of_math, by_zero, handled_outside, under_a_test, in_a_while, past_others)
