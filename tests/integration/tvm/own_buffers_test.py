"""Tests of storages on a device whose kernels take neither a pointer nor an offset: each tensor is a buffer of its own.

The device is OpenCL, with the kernels and the pipeline that TVM has for it. Its tensors are a cl_mem, and TVM's kernels
accept no offset.
"""

import gc
import unittest

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import allot_tvm
from allot_tvm import opencl

allot_tvm.load()


@I.ir_module
class Program:
    @T.prim_func(s_tir=True)
    def add(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32"), c: T.Buffer((4, 64), "int32")):
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("add"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    c[vi, vj] = a[vi, vj] + b[vi, vj]

    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32"), y: R.Tensor((4, 64), "int32"),
             result: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        cls = Program
        storage = allot_tvm.alloc_storage([4096], 0, "uint8", "global")
        a = allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32")
        _ = allot_tvm.copy_tensor(x, a)
        b = allot_tvm.alloc_tensor(storage, 1024, [4, 64], "int32")
        _1 = allot_tvm.copy_tensor(y, b)
        c = allot_tvm.alloc_tensor(storage, 2048, [4, 64], "int32")
        _2 = cls.add(a, b, c)
        _3 = R.vm.kill_object(a)
        d = allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32")
        _4 = cls.add(b, c, d)
        _5 = allot_tvm.copy_tensor(d, result)
        return result


@I.ir_module
class InVtcm:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32")):
        storage = allot_tvm.alloc_storage([4096], 0, "uint8", "global.vtcm")
        return allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32")


@I.ir_module
class Rows:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32")):
        data = allot_tvm.alloc_storage([1024], 0, "uint8", "global")
        table = allot_tvm.alloc_storage([32], -1, "uint8", "global")
        return allot_tvm.alloc_discontiguous_tensor(table, 0, data, [0, 256, 512, 768], [4, 64], "int32")


@unittest.skipUnless(opencl.LIBRARY.exists(), "OpenCL's headers or its ICD loader are missing")
class OnOpenCl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        opencl.load()
        cls.device = tvm.device("opencl", 0)
        if not cls.device.exist:
            raise unittest.SkipTest("there is no OpenCL device")

    def machine_of(self, module, mode="bytecode"):
        return relax.VirtualMachine(relax.build(module, target=opencl.TARGET, exec_mode=mode), self.device)

    def tensors(self, count):
        random = np.random.default_rng(1)
        arrays = [random.integers(-1000, 1000, (4, 64), dtype="int32") for _ in range(count)]
        return arrays, [tvm.runtime.tensor(each, self.device) for each in arrays]

    def test_results_and_buffers(self):
        # d has the buffer of a, which TVM's pool keeps. The second machine finds all three buffers in the pool.
        for mode, buffers in ("bytecode", 3), ("compiled", 0):
            machine = self.machine_of(Program, mode)
            arrays, given = self.tensors(3)
            allot_tvm.reset_copy_counts()
            before = opencl.counts(self.device)["alone"][0]
            found = machine["main"](*given).numpy()
            self.assertTrue((found == arrays[0] + 2 * arrays[1]).all(), mode)
            self.assertEqual(allot_tvm.copy_counts(), (3, 3 * 1024))
            self.assertEqual(opencl.counts(self.device)["alone"][0] - before, buffers)

    def refusal_of(self, module):
        _, given = self.tensors(1)
        with self.assertRaises(ValueError) as caught:
            self.machine_of(module)["main"](*given)
        gc.collect()
        return str(caught.exception)

    def test_scopes_are_on_the_cpu(self):
        self.assertIn("scopes are served on the CPU; device4:0 has the memories of its own allocator",
                      self.refusal_of(InVtcm))

    def test_rows_need_pointers(self):
        self.assertIn("consumers of this memory take no offset. Choose a scope whose tensors have pointers",
                      self.refusal_of(Rows))


if __name__ == "__main__":
    unittest.main()
