"""The first listing of the thread about discontiguous tensors as it is written there, with R.vm.alloc_storage and
R.vm.alloc_tensor, and a program with R.to_vdevice.

TVM's own functions refuse both: a kernel needs an offset of 0, and the CPU has no scope global.vtcm. The option
allot_tvm.replace_builtins() replaces them in the whole process. TVM has no R.vm.copy_tensor, so the listing calls
vm.builtin.copy_tensor by name.
"""

import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import allot_tvm  # noqa: E402

allot_tvm.load()
allot_tvm.replace_builtins()


@I.ir_module
class Listing:
    @T.prim_func
    def compute_add_in_vtcm(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32"),
                            c: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            c[i, j] = a[i, j] + b[i, j]

    @T.prim_func
    def compute_mul_in_vtcm(c: T.Buffer((4, 64), "int32"), d: T.Buffer((4, 64), "int32"),
                            e: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            e[i, j] = c[i, j] * d[i, j]

    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32"), y: R.Tensor((4, 64), "int32"),
             z: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        cls = Listing
        vtcm_obj = R.vm.alloc_storage(
            R.shape([4096]), runtime_device_index=0, dtype="uint8", storage_scope="global.vtcm"
        )
        a: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            vtcm_obj, offset=0, shape=R.shape([4, 64]), dtype="int32"
        )
        __ = R.call_packed("vm.builtin.copy_tensor", x, a, ty_args=[R.Tuple])
        b: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            vtcm_obj, offset=1024, shape=R.shape([4, 64]), dtype="int32"
        )
        _ = R.call_packed("vm.builtin.copy_tensor", y, b, ty_args=[R.Tuple])
        c: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            vtcm_obj, offset=2048, shape=R.shape([4, 64]), dtype="int32"
        )
        ___: R.Tuple = cls.compute_add_in_vtcm(a, b, c)
        _t1: R.Tuple = R.vm.kill_object(a)
        _t2: R.Tuple = R.vm.kill_object(b)
        d: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            vtcm_obj, offset=0, shape=R.shape([4, 64]), dtype="int32"
        )
        ___1 = R.call_packed("vm.builtin.copy_tensor", z, d, ty_args=[R.Tuple])
        e: R.Tensor([4, 64], dtype="int32") = R.vm.alloc_tensor(
            vtcm_obj, offset=1024, shape=R.shape([4, 64]), dtype="int32"
        )
        ___2: R.Tuple = cls.compute_mul_in_vtcm(c, d, e)
        return e


@I.ir_module
class Moved:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global.vtcm")]})

    @R.function
    def main(x: R.Tensor((4, 64), "int32")):
        with R.dataflow():
            near = R.to_vdevice(x, "llvm:1:global.vtcm")
            double: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm") = R.add(near, near)
            result = R.to_vdevice(double, "llvm:0:global")
            R.output(result)
        return result


def run(module, mode, devices, arguments):
    allot_tvm.reset_copy_counts()
    machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), devices)
    found = machine["main"](*[tvm.runtime.tensor(each, devices[0]) for each in arguments]).numpy()
    return found, allot_tvm.copy_counts()


def main():
    random = np.random.default_rng(6)
    x, y, z = (random.integers(-1000, 1000, (4, 64), dtype="int32") for _ in range(3))
    for mode in "bytecode", "compiled":
        found, copies = run(Listing, mode, [tvm.cpu(0)], (x, y, z))
        assert (found == (x + y) * z).all(), f"the listing in {mode}"
        assert copies == (3, 3 * 1024), f"{copies[0]} copies of {copies[1]} bytes"
        print(f"the listing, {mode}: equal to NumPy; {copies[0]} copies, {copies[1]} bytes")

        found, copies = run(Moved, mode, [tvm.cpu(0), tvm.cpu(1)], (x,))
        assert (found == x + x).all(), f"R.to_vdevice in {mode}"
        assert copies == (1, 1024), f"{copies[0]} copies of {copies[1]} bytes"
        print(f"R.to_vdevice, {mode}: equal to NumPy; {copies[0]} copy into the window, {copies[1]} bytes")


if __name__ == "__main__":
    main()
