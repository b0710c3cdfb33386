"""Numbers as people read them."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """
    >>> seconds_text(1.234e-5), seconds_text(2e-9), seconds_text(3.0)
    ('12.3 us', '2.00 ns', '3.00 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def bytes_text(nbytes: float) -> str:
    """
    >>> bytes_text(0), bytes_text(800), bytes_text(16_000), bytes_text(2.5e9)
    ('0 B', '800 B', '16.0 kB', '2.50 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= size:
            return f"{three_digits(nbytes / size)} {unit}"
    return f"{nbytes:.0f} B"


def three_digits(number: float) -> str:
    return f"{number:.2f}" if number < 9.995 else f"{number:.1f}" if number < 99.95 else f"{number:.0f}"
