"""Tests of the Relax pass that plans memory: results equal TVM's bit for bit, and no live tensor loses a byte.

Run by bindings/tvm/run, or with PYTHONPATH=bindings/tvm after it has built the libraries.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import allot_tvm
from allot_tvm import plan_memory, plans
from allot_tvm.plan_memory import Memory, PlanMemory, pipeline, pipeline_with

PROGRAMS = Path(allot_tvm.__file__).parents[1] / "programs"
allot_tvm.load()


def compile_with(module, memories=None, **options):
    """Returns the executable of the module with allot's plan, and the reports by function."""
    report = []
    executable = tvm.compile(module, "llvm", relax_pipeline=pipeline(memories, report=report, **options))
    return executable, {each.function: each for each in report}


def outputs(executable, arguments, oracle=None):
    machine = relax.VirtualMachine(executable, tvm.cpu())
    if oracle:
        machine.set_instrument(oracle)
    given = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return flat(machine["main"](*given))


def flat(value):
    if isinstance(value, tvm.runtime.Tensor):
        return [value.numpy()]
    return [array for item in value for array in flat(item)]


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


class ByteOracle:
    """Watches a run: the bytes of a tensor change only in the kernel that writes it, for as long as it is used.

    The first kernel that receives a tensor writes it. Every later kernel reads it. The oracle keeps a copy of the bytes
    and compares them before and after each call.
    """

    def __init__(self):
        self.kept = {}
        self.checks = 0
        self.errors = []

    def __call__(self, function, name, before, result, *arguments):
        if name in ("vm.builtin.reshape", "runtime.TVMTensorCreateView", "vm.builtin.ensure_zero_offset"):
            if not before and name == "vm.builtin.reshape":
                self.kept[result] = (arguments[0], self.bytes_of(result))
        elif not name.startswith(("vm.", "runtime.")):
            for tensor in (a for a in arguments if isinstance(a, tvm.runtime.Tensor)):
                if tensor in self.kept:
                    self.checks += 1
                    if self.kept[tensor][1] != self.bytes_of(tensor):
                        self.errors.append(f"a tensor has other bytes {'before' if before else 'after'} {name}")
                elif not before:
                    self.kept[tensor] = (tensor, self.bytes_of(tensor))
        return 0

    @staticmethod
    def bytes_of(tensor):
        return tensor.numpy().tobytes()


class Case(unittest.TestCase):
    reference = "default"  # the pipeline of the outputs to compare with

    def check(self, module, arguments, memories=None, oracle=True):
        """Compares the outputs of both modes with those of TVM's own plan, and returns the report of main."""
        expected = outputs(tvm.compile(module, "llvm", relax_pipeline=self.reference), arguments)
        executable, reports = compile_with(module, memories)
        watch = ByteOracle() if oracle else None
        found = outputs(executable, arguments, watch)
        self.assertEqual(len(found), len(expected))
        for ours, theirs in zip(found, expected):
            self.assertEqual(ours.tobytes(), theirs.tobytes())
        if watch:
            self.assertGreater(watch.checks, 0)
            self.assertEqual(watch.errors, [])
        for report in reports.values():
            self.check_disjoint(report)
        executable, _ = compile_with(module, memories, mode="library")
        self.assertEqual([a.tobytes() for a in outputs(executable, arguments)], [a.tobytes() for a in expected])
        return reports["main"]

    def check_disjoint(self, report):
        for first, second in itertools.combinations(report.tensors, 2):
            together = any(a < d and c < b for a, b in first.lives for c, d in second.lives)
            overlap = (first.storage == second.storage and first.offset < second.offset + second.size
                       and second.offset < first.offset + first.size)
            self.assertFalse(together and overlap, f"{first} and {second} live at the same time and share bytes")
        for tensor in report.tensors:
            self.assertEqual(tensor.offset % 64, 0)
            self.assertLessEqual(tensor.offset + tensor.size, report.storages[tensor.storage].size)


def chain(n=4, length=4, bound=None):
    """x + 1, then exponentials of ever new tensors, each multiplied by the one before; with a reshape inside."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = builder.emit(relax.op.add(x, relax.const(1, "float32")))
            value = builder.emit(relax.op.reshape(value, (n * 16,)))
            for _ in range(length):
                value = builder.emit(relax.op.multiply(builder.emit(relax.op.tanh(value)), value))
            result = builder.emit_output(relax.op.negative(value))
        builder.emit_func_output(result)
    module = builder.finalize()
    if bound:
        module["main"] = module["main"].with_attr("tir_var_upper_bound", {"n": bound})
    return module


def with_two_tensors(use, result_of=lambda result, a: result):
    """Returns a function that gives two tensors to `use`, and adds a chain that takes their bytes again."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 16), "float32"))
    with builder.function("main", [x], pure=False):
        a, b = builder.emit(relax.op.exp(x)), builder.emit(relax.op.sin(x))
        value = builder.emit(relax.op.add(a, builder.emit(use(builder.emit, a, b))))
        for operator in relax.op.tanh, relax.op.cos, relax.op.sin, relax.op.cos:
            value = builder.emit(operator(value))
        builder.emit_func_output(result_of(builder.emit(relax.op.add(value, x)), a))
    return builder.finalize()


