"""Tests of allot.alloc_storage, alloc_tensor, alloc_discontiguous_tensor and copy_tensor with TVM's wheel.

A refusal is a ValueError or a MemoryError with three parts: the request, the reason, the remedy.
"""

import gc
import threading
import unittest

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.op.vm import kill_object

import allot_tvm

allot_tvm.load()
DEVICE = tvm.cpu(0)
VTCM = "global.vtcm"
alloc_storage, alloc_tensor, alloc_rows, copy_tensor = (
    tvm_ffi.get_global_func(f"allot.{name}")
    for name in ("alloc_storage_on", "alloc_tensor", "alloc_discontiguous_tensor", "copy_tensor"))
allot_tvm.use(DEVICE, "global.small", "one region", 16384)
allot_tvm.use(DEVICE, "global.buffers", "separate")


def shape(*extents):
    return tvm_ffi.Shape(extents)


def dtype(name):
    return tvm_ffi.dtype(name)


def storage(size=4096, scope=VTCM):
    return alloc_storage(DEVICE, shape(size), dtype("uint8"), scope)


def tensor(within, offset, extents=(4, 64), element="int32"):
    return alloc_tensor(within, offset, shape(*extents), dtype(element))


def rows(table, table_offset, data, offsets, extents=(4, 64), element="int32"):
    return alloc_rows(table, table_offset, data, shape(*offsets), shape(*extents), dtype(element))


def numbers(seed, extents=(4, 64)):
    return np.random.default_rng(seed).integers(-1000, 1000, extents, dtype="int32")


def address_of(of):
    return np.from_dlpack(of).__array_interface__["data"][0]


class Refused(unittest.TestCase):
    def refuse(self, error, reason, remedy, call, *arguments, **options):
        with self.assertRaises(error) as caught:
            call(*arguments, **options)
        text = str(caught.exception)
        self.assertRegex(text, r"^allot\.\w+.* is refused: ")
        self.assertIn(reason, text)
        self.assertIn(remedy, text)
        return text


class Storages(Refused):
    def test_a_negative_shape(self):
        self.refuse(ValueError, "the shape has a negative dimension", "at most eight axes", storage, -1)

    def test_too_many_axes(self):
        self.refuse(ValueError, "more dimensions than max_rank", "at most eight axes", alloc_storage, DEVICE,
                    shape(*[1] * 9), dtype("uint8"), VTCM)

    def test_a_size_that_wraps(self):
        for extents in (1 << 62, 8), ((1 << 63) - 1,):
            self.refuse(ValueError, "too large", "a smaller shape", alloc_storage, DEVICE, shape(*extents),
                        dtype("float64"), VTCM)

    def test_out_of_memory_names_the_scope(self):
        text = self.refuse(MemoryError, "fewer bytes are free than were asked for", "allot_tvm.use", storage, 1 << 20)
        self.assertIn("(1048576,) and uint8 in global.vtcm", text)
        self.refuse(MemoryError, "the largest hole has", "allot_tvm.use", storage, 1 << 20, "global.small")

    def test_an_unknown_scope_lists_the_known_ones(self):
        for name in "vtcm", "global.vtcm2", "global.text", "texture":
            with self.assertRaises(ValueError) as caught:
                storage(64, name)
            self.assertIn(f"cpu:0 has no memory of scope {name}; its scopes are global, global.buffers, global.small, "
                          "global.texture, global.texture-nhwc, global.texture-weight, global.vtcm. Use one of these",
                          str(caught.exception))

    def test_another_device(self):
        with self.assertRaisesRegex(ValueError, "scopes are served on the CPU; device2:0 has the memories of its own"):
            alloc_storage(tvm.cuda(0), shape(64), dtype("uint8"), "global")

    def test_tvms_pool_has_no_storages(self):
        allot_tvm.use(tvm.cpu(9), "global", "pool")
        with self.assertRaisesRegex(ValueError, "global of cpu:9 is TVM's own pool, which has no storages of allot"):
            alloc_storage(tvm.cpu(9), shape(64), dtype("uint8"), "global")

    def test_the_empty_scope_is_global(self):
        self.assertEqual(address_of(tensor(storage(1024, ""), 0)) % 64, 0)

    def test_the_window_is_aligned_for_vectors(self):
        kept = [tensor(storage(size), 0, (1,)) for size in (65, 100, 4)]
        self.assertTrue(all(address_of(each) % 128 == 0 for each in kept))


