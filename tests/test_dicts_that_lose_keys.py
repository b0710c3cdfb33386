"""Dicts of which data say which keys are taken out, which comes first, and whether there is one: one trace."""

import numpy as np
import pytest

import planned_ad

from .one_trace import traces_of

N = 24


def key_of(value):
    return int((value + 4) * 1.5)


def deliveries(x):
    pipe, stock, cost = {}, 5.0 + x[0], 0.0
    for t in range(40):
        stock += pipe.pop(t, 0.0)
        stock -= abs(x[t % N])
        ordered = sum(pipe.values())
        if stock + ordered < 4.0:
            pipe[t + 3] = 8.0 - stock - ordered
        cost += abs(stock) * 0.1
    return cost


def ordered_but_read_by_key(x):
    pipe, stock, cost = {}, 5.0 + x[0], 0.0
    for t in range(40):
        stock += pipe.get(t, 0.0) - abs(x[t % N])
        coming = sum(v for k, v in pipe.items() if k > t)
        if stock + coming < 4.0:
            pipe[t + 3] = 8.0 - stock - coming
        cost += abs(stock) * 0.1
    return cost


def taken_in_pairs(x):
    waiting, total = {}, 0.0
    for t in range(N):
        k = key_of(x[t])
        if k in waiting:
            total += waiting[k] * 2
            del waiting[k]
        else:
            waiting[k] = x[t] * t
        total += sum(v * (i + 1) for i, v in enumerate(waiting.values())) * 0.01
    return total


def the_oldest_goes(x):
    kept, hits = {}, 0.0
    for t in range(N):
        k = key_of(x[t])
        if k in kept:
            v = kept.pop(k)
            kept[k] = v
            hits += v
        else:
            if len(kept) >= 3:
                del kept[next(iter(kept))]
            kept[k] = x[t] * 2
    return hits + sum(i * v for i, v in enumerate(kept.values()))


def moved_to_the_end(x):
    seen, total = {}, 0.0
    for t in range(N):
        k = key_of(x[t])
        seen.pop(k, None)
        seen[k] = x[t]
        for j, v in seen.items():
            total += v * (j + 1) / (t + 1)
    return total + sum(i * seen[k] for i, k in enumerate(list(seen)))


def none_where_there_is_none(x):
    seen, total = {}, 0.0
    for t in range(N):
        v = seen.get(key_of(x[t]))
        if v is None:
            seen[key_of(x[t])] = x[t]
        else:
            total += v * t
    return total


def error_where_there_is_none(x):
    sums = {}
    for t in range(N):
        k = key_of(x[t])
        try:
            sums[k] += x[t]
        except KeyError:
            sums[k] = 0.5 * x[t]
    return sum(k * v * v for k, v in sums.items())


def best_is_none_at_first(x):
    best, least = None, 1e9
    p = {"a": x[0], "b": x[1]}
    for k in range(12):
        q = {"a": p["a"] + 0.1 * x[k], "b": p["b"] + 0.1 * x[k + 12]}
        score = (q["a"] - 0.3) ** 2 + (q["b"] - 0.6) ** 2
        if score < least:
            least = score
            best, p = dict(q), q.copy()
    return least + best["a"] * p["b"]


def league(x):
    teams = list("ABCDEF")
    goals, points = dict.fromkeys(teams, 0.0), dict.fromkeys(teams, 0)
    for k, (home, away) in enumerate((h, a) for h in teams for a in teams if h != a):
        gap = x[k % N] + 0.01 * k
        goals[home] += gap
        goals[away] -= gap
        if gap > 0:
            points[home] += 3
        else:
            points[away] += 3
    return sum(i * points[k] * goals[k] for i, k in enumerate(teams))


def starred_targets(x):
    rows, total = [(x[k], x[k + 1], x[k + 2], k) for k in range(20)], 0.0
    for first, *middle, k in rows:
        if first > 0.5:
            total += sum(middle) * k
        else:
            total -= middle[0]
    return total + sum(last * len(rest) for *rest, last in rows)


def the_first_where_there_is_one(x):
    kept, total = {}, 0.0
    for k in range(N):
        try:
            total += next(iter(kept)) * x[k]
        except StopIteration:
            total += 10.0
        if x[k] > 0:
            kept[k % 3] = x[k]
    return total


FUNCTIONS = [
    deliveries, ordered_but_read_by_key, taken_in_pairs, the_oldest_goes, moved_to_the_end, none_where_there_is_none,
    error_where_there_is_none, best_is_none_at_first, league, starred_targets,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_trace_serves_for_every_way(function):
    assert traces_of(function, 8) == 1


def test_the_error_where_there_is_no_first():
    assert traces_of(the_first_where_there_is_one, 8) >= 1


def test_texts_in_an_order_by_a_key_in_a_loop_that_data_stop():
    """A loop over the elements of a list is none that could be unrolled."""

    def in_order(x):
        names, total, t = {}, 0.0, 0
        while t < 18 and total < 3:
            total += 0.4 * abs(x[t])
            t += 1
            names["a"] = total
            for name in sorted(names, key=str):
                total += 0.05 * names[name]
        return total

    plan = planned_ad.compile(in_order, (np.full(N, 0.3),))
    for size in (0.1, 0.7, 2.0):
        assert plan(np.full(N, size)) == pytest.approx(in_order(np.full(N, size)), rel=1e-13)
