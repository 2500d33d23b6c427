"""Scopes: ordinary programs with VDevices, the tightly coupled window, textures as 2-D images, kill and reuse.

Every program runs as bytecode and as compiled code. It fails when a result differs from NumPy's, or when the memory of
a scope was not used.
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
WINDOW = 8192
VTCM, TEXTURE = "global.vtcm", "global.texture"


@I.ir_module
class VDevices:
    """An ordinary program: the compiler allocates the tensors of a VDevice in its scope.

    The arguments have the VDevice as well, because TVM otherwise moves the program to theirs. The machine takes them as
    they are.
    """

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global.vtcm")]})

    @R.function
    def main(x: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm"), y: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm")):
        with R.dataflow():
            total: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm") = R.add(x, y)
            product: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm") = R.multiply(total, total)
            near: R.Tensor((4, 64), "int32", "llvm:1:global.vtcm") = R.subtract(product, total)
            result = R.to_vdevice(near, "llvm:0:global")
            R.output(result)
        return result


@I.ir_module
class Images:
    """Two textures of (1, 2, 8, 6, 4) float32: images of 6 x 16 pixels. The second reuses the image of the first."""

    @T.prim_func
    def double(a: T.Buffer((1, 2, 8, 6, 4), "float32"), b: T.Buffer((1, 2, 8, 6, 4), "float32")):
        for n, c, h, w, channel in T.grid(1, 2, 8, 6, 4):
            b[n, c, h, w, channel] = a[n, c, h, w, channel] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((1, 2, 8, 6, 4), "float32"),
             result: R.Tensor((1, 2, 8, 6, 4), "float32")) -> R.Tensor((1, 2, 8, 6, 4), "float32"):
        cls = Images
        texture_obj = allot_tvm.alloc_storage([1, 2, 8, 6, 4], 0, "float32", "global.texture")
        a = allot_tvm.alloc_tensor(texture_obj, 0, [1, 2, 8, 6, 4], "float32")
        _ = cls.double(x, a)
        _1 = cls.double(a, result)
        _2 = R.vm.kill_object(a)
        b = allot_tvm.alloc_tensor(texture_obj, 0, [1, 2, 8, 6, 4], "float32")
        _3 = cls.double(result, b)
        _4 = allot_tvm.copy_tensor(b, result)
        return result


@I.ir_module
class OwnBuffers:
    """Two tensors in a storage of memory without offsets: each one has a buffer of its own."""

    @R.function(pure=False)
    def main(x: R.Tensor((4, 64), "int32"), result: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        storage = allot_tvm.alloc_storage([2048], 0, "uint8", "global.buffers")
        a = allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32")
        b = allot_tvm.alloc_tensor(storage, 1024, [4, 64], "int32")
        _ = allot_tvm.copy_tensor(x, b)
        _1 = allot_tvm.copy_tensor(b, a)
        _2 = allot_tvm.copy_tensor(a, result)
        return result


def run(module, mode, devices, arguments):
    machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), devices)
    return machine["main"](*[tvm.runtime.tensor(each, devices[0]) for each in arguments]).numpy()


def main():
    random = np.random.default_rng(5)
    x, y = (random.integers(-1000, 1000, (4, 64), dtype="int32") for _ in range(2))
    image = random.standard_normal((1, 2, 8, 6, 4)).astype("float32")
    for number, mode in enumerate(("bytecode", "compiled")):  # a device number, and so memories, for each mode
        device = tvm.cpu(number)
        allot_tvm.use(device, VTCM, "window", WINDOW)
        allot_tvm.use(device, "global.buffers", "separate")

        found = run(VDevices, mode, [device, device], (x, y))
        assert (found == (x + y) * (x + y) - (x + y)).all(), f"VDevices in {mode}"
        calls, _, held, requests, most_live, _ = allot_tvm.counts(device, VTCM)
        assert (calls, held, requests) == (1, WINDOW, 3), f"{requests} requests to the window"
        print(f"VDevices, {mode}: equal to NumPy; {requests} requests to a window of {held} bytes, at most {most_live} "
              "bytes live")

        allot_tvm.reset_copy_counts()
        found = run(Images, mode, [device], (image, np.zeros_like(image)))
        assert (found == image * 8).all(), f"Images in {mode}"
        calls, _, held, *_ = allot_tvm.counts(device, TEXTURE)
        assert (calls, held) == (1, image.nbytes), f"{calls} images of {held} bytes"
        print(f"textures, {mode}: equal to NumPy; {calls} image of {held} bytes serves both tensors; "
              "{} copy of {} bytes".format(*allot_tvm.copy_counts()))

        allot_tvm.reset_copy_counts()
        found = run(OwnBuffers, mode, [device], (x, np.zeros_like(x)))
        assert (found == x).all(), f"OwnBuffers in {mode}"
        calls, most, held, *_ = allot_tvm.counts(device, "global.buffers")
        assert (calls, most) == (2, 2048), f"{calls} buffers of {most} bytes"
        print(f"buffers of their own, {mode}: equal to NumPy; {calls} buffers for two tensors of one storage; "
              "{} copies of {} bytes".format(*allot_tvm.copy_counts()))


if __name__ == "__main__":
    main()
