"""Tests of scopes through TVM's own functions: the allocators of the virtual machine, and the choice of memories."""

import unittest
from itertools import count

import numpy as np
import tvm
from tvm import relax
from tvm import te as expressions
from tvm.script import ir as I
from tvm.script import relax as R

import allot_tvm

allot_tvm.load()
numbers = count()




def vdevices(scope, shape, dtype="float32"):
    """Returns an ordinary program with VDevices that computes (x + x) * (x + x) in a scope.

    The argument has the VDevice as well, because TVM otherwise moves the whole program to the argument's. The machine
    takes it as it is.
    """
    there = f'R.Tensor({shape}, "{dtype}", "llvm:1:{scope}")'
    return tvm.script.from_source(f"""
@I.ir_module
class Program:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "{scope}")]}})

    @R.function
    def main(x: {there}):
        with R.dataflow():
            double: {there} = R.add(x, x)
            square: {there} = R.multiply(double, double)
            R.output(square)
        return square
""", {"I": I, "R": R})


def builtin(scope, shape):
    """Returns a program with R.builtin.alloc_tensor in a scope that computes x + 1 there, and + 1 back in global."""
    given = expressions.placeholder(shape, name="given")
    kernel = expressions.create_prim_func([given, expressions.compute(shape, lambda *at: given(*at) + 1.0)])
    builder = relax.BlockBuilder()
    add_one = builder.add_func(kernel.with_attr("global_symbol", "add_one"), "add_one")
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x], pure=False):
        source = x
        for each in scope, "global":
            target = builder.emit(relax.op.builtin.alloc_tensor(relax.ShapeExpr(shape), "float32", 0, each))
            builder.emit(relax.Call(add_one, [source, target]))
            source = target
        builder.emit_func_output(source)
    return builder.finalize()


def machine_of(module, devices, mode="bytecode"):
    return relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), devices)


def chosen(**memories):
    """Returns a new device with these memories: vtcm="window" or vtcm=("window", bytes)."""
    device = tvm.cpu(next(numbers))
    for scope, allocator in memories.items():
        name = "global" if scope == "main" else "global." + scope.replace("_", "-")
        allot_tvm.use(device, name, *(allocator if isinstance(allocator, tuple) else (allocator,)))
    return device


class Programs(unittest.TestCase):
    def run_on(self, module, device, shape):
        x = np.random.default_rng(1).integers(-50, 50, shape).astype("float32")
        for mode in "bytecode", "compiled":
            yield x, machine_of(module, [device, device], mode)["main"](tvm.runtime.tensor(x, device)).numpy()

    def test_vdevices_of_every_scope(self):
        for scope, shape in (("global.vtcm", (4, 64)), ("global.texture", (2, 8, 4)),
                             ("global.texture-nhwc", (2, 8, 4)),
                             ("global.texture-weight", (2, 8, 8, 4)), ("global.own", (4, 64))):
            device = chosen(vtcm="window", own="fixed")
            for x, found in self.run_on(vdevices(scope, shape), device, shape):
                self.assertTrue((found == (x + x) ** 2).all(), scope)
            self.assertEqual(allot_tvm.counts(device, scope)[3], 4, scope)  # two tensors in each mode

    def test_vdevices_without_a_choice(self):
        """The scopes are there after load(), and TVM's pool keeps serving global."""
        for scope, shape in ("global.vtcm", (4, 64)), ("global.texture", (2, 8, 4)):
            device = tvm.cpu(next(numbers))
            for x, found in self.run_on(vdevices(scope, shape), device, shape):
                self.assertTrue((found == (x + x) ** 2).all(), scope)
            self.assertEqual(allot_tvm.counts(device, scope)[3], 4, scope)
            self.assertEqual(allot_tvm.counts(device, "global")[3], 0)  # no arena of allot

    def test_a_choice_of_a_scope_after_the_first_machine(self):
        device = tvm.cpu(next(numbers))
        machine_of(vdevices("global", (4, 64)), [device, device])
        allot_tvm.use(device, "global.vtcm", "window", 8192)
        for x, found in self.run_on(vdevices("global.vtcm", (4, 64)), device, (4, 64)):
            self.assertTrue((found == (x + x) ** 2).all())
        self.assertEqual(allot_tvm.counts(device, "global.vtcm")[2], 8192)

    def test_scopes_beside_a_counted_pool(self):
        device = chosen(main="pool")
        for x, found in self.run_on(vdevices("global.vtcm", (4, 64)), device, (4, 64)):
            self.assertTrue((found == (x + x) ** 2).all())
        self.assertEqual(allot_tvm.counts(device, "global.vtcm")[3], 4)

    def test_builtin_alloc_tensor(self):
        for scope, shape in ("global.vtcm", (4, 64)), ("global.texture", (4, 8, 4)):
            device = chosen(vtcm="window")
            for x, found in self.run_on(builtin(scope, shape), device, shape):
                self.assertTrue((found == x + 2).all(), scope)
            self.assertEqual(allot_tvm.counts(device, scope)[3], 2, scope)  # one tensor in each mode

    def test_results_are_those_of_tvm_alone(self):
        x = np.random.default_rng(2).standard_normal((4, 64)).astype("float32")
        plain = vdevices("global", (4, 64))
        found = []
        for device in tvm.cpu(next(numbers)), chosen(vtcm="window"):
            found.append(machine_of(plain, [device, device])["main"](tvm.runtime.tensor(x, device)).numpy())
        machine = machine_of(vdevices("global.vtcm", (4, 64)), [device, device])
        found.append(machine["main"](tvm.runtime.tensor(x, device)).numpy())
        self.assertEqual(len({each.tobytes() for each in found}), 1)


