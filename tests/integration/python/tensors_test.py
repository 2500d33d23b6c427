"""Tests of allot.Arena and of tensors that NumPy shares."""

import gc
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allot


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=5),
       st.sampled_from(["bool", "int8", "uint16", "int64", "float16", "float32", "complex128"]), st.integers(0, 12))
def test_numpy_shares_the_bytes(shape, dtype, log2):
    arena = allot.Arena(1 << 20)
    tensor = arena.empty(shape, dtype, alignment=2**log2)
    array = numpy.from_dlpack(tensor)
    assert array.shape == tensor.shape == tuple(shape) and array.dtype == dtype and array.nbytes == tensor.nbytes
    assert array.flags.writeable and array.flags.c_contiguous
    if array.size:
        assert array.ctypes.data == tensor.address and tensor.address % 2**log2 == 0
        array[...] = 1
        assert (numpy.from_dlpack(tensor) == 1).all()
        assert arena.used == array.nbytes


def test_names_of_dtypes():
    arena = allot.Arena(1 << 16)
    for dtype in ("float32", numpy.float32, numpy.dtype("float32")):
        assert numpy.from_dlpack(arena.empty(4, dtype)).dtype == numpy.float32

    class Torch:
        def __str__(self):
            return "torch.bfloat16"

    assert arena.empty(4, Torch()).nbytes == 8
    with pytest.raises(ValueError, match="unknown dtype flot"):
        arena.empty(4, "flot")


def test_the_last_user_frees_the_bytes():
    arena = allot.Arena(1 << 16)
    tensor = arena.empty((10, 10))
    first, second = numpy.from_dlpack(tensor), numpy.from_dlpack(tensor)
    del tensor
    part = first[2:4]
    del first
    assert arena.used == 400
    del second
    assert arena.used == 400
    del part
    assert arena.used == 0 and arena.peak == 400


def test_an_array_outlives_its_arena():
    arena = allot.Arena(1 << 16)
    array = numpy.from_dlpack(arena.empty(1000, "int32"))
    array[:] = range(1000)
    del arena
    gc.collect()
    assert array.sum() == 499500


def test_a_capsule_that_nobody_takes_frees_its_tensor():
    arena = allot.Arena(1 << 16)
    for version in (None, (1, 0), (0, 8)):
        capsule = arena.empty(10).__dlpack__(max_version=version)
        assert arena.used == 40 and ("dltensor_versioned" in repr(capsule)) == (version == (1, 0))
        del capsule
        assert arena.used == 0


def test_requests_of_consumers():
    tensor = allot.Arena(1 << 16).empty(10)
    assert tensor.__dlpack_device__() == (1, 0)
    assert numpy.from_dlpack(tensor, device="cpu", copy=False).shape == (10,)
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}, {"copy": True}):
        with pytest.raises(BufferError):
            tensor.__dlpack__(**wrong)


@pytest.mark.parametrize("shape, error, reason", [
    ((1.5,), TypeError, "1.5 is not an integer"),
    ("a", TypeError, "'a' is not an integer"),
    (b"ab", TypeError, "b'ab' is not an integer"),
    (["a"], TypeError, "'a' is not an integer"),
    ({2, 3}, TypeError, r"\{2, 3\} is not an integer"),
    (-1, ValueError, r"-1 is not from 0 to 2\*\*63 - 1"),
    (2**63, ValueError, r"9223372036854775808 is not from 0 to 2\*\*63 - 1"),
    (2**64, ValueError, r"18446744073709551616 is not from 0 to 2\*\*63 - 1"),
    ((2**63, 2), ValueError, r"9223372036854775808 is not from 0 to 2\*\*63 - 1"),
])
def test_a_wrong_shape_is_refused_with_the_value(shape, error, reason):
    with pytest.raises(error, match=f"^{reason}$"):
        allot.Arena(1 << 16).empty(shape)


def test_shapes_of_numpy():
    arena = allot.Arena(1 << 16)
    assert arena.empty(numpy.int64(3)).shape == (3,)
    assert arena.empty(numpy.array([2, 3])).shape == arena.empty((numpy.uint8(2), 3)).shape == (2, 3)


def test_dtypes_with_the_widths_of_other_libraries():
    arena = allot.Arena(1 << 16)
    for dtype, nbytes in (("int4", 4), ("uint1", 1), ("float4_e2m1fn", 4), ("float8_e5m2", 8), ("bfloat16", 16),
                          ("complex64", 64), ("float16x4", 64)):
        assert arena.empty(8, dtype).nbytes == nbytes
    for dtype in ("float33", "float8", "float128", "int3", "int7", "int128", "uint2", "bfloat32", "complex32", "handle64"):
        with pytest.raises(ValueError, match=f"^unknown dtype {dtype}$"):
            arena.empty(8, dtype)


def test_wrong_arguments_are_refused():
    arena = allot.Arena(1 << 16)
    for wrong in ((-1,), ([2, -1],), ([2**62, 2**62],), (1, "float32", 3), (1, "float32", 8192), ([1] * 99,)):
        with pytest.raises(ValueError):
            arena.empty(*wrong)
    with pytest.raises(allot.OutOfMemory):
        arena.empty(1 << 20)
    for size in (0, 63, 2**63):
        with pytest.raises(ValueError, match="the size must be from 64"):
            allot.Arena(size)
    for size in (-1, 2**64):
        with pytest.raises(ValueError, match=rf"^{size} is not from 0 to 2\*\*64 - 1$"):
            allot.Arena(size)
    with pytest.raises(ValueError, match="^alignment: 3 is not a power of two up to 4096$"):
        arena.empty(1, alignment=3)
    assert arena.used == 0


def test_an_arena_without_memory():
    with pytest.raises(allot.OutOfMemory):
        allot.Arena(2**62)


def test_a_snapshot_of_an_arena():
    arena = allot.Arena(1 << 16)
    kept = [arena.empty(100) for _ in range(4)]
    del kept[1]
    now = arena.snapshot()
    assert now.used == arena.used == 1200 and len(now.blocks) == 3 and len(now.holes) >= 2
    assert max(size for _, size in now.holes) == arena.largest_hole


def test_threads_share_an_arena():
    arena = allot.Arena(1 << 22)
    wrong = []

    def work(number):
        for _ in range(200):
            array = numpy.from_dlpack(arena.empty(500 + number, "int64"))
            array[:] = number
            if (array != number).any():
                wrong.append(number)

    workers = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and arena.used == 0


def test_consumers_before_dlpack_1():
    class Old:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, stream=None):
            return self.tensor.__dlpack__(stream=stream)

    arena = allot.Arena(1 << 16)
    array = numpy.from_dlpack(Old(arena.empty((3, 4))))
    assert array.shape == (3, 4) and arena.used == 48
    del array
    assert arena.used == 0


def test_their_texts_state_their_sizes():
    arena = allot.Arena(1 << 16)
    tensor = arena.empty((4, 64), "int8")
    assert repr(tensor) == "<Tensor of shape (4, 64): 256 bytes>" and repr(arena.empty(3, "int8")) == "<Tensor of shape (3,): 3 bytes>"
    assert repr(arena) == f"<Arena of {arena.size} bytes: 256 used, largest hole {arena.largest_hole}>"