class Tensors(Refused):
    def test_the_data_moves_and_byte_offset_is_0(self):
        whole = storage()
        first, second = tensor(whole, 0), tensor(whole, 1024)
        self.assertEqual(address_of(second) - address_of(first), 1024)
        self.assertEqual(second.shape, (4, 64))

    def test_a_negative_offset(self):
        for offset in -64, -(1 << 63):
            self.refuse(ValueError, "the offset is negative", "an offset of 0 or more", tensor, storage(), offset)

    def test_past_the_end(self):
        for offset in 4096 - 960, 4096, 1 << 40:
            text = self.refuse(ValueError, "beyond the end of the storage", "a smaller offset", tensor, storage(),
                               offset)
            self.assertIn(f"a tensor of shape (4, 64) and int32 at offset {offset} of a storage of 4096 bytes in "
                          "global.vtcm", text)

    def test_an_offset_that_wraps(self):
        self.refuse(ValueError, "beyond the end", "a smaller offset", tensor, storage(), (1 << 63) - 64)
        self.refuse(ValueError, "too large", "a smaller shape", tensor, storage(), 0, (1 << 62, 4))

    def test_alignment(self):
        for offset in 4, 32, 1000:
            self.refuse(ValueError, "not aligned", "Choose a multiple of 64, because compiled kernels assume", tensor,
                        storage(), offset)

    def test_overlap(self):
        whole = storage()
        kept = tensor(whole, 1024)
        for offset in 1024, 64, 1984:
            self.refuse(ValueError, "overlap bytes that are in use", "Kill the tensor", tensor, whole, offset)
        del kept
        self.assertIsNotNone(tensor(whole, 64))

    def test_a_view_keeps_the_bytes(self):
        whole = storage()
        view = np.from_dlpack(tensor(whole, 0))
        view[:] = 7
        self.refuse(ValueError, "overlap", "Kill", tensor, whole, 0)
        self.assertTrue((view == 7).all())
        del view
        gc.collect()
        self.assertIsNotNone(tensor(whole, 0))

    def test_a_tensor_keeps_the_storage(self):
        held = storage(16000, "global.small")
        kept = tensor(held, 0)
        del held
        self.refuse(MemoryError, "fewer bytes are free", "Kill storages", storage, 16000, "global.small")
        del kept
        self.assertIsNotNone(storage(16000, "global.small"))

    def test_a_shape_or_dtype_that_does_not_work(self):
        self.refuse(ValueError, "negative dimension", "none of them negative", tensor, storage(), 0, (-1, 64))
        self.refuse(ValueError, "inside a byte", "whole bytes", tensor, storage(), 0, (4, 64), "int4")

    def test_no_elements(self):
        self.assertEqual(tensor(storage(), 4096, (0, 64)).shape, (0, 64))

    def test_a_killed_storage(self):
        self.refuse(ValueError, "killed before, or never allocated", "Allocate it before", tensor, None, 0)

    def test_a_killed_tensor_is_not_copied(self):
        whole = storage()
        for source, target, name in (None, tensor(whole, 0), "source"), (tensor(whole, 1024), None, "target"), \
                (None, None, "source"):
            self.refuse(ValueError, f"the {name} was killed before, or never allocated", "Allocate it before",
                        copy_tensor, source, target)

    def test_no_virtual_machine(self):
        self.refuse(ValueError, "it needs a virtual machine", "R.call_builtin_with_ctx",
                    tvm_ffi.get_global_func("allot.alloc_storage"), None, shape(4), 0, dtype("uint8"), "global")

    def test_another_object(self):
        self.refuse(ValueError, "needs a storage from allot.alloc_storage and is given ffi.Shape",
                    "allot_tvm.alloc_storage", tensor, shape(1), 0)

    def test_threads(self):
        """TVM drops tensors in any thread."""
        whole = storage(64 * 1024, "global")
        failures = []

        def work(number):
            try:
                for turn in range(200):
                    first = np.from_dlpack(tensor(whole, number * 8192 + turn % 4 * 1024))
                    first[:] = number
                    second = tensor(storage(1024, VTCM), 0)
                    copy_tensor(tvm.runtime.from_dlpack(first), second)
                    if not (second.numpy() == number).all():
                        failures.append(number)
            except (ValueError, MemoryError) as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        before = allot_tvm.counts(DEVICE, VTCM)[5]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])
        self.assertEqual(allot_tvm.counts(DEVICE, VTCM)[5], before)


