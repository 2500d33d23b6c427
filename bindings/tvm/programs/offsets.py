"""The first listing of the thread about discontiguous tensors: five tensors share one storage of 4096 bytes at offsets.

The storage is in the tightly coupled window. `a` and `b` are killed, and `d` and `e` take their bytes. The listing is
the thread's. It ends at the fifth tensor; here the product is copied out and returned. The program runs as bytecode and
as compiled code, and fails when a result differs from NumPy's.
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


@I.ir_module
class Module:
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
    def main(x: R.Tensor((4, 64), "int32"), y: R.Tensor((4, 64), "int32"), z: R.Tensor((4, 64), "int32"),
             result: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        cls = Module
        vtcm_obj = allot_tvm.alloc_storage([4096], 0, "uint8", "global.vtcm")
        a = allot_tvm.alloc_tensor(vtcm_obj, 0, [4, 64], "int32")
        _ = allot_tvm.copy_tensor(x, a)
        b = allot_tvm.alloc_tensor(vtcm_obj, 1024, [4, 64], "int32")
        _1 = allot_tvm.copy_tensor(y, b)
        c = allot_tvm.alloc_tensor(vtcm_obj, 2048, [4, 64], "int32")
        _2 = cls.compute_add_in_vtcm(a, b, c)
        _3 = R.vm.kill_object(a)
        _4 = R.vm.kill_object(b)
        d = allot_tvm.alloc_tensor(vtcm_obj, 0, [4, 64], "int32")
        _5 = allot_tvm.copy_tensor(z, d)
        e = allot_tvm.alloc_tensor(vtcm_obj, 1024, [4, 64], "int32")
        _6 = cls.compute_mul_in_vtcm(c, d, e)
        _7 = allot_tvm.copy_tensor(e, result)
        return result


def main():
    random = np.random.default_rng(3)
    x, y, z = (random.integers(-1000, 1000, (4, 64), dtype="int32") for _ in range(3))
    device = tvm.cpu(0)
    for index, mode in enumerate(("bytecode", "compiled")):
        allot_tvm.reset_copy_counts()
        machine = relax.VirtualMachine(relax.build(Module, target="llvm", exec_mode=mode), device)
        arguments = [tvm.runtime.tensor(each, device) for each in (x, y, z, np.zeros((4, 64), "int32"))]
        found = machine["main"](*arguments).numpy()
        calls, size = allot_tvm.copy_counts()
        assert (found == (x + y) * z).all(), f"the results differ in {mode}"
        assert (calls, size) == (4, 4 * 1024), f"{calls} copies of {size} bytes in {mode}"
        _, _, held, requests, most_live, _ = allot_tvm.counts(device, "global.vtcm")
        assert (requests, most_live) == (index + 1, 4096), f"{requests} storages, {most_live} bytes"
        print(f"{mode}: equal to NumPy; {calls} copies, {size} bytes; one storage of {most_live} bytes in a window of "
              f"{held} bytes")


if __name__ == "__main__":
    main()
