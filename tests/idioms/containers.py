"""Python's containers beside arrays: deques, heaps, counters, chained maps, stacks, queues, ring buffers, tables."""

from __future__ import annotations

import array
import bisect
import collections
import copy
import heapq
import types

import numpy as np

from .program import Kind, matrix, number, vector, vectors, with_number

CONTAINERS = Kind("containers")


@CONTAINERS.add()
def deque_as_a_delay(x):
    line = collections.deque([0.0] * 4)
    total = 0.0
    for v in x:
        line.append(v)
        total += line.popleft() * v
    return total


@CONTAINERS.add()
def bounded_deque_mean(x):
    window = collections.deque(maxlen=5)
    total = 0.0
    for v in x:
        window.append(v)
        total += (sum(window) / len(window)) ** 2
    return total


@CONTAINERS.add()
def rotating_deque_of_gains(x):
    gains = collections.deque([1.0, -0.5, 0.25, 2.0, 0.1])
    total = 0.0
    for v in x:
        total += gains[0] * v
        gains.rotate(1)
    return total


@CONTAINERS.add()
def heap_of_plain_times(x):
    events = [(0.3 * k % 2, k) for k in range(24)]
    heapq.heapify(events)
    total = 0.0
    while events:
        time, k = heapq.heappop(events)
        total = 0.9 * total + time * x[k]
    return total


@CONTAINERS.add()
def heap_that_reschedules(x):
    queue = [(1.0, 0), (1.3, 1), (1.7, 2)]
    total = 0.0
    for v in x:
        t, who = heapq.heappop(queue)
        total += v * t * (who + 1)
        heapq.heappush(queue, (t + 1 + 0.5 * who, who))
    return total


@CONTAINERS.add()
def counter_of_labels(x):
    seen = collections.Counter()
    total = 0.0
    for label, v in zip("abracadabraabracadabraab", x):
        seen[label] += 1
        total += v / seen[label]
    return total


@CONTAINERS.add()
def defaultdict_of_lists(x):
    groups = collections.defaultdict(list)
    for i, v in enumerate(x):
        groups[i % 3].append(v)
    return sum((k + 1) * np.prod(np.array(vs)) for k, vs in groups.items())


@CONTAINERS.add()
def defaultdict_of_counts(x):
    visits = collections.defaultdict(int)
    total, here = 0.0, 0
    for v in x:
        visits[here] += 1
        total += v * visits[here]
        here = (here * 2 + 1) % 5
    return total


@CONTAINERS.add()
def chain_map_of_options(x):
    defaults = {"rate": 1.0, "sign": 1}
    options = collections.ChainMap({}, defaults)
    total = 0.0
    for v in x:
        total += options["rate"] * options["sign"] * v
        options["rate"] *= 0.9
        options["sign"] = -options["sign"]
    return total


@CONTAINERS.add()
def ordered_dict_as_lru(x):
    cache = collections.OrderedDict()
    total = 0.0
    for i, v in enumerate(x):
        key = i * i % 7
        if key in cache:
            cache.move_to_end(key)
            total += cache[key] * v
        else:
            cache[key] = v
            if len(cache) > 3:
                cache.popitem(last=False)
    return total


@CONTAINERS.add()
def stack_machine(x):
    program = "v v + v * v - s " * 4
    stack, values, total = [], iter(x), 0.0
    for op in program.split():
        if op == "v":
            stack.append(next(values))
        elif op == "s":
            total += np.sin(stack.pop())
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if op == "+" else a * b if op == "*" else a - b)
            if op == "-":
                stack.append(stack[-1])
                stack.pop(0)
    return total


@CONTAINERS.add()
def list_as_a_ring(x):
    ring, head, total = [0.0] * 5, 0, 0.0
    for v in x:
        total += ring[head] * v
        ring[head] = v
        head = (head + 1) % 5
    return total


@CONTAINERS.add()
def list_as_a_queue_with_breadth_first(x):
    queue, total = [(0, 1.0)], 0.0
    while queue:
        node, weight = queue.pop(0)
        total += weight * x[node]
        for child in (2 * node + 1, 2 * node + 2):
            if child < 24:
                queue.append((child, 0.5 * weight))
    return total


@CONTAINERS.add()
def list_rotated_by_slicing(x):
    w, total = [0.1, 0.7, -0.3, 1.1], 0.0
    for v in x:
        total += w[0] * v
        w = w[1:] + w[:1]
    return total


@CONTAINERS.add()
def dict_in_order_of_insertion(x):
    order = {k: 1.0 / (k + 1) for k in range(6)}
    total = 0.0
    for v in x:
        first = next(iter(order))
        total += v * order[first]
        order[first] = order.pop(first) * 0.5
    return total