class Calls(unittest.TestCase):
    """The functions that return calls of Relax."""

    def refuse(self, error, text, call, *arguments):
        with self.assertRaisesRegex(error, text):
            call(*arguments)

    def test_arguments_of_another_type(self):
        within = relax.Var("within")
        for text, call, *arguments in (
                ("shape is a list of integers, such as", allot_tvm.alloc_storage, 4096),
                ("shape is a list of integers, .* not 'x'", allot_tvm.alloc_storage, "x"),
                ("an element of shape is an integer .* not 1.5", allot_tvm.alloc_storage, [1.5]),
                ("device_index is an integer", allot_tvm.alloc_storage, [4], None),
                ("dtype is a name, .* not None", allot_tvm.alloc_storage, [4], 0, None),
                ("scope is a name", allot_tvm.alloc_storage, [4], 0, "uint8", None),
                ("storage is an expression of Relax, and not None", allot_tvm.alloc_tensor, None, 0, [4], "int32"),
                ("offset is an integer", allot_tvm.alloc_tensor, within, None, [4], "int32"),
                ("shape is a list of integers", allot_tvm.alloc_tensor, within, 0, 4, "int32"),
                ("dtype is a name", allot_tvm.alloc_tensor, within, 0, [4], None),
                ("shape is a list", allot_tvm.alloc_discontiguous_tensor, within, 0, within, [0], 4, "int32"),
                ("data_offsets is a list", allot_tvm.alloc_discontiguous_tensor, within, 0, within, 0, [1, 4], "int32"),
                ("source is an expression of Relax", allot_tvm.copy_tensor, None, within),
                ("target is an expression of Relax", allot_tvm.copy_tensor, within, 3)):
            self.refuse(TypeError, text, call, *arguments)

    def test_rows_without_two_axes(self):
        within = relax.Var("within")
        for extents in [], [4]:
            self.refuse(ValueError, "shape is a list of two axes", allot_tvm.alloc_discontiguous_tensor, within, 0,
                        within, [0], extents, "int32")


class Programs(unittest.TestCase):
    def test_shapes_and_offsets_that_are_known_when_the_program_runs(self):
        n = tirx.Var("n", "int64")
        builder = relax.BlockBuilder()
        x, result = (relax.Var(name, relax.TensorType((n, 64), "int32")) for name in ("x", "result"))
        with builder.function("main", [x, result], pure=False):
            whole = builder.emit(allot_tvm.alloc_storage([n * 512], 0, "uint8", VTCM))
            first = builder.emit(allot_tvm.alloc_tensor(whole, 0, [n, 64], "int32"))
            second = builder.emit(allot_tvm.alloc_tensor(whole, n * 256, [n, 64], "int32"))
            for source, target in (x, second), (second, first), (first, result):
                builder.emit(allot_tvm.copy_tensor(source, target))
            builder.emit_func_output(result)
        module = builder.finalize()
        for mode in "bytecode", "compiled":
            machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), DEVICE)
            for size in 1, 7, 32:
                given = numbers(size, (size, 64))
                found = machine["main"](tvm.runtime.tensor(given), tvm.runtime.tensor(np.zeros_like(given)))
                self.assertTrue((found.numpy() == given).all(), (mode, size))

    def test_a_refusal_reaches_the_caller_and_the_machine_goes_on(self):
        n = tirx.Var("n", "int64")
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((n,), "int32"))
        with builder.function("main", [x], pure=False):
            whole = builder.emit(allot_tvm.alloc_storage([4096], 0, "uint8", VTCM))
            made = builder.emit(allot_tvm.alloc_tensor(whole, n * 4, [64], "int32"))
            builder.emit_func_output(made)
        module = builder.finalize()
        for mode in "bytecode", "compiled":
            machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), DEVICE)
            with self.assertRaisesRegex(ValueError, "at offset 20 of a storage of 4096 bytes in global.vtcm is"):
                machine["main"](tvm.runtime.tensor(np.zeros(5, "int32")))
            with self.assertRaisesRegex(ValueError, "beyond the end of the storage"):
                machine["main"](tvm.runtime.tensor(np.zeros(1008, "int32")))
            self.assertEqual(machine["main"](tvm.runtime.tensor(np.zeros(16, "int32"))).shape, (64,))

    def test_a_killed_register_is_not_copied(self):
        x, result = (relax.Var(name, relax.TensorType((4, 64), "int32")) for name in ("x", "result"))
        for is_source in True, False:
            builder = relax.BlockBuilder()
            with builder.function("main", [x, result], pure=False):
                whole = builder.emit(allot_tvm.alloc_storage([1024], 0, "uint8", VTCM))
                gone = builder.emit(allot_tvm.alloc_tensor(whole, 0, [4, 64], "int32"))
                builder.emit(kill_object(gone))
                builder.emit(allot_tvm.copy_tensor(gone, result) if is_source else allot_tvm.copy_tensor(x, gone))
                builder.emit_func_output(result)
            module = builder.finalize()
            for mode in "bytecode", "compiled":
                machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), DEVICE)
                with self.assertRaisesRegex(ValueError, "was killed before, or never allocated"):
                    machine["main"](*(tvm.runtime.tensor(numbers(each)) for each in (1, 2)))

    def test_a_device_that_the_machine_lacks(self):
        builder = relax.BlockBuilder()
        with builder.function("main", [], pure=False):
            builder.emit_func_output(builder.emit(allot_tvm.alloc_storage([64], 7, "uint8", "global")))
        machine = relax.VirtualMachine(relax.build(builder.finalize(), target="llvm"), DEVICE)
        with self.assertRaisesRegex(ValueError, "device 7 does not exist. Choose one below 1, or -1 for the host."):
            machine["main"]()


