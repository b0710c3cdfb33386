"""Lists that are in several places of other lists: what is written to one is seen in all."""

from __future__ import annotations


def one_row_in_every_place(x):
    row = [0.0]
    T = [row for _ in range(20)]
    T[3][0] = x[0]
    return T[5][0]


def one_row_in_a_generator(x):
    row = [0.0]
    T = list(row for _ in range(20))
    for i in range(20):
        T[i][0] += x[i]
    return T[5][0]


def its_own_last_row(x):
    T = [[0.0]]
    for _i in range(20):
        T.append(T[-1])
    T[4][0] = x[1]
    return T[9][0]


def rows_in_two_lists(x):
    T = []
    U = []
    for i in range(20):
        r = [x[i]]
        T.append(r)
        U.append(r)
    T[3][0] = 5.0
    for i in range(20):
        T[i][0] += x[0]
    return U[3][0] + U[4][0]


def each_row_twice(x):
    A = [[0.0] * 2 for _ in range(20)]
    B = [[r, r] for r in A]
    for i in range(20):
        B[i][0][0] += x[i]
    return A[2][0] + B[3][1][0]


def appended_again_and_again(x):
    T = []
    row = [0.0]
    for v in x:
        row[0] += v
        T.append(row)
    return sum(r[0] for r in T)


def rows_in_a_dict(x):
    H = {"h": [[0, 0.0] for _ in range(3)]}
    q = [0.0]
    for i, v in enumerate(x):
        h = H["h"][i % 3]
        if v > 0:
            h[0] += 1
        else:
            h[1] += v * h[0]
            q[0] -= h[1]
    return q[0] + x[0]


def rows_that_share_a_list(x):
    z = [0.0] * 3
    T = [[z[:], z] for _ in range(20)]
    for i in range(20):
        T[i][1][0] += x[i]
        T[i][0][0] += x[i]
    return z[0] + T[2][0][0]


def a_row_asked_for_twice(x):
    T = [[0.0, 1.0] for _ in range(4)]
    for i in range(20):
        T[i % 4][0] += x[i]
    first = T[0]
    return x[0] + (2.0 if T[0] is first else 3.0) * first[0]


def rows_compared_in_a_loop(x):
    T = [[0.0, 1.0] for _ in range(4)]
    s = 0.0
    for i in range(20):
        row = T[i % 4]
        row[0] += x[i]
        s = s + (3.0 if T[i % 4] is not row else 2.0) * row[0]
    return s


def rows_counted_by_id(x):
    T = [[0.0] for _ in range(5)]
    for i in range(20):
        T[(i * i) % 5][0] += x[i]
    n = len({id(T[(i * i) % 5]) for i in range(20)})
    return x[0] * n + T[0][0]


def rows_compared_by_a_helper(x):
    def same(a, b):
        return a is b

    T = [[0.0] for _ in range(5)]
    for i in range(20):
        T[i % 5][0] += x[i]
    s = 0.0
    for row in T:
        for other in T:
            if not same(row, other):
                s = s + row[0] * other[0]
    return s


def the_last_row(x):
    T = [[0.0] for _ in range(5)]
    for i in range(20):
        T[i % 5][0] += x[i]
    s = 0.0
    for row in T:
        if row is T[-1]:
            s = s + row[0]
    return s


def three_exchanged(x):
    a, b, c = list(x[:3]), list(x[3:6]), list(x[6:9])
    for i in range(20):
        a, b, c = b, c, a
        a[0] += b[1] * 0.1 + x[i]
        c[2] *= 0.8
    return a[0] * b[1] + c[2]


def exchanged_in_a_list(x):
    T = [list(x[:3]), list(x[3:6]), list(x[6:9])]
    for i in range(20):
        T[0], T[1], T[2] = T[1], T[2], T[0]
        T[0][0] += T[1][1] * 0.1 + x[i]
        T[2][2] *= 0.8
    return T[0][0] * T[1][1] + T[2][2]


def exchanged_attributes(x):
    class State:
        pass

    o = State()
    o.a, o.b = list(x[:4]), [0.0] * 4
    for k in range(19):
        for i in range(4):
            o.b[i] = o.a[i - 1] * 0.5 + 0.1 * x[k]
        o.a, o.b = o.b, o.a
    return o.a[0] * o.b[1]


def turned_round(x):
    T = [[v] for v in x[:6]]
    d = T[1]
    for i in range(20):
        T.insert(0, T.pop())
        T[0][0] += x[i]
        d[0] *= 0.9
    return sum(q[0] * k for k, q in enumerate(T))


SHARED = (
    three_exchanged,
    exchanged_in_a_list,
    exchanged_attributes,
    turned_round,
    one_row_in_every_place,
    one_row_in_a_generator,
    its_own_last_row,
    rows_in_two_lists,
    each_row_twice,
    appended_again_and_again,
    rows_in_a_dict,
    rows_that_share_a_list,
    a_row_asked_for_twice,
    rows_compared_in_a_loop,
    rows_counted_by_id,
    rows_compared_by_a_helper,
    the_last_row,
)