class Refusals(unittest.TestCase):
    def refusal_of(self, module, device, shape):
        machine = machine_of(module, [device, device])
        with self.assertRaises(Exception) as caught:
            machine["main"](tvm.runtime.tensor(np.zeros(shape, "float32"), device))
        return caught.exception

    def test_an_unknown_scope(self):
        found = self.refusal_of(vdevices("global.vtcm2", (4, 64)), chosen(vtcm="window"), (4, 64))
        self.assertIsInstance(found, ValueError)
        self.assertRegex(str(found), r"allot: cpu:\d+ has no memory of scope global.vtcm2; its scopes are global, "
                                     r"global.texture, global.texture-nhwc, global.texture-weight, global.vtcm\. Use")

    def test_out_of_memory_names_the_scope(self):
        found = self.refusal_of(vdevices("global.vtcm", (64, 64)), chosen(vtcm=("window", 8192)), (64, 64))
        self.assertIsInstance(found, MemoryError)
        self.assertIn("allot: no buffer of shape (16384,) in global.vtcm: fewer bytes are free than were asked for; "
                      "the largest hole has 8192 bytes", str(found))
        found = self.refusal_of(vdevices("global", (64, 64)), chosen(main=("one region", 8192)), (64, 64))
        self.assertIsInstance(found, MemoryError)
        self.assertIn("no 16384 bytes aligned to 64 in global: fewer bytes are free", str(found))

    def test_a_shape_that_is_no_texture(self):
        found = self.refusal_of(vdevices("global.texture", (4, 64)), chosen(vtcm="window"), (4, 64))
        self.assertIsInstance(found, ValueError)
        self.assertIn("no tensor of shape (4, 64) in a storage of 1024 bytes in global.texture: a texture needs at "
                      "least three axes", str(found))

    def test_a_long_name_is_cut(self):
        found = self.refusal_of(vdevices("global." + "x" * 100, (4, 64)), chosen(vtcm="window"), (4, 64))
        self.assertIn("no memory of scope global." + "x" * 73 + "...; its scopes are", str(found))

    def test_a_full_scope_has_a_remedy(self):
        for device in chosen(vtcm=("window", 8192)), tvm.cpu(next(numbers)):
            found = self.refusal_of(vdevices("global.vtcm", (1024, 64)), device, (1024, 64))
            self.assertIsInstance(found, MemoryError)
            self.assertIn("choose a larger memory with allot_tvm.use. A virtual machine keeps its last result until "
                          "the next call ends.", str(found))


class Choices(unittest.TestCase):
    def refuse(self, text, *arguments):
        with self.assertRaises(ValueError) as caught:
            allot_tvm.use(*arguments)
        self.assertIn(text, str(caught.exception))

    def test_an_unknown_allocator(self):
        device = tvm.cpu(next(numbers))
        self.refuse("there is no allocator called heap; choose geometric, fixed, one region, window, separate, images "
                    "or pool", device, "global", "heap")
        self.refuse("there is no allocator called heap", device, "global.mine", "heap")
        self.refuse("images serves only global.texture, global.texture-weight", device, "global.vtcm", "images")
        self.refuse("TVM's pool serves only global, not global.vtcm", device, "global.vtcm", "pool")

    def test_a_size_that_does_not_work(self):
        device = tvm.cpu(next(numbers))
        self.refuse("one region needs a size in bytes", device, "global", "one region")
        self.refuse("is -1, which is negative", device, "global", "one region", -1)
        for allocator in "geometric", "separate", "pool":
            self.refuse(f"the allocator {allocator} has no size; only one region and window have one", device,
                        "global", allocator, 4096)

    def test_another_device(self):
        self.refuse("scopes are served on the CPU; device2:0 has", tvm.cuda(0), "global.vtcm", "window")

    def test_a_second_choice(self):
        device = chosen(vtcm="window")
        self.refuse("already has a memory of scope global.vtcm; choose it once", device, "global.vtcm", "fixed")

    def test_a_choice_after_the_first_machine(self):
        """MemoryManager asks for an allocator once for a device, and keeps the answer."""
        device = tvm.cpu(next(numbers))
        machine_of(vdevices("global", (4, 64)), [device, device])
        self.refuse("a virtual machine of cpu", device, "global", "fixed")


if __name__ == "__main__":
    unittest.main()