@CONTAINERS.add()
def dict_pop_item(x):
    todo = {k: 0.1 * k for k in range(24)}
    total = 0.0
    for v in x:
        k, w = todo.popitem()
        total += v * w - 0.01 * k
    return total


@CONTAINERS.add()
def set_of_visited(x):
    visited, total, k = set(), 0.0, 1
    for v in x:
        total += v * (0.2 if k in visited else 1.0)
        visited.add(k)
        k = 3 * k % 31
    return total


@CONTAINERS.add()
def frozen_pairs_as_keys(x):
    table, total = {}, 0.0
    for i, v in enumerate(x):
        key = frozenset((i % 3, i % 4))
        table[key] = table.get(key, 0.0) + v
        total += table[key] ** 2
    return total


@CONTAINERS.add()
def bisect_into_plain_knots(x):
    knots, total = [3, 8, 13, 19], 0.0
    for i, v in enumerate(x):
        total += v * (1 + bisect.bisect(knots, i))
    return total


@CONTAINERS.add()
def insort_of_plain_numbers(x):
    ranks, total = [], 0.0
    for i, v in enumerate(x):
        bisect.insort(ranks, i * 5 % 17)
        total += v * ranks[len(ranks) // 2]
    return total


@CONTAINERS.add()
def array_module_table(x):
    weights, total = array.array("d", [0.1 * k for k in range(24)]), 0.0
    for w, v in zip(weights, x):
        total += w * v
    return total


@CONTAINERS.add()
def bytes_as_a_tape(x):
    total = 0.0
    for b, v in zip(b"\x01\x02\x03\x00" * 6, x):
        total += b * v
    return total


@CONTAINERS.add()
def memoryview_of_counts(x):
    counts = memoryview(bytearray(4))
    total = 0.0
    for i, v in enumerate(x):
        counts[i % 4] += 1
        total += v / counts[i % 4]
    return total


@CONTAINERS.add(matrix(20, 3))
def list_of_rows_reversed_in_place(x):
    rows, total = list(x), 0.0
    for k in range(20):
        rows.reverse()
        total += rows[k % 5].sum() * (k + 1)
    return total


@CONTAINERS.add(number())
def nested_dict_of_state(s):
    state = {"pos": {"x": s, "y": 0.0}, "t": 0}
    for _ in range(30):
        p = state["pos"]
        p["x"], p["y"] = p["x"] - 0.1 * p["y"], p["y"] + 0.1 * p["x"]
        state["t"] += 1
        if state["t"] % 10 == 0:
            p["y"] *= 0.5
    return state["pos"]["x"] * state["t"]


@CONTAINERS.add()
def copied_state_as_a_checkpoint(x):
    state, saved = {"u": 0.0, "k": 0}, None
    for i, v in enumerate(x):
        state["u"] = 0.9 * state["u"] + v
        state["k"] += 1
        if i == 7:
            saved = copy.deepcopy(state)
        if i == 17:
            state = copy.copy(saved)
    return state["u"] * state["k"]


@CONTAINERS.add()
def mapping_proxy_and_update(x):
    inner = {"w": 1.0}
    view, total = types.MappingProxyType(inner), 0.0
    for v in x:
        total += v * view["w"]
        inner.update(w=inner["w"] * 0.7)
    return total


@CONTAINERS.add()
def list_deleted_from_the_middle(x):
    w, total = [0.1 * k for k in range(40)], 0.0
    for v in x:
        total += v * w[len(w) // 2]
        del w[len(w) // 2]
    return total


@CONTAINERS.add(vectors(24, 5))
def list_of_lists_as_a_table(x, p):
    table = [[0.0] * 5 for _ in range(24)]
    for i in range(24):
        for j in range(5):
            table[i][j] = x[i] * p[j] + (table[i - 1][j - 1] if i and j else 0.0)
    return table[-1][-1] + table[7][2]


@CONTAINERS.add(with_number())
def tuple_grown_by_addition(x, s):
    history = ()
    for v in x:
        history = history + (s * v,)
        s = 0.9 * s + 0.1 * history[len(history) // 2]
    return s + history[5]


@CONTAINERS.add()
def user_list_subclass(x):
    class Window(list):
        def push(self, v):
            self.append(v)
            if len(self) > 3:
                del self[0]

    w, total = Window(), 0.0
    for v in x:
        w.push(v)
        total += w[0] * w[-1]
    return total


@CONTAINERS.add(vector(30))
def user_dict_with_missing(x):
    class Auto(dict):
        def __missing__(self, key):
            self[key] = 1.0 / (1 + len(self))
            return self[key]

    table, total = Auto(), 0.0
    for i, v in enumerate(x):
        total += v * table[i * i % 11]
    return total
