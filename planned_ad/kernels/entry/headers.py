"""Where CPython and NumPy keep what a call checks, verified before it is believed.

Machine code that checks an argument reads these fields directly. The offsets are those of the standard 64-bit builds of
CPython 3.11 to 3.14 and of NumPy 2; they are part of both projects' binary interfaces (``PyArrayObject_fields``,
``PyArray_Descr``, ``PyListObject``, ``PyTupleObject``, ``PyBytesObject``, ``PyFloatObject``). Free-threaded and debug
builds put other fields first, so `supported` reads known objects through the offsets, and everything that depends on
them asks it.
"""

import ctypes
import sys
from functools import cache
from typing import Any, cast

import numpy as np

OBJECT_TYPE = 8
SEQUENCE_LENGTH = 16
LIST_ITEMS = 24  # a pointer to the items
# The items themselves, from 3.14 on behind their hash; the same in subclasses without further slots (namedtuples).
TUPLE_ITEMS = 24 if sys.version_info < (3, 14) else 32
DICT_LENGTH = 16
BYTES_VALUE = 32
FLOAT_VALUE = 16  # also of a numpy.float64 scalar
COMPLEX_VALUES = 16, 24  # also of a numpy.complex128 scalar

ARRAY_DATA = 16
ARRAY_NDIM = 24
ARRAY_SHAPE = 32
ARRAY_STRIDES = 40
ARRAY_DESCR = 56
ARRAY_FLAGS = 64
FLAG_ALIGNED = 0x0100
FLAG_WRITEABLE = 0x0400

DESCR_WORD = 24  # eight bytes: kind, type, byte order, flags, and the type number as an int32
DESCR_WORD_MASK = 0xFFFFFFFF_00FF0000  # of these, the type number and the byte order

C_API = (
    "PyComplex_FromDoubles",
    "PyDict_New",
    "PyDict_Next",
    "PyDict_SetItem",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_FromDouble",
    "PyList_New",
    "PyList_SetItem",
    "PyLong_AsLongLongAndOverflow",
    "PyObject_CallOneArg",
    "PyObject_GenericGetDict",
    "PyObject_Vectorcall",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyUnicode_Compare",
    "Py_DecRef",
    "Py_IncRef",
)


# Functions of NumPy's C interface, by their place in its table, which never changes: ``PyArray_NewFromDescr``, ...
NUMPY_API = {"new": 94, "zeros": 183, "empty": 184}


@cache
def numpy_function(name: str) -> int:
    """The address of a function of NumPy's C interface."""
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )(np._core.multiarray._ARRAY_API, None)  # type: ignore[attr-defined]
    return _int64(address + 8 * NUMPY_API[name])


def descr_word(dtype: np.dtype) -> int:
    """The masked word at `DESCR_WORD` of an array's dtype that means the same numbers as `dtype`."""
    return (dtype.num << 32) | (ord(dtype.byteorder) << 16)


@cache
def slot_offset(kind: type, name: str) -> int:
    """Where instances of a class keep a slot: where a known object is found that has been put into it."""
    known, instance = object(), cast(Any, object.__new__(kind))
    object.__setattr__(instance, name, known)  # also of what its class says is frozen
    places = range(object.__basicsize__, kind.__basicsize__, 8)
    return next(offset for offset in places if _int64(id(instance) + offset) == id(known))


@cache
def supported() -> bool:
    """Whether this interpreter and this NumPy keep their fields at the offsets above.

    Pointers are followed only after the fields beside them were found right, so that an unknown layout gives False and
    not a crash.
    """
    standard_build = (
        sys.implementation.name == "cpython"
        and sys.maxsize == 2**63 - 1
        and sys.byteorder == "little"
        and "t" not in getattr(sys, "abiflags", "")
        and not hasattr(sys, "getobjects")
    )
    return standard_build and _objects_hold() and _arrays_hold() and all(hasattr(ctypes.pythonapi, f) for f in C_API)


def _objects_hold() -> bool:
    item = object()
    number, scalar, known_bytes = 2.718281828, np.float64(3.14159265), b"of eight"
    as_list, as_tuple, as_dict = [item, None, item], (None, item), {1: 1, 2: 2, 3: 3}
    if any(_int64(id(thing) + OBJECT_TYPE) != id(type(thing)) for thing in (item, number, scalar, as_list, as_tuple)):
        return False
    for whole in (complex(number, scalar), np.complex128(complex(number, scalar))):
        if [ctypes.c_double.from_address(id(whole) + at).value for at in COMPLEX_VALUES] != [number, scalar]:
            return False
    if ctypes.string_at(id(known_bytes) + BYTES_VALUE, len(known_bytes)) != known_bytes:
        return False
    lengths = [_int64(id(thing) + SEQUENCE_LENGTH) for thing in (as_list, as_tuple)]
    if [*lengths, _int64(id(as_dict) + DICT_LENGTH)] != [3, 2, 3]:
        return False
    doubles = [ctypes.c_double.from_address(id(value) + FLOAT_VALUE).value for value in (number, scalar)]
    return (
        doubles == [number, scalar]
        and _int64(id(as_tuple) + TUPLE_ITEMS + 8) == id(item)
        and _int64(_int64(id(as_list) + LIST_ITEMS) + 16) == id(item)
    )


def _arrays_hold() -> bool:
    known = np.ndarray((3, 5), np.dtype("f8"), bytearray(400), strides=(80, 16))
    frozen = known[1:]
    frozen.flags.writeable = False
    for array in (known, frozen):
        address = id(array)
        data = array.__array_interface__["data"][0]
        flags = _int32(address + ARRAY_FLAGS)
        if (
            _int64(address + OBJECT_TYPE) != id(np.ndarray)
            or _int64(address + ARRAY_DATA) != data
            or _int32(address + ARRAY_NDIM) != array.ndim
            or _int64(address + ARRAY_DESCR) != id(array.dtype)
            or bool(flags & FLAG_WRITEABLE) != array.flags.writeable
            or bool(flags & FLAG_ALIGNED) != array.flags.aligned
        ):
            return False
        shape, strides = _int64(address + ARRAY_SHAPE), _int64(address + ARRAY_STRIDES)
        if strides != shape + 8 * array.ndim:  # NumPy allocates both at once; no other two fields differ by that
            return False
        if tuple(_int64(shape + 8 * axis) for axis in range(2 * array.ndim)) != array.shape + array.strides:
            return False
    return all(
        _int64(id(dtype) + DESCR_WORD) & DESCR_WORD_MASK == descr_word(dtype)
        for dtype in map(np.dtype, ("f8", "f4", "i8", "i4", "?", ">f8"))
    )


def _int64(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _int32(address: int) -> int:
    return ctypes.c_int32.from_address(address).value
