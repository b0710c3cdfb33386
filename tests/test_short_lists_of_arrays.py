"""Loops over short lists of arrays from which branches choose, `if t < nearest: hit = centre`, inside of others."""

from __future__ import annotations

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs
from .random_short_lists import SIZE, function

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 200)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def norm(v):
    return v / np.linalg.norm(v)


@rolled
def nearest_or_none(x):
    sp = [(x[3 * i : 3 * i + 3] + 1.0, 0.8) for i in range(4)]
    s = 0.0
    for p in range(4):
        tmin = np.inf
        hit = None
        for c, _r in sp:
            t = c @ c * (1 + p) - x[p]
            if t > 1.0 and t < tmin:
                tmin = t
                hit = c
        if hit is None:
            s += 0.1
            continue
        s += tmin * hit[0]
    return s


@rolled
def nearest_for_pairs(x):
    sp = [(x[3 * i : 3 * i + 3] + 1.0, 0.8) for i in range(4)]
    s = 0.0
    for p in range(4):
        for q in range(4):
            tmin = np.inf
            hit = None
            for c, _r in sp:
                t = c @ c * (1 + p + q) - x[p]
                if t > 1.0 and t < tmin:
                    tmin = t
                    hit = c
            if hit is None:
                s += 0.1
                continue
            s += tmin * hit[0]
    return s


@rolled
def nearest_of_all(x):
    sp = [(x[3 * i : 3 * i + 3] + 1.0, 0.8) for i in range(4)]
    s = 0.0
    for p in range(4):
        for q in range(4):
            tmin = np.inf
            hit = x[:3]
            for c, _r in sp:
                t = c @ c * (1 + p + q) - x[p]
                if t > 1.0 and t < tmin:
                    tmin = t
                    hit = c
            s += tmin * hit[0]
    return s


@rolled
def rays_and_spheres(x):
    spheres = [(x[3 * i : 3 * i + 3] + np.array([0.0, 0.0, 3.0 + i]), 0.8) for i in range(4)]
    light = norm(np.array([1.0, 1.0, -1.0]))
    img = 0.0
    for px in np.linspace(-0.5, 0.5, 4):
        for py in np.linspace(-0.5, 0.5, 4):
            d = norm(np.array([px, py, 1.0]))
            o = np.zeros(3)
            tmin = np.inf
            hit = None
            for c, r in spheres:
                oc = o - c
                b = oc @ d
                disc = b * b - (oc @ oc - r * r)
                if disc < 0:
                    continue
                t = -b - np.sqrt(disc)
                if 0.0001 < t < tmin:
                    tmin = t
                    hit = c
            if hit is None:
                img += 0.1
                continue
            p = o + tmin * d
            n = norm(p - hit)
            img += max(0.0, n @ light) + 0.05 * tmin
    return img


@program
def written_to(x):
    cs = [x[3 * i : 3 * i + 3].copy() for i in range(4)]
    s = 0.0
    for p in range(30):
        for c in cs:
            if c[0] > 0.5:
                c[0] *= 0.9
            elif c[1] > 0.3:
                c[1] -= 0.01 * p
            if c.sum() > 1.0:
                c *= 0.99
        s += cs[0][0] + cs[3][1]
    return s


@program
def asked_which_it_is(x):
    cs = [x[3 * i : 3 * i + 3] for i in range(4)]
    s = 0.0
    for p in range(30):
        hit = None
        for c in cs:
            if c[p % 3] > 0.6:
                hit = c
            if c[0] > 0.9:
                break
            if c[1] > 0.95:
                continue
            if c[2] > 0.99:
                s += 1.0
        if hit is cs[2]:
            s += hit[0]
        elif hit is not None:
            s -= hit[1]
    return s


@rolled
def of_other_lengths(x):
    cs = [x[:3], x[3:8], x[8:10]]
    s = 0.0
    for p in range(30):
        for c in cs:
            d = np.sum(c) - p * 0.1
            if d > 0:
                s += d * c[0]
            elif d < -2:
                s -= d
    return s


@rolled
def of_a_display(x):
    a, b = (x[:3], x[3:6])
    s = 0.0
    for _p in range(30):
        for c in [a, b, a * b]:
            t = c @ c
            if t > 1:
                s += t
            elif t > 0.5:
                s += 0.5 * t
            elif t > 0.2:
                s -= t
            else:
                s *= 0.99
    return s


@rolled
def scaled_and_left(x):
    cs = [x[3 * i : 3 * i + 3] * 1.5 for i in range(2)]
    s = t = 0.0
    for p in range(20):
        for _q in range(20):
            hit = None
            best = x[0]
            for c in cs:
                d = c @ c * (1.0 + 0.1 * p) - 0.3
                if d > 1.5:
                    break
                c[2] *= 0.9
                if c[1] > 0.6:
                    continue
                if d < best:
                    best = d
                    hit = c
            if hit is None:
                s += 0.1
            else:
                t += hit[1] * hit[2]
    return s + t


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_one_trace_has_all_ways(f):
    first, *others = np.random.default_rng(0).random((4, SIZE)) - 0.2
    plan = InterpretedPlan(f, first)
    for x in others:
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
    assert len(plan.traces) == 1 and not plan.traces[0].unrolled
    assert plan.traces[0].decisions.passes < 150


@pytest.mark.parametrize("seed", [*range(8), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
