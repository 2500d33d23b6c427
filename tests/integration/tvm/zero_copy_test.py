"""Tests of tensors in the application's own bytes. Run by bindings/tvm/run with the Python of build/tvm."""

import gc
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tvm
import tvm_ffi

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/tvm/programs"))
import zero_copy  # noqa: E402

zero_copy.load()

import allot_tvm  # noqa: E402
import zero_copy_model  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402

call = tvm.get_global_func


def mapping_of(size=zero_copy.SIZE):
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, size)
    try:
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


def import_bytes(mapping, start=0):
    return call("allot.import_bytes")(tvm_ffi.from_dlpack(np.frombuffer(mapping, "uint8")[start:]))


def import_tensor(memory, offset, shape=(16,), dtype="float32"):
    return call("allot.import_tensor")(memory, offset, shape, dtype)


def run_python(code, *arguments):
    """Runs code in another process, where a kernel may crash. TVMScript needs its source in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        return subprocess.run([sys.executable, file.name, *arguments], capture_output=True, text=True)


ONE_KERNEL = """
import mmap, sys
import numpy as np, tvm
from tvm.script import ir as I, tirx as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.vectorized(64):
            b[i] = a[i] + T.float32(1)
array = np.frombuffer(mmap.mmap(-1, 4096), "float32")
first = int(sys.argv[1])
tvm.compile(Module, target="llvm")["main"](array[first:first + 64], array[512:576])
print("ran", array[512])
"""


class ZeroCopy(unittest.TestCase):
    def test_program_runs_in_the_applications_bytes(self):
        zero_copy.main_memfd()

    def test_wheel_alone_uses_a_mapping_in_place(self):
        first = mapping_of()
        views = zero_copy.views_of(first)
        for name, value in zero_copy.inputs(1).items():
            views[name][:] = value
        names = (*zero_copy.INPUTS, *zero_copy.RESULTS)
        tensors = [tvm.runtime.from_dlpack(views[name]) for name in names]
        machine = relax.VirtualMachine(zero_copy_model.compile_model(), tvm.cpu())
        calls, addresses = zero_copy.observe(machine, tensors)
        zero_copy.check_addresses(addresses, views["weight"].ctypes.data)
        self.assertEqual(calls.copies, 0)
        self.assertGreater(np.abs(views["share"]).sum(), 0)

    def test_wrong_address_check_is_detected(self):
        first = mapping_of()
        machine = relax.VirtualMachine(zero_copy_model.compile_model(), tvm.cpu())
        ordinary = [tvm.runtime.empty(shape, "float32") for shape in zero_copy.SHAPES.values()]
        _, addresses = zero_copy.observe(machine, ordinary)
        with self.assertRaisesRegex(AssertionError, "is not x in place"):
            zero_copy.check_addresses(addresses, np.frombuffer(first, "uint8").ctypes.data)


class Refusals(unittest.TestCase):
    def test_tensors_that_do_not_fit(self):
        memory = import_bytes(mapping_of(4096))
        held = import_tensor(memory, 0)
        for offset, reason in ((32, "not aligned"), (4, "not aligned"), (0, "overlap"), (4096, "beyond the end"),
                               (-64, "negative")):
            with self.subTest(offset=offset), self.assertRaisesRegex(ValueError, reason):
                import_tensor(memory, offset)
        with self.assertRaisesRegex(MemoryError, "allot: no such tensor"):
            import_tensor(memory, None, (1024,))
        free = import_tensor(memory, None, (1008,))  # all other bytes
        self.assertEqual(free.data_ptr() - held.data_ptr(), 64)

    def test_bytes_that_are_not_aligned(self):
        with self.assertRaisesRegex(ValueError, "32 bytes after a multiple of 64"):
            import_bytes(mapping_of(), 32)
        import_bytes(mapping_of(), 64)

    def test_bytes_that_are_not_contiguous(self):
        every_second = np.frombuffer(mapping_of(), "uint8")[::2]
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            call("allot.import_bytes")(tvm_ffi.from_dlpack(every_second))

    def test_none(self):
        for name, arguments in (("import_bytes", ()), ("import_tensor", (0, (4,), "float32")),
                                ("import_descriptor", ()), ("import_begin_access", ("read",)),
                                ("import_end_access", ())):
            with self.assertRaisesRegex(ValueError, f"allot.{name} is refused: the .* was killed before, or never"):
                call(f"allot.{name}")(None, *arguments)

    def test_elements_that_end_inside_a_byte(self):
        with self.assertRaisesRegex(ValueError, "no such tensor: the elements would begin or end inside a byte"):
            import_tensor(import_bytes(mapping_of()), 0, (3,), "int4")

    def test_dma_buffers(self):
        memory = import_bytes(mapping_of())
        for name, arguments in (("allot.import_descriptor", ()), ("allot.import_begin_access", ("read",))):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "not a DMA buffer"):
                call(name)(memory, *arguments)
        with self.assertRaisesRegex(ValueError, "no access is in progress"):
            call("allot.import_end_access")(memory)
        with self.assertRaisesRegex(ValueError, "read, write or read_write, and not execute"):
            call("allot.import_begin_access")(memory, "execute")
        with self.assertRaisesRegex(ValueError, "has the heaps system, reserved and default_cma_region, and not video"):
            call("allot.import_dma_heap")("video", 4096)
        with self.assertRaisesRegex(ValueError, "negative"):
            call("allot.import_dma_heap")("system", -1)
        if not os.path.exists("/dev/dma_heap/system"):
            with self.assertRaisesRegex(MemoryError, "No such file or directory"):
                call("allot.import_dma_heap")("system", 4096)

    def test_result_that_no_kernel_writes(self):
        @I.ir_module
        class Same:
            @R.function
            def main(x: R.Tensor((4,), "float32")):
                with R.dataflow():
                    twice = R.add(x, x)
                    R.output(twice)
                return (twice, x)

        with self.assertRaisesRegex(ValueError, "result 1 is not written by a kernel of its own"):
            zero_copy_model.compile_model(Same)


class Lifetimes(unittest.TestCase):
    def test_tensor_keeps_the_mapping(self):
        mapping = mapping_of()
        tensor = import_tensor(import_bytes(mapping), 0)
        gc.collect()
        with self.assertRaises(BufferError):
            mapping.close()
        del tensor
        gc.collect()
        mapping.close()

    def test_bytes_are_free_when_the_last_tensor_goes(self):
        memory = import_bytes(mapping_of())
        tensor = import_tensor(memory, 0)
        copy = tvm_ffi.from_dlpack(tensor)
        del tensor
        with self.assertRaisesRegex(ValueError, "overlap"):
            import_tensor(memory, 0)
        del copy
        import_tensor(memory, 0)

    def test_machine_keeps_its_last_arguments(self):
        memory = import_bytes(mapping_of())
        machine = relax.VirtualMachine(zero_copy_model.compile_model(), tvm.cpu())
        tensors = zero_copy.tensors_in(memory)
        machine["main"](*(tensors[name] for name in (*zero_copy.INPUTS, *zero_copy.RESULTS)))
        del tensors
        with self.assertRaisesRegex(ValueError, "overlap"):
            zero_copy.tensors_in(memory)
        del machine
        gc.collect()
        zero_copy.tensors_in(memory)


class Traps(unittest.TestCase):
    """These are properties of TVM that a program has to know. A failure here means that TVM has changed."""

    def test_tensor_of_an_array_is_a_copy(self):
        array = np.zeros(16, "float32")
        with zero_copy.counted() as seen:
            tensor = tvm.runtime.tensor(array)
        self.assertEqual(seen[0].copies, 1)
        self.assertNotEqual(tensor.data_ptr(), array.ctypes.data)

    def test_from_dlpack_insists_on_alignment(self):
        array = np.frombuffer(mapping_of(), "float32")
        self.assertEqual(tvm.runtime.from_dlpack(array[16:]).data_ptr(), array.ctypes.data + 64)
        with self.assertRaisesRegex(RuntimeError, "not aligned to 64 bytes"):
            tvm.runtime.from_dlpack(array[8:])

    def test_array_as_an_argument_is_not_checked(self):
        aligned, misaligned = run_python(ONE_KERNEL, "16"), run_python(ONE_KERNEL, "1")
        self.assertEqual((aligned.returncode, aligned.stdout), (0, "ran 1.0\n"), aligned.stderr)
        self.assertLess(misaligned.returncode, 0, "a misaligned array did not end the process: " + misaligned.stdout)

    def test_counting_starts_before_the_first_use(self):
        late = run_python(f"""
import ctypes, tvm
tvm.runtime.empty((4,), "float32")
ctypes.CDLL({str(allot_tvm.LIBRARY)!r}, ctypes.RTLD_GLOBAL)
tvm.get_global_func("allot.count_device_calls")()
""")
        self.assertNotEqual(late.returncode, 0)
        self.assertIn("call allot.count_device_calls right after import tvm", late.stderr)


if __name__ == "__main__":
    unittest.main()
