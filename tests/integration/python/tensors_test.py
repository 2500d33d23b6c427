"""Tests of allot.Arena and of tensors that NumPy shares."""

import copy
import enum
import gc
import pickle
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


@pytest.mark.parametrize("name", ["max_version", "dl_device"])
def test_pairs_that_change_their_list(name):
    class One:
        def __index__(self):
            pair.clear()
            return 1

    class Zero:
        def __index__(self):
            return 0

    tensor = allot.Arena(1 << 16).empty(10)
    pair = [One(), Zero()]
    assert "dltensor" in repr(tensor.__dlpack__(**{name: pair})) and pair == []


def test_forms_of_pairs():
    class Device(enum.IntEnum):
        CPU = 1

    tensor = allot.Arena(1 << 16).empty(10)
    for device in ((Device.CPU, 0), [1, 0], numpy.array([1, 0]), (numpy.int32(1), False)):
        assert "versioned" in repr(tensor.__dlpack__(max_version=device, dl_device=device))


@pytest.mark.parametrize("name", ["max_version", "dl_device"])
@pytest.mark.parametrize("pair, error, reason", [
    ((1,), TypeError, r"{name}: \(1,\) is not a pair of integers"),
    ((1, 0, 0), TypeError, r"{name}: \(1, 0, 0\) is not a pair of integers"),
    (1, TypeError, "{name}: 1 is not a pair of integers"),
    ({1, 0}, TypeError, r"{name}: \{{0, 1\}} is not a pair of integers"),
    ("10", TypeError, "'1' is not an integer"),
    ((1, 0.0), TypeError, "0.0 is not an integer"),
    ((1, -1), ValueError, r"-1 is not from 0 to 2\*\*31 - 1"),
    ((2**31, 0), ValueError, r"2147483648 is not from 0 to 2\*\*31 - 1"),
])
def test_a_wrong_pair_is_refused(name, pair, error, reason):
    tensor = allot.Arena(1 << 16).empty(10)
    with pytest.raises(error, match=f"^{reason.format(name=name)}$"):
        tensor.__dlpack__(**{name: pair})


def test_exceptions_of_pairs_are_raised():
    class Wrong:
        def __index__(self):
            raise KeyError("wrong")

    tensor = allot.Arena(1 << 16).empty(10)
    with pytest.raises(KeyError, match="wrong"):
        tensor.__dlpack__(max_version=(1, Wrong()))


def test_an_arena_is_made_by_its_constructor_only():
    for make in (object.__new__, allot.Arena.__new__):
        try:
            arena = make(allot.Arena)
        except TypeError:
            continue
        with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
            arena.empty(1)
    arena = allot.Arena(1 << 16)
    kept = arena.empty(10)
    with pytest.warns(RuntimeWarning, match="already-initialized"), pytest.raises(TypeError):
        arena.__init__(1 << 10)
    assert arena.used == kept.nbytes


def test_arenas_and_tensors_are_not_copied():
    arena = allot.Arena(1 << 16)
    for each in (arena, arena.empty(10)):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="pickle"):
                make(each)


def test_subclasses_of_an_arena():
    class Named(allot.Arena):
        def __init__(self, name, size):
            super().__init__(size)
            self.name = name
            self.tensor = self.empty(10)
            self.cycle = self

    arena = Named("a", size=1 << 16)
    assert arena.name == "a" and arena.used == 40 and "40 used" in repr(arena)
    array = numpy.from_dlpack(arena.tensor)
    del arena
    gc.collect()
    array[:] = range(10)
    assert array.sum() == 45


def test_a_shape_without_an_end():
    class Endless:
        def __getitem__(self, at):
            assert at < 100
            return 1

    with pytest.raises(ValueError):
        allot.Arena(1 << 16).empty(Endless())


def test_texts_with_surrogates_are_refused():
    class Shown:
        def __repr__(self):
            return "\udc80"

    arena = allot.Arena(1 << 16)
    for wrong in (lambda: arena.empty(1, "\udc80"), lambda: arena.empty(Shown())):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            wrong()


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
