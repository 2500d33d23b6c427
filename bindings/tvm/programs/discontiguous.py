"""The second listing of the thread about discontiguous tensors: three tensors whose rows are scattered in one storage.

The offsets of the rows are the thread's. A table has a pointer for each row. The thread's tables are at 0, 16 and 32 of
64 bytes, which suits pointers of 4 bytes. Here pointers have 8 bytes, so the tables are at 0, 32 and 64 of 96 bytes.
The kernel is once pure TIR, which reads each pointer from the table, and once a packed function of NumPy.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import allot_tvm  # noqa: E402

allot_tvm.load()


@I.ir_module
class Module_2d:
    @T.prim_func
    def compute_add_in_vtcm(a: T.Buffer((4,), "uint64"), b: T.Buffer((4,), "uint64"), c: T.Buffer((4,), "uint64")):
        for i in range(4):
            row_of_a = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", a[i]))
            row_of_b = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", b[i]))
            row_of_c = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", c[i]))
            for j in range(64):
                row_of_c[j] = row_of_a[j] + row_of_b[j]

    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32"), y: R.Tensor((4, 64), "int32"),
             result: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        cls = Module_2d
        vtcm_obj = allot_tvm.alloc_storage([4096], 0, "uint8", "global.vtcm")
        global_obj = allot_tvm.alloc_storage([96], 0, "uint8", "global")
        a = allot_tvm.alloc_discontiguous_tensor(global_obj, 0, vtcm_obj, [768, 256, 2304, 3072], [4, 64], "int32")
        _ = allot_tvm.copy_tensor(x, a)
        b = allot_tvm.alloc_discontiguous_tensor(global_obj, 32, vtcm_obj, [1536, 1280, 3328, 2560], [4, 64], "int32")
        _1 = allot_tvm.copy_tensor(y, b)
        c = allot_tvm.alloc_discontiguous_tensor(global_obj, 64, vtcm_obj, [512, 0, 2048, 3840], [4, 64], "int32")
        _2 = cls.compute_add_in_vtcm(a, b, c)
        _3 = allot_tvm.copy_tensor(c, result)
        return result


@tvm_ffi.register_global_func("programs.add_rows")
def add_rows(a, b, c):
    """Adds the rows of two tables of pointers, 64 numbers each."""
    def rows_of(table):
        pointers = np.from_dlpack(table).tolist()
        return [np.ctypeslib.as_array((ctypes.c_int32 * 64).from_address(row)) for row in pointers]

    for row_of_a, row_of_b, row_of_c in zip(rows_of(a), rows_of(b), rows_of(c), strict=True):
        row_of_c[:] = row_of_a + row_of_b


@relax.expr_functor.mutator
class WithPackedKernel(relax.PyExprMutator):
    """Replaces the call of the kernel by a call of the packed function."""

    def visit_call_(self, call):
        if isinstance(call.op, tvm.ir.GlobalVar):
            return relax.Call(relax.ExternFunc("programs.add_rows"), call.args, ty_args=[relax.TupleType([])])
        return super().visit_call_(call)


def with_packed_kernel():
    module = tvm.IRModule(Module_2d.functions)
    module["main"] = WithPackedKernel(module).visit_expr(module["main"])
    return module


def main():
    random = np.random.default_rng(4)
    x, y = (random.integers(-1000, 1000, (4, 64), dtype="int32") for _ in range(2))
    device = tvm.cpu(0)
    for kernel, module in ("TIR", Module_2d), ("packed", with_packed_kernel()):
        for mode in "bytecode", "compiled":
            allot_tvm.reset_copy_counts()
            machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), device)
            arguments = [tvm.runtime.tensor(each, device) for each in (x, y, np.zeros((4, 64), "int32"))]
            found = machine["main"](*arguments).numpy()
            calls, size = allot_tvm.copy_counts()
            assert (found == x + y).all(), f"the results differ with the {kernel} kernel in {mode}"
            assert (calls, size) == (3, 3 * 1024), f"{calls} copies of {size} bytes"
            print(f"{kernel} kernel, {mode}: equal to NumPy; {calls} copies, {size} bytes")


if __name__ == "__main__":
    main()