class BuffersOfTheirOwn(Refused):
    def test_each_tensor_has_a_buffer(self):
        before = allot_tvm.counts(DEVICE, "global.buffers")
        whole = storage(2048, "global.buffers")
        self.assertEqual(allot_tvm.counts(DEVICE, "global.buffers")[0], before[0])
        kept = tensor(whole, 0), tensor(whole, 1024)
        self.assertEqual(allot_tvm.counts(DEVICE, "global.buffers")[0], before[0] + 2)
        self.refuse(ValueError, "overlap", "Kill", tensor, whole, 64)
        self.refuse(ValueError, "beyond the end", "smaller offset", tensor, whole, 2048)
        del kept
        self.assertEqual(allot_tvm.counts(DEVICE, "global.buffers")[2], before[2])

    def test_rows_need_pointers(self):
        self.refuse(ValueError, "take no offset", "such as global or global.vtcm", rows,
                    storage(32, "global"), 0, storage(2048, "global.buffers"), (0, 256, 512, 768))


class Textures(Refused):
    def test_a_shape_that_is_no_texture(self):
        whole = storage(4096, "global.texture")
        for extents in (4, 64), (4, 64, 3):
            self.refuse(ValueError, "at least three axes, the last with four channels", "groups of four", tensor, whole,
                        0, extents, "float32")

    def test_each_tensor_is_an_image(self):
        for scope in "global.texture", "global.texture-weight", "global.texture-nhwc":
            whole = alloc_storage(DEVICE, shape(2, 8, 8, 4), dtype("float32"), scope)
            first = tensor(whole, 0, (2, 8, 8, 4), "float32")
            self.refuse(ValueError, "overlap", "Kill", tensor, whole, 0, (2, 8, 8, 4), "float32")
            used, place = allot_tvm.counts(DEVICE, scope)[0], address_of(first)
            del first
            again = tensor(whole, 0, (2, 8, 8, 4), "float32")
            self.assertEqual((allot_tvm.counts(DEVICE, scope)[0], address_of(again)), (used, place))
            self.refuse(ValueError, "beyond the end", "smaller offset", tensor, whole, 64, (2, 8, 8, 4), "float32")


