#!/usr/bin/python3
"""Shares tensors with a library that supports DLPack, in both directions: consumers.py LIBRARY CONSUMER

LIBRARY is the library built from library.cpp. CONSUMER is numpy, torch, or numpy_versioned: NumPy 2.1 or newer, with
DLPack 1. Exits with 77 (skipped) where Python has no such module.
"""

import ctypes
import struct
import sys
import unittest
import weakref

# ── allot ────────────────────────────────────────────────────────────────────────────────────────────────────────────

allot = ctypes.CDLL(sys.argv[1])
Pointer, Words, Numbers = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)
for name, result, *arguments in [
    ("memory_create", Pointer),
    ("memory_destroy", None, Pointer),
    ("memory_is_free", ctypes.c_bool, Pointer, ctypes.c_int64),
    ("tensor_create", Pointer, Pointer, ctypes.c_int64, ctypes.c_uint8, ctypes.c_uint8, ctypes.c_size_t, Numbers,
     ctypes.POINTER(Words)),
    ("tensor_slice", Pointer, Pointer, Numbers, Numbers, ctypes.POINTER(Words)),
    ("tensor_destroy", None, Pointer),
    ("tensor_data", Pointer, Pointer),
    ("tensor_size_bytes", ctypes.c_size_t, Pointer),
    ("tensor_is_read_only", ctypes.c_bool, Pointer),
    ("tensor_is_copied", ctypes.c_bool, Pointer),
    ("tensor_copy", Words, Pointer, Pointer),
    ("tensor_export", Pointer, Pointer, ctypes.c_bool, ctypes.c_bool, ctypes.c_bool, ctypes.POINTER(Words)),
    ("managed_delete", None, Pointer, ctypes.c_bool),
    ("tensor_adopt", Pointer, Pointer, ctypes.c_bool, ctypes.POINTER(Words)),
]:
    getattr(allot, name).restype = result
    getattr(allot, name).argtypes = arguments

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [Pointer, Words, Pointer]
for name, result in [("PyCapsule_IsValid", ctypes.c_int), ("PyCapsule_GetPointer", Pointer)]:
    getattr(python, name).restype = result
    # Not py_object: in its destructor a capsule has no references, and must not get new ones.
    getattr(python, name).argtypes = [Pointer, Words]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, Words]

# A capsule stores the address of its name. The consumer of the tensor renames the capsule, whose destructor then does
# nothing.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


@ctypes.PYFUNCTYPE(None, Pointer)
def end_capsule(capsule):
    for versioned, name in NAMES.items():
        if python.PyCapsule_IsValid(capsule, name):
            allot.managed_delete(python.PyCapsule_GetPointer(capsule, name), versioned)


def numbers(values):
    return (ctypes.c_int64 * len(values))(*values)


class Refused(BufferError):
    pass


def checked(call, *arguments):
    why = Words()
    answer = call(*arguments, ctypes.byref(why))
    if not answer:
        raise Refused(why.value.decode())
    return answer


class Tensor:
    """A handle to a tensor of allot. The version of the consumer determines the capsule that __dlpack__ returns."""

    def __init__(self, handle, aligned_base=False, read_only=False):
        self.handle, self.aligned_base, self.read_only = handle, aligned_base, read_only

    def __del__(self):
        self.kill()

    def kill(self):
        if self.handle:
            allot.tensor_destroy(self.handle)
        self.handle = None

    def __dlpack_device__(self):
        return 1, 0  # the host

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        managed = checked(allot.tensor_export, self.handle, versioned, self.aligned_base, self.read_only)
        return python.PyCapsule_New(managed, NAMES[versioned], ctypes.cast(end_capsule, Pointer))

    def slice(self, begin, sizes):
        return Tensor(checked(allot.tensor_slice, self.handle, numbers(begin), numbers(sizes)))

    @property
    def data(self):
        return allot.tensor_data(self.handle)

    @property
    def is_read_only(self):
        return allot.tensor_is_read_only(self.handle)

    @property
    def is_copied(self):
        return allot.tensor_is_copied(self.handle)

    @property
    def bytes(self):
        """Returns the strides of a compact tensor."""
        return ctypes.string_at(self.data, allot.tensor_size_bytes(self.handle))

    @bytes.setter
    def bytes(self, value):
        assert len(value) == allot.tensor_size_bytes(self.handle)
        ctypes.memmove(self.data, value, len(value))

    def copy_to(self, other):
        why = allot.tensor_copy(self.handle, other.handle)
        if why:
            raise Refused(why.decode())


