"""The counting shim counts: a test of nothing allocated means something only if it can fail."""

import pytest

from tests.malloc import count_in_subprocess

LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.free.argtypes = [ctypes.c_void_p]\n"


@pytest.mark.parametrize(
    "allocate",
    ["libc.malloc(40)", "libc.calloc(4, 10)", "libc.realloc(None, 40)", "libc.aligned_alloc(64, 64)"],
)
def test_known_allocations_are_counted(allocate):
    name = allocate.split("(")[0]
    code = LIBC + f"{name}.restype = ctypes.c_void_p\ndef call():\n    libc.free({allocate})\n"
    assert count_in_subprocess(code, calls=100)["malloc"] == 100


def test_posix_memalign_is_counted():
    code = LIBC + (
        "where = ctypes.c_void_p()\nthere = ctypes.byref(where)\n"
        "def call():\n    libc.posix_memalign(there, 64, 64)\n    libc.free(where)\n"
    )
    assert count_in_subprocess(code, calls=100)["malloc"] == 100


def test_kept_objects_are_counted_as_blocks():
    counted = count_in_subprocess(
        "kept = []\nkept.extend(range(9))\ndef call():\n    kept.append(object())\n", calls=500
    )
    assert counted["blocks"] >= 500


def test_dropped_objects_are_counted_when_asked_for():
    code = "def call():\n    object()\n"
    assert count_in_subprocess(code, calls=100) == {"malloc": 0, "blocks": 0}
    assert count_in_subprocess(code, calls=100, python_objects=True)["malloc"] == 100


def test_an_idle_call_counts_nothing():
    code = "def call():\n    pass\n"
    assert count_in_subprocess(code, python_objects=True)["malloc"] == 0
    assert count_in_subprocess(code) == {"malloc": 0, "blocks": 0}


def test_a_failing_snippet_fails_the_test():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        count_in_subprocess("1 / 0\n")