class Functions(Case):
    """Each form of expression that a Relax function can have."""

    def test_chain_with_reshape(self):
        report = self.check(chain(), [random(4, 16)])
        self.assertEqual([s.size for s in report.storages], [3 * 256])
        self.assertEqual(report.bound, 3 * 256)
        self.assertEqual(len(report.left), 1)  # the result

    def test_tuples(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((8, 64), "float32")):
                with R.dataflow():
                    a = R.tanh(x)
                    parts = R.split(a, 2, axis=0)
                    pair = (parts[1], parts[0])
                    b = R.exp(pair[0])
                    c = R.multiply(pair[1], b)
                    both = (R.add(c, b), R.negative(c))
                    first = both[0]
                    d = R.concat([first, both[1], c], axis=0)
                    e = R.tanh(d)
                    R.output(e, d)
                return (e, (d, x))

        self.check(Module, [random(8, 64)])

    def test_a_tuple_keeps_a_dead_tensor(self):
        """Library mode does not ask allot then, because the tuple keeps the bytes of `a` in use."""
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((8, 64), "float32")):
                a = R.tanh(x)
                b = R.exp(x)
                both = (a, b)
                c = R.add(both[0], x)
                d = R.tanh(c)
                e = R.exp(d)
                f = R.tanh(e)
                return R.add(f, both[1])

        report = self.check(Module, [random(8, 64)])
        self.assertEqual([s.size for s in report.storages], [3 * 2048])
        executable, _ = compile_with(Module, mode="library")
        self.assertNotIn("allot.", executable.as_text())

    def test_tuples_without_a_name_keep_dead_tensors(self):
        """TVM never kills a tuple that is a field of a tuple or an argument. Library mode then does not ask allot."""
        type_of = relax.TensorType((4, 16), "float32")
        tvm_ffi.register_global_func("allot.test.nothing", lambda pair: None, override=True)
        tvm_ffi.register_global_func("allot.test.first", lambda pair: pair[0], override=True)

        def nested(emit, a, b):
            inner = emit(relax.TupleGetItem(emit(relax.Tuple([a, relax.Tuple([b])])), 1))
            return relax.TupleGetItem(inner, 0)

        def argument(emit, a, b):
            nothing = relax.ExternFunc("allot.test.nothing")
            emit(relax.Call(nothing, [relax.Tuple([a, b])], ty_args=[relax.TupleType([])]))
            return b

        def returned(emit, a, b):
            return relax.Call(relax.ExternFunc("allot.test.first"), [relax.Tuple([b, a])], ty_args=[type_of])

        def named(emit, a, b):
            return relax.TupleGetItem(emit(relax.Tuple([a, b])), 1)

        self.reference = pipeline_with([])
        for use, mode in (nested, "wheel"), (argument, "wheel"), (returned, "wheel"), (named, "library"):
            with self.subTest(use.__name__):
                module = with_two_tensors(use)
                self.check(module, [random(4, 16)])
                self.assertEqual(compile_with(module, mode="library")[1]["main"].mode, mode)

    def test_a_result_in_nested_tuples_leaves_the_mode(self):
        """The allocator has the tensors of a result. No byte of them has a second use."""
        module = with_two_tensors(lambda emit, a, b: b, lambda result, a: relax.Tuple([result, relax.Tuple([a])]))
        self.check(module, [random(4, 16)])
        self.assertEqual(compile_with(module, mode="library")[1]["main"].mode, "library")

    def test_returned_tensors_are_left_to_the_allocator(self):
        module = chain()
        executable, reports = compile_with(module)
        machine = relax.VirtualMachine(executable, tvm.cpu())
        first = machine["main"](tvm.runtime.tensor(random(4, 16)))
        kept = first.numpy().copy()
        machine["main"](tvm.runtime.tensor(random(4, 16, seed=2)))
        self.assertEqual(first.numpy().tobytes(), kept.tobytes())
        returned = {str(tensor.var.name) for tensor in reports["main"].left}
        self.assertEqual(len(returned), 1)

    def test_a_returned_view_keeps_its_tensor_out_of_the_plan(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 16), "float32")):
                a = R.tanh(x)
                b = R.exp(a)
                return R.memory.view(b, R.shape([64]))

        report = self.check(Module, [random(4, 16)])
        self.assertEqual((len(report.tensors), len(report.left)), (1, 1))

    def test_constants(self):
        constant = relax.const(random(4, 16, seed=5))
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((4, 16), "float32"))
        with builder.function("main", [x]):
            with builder.dataflow():
                value = builder.emit(relax.op.add(builder.emit(relax.op.tanh(x)), constant))
                result = builder.emit_output(relax.op.add(builder.emit(relax.op.exp(value)), constant))
            builder.emit_func_output(relax.Tuple([result, constant]))
        self.check(builder.finalize(), [random(4, 16)])

    def test_in_place_calls(self):
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def double(a: T.Buffer((4, 64), "float32")):
                for i, j in T.grid(4, 64):
                    with T.sblock("double"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        a[vi, vj] = a[vi, vj] * T.float32(2)

            @R.function
            def main(x: R.Tensor((4, 64), "float32")):
                cls = Module
                with R.dataflow():
                    a = R.tanh(x)
                    b = R.call_tir_inplace(cls.double, (a,), inplace_indices=[0],
                                           out_ty=R.Tensor((4, 64), "float32"))
                    c = R.exp(x)
                    d = R.add(b, c)
                    e = R.tanh(d)
                    R.output(e)
                return e

        report = self.check(Module, [random(4, 64)], oracle=False)
        self.assertEqual(len(report.tensors), 3)

    def test_packed_functions_that_return_their_argument(self):
        tvm_ffi.register_global_func("allot.test.same", lambda tensor: tensor, override=True)

        @I.ir_module
        class Module:
            @R.function(pure=False)
            def main(x: R.Tensor((4, 64), "float32")):
                a = R.tanh(x)
                b = R.call_packed("allot.test.same", a, ty_args=(R.Tensor((4, 64), "float32"),))
                c = R.exp(x)
                d = R.tanh(c)
                e = R.add(b, d)
                return R.add(e, c)

        arguments = [random(4, 64)]
        self.reference = pipeline_with([])
        report = self.check(Module, arguments)
        first = report.tensors[0]
        self.assertGreater(first.lives[0][1], report.tensors[2].lives[0][0])
        planned_by_tvm, right = (outputs(tvm.compile(Module, "llvm", relax_pipeline=pipe), arguments)[0]
                                 for pipe in ("default", self.reference))
        self.assertNotEqual(planned_by_tvm.tobytes(), right.tobytes(), "TVM's plan is right now: compare with it above")

    def test_destination_passing_packed_functions(self):
        def add_one(source, target):
            target.copyfrom(source.numpy() + 1)

        tvm_ffi.register_global_func("allot.test.add_one", add_one, override=True)

        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 64), "float32")):
                with R.dataflow():
                    a = R.tanh(x)
                    b = R.call_dps_packed("allot.test.add_one", (a,), out_ty=R.Tensor((4, 64), "float32"))
                    c = R.add(R.exp(b), a)
                    R.output(c)
                return c

        self.check(Module, [random(4, 64)])