class Memory:
    def __init__(self):
        self.handle = allot.memory_create()

    def __del__(self):
        allot.memory_destroy(self.handle)

    def is_free(self, offset):
        return allot.memory_is_free(self.handle, offset)

    def tensor(self, offset, dtype, shape, values=None, **options):
        code, bits, letter = DTYPES[dtype]
        made = checked(allot.tensor_create, self.handle, offset, code, bits, len(shape), numbers(shape))
        made = Tensor(made, **options)
        if values is not None:
            made.bytes = struct.pack(f"={len(values)}{letter}", *values)
        return made


DTYPES = {  # DLPack's code, bits, and the letter of Python's struct
    "int8": (0, 8, "b"), "int16": (0, 16, "h"), "int32": (0, 32, "i"), "int64": (0, 64, "q"), "uint8": (1, 8, "B"),
    "float16": (2, 16, "e"), "float32": (2, 32, "f"), "float64": (2, 64, "d"), "bool": (6, 8, "?"),
}


def adopt(array, versioned, **options):
    """Adopts an array of the consumer as a tensor of allot, taken from the capsule as consumers do."""
    capsule = array.__dlpack__(max_version=(1, 0), **options) if versioned else array.__dlpack__()
    managed = python.PyCapsule_GetPointer(id(capsule), NAMES[versioned])
    python.PyCapsule_SetName(capsule, USED[versioned])
    return Tensor(checked(allot.tensor_adopt, managed, versioned))


def ints(tensor):
    return [value for value, in struct.iter_unpack("=i", tensor.bytes)]


def rows(first, count, length, step=1):
    return [list(range(first + row * length * step, first + (row + 1) * length * step, step)) for row in range(count)]


# ── tests for every consumer ─────────────────────────────────────────────────────────────────────────────────────────


