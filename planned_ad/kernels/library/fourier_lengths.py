"""How Fourier transforms of a length are cut into passes, steps and convolutions."""

from __future__ import annotations

import functools

from .twiddles import LANES

WRITTEN_OUT = (2, 3, 4, 5, 7, 8)  # radices whose butterflies are written out
PRIMES = (61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5, 3)  # besides powers of two
SHORTEST_IN_STEPS = 64  # numbers of a line that is transformed in four steps


@functools.cache
def radices(n: int) -> tuple[int, ...] | None:
    """The factors of the passes of length `n`; None where there are others than those of `PRIMES`."""
    found = []
    for radix in PRIMES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    eights, rest = divmod(twos, 3)
    if rest == 1 and eights:
        return (*found, 4, 4, *[8] * (eights - 1))
    return (*found, *[1 << rest] * (rest > 0), *[8] * eights)


@functools.cache
def steps_of(n: int) -> tuple[int, int] | None:
    """The two lengths into which a long line is cut: those that leave the fewest lanes idle, with the fewest passes."""
    if n < SHORTEST_IN_STEPS or radices(n) is None:
        return None
    cuts = [(k, n // k) for k in range(LANES, n // LANES + 1) if n % k == 0]

    def cost(cut: tuple[int, int]) -> tuple[float, int]:
        n1, n2 = cut
        blocks = [-(-k // LANES) for k in cut]
        return blocks[1] * n1 * passes(n1) + blocks[0] * n2 * passes(n2), max(cut)

    def passes(k: int) -> float:
        return 1 + sum(max(1, radix / 8) for radix in radices(k) or ())

    return min(cuts, key=cost, default=None)


@functools.cache
def convolved(n: int) -> int:
    """The length of the convolution that a transform of length `n` is made."""
    unit = SHORTEST_IN_STEPS if 2 * n - 1 > SHORTEST_IN_STEPS else 1
    k = -(-(2 * n - 1) // unit)
    while not set(radices(k * unit) or PRIMES) <= set(WRITTEN_OUT):
        k += 1
    return k * unit
