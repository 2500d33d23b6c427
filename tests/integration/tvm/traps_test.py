"""Tests of the properties of TVM's wheel on which allot_tvm relies or against which it protects.

A property of TVM that a later release changes fails here, and then the code and the documents change as well.
"""

import gc
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import allot_tvm

allot_tvm.load()
DEVICE = tvm.cpu(0)
PACKAGE = str(Path(allot_tvm.__file__).parents[1])
allot_tvm.use(DEVICE, "global.vtcm", "window", 4096)

START = """
import ctypes, numpy as np, tvm, tvm_ffi
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T
import allot_tvm

@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((4,), "int32")):
        return R.add(x, x)

def machine(module):
    return relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu(0))
"""


def python(text, **environment):
    """Runs Python in a process of its own, and returns the finished process."""
    # A file, because TVMScript reads the source of its classes.
    script = Path(os.environ.get("TMPDIR", "/tmp")) / f"allot_trap_{os.getpid()}.py"
    script.write_text(START + text)
    try:
        return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONPATH": PACKAGE, **environment})
    finally:
        script.unlink()


@I.ir_module
class Tables:
    @T.prim_func
    def ordinary(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            b[i, j] = a[i, j]


@I.ir_module
class Returned:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32")):
        storage = allot_tvm.alloc_storage([1024], 0, "uint8", "global.vtcm")
        a = allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32")
        _ = allot_tvm.copy_tensor(x, a)
        return a


@I.ir_module
class AtAnOffset:
    @T.prim_func
    def double(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            b[i, j] = a[i, j] * 2

    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        cls = AtAnOffset
        storage = R.vm.alloc_storage(R.shape([4096]), runtime_device_index=0, dtype="uint8")
        a: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            storage, offset=1024, shape=R.shape([4, 64]), dtype="int32"
        )
        _ = cls.double(x, a)
        return a


@I.ir_module
class Answer:
    @R.function(pure=False)
    def main(x: R.Tensor((1,), "int32")):
        return R.call_packed("traps.answer", x, ty_args=[R.Tensor((1,), "int32")])


def built(module, mode="bytecode"):
    return relax.build(module, target="llvm", exec_mode=mode)


def address_of(of):
    return np.from_dlpack(of).__array_interface__["data"][0]


class Loading(unittest.TestCase):
    def test_after_a_virtual_machine(self):
        found = python("kept = machine(Plain)\nallot_tvm.load()")
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("RuntimeError: a VirtualMachine of cpu:0 exists, and TVM keeps its allocators and functions "
                      "until the process ends; call allot_tvm.load() before the first VirtualMachine.", found.stderr)

    def test_replacing_builtins_after_a_virtual_machine(self):
        found = python("allot_tvm.load()\nkept = machine(Plain)\nallot_tvm.replace_builtins()")
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("call allot_tvm.replace_builtins() before the first VirtualMachine", found.stderr)

    def test_a_missing_library(self):
        found = python("allot_tvm.load()", ALLOT_TVM_LIBRARY="/nowhere/liballot_tvm.so")
        self.assertIn("FileNotFoundError: /nowhere/liballot_tvm.so does not exist; build it with bindings/tvm/run.",
                      found.stderr)

    def test_a_program_without_the_library(self):
        found = python("""
@I.ir_module
class Program:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "int32")):
        storage = allot_tvm.alloc_storage([64], 0, "uint8", "global")
        return allot_tvm.alloc_tensor(storage, 0, [4], "int32")

machine(Program)
""")
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("Cannot find ffi::Function allot.alloc_storage", found.stderr)

    def test_twice(self):
        allot_tvm.load()
        self.assertEqual(allot_tvm.counts(DEVICE, "global.vtcm")[2], 4096)

    def test_another_library_after_the_first(self):
        with self.assertRaisesRegex(RuntimeError, "is loaded, and a process has one library; load /nowhere.so in"):
            allot_tvm.load("/nowhere.so")
        allot_tvm.load(os.environ.get("ALLOT_TVM_LIBRARY", allot_tvm.LIBRARY))

    def test_a_file_that_is_not_the_library(self):
        planner = allot_tvm.LIBRARY.with_name("liballot_planner.so")
        for path, text in (planner, "has no function allot.ffi_versions; build the library"), \
                (Path(__file__), "traps_test.py does not load: "):
            found = python(f"allot_tvm.load({str(path)!r})")
            self.assertIn(f"ImportError: {path} ", found.stderr)
            self.assertIn(text, found.stderr)

    def test_calls_before_load(self):
        found = python("""
from allot_tvm import opencl
for call, *arguments in ((allot_tvm.use, tvm.cpu(0)), (allot_tvm.counts, tvm.cpu(0)), (allot_tvm.copy_counts,),
                         (allot_tvm.replace_builtins,), (opencl.alignment, tvm.cpu(0))):
    try:
        call(*arguments)
    except RuntimeError as error:
        print(error)
""")
        self.assertEqual(found.stdout.count("is not loaded; call allot_tvm.load() first."), 4, found.stderr)
        self.assertEqual(found.stdout.count("is not loaded; call allot_tvm.opencl.load() first."), 1, found.stderr)

    def test_other_versions(self):
        for package, needed in allot_tvm.VERSIONS.items():
            with self.assertRaisesRegex(ImportError, f"allot_tvm works with {package} {needed} and not with 9.9.9; "
                                                     f"install it with pip install {package}=={needed}"):
                allot_tvm._check_versions(lambda asked, other=package: "9.9.9" if asked == other
                                          else allot_tvm.VERSIONS[asked])
        with self.assertRaisesRegex(ImportError, r"built for tvm-ffi 0.1.16, and this process has 0.2.0; build it"):
            allot_tvm._check_ffi(0, 1, 16, 0, 2, 0)

    def test_the_pins_agree(self):
        pins = (Path(PACKAGE) / "requirements.txt").read_text().split()
        for package, needed in allot_tvm.VERSIONS.items():
            self.assertIn(f"{package}=={needed}", pins)


class VirtualMachines(unittest.TestCase):
    def test_functions_are_looked_up_once(self):
        """Bytecode looks them up when a machine is made; compiled code keeps those of an earlier machine."""
        x = tvm.runtime.tensor(np.zeros(1, "int32"))

        def answer_with(value):
            tvm_ffi.register_global_func(
                "traps.answer", lambda _: tvm.runtime.tensor(np.array([value], "int32")), override=True)

        answers = {}
        for mode in "bytecode", "compiled":
            executable = built(Answer, mode)
            answer_with(1)
            first = relax.VirtualMachine(executable, DEVICE)
            before = first["main"](x).numpy()[0]
            answer_with(2)
            second = relax.VirtualMachine(executable, DEVICE)
            answers[mode] = [before] + [each["main"](x).numpy()[0] for each in (first, second)]
        self.assertEqual(answers, {"bytecode": [1, 1, 2], "compiled": [1, 1, 1]})

    def test_a_machine_of_bytecode_keeps_its_last_result(self):
        def live():
            gc.collect()
            return allot_tvm.counts(DEVICE, "global.vtcm")[5]

        x = tvm.runtime.tensor(np.zeros((4, 64), "int32"))
        for mode, kept in ("bytecode", 1024), ("compiled", 0):
            machine = relax.VirtualMachine(built(Returned, mode), DEVICE)
            found = machine["main"](x)
            self.assertEqual(live(), 1024)
            del found
            self.assertEqual(live(), kept, mode)
            del machine
            self.assertEqual(live(), 0)

    def test_a_result_outlives_the_machine(self):
        x = np.random.default_rng(1).integers(-9, 9, (4, 64), dtype="int32")
        machine = relax.VirtualMachine(built(Returned), DEVICE)
        found = machine["main"](tvm.runtime.tensor(x))
        del machine
        gc.collect()
        self.assertTrue((found.numpy() == x).all())

    def test_tvm_alone_refuses_an_offset(self):
        machine = relax.VirtualMachine(built(AtAnOffset), DEVICE)
        with self.assertRaisesRegex(Exception, "byte_offset.*expected 0|byte_offset"):
            machine["main"](tvm.runtime.tensor(np.zeros((4, 64), "int32")))

    def test_there_is_no_copy_tensor(self):
        self.assertFalse(hasattr(R.vm, "copy_tensor"))
        self.assertIsNone(tvm_ffi.get_global_func("vm.builtin.copy_tensor", allow_missing=True))


class Kernels(unittest.TestCase):
    def test_a_table_is_no_argument_of_an_ordinary_kernel(self):
        """With the dtype and rank of its elements a table would pass every check, and the kernel would be wrong."""
        rows = relax.Var("rows", relax.TensorType((4,), "uint64"))
        builder = relax.BlockBuilder(Tables)
        with self.assertRaisesRegex(Exception, "expected R.Tensor.*int32.*given R.Tensor.*uint64"):
            with builder.function("main", [rows], pure=False):
                builder.emit(relax.Call(Tables.get_global_var("ordinary"), [rows, rows]))
                builder.emit_func_output(rows)

        kernel = tvm.compile(tvm.IRModule({"ordinary": Tables["ordinary"].with_attr("global_symbol", "ordinary")}),
                             target="llvm")["ordinary"]
        alloc = {name: tvm_ffi.get_global_func(f"allot.{name}") for name in
                 ("alloc_storage_on", "alloc_discontiguous_tensor")}
        data, table = (alloc["alloc_storage_on"](DEVICE, tvm_ffi.Shape((size,)), tvm_ffi.dtype("uint8"), "global")
                       for size in (1024, 32))
        rows = alloc["alloc_discontiguous_tensor"](table, 0, data, tvm_ffi.Shape((768, 512, 256, 0)),
                                                   tvm_ffi.Shape((4, 64)), tvm_ffi.dtype("int32"))
        with self.assertRaisesRegex(Exception, "a.ndim|a.dtype"):
            kernel(rows, tvm.runtime.empty((4, 64), "int32"))

    def test_a_missing_symbol_ends_the_process(self):
        found = python("""
@T.prim_func
def kernel(a: T.Buffer((4,), "int32")):
    T.func_attr({"global_symbol": "kernel"})
    T.evaluate(T.call_extern("int32", "no_such_symbol", a.data))

tvm.compile(tvm.IRModule({"kernel": kernel}), target="llvm")["kernel"](tvm.runtime.empty((4,), "int32"))
""")
        self.assertLess(found.returncode, 0, found.stderr)
        self.assertIn("no_such_symbol", found.stderr)

    def test_a_kernel_does_not_allocate_in_vtcm_on_the_cpu(self):
        @T.prim_func
        def kernel(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
            T.func_attr({"global_symbol": "kernel"})
            c = T.alloc_buffer((64,), "float32", scope="global.vtcm")
            for i in range(64):
                c[i] = a[i] + T.float32(1)
            for i in range(64):
                b[i] = c[i]

        with self.assertRaisesRegex(tvm.error.InternalError, "shape_stack"):
            tvm.compile(tvm.IRModule({"kernel": kernel}), target="llvm")

    def test_ensure_zero_offset_copies_below_64(self):
        whole = tvm.runtime.empty((64,), "float32")
        ensure = tvm_ffi.get_global_func("vm.builtin.ensure_zero_offset")
        for offset, is_in_place in (0, True), (32, False), (64, True):
            part = ensure(whole._create_view((8,), "float32", offset))
            self.assertEqual(address_of(part) == address_of(whole) + offset, is_in_place, offset)


class Scopes(unittest.TestCase):
    def test_the_wheel_refuses_a_scope_on_the_cpu(self):
        tensor = tvm.runtime.empty((4,), "int32")
        for call in (lambda: tvm.runtime.empty((4,), "int32", DEVICE, "global.vtcm"),
                     lambda: tensor.copyto(DEVICE, "global.vtcm"),
                     lambda: tvm_ffi.get_global_func("vm.builtin.to_device")(tensor, 1, 0, "global.vtcm")):
            with self.assertRaisesRegex(tvm.error.InternalError, "memory scope: global.vtcm"):
                call()


if __name__ == "__main__":
    unittest.main()