class Reads:
    """Tests for a consumer. `take` returns its array for a tensor, and `make` returns a new array of int32."""

    versioned = False

    def setUp(self):
        self.memory = Memory()

    def tensor(self, offset=256, shape=(3, 4), **options):
        size = 1
        for extent in shape:
            size *= extent
        return self.memory.tensor(offset, "int32", shape, range(size), **options)

    def adopt(self, array, **options):
        return adopt(array, self.versioned, **options)

    def contents(self, tensor, size):
        """Returns the elements of a tensor with any strides, in row-major order."""
        onto = self.memory.tensor(4096, "int32", (size,))
        tensor.copy_to(onto)
        return ints(onto)

    def test_every_dtype_is_read(self):
        for dtype in DTYPES:
            if dtype == "bool" and not self.versioned:
                continue  # this version of DLPack has no code for the dtype
            with self.subTest(dtype):
                values = [True, False, True] if dtype == "bool" else [1, 2, 100]
                tensor = self.memory.tensor(256, dtype, (3,), values)
                array = self.take(tensor)
                self.assertTrue(str(array.dtype).endswith(dtype), array.dtype)
                self.assertEqual(array.tolist(), values)
                del array, tensor

    def test_the_arena_s_bytes_are_read_and_not_a_copy(self):
        tensor = self.tensor()
        array = self.take(tensor)
        self.assertEqual(array.tolist(), rows(0, 3, 4))
        self.assertEqual(self.address(array), tensor.data)
        tensor.bytes = struct.pack("=12i", *range(50, 62))
        self.assertEqual(array.tolist(), rows(50, 3, 4))

    def test_a_slice_is_read_by_its_strides(self):
        tensor = self.tensor(shape=(4, 6))
        array = self.take(tensor.slice((1, 2), (2, 3)))
        self.assertEqual(array.tolist(), [[8, 9, 10], [14, 15, 16]])

    def test_no_elements_and_no_axes(self):
        self.assertEqual(tuple(self.take(self.tensor(shape=(2, 0, 3))).shape), (2, 0, 3))
        scalar = self.take(self.tensor(shape=()))
        self.assertEqual(tuple(scalar.shape), ())
        self.assertEqual(scalar.tolist(), 0)

    def test_bytes_are_held_until_the_consumer_drops_its_array(self):
        tensor = self.tensor(256)
        array = self.take(tensor)
        part = array[1:]
        tensor.kill()
        del array
        self.assertFalse(self.memory.is_free(256))
        self.assertEqual(part.tolist(), rows(4, 2, 4))
        del part
        self.assertTrue(self.memory.is_free(256))

    def test_a_capsule_that_nobody_takes_holds_them_as_long_as_it_lives(self):
        tensor = self.tensor(256)
        capsule = tensor.__dlpack__()
        tensor.kill()
        self.assertFalse(self.memory.is_free(256))
        del capsule
        self.assertTrue(self.memory.is_free(256))

    def test_what_the_consumer_made_is_adopted_and_not_copied(self):
        array, watched = self.make(rows(0, 3, 4))
        tensor = self.adopt(array)
        self.assertEqual(tensor.data, self.address(array))
        self.assertEqual(ints(tensor), list(range(12)))
        del array
        self.assertIsNotNone(watched())
        part = tensor.slice((1, 1), (2, 2))
        tensor.kill()
        self.assertIsNotNone(watched())
        self.assertEqual(self.contents(part, 4), [5, 6, 9, 10])
        part.kill()
        self.assertIsNone(watched())

    def test_elements_are_copied_into_an_adopted_tensor(self):
        array, _ = self.make(rows(0, 3, 4))
        part = self.adopt(array).slice((0, 1), (3, 2))
        self.tensor(shape=(3, 2)).copy_to(part)
        self.assertEqual(array.tolist(), [[0, 0, 1, 3], [4, 2, 3, 7], [8, 4, 5, 11]])

    def test_strides_of_others_are_understood(self):
        array, _ = self.make(rows(0, 3, 4))
        self.assertEqual(self.contents(self.adopt(array.T), 12), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11])
        self.assertEqual(self.contents(self.adopt(array[::2, 1:]), 6), [1, 2, 3, 9, 10, 11])
        self.assertEqual(self.contents(self.adopt(array[1:2, 2:3].reshape(())), 1), [6])
        self.assertEqual(self.contents(self.adopt(array[:0]), 0), [])

    def test_a_tensor_goes_there_and_back_and_there(self):
        array, watched = self.make(rows(0, 3, 4))
        tensor = self.adopt(array)
        again = self.take(tensor)
        tensor.kill()
        self.assertEqual(self.address(again), self.address(array))
        del array
        self.assertEqual(again.tolist(), rows(0, 3, 4))
        self.assertIsNotNone(watched())
        del again
        self.assertIsNone(watched())

    def test_too_many_axes_are_refused_and_given_back(self):
        array, watched = self.make([7])
        nine = array.reshape((1,) * 9)
        with self.assertRaisesRegex(Refused, "max_rank"):
            self.adopt(nine)
        del array, nine
        self.assertIsNone(watched())


class Writes:
    def test_the_consumer_writes_into_the_arena(self):
        tensor = self.tensor(256, (3, 4))
        behind = self.tensor(512, (4,))
        array = self.take(tensor)
        array[1:, 2] = 70
        array[0] += 100
        self.assertEqual(ints(tensor), [100, 101, 102, 103, 4, 5, 70, 7, 8, 9, 70, 11])
        self.assertEqual(ints(behind), [0, 1, 2, 3])

    def test_the_consumer_writes_into_a_slice(self):
        tensor = self.tensor(256, (3, 4))
        array = self.take(tensor.slice((1, 1), (2, 2)))
        array[:] = 0
        self.assertEqual(ints(tensor), [0, 1, 2, 3, 4, 0, 0, 7, 8, 0, 0, 11])


