"""Tests of OpenCL inside TVM's wheel. Run by bindings/tvm/run with the Python of build/tvm."""

import gc
import os
import pathlib
import sys
import tempfile
import threading
import unittest

import numpy as np
import tvm
from tvm import relax

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/tvm"))
from allot_tvm import opencl  # noqa: E402

sys.path.insert(0, str(ROOT / "bindings/tvm/programs"))
import opencl as program  # noqa: E402

os.environ.setdefault("POCL_DEVICES", "pthread basic")  # PoCL then has two devices
DEVICE = program.loaded()


def numbers(*shape, dtype="float32", seed=1):
    return (np.random.default_rng(seed).standard_normal(shape) * 100).astype(dtype)


def calls(function):
    """Returns the calls of clCreateBuffer during a function: for tensors, for workspaces, for the arena."""
    before = opencl.counts(DEVICE)
    function()
    return tuple(after[0] - earlier[0] for after, earlier in zip(opencl.counts(DEVICE).values(), before.values()))


def small_model():
    """Returns a graph in which four tensors have different lifetimes, and its function in NumPy's terms."""
    builder, op = relax.BlockBuilder(), relax.op
    x = relax.Var("x", relax.TensorType((5, 33), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            doubled = builder.emit(op.add(x, x))
            turned = builder.emit(op.permute_dims(doubled))
            squared = builder.emit(op.multiply(turned, turned))
            summed = builder.emit(op.add(squared, turned))
            result = builder.emit_output(op.maximum(summed, squared))
        builder.emit_func_output(result)

    def oracle(value):
        turned = (value + value).T
        return np.maximum(turned * turned + turned, turned * turned)
    return builder.finalize(), oracle


def compiled(module, **options):
    return tvm.compile(module, target=opencl.TARGET, relax_pipeline=opencl.pipeline(legalize=program.PLAIN, **options))


@unittest.skipIf(DEVICE is None, "there is no OpenCL device")
class OpenCL(unittest.TestCase):
    def setUp(self):
        gc.collect()
        tvm.get_global_func("vm.builtin.memory_manager.clear")()  # TVM's pool keeps the buffers of other tests
        opencl.use_arena(DEVICE)

    def test_copies_have_offsets_on_both_sides(self):
        storage = opencl.storage(DEVICE, 4096)
        before = numbers(1024)
        whole = opencl.tensor(storage, 0, (1024,), "float32")
        whole.copyfrom(before)
        part = opencl.tensor(storage, 1024, (4, 16), "float32")
        self.assertTrue(np.array_equal(part.numpy(), before[256:320].reshape(4, 16)))
        part.copyfrom(numbers(4, 16, seed=2))
        other = opencl.tensor(storage, 3072, (4, 16), "float32")
        part.copyto(other)  # on the device
        before[256:320] = before[768:832] = numbers(4, 16, seed=2).reshape(-1)
        self.assertTrue(np.array_equal(whole.numpy(), before), "a copy writes bytes of another tensor")

    def test_wrong_offsets_are_refused(self):
        storage = opencl.storage(DEVICE, 4096)
        multiple = "not a multiple of offset_factor times element size; the factor is 16"
        for offset, reason in ((1, multiple), (4, multiple), (32, multiple), (-64, "the offset is negative"),
                               (3136, "extend beyond the end of the storage"),
                               (2**62, "extend beyond the end of the storage")):
            with self.assertRaisesRegex(ValueError, f"allot: .* at offset {offset} .*{reason}"):
                opencl.tensor(storage, offset, (4, 64), "float32")
        with self.assertRaisesRegex(ValueError, "more dimensions than max_rank"):
            opencl.tensor(storage, 0, (1,) * 9, "float32")
        with self.assertRaisesRegex(ValueError, "offset factor is less than 1"):
            opencl.tensor(storage, 0, (4, 64), "float32", factor=-1)
        with self.assertRaisesRegex(ValueError, "would begin or end inside a byte"):
            opencl.tensor(storage, 0, (64,), "int4")
        self.assertEqual(opencl.tensor(storage, 3072, (4, 64), "float32").shape, (4, 64))
        self.assertEqual(opencl.factor_of("float64"), 8)
        self.assertEqual(opencl.tensor(storage, 64, (4,), "float64").shape, (4,))

    def test_offsets_that_an_int_cannot_have_are_refused(self):
        try:
            storage = opencl.storage(DEVICE, 3 << 30)  # PoCL touches no byte of it
        except MemoryError as error:
            self.skipTest(f"skipped: {error}")
        with self.assertRaisesRegex(ValueError, "end after 2\\^31 - 1"):
            opencl.tensor(storage, (2 << 30) - 64, (64,), "uint8")
        self.assertEqual(opencl.tensor(storage, (2 << 30) - 128, (64,), "uint8").shape, (64,))
        wide = opencl.tensor(storage, 5 << 29, (64,), "float32")
        wide.copyfrom(numbers(64))
        self.assertTrue(np.array_equal(wide.numpy(), numbers(64)))

    def test_kernels_refuse_an_offset_that_is_no_multiple_of_their_factor(self):
        module, oracle = small_model()
        machine = relax.VirtualMachine(compiled(module), DEVICE)
        storage = opencl.storage(DEVICE, 4096)
        good = opencl.tensor(storage, 64, (5, 33), "float32")
        good.copyfrom(numbers(5, 33))
        self.assertTrue(np.array_equal(machine["main"](good).numpy(), oracle(numbers(5, 33))))
        with self.assertRaisesRegex(ValueError, "Misaligned Tensor data on argument #0"):
            machine["main"](opencl.tensor(storage, 32, (5, 33), "float32", factor=1))

    def test_kernels_without_offset_arguments_refuse_offsets(self):
        executable = tvm.compile(small_model()[0], target=opencl.TARGET)  # TVM's own pipeline
        machine = relax.VirtualMachine(executable, DEVICE)
        with self.assertRaisesRegex(ValueError, "byte_offset"):
            machine["main"](opencl.tensor(opencl.storage(DEVICE, 4096), 1024, (5, 33), "float32"))

    def test_program_of_the_proposal_needs_one_buffer(self):
        self.assertEqual(program.run_proposal(DEVICE), [0, 0, 1])

    def test_planned_storage_equals_separate_buffers(self):
        module, oracle = small_model()
        x, nothing = numbers(5, 33), tvm.transform.Sequential([])
        given, report, results, made = tvm.runtime.tensor(x, DEVICE), [], [], []
        for options, memory in (({"plan": nothing, "arena": False}, "naive"), ({"arena": False}, "pooled"),
                                ({"plan": opencl.plan(report)}, None)):
            machine = relax.VirtualMachine(compiled(module, **options), DEVICE, memory_cfg=memory or "pooled")
            made.append(calls(lambda: results.append(machine["main"](given).numpy())))
        for result in results:
            self.assertTrue(np.array_equal(result, oracle(x)))
        self.assertEqual(made, [(5, 0, 0), (3, 0, 0), (0, 0, 1)])
        self.assertEqual([len(report[0].tensors), len(report[0].left), len(report[0].storages)], [4, 1, 1])
        self.assertTrue(any(tensor.offset for tensor in report[0].tensors))

    def test_plan_with_a_bound_for_the_shape(self):
        rows = tvm.tirx.Var("n", "int64")
        builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((rows, 16), "float32"))
        with builder.function("main", [x], attrs={"tir_var_upper_bound": {"n": 9}}):
            with builder.dataflow():
                value = x
                for _ in range(3):
                    value = builder.emit(relax.op.add(value, x))
                value = builder.emit_output(relax.op.multiply(value, x))
            builder.emit_func_output(value)
        machine = relax.VirtualMachine(compiled(builder.finalize(), plan=opencl.plan()), DEVICE)
        for count in (9, 1, 4):
            given = numbers(count, 16, seed=count)
            result = machine["main"](tvm.runtime.tensor(given, DEVICE)).numpy()
            self.assertTrue(np.array_equal(result, (given + given + given + given) * given))
        with self.assertRaises(Exception):
            machine["main"](tvm.runtime.tensor(numbers(10, 16), DEVICE))

    def test_memory_errors_have_the_reason(self):
        self.assertRegex(program.check_memory_error(DEVICE), "fewer bytes are free.*largest hole has 4096 bytes")
        with self.assertRaisesRegex(MemoryError, "device refused to give memory.*OpenCL's error is -61"):
            opencl.storage(DEVICE, 1 << 50)
        with self.assertRaisesRegex(MemoryError, "device refused to give memory.*OpenCL's error is -61"):
            tvm.runtime.empty((1 << 50,), "uint8", DEVICE)
        with self.assertRaisesRegex(ValueError, "the size is negative"):
            opencl.storage(DEVICE, -1)
        with self.assertRaisesRegex(ValueError, "the device is of type 1"):
            opencl.storage(tvm.cpu(), 64)
        with self.assertRaisesRegex(ValueError, "there is no OpenCL device 99"):
            opencl.storage(tvm.device("opencl", 99), 64)

    def test_program_without_memory_raises_and_runs_with_more(self):
        module, oracle = small_model()
        x = numbers(5, 33)
        given = tvm.runtime.tensor(x, DEVICE)
        machine = relax.VirtualMachine(compiled(module), DEVICE)
        opencl.use_arena(DEVICE, 1024)
        with self.assertRaisesRegex(MemoryError, "allot: no 660 bytes"):
            machine["main"](given)
        gc.collect()
        opencl.use_arena(DEVICE)
        self.assertTrue(np.array_equal(machine["main"](given).numpy(), oracle(x)))

    def test_arena_is_in_use_while_a_tensor_lives(self):
        storage = opencl.storage(DEVICE, 4096)
        tensor = opencl.tensor(storage, 0, (16,), "float32")
        with self.assertRaisesRegex(ValueError, "the arena has 1 storages in use"):
            opencl.use_arena(DEVICE)
        tensor.copyfrom(numbers(16))
        del storage
        gc.collect()
        self.assertTrue(np.array_equal(tensor.numpy(), numbers(16)), "the tensor does not keep its storage")
        freeing = threading.Thread(target=lambda held: held.clear(), args=([tensor],))
        del tensor
        freeing.start()
        freeing.join()
        gc.collect()
        opencl.use_arena(DEVICE)

    def test_two_devices_have_memory_and_kernels_of_their_own(self):
        other = tvm.device("opencl", 1)
        if not other.exist:
            self.skipTest("skipped: there is one OpenCL device")
        module, oracle = small_model()
        executable, x, on_first = compiled(module), numbers(5, 33), opencl.counts(DEVICE)
        result = relax.VirtualMachine(executable, other)["main"](tvm.runtime.tensor(x, other))
        self.assertTrue(np.array_equal(result.numpy(), oracle(x)))
        self.assertEqual(opencl.counts(DEVICE)["arena"][0], on_first["arena"][0])
        self.assertEqual(opencl.counts(other)["arena"][0], 1)
        given = tvm.runtime.tensor(x, DEVICE)
        self.assertTrue(np.array_equal(relax.VirtualMachine(executable, DEVICE)["main"](given).numpy(), oracle(x)))
        with self.assertRaisesRegex(ValueError, "between two OpenCL devices"):
            result.copyto(tvm.runtime.empty(result.shape, "float32", DEVICE))

    def test_other_scopes_are_refused(self):
        with self.assertRaisesRegex(Exception, "memory scope: global.texture"):
            tvm.runtime.empty((4, 4, 4), "float32", DEVICE, mem_scope="global.texture")

    def test_exported_program_runs(self):
        module, oracle = small_model()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.so"
            compiled(module).export_library(path)
            machine = relax.VirtualMachine(tvm.runtime.load_module(path), DEVICE)
            x = numbers(5, 33)
            self.assertTrue(np.array_equal(machine["main"](tvm.runtime.tensor(x, DEVICE)).numpy(), oracle(x)))


if __name__ == "__main__":
    unittest.main()