class ControlFlow(Case):
    # TVM's own plan fails for most of these functions: see the last test.
    reference = pipeline_with([])

    def test_if_and_else(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 64), "float32"), choice: R.Tensor((), "bool")):
                a = R.tanh(x)
                b = R.exp(x)
                if choice:
                    c = R.add(a, a)
                    d = R.multiply(R.tanh(c), c)
                    z = R.add(d, a)
                else:
                    e = R.exp(b)
                    f = R.multiply(R.tanh(e), e)
                    z = R.subtract(f, b)
                g = R.tanh(z)
                return R.add(g, z)

        for choice in True, False:
            report = self.check(Module, [random(4, 64), np.array(choice)])
        branches = [t for t in report.tensors if t.lives[0][0] >= 4]
        self.assertLess(sum(s.size for s in report.storages), len(report.tensors) * 1024)
        self.assertGreater(len(branches), 4)

    def test_tensors_of_two_branches_share_bytes(self):
        for choice in True, False:
            report = self.check(Branches, [BRANCHES_ARGUMENTS[0], np.array(choice)])
        self.assertEqual(len(report.tensors), 6)
        self.assertEqual([s.size for s in report.storages], [2 * 1024])

    def test_condition_and_nested_branches(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 64), "float32"), n: R.Tensor((), "float32")):
                a = R.tanh(x)
                big = R.greater(n, R.const(0.0, "float32"))
                if big:
                    bigger = R.greater(n, R.const(1.0, "float32"))
                    b = R.exp(a)
                    if bigger:
                        c = R.add(b, a)
                        y = R.tanh(c)
                    else:
                        d = R.multiply(b, b)
                        y = R.negative(d)
                    z = R.add(y, b)
                else:
                    z = a
                e = R.tanh(z)
                return R.add(e, z)

        for n in -1, 0.5, 2:
            self.check(Module, [random(4, 64), np.array(n, "float32")])

    def test_tuples_of_branches(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 64), "float32"), choice: R.Tensor((), "bool")):
                a = R.tanh(x)
                if choice:
                    b = R.exp(a)
                    z = (b, a)
                else:
                    c = R.negative(a)
                    d = R.exp(c)
                    z = (c, d)
                e = R.tanh(x)
                f = R.add(z[0], e)
                return R.multiply(f, z[1])

        for choice in True, False:
            self.check(Module, [random(4, 64), np.array(choice)])

    def test_calls_between_functions(self):
        @I.ir_module
        class Module:
            @R.function
            def same(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                return x

            @R.function
            def inner(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                a = R.tanh(x)
                b = R.exp(a)
                return R.add(a, b)

            @R.function
            def main(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                cls = Module
                a = R.tanh(x)
                b: R.Tensor((4, 64), "float32") = cls.inner(a)
                c: R.Tensor((4, 64), "float32") = cls.same(a)
                d = R.exp(b)
                e = R.tanh(d)
                f = R.add(e, c)
                return R.add(f, d)

        report = self.check(Module, [random(4, 64)])
        first = next(t for t in report.tensors if t.step == 1)
        self.assertGreater(first.lives[0][1], 8)  # c is the same tensor as a

    def test_the_machine_keeps_the_result_of_a_call(self):
        """Library mode does not ask allot then, because the virtual machine keeps `a` until the next call."""
        @I.ir_module
        class Module:
            @R.function
            def same(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                return x

            @R.function
            def main(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                cls = Module
                a = R.tanh(x)
                b: R.Tensor((4, 64), "float32") = cls.same(a)
                c = R.exp(b)
                d = R.tanh(c)
                e = R.exp(d)
                return R.add(e, d)

        report = self.check(Module, [random(4, 64)])
        self.assertEqual([s.size for s in report.storages], [2 * 1024])
        executable, _ = compile_with(Module, mode="library")
        self.assertNotIn("allot.", executable.as_text())

    def test_loops_by_recursion(self):
        @I.ir_module
        class Module:
            @R.function
            def loop(x: R.Tensor((4, 64), "float32"), i: R.Tensor((), "int32")) -> R.Tensor((4, 64), "float32"):
                cls = Module
                more = R.less(i, R.const(5, "int32"))
                if more:
                    a = R.tanh(x)
                    b = R.multiply(a, R.exp(x))
                    j = R.add(i, R.const(1, "int32"))
                    c: R.Tensor((4, 64), "float32") = cls.loop(b, j)
                    z = R.add(c, a)
                else:
                    z = R.negative(x)
                return z

            @R.function
            def main(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
                cls = Module
                y: R.Tensor((4, 64), "float32") = cls.loop(x, R.const(0, "int32"))
                return R.add(y, R.tanh(y))

        self.check(Module, [random(4, 64)])


    def test_the_plan_of_tvm_fails_where_branches_allocate(self):
        """StaticPlanBlockMemory allocates a storage in one branch and uses it in the other, where it does not exist."""
        program = "import plan_memory_test as t\nt.outputs(t.tvm.compile(t.Branches, 'llvm'), t.BRANCHES_ARGUMENTS)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=Path(__file__).parent)
        self.assertNotEqual(done.returncode, 0, "TVM's plan is right now: compare with it above")
        self.assertIn(b"Segfault", done.stderr)
        self.check(Branches, BRANCHES_ARGUMENTS)


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((4, 64), "float32"), choice: R.Tensor((), "bool")):
        if choice:
            a = R.tanh(x)
            b = R.exp(a)
            z = R.tanh(b)
        else:
            c = R.tanh(x)
            d = R.exp(c)
            z = R.tanh(d)
        return R.add(z, z)


BRANCHES_ARGUMENTS = [random(4, 64), np.array(False)]


class DynamicShapes(Case):
    def test_planned_to_bounds(self):
        module = chain(tirx.Var("n", "int64"), bound=8)
        for n in 1, 3, 8:
            report = self.check(module, [random(n, 16)])
        self.assertEqual([(s.size, s.factor) for s in report.storages], [(3 * 512, None)])

    def test_a_shape_over_its_bound_is_refused(self):
        executable, _ = compile_with(chain(tirx.Var("n", "int64"), bound=8))
        with self.assertRaisesRegex(ValueError, r"only contains 512 bytes"):
            outputs(executable, [random(9, 16)])
        executable, _ = compile_with(chain(tirx.Var("n", "int64"), bound=8), mode="library")
        with self.assertRaisesRegex(ValueError, r"only contains 512 bytes"):
            outputs(executable, [random(9, 16)])

    def test_planned_in_units_of_the_symbolic_size(self):
        module = chain(tirx.Var("n", "int64"))
        for n in 1, 3, 40, 0:
            report = self.check(module, [random(n, 16)])
        self.assertEqual([s.size for s in report.storages], [3 * 64])
        self.assertEqual(str(report.storages[0].factor), "n")

    def test_shapes_known_only_inside_are_left_to_the_allocator(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((8, 16), "float32"), y: R.Tensor(dtype="float32", ndim=2)):
                n = T.int64()
                a = R.tanh(x)
                z = R.match_cast(y, R.Tensor((n, 16), "float32"))
                b = R.exp(z)
                c = R.tanh(b)
                return (R.add(a, a), R.multiply(b, c))

        report = self.check(Module, [random(8, 16), random(5, 16)])
        self.assertEqual(len(report.tensors), 1)
        self.assertEqual(len(report.left), 4)

    def test_casts_are_views(self):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, 64), "float32")):
                n = T.int64()
                a = R.tanh(x)
                b = R.match_cast(a, R.Tensor((n, 64), "float32"))
                c = R.exp(x)
                d = R.tanh(c)
                e = R.add(b, b)
                f = R.add(d, c)
                return (R.tanh(e), R.tanh(f))

        report = self.check(Module, [random(4, 64)])
        cast = report.tensors[0]
        self.assertGreater(cast.lives[0][1], report.tensors[2].step)

    def test_symbolic_tensors_stay_out_of_limited_memories(self):
        module = chain(tirx.Var("n", "int64"))
        report = self.check(module, [random(3, 16)], [Memory("small", 4096, storage_scope="global")])
        self.assertEqual(report.tensors, [])
        report = self.check(module, [random(3, 16)], [Memory("small", 4096, storage_scope="global"), Memory()])
        self.assertEqual([s.size for s in report.storages], [3 * 64])

    def test_two_symbolic_sizes_have_two_storages(self):
        n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((n, 16), "float32"))
        y = relax.Var("y", relax.TensorType((m, 16), "float32"))
        with builder.function("main", [x, y]):
            with builder.dataflow():
                a = builder.emit(relax.op.tanh(x))
                b = builder.emit(relax.op.exp(a))
                c = builder.emit(relax.op.tanh(y))
                d = builder.emit(relax.op.matmul(b, builder.emit(relax.op.permute_dims(c))))
                e = builder.emit(relax.op.tanh(d))
                result = builder.emit_output(relax.op.matmul(e, c))
            builder.emit_func_output(result)
        report = self.check(builder.finalize(), [random(16, 16), random(5, 16)])
        self.assertEqual(sorted(str(s.factor) for s in report.storages),
                         ["(m * n * T.int64(4) + T.int64(63)) // T.int64(64)", "m", "n"])

    def test_the_attribute_that_plans_outputs_changes_nothing(self):
        module = chain(tirx.Var("n", "int64"), bound=8)
        module["main"] = module["main"].with_attr("relax.memory_plan_dynamic_func_output", True)
        self.check(module, [random(3, 16)])


class SeveralMemories(Case):
    def test_a_small_memory_is_filled_and_the_rest_spills(self):
        memories = [Memory("fast", 1024, storage_scope="global"), Memory()]
        report = self.check(chain(16), [random(16, 16)], memories)
        sizes = [s.size for s in report.storages]
        self.assertEqual(sizes, [1024, 2048])
        self.assertTrue(all(t.size == 1024 for t in report.tensors))

    def test_a_memory_that_is_too_small_is_refused(self):
        with self.assertRaisesRegex(MemoryError, "allot: no plan: .*function main, memories small"):
            compile_with(chain(16), [Memory("small", 2048, storage_scope="global")])
        with self.assertRaisesRegex(MemoryError, "allot: no plan: .*fits none of its memories"):
            compile_with(chain(16), [Memory("tiny", 64), Memory("small", 128)])

    def test_tensors_of_a_scope_stay_in_it(self):
        """The tensor of a VDevice with a scope is planned in a memory of this scope, on the device of the VDevice."""
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global.vtcm")]})

            @T.prim_func(private=True, s_tir=True)
            def double(a: T.Buffer((4, 64), "float32"), b: T.Buffer((4, 64), "float32")):
                for i, j in T.grid(4, 64):
                    with T.sblock("double"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        b[vi, vj] = a[vi, vj] * T.float32(2)

            @R.function
            def main(x: R.Tensor((4, 64), "float32")):
                cls = Module
                with R.dataflow():
                    a = R.tanh(x)
                    b = R.call_tir(cls.double, (a,), out_ty=R.Tensor((4, 64), "float32", "llvm:1:global.vtcm"))
                    c = R.call_tir(cls.double, (b,), out_ty=R.Tensor((4, 64), "float32", "llvm:1:global.vtcm"))
                    d = R.call_tir(cls.double, (c,), out_ty=R.Tensor((4, 64), "float32"))
                    e = R.tanh(d)
                    R.output(e)
                return e

        device = tvm.cpu(9)
        allot_tvm.use(device, "global.vtcm", "window", 2048)
        found = []
        for pipe in pipeline_with([]), pipeline(report=(report := [])), pipeline(mode="library"):
            machine = relax.VirtualMachine(tvm.compile(Module, "llvm", relax_pipeline=pipe), [device, device])
            found.append(machine["main"](tvm.runtime.tensor(random(4, 64), device)).numpy().tobytes())
            del machine
        self.assertEqual(found, found[:1] * 3)
        self.assertEqual([(s.scope, s.device, s.size) for s in report[0].storages],
                         [("global", 0, 1024), ("global.vtcm", 1, 2048)])


class Lifetimes(Case):
    def run_with(self, wrong):
        """Returns the oracle and the output of a plan with wrong lifetimes, and the right output."""
        right = plan_memory.Lifetimes.lives
        with mock.patch.object(plan_memory.Lifetimes, "lives", lambda *given: [wrong(*right(*given)[0])]):
            executable, _ = compile_with(chain())
        oracle = ByteOracle()
        found, = outputs(executable, [random(4, 16)], oracle)
        expected, = outputs(tvm.compile(chain(), "llvm"), [random(4, 16)])
        return oracle, found.tobytes(), expected.tobytes()

    def test_right_lifetimes_pass(self):
        oracle, found, expected = self.run_with(lambda begin, end: (begin, end))
        self.assertEqual((oracle.errors, found), ([], expected))

    def test_lifetimes_without_their_uses_are_detected(self):
        oracle, found, expected = self.run_with(lambda begin, end: (begin, begin + 1))
        self.assertNotEqual(oracle.errors, [])
        self.assertNotEqual(found, expected)

    def test_allot_detects_wrong_lifetimes_at_run_time(self):
        right = plan_memory.Lifetimes.lives
        wrong = lambda *given: [(begin, begin + 1) for begin, _ in right(*given)]  # noqa: E731
        with mock.patch.object(plan_memory.Lifetimes, "lives", wrong):
            with mock.patch.object(plan_memory.FunctionPlan, "kills", lambda plan: {}):
                executable, _ = compile_with(chain(), mode="library")
        with self.assertRaisesRegex(ValueError, "allot.alloc_tensor: .* overlap"):
            outputs(executable, [random(4, 16)])

    def test_lifetimes_that_end_one_operator_early_are_detected(self):
        """The result of an element-wise operator may then have the bytes of its argument, which leaves it correct."""
        oracle, *_ = self.run_with(lambda begin, end: (begin, max(begin + 1, end - 2)))
        self.assertNotEqual(oracle.errors, [])


class RandomGraphs(Case):
    def test_random_graphs(self):
        for seed in range(8):
            with self.subTest(seed=seed):
                report = self.check(random_graph(seed), [random(8, 32, seed=seed)])
                peak = sum(s.size for s in report.storages)
                self.assertGreaterEqual(peak, report.bound)
                if len(report.tensors) <= 7:
                    self.assertEqual(peak, lowest_peak(report.tensors))


def random_graph(seed):
    """Returns a graph of element-wise operators, splits, concatenations and reshapes with random edges."""
    choose = np.random.default_rng(seed)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((8, 32), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            values = [builder.emit(relax.op.tanh(x))]
            for _ in range(int(choose.integers(3, 9))):
                first, second = (values[-1 - int(choose.integers(min(3, len(values))))] for _ in range(2))
                values += grown(builder, int(choose.integers(5)), first, second)
            result = builder.emit_output(relax.op.tanh(values[-1]))
        builder.emit_func_output(result)
    return builder.finalize()


def grown(builder, kind, first, second):
    rows = int(first.ty.shape[0])
    if kind == 0 and rows % 2 == 0:
        halves = builder.emit(relax.op.split(first, 2, axis=0))
        return [builder.emit(relax.TupleGetItem(halves, 0)), builder.emit(relax.TupleGetItem(halves, 1))]
    if kind == 1:
        return [builder.emit(relax.op.concat([first, second], axis=0))]
    if kind == 2:
        wide = builder.emit(relax.op.reshape(first, (rows * 32,)))
        return [builder.emit(relax.op.reshape(builder.emit(relax.op.exp(wide)), (rows, 32)))]
    if kind == 3 and rows == int(second.ty.shape[0]):
        return [builder.emit(relax.op.multiply(first, second))]
    return [builder.emit(relax.op.tanh(first))]


class RandomPrograms(Case):
    """Programs with nested branches, tuples and calls between functions."""

    reference = pipeline_with([])

    def test_random_programs(self):
        for seed in range(3):
            module = tvm.script.from_source(random_program(seed))
            for choice in 0, 1:
                with self.subTest(seed=seed, choice=choice):
                    self.check(module, [random(2, 64), np.array(bool(choice)), np.array(seed % 2 == 0)])


def random_program(seed):
    """Returns the text of a module, whose branches depend on two parameters."""
    choose = np.random.default_rng(seed)
    numbers = itertools.count()

    def one_of(values):
        return values[-1 - int(choose.integers(min(4, len(values))))]

    def block(values, indent, statements, last=None):
        values, lines = list(values), []
        for left in range(statements, 0, -1):
            name = last if last and left == 1 else f"v{next(numbers)}"
            first, second = one_of(values), one_of(values)
            kind = int(choose.integers(7))
            if kind == 0 and indent < 20:
                lines += [f"if {'pqr'[int(choose.integers(3))]}:", *block(values, indent + 4, 4, name), "else:",
                          *block(values, indent + 4, 3, name)]
            elif kind == 1:
                lines += [f"t{name} = ({first}, {second})", f"{name} = R.add(t{name}[1], R.tanh(t{name}[0]))"]
            elif kind == 2:
                lines += [f'{name}: R.Tensor((2, 64), "float32") = cls.either({first}, {second})']
            elif kind == 3:
                lines += [f"{name} = R.memory.view({first}, R.shape([2, 64]))"]
            else:
                lines += [f"{name} = R.add({first}, R.tanh({second}))"]
            values.append(name)
        return ["    " + line for line in lines]

    body = "\n    ".join(block(["x"], 8, 9, "result"))
    return f"""
@I.ir_module
class Module:
    @R.function
    def either(a: R.Tensor((2, 64), "float32"), b: R.Tensor((2, 64), "float32")) -> R.Tensor((2, 64), "float32"):
        c = R.exp(a)
        d = R.tanh(c)
        return b

    @R.function
    def main(x: R.Tensor((2, 64), "float32"), p: R.Tensor((), "bool"), q: R.Tensor((), "bool")):
        cls = Module
        r = R.not_equal(R.sum(R.tanh(x)), R.sum(x))
    {body}
        return R.tanh(result)
"""


class Planner(Case):
    def test_invalid_problems_are_refused(self):
        memory = [(-1, 64, 0)]
        for buffers, memories, reason in (
                ([(64, 64, 1, 1, 0)], memory, "buffer 0 needs a size, .*, and pairs of steps"),
                ([(64, 64, 1, 1, 0, 2), (-1, 64, 1, 1, 0, 2)], memory, "the size of buffer 1 is negative"),
                ([(64, 48, 1, 1, 0, 2)], memory, "the alignment of a buffer is not a power of two"),
                ([(64, 64, 1, 1, 2, 2)], memory, "a lifetime ends before or at the step at which it begins"),
                ([(64, 64, 1, 1, 0, 3, 2, 4)], memory, "two lifetimes of a buffer overlap"),
                ([(64, 64, 1, 1, 0, 2)], [], "there are no memories"),
                ([(64, 64, 1, 1, 0, 2)], [(64, 64)], "memory 0 needs a capacity, an alignment and a cost"),
                ([(64, 64, 1, 3, 0, 2)], [(64, 64, 1), (64, 64, 0)], "a memory is invalid")):
            with self.subTest(reason), self.assertRaisesRegex(ValueError, f"^allot: .*{reason}"):
                plans.plan(buffers, memories, 1000)
        with self.assertRaisesRegex(ValueError, "^allot: the effort is negative"):
            plans.plan([(64, 64, 1, 1, 0, 2)], memory, -1)

    def test_a_buffer_without_a_memory_is_refused(self):
        with self.assertRaisesRegex(MemoryError, "buffer 0 has 64 bytes and fits none of its memories"):
            plans.plan([(64, 64, 1, 0, 0, 2)], [(-1, 64, 0)], 1000)

    def test_lifetimes_apart_share_bytes(self):
        buffers = [(64, 64, 1, 1, 0, 2, 6, 8), (64, 64, 1, 1, 2, 6)]
        self.assertEqual(list(plans.plan(buffers, [(-1, 64, 0)], 1000)[2]), [0, 0])


def lowest_peak(tensors):
    """Returns the lowest peak of all plans: some order of placing each tensor on those below it gives it."""
    best = None
    for order in itertools.permutations(tensors):
        placed, peak = [], 0
        for tensor in order:
            offset = max((end for other, end in placed if live_together(tensor, other)), default=0)
            placed.append((tensor, offset + plan_memory.aligned(tensor.size)))
            peak = max(peak, offset + tensor.size)
        best = peak if best is None else min(best, peak)
    return best or 0


def live_together(first, second):
    return any(a < d and c < b for a, b in first.lives for c, d in second.lives)


class Pipeline(Case):
    def test_only_the_planning_pass_differs_from_the_default(self):
        def passes(pipe):
            @tvm.instrument.pass_instrument
            class Names:
                def __init__(self):
                    self.names = []

                def run_before_pass(self, _, info):
                    self.names.append(str(info.name))

            names = Names()
            with tvm.transform.PassContext(instruments=[names]):
                with tvm.target.Target("llvm"):
                    pipe(chain())
            return [name for name in names.names if name not in ("_pipeline", "allot_pipeline", "sequential")]

        ours = passes(pipeline())
        theirs = passes(relax.get_pipeline("default"))
        self.assertEqual([name.replace("AllotPlanMemory", "StaticPlanBlockMemory") for name in ours], theirs)
        self.assertEqual(sum(a != b for a, b in zip(ours, theirs)), 1)

    def test_the_compiled_mode_runs_too(self):
        expected = outputs(tvm.compile(chain(), "llvm"), [random(4, 16)])
        executable = relax.build(chain(), "llvm", relax_pipeline=pipeline(), exec_mode="compiled")
        self.assertEqual(outputs(executable, [random(4, 16)])[0].tobytes(), expected[0].tobytes())

    def test_the_executable_runs_without_allot(self):
        executable, _ = compile_with(chain())
        expected = outputs(executable, [random(4, 16)])[0]
        program = ("import sys, numpy, tvm; from tvm import relax\n"
                   "machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())\n"
                   "x = numpy.random.default_rng(1).standard_normal((4, 16)).astype('float32')\n"
                   "sys.stdout.write(machine['main'](tvm.runtime.tensor(x)).numpy().tobytes().hex())")
        with tempfile.TemporaryDirectory() as folder:
            executable.export_library(f"{folder}/model.so")
            done = subprocess.run([sys.executable, "-c", program, f"{folder}/model.so"], capture_output=True,
                                  text=True, check=True)
        self.assertEqual(done.stdout, expected.tobytes().hex())

    def test_a_missing_planner_is_named(self):
        with self.assertRaisesRegex(FileNotFoundError, "nowhere.so does not exist; build it with bindings/tvm/run"):
            plans.load_planner("nowhere.so")

    def test_the_input_of_the_pass_is_unchanged(self):
        module = tvm.transform.Sequential([
            relax.transform.LegalizeOps(), relax.transform.ToNonDataflow(), relax.transform.CallTIRRewrite()])(chain())
        before = module.script()
        planned = PlanMemory()(module)
        self.assertEqual(module.script(), before)
        self.assertNotEqual(planned.script(), before)

    def test_plans_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            arguments = [random(4, 16)]
            first, _ = compile_with(chain(), plan=plans.recording(path))
            again, _ = compile_with(chain(), plan=plans.recorded(path))
            self.assertEqual(again.as_text(), first.as_text())
            self.assertEqual(outputs(again, arguments)[0].tobytes(), outputs(first, arguments)[0].tobytes())
            with self.assertRaisesRegex(ValueError, "plan.json has no plan for these 9 tensors: record it again"):
                compile_with(chain(5), plan=plans.recorded(path))

    def test_wrong_plans_in_a_file_are_refused(self):
        wrong = {
            "buffers 0 and 1 live at the same time and share bytes": lambda plan: plan.update(offsets=[0] * 9),
            "the offset -64 of buffer 0 is not a multiple": lambda plan: plan["offsets"].__setitem__(0, -64),
            "the offset 1 of buffer 0 is not a multiple": lambda plan: plan["offsets"].__setitem__(0, 1),
            "buffer 0 ends at .*, after the peak": lambda plan: plan["offsets"].__setitem__(0, 1 << 40),
            "buffer . ends at 256, after the peak": lambda plan: plan.update(peaks=[64]),
            "the peak of memory 0 is -1": lambda plan: plan.update(peaks=[-1]),
            "9 memories, 9 offsets and 0 peaks for 9 buffers and 1 memories": lambda plan: plan.update(peaks=[]),
            "9 memories, 8 offsets and 1 peaks": lambda plan: plan["offsets"].pop(),
            "buffer 0 is in memory 1, which is not": lambda plan: plan.update(memories=[1] * 9),
            "buffer 0 is in memory -1, which is not": lambda plan: plan.update(memories=[-1] * 9),
            "the plan is not .status, memories, offsets": lambda plan: plan.update(offsets=["a"] * 9),
            "the plan is not .status, memories, offsets, p": lambda plan: plan.pop("spilled")}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            compile_with(chain(), plan=plans.recording(path))
            right = path.read_text()
            for message, change in wrong.items():
                kept = json.loads(right)
                plan = dict(zip(("status", "memories", "offsets", "peaks", "bound", "spilled"), kept[0]["plan"]))
                change(plan)
                kept[0]["plan"] = list(plan.values())
                path.write_text(json.dumps(kept))
                with self.subTest(message), self.assertRaisesRegex(
                        ValueError, f"^allot: .*{message}.* in .*plan.json: record it again"):
                    compile_with(chain(), plan=plans.recorded(path))
            for text in "", "x", "{", "null", "3", "[{}]", "[[]]", '{"buffers": []}', '[{"buffers": [], "plan": []}]':
                path.write_text(text)
                with self.subTest(text), self.assertRaisesRegex(ValueError, "^allot: .*plan.json is not a .*record it"):
                    plans.recorded(path)
            path.write_text("[]")
            with self.assertRaisesRegex(ValueError, "plan.json has no plan for these 9 tensors: record it again"):
                compile_with(chain(), plan=plans.recorded(path))

    def test_the_plan_of_any_planner_is_checked(self):
        """Each mode refuses the plan. The pass does not choose another mode."""
        def all_at_zero(buffers, memories, effort):
            return "optimal", [0] * len(buffers), [0] * len(buffers), [1 << 20], 0, 0

        def above_one_another(buffers, memories, effort):
            return "feasible", [0] * len(buffers), [4096 * b for b in range(len(buffers))], [1 << 20], 0, 0

        for mode in "wheel", "library", "carried":
            with self.assertRaisesRegex(ValueError, r"buffers 0 and 1 live .* share bytes \(function main"):
                compile_with(chain(), mode=mode, plan=all_at_zero)
            with self.assertRaisesRegex(ValueError, "the peak of memory 0 is 1048576, and its capacity is 4096 bytes"):
                compile_with(chain(), [Memory("global", 4096)], mode=mode, plan=above_one_another)
        with self.assertRaisesRegex(ValueError, "the plan is not .status, memories"):
            compile_with(chain(), plan=lambda *_: None)
        expected = outputs(compile_with(chain())[0], [random(4, 16)])
        found = outputs(compile_with(chain(), mode="library", plan=above_one_another)[0], [random(4, 16)])
        self.assertEqual(found[0].tobytes(), expected[0].tobytes())

    def test_the_check_of_a_plan_agrees_with_every_pair(self):
        choose = np.random.default_rng(1)
        refused = 0
        for _ in range(300):
            buffers = []
            for size, *steps in choose.integers(0, 9, (6, 5)).tolist():
                steps = sorted({*steps})[:len({*steps}) // 2 * 2]
                buffers.append((64 * (size // 3), 64, 1, 3, *steps) if steps else (0, 64, 1, 3, 0, 1))
            memory, offset = choose.integers(0, 2, 6).tolist(), (64 * choose.integers(0, 12, 6)).tolist()
            lives = [list(zip(buffer[4::2], buffer[5::2])) for buffer in buffers]
            wrong = any(memory[i] == memory[j] and offset[i] < offset[j] + buffers[j][0]
                        and offset[j] < offset[i] + buffers[i][0] and buffers[i][0] and buffers[j][0]
                        and any(a < d and c < b for a, b in lives[i] for c, d in lives[j])
                        for i, j in itertools.combinations(range(6), 2))
            self.assertEqual(plans.live_and_shared(buffers, memory, offset) is not None, wrong)
            refused += wrong
        self.assertTrue(30 < refused < 270, refused)

    def test_the_plan_of_the_first_program_is_what_the_planner_returns(self):
        for each in json.loads((PROGRAMS / "first_plan.json").read_text()):
            found = plans.plan(each["buffers"], each["memories"], plan_memory.EFFORT)
            self.assertEqual([list(e) if isinstance(e, tvm_ffi.Shape) else e for e in found], each["plan"])

    def test_wrong_options_are_refused(self):
        integer, natural = "it must be an integer", "it must be from 0 to"
        for error, message, make in (
                (TypeError, f"the capacity of global .* is 4096.5: {integer}", lambda: Memory("global", 4096.5)),
                (TypeError, f"the capacity of global .* is '4096': {integer}", lambda: Memory("global", "4096")),
                (ValueError, f"the capacity of global .* is {2**63}: {natural}", lambda: Memory("global", 2**63)),
                (ValueError, f"the capacity of global .None is no .* is -1: {natural}", lambda: Memory(capacity=-1)),
                (ValueError, "global.texture is not flat memory", lambda: Memory("global.texture")),
                (TypeError, "the scope of a Memory is None: it must be text", lambda: Memory(None)),
                (TypeError, "the storage_scope of a Memory is 3: it must be text", lambda: Memory(storage_scope=3)),
                (TypeError, f"the device of global is None: {integer}", lambda: Memory(device=None)),
                (ValueError, f"the device of global is -1: {natural}", lambda: Memory(device=-1)),
                (TypeError, "memories is 'global': it must be a list of Memory", lambda: pipeline("global")),
                (TypeError, "memories is Memory.*: it must be a list of Memory", lambda: pipeline(Memory())),
                (TypeError, "memories is .*4096.*: it must be a list of Memory", lambda: pipeline([("global", 4096)])),
                (ValueError, f"the effort is -1: {natural}", lambda: pipeline(effort=-1)),
                (TypeError, f"the effort is None: {integer}", lambda: pipeline(effort=None)),
                (ValueError, "there is no mode 'fast': use wheel, library or carried", lambda: pipeline(mode="fast"))):
            with self.subTest(message), self.assertRaisesRegex(error, f"^allot: {message}"):
                make()

    def test_the_number_of_memories(self):
        memories = [Memory(f"global.m{m}", 64) for m in range(63)]
        compile_with(chain(), [*memories[:62], Memory()])
        with self.assertRaisesRegex(ValueError, "function main has 64 memories on device 0: a plan has at most 63"):
            compile_with(chain(), [*memories, Memory()])

    def test_the_modes(self):
        """Library mode asks allot for every planned tensor, unless a branch or a tuple keeps dead tensors."""
        for module, used in (chain(), "library"), (Branches, "wheel"):
            executable, reports = compile_with(module, mode="library")
            self.assertEqual("allot.alloc_tensor" in executable.as_text(), used == "library")
            self.assertEqual(reports["main"].mode, used)
            executable, reports = compile_with(module)
            self.assertNotIn("allot.", executable.as_text())
            self.assertEqual(reports["main"].mode, "wheel")
        self.assertEqual(compile_with(chain(), mode="carried")[1]["main"].mode, "carried")


if __name__ == "__main__":
    unittest.main()