class ReadsNumPy(Reads):
    def take(self, tensor):
        return numpy.from_dlpack(tensor)

    def make(self, values):
        array = numpy.array(values, dtype=numpy.int32)
        return array, weakref.ref(array)

    def address(self, array):
        return array.ctypes.data

    def test_an_aligned_base_and_a_byte_offset(self):
        tensor = self.tensor(512, aligned_base=True)
        array = self.take(tensor)
        self.assertEqual(self.address(array), tensor.data)
        self.assertEqual(array.tolist(), rows(0, 3, 4))

    def test_strides_that_go_back_are_refused_and_given_back(self):
        array, watched = self.make(rows(0, 3, 4))
        with self.assertRaisesRegex(Refused, "strides"):
            self.adopt(array[::-1])
        del array
        self.assertIsNone(watched())

    def test_elements_that_are_not_aligned_are_refused(self):
        with self.assertRaisesRegex(Refused, "not aligned"):
            self.adopt(numpy.frombuffer(bytearray(64), dtype=numpy.int32, count=4, offset=1))


class NumPy(ReadsNumPy, unittest.TestCase):
    def test_what_nobody_may_write_is_not_exported_without_a_flag_for_it(self):
        with self.assertRaisesRegex(Refused, "read-only"):
            self.tensor(read_only=True).__dlpack__()


class NumPyVersioned(ReadsNumPy, Writes, unittest.TestCase):
    versioned = True

    def test_read_only_is_seen_on_both_sides(self):
        array = self.take(self.tensor(read_only=True))
        self.assertFalse(array.flags.writeable)
        self.assertTrue(self.take(self.tensor(1024)).flags.writeable)

        mine, _ = self.make([1, 2, 3])
        self.assertFalse(self.adopt(mine).is_read_only)
        mine.flags.writeable = False
        tensor = self.adopt(mine)
        self.assertTrue(tensor.is_read_only)
        with self.assertRaisesRegex(Refused, "read-only"):
            self.tensor(2048, (3,)).copy_to(tensor)
        self.assertEqual(mine.tolist(), [1, 2, 3])
        self.assertFalse(self.take(tensor).flags.writeable)

    def test_repeated_elements_are_read(self):
        array, _ = self.make([1, 2, 3])
        self.assertEqual(self.contents(self.adopt(numpy.broadcast_to(array, (2, 3))), 6), [1, 2, 3, 1, 2, 3])

    def test_a_copy_is_told_from_the_original(self):
        array, _ = self.make([1, 2, 3])
        self.assertFalse(self.adopt(array).is_copied)
        copied = self.adopt(array, copy=True)
        self.assertTrue(copied.is_copied)
        self.assertNotEqual(copied.data, self.address(array))


class Torch(Reads, Writes, unittest.TestCase):
    def take(self, tensor):
        return torch.from_dlpack(tensor)

    def make(self, values):
        # PyTorch's storage outlives its Python object, so the test watches the object that owns the bytes.
        memory = (ctypes.c_int32 * 16)()
        array = torch.frombuffer(memory, dtype=torch.int32)
        values = torch.tensor(values, dtype=torch.int32)
        array = array[: values.numel()].reshape(values.shape)
        array[...] = values
        return array, weakref.ref(memory)

    def address(self, array):
        return array.data_ptr()

    def test_bfloat16_is_read(self):
        DTYPES["bfloat16"] = (4, 16, "H")
        tensor = self.memory.tensor(256, "bfloat16", (3,), [0x3F80, 0xC000, 0x4049])
        array = self.take(tensor)
        self.assertEqual(array.dtype, torch.bfloat16)
        self.assertEqual(array.tolist(), [1.0, -2.0, 3.140625])
        del DTYPES["bfloat16"]

    def test_repeated_elements_are_read(self):
        array, _ = self.make([1, 2, 3])
        self.assertEqual(self.contents(self.adopt(array.expand(2, 3)), 6), [1, 2, 3, 1, 2, 3])


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


if sys.argv[2] == "torch":
    test = Torch
    try:
        import torch
    except ImportError:
        skip("Python's torch module is missing (Debian: python3-torch)")
else:
    test = NumPyVersioned if sys.argv[2] == "numpy_versioned" else NumPy
    try:
        import numpy
    except ImportError:
        skip("Python's numpy module is missing (Debian: python3-numpy)")
    if test is NumPyVersioned and tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1):
        skip(f"NumPy is older than 2.1, which is the first to know DLPack 1 (PyPI: numpy): {numpy.__version__}")

unittest.main(argv=sys.argv[:1], defaultTest=test.__name__)