class Rows(Refused):
    OFFSETS = (768, 256, 2304, 3072)

    def test_a_table_of_pointers(self):
        data, table = storage(), storage(96, "global")
        made = rows(table, 0, data, self.OFFSETS)
        entries = np.from_dlpack(made)
        base = address_of(tensor(data, 0, (1,)))
        self.assertEqual((entries - base).tolist(), list(self.OFFSETS))
        self.assertEqual((made.shape, str(made.dtype)), ((4,), "uint64"))

    def test_number_of_offsets(self):
        for offsets in (0, 256, 512), (0, 256, 512, 768, 1024), ():
            self.refuse(ValueError, "number of offsets differs", "one offset for each row", rows, storage(96, "global"),
                        0, storage(), offsets)

    def test_a_row_past_the_end(self):
        for bad in 4096, 3904, (1 << 63) - 64:
            text = self.refuse(ValueError, "beyond the end", "smaller offset", rows, storage(96, "global"), 0,
                               storage(), (0, 256, bad, 512))
            self.assertIn("the row is 2", text)

    def test_a_negative_row(self):
        text = self.refuse(ValueError, "the offset is negative", "0 or more", rows, storage(96, "global"), 0, storage(),
                           (0, 256, 512, -64))
        self.assertIn("the row is 3", text)

    def test_a_misaligned_row(self):
        text = self.refuse(ValueError, "not aligned", "multiple of 64", rows, storage(96, "global"), 0, storage(),
                           (0, 260, 512, 768))
        self.assertIn("the row is 1", text)

    def test_rows_that_overlap(self):
        self.refuse(ValueError, "overlap", "another offset", rows, storage(96, "global"), 0, storage(),
                    (0, 192, 512, 768))
        data = storage()
        kept = tensor(data, 512, (64,))
        self.refuse(ValueError, "overlap", "Kill", rows, storage(96, "global"), 0, data, (0, 256, 512, 768))
        del kept

    def test_the_table(self):
        data = storage()
        self.refuse(ValueError, "beyond the end", "larger storage", rows, storage(24, "global"), 0, data, self.OFFSETS)
        self.refuse(ValueError, "beyond the end", "larger storage", rows, storage(96, "global"), 72, data, self.OFFSETS)
        self.refuse(ValueError, "not aligned", "multiple of 8 for the table", rows,
                    storage(96, "global"), 4, data, self.OFFSETS)
        self.refuse(ValueError, "is negative", "0 or more", rows, storage(96, "global"), -8, data, self.OFFSETS)
        table = storage(96, "global")
        kept = rows(table, 0, data, self.OFFSETS)
        self.refuse(ValueError, "overlap", "another offset", rows, table, 16, data, (0, 512, 1024, 1280))
        del kept

    def test_a_refusal_changes_nothing(self):
        table, data = storage(32, "global"), storage()
        self.refuse(ValueError, "overlap", "Kill", rows, table, 0, data, (0, 256, 256, 512))
        self.assertIsNotNone(rows(table, 0, data, (0, 256, 512, 768)))

    def test_a_shape_of_other_rank(self):
        self.refuse(ValueError, "", "rows need at least two", rows, storage(96, "global"), 0, storage(), (0,), (64,))

    def test_partial_bytes(self):
        self.refuse(ValueError, "inside a byte", "whole bytes", rows, storage(96, "global"), 0, storage(),
                    (0, 64, 128, 192), (4, 3), "int4")

    def test_both_storages_live_as_long_as_the_tensor(self):
        table, data = storage(8000, "global.small"), storage(8000, "global.small")
        x = numbers(1)
        made = rows(table, 0, data, self.OFFSETS)
        del table, data
        copy_tensor(tvm.runtime.tensor(x), made)
        self.refuse(MemoryError, "fewer bytes", "Kill", storage, 8000, "global.small")
        back = tvm.runtime.empty((4, 64), "int32")
        copy_tensor(made, back)
        self.assertTrue((back.numpy() == x).all())
        del made
        self.assertIsNotNone(storage(16000, "global.small"))


class Copies(Refused):
    def test_contiguous_and_rows_both_ways(self):
        allot_tvm.reset_copy_counts()
        x = numbers(2)
        data, table = storage(), storage(128, "global")
        first, second = rows(table, 0, data, (768, 256, 2304, 3072)), rows(table, 32, data, (1536, 1280, 3328, 2560))
        flat, back = tensor(storage(), 1024), tvm.runtime.empty((4, 64), "int32")
        for source, target in ((tvm.runtime.tensor(x), flat), (flat, first), (first, second), (second, back)):
            copy_tensor(source, target)
        self.assertTrue((back.numpy() == x).all())
        self.assertEqual(allot_tvm.copy_counts(), (4, 4 * 1024))

    def test_a_table_of_numbers_is_no_discontiguous_tensor(self):
        x = tvm.runtime.tensor(np.arange(4, dtype="uint64"))
        back = tvm.runtime.empty((4,), "uint64")
        copy_tensor(x, back)
        self.assertEqual(back.numpy().tolist(), [0, 1, 2, 3])

    def test_refusals_copy_nothing(self):
        allot_tvm.reset_copy_counts()
        x = tvm.runtime.tensor(numbers(3))
        self.refuse(ValueError, "dtypes differ", "the same dtype", copy_tensor, x,
                    tensor(storage(), 0, (4, 64), "float32"))
        self.refuse(ValueError, "shapes do not match", "same number of elements", copy_tensor, x,
                    tensor(storage(), 0, (4, 32)))
        whole = storage()
        kept = rows(storage(32, "global"), 0, whole, (0, 256, 512, 768))
        self.refuse(ValueError, "dtypes differ", "the same dtype", copy_tensor, kept,
                    tensor(storage(), 0, (4, 64), "float32"))
        numbers_in_place = np.from_dlpack(tensor(whole, 1024, (8, 64)))
        first, second = (tvm.runtime.from_dlpack(numbers_in_place[at:at + 4]) for at in (0, 2))
        self.refuse(ValueError, "overlap bytes that are in use", "that share no bytes", copy_tensor, first, second)
        self.assertEqual(allot_tvm.copy_counts(), (0, 0))


if __name__ == "__main__":
    unittest.main()
