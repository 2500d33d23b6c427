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
from tvm.s_tir.backend.adreno import pipeline as adreno
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.tirx import compilation_pipeline

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/tvm"))
from allot_tvm import opencl  # noqa: E402

sys.path.insert(0, str(ROOT / "bindings/tvm/programs"))
import opencl as program  # noqa: E402

os.environ.setdefault("POCL_DEVICES", "pthread basic")  # PoCL then has two devices
DEVICE = program.loaded()


@I.ir_module
class Doubled:
    @T.prim_func(s_tir=True)
    def doubled(from_: T.Buffer((8, 16, 4), "float32", scope="global.texture"), onto: T.Buffer((8, 16, 4), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(16, thread="threadIdx.x"):
                for k in range(4):
                    with T.sblock("doubled"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        onto[vi, vj, vk] = from_[vi, vj, vk] * T.float32(2)


def numbers(*shape, dtype="float32", seed=1):
    return (np.random.default_rng(seed).standard_normal(shape) * 100).astype(dtype)


def calls(function):
    """Returns the calls during a function: clCreateBuffer for tensors, workspaces and the arena, and clCreateImage."""
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
        self.assertEqual(program.run_proposal(DEVICE), [0, 1])

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
        self.assertEqual(made, [(5, 0, 0, 0), (3, 0, 0, 0), (0, 0, 1, 0)])
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

    def test_none_and_a_negative_size_are_refused(self):
        copy = tvm.get_global_func("allot.opencl.copy_tensor")
        tensor = tvm.runtime.empty((4,), "float32", DEVICE)
        for text, call, *arguments in (("the storage was killed before", opencl.tensor, None, 0, (4,), "float32"),
                                       ("the source was killed before", copy, None, tensor),
                                       ("the target was killed before", copy, tensor, None),
                                       ("has -1 bytes, which is negative", opencl.use_arena, DEVICE, -1)):
            with self.assertRaisesRegex(ValueError, text):
                call(*arguments)

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

    def test_texture_scopes_have_images(self):
        before = opencl.counts(DEVICE)["images"]
        storage = opencl.storage(DEVICE, 8192)
        for scope, shape in (("global.texture", (2, 4, 16, 4)), ("global.texture-weight", (8, 2, 8, 4)),
                             ("global.texture-nhwc", (2, 4, 16, 4))):
            for dtype in ("float32", "float16", "int8"):
                image = tvm.runtime.empty(shape, dtype, DEVICE, mem_scope=scope)
                value, onto = numbers(*shape, dtype=dtype), opencl.tensor(storage, 4096, shape, dtype)
                image.copyfrom(value)
                self.assertTrue(np.array_equal(image.numpy(), value))
                image.copyto(onto)
                self.assertTrue(np.array_equal(onto.numpy(), value))
                onto.copyfrom(numbers(*shape, dtype=dtype, seed=5))
                onto.copyto(image)
                self.assertTrue(np.array_equal(image.numpy(), numbers(*shape, dtype=dtype, seed=5)))
        del image
        gc.collect()
        after = opencl.counts(DEVICE)["images"]
        self.assertEqual((after[0] - before[0], after[1]), (9, 0))

    def test_texture_refusals_have_the_reason(self):
        for shape, dtype, scope, kind, reason in (
                ((4, 4, 3), "float32", "global.texture", ValueError, "three axes, the last with four channels"),
                ((4, 4), "float32", "global.texture", ValueError, "three axes, the last with four channels"),
                ((4, 4, 4), "float64", "global.texture", MemoryError, "OpenCL's error is -10"),
                ((1, 1 << 20, 4), "float32", "global.texture", MemoryError, "OpenCL's error is -40"),
                ((4, 4, 4), "float32", "global.vtcm", Exception, "memory scope: global.vtcm")):
            with self.assertRaisesRegex(kind, reason):
                tvm.runtime.empty(shape, dtype, DEVICE, mem_scope=scope)

    def test_kernel_reads_an_image_and_writes_at_an_offset(self):
        compilation_pipeline.register_tir_pipeline("allot_adreno", lambda: (
            adreno.default_tir_pipeline(), compilation_pipeline.finalize_host_passes,
            compilation_pipeline.finalize_device_passes))
        target = tvm.target.Target("qcom/adreno-opencl-texture", host="llvm")
        kernels = tvm.tirx.build(opencl.offset_arguments()(Doubled), target=target, pipeline="allot_adreno")
        source = kernels.imports[0].inspect_source()
        self.assertRegex(source, "doubled_kernel.*image2d_array_t from_.*float.* onto_ptr, int onto_offset")
        value = numbers(8, 16, 4)
        image = tvm.runtime.empty(value.shape, "float32", DEVICE, mem_scope="global.texture")
        image.copyfrom(value)
        result = opencl.tensor(opencl.storage(DEVICE, 8192), 1024, value.shape, "float32")
        kernels["doubled"](image, result)
        self.assertTrue(np.array_equal(result.numpy(), value + value))

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
